"""A formatter changes no definition, in every language: what real tools write, compared.

`tests/formatters` has the sources, and what each tool made of them when it was installed. The tools
that are installed here write them anew.
"""

import os
import re
import subprocess
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import Repo

from tests.bench import verdicts as bench
from tests.formatters.tools import SOURCES, TOOLS, WRITTEN
from yaadwatch.anchors.definitions import (
    State,
    define,
    define_by_lines,
    is_only_laid_out,
    language_of,
    names,
)

SOAK = bool(os.environ.get("YAAD_SOAK"))
RECORDED = [
    pytest.param(SOURCES / path.name, path, id=f"{path.parent.name}-{path.name}")
    for path in sorted(WRITTEN.glob("*/*"))
]
QUICK = {"black", "black-narrow", "ruff", "ruff-single", "clang-format", "shfmt", "taplo"}


def names_in(source, path):
    """Return the names that a file defines; without a grammar, those behind `def`."""
    if language_of(path) is None:
        return set(re.findall(r"\bdefp? (\w+)", source.decode()))
    return {one.name for one in names(source, path)}


def fingerprints(source, path, found=()):
    """Return the fingerprint of each definition of a file; its state where it has none.

    `found`: the names to look for instead of all; a function that was a lambda has a new one.
    """
    found = found or names_in(source, path)
    by_lines = language_of(path) is None
    defined = {
        name: (define_by_lines if by_lines else define)(source, path, name) for name in found
    }
    return {name: one.fingerprint or one.state.value for name, one in defined.items()}


@pytest.mark.parametrize(("source", "written"), RECORDED)
def test_recorded_output_of_a_formatter_changes_no_definition(source, written):
    before = fingerprints(source.read_bytes(), source.name)
    after = fingerprints(written.read_bytes(), source.name, set(before))

    assert before
    assert State.BROKEN.value not in before.values()
    assert after == before
    assert written.read_bytes() != source.read_bytes(), "the tool changed nothing"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_installed_formatter_changes_no_definition(tool, tmp_path):
    if not tool.is_here() or not (SOAK or tool.name in QUICK):
        pytest.skip("not installed, or left to the long form")
    for source in tool.files():
        try:
            written = tool.write(source, tmp_path)
        except subprocess.CalledProcessError as error:
            if error.stderr:
                pytest.skip(f"{tool.name} does not run here: {error.stderr[:200]!r}")
            written = tmp_path / source.name  # rubocop says that something is left
        before = fingerprints(source.read_bytes(), source.name)
        assert fingerprints(written.read_bytes(), source.name, set(before)) == before


def test_formatting_every_language_flags_no_memory(tmp_path):
    """Check the work tree after a commit in which each file is written by its formatter."""
    repo = Repo.new(tmp_path / "repo")
    repo.write("GUIDE.md", "How it works.\n")
    written = {}
    for path in sorted(WRITTEN.glob("*/*")):
        written.setdefault(path.name, path)
    for name in written:
        repo.write(f"src/{name}", (SOURCES / name).read_text("utf-8"))
    base = repo.commit()
    memories = [
        bench.Memory(
            id=f"{name} {symbol}", text=f"`{symbol}` is in `src/{name}`.", base=base, doc="GUIDE.md"
        )
        for name in written
        for symbol in sorted(names_in((SOURCES / name).read_bytes(), name))
    ]
    for name, path in written.items():
        repo.write(f"src/{name}", path.read_text("utf-8"))
    judge = bench.Judge(repo.layout, repo.commit(), frozenset())
    rests_on = judge.anchor(memories)
    found = {answer.memory.id: answer.assessed for answer in judge.judge(memories, rests_on)}
    judge.close()

    assert len(memories) > 100
    assert sum(any(anchor.fingerprint for anchor in own) for own in rests_on) > 80
    assert {name: one.worst.reason for name, one in found.items() if one and one.level} == {}
    wrong = {
        (name, one.worst.reason)
        for name, one in found.items()
        if one and one.worst.verdict.value not in ("fresh", "touched")
    }
    assert wrong == set()


DIFFERENT = [
    ("a.js", "const f = () => (a?.b).c", "const f = () => a?.b.c"),
    ("a.js", "const f = () => 'a\\n'", "const f = () => 'a\\\\n'"),
    ("a.js", "const f = () => (a || b) && c", "const f = () => a || (b && c)"),
    ("a.js", "const f = (a) => b", "const f = (a, c) => b"),
    ("a.js", "const f = (a) => b", "const f = ({a}) => b"),
    ("a.js", "const f = () => [(a, b)]", "const f = () => [a, b]"),
    ("a.js", "const f = () => 1.5", "const f = () => 1.05"),
    ("a.js", "const f = () => /a/g", "const f = () => /a/i"),
    ("a.js", "const f = { 'a-b': 1 }", "const f = { 'a_b': 1 }"),
    ("a.jsx", "const f = () => <p>a b</p>", "const f = () => <p>a<b/></p>"),
    ("a.jsx", "const f = () => <p>a{' '}<b/></p>", "const f = () => <p>a<b/></p>"),
    ("a.ts", "type f = A | B", "type f = A & B"),
    ("a.ts", "type f = (A | B)[]", "type f = A | B[]"),
    ("a.rb", "def f\n 'a\\n'\nend", 'def f\n "a\\n"\nend'),
    ("a.rb", "def f\n super\nend", "def f\n super()\nend"),
    ("a.rb", "def f\n 'a'\nend", "def f\n :'a'\nend"),
    ("a.php", "<?php function f() { return 'a\\n'; }", '<?php function f() { return "a\\n"; }'),
    ("a.php", "<?php function f() { return '$a'; }", '<?php function f() { return "$a"; }'),
    ("a.php", "<?php function f() { return 0xFF; }", "<?php function f() { return 0xFE; }"),
    ("a.php", "<?php function f() { return 1.5; }", "<?php function f() { return 1.05; }"),
    (
        "a.php",
        "<?php function f() { return \"{$a['b']}\"; }",
        "<?php function f() { return \"{$a['c']}\"; }",
    ),
    (
        "a.php",
        "<?php function f() { return \"{$a['b']} c\"; }",
        "<?php function f() { return \"{$a['b']}  c\"; }",
    ),
    ("a.rs", "fn f() { (self.a)() }", "fn f() { self.a() }"),
    ("a.rs", "fn f() { match a { b => { c; } } }", "fn f() { match a { b => c } }"),
    ("a.rs", "#[derive(A)] struct f;", "#[derive(B)] struct f;"),
    ("a.java", 'class f { String s = "a" + b + "c"; }', 'class f { String s = "a" + b + "d"; }'),
    ("a.kt", "fun f() { return a }", "fun f() { a }"),
    ("a.kt", "fun f() { if (a) { b } }", "fun f() { if (a) { c } }"),
    ("a.kt", "fun f() { if (a) b else c }", "fun f() { if (a) { b; d } else c }"),
    ("a.kt", "fun f() { if (a) if (b) c else d }", "fun f() { if (a) { if (b) c } else d }"),
    ("a.kt", "fun f() { if (a) { b } }", "fun f() { if (a) { { b } } }"),
    ("a.kt", "fun f() { while (a) b() }", "fun f() { while (a) {} }"),
    ("a.kt", "fun f() = when (a) { 1, 2 -> b }", "fun f() = when (a) { 1 -> b }"),
    ("a.kt", "fun f() = when (a) { 1 -> b }", "fun f() = when (a) { 1 -> { b() } }"),
    ("a.kt", 'fun f() { @A("b") val c = 1 }', 'fun f() { @A("d") val c = 1 }'),
    ("a.kt", 'fun f() { @A("b") val c = 1 }', "fun f() { val c = 1 }"),
    (
        "a.kt",
        'fun f() = """\n a\n  b\n""".trimIndent()',
        'fun f() = """\n  a\n b\n""".trimIndent()',
    ),
    ("a.kt", 'fun f() = """\n a\n""".trimIndent()', 'fun f() = """\n a\n""".trim()'),
    ("a.kt", 'fun f() = """\n a\n"""', 'fun f() = """\n  a\n"""'),
    ("a.kt", 'fun f() = """\n a\n""".trimIndent()', 'fun f() = """\n $a\n""".trimIndent()'),
    (
        "a.java",
        'class A { String f() { return """\n a b\n """; } }',
        'class A { String f() { return """\n ab\n """; } }',
    ),
    (
        "a.java",
        "class A { boolean f() { return a && (b || c); } }",
        "class A { boolean f() { return a && b || c; } }",
    ),
    (
        "a.java",
        "class A { boolean f() { return a && b; } }",
        "class A { boolean f() { return b && a; } }",
    ),
    (
        "a.java",
        "class A { void f() { for (;;) { a(); } } }",
        "class A { void f() { for (;;); { a(); } } }",
    ),
    ("a.rs", "fn f() { a!(|b| c) }", "fn f() { a!(|b| { c; }) }"),
    ("a.rs", "fn f() { a!(b, { c }) }", "fn f() { a!(b, c) }"),
    ("a.sh", "f() { a >b c; }", "f() { a >c b; }"),
    ("a.sh", "f() { a >b c 2>&1; }", "f() { a 2>&1 c >b; }"),
    ("a.sh", "f() { cat <<E\n$(a 2>b)\nE\n}", "f() { cat <<E\n$(a >b)\nE\n}"),
    ("a.sh", "f() { cat <<E\n$(a) b\nE\n}", "f() { cat <<E\n$(a)  b\nE\n}"),
    ("a.sh", "f() {\n a=${a%\\'}\n b=${b#\\'}\n}", "f() {\n a=${a%\\'}\n c=${b#\\'}\n}"),
    ("a.sh", "f() {\n a='\n b'\n}", "f() {\n a='\n  b'\n}"),
    ("a.sh", "f() {\n echo \\\\'a\n b'\n}", "f() {\n echo \\\\'a\n  b'\n}"),
    (
        "a.kt",
        'fun f() = """\n a\0 ${x} b\n""".trimIndent()',
        'fun f() = """\n a\0 ${x} c\n""".trimIndent()',
    ),
    ("a.sh", 'f() { [[ $a == "$b" ]]; }', "f() { [[ $a == $b ]]; }"),
    ("a.sh", "f() { [[ -z $a ]]; }", "f() { [[ -n $a ]]; }"),
    ("a.sh", "f() { [[ ! -z $a ]]; }", "f() { [[ -z $a ]]; }"),
    ("a.sh", 'f() { [ -z "$a" ]; }', "f() { [ -z $a ]; }"),
    ("a.sh", "f() { b=$((a + 1)); }", "f() { b=$((a + 2)); }"),
    ("a.sh", "f() { b=$(($1 + 1)); }", "f() { b=$((1 + 1)); }"),
    ("a.sh", "f() { b=$(((a + 1) * 2)); }", "f() { b=$((a + 1 * 2)); }"),
    ("a.sh", 'f() { echo "$a"; }', "f() { echo '$a'; }"),
    ("a.sh", 'f() { echo "$a"; }', "f() { echo $a; }"),
    ("a.sh", "f() { ( a ); }", "f() { a; }"),
    ("a.sh", 'f() { echo "a\\\nb"; }', "f() { echo 'a\\\nb'; }"),
    ("a.py", "f = lambda a: b", "f = lambda a: c"),
    ("a.py", "f = lambda a: b", "def f(a):\n    b"),
    ("a.py", "f = lambda a: b", "f = lambda a, c=1: b"),
    ("a.py", "f = lambda a: b", "async def f(a):\n    return b"),
    ("a.c", 'char *f() { return "a" "b"; }', 'char *f() { return "a" "c"; }'),
    ("a.c", "#define f(x) x - -1", "#define f(x) x --1"),
    ("a.sh", "f() { cat <<'E'\n$a\nE\n}", "f() { cat <<E\n$a\nE\n}"),
    (
        "a.go",
        "package a\nfunc f() int { return (1 + 2) * 3 }",
        "package a\nfunc f() int { return 1 + 2 * 3 }",
    ),
    ("a.go", "package a\nfunc f() (err error) { return }", "package a\nfunc f() error { return }"),
    ("a.go", "package a\nfunc f(int) {}", "package a\nfunc f() int {}"),
    ("a.go", "package a\nfunc f(...int) {}", "package a\nfunc f(int) {}"),
    (
        "a.js",
        "function f() { if (a) { if (b) c() } else d() }",
        "function f() { if (a) if (b) c(); else d() }",
    ),
    ("a.js", "function f() { if (a) { b(); c() } }", "function f() { if (a) b(); c() }"),
    ("a.php", "<?php class f { use A, B; }", "<?php class f { use A; }"),
    (
        "a.php",
        "<?php class f { use A, B { A::c insteadof B; } }",
        "<?php class f { use A; use B; }",
    ),
    ("a.cs", 'class A { void f() { g($"b  {c}"); } }', 'class A { void f() { g($"b {c}"); } }'),
    (
        "a.cs",
        'class A { void f() { g($"""\n b {c}\n """); } }',
        'class A { void f() { g($"""\n b {d}\n """); } }',
    ),
    ("a.yaml", "f: |\n  a\n   b", "f: |\n  a\n  b"),
    ("a.yaml", "f: |\n  a\n  b", "f: >\n  a\n  b"),
    *(
        ("a.yaml", f'f: "{one}"', f"f: {one}")
        for one in ("22:22", "1_000", "1e3", "0x1f", "010", "1.5", "yes", "2020-01-02", "~")
    ),
]


SAME = [
    (
        "a.js",
        "function f() { if (a) { return b } else { for (;;) { c() } } }",
        "function f() { if (a) return b; else for (;;) c() }",
    ),
    (
        "a.ts",
        "function f() { while (a) { b() }\n do { c() } while (d) }",
        "function f() { while (a) b()\n do c(); while (d); }",
    ),
    (
        "a.php",
        "<?php function f() { if ($a) { b(); } else { c(); } }",
        "<?php function f() { if ($a) b(); else c(); }",
    ),
    ("a.php", "<?php class f { use A, \\B\\C; }", "<?php class f { use A; use \\B\\C; }"),
    (
        "a.java",
        "class A { void f() { if (a) { b(); } for (int c : d) { e(); } } }",
        "class A { void f() { if (a) b(); for (int c : d) e(); } }",
    ),
    (
        "a.java",
        'class A { String f() { return """\n a:\n   b  {\n"""; } }',
        'class A { String f() { return """\n a:\n b {\n """; } }',
    ),
    (
        "a.cs",
        "class A { void f() { foreach (var a in b) { c(); } } }",
        "class A { void f() { foreach (var a in b) c(); } }",
    ),
    (
        "a.cs",
        'class A { void f() { g($"""\n  a  {b}\n   c\n """); } }',
        'class A { void f() { g($"""\n a {b}\n c\n"""); } }',
    ),
    ("a.yaml", "f: |\n  a\n\n  b\n\n", "f: |-\n    a \n    b"),
    ("a.yaml", "f: >\n  a b\n  c", "f: >-\n  a\n  b c"),
    ("a.yaml", 'f: "a\\n<b> c"', 'f: "a\\n\\\n  <b>\n  c"'),
    ("a.yaml", 'f: "a  \\"b\\""', 'f: "a\\\n  \\  \\"b\\""'),
    ("a.yaml", 'f: ["8080:80", "1.25.0", "03:00"]', "f:\n- 8080:80\n- 1.25.0\n- 03:00"),
]


@pytest.mark.parametrize(("path", "one", "other"), SAME)
def test_what_a_formatter_does_is_no_change(path, one, other):
    first, second = (define(text.encode(), path, "f") for text in (one, other))

    assert first.state is State.FOUND
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(("path", "one", "other"), DIFFERENT)
def test_what_no_formatter_does_is_a_change(path, one, other):
    first, second = (define(text.encode(), path, "f") for text in (one, other))

    assert first.state is second.state is State.FOUND
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("func f(a int) (int) { return a }", "func f(a int) int { return a }"),
        ("func (c *C) f() (*a.B) { return nil }", "func (c *C) f() *a.B { return nil }"),
        ("func f() (func(int) (error)) { return g }", "func f() func(int) error { return g }"),
        ("type f interface { get(a int) (string) }", "type f interface { get(a int) string }"),
    ],
)
def test_brackets_round_one_unnamed_result_of_go_do_not_count(one, other):
    found = [define(f"package a\n{text}\n".encode(), "a.go", "f") for text in (one, other)]

    assert found[0].state is State.FOUND
    assert found[0].fingerprint == found[1].fingerprint


BLOCKS = {
    "a.java": 'class A {{ String f() {{ return /* language=java */ """\n{0}\n"""; }} }}',
    "b.java": 'class A {{\n // language=sql\n static final String f = """\n{0}\n"""; }}',
    "a.cs": 'class A {{ string f() => """\n{0}\n"""; }}',
    "b.cs": 'class A {{ string f() {{ return g("""\n{0}\n""", 1); }} }}',
    "a.ts": "const f = css`\n{0}\n`",
    "b.ts": "const f = /* GraphQL */ `\n{0}\n`",
    "c.ts": "const f = styled(Button)`\n{0}\n`",
    "d.ts": "@Component({{ template: `\n{0}\n` }})\nclass f {{ }}",
}
WORDS = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=6)


@pytest.mark.parametrize("path", BLOCKS)
@given(words=WORDS, gaps=st.data(), other=st.from_regex(r"[a-z]{7}", fullmatch=True))
def test_words_of_embedded_text_count_and_its_layout_does_not(path, words, gaps, other):
    def fingerprint(inside):
        defined = define(BLOCKS[path].format(inside).encode(), path, "f")
        assert defined.state is State.FOUND
        return defined.fingerprint

    at = gaps.draw(st.integers(0, len(words) - 1))
    between = st.sampled_from((" ", "  ", "\n", "\n    ", "\n\n\t"))
    laid_out = "".join(word + gaps.draw(between) for word in words)
    replaced = [*words[:at], other, *words[at + 1 :]]

    assert fingerprint(laid_out) == fingerprint(" ".join(words))
    assert fingerprint(" ".join(replaced)) != fingerprint(" ".join(words))
    assert fingerprint(" ".join([*words, other])) != fingerprint(" ".join(words))
    if len(words) > 1:
        assert fingerprint("".join(words)) != fingerprint(" ".join(words))


EMBEDDED = [
    (
        "css`a { color: #FFF; margin: .50em }`",
        "css`\n  a {\n    color: #fff;\n    margin: 0.5em;\n  }\n`",
    ),
    (
        "gql`query A { b(c:1) { d, e } }`",
        "gql`\n  query A {\n    b(c: 1) {\n      d\n      e\n    }\n  }\n`",
    ),
    ("/* HTML */ `<p class='a'>b<br></p>`", '/* HTML */ `<p class="a">b<br /></p>`'),
    ("markdown`\n * a\n * b\n`", "markdown`\n  - a\n  - b\n`"),
    ("keyframes`from{top:0}`", "keyframes`\n  from {\n    top: 0;\n  }\n`"),
    (
        "css`a:hover .b>c,d  .e{color :RED;background:url( 'x' );margin:-.50em 0 -1.0px}`",
        (
            'css`\n  a:hover .b > c,\n  d .e {\n    color: RED;\n    background: url("x");\n'
            "    margin: -0.5em 0 -1px;\n  }\n`"
        ),
    ),
    (
        'gql`"""doc of\n  it""" type A { "x, y" b(c:Int=1,d:[Int!]!):String! }`',
        (
            'gql`\n  """\n  doc of\n  it\n  """\n  type A {\n    "x, y"\n'
            "    b(c: Int = 1, d: [Int!]!): String!\n  }\n`"
        ),
    ),
    (
        "html`<a class='x  ${b}' type=text>It's  (a)<img src='c'/>${ d }; e</a>`",
        'html`<a class="x  ${b}" type="text"\n  >It\'s (a)<img src="c" />${d}; e</a\n>`',
    ),
]
NOT_EMBEDDED = [
    ("css`color: #FFF`", "css`color: #FFE`"),
    ("css`margin: .5em`", "css`margin: .6em`"),
    ("css`margin: 10px`", "css`margin: 1px`"),
    ("gql`query A { b }`", "gql`query A { B }`"),
    ("gql`{ a ${b} }`", "gql`{ a ${c} }`"),
    ("`a  b`", "`a b`"),
    ("other`a;b`", "other`a b`"),
    ("sql`where (a or b) and c`", "sql`where a or b and c`"),
    ("sql`a - (b - c)`", "sql`a - b - c`"),
    ("sql`in (1, 2)`", "sql`in (12)`"),
    ("sql`a = 'x, y'`", "sql`a = 'x y'`"),
    ("sql`a = 'x  y'`", "sql`a = 'x y'`"),
    ("sql`a = 'x'`", 'sql`a = "x"`'),
    ("sql`a = '1.10'`", "sql`a = '1.1'`"),
    ("sql`a = '#FFF'`", "sql`a = '#fff'`"),
    ("sql`select a\n  - b`", "sql`select a\n  b`"),
    ("sql`a -- b`", "sql`a - - b`"),
    ("sql`begin; end`", "sql`begin end`"),
    ("css`.a .b { c: d }`", "css`.a.b { c: d }`"),
    ("css`a :hover { c: d }`", "css`a:hover { c: d }`"),
    ("css`a, b { c: d }`", "css`a b { c: d }`"),
    ("css`#FFF { c: d }`", "css`#fff { c: d }`"),
    ("css`a: 0 -1px`", "css`a: 0 - 1px`"),
    ("css`a: calc((1px + b) * 2)`", "css`a: calc(1px + (b * 2))`"),
    ("css`a::before { content: '- ' }`", "css`a::before { content: '-' }`"),
    ("css`a: ${b}px`", "css`a: ${b} px`"),
    ('gql`{ a(b: "x, y") }`', 'gql`{ a(b: "x y") }`'),
    ("gql`{ a(b: 1) }`", "gql`{ a b: 1 }`"),
    ("html`<p>Stop, you</p>`", "html`<p>Stop you</p>`"),
    ("html`<a class='b-${c}'>`", "html`<a class='b- ${c}'>`"),
    ("html`<a class='b -c'>`", "html`<a class='b-c'>`"),
    ("html`<my-cart/>`", "html`<my-cart>`"),
    ("markdown`a (b); c`", "markdown`a b c`"),
]
SQL = 'class A {{ String f() {{ return /* language=sql */ """\n{0}\n"""; }} }}'
JAVA = SQL.replace("sql", "java")
NOT_EMBEDDED_BLOCKS = [
    ("a.java", JAVA, "class B { int c = (1 + 2) * 3; }", "class B { int c = 1 + 2 * 3; }"),
    ("a.java", JAVA, "class B { int c = (1); } // d", "class B { int c = 1; } // e"),
    ("a.java", JAVA, "class B { int c = (1 + 2) - 3;", "class B { int c = 1 + 2 - 3;"),
    ("a.java", SQL, "where (a or b) and c", "where a or b and c"),
    ("a.java", SQL, "a = 'x'", 'a = "x"'),
    ("a.java", SQL.replace("sql", "yaml"), "a:\n  b:\n    c: 1", "a:\n  b:\n  c: 1"),
    ("a.java", SQL.replace("sql", "json"), '{"a": "b, c"}', '{"a": "b c"}'),
    ("a.cs", BLOCKS["a.cs"], "a -- b", "a - - b"),
]


@pytest.mark.parametrize(("one", "other"), EMBEDDED)
def test_layout_of_a_template_in_another_language_is_no_change(one, other):
    first, second = (define(f"const f = {text}".encode(), "a.ts", "f") for text in (one, other))

    assert first.state is State.FOUND
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(("one", "other"), NOT_EMBEDDED)
def test_words_of_a_template_are_a_change(one, other):
    first, second = (define(f"const f = {text}".encode(), "a.ts", "f") for text in (one, other))

    assert first.state is second.state is State.FOUND
    assert first.fingerprint != second.fingerprint


def test_brackets_of_a_java_text_block_that_only_group_do_not_count():
    pair = (
        "class B { boolean c = (d - 1) > -1 && (e); }",
        "class B {\n boolean c = d - 1 > -1 && e;\n}",
    )
    first, second = (define(JAVA.format(text).encode(), "a.java", "f") for text in pair)

    assert first.state is State.FOUND
    assert first.fingerprint == second.fingerprint


@pytest.mark.parametrize(("path", "block", "one", "other"), NOT_EMBEDDED_BLOCKS)
def test_signs_and_texts_of_a_text_block_are_a_change(path, block, one, other):
    first, second = (define(block.format(text).encode(), path, "f") for text in (one, other))

    assert first.state is second.state is State.FOUND
    assert first.fingerprint != second.fingerprint


@pytest.mark.parametrize("piece", ['\\\\"', ";", "#fff ", "a ", "a :b ", "<br ", "='", "'", " "])
@pytest.mark.parametrize("tag", ["css", "gql", "html", "markdown", "sql"])
def test_a_template_made_to_be_slow_is_read_quickly(tag, piece):
    source = f"const f = {tag}`{piece * (200_000 // len(piece))}`".encode()
    start = time.process_time()

    define(source, "a.ts", "f")

    assert time.process_time() - start < 5


BROKEN = {
    "a.cs": (
        "class A {{\n string f() {{ return {0}; }}\n string g = {1};\n}}",
        '"""\n x\n """',
        '"" " x "" "',
    ),
    "a.c": ("int f(void)\n{{\n return {0};\n}}\nEACH(x) {1}\n", "{ 1; }", "{ 1;"),
    "b.cpp": ("int f() {{ return {0}; }}\nint g() {{ {1} }}\n", "return 1;", "return (1;"),
    "A.java": (
        "class A {{\n int f() {{ return {0}; }}\n int g() {{ {1} }}\n}}",
        "return 1;",
        "return (1;",
    ),
}
"""Files with a definition `f`, and what a tool put behind it that does not parse."""
TERMS = st.lists(
    st.sampled_from(("a", "b1", "f(2)", '"c  d"', "'e'", "7", "-a")), min_size=1, max_size=6
)


@pytest.mark.parametrize("path", BROKEN)
@given(terms=TERMS, draw=st.data())
def test_layout_of_a_file_that_no_longer_parses_is_no_change(path, terms, draw):
    code, whole, broken = BROKEN[path]
    blanks = st.sampled_from((" ", "  ", "\n", "\n\t"))
    old = code.format(" + ".join(terms), whole)
    laid_out = "".join(f"{term} +{draw.draw(blanks)}" for term in terms)
    laid_out = laid_out.rstrip()
    new = code.format(laid_out[:-1], broken)
    other = draw.draw(st.sampled_from(terms))
    changed = [new.replace(laid_out[:-1], text) for text in (f"{laid_out} 2", f"-{laid_out[:-1]}")]
    changed += [new.replace("return", "return b(")]
    changed += [new.replace('"c  d"', '"c d"', 1)] if other == '"c  d"' else []

    assert is_only_laid_out(old.encode(), new.encode(), path, "f")
    for one in changed:
        assert not is_only_laid_out(old.encode(), one.encode(), path, "f")
    for start, end in (("/* ", " */"), ("#if 0\n", "\n#endif\n")):
        assert not is_only_laid_out(old.encode(), (start + new + end).encode(), path, "f")


LAID_OUT = [
    (
        "a.cs",
        "class A {\n int f = 3;\n int g = 1;\n}",
        "class A {\n // int f = 3;\n int g = (1;\n}",
        False,
    ),
    (
        "a.c",
        "#define f 1\nint a(void) { return 1; }\n",
        "int a(void) { return 1; }\n{ #define f 1\n",
        False,
    ),
    ("a.c", "#define f(x) x\nint a;\n", "#define f (x) x\nint a;\n", False),
    ("a.c", "#define f 1\nint a;\n", "#define f 1 int a;\n", False),
    ("a.c", "int f(void)\n{\n  return a - -b;\n}\n", "int f(void) { return a --b; }\n", False),
    (
        "a.c",
        "#include <a>\n#include <b>\nint f(void)\n{\n return 1;\n}\n",
        "#include <b>\n#include <a>\nint f(void) { return 1; }\n",
        True,
    ),
    (
        "a.c",
        "#include <a>\n#include <b>\nint g;\nint f(void)\n{\n return 1;\n}\n",
        "#include <b>\n#include <a>\nint g;\nint f(void) { return 1; }\n",
        True,
    ),
    ("a.cs", 'class A { string f = "ab"; }', 'class A { string f = "a" +\n "b"; ', False),
    ("a.cs", 'class A { string f = "ab"; }', 'class A { string f = "a" +\n "b"; }', True),
    (
        "a.cs",
        "class A { int f() { return 1; } int f(int a) { return a; } }",
        "class A { int f() { return 1; } int f(int a) { return 2; } }}",
        False,
    ),
    (
        "a.py",
        "def f():\n    if a:\n        b()\n    c()\n",
        "def f():\n    if a:\n        b()\n        c()\n(",
        False,
    ),
    ("a.ts", "const f = () => {\n  return\n  a\n}\n", "const f = () => { return a }\n", False),
    ("a.yaml", "f:\n  a:\n    b: 1\n", "f:\n  a:\n  b: 1\n", False),
    ("a.txt", "f 1\n", "f  1\n", False),
]


@pytest.mark.parametrize(("path", "old", "new", "is_same"), LAID_OUT)
def test_words_around_a_definition_decide_where_a_file_does_not_parse(path, old, new, is_same):
    assert is_only_laid_out(old.encode(), new.encode(), path, "f") is is_same


def test_file_made_to_be_slow_is_compared_quickly():
    old = b"int f(void) { return 1; }\n"
    start = time.process_time()

    for piece in (b'"', b"'", b"#", b'" + ', b"/*", b"# define a"):
        is_only_laid_out(old, piece * (500_000 // len(piece)), "a.c", "f")
        is_only_laid_out(piece * (100_000 // len(piece)) + old, old, "a.c", "f")

    assert time.process_time() - start < 10
