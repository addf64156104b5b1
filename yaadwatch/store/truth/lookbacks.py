"""What is still to be looked up of rules that are older than the day on which they were read.

It stands in `meta`, for each work tree: the ids of memories by the commit that gave them their
words, or by '' while that is not known.
"""

import json
from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.store import meta

UNKNOWN: Final = ""
_PREFIX: Final = "lookback "

Todo = dict[str, list[str]]
"""The ids of memories by commit."""


def of_worktree(conn: apsw.Connection, worktree: int) -> Todo:
    """Return what is to be looked up for the files of a work tree."""
    said = meta.get(conn, _key(worktree))
    return {} if said is None else dict(json.loads(said))


def waiting(conn: apsw.Connection) -> list[int]:
    """Return the work trees for which something is to be looked up."""
    rows = conn.execute("SELECT key FROM meta WHERE key GLOB ? ORDER BY key", (f"{_PREFIX}*",))
    return [int(key.removeprefix(_PREFIX)) for (key,) in rows]


def left(conn: apsw.Connection, worktree: int) -> int:
    """Return how many memories are still to be looked up."""
    return sum(map(len, of_worktree(conn, worktree).values()))


def add(conn: apsw.Connection, worktree: int, todo: Todo) -> None:
    """Note more that is to be looked up."""
    known = of_worktree(conn, worktree)
    for commit, ids in todo.items():
        known[commit] = list(dict.fromkeys((*known.get(commit, ()), *ids)))
    _put(conn, worktree, known)


def done(conn: apsw.Connection, worktree: int, commit: str, ids: Iterable[str]) -> None:
    """Note that some memories were looked up."""
    known = of_worktree(conn, worktree)
    were = set(ids)
    known[commit] = [one for one in known.get(commit, ()) if one not in were]
    _put(conn, worktree, known)


def drop(conn: apsw.Connection, worktree: int) -> None:
    """Look nothing up any more for a work tree."""
    meta.drop(conn, _key(worktree))


def _put(conn: apsw.Connection, worktree: int, todo: Todo) -> None:
    wanted = {commit: ids for commit, ids in todo.items() if ids}
    if wanted:
        meta.put(conn, _key(worktree), json.dumps(wanted, separators=(",", ":")))
    else:
        drop(conn, worktree)


def _key(worktree: int) -> str:
    return f"{_PREFIX}{worktree}"
