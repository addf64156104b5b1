"""Which memories hold these words: the FTS5 index over the nodes."""

from collections.abc import Iterable
from typing import NamedTuple

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
    index_anew(conn, [(num, text, sub, tags)])


def index_anew(conn: apsw.Connection, words: Iterable[tuple[int, str, str, str]]) -> None:
    """Index the words of many nodes as `index` does: number, text, parts and tags of each."""
    conn.executemany(
        "INSERT OR REPLACE INTO nodes_fts (rowid, text, sub, tags) VALUES (?, ?, ?, ?)", words
    )


def index_new(conn: apsw.Connection, words: Iterable[tuple[int, str, str, str]]) -> None:
    """Index the words of nodes that were made in this transaction, and have none in the index.

    Args:
        conn: in a transaction.
        words: of each node its number, its text, the parts of its identifiers, its tags; as for
            `index`.
    """
    conn.executemany("INSERT INTO nodes_fts (rowid, text, sub, tags) VALUES (?, ?, ?, ?)", words)


def remove(conn: apsw.Connection, num: int) -> None:
    """Take the words of the node with this `num` out of the index."""
    conn.execute("DELETE FROM nodes_fts WHERE rowid = ?", (num,))


class Match(NamedTuple):
    """A node that matches, by its number; `bm25`: positive; `words`: of its text, 1 at least."""

    num: int
    bm25: float
    words: int


def search(
    conn: apsw.Connection, match: str, limit: int, wanted: Filter = EVERYTHING
) -> list[Match]:
    """Return the living nodes that match, best first.

    Without a filter the nodes themselves are not looked at, because the index holds living ones
    only: half the time of joining first.

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
    return [Match(num, -rank, _first_number(sizes)) for num, rank, sizes in rows]


def _first_number(sizes: bytes) -> int:
    """Return how many words the first column has: FTS5 keeps a number of 7 bits a byte for each."""
    number = 0
    for byte in sizes:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return max(number, 1)


_SEARCH = """
SELECT found.num, found.rank, size.sz
  FROM (SELECT rowid AS num, bm25(nodes_fts, 1.0, 0.4, 0.6) AS rank
          FROM nodes_fts
         WHERE nodes_fts MATCH :match
         ORDER BY rank, rowid
         LIMIT :limit) AS found
 CROSS JOIN nodes_fts_docsize AS size ON size.id = found.num
 ORDER BY found.rank, found.num
"""
_SEARCH_AMONG = f"""
SELECT found.num, found.rank, size.sz
  FROM (SELECT rowid AS num, bm25(nodes_fts, 1.0, 0.4, 0.6) AS rank
          FROM nodes_fts
         WHERE nodes_fts MATCH :match) AS found
 CROSS JOIN nodes USING (num)
 CROSS JOIN nodes_fts_docsize AS size ON size.id = found.num
 WHERE {FITS}
 ORDER BY found.rank, found.num
 LIMIT :limit
"""  # noqa: S608  (a constant of ours)


def holders(conn: apsw.Connection, match: str) -> int:
    """Return how many nodes match; much less work than to rank them.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    return int(conn.execute("SELECT count(*) FROM nodes_fts WHERE nodes_fts MATCH ?", (match,)).get)


def compact(conn: apsw.Connection) -> None:
    """Merge the parts of the index into one: smaller, and quicker to search."""
    conn.execute("INSERT INTO nodes_fts (nodes_fts) VALUES ('optimize')")
