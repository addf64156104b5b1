"""Work trees, and the places in people's files that say a node."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.db import history, nodes, projects
from yaadwatch.model.memories import Provenance
from yaadwatch.model.projects import Worktree

SHOP, NEXT = Path("/home/ada/shop"), Path("/home/ada/it's next")


@pytest.fixture
def conn():
    conn = empty_store()
    for name in ("a", "b"):
        nodes.insert(conn, node(name))
    projects.add_worktree(conn, SHOP)
    return conn


def _says(id, position, line=1, worktree=1, path="CLAUDE.md"):
    return Provenance(
        node=id, worktree=worktree, path=path, position=position, line=line, since=NOW
    )


def test_a_work_tree_remembers_its_head_and_when_it_was_checked(conn):
    projects.set_worktree_head(conn, 1, "c0ffee", "main")
    projects.set_worktree_checked(conn, 1, NOW)

    assert projects.all_worktrees(conn) == [
        Worktree(id=1, path=SHOP, head="c0ffee", branch="main", checked_at=NOW)
    ]


def test_only_places_that_say_a_node_now_say_it(conn):
    projects.add_worktree(conn, NEXT)
    history.put_provenance(conn, 1, "CLAUDE.md", [_says("a", 0), _says("b", 1, line=None)])
    history.put_provenance(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2), _says("b", 1, 9, 2)])

    found = history.places_saying(conn, ["a", "b"])

    assert [(row.node, row.worktree, row.line) for row in found] == [
        ("a", 1, 1),
        ("a", 2, 1),
        ("b", 2, 9),
    ]
    assert history.places_saying(conn, ["c"]) == []


def test_a_file_says_what_was_put_last(conn):
    history.put_provenance(conn, 1, "CLAUDE.md", [_says("a", 0), _says("b", 1, line=4)])
    now_says = [_says("b", 0), replace(_says("a", 1, line=None), since=NOW - timedelta(days=1))]

    history.put_provenance(conn, 1, "CLAUDE.md", now_says)

    assert history.provenance_on_path(conn, 1, "CLAUDE.md") == now_says


def test_one_file_does_not_speak_for_another(conn):
    projects.add_worktree(conn, NEXT)
    history.put_provenance(conn, 1, "CLAUDE.md", [_says("a", 0)])
    history.put_provenance(conn, 1, "AGENTS.md", [_says("a", 0, path="AGENTS.md")])
    history.put_provenance(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2)])

    history.put_provenance(conn, 1, "CLAUDE.md", [])

    assert history.provenance_of_node(conn, "a") == [
        _says("a", 0, path="AGENTS.md"),
        _says("a", 0, worktree=2),
    ]


def test_a_place_that_git_hides_still_says_it(conn):
    history.put_provenance(conn, 1, "CLAUDE.md", [_says("a", 0, line=None)])

    assert history.said_somewhere(conn, ["a", "b"]) == {"a"}


def test_what_every_place_of_a_work_tree_hides_is_hidden_there(conn):
    projects.add_worktree(conn, NEXT)
    history.put_provenance(
        conn, 1, "CLAUDE.md", [_says("a", 0, line=None), _says("b", 1, line=None)]
    )
    history.put_provenance(conn, 1, "AGENTS.md", [_says("b", 0, path="AGENTS.md")])
    history.put_provenance(conn, 2, "CLAUDE.md", [_says("a", 0, worktree=2)])

    assert history.hidden_by_git(conn, 1) == {"a"}
    assert history.hidden_by_git(conn, 2) == set()


def test_a_work_tree_takes_its_places_along(conn):
    history.put_provenance(conn, 1, "CLAUDE.md", [_says("a", 0)])

    projects.drop_worktree(conn, 1)

    assert history.said_somewhere(conn, ["a"]) == set()
    assert nodes.get(conn, "a") is not None
