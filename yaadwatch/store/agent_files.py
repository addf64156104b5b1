"""How each agent file of a work tree takes part, and what it held when both sides last agreed."""

import json
from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.model.agent_files import AgentFileRow
from yaadwatch.store.codec import Record, from_ms, to_ms

_ROW: Final = Record(
    AgentFileRow,
    {"written": "written_ms"},
    codecs={
        "written": (
            lambda times: json.dumps([to_ms(at) for at in times]),
            lambda text: tuple(map(from_ms, json.loads(text))),
        )
    },
)


def get(conn: apsw.Connection, worktree: int, path: str) -> AgentFileRow | None:
    """Return the row of one file; None when there is none."""
    rows = conn.execute(
        f"SELECT {_ROW.columns} FROM agent_files WHERE worktree = ? AND path = ?",  # noqa: S608
        (worktree, path),
    )
    return next(map(_ROW.read, rows), None)


def of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, AgentFileRow]:
    """Return the rows of a work tree by path, in the order of the paths."""
    rows = conn.execute(
        f"SELECT {_ROW.columns} FROM agent_files WHERE worktree = ? ORDER BY path",  # noqa: S608
        (worktree,),
    )
    return {row.path: row for row in map(_ROW.read, rows)}


def paths(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the paths that are known of a work tree."""
    rows = conn.execute(
        "SELECT path FROM agent_files WHERE worktree = ? ORDER BY path", (worktree,)
    )
    return {path for (path,) in rows}


def personal(conn: apsw.Connection) -> list[str]:
    """Return the paths of the files that git does not share in any work tree."""
    rows = conn.execute(
        "SELECT path FROM agent_files GROUP BY path HAVING min(personal) = 1 ORDER BY path"
    )
    return [path for (path,) in rows]


def note_personal(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Note which files of a work tree git does not share."""
    conn.execute(
        """
        UPDATE agent_files
           SET personal = path IN (SELECT value FROM json_each(?2))
         WHERE worktree = ?1 AND personal <> (path IN (SELECT value FROM json_each(?2)))
        """,
        (worktree, json.dumps(sorted(paths))),
    )


def put(conn: apsw.Connection, row: AgentFileRow) -> None:
    """Note how a file is now; what was known of it is replaced."""
    conn.execute(
        f"INSERT OR REPLACE INTO agent_files ({_ROW.columns}) VALUES ({_ROW.marks})",  # noqa: S608
        _ROW.values(row),
    )


def drop(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Forget files."""
    conn.execute(
        """
        DELETE FROM agent_files
         WHERE worktree = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (worktree, json.dumps(sorted(paths))),
    )
