"""Work trees, and the places in people's files that say a node."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.model.nodes import Provenance
from yaadwatch.model.projects import Worktree
from yaadwatch.store import nodes, provenance, worktrees

SHOP, NEXT = Path("/home/ada/shop"), Path("/home/ada/it's next")


@pytest.fixture
def conn():
    conn = empty_store()
    for name in ("a", "b"):
        nodes.insert(conn, node(name))
    worktrees.add(conn, SHOP)
    return conn


def _says(id, position, line=1, worktree=1, path="CLAUDE.md"):
    return Provenance(
        node=id, worktree=worktree, path=path, position=position, line=line, since=NOW
    )


def test_a_new_work_tree_has_no_head_and_was_never_checked(conn):
    added = worktrees.add(conn, NEXT)

    assert added == Worktree(id=2, path=NEXT, head="", branch="", checked_at=None)
    assert worktrees.by_path(conn, NEXT) == added


def test_adding_a_work_tree_again_changes_nothing(conn):
    worktrees.set_head(conn, 1, "c0ffee", "main")
    before = worktrees.everything(conn)

    assert worktrees.add(conn, SHOP) == before[0]
    assert worktrees.everything(conn) == before


def test_a_work_tree_remembers_its_head_and_when_it_was_checked(conn):
    worktrees.set_head(conn, 1, "c0ffee", "main")
    worktrees.set_checked(conn, 1, NOW)

    assert worktrees.everything(conn) == [
        Worktree(id=1, path=SHOP, head="c0ffee", branch="main", checked_at=NOW)
    ]


def test_only_places_that_say_a_node_now_say_it(conn):
    worktrees.add(conn, NEXT)
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0), _says("b", 1, line=None)])
    provenance.put_path(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2), _says("b", 1, 9, 2)])

    found = provenance.saying(conn, ["a", "b"])

    assert [(row.node, row.worktree, row.line) for row in found] == [
        ("a", 1, 1),
        ("a", 2, 1),
        ("b", 2, 9),
    ]
    assert provenance.saying(conn, ["c"]) == []


def test_a_folder_that_is_no_work_tree_is_none(conn):
    assert worktrees.by_path(conn, Path("/home/ada/other")) is None


def test_a_file_says_what_was_put_last(conn):
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0), _says("b", 1, line=4)])
    now_says = [_says("b", 0), replace(_says("a", 1, line=None), since=NOW - timedelta(days=1))]

    provenance.put_path(conn, 1, "CLAUDE.md", now_says)

    assert provenance.on_path(conn, 1, "CLAUDE.md") == now_says


def test_one_file_does_not_speak_for_another(conn):
    worktrees.add(conn, NEXT)
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0)])
    provenance.put_path(conn, 1, "AGENTS.md", [_says("a", 0, path="AGENTS.md")])
    provenance.put_path(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2)])

    provenance.put_path(conn, 1, "CLAUDE.md", [])

    assert provenance.of_node(conn, "a") == [
        _says("a", 0, path="AGENTS.md"),
        _says("a", 0, worktree=2),
    ]


def test_a_place_that_git_hides_still_says_it(conn):
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0, line=None)])

    assert provenance.said(conn, ["a", "b"]) == {"a"}


def test_what_every_place_of_a_work_tree_hides_is_hidden_there(conn):
    worktrees.add(conn, NEXT)
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0, line=None), _says("b", 1, line=None)])
    provenance.put_path(conn, 1, "AGENTS.md", [_says("b", 0, path="AGENTS.md")])
    provenance.put_path(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2)])

    assert provenance.hidden(conn, 1) == {"a"}
    assert provenance.hidden(conn, 2) == set()


def test_two_statements_cannot_stand_in_one_place(conn):
    with pytest.raises(apsw.ConstraintError):
        provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0), _says("b", 0)])


def test_a_work_tree_takes_its_places_along(conn):
    provenance.put_path(conn, 1, "CLAUDE.md", [_says("a", 0)])

    worktrees.drop(conn, 1)

    assert provenance.said(conn, ["a"]) == set()
    assert nodes.get(conn, "a") is not None
