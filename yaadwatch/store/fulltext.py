"""Which memories hold these words: the FTS5 index over the nodes."""

from collections.abc import Sequence

import apsw

from yaadwatch.model.recall import EVERYTHING, Filter
from yaadwatch.store.recall.filters import FITS, bindings


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


def search(
    conn: apsw.Connection, match: str, limit: int, wanted: Filter = EVERYTHING
) -> list[tuple[str, float]]:
    """Return the ids of living nodes that match, with their BM25 (positive), best first.

    Without a filter the limit is met inside the index, which holds living nodes only: half the
    time of joining first.

    Args:
        conn: a snapshot.
        match: an FTS5 expression; the caller has quoted every word in it.
        limit: how many at most; of equals, those that were stored first.
        wanted: which memories, before the limit.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    if wanted == EVERYTHING:
        rows = conn.execute(_SEARCH, {"match": match, "limit": limit})
    else:
        rows = conn.execute(_SEARCH_AMONG, bindings(wanted) | {"match": match, "limit": limit})
    return [(node, score) for node, score in rows]


_SEARCH = """
SELECT nodes.id, found.score
  FROM (SELECT rowid AS num, -bm25(nodes_fts, 1.0, 0.4, 0.6) AS score
          FROM nodes_fts
         WHERE nodes_fts MATCH :match
         ORDER BY score DESC, rowid
         LIMIT :limit) AS found
  JOIN nodes USING (num)
 WHERE nodes.archived_ms IS NULL
 ORDER BY found.score DESC, nodes.id
"""
_SEARCH_AMONG = f"""
SELECT nodes.id, found.score
  FROM (SELECT rowid AS num, -bm25(nodes_fts, 1.0, 0.4, 0.6) AS score
          FROM nodes_fts
         WHERE nodes_fts MATCH :match) AS found
 CROSS JOIN nodes USING (num)
 WHERE {FITS}
 ORDER BY found.score DESC, nodes.num
 LIMIT :limit
"""  # noqa: S608  (a constant of ours)


def holders(conn: apsw.Connection, match: str) -> int:
    """Return how many nodes match; much less work than to rank them.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    return int(conn.execute("SELECT count(*) FROM nodes_fts WHERE nodes_fts MATCH ?", (match,)).get)


def holding(conn: apsw.Connection, phrases: Sequence[str], limit: int) -> list[tuple[str, str]]:
    """Return id and text of living nodes whose text holds every phrase, those stored last first.

    Args:
        conn: a snapshot.
        phrases: words, or what the index splits into words; each has a letter or a digit.
        limit: how many at most.
    """
    quoted = ('"{}"'.format(one.replace('"', '""')) for one in phrases)
    rows = conn.execute(
        """
        SELECT nodes.id, nodes.text
          FROM (SELECT rowid AS num
                  FROM nodes_fts
                 WHERE nodes_fts MATCH ?
                 ORDER BY rowid DESC
                 LIMIT ?) AS found
          JOIN nodes USING (num)
         WHERE nodes.archived_ms IS NULL AND nodes.kind NOT IN ('file', 'entity')
        """,
        (f"text : ({' AND '.join(quoted)})", limit),
    )
    return [(node, text) for node, text in rows]


def compact(conn: apsw.Connection) -> None:
    """Merge the parts of the index into one: smaller, and quicker to search."""
    conn.execute("INSERT INTO nodes_fts (nodes_fts) VALUES ('optimize')")
