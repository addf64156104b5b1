"""Definitions of every language: their names, their places, and what counts as a change of them."""

import time

import pytest
from definition_sources import SAMPLES

from yaadwatch.anchors.definitions import State, define, language_of, names

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.path)


@each_sample
def test_all_definitions_of_a_file_are_listed(sample):
    listed = [
        (one.name, str(one.kind), f"{one.line}-{one.end_line}")
        for one in names(sample.source.encode(), sample.path)
    ]

    assert listed == sample.rows


@each_sample
def test_each_definition_is_found_by_its_whole_name(sample):
    for name, _, lines in sample.rows:
        found = define(sample.source.encode(), sample.path, name)
        first = next(row for row in sample.rows if row[0] == name)

        assert found.state is State.FOUND, name
        assert f"{found.line}-{found.end_line}" == first[2], (name, lines)


@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.tsx"])
@pytest.mark.parametrize(
    ("source", "own"),
    [
        ("(function () { const kA = 1; })();", ["kA"]),
        ("(() => { const kA = 1; })();", ["kA"]),
        ("!function () { const kA = 1; }();", ["kA"]),
        ("(function () { const kA = 1; }());", ["kA"]),
        ("define(['x'], function (x) { const kA = 1; });", ["kA"]),
        ("(function (f) { f({}); })(function (exports) { const kA = 1; });", ["kA"]),
        ("(function () { function f() { const own = 1; } })();", ["f"]),
        ("describe('x', () => { const own = 1; });", []),
        ("(function (f) { var a = 1; f(); })(function () { function a() { } });", ["a"]),
        ("(function () { var a = 1; })(); (function () { var a = 2; })();", []),
        ("(function () { var a = 1; })(); class B { a() { } }", ["B", "B.a"]),
        ("foo((function () { const own = 1; })());", []),
        ("const f = () => { const own = 1; };", ["f"]),
    ],
)
def test_what_a_function_around_a_whole_module_holds_is_the_modules(path, source, own):
    assert [one.name for one in names(source.encode(), path)] == own


@each_sample
def test_a_broken_file_loses_no_definition_without_saying_so(sample):
    """What cannot be read may be unknown; it is never missing, and never changed."""
    whole = sample.source.encode()
    for broken in (b"(((\n", b"}\n", b"\n<<<<<<< ours\n(\n=======\n)\n>>>>>>> theirs\n"):
        for source in (whole + broken, broken + whole):
            for name, _, _ in sample.rows:
                before, after = (define(text, sample.path, name) for text in (whole, source))
                assert after.state is State.BROKEN or after.fingerprint == before.fingerprint


@each_sample
def test_a_name_that_stands_nowhere_is_missing_even_from_a_broken_file(sample):
    source = sample.source.encode()

    assert define(source, sample.path, "nowhere_at_all").state is State.MISSING
    assert define(source + b"(((", sample.path, "nowhere_at_all").state is State.MISSING


@pytest.mark.parametrize(
    ("path", "source", "state"),
    [
        ("a.go", "func limit(\n", State.BROKEN),
        ("a.go", "func other() { limit( }\n", State.BROKEN),
        ("a.go", "func other() { limit() }\n", State.MISSING),
        ("a.ts", "function limit() {\n<<<<<<< a\n1\n=======\n2\n>>>>>>> b\n}\n", State.BROKEN),
        ("a.c", "int limit(void)\n{\n  EACH(x) {\n    1;\n  }\n}\n", State.FOUND),
        ("a.c", "int limit(void)\n{\n  EACH(x) {\n    1;\n}\n", State.BROKEN),
        ("a.yml", "limit: [1\nother: 2\n", State.BROKEN),
        ("a.json", '{"limit": {"a": 1,},}', State.FOUND),
        ("a.json", '{"limit": {"a": ,}}', State.BROKEN),
        ("a.ts", "let limit = 1\n" * 4, State.AMBIGUOUS),
        ("a.py", "T = '''\n<<<<<<< a\n'''\ndef limit():\n    pass\nx = (\n", State.FOUND),
        ("a.txt", "limit", State.MISSING),
        ("a.go", "", State.MISSING),
    ],
)
def test_what_cannot_be_told_is_said(path, source, state):
    assert define(source.encode(), path, "limit").state is state


@pytest.mark.parametrize(
    ("symbol", "line"),
    [
        ("limit", 1),
        ("Retry.limit", 2),
        ("Retry::limit", 2),
        ("Retry#limit", 2),
        ("net.retry.Retry.limit", 2),
        ("./net.limit", None),
        ("Other.limit", None),
        ("Retry.other", None),
        ("", None),
    ],
)
def test_symbols_are_written_in_many_ways(symbol, line):
    source = b"function limit() {}\nclass Retry { limit() {} }\nclass Other {}\n"

    assert define(source, "a.ts", symbol).line == line


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("a.ts", "class f { a() { return 1 } b = 1 }", "class f { b = 1; a() { return 2 } }"),
        ("a.java", "class f { int a() { return 1; } int b; }", "class f { int a() { } int b; }"),
        ("a.rs", "trait f { fn a() { 1 } fn b(); }", "trait f { fn a() { 2 } fn b(); }"),
        ("a.kt", "class f {\n val a\n get() = 1\n}", "class f {\n val a\n get() = 2\n}"),
        ("a.toml", "[f]\na = 1\n[f.b]\nc = 1", "[f.b]\nc = 2\n[f]\na = 1"),
        ("a.toml", "[f]\na = 1", "f = { a = 1 }"),
        ("a.toml", "f.a = 'x'", 'f = { "a" = "x" }'),
        (
            "a.yml",
            "f:\n  a: |\n    x\n      y\n",
            "f:\n      a: |\n            x\n              y\n",
        ),
        ("a.yml", "f: ['a/**', b]", "f:\n- a/**\n- b"),
        ("a.yml", 'f: ".github"', "f: .github"),
        ("a.yml", 'f: "0 3 * * 1"', "f: 0 3 * * 1"),
        ("a.yml", "f: {a: 1, b: 'x'}", 'f:\n  b: "x"\n  a: 1'),
        ("a.json", '{"f": {"a": 1, "b": 2}}', '{"f": {"b": 2, "a": 1}}'),
    ],
)
def test_what_only_looks_different_is_the_same(path, one, other):
    one, other = (define(text.encode(), path, "f") for text in (one, other))

    assert one.state is other.state is State.FOUND
    assert one.fingerprint == other.fingerprint


@pytest.mark.parametrize(
    ("path", "one", "other"),
    [
        ("a.ts", "class f { a() {} }", "class f { b() {} }"),
        ("a.ts", "interface f { a(): void }", "interface f { a(): string }"),
        ("a.ts", "const f = `a\n b`", "const f = `a\n  b`"),
        ("a.ts", "const f = [1]", "const f = [1,,]"),
        ("a.ts", "function f() { return a }", "function f() { return\na }"),
        ("a.ts", "export function f() {}", "function f() {}"),
        ("a.ts", "const f = 1", "let f = 1"),
        ("a.sh", "f() {\ncat <<E\n a\nE\n}", "f() {\ncat <<E\n  a\nE\n}"),
        ("a.rb", "def f\n <<T\n a\nT\nend", "def f\n <<T\n  a\nT\nend"),
        ("a.rs", "#[test]\nfn f() {}", "fn f() {}"),
        ("a.cpp", "template <class T> T f() {}", "template <int T> T f() {}"),
        ("a.yml", "f: |\n  a\n  b\n", "f: |\n  a\n   b\n"),
        ("a.yml", "f: 3", 'f: "3"'),
        *(
            ("a.yml", f"f: {one}", f'f: "{one}"')
            for one in ("yes", "Off", "n", "~", "1_000", "12:30", ".5", "0o7", "2026-01-02", "-1e3")
        ),
        ("a.yml", "f: [1, 2]", "f: [2, 1]"),
        ("a.json", '{"f": "a b"}', '{"f": "a  b"}'),
        ("a.toml", "[[f]]\na = 1\n[[f]]\na = 2", "[[f]]\na = 2\n[[f]]\na = 1"),
    ],
)
def test_what_means_something_else_is_different(path, one, other):
    one, other = (define(text.encode(), path, "f") for text in (one, other))

    assert one.state is other.state is State.FOUND
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("src/a.py", "Python"),
        ("a.PYI", "Python"),
        ("a.test.tsx", "TypeScript"),
        ("a.d.ts", "TypeScript"),
        ("x/Gemfile", "Ruby"),
        (".bashrc", "shell"),
        ("a.h", "C++"),
        ("a.c", "C"),
        ("a.pyc", None),
        ("py", None),
        ("a.scala", None),
        ("go", None),
        ("", None),
    ],
)
def test_the_language_is_told_by_the_name_of_the_file(path, title):
    language = language_of(path)

    assert (language.title if language else None) == title
    assert (names(b"x = 1\n", path) == ()) or title is not None


ENDINGS = sorted({sample.path.rpartition(".")[2] for sample in SAMPLES})


@pytest.mark.covering
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("opened", ["(", "[", "{", "- ", "/*"])
def test_depth_is_no_danger(ending, opened):
    """A hundred thousand brackets: an answer, no crash."""
    source = (opened * (100_000 // len(opened))).encode()

    assert define(source, f"a.{ending}", "f").state in (State.MISSING, State.BROKEN)


@pytest.mark.parametrize("around", [b"", b"x = 1\n"], ids=["nothing else", "between lines"])
def test_what_the_parser_skips_is_not_searched_where_it_is_much(around):
    """It lies side by side, and each look at one of them counts all the others."""
    source = around + b"(" * 20_000 + around
    for path in ("a.go", "a.c", "a.rb", "a.ts"):
        assert define(source, path, "f").state is State.BROKEN
        assert define(source[:1000], path, "f").state is State.MISSING


def test_no_file_is_read_at_all_that_would_take_for_ever():
    for path in ("a.swift", "a.kt"):
        assert define(b"/*f" * 100, path, "f").state is State.BROKEN
    assert define(b"- " * 1000 + b"f", "a.yml", "f").state is State.BROKEN
    assert define(b"f x y\n" * 100_000, "a.ts", "f").state is State.BROKEN


_JAVA = "class A {{\n    String f(String a) {{\n        return {};\n    }}\n}}\n"


def _of_java(returned):
    return define(_JAVA.format(returned).encode(), "A.java", "f")


@pytest.mark.parametrize(
    ("path", "operand"),
    [("A.java", 'abc + "x"'), ("A.cs", "abc"), ("A.kt", '"abcde"'), ("a.js", 'abc + "x"')],
)
def test_a_sum_of_half_a_megabyte_is_compared_within_seconds(path, operand):
    head = {".kt": "fun f(): String {\n", ".js": "function f() {\n"}.get(path[1:], "")
    added = " + ".join([operand] * (500_000 // (len(operand) + 3)))
    source = f"{head}return {added};\n}}\n" if head else _JAVA.format(added)

    began = time.process_time()
    found = define(source.encode(), path, "f")

    assert found.state is State.FOUND
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + b + c", "(a + b) + c"),
        ('"x" + "y" + a', '"xy" + a'),
        ('a + "x" + "y"', 'a + "x" + ("y")'),
    ],
)
def test_a_sum_means_the_same_however_it_is_grouped_from_the_left(one, other):
    assert _of_java(one).fingerprint == _of_java(other).fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + b + c", "a + (b + c)"),
        ("a + b + c", "a + b - c"),
        ("a + b + c", "a + c + b"),
        ('"x" + "y"', '"y" + "x"'),
        ('a + "x" + b', 'a + b + "x"'),
        ("a + b", "a - b"),
    ],
)
def test_another_sum_is_another_meaning(one, other):
    assert _of_java(one).fingerprint != _of_java(other).fingerprint
