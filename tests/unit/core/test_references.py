import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.core.references import MENTIONS_MAX, Tree, mentions

TREE = Tree.of(
    ["src/net.py", "src/retry/limits.py", "tests/net.py", "Makefile", "docs/setup.md", "web/app.ts"]
)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("The limit is in src/net.py, in fetch.", "src/net.py"),
        ("See `src/net.py:42`.", "src/net.py"),
        ("See (src/net.py#L3-L9)", "src/net.py"),
        ("[net](./src/net.py)", "src/net.py"),
        ("Read @docs/setup.md first", "docs/setup.md"),
        ("limits.py holds them", "src/retry/limits.py"),
        ("retry/limits.py holds them", "src/retry/limits.py"),
        ("The Makefile says how", "Makefile"),
    ],
)
def test_a_file_is_found_by_path_end_or_name(text, path):
    assert path in {TREE.match(mention) for mention in mentions(text).paths}


@pytest.mark.parametrize(
    "text",
    ["net.py is ambiguous", "see https://example.org/src/net.py", "../outside.py", "no file here"],
)
def test_what_is_ambiguous_outside_or_no_file_anchors_nothing(text):
    assert {TREE.match(mention) for mention in mentions(text).paths} <= {None}


def test_a_relative_path_starts_where_the_text_stands():
    assert TREE.match("../src/net.py", folder="docs") == "src/net.py"
    assert TREE.match("net.py", folder="tests") == "tests/net.py"
    assert TREE.match("../../src/net.py", folder="docs") is None


@pytest.mark.parametrize(
    ("text", "symbol"),
    [
        ("in fetch_with_retry", "fetch_with_retry"),
        ("call fetch() twice", "fetch"),
        ("the RetryPolicy decides", "RetryPolicy"),
        ("see `run`", "run"),
        ("see `Retry.limit`", "Retry.limit"),
        ("Retry::limit is old", "Retry::limit"),
        ("MAX_TRIES is 5", "MAX_TRIES"),
        ("parseUrl(x) fails", "parseUrl"),
    ],
)
def test_names_that_look_like_code_are_taken(text, symbol):
    assert symbol in mentions(text).symbols


@pytest.mark.parametrize(
    "text",
    [
        "Use tabs, never spaces, in every file of this project.",
        "We decided to ship on Fridays; ask Ada before you do.",
        "Run `make test` before you push",
        "See https://example.org/fetch_with_retry",
    ],
)
def test_plain_words_are_no_names(text):
    assert mentions(text).symbols == ()


@given(st.text(max_size=2_000), st.text(max_size=50))
def test_any_text_has_an_answer_within_the_limit(text, mention):
    found = mentions(text)

    assert len(found.paths) <= MENTIONS_MAX
    assert len(found.symbols) <= MENTIONS_MAX
    assert TREE.match(mention) in {None, *TREE.paths}


@given(st.lists(st.from_regex(r"[a-z]{1,4}(/[a-z]{1,4}){0,3}\.py", fullmatch=True), max_size=8))
def test_an_exact_path_is_always_itself(paths):
    tree = Tree.of(paths)

    assert [tree.match(path) for path in paths] == paths
