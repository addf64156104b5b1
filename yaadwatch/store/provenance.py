"""Which places in people's own files say a node."""

from collections.abc import Collection, Iterable
from typing import Final

import apsw

from yaadwatch.model.nodes import Provenance
from yaadwatch.store.codec import Record, json_list, to_ms

_ROW: Final = Record(Provenance)


def of_node(conn: apsw.Connection, id: str) -> list[Provenance]:
    """Return the places that say a node, by work tree, path and position."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM provenance
         WHERE node = ?
         ORDER BY worktree, path, position
        """,  # noqa: S608
        (id,),
    )
    return list(map(_ROW.read, rows))


def saying(conn: apsw.Connection, ids: Iterable[str]) -> list[Provenance]:
    """Return the places that say any of some nodes now, by work tree, path and position."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM provenance
         WHERE line IS NOT NULL AND node IN (SELECT value FROM json_each(?))
         ORDER BY worktree, path, position
        """,  # noqa: S608
        (json_list(ids),),
    )
    return list(map(_ROW.read, rows))


def on_path(conn: apsw.Connection, worktree: int, path: str) -> list[Provenance]:
    """Return what one file of a work tree says, from its top to its end."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM provenance
         WHERE worktree = ? AND path = ?
         ORDER BY position
        """,  # noqa: S608
        (worktree, path),
    )
    return list(map(_ROW.read, rows))


def put_path(conn: apsw.Connection, worktree: int, path: str, rows: Iterable[Provenance]) -> None:
    """Note what one file of a work tree says now; what it said before is replaced.

    Args:
        conn: a transaction.
        worktree: the work tree of the file; decides, whatever the rows say.
        path: the file, relative to the work tree; decides, whatever the rows say.
        rows: one for each statement; no position twice.

    Raises:
        apsw.ConstraintError: a position comes twice, or a node or the work tree is not there.
    """
    conn.execute("DELETE FROM provenance WHERE worktree = ? AND path = ?", (worktree, path))
    conn.executemany(
        """
        INSERT INTO provenance (node, worktree, path, position, line, since_ms)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        [(row.node, worktree, path, row.position, row.line, to_ms(row.since)) for row in rows],
    )


def said(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that at least one place says, even one that git hides just now."""
    rows = conn.execute(
        """
        SELECT DISTINCT node
          FROM provenance
         WHERE node IN (SELECT value FROM json_each(?))
         ORDER BY node
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def unsaid(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that a place said once and does not say now."""
    rows = conn.execute(
        """
        SELECT DISTINCT node
          FROM provenance
         WHERE line IS NULL AND node IN (SELECT value FROM json_each(?))
         ORDER BY node
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def elsewhere(conn: apsw.Connection, worktree: int, path: str) -> set[str]:
    """Return the nodes that one file says or said, and another place says now."""
    rows = conn.execute(
        """
        SELECT DISTINCT node
          FROM provenance
         WHERE (worktree, path) <> (?1, ?2) AND line IS NOT NULL
           AND node IN (SELECT node FROM provenance WHERE worktree = ?1 AND path = ?2)
         ORDER BY node
        """,
        (worktree, path),
    )
    return {node for (node,) in rows}


HIDDEN: Final = """
SELECT node
  FROM provenance
 WHERE worktree = :worktree
   AND (:among IS NULL OR node IN (SELECT value FROM json_each(:among)))
 GROUP BY node
HAVING count(line) = 0
   AND NOT EXISTS (
       SELECT 1
         FROM node_versions
        WHERE node = provenance.node AND actor NOT LIKE 'file:%'
          AND (change IN ('created', 'pinned')
               OR (change = 'confirmed' AND reason = 'said again')))
"""


def hidden(conn: apsw.Connection, worktree: int, among: Collection[str] | None = None) -> set[str]:
    """Return the nodes that only files of this work tree said, and the checked-out ones do not.

    What somebody has said by other means too holds on every branch. Of all, or of those `among`.
    """
    given = {"worktree": worktree, "among": None if among is None else json_list(among)}
    return {node for (node,) in conn.execute(HIDDEN, given)}


def spoken(conn: apsw.Connection, worktree: int, paths: Collection[str] | None = None) -> set[str]:
    """Return the nodes that checked-out files of this work tree say: those at `paths`, or any."""
    rows = conn.execute(
        """
        SELECT DISTINCT node
          FROM provenance
         WHERE worktree = ?1 AND line IS NOT NULL
           AND (?2 IS NULL OR path IN (SELECT value FROM json_each(?2)))
         ORDER BY node
        """,
        (worktree, None if paths is None else json_list(paths)),
    )
    return {node for (node,) in rows}
