"""Which copies of a person's files are kept, and under which name."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.agent_files import Snapshot
from yaadwatch.store.codec import Record, json_list, to_ms

KEPT_MAX: Final = 20
"""Copies kept of one file; the oldest goes first."""

_ROW: Final = Record(Snapshot)


def add(
    conn: apsw.Connection,
    *,
    worktree: int,
    path: str,
    name: str,
    size: int,
    digest: str,
    at: datetime,
) -> list[str]:
    """Note a copy; return the names of those that are kept no longer."""
    conn.execute(
        """
        INSERT INTO file_snapshots (worktree, path, name, size, digest, at_ms)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (worktree, path, name, size, digest, to_ms(at)),
    )
    old = conn.execute(
        """
        DELETE FROM file_snapshots
         WHERE id IN (
               SELECT id
                 FROM file_snapshots
                WHERE worktree = ? AND path = ?
                ORDER BY id DESC
                LIMIT -1 OFFSET ?)
        RETURNING name
        """,
        (worktree, path, KEPT_MAX),
    )
    return [gone for (gone,) in old]


def drop(conn: apsw.Connection, names: Iterable[str]) -> None:
    """Forget copies by their names; their files are the caller's."""
    conn.execute(
        "DELETE FROM file_snapshots WHERE name IN (SELECT value FROM json_each(?))",
        (json_list(names),),
    )


def names(conn: apsw.Connection) -> set[str]:
    """Return the names of all copies."""
    return {name for (name,) in conn.execute("SELECT name FROM file_snapshots ORDER BY name")}


def of_path(conn: apsw.Connection, worktree: int, path: str) -> list[Snapshot]:
    """Return the copies of a file, the newest first."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_snapshots
         WHERE worktree = ? AND path = ?
         ORDER BY id DESC
        """,  # noqa: S608
        (worktree, path),
    )
    return list(map(_ROW.read, rows))
