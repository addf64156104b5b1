"""What a function returns, where that is one literal; and what a text says that it returns."""

import pytest

from yaadwatch.anchors import values
from yaadwatch.staleness import successors

SOURCES = {
    "a.py": ("def limit():\n    return {}\n", "None"),
    "a.js": ("function limit() {{ return {}; }}\n", "null"),
    "b.js": ("const limit = () => {};\n", "undefined"),
    "c.js": ("class Retry {{ get limit() {{ return {}; }} }}\n", "null"),
    "a.ts": ("export const limit = async (): Promise<any> => {};\n", "undefined"),
    "a.tsx": ("export function limit(): any {{ return {}; }}\n", "null"),
    "a.go": ("package p\n\nfunc (r *Retry) limit() any {{\n\treturn {}\n}}\n", "nil"),
    "a.rs": ("impl Retry {{\n    fn limit(&self) -> i64 {{\n        {}\n    }}\n}}\n", None),
    "b.rs": ("fn limit() -> i64 {{\n    return {};\n}}\n", None),
    "a.java": ("class Retry {{ Object limit() {{ return {}; }} }}\n", "null"),
    "a.kt": ("fun limit(): Any? = {}\n", "null"),
    "b.kt": ("fun limit(): Any? {{ return {} }}\n", "null"),
    "a.c": ("void *limit(void) {{ return {}; }}\n", "NULL"),
    "a.cpp": ("auto Retry::limit() {{ return {}; }}\n", "nullptr"),
    "a.cs": ("class Retry {{ object limit() {{ return {}; }} }}\n", "null"),
    "b.cs": ("class Retry {{ object limit => {}; }}\n", "null"),
    "a.rb": ("class Retry\n  def limit\n    {}\n  end\nend\n", "nil"),
    "b.rb": ("def limit\n  return {}\nend\n", "nil"),
    "a.php": ("<?php\nfunction limit() {{ return {}; }}\n", "null"),
    "a.swift": ("func limit() -> Any? {{ return {} }}\n", "nil"),
    "b.swift": ("var limit: Any? {{ {} }}\n", "nil"),
}
UNSURE = {
    "a condition": "def limit(x):\n    if x:\n        return 5\n",
    "two": "def limit(x):\n    if x:\n        return 5\n    return 6\n",
    "two alike": "def limit(x):\n    if x:\n        return 5\n    return 5\n",
    "after a branch": "def limit(x):\n    if x:\n        return\n    return 5\n",
    "a generator": "def limit():\n    yield 1\n    return 5\n",
    "worked out": "def limit():\n    return 5 + 1\n",
    "a name": "def limit():\n    return five\n",
    "several values": "def limit():\n    return 5, 6\n",
    "a tuple of one": "def limit():\n    return 5,\n",
    "nothing": "def limit():\n    pass\n",
    "no function": "limit = 5\n",
    "defined twice": "def limit():\n    return 5\n\n\ndef limit():\n    return 6\n",
    "broken": "def limit(:\n    return 5\n",
    "an inner one": "def limit():\n    def five():\n        return 5\n    return 5\n",
    "formatted": 'def limit(x):\n    return f"{x}"\n',
}


@pytest.mark.parametrize("path", SOURCES)
def test_one_literal_is_what_a_function_returns_in_every_language(path):
    source, nothing = SOURCES[path]

    def given(said):
        return successors.returned_literal(source.format(said).encode(), path, "limit")

    assert [given("5"), given("-1.50"), given("true"), given('"on"')] == [
        "5",
        "-1.5",
        "true",
        '"on"',
    ]
    assert nothing is None or given(nothing) == "nothing"
    assert given("work(5)") is None


def test_a_function_of_a_shell_returns_its_status():
    assert (
        successors.returned_literal(b"limit() {\n  echo no\n  return 3\n}\n", "a.sh", "limit")
        == "3"
    )
    assert successors.returned_literal(b"limit() {\n  echo 3\n}\n", "a.sh", "limit") is None


@pytest.mark.parametrize("source", UNSURE.values(), ids=UNSURE)
def test_of_what_is_not_one_literal_for_certain_nothing_is_said(source):
    assert successors.returned_literal(source.encode(), "a.py", "limit") is None


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("a.rs", "fn limit() -> i64 {\n    if far() {\n        return 1;\n    }\n    5\n}\n"),
        ("a.rs", "fn limit() {\n    5;\n}\n"),
        ("a.go", "package p\n\nfunc limit() (int, error) {\n\treturn 5, nil\n}\n"),
        ("a.rb", "def limit\n  return 1 if far\n  5\nend\n"),
        ("a.swift", "func limit() -> Int {\n    start()\n    5\n}\n"),
        ("a.js", "const limit = () => { 5; };\n"),
        ("a.cs", "class A { int limit { get { return 5; } set { x = 1; } } }\n"),
        ("a.txt", "limit returns 5\n"),
        ("a.json", '{"limit": 5}\n'),
    ],
)
def test_what_other_languages_do_not_return_for_certain_is_not_said_either(path, source):
    assert successors.returned_literal(source.encode(), path, "limit") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("`limit()` returns five.", "5"),
        ("`limit()` returns five", "5"),
        ("Retry.limit(x, y) returns 1,000.", "1000"),
        ("`Retry.limit` always returns `true`, whatever comes", "true"),
        ("`limit` returns None; `other` does not", "nothing"),
        ('limit() returns the string "on".', '"on"'),
        ("`limit` returns false (for now).", None),
        ("`limit` returns 5 items", None),
        ("`limit` returns five times", None),
        ("`limit` returns true if it is open", None),
        ("`limit` returns true, or false when it is shut", None),
        ("`limit` never returns true", None),
        ("`my_limit` returns 5", None),
        ("`limits` returns 5", None),
        ("`limit` returns 5. Elsewhere `limit` returns 6.", None),
        ("`limit` returns a list", None),
        ("If the file is missing, `limit()` returns 5.", None),
        ("If the file is missing:\n\n- `shut()` is called\n- `limit()` returns 5", "5"),
        ("If the file is missing:\n- `limit()` returns 5", None),
        ("On error `limit()` returns 5", None),
        ("`limit()` returns 5; otherwise 6.", None),
        ("`limit()` returns 'on', 'off'.", None),
        ("`limit()` returns 5, 6 is too much.", "5"),
        ("`limit()` returns 5. Otherwise it returns 6.", None),
        ("Otherwise `limit()` returns 5.", None),
        ("Call it if you must. `limit()` returns 5. It is cheap.", "5"),
    ],
)
def test_a_text_says_what_a_function_returns(text, said):
    claimed = values.returned_for(text, "limit")

    assert (values.literal(claimed) if claimed is not None else None) == said
