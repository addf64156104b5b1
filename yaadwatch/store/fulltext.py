"""Which memories hold these words: the FTS5 index over the nodes."""

import apsw


def index(conn: apsw.Connection, num: int, *, text: str, sub: str, tags: str) -> None:
    """Index the words of the node with this `num`; words indexed for it before are replaced.

    Args:
        num: the node's number, from `nodes.insert` or `nodes.num`.
        text: the node's text, masked.
        sub: the parts of the identifiers in it, separated by spaces.
        tags: its tags, separated by spaces.
    """
    conn.execute(
        "INSERT OR REPLACE INTO nodes_fts (rowid, text, sub, tags) VALUES (?, ?, ?, ?)",
        (num, text, sub, tags),
    )


def remove(conn: apsw.Connection, num: int) -> None:
    """Take the words of the node with this `num` out of the index."""
    conn.execute("DELETE FROM nodes_fts WHERE rowid = ?", (num,))


def search(conn: apsw.Connection, match: str, limit: int) -> list[tuple[str, float]]:
    """Return the ids of living nodes that match, with their BM25 (positive), best first.

    Args:
        match: an FTS5 expression; the caller has quoted every word in it.
        limit: how many at most.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    rows = conn.execute(
        """
        SELECT nodes.id, -bm25(nodes_fts, 1.0, 0.4, 0.6) AS score
          FROM nodes_fts
          JOIN nodes ON nodes.num = nodes_fts.rowid
         WHERE nodes_fts MATCH ? AND nodes.archived_ms IS NULL
         ORDER BY score DESC, nodes.id
         LIMIT ?
        """,
        (match, limit),
    )
    return [(node, score) for node, score in rows]


def compact(conn: apsw.Connection) -> None:
    """Merge the parts of the index into one: smaller, and quicker to search."""
    conn.execute("INSERT INTO nodes_fts (nodes_fts) VALUES ('optimize')")
