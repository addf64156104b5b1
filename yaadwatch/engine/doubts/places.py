"""Where does a person say what is in doubt? Only they change their own files: we tell the place."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from yaadwatch.model.projects import Worktree
from yaadwatch.store import provenance, worktrees
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession


class Said(NamedTuple):
    """A place in a person's own file; the path is absolute where that is in another work tree."""

    path: str
    line: int


def said_in(conn: Connection, worktree: int, ids: Iterable[str]) -> dict[str, list[Said]]:
    """Return where memories are said now, by their ids; those that nobody's file says are left out.

    What stands in the work tree that was asked about comes first.
    """
    trees = {row.id: row for row in worktrees.everything(conn)}
    found: dict[str, list[Said]] = {}
    saying = provenance.saying(conn, ids)
    for row in sorted(saying, key=lambda row: row.worktree != worktree):
        if row.line is not None:
            path = row.path if row.worktree == worktree else _in_full(trees[row.worktree], row.path)
            found.setdefault(row.node, []).append(Said(path, row.line))
    return found


def superseded(conn: Connection, worktree: int, ids: Collection[str]) -> frozenset[str]:
    """Return those of `ids` that others supersede in a work tree: agents read those instead.

    What a person's own file still says is none of them: agents load that file.
    """
    former = supersession.successors(conn, ids).keys() if ids else frozenset()
    return frozenset(former - said_in(conn, worktree, former).keys()) if former else frozenset()


def _in_full(tree: Worktree, path: str) -> str:
    return str(tree.path / path)
