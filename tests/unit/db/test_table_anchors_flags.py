"""Anchors, flags and sightings: what a memory rests on, the flag, and how the files looked."""

from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, empty_store, instants, node, texts

from yaadwatch.db import anchors, nodes, projects
from yaadwatch.model.anchors import (
    Anchor,
    Commit,
    Evidence,
    Flag,
    Method,
    Sighting,
    Suggestion,
    Verdict,
)

flagged_ids = st.sampled_from([Verdict.MOVED, Verdict.CHANGED, Verdict.GONE, Verdict.UNKNOWN])
evidence = st.builds(
    Evidence,
    path=texts,
    symbol=texts,
    commit=st.none() | st.builds(Commit, id=texts, at=instants, subject=texts),
    summary=texts,
)
whole_flags = st.builds(
    Flag,
    node=st.just("a"),
    worktree=st.just(1),
    verdict=flagged_ids,
    score=st.floats(0, 1),
    level=st.sampled_from(["warn", "suspect", ""]),
    reason=texts,
    since=instants,
    branch=texts,
    uncommitted=st.booleans(),
    evidence=st.lists(evidence, max_size=3).map(tuple),
    suggestion=st.none() | st.builds(Suggestion, path=st.none() | texts, text=st.none() | texts),
)


def _store():
    conn = empty_store()
    for name in ("a", "b", "c"):
        nodes.insert(conn, node(name))
    nodes.insert(conn, node("old", archived_at=NOW))
    for folder in ("/home/ada/shop", "/home/ada/shop-next"):
        projects.add_worktree(conn, Path(folder))
    return conn


@pytest.fixture
def conn():
    return _store()


def _anchor(id, path="src/auth.py", symbol="", **given):
    fields = {
        "node": id,
        "path": path,
        "symbol": symbol,
        "commit": "c0ffee",
        "blob": "b10b",
        "method": Method.TREE if symbol else Method.FILE,
        "fingerprint": "f1" if symbol else "",
        "line": 7 if symbol else None,
    }
    return Anchor(**fields | given)


def _insert(conn, given_anchors):
    anchors.insert(conn, [(one.node, one) for one in given_anchors])


def _flag(id="a", worktree=1, **given):
    fields = {
        "node": id,
        "worktree": worktree,
        "verdict": Verdict.CHANGED,
        "score": 0.8,
        "level": "warn",
        "reason": "verify was rewritten",
        "since": NOW,
        "branch": "main",
        "uncommitted": False,
        "evidence": (),
    }
    return Flag(**fields | given)


def test_anchors_read_as_they_were_written(conn):
    given_anchors = [_anchor("a", symbol="verify", trust="given"), _anchor("a")]

    _insert(conn, given_anchors)

    assert anchors.of_nodes(conn, ["a", "b"]) == {"a": given_anchors, "b": []}


def test_a_second_anchor_on_the_same_definition_replaces_the_first(conn):
    _insert(conn, [_anchor("a", symbol="verify")])
    moved_on = _anchor("a", symbol="verify", commit="beef", fingerprint="f2", line=9)

    _insert(conn, [moved_on])

    assert anchors.of_nodes(conn, ["a"]) == {"a": [moved_on]}


def test_only_living_memories_are_watched(conn):
    _insert(conn, [_anchor("old", "src/old.py"), _anchor("old"), _anchor("b")])

    assert anchors.on_paths(conn, ["src/auth.py", "src/old.py"]) == [_anchor("b")]
    assert anchors.nodes_resting_on(conn, ["src/auth.py", "src/old.py"]) == [("src/auth.py", "b")]
    assert anchors.everything(conn) == [_anchor("b")]
    assert anchors.paths(conn) == ["src/auth.py"]
    assert anchors.of_nodes(conn, ["old"])["old"] != []


def test_a_memory_on_two_definitions_of_a_file_rests_on_it_once(conn):
    _insert(conn, [_anchor("b", symbol="verify"), _anchor("b", symbol="sign"), _anchor("a")])

    assert anchors.nodes_resting_on(conn, ["src/auth.py"]) == [
        ("src/auth.py", "a"),
        ("src/auth.py", "b"),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"commit": "beef"},
        {"blob": "beef"},
        {"fingerprint": "f2"},
        {"line": 9},
        {"trust": "given"},
        {"spread": 7},
        {"symbol": "sign"},
        {"path": "src/jwt.py"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_was_anchored_anew_is_not_unchanged(conn, other):
    was = _anchor("a", symbol="verify")
    now = replace(was, **other)
    _insert(conn, [now, _anchor("b")])

    assert anchors.unchanged(conn, {"a": [was], "b": [_anchor("b")]}) == {"b"}
    assert anchors.unchanged(conn, {"a": [now], "b": []}) == {"a"}


def test_an_anchor_of_nobody_is_not_stored(conn):
    with pytest.raises(apsw.ConstraintError):
        _insert(conn, [_anchor("nobody")])


@given(whole_flags)
def test_a_flag_reads_as_it_was_raised(flag):
    conn = _store()

    anchors.put_flag(conn, flag)

    assert anchors.flags_of_worktree(conn, 1) == [flag]


def test_flags_go_one_worktree_at_a_time_or_all_of_a_node(conn):
    for name in ("a", "b"):
        for worktree in (1, 2):
            anchors.put_flag(conn, _flag(name, worktree))

    anchors.drop_flags(conn, ["a"], 1)
    anchors.drop_flags(conn, ["b"])

    assert anchors.flags_of_worktree(conn, 1) == []
    assert anchors.flags_of_worktree(conn, 2) == [_flag("a", 2)]


@pytest.mark.parametrize("verdict", [Verdict.FRESH, Verdict.TOUCHED])
def test_what_holds_is_never_flagged(conn, verdict):
    with pytest.raises(apsw.ConstraintError):
        anchors.put_flag(conn, _flag(verdict=verdict))


@given(st.lists(st.builds(Sighting, path=texts, signature=texts, blob=texts)))
def test_the_last_sighting_of_a_path_counts(seen):
    conn = _store()
    for one in seen:
        anchors.put_sightings(conn, 1, [one])

    assert anchors.sightings_of_worktree(conn, 1) == {one.path: one for one in seen}
    assert anchors.sightings_of_worktree(conn, 2) == {}


def test_dropped_sightings_are_gone_and_others_stay(conn):
    seen = Sighting(path="src/auth.py", signature="1:2:3:4", blob="b10b")
    other = replace(seen, path="src/jwt.py")
    anchors.put_sightings(conn, 1, [seen, other])

    anchors.drop_sightings(conn, ["src/auth.py", "never/seen.py"], 1)

    assert anchors.sightings_of_worktree(conn, 1) == {"src/jwt.py": other}


def test_a_worktree_takes_its_flags_and_sightings_along(conn):
    anchors.put_flag(conn, _flag())
    anchors.put_sightings(conn, 1, [Sighting(path="src/auth.py", signature="-", blob="")])

    projects.drop_worktree(conn, 1)

    assert anchors.flags_of_worktree(conn, 1) == []
    assert anchors.sightings_of_worktree(conn, 1) == {}
