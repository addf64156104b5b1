"""db.visibility: what a work tree hides, why, and that nothing stays hidden afterwards."""

import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.db import history, nodes, visibility
from yaadwatch.db.visibility import BRANCH, FILE, WORK, View, seen_from
from yaadwatch.model.memories import Provenance
from yaadwatch.model.projects import Checkout

HERE = View(worktree=1, branch="main", unmerged=frozenset({"topic1", "topic2"}))


@pytest.fixture
def conn():
    conn = empty_store()
    conn.execute("INSERT INTO worktrees (id, path) VALUES (1, '/shop'), (2, '/shop-topic')")
    return conn


def _store(conn, *, commits=(), checkout=None, line=0, **given):
    nodes.insert(conn, node("a", origin="file:CLAUDE.md", **given))
    for commit in commits:
        visibility.note_learned(conn, "a", commit, NOW)
    if checkout is not None:
        worktree, branch = checkout
        visibility.put_provisional(conn, "a", "base", [Checkout(worktree=worktree, branch=branch)])
    if line != 0:
        place = Provenance(node="a", worktree=1, path="CLAUDE.md", position=0, line=line, since=NOW)
        history.put_provenance(conn, 1, "CLAUDE.md", [place])


@pytest.mark.parametrize(
    ("memory", "reasons"),
    [
        ({}, set()),
        ({"commits": ["topic1"]}, {BRANCH}),
        ({"commits": ["topic1", "topic2"]}, {BRANCH}),
        ({"commits": ["topic1", "merged"]}, set()),
        ({"commits": ["topic1"], "pinned": True}, set()),
        ({"commits": ["topic1"], "archived_at": NOW, "archive_reason": "old"}, set()),
        ({"commits": ["topic1"], "checkout": (1, "main")}, set()),
        ({"commits": ["topic1"], "line": 3}, set()),
        ({"checkout": (2, "topic")}, {WORK}),
        ({"checkout": (1, "topic")}, {WORK}),
        ({"checkout": (1, "main")}, set()),
        ({"checkout": (2, "topic"), "line": 3}, set()),
        ({"checkout": (None, "topic")}, {WORK}),
        ({"line": None}, {FILE}),
        ({"line": None, "commits": ["topic1"]}, {FILE, BRANCH}),
    ],
)
def test_a_work_tree_hides_what_is_of_other_branches_and_of_work_elsewhere(conn, memory, reasons):
    _store(conn, **memory)

    found = {
        reason
        for reason in (FILE, BRANCH, WORK)
        if seen_from(conn, HERE, visibility.hidden, reason) == {"a"}
    }

    assert found == reasons
    assert seen_from(conn, HERE, visibility.among, ["a", "b"]) == ({"a"} if reasons else set())


def test_all_branches_hide_only_what_the_files_no_longer_say(conn):
    _store(conn, commits=["topic1"], checkout=(2, "topic"), line=None)

    assert seen_from(conn, View(worktree=1), visibility.of_other_branches) == set()
    assert seen_from(conn, View(worktree=1), visibility.hidden) == {"a"}
    assert seen_from(conn, None, visibility.hidden) == set()


def test_uncommitted_work_is_counted_by_checkout(conn):
    _store(conn, checkout=(2, "topic"))

    assert seen_from(conn, HERE, visibility.by_work) == [("/shop-topic", "topic", 1)]
    assert seen_from(conn, HERE, visibility.by_work, ["b"]) == []


def test_nothing_stays_hidden_after_a_read_that_fails(conn):
    _store(conn, commits=["topic1"])

    def fail(conn):
        raise KeyError(visibility.hidden(conn))

    with pytest.raises(KeyError):
        seen_from(conn, HERE, fail)

    assert visibility.hidden(conn) == set()
