"""What a flag is made of: uses, successors, features and their weights."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.anchors import Anchor, Method
from yaadwatch.staleness import successors, verdict
from yaadwatch.staleness.successors import Successor
from yaadwatch.staleness.uses import Tally
from yaadwatch.staleness.verdict import Seen, Span, features


def uses(word, *files):
    tally = Tally([word])
    for old_path, new_path, old, new in files:
        tally.add(old_path, new_path, old, new)
    return tally.found()[word]


def test_a_word_is_lost_kept_or_gained_file_by_file():
    found = uses(
        "retry",
        ("a", "a", b"retry now\n", b"wait now\n"),
        ("b", "b", b"retry\nx\n", b"retry\ny\n"),
        ("c", "c", b"x\n", b"retry\n"),
        (None, "d", b"", b"retry\n"),
        ("e", None, b"retry\n", b""),
        ("f", "f", b"retrying\n", b"x\n"),
    )

    assert (found.lost, found.kept, found.gained) == (["a", "e"], ["b"], ["c", "d"])
    assert found.removed == 2


def test_what_stands_in_a_words_place_on_lines_that_are_alike_is_told():
    old = b"run: node tool.js list\nrun: node tool.js show\nother\n"
    new = b"run: taskly list\nrun: taskly show\nother\n"

    assert set(uses("tool.js", ("doc", "doc", old, new)).replaced) == {"taskly"}


def test_a_line_that_moved_in_its_file_is_not_removed():
    assert uses("retry", ("a", "a", b"retry\nb\n", b"b\n  retry\n")).removed == 0


def test_binary_files_use_nothing():
    assert uses("retry", ("a", "a", b"\0retry", b"\0")).lost == []


pieces = st.sampled_from(["a", "b", "ab", "_", "9", "-", "/", ".", "é", "-é"])
written = st.lists(pieces | st.sampled_from([" ", "\n"]), max_size=40).map("".join)
many_words = st.lists(
    st.lists(pieces, min_size=1, max_size=5).map("".join), min_size=17, max_size=40, unique=True
)
changed_files = st.lists(
    st.tuples(written.map(str.encode), written.map(str.encode)), min_size=1, max_size=4
)


@given(many_words, changed_files)
def test_many_words_are_found_in_one_pass_as_each_of_them_is_found_alone(words, files):
    """One word alone is looked for in every file; many are looked for where they may be."""
    tally = Tally(words)
    for number, (old, new) in enumerate(files):
        tally.add(f"{number}", f"{number}", old, new)

    for word, found in tally.found().items():
        assert found == uses(word, *((f"{n}", f"{n}", *both) for n, both in enumerate(files)))


@given(many_words, written.map(str.encode))
def test_a_file_that_is_not_looked_into_has_lost_no_word(words, old):
    tally = Tally(words)
    counts = tally.may_count(old)
    tally.add("a", None, old, b"")

    assert counts or not any(found.lost for found in tally.found().values())


@given(st.binary(max_size=300), st.binary(max_size=300), st.sampled_from(["a", "ab", "--a", "$b"]))
def test_any_bytes_have_an_answer(old, new, word):
    found = uses(word, ("x", "x", old, new))

    assert len(found.lost) + len(found.kept) + len(found.gained) <= 1
    assert len(found.replaced) <= found.removed


@pytest.mark.parametrize(
    ("path", "renamed", "added", "instead", "found"),
    [
        ("a/x.py", {"a/x.py": "b/y.py"}, ["b/y.py"], [], Successor("b/y.py", sure=True)),
        ("a/x.py", {}, ["b/x.py"], [], Successor("b/x.py", sure=False)),
        ("a/x.py", {}, ["c/x.py", "a/b/x.py"], [], Successor("a/b/x.py", sure=False)),
        ("a/x.py", {}, ["a/x/__init__.py", "a/x/y.py"], [], Successor("a/x", sure=True)),
        (
            "d/x.md",
            {},
            ["d/x/overview.md", "d/x/y.md"],
            [],
            Successor("d/x/overview.md", sure=True),
        ),
        (
            "d/XY.md",
            {"d/XY.md": "d/xy/parts/z.md"},
            ["d/xy/README.md", "d/xy/parts/z.md"],
            [],
            Successor("d/xy/README.md", sure=True),
        ),
        ("d/XY.md", {}, ["d/xy/a.md", "d/xy/b.md"], [], Successor("d/xy", sure=True)),
        (
            "a/x.py",
            {"a/x.py": "a/x/__init__.py"},
            ["a/x/__init__.py"],
            [],
            Successor("a/x/__init__.py", sure=True),
        ),
        (
            "old/README.md",
            {"old/a.ts": "new/a.ts"},
            ["new/a.ts", "new/README.md", "z/README.md"],
            [],
            Successor("new/README.md", sure=True),
        ),
        ("poetry.lock", {}, ["z.py"], ["uv.lock", "uv.lock"], Successor("uv.lock", sure=False)),
        (
            "s/validate_config.py",
            {},
            ["s/v/validate_all_configs.py", "s/net.py"],
            [],
            Successor("s/v/validate_all_configs.py", sure=False),
        ),
        ("a/x.py", {}, ["b/y.ts"], [], None),
        ("a/x.py", {}, [], [], None),
    ],
)
def test_what_took_the_place_of_a_file(path, renamed, added, instead, found):
    assert successors.of_file(path, renamed, added, instead) == found


@pytest.mark.parametrize(
    ("renamed", "added", "found"),
    [
        ({"a/b/x": "c/b/x", "a/b/y": "c/b/y"}, [], Successor("c/b", sure=True)),
        ({"a/b/x": "c/x", "a/b/y": "d/y"}, [], Successor("d", sure=False, parts=("c", "d"))),
        ({}, ["c/b/z"], Successor("c/b", sure=False)),
        ({}, ["c/a/b/z"], Successor("c/a/b", sure=True)),
        ({"e/x": "f/x"}, [], None),
    ],
)
def test_where_a_folder_went(renamed, added, found):
    assert successors.of_folder("a/b", renamed, added) == found


@pytest.mark.parametrize(
    ("added", "found"),
    [
        (["core/server/handlers/http.ts"], None),
        (["core/server/handlers/ask.ts"], Successor("core/server/handlers", sure=True)),
        (["core/server/asking/ask.ts"], None),
    ],
)
def test_a_new_folder_with_nothing_of_what_one_of_its_name_had_is_another_one(added, found):
    removed = ["core/tools/handlers/ask.ts", "core/tools/handlers/read.ts"]

    assert successors.of_folder("core/tools/handlers", {}, added, removed) == found


@pytest.mark.parametrize(
    ("added", "found"),
    [
        (["core/types/index.ts", "web/ui/index.ts"], None),
        (["src/core/tasks/index.test.ts"], None),
        (["core/types/index.ts", "web/task/index.ts"], "web/task/index.ts"),
        (["core/types/index.ts", "src/core/task/run/index.ts"], "src/core/task/run/index.ts"),
    ],
)
def test_of_new_files_with_a_name_of_one_word_only_one_that_is_near_may_follow(added, found):
    followed = successors.of_file("src/core/task/index.ts", {}, added, [])

    assert followed == (Successor(found, sure=False) if found else None)


@pytest.mark.parametrize(
    ("path", "new", "sure"),
    [
        ("src/core/prompts/commands.ts", "apps/desktop/sidecar/commands.ts", False),
        ("src/core/prompts/commands.ts", "apps/core/commands.ts", True),
        ("src/ui/chat-row.tsx", "apps/web/chat-row.tsx", True),
        ("src/ui/ChatRow.tsx", "apps/web/ChatRow.tsx", True),
        ("setup.md", "docs/setup.md", True),
    ],
)
def test_a_name_that_many_things_have_does_not_say_alone_which_file_it_is(path, new, sure):
    assert successors.of_file(path, {}, [new], []) == Successor(new, sure=sure)


def test_a_file_that_nothing_follows_may_be_kept_in_another_one_nowadays():
    assert successors.by_custom("lib/setup.py") == Successor("lib/pyproject.toml", sure=False)
    assert successors.by_custom("setup.cfg") == Successor("pyproject.toml", sure=False)
    assert successors.by_custom("lib/net.py") is None


def anchor(method, path="src/net.py", symbol="", spread=0):
    return Anchor(
        node="n", path=path, symbol=symbol, commit="c" * 40, blob="b", method=method,
        fingerprint="20", line=None, spread=spread,
    )  # fmt: skip


def sight(method, seen, **fields):
    return verdict.judge_anchor(anchor(method, **fields), seen)


FRESH = sight(Method.FILE, Seen(place="src/net.py", same_bytes=True))
GONE = sight(Method.FILE, Seen(), path="src/old.py")
WORD = sight(Method.WORD, Seen(span=Span.MISSING), symbol="retry_limit")
REPLACED = sight(
    Method.FILE,
    Seen(place="bin/x", same_bytes=True, lost=1.0, lost_files=8, replaced=30),
    path="bin/x",
)
VALUE = sight(Method.VALUE, Seen(place="p", span=Span.DIFFERENT, instead="18"), symbol="node")
ALL = (FRESH, GONE, WORD, REPLACED, VALUE)


def score(*sights):
    return verdict.score(features(sights))


def test_without_anchors_that_can_be_told_there_is_no_score():
    assert score() == 0.0
    assert score(sight(Method.FILE, Seen(unknown="no idea"))) == 0.0


def test_what_holds_is_below_every_threshold_and_what_is_gone_above():
    assert verdict.level(score(FRESH)) == ""
    assert verdict.level(score(GONE)) != ""
    assert verdict.level(score(VALUE)) != ""
    assert verdict.level(score(REPLACED)) != ""


def test_more_that_is_lost_makes_a_memory_no_less_flagged():
    assert score(FRESH) < score(FRESH, GONE)
    assert score(FRESH, GONE) <= score(FRESH, GONE, WORD)


def found(*sights):
    """Return the features of sights that are not 0."""
    return {name for name, value in features(sights).items() if value}


def test_of_all_that_is_lost_the_gravest_stands_alone():
    assert found(WORD, GONE) == {"place_lost", "anchors"}
    assert found(GONE, WORD, VALUE) == {"value_changed", "anchors"}


def test_a_file_that_moved_is_as_grave_as_one_that_is_gone():
    moved = sight(Method.FILE, Seen(place="src/new.py"), path="src/old.py")

    assert score(moved) == score(GONE)


def test_a_definition_that_went_elsewhere_counts_where_the_text_says_where_it_was():
    moved = sight(
        Method.TREE, Seen(place="src/net.py", span=Span.MISSING, elsewhere=("b.py",)), symbol="f"
    )

    assert found(moved) == {"anchors"}
    assert score(replace(moved, misplaced=True)) == score(GONE)


def test_that_a_thing_is_used_no_more_counts_only_while_nothing_is_lost():
    seen = Seen(place="bin/x", same_bytes=True, lost=1.0, lost_files=8)
    unused = sight(Method.FILE, seen, path="bin/x")
    assert found(unused) == {"unused", "anchors"}
    assert found(unused, WORD) == {"word_gone", "anchors"}


@pytest.mark.parametrize(
    ("lines", "lost", "files", "is_replaced"),
    [
        (30, 1.0, 8, True),
        (3, 0.8, 4, True),
        (10, 0.1, 2, True),
        (2, 1.0, 8, False),
        (9, 0.7, 8, False),
        (30, 0.05, 8, False),
        (3, 1.0, 1, False),
        (0, 1.0, 8, False),
    ],
)
def test_thing_is_replaced_where_most_places_or_very_many_lines_name_another(
    lines, lost, files, is_replaced
):
    seen = Seen(place="bin/x", same_bytes=True, lost=lost, lost_files=files, replaced=lines)
    assert ("place_lost" in found(sight(Method.FILE, seen, path="bin/x"))) is is_replaced


@pytest.mark.parametrize("seen", [{"lost": 0.5, "lost_files": 8}, {"lost": 1.0, "lost_files": 1}])
def test_thing_that_still_has_a_place_or_had_one_only_is_not_unused(seen):
    seen = Seen(place="bin/x", same_bytes=True, **seen)

    assert found(sight(Method.FILE, seen, path="bin/x")) == {"anchors"}


def test_definition_that_is_gone_is_a_warning():
    missing = sight(Method.TREE, Seen(place="src/net.py", span=Span.MISSING), symbol="retry")

    assert found(missing) == {"definition_gone", "anchors"}
    assert verdict.level(score(missing)) == "warn"


def test_the_order_of_sights_plays_no_part():
    assert len({score(*order) for order in itertools.permutations(ALL)}) == 1


def test_every_weight_is_of_a_feature_and_every_feature_has_a_weight():
    found = features(ALL)

    assert set(verdict.WEIGHTS) == {"intercept", *found}
    assert 0 < verdict.WARN < 1


lines = st.lists(
    st.sampled_from(
        ["", "a", "  a\t", "a b", "xa", "a-a", "--a", "x--a", "\r", "a\r", "é a", "ab --a"]
    ),
    max_size=8,
)


@given(lines, lines, st.sampled_from(["a", "--a", "a b"]))
def test_uses_are_what_reading_line_by_line_tells(old_lines, new_lines, word):
    """A word is not a part of a longer one; a line is the same with any space around it.

    What stands there as often as before has lost no line.
    """
    old, new = ("\n".join(some).encode() for some in (old_lines, new_lines))
    inside = r"\w-" if word.startswith("-") else r"\w"
    whole = re.compile(rf"(?<![{inside}]){re.escape(word)}(?!\w)".encode())
    kept = {line.strip() for line in new.split(b"\n")}
    gone = [
        line for line in old.split(b"\n") for _ in whole.finditer(line) if line.strip() not in kept
    ]

    found = uses(word, ("x", "x", old, new))

    assert bool(found.lost or found.kept) == bool(whole.search(old))
    assert bool(found.kept or found.gained) == bool(whole.search(new))
    fewer = len(whole.findall(new)) < len(whole.findall(old))
    assert found.removed == (len(gone) if fewer else 0)


def test_a_line_that_is_only_what_was_sought_counts_as_still_there():
    tally = Tally([" "])

    tally.add("a.py", "a.py", b" \nx\n", b"y z\n")

    assert tally.found()[" "].removed == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from http_older import fetch", "from http_newest import get"),
        (
            "let rows = await older_client(fetch, path, tries);",
            "let rows = await a(get, path, tries);",
        ),
        ("fetch(url, tries, deadline_of_old)", "get(url, tries, deadline_of_the_new)"),
    ],
)
def test_of_two_new_words_on_a_line_the_one_in_its_place_is_told(old, new):
    found = uses("fetch", ("a", "a", f"{old}\n".encode(), f"{new}\n".encode()))

    assert found.replaced == ["get"]
