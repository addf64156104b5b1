"""Where the files of a pattern went, as a pattern."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from yaadwatch.anchors.targets import following
from yaadwatch.anchors.tree import PATTERN_STARS_MAX, Tree


@pytest.mark.parametrize(
    ("pattern", "old", "new", "found"),
    [
        # Another folder, above, below, one more and one less.
        ("src/api/*.ts", "src/api/a.ts", "lib/api/a.ts", "lib/api/*.ts"),
        ("src/api/*.ts", "src/api/a.ts", "src/http/a.ts", "src/http/*.ts"),
        ("src/api/*.ts", "src/api/a.ts", "src/v1/api/a.ts", "src/v1/api/*.ts"),
        ("src/api/*.ts", "src/api/a.ts", "api/a.ts", "api/*.ts"),
        ("packages/app-*/", "packages/app-a", "libs/app-a", "libs/app-*/"),
        ("src/*.test.ts", "src/a.test.ts", "src/tests/a.test.ts", "src/tests/*.test.ts"),
        ("src/api/*.ts", "src/api/a.ts", "src/api/v1/a.ts", "src/api/v1/*.ts"),
        ("t/*_test.go", "t/a_test.go", "t/unit/fast/a_test.go", "t/unit/fast/*_test.go"),
        ("pkg/*/src/*.ts", "pkg/a/src/b.ts", "pkg/a/src/lib/b.ts", "pkg/*/src/lib/*.ts"),
        # A folder in the middle, behind a star, beside another one.
        ("pkg/*/src/*.ts", "pkg/a/src/b.ts", "pkg/a/lib/b.ts", "pkg/*/lib/*.ts"),
        ("pkg/*/src/*.ts", "pkg/a/src/b.ts", "mod/a/lib/b.ts", "mod/*/lib/*.ts"),
        ("pkg/app-*/a.ts", "pkg/app-x/a.ts", "pkg/mod-x/a.ts", "pkg/mod-*/a.ts"),
        # Any folders.
        ("src/**/*.py", "src/a/b/c.py", "lib/a/b/c.py", "lib/**/*.py"),
        ("src/**/t/*.py", "src/a/t/c.py", "src/a/u/c.py", "src/**/u/*.py"),
        ("src/**", "src/a/b.py", "lib/a/b.py", "lib/**"),
        ("src/**.ts", "src/a/b.ts", "lib/a/b.ts", "lib/**.ts"),
        ("**/rules/*.yml", "a/rules/b.yml", "a/checks/b.yml", "**/checks/*.yml"),
        ("src/**/test_*.py", "src/a/t/test_b.py", "lib/test_b.py", None),
        ("src/**/t/*.py", "src/a/t/b.py", "src/c/u/b.py", "src/**/u/*.py"),
        ("src/**/t/*.py", "src/a/t/b.py", "lib/b.py", None),
        # Another suffix, another word in the name, both and a folder.
        ("src/*.js", "src/a.js", "src/a.ts", "src/*.ts"),
        ("*.js", "src/a.js", "src/a.ts", "*.ts"),
        ("src/*.test.js", "src/a.test.js", "src/a.test.ts", "src/*.test.ts"),
        ("t/test_*.py", "t/test_a.py", "t/check_a.py", "t/check_*.py"),
        ("t/*_test.go", "t/a_test.go", "u/a_spec.go", "u/*_spec.go"),
        ("src/**/*.js", "src/a/b.js", "lib/a/b.ts", "lib/**/*.ts"),
        ("src/*/index.js", "src/a/index.js", "src/a/main.js", "src/*/main.js"),
        # It is meant where it is.
        ("*.js", "src/a.js", "lib/a.js", "*.js"),
        ("src/*.js", "src/a.js", "src/b.js", "src/*.js"),
        # Nothing that is sure.
        ("src/api/*.ts", "src/api/a.ts", "a.ts", None),
        ("pkg/*/src/*.ts", "pkg/a/src/b.ts", "other/b.ts", None),
        ("t/test_*.py", "t/test_a.py", "t/about.md", None),
        ("a**b/*.ts", "axb/c.ts", "d/c.ts", None),
    ],
)
def test_a_pattern_is_put_as_its_file_is_now(pattern, old, new, found):
    assert following(pattern, old, new) == found


WORDS = st.from_regex(r"[a-z]{1,5}", fullmatch=True)
PARTS = st.one_of(WORDS, st.just("*"), st.just("**"), WORDS.map(lambda word: f"{word}-*"))
PATTERNS = st.tuples(
    st.lists(PARTS, max_size=4), st.sampled_from(["*.js", "test_*.py", "*", "**", "one.ts"])
).map(lambda parts: "/".join([*parts[0], parts[1]]))
PATHS = st.lists(WORDS, min_size=1, max_size=5).map("/".join)


@given(PATTERNS, PATHS, PATHS)
def test_what_is_found_means_the_file_where_it_is_and_has_no_more_and_no_fewer_stars(
    pattern, old, new
):
    found = following(pattern, old, new)

    if found is not None:
        assert list(Tree.of([new]).matching(found)) == [new]
        assert found.count("*") == pattern.count("*")


@given(folders=st.lists(WORDS, min_size=1, max_size=4, unique=True), data=st.data())
def test_a_folder_that_is_written_out_is_exchanged_and_nothing_else(folders, data):
    at = data.draw(st.integers(0, len(folders) - 1))
    stars = data.draw(st.sets(st.integers(0, len(folders) - 1).filter(lambda one: one != at)))
    wanted = ["*" if one in stars else folder for one, folder in enumerate(folders)]
    there = [*folders[:at], "ELSEWHERE", *folders[at + 1 :]]

    found = following(
        "/".join([*wanted, "*.ts"]), "/".join([*folders, "a.ts"]), "/".join([*there, "a.ts"])
    )

    assert found == "/".join([*wanted[:at], "ELSEWHERE", *wanted[at + 1 :], "*.ts"])


SIMPLE = st.text("ab*/", min_size=1, max_size=9).filter(lambda one: one.count("*") <= 8)
WHOLE = (
    st.lists(st.sampled_from(["**", "*", "a", "b", "*a", "a*b", "*a*b*", "ab"]), max_size=6)
    .map("/".join)
    .filter(lambda one: one.strip("/") and one.count("*") <= 8)
)
SOME_PATHS = st.lists(st.text("ab", min_size=1, max_size=4), min_size=1, max_size=6).map("/".join)


def means(pattern: str, path: str) -> bool:
    """What `*` and `**` say, each tried in every way."""
    if not pattern:
        return not path
    if pattern.startswith("**/"):
        rests = [path, *(path[at + 1 :] for at, char in enumerate(path) if char == "/")]
        return any(means(pattern[3:], rest) for rest in rests)
    stars = len(pattern) - len(pattern.lstrip("*"))
    if stars:
        reach = path if stars > 1 else path.partition("/")[0]
        return any(means(pattern[stars:], path[at:]) for at in range(len(reach) + 1))
    return path[:1] == pattern[0] and means(pattern[1:], path[1:])


@settings(max_examples=400)
@given(pattern=WHOLE, path=SOME_PATHS)
@example(pattern="**/a/**/b", path="a/a/b")
@example(pattern="*a*b*/**/a*", path="bab/a/b/ab")
def test_a_pattern_means_what_its_stars_say(pattern, path):
    whole = pattern.strip("/")
    expected = means(whole, path if "/" in pattern else path.rpartition("/")[2])

    assert (list(Tree.of([path]).matching(pattern)) == [path]) == expected


@given(pattern=SIMPLE, path=SOME_PATHS)
def test_any_pattern_can_be_asked_for_and_means_no_more_than_it_says(pattern, path):
    whole = pattern.strip("/")
    found = list(Tree.of([path]).matching(pattern))

    assert not found or means(whole, path if "/" in pattern else path.rpartition("/")[2])


def test_a_long_name_is_not_tried_in_every_way():
    """It would be years before they came to an end."""
    long, deep = "a" * 250, "a/" * 1_000

    assert not list(Tree.of([f"x/{long}"]).matching(f"x/{'*a' * PATTERN_STARS_MAX}b"))
    assert not list(Tree.of([f"{deep}c"]).matching("**/a/**/a/**/a/**/b"))
    assert not list(Tree.of([long]).matching(f"{'**a' * 4}b"))
    every = "*a" * PATTERN_STARS_MAX
    assert following(f"x/{every}.py", f"x/{long}.py", f"x/{long}.ts") == f"x/{every}.ts"


def test_paths_of_any_depth_are_compared_in_a_moment():
    start = time.process_time()

    following("src/**", f"src/{'a/' * 1_000}x.py", f"lib/{'a/b/' * 500}y.py")
    following("a/*", "/".join("ab" * 900), "/".join("aab" * 600))

    assert time.process_time() - start < 1
