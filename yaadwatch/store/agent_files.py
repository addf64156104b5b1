"""How each agent file of a work tree takes part, and what it held when both sides last agreed."""

import json
from collections.abc import Iterable
from typing import Any, Final

import apsw

from yaadwatch.model.agent_files import AgentFileRow
from yaadwatch.store.codec import from_ms, to_ms

_COLUMNS: Final = (
    "worktree, path, mode, state, reason, digest, block, head, branch, written_ms, adopted, logged,"
    " personal"
)


def get(conn: apsw.Connection, worktree: int, path: str) -> AgentFileRow | None:
    """Return the row of one file; None when there is none."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM agent_files WHERE worktree = ? AND path = ?",  # noqa: S608
        (worktree, path),
    )
    return next(map(_row, rows), None)


def of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, AgentFileRow]:
    """Return the rows of a work tree by path, in the order of the paths."""
    rows = conn.execute(
        """
        SELECT worktree, path, mode, state, reason, digest, block, head, branch, written_ms,
               adopted, logged, personal
          FROM agent_files
         WHERE worktree = ?
         ORDER BY path
        """,
        (worktree,),
    )
    return {row.path: row for row in map(_row, rows)}


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
        """
        INSERT OR REPLACE INTO agent_files
            (worktree, path, mode, state, reason, digest, block, head, branch, written_ms, adopted,
             logged, personal)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            row.worktree,
            row.path,
            row.mode,
            row.state,
            row.reason,
            row.digest,
            row.block,
            row.head,
            row.branch,
            json.dumps([to_ms(at) for at in row.written]),
            row.adopted,
            row.logged,
            row.personal,
        ),
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


def _row(row: tuple[Any, ...]) -> AgentFileRow:
    (
        worktree,
        path,
        mode,
        state,
        reason,
        digest,
        block,
        head,
        branch,
        written,
        adopted,
        logged,
        personal,
    ) = row
    return AgentFileRow(
        worktree=worktree,
        path=path,
        mode=mode,
        state=state,
        reason=reason,
        digest=digest,
        block=block,
        head=head,
        branch=branch,
        written=tuple(from_ms(ms) for ms in json.loads(written)),
        adopted=adopted,
        logged=logged,
        personal=bool(personal),
    )
