"""With which words do memories begin? A number of each, which those that begin alike share.

What the number is, `core.ingest.likeness` says; a memory that got other words has none until it is
noted again.
"""

from collections.abc import Iterable

import apsw


def of(conn: apsw.Connection, begins: int, limit: int) -> list[tuple[str, str]]:
    """Return id and text of living memories with this number, those stored last first.

    Args:
        conn: a snapshot.
        begins: the number, above 0.
        limit: how many at most.
    """
    rows = conn.execute(
        """
        SELECT id, text
          FROM nodes INDEXED BY nodes_by_beginning
         WHERE begins = ? AND begins > 0
           AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
         ORDER BY num DESC
         LIMIT ?
        """,
        (begins, limit),
    )
    return [(node, text) for node, text in rows]


def lacking(conn: apsw.Connection, limit: int) -> list[tuple[int, str]]:
    """Return number and text of living memories of which it is not known, at most `limit`."""
    rows = conn.execute(
        """
        SELECT num, text
          FROM nodes INDEXED BY nodes_to_begin
         WHERE begins IS NULL
           AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
         ORDER BY num
         LIMIT ?
        """,
        (limit,),
    )
    return [(num, text) for num, text in rows]


def note(conn: apsw.Connection, found: Iterable[tuple[int, int]]) -> None:
    """Note the numbers of nodes: of each its own, and that of its beginning, 0 of none.

    Args:
        conn: in the transaction in which the words were read or written.
        found: `num` of each node, and what to note.
    """
    conn.executemany("UPDATE nodes SET begins = ?2 WHERE num = ?1", found)
