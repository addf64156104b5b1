"""Search memories by words (FTS5), filter them, and select the rules for agent files.

Filters run in SQL, and `Sketch` has the few columns that ranking needs, so that a search never
reads whole memories it does not return.
"""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

import apsw

from yaadwatch.db import edges, nodes
from yaadwatch.db.authority import FROM_GIT, persons_word
from yaadwatch.db.codec import Record, column, json_list, to_ms, to_ms_or_null
from yaadwatch.db.edges import by_person_sql
from yaadwatch.model.memories import Node
from yaadwatch.model.queries import EVERYTHING, Filter

LIVES: Final = "nodes.archived_ms IS NULL AND nodes.kind NOT IN ('file', 'entity')"
"""A condition on a row of `nodes`: a memory, and not an archived one."""
FITS: Final = f"""
{LIVES}
AND (:kinds = '[]' OR nodes.kind IN (SELECT value FROM json_each(:kinds)))
AND (:scope IS NULL OR nodes.scope = :scope)
AND (:agent IS NULL OR nodes.origin = 'agent:' || :agent)
AND (:session IS NULL OR nodes.session = :session)
AND NOT EXISTS (SELECT 1
                  FROM json_each(:tags) AS wanted
                 WHERE wanted.value NOT IN (SELECT value FROM json_each(nodes.tags)))
AND (:path IS NULL
     OR EXISTS (SELECT 1
                  FROM file_watch
                 WHERE node = nodes.id
                   AND (path = :path OR substr(path, 1, length(:path) + 1) = :path || '/'))
     OR EXISTS (SELECT 1
                  FROM provenance
                 WHERE node = nodes.id
                   AND (path = :path OR substr(path, 1, length(:path) + 1) = :path || '/')))
AND (:at IS NULL
     OR (nodes.created_ms <= :at
         AND NOT EXISTS (SELECT 1
                           FROM edges
                           JOIN nodes AS later ON later.id = edges.from_node
                          WHERE edges.to_node = nodes.id AND edges.kind = 'supersedes'
                            AND edges.valid_from_ms <= :at
                            AND (edges.valid_until_ms IS NULL OR edges.valid_until_ms > :at)
                            AND ({by_person_sql("later")} OR NOT {by_person_sql("nodes")}))))
"""
"""A condition on a row of `nodes`; the values come from `bindings`."""


def bindings(wanted: Filter) -> dict[str, str | int | None]:
    """Return the bindings of `FITS`."""
    return {
        "kinds": json_list(wanted.kinds),
        "scope": wanted.scope,
        "agent": wanted.agent,
        "session": wanted.session,
        "tags": json.dumps(wanted.tags),
        "path": wanted.path,
        "at": to_ms_or_null(wanted.at),
    }


def index(conn: apsw.Connection, words: Iterable[tuple[int, str, str, str]]) -> None:
    """Index the words of nodes, replacing earlier ones.

    Args:
        conn: in a transaction.
        words: of each node its number, its masked text, the parts of the identifiers in it, and its
            tags, each separated by spaces.
    """
    conn.executemany(
        "INSERT OR REPLACE INTO nodes_fts (rowid, text, sub, tags) VALUES (?, ?, ?, ?)", words
    )


def remove(conn: apsw.Connection, num: int) -> None:
    """Remove the node with this `num` from the index."""
    conn.execute("DELETE FROM nodes_fts WHERE rowid = ?", (num,))


class Match(NamedTuple):
    """A matching node by number; `bm25`: positive; `words`: length of its text, at least 1."""

    num: int
    bm25: float
    words: int


def search(
    conn: apsw.Connection, match: str, limit: int, wanted: Filter = EVERYTHING
) -> list[Match]:
    """Return the living nodes that match, best first.

    Without a filter the nodes themselves are not read, because the index holds only living ones;
    that takes half the time of a join.

    Args:
        conn: a snapshot.
        match: an FTS5 expression; the caller has quoted every word in it.
        limit: how many at most; of equals, those that were stored first.
        wanted: which memories, before the limit.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    among = "" if wanted == EVERYTHING else f"CROSS JOIN nodes USING (num) WHERE {FITS}"
    sql = f"""
        SELECT found.num, found.rank, size.sz
          FROM (SELECT rowid AS num, bm25(nodes_fts, 1.0, 0.4, 0.6) AS rank
                  FROM nodes_fts
                 WHERE nodes_fts MATCH :match
                 ORDER BY rank, rowid
                 LIMIT {"-1" if among else ":limit"}) AS found
         CROSS JOIN nodes_fts_docsize AS size ON size.id = found.num
         {among}
         ORDER BY found.rank, found.num
         LIMIT :limit
    """
    rows = conn.execute(sql, bindings(wanted) | {"match": match, "limit": limit})
    return [Match(num, -rank, _first_number(sizes)) for num, rank, sizes in rows]


def _first_number(sizes: bytes) -> int:
    """Return the word count of the first column: FTS5 stores 7 bits per byte."""
    number = 0
    for byte in sizes:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return max(number, 1)


def holders(conn: apsw.Connection, match: str) -> int:
    """Return the number of matching nodes; much cheaper than ranking them.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    return int(conn.execute("SELECT count(*) FROM nodes_fts WHERE nodes_fts MATCH ?", (match,)).get)


def holding(conn: apsw.Connection, match: str, limit: int) -> list[int]:
    """Return the numbers of at most `limit` matching nodes, oldest first.

    A match of nearly all nodes costs no more than a rare one, because it stops at the limit.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    sql = "SELECT rowid FROM nodes_fts WHERE nodes_fts MATCH ? ORDER BY rowid LIMIT ?"
    return column(conn, sql, (match, limit))


def compact(conn: apsw.Connection) -> None:
    """Merge the segments of the index: smaller, and faster to search."""
    conn.execute("INSERT INTO nodes_fts (nodes_fts) VALUES ('optimize')")


def words(conn: apsw.Connection, ids: Iterable[str], at: datetime) -> dict[str, str]:
    """Return the texts that memories had at a time, by id; before the first kept version, that
    version's text.

    Args:
        conn: a snapshot.
        ids: of memories; those without versions are left out.
        at: the time.
    """
    rows = conn.execute(
        """
        SELECT nodes.id,
               (SELECT coalesce(old.text, nodes.text)
                  FROM node_versions AS old
                 WHERE old.node = nodes.id
                 ORDER BY old.at_ms > :at, iif(old.at_ms > :at, old.version, -old.version)
                 LIMIT 1) AS said
          FROM nodes
         WHERE nodes.id IN (SELECT value FROM json_each(:ids))
         ORDER BY nodes.id
        """,
        {"ids": json_list(ids), "at": to_ms(at)},
    )
    return {node: said for node, said in rows if said is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """The columns of a memory that ranking needs; `num` is its number in the indexes.

    `summary` is '' when it equals the text.
    """

    num: int
    id: str
    kind: str
    tier: int
    scope: str
    text: str
    summary: str
    key: str | None
    confidence: float
    confirmed_at: datetime
    accessed_at: datetime | None
    pinned: bool


_SKETCH: Final = Record(Sketch, "nodes")


def sketches(conn: apsw.Connection, nums: Iterable[int]) -> dict[int, Sketch]:
    """Return the living memories among `nums`, by number."""
    where = f"WHERE num IN (SELECT value FROM json_each(?)) AND {LIVES} ORDER BY num"
    return {row.num: row for row in _SKETCH.select(conn, where, (json_list(nums),))}


def fitting(conn: apsw.Connection, nums: Iterable[int], wanted: Filter) -> set[int]:
    """Return those of `nums` that live and pass the filter."""
    sql = f"SELECT num FROM nodes WHERE num IN (SELECT value FROM json_each(:nums)) AND {FITS}"
    return set(column(conn, sql, bindings(wanted) | {"nums": json_list(nums)}))


def named(conn: apsw.Connection, *, key: str, text_hash: str, ids: Iterable[str] = ()) -> set[int]:
    """Return the numbers of the living memories with this key, this text, or one of these ids."""
    sql = """
        SELECT num FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project') AND key = ?1
         UNION
        SELECT num FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project')
           AND (kind IN ('file', 'entity')) = 0 AND text_hash = ?2
         UNION
        SELECT num FROM nodes
         WHERE archived_ms IS NULL AND id IN (SELECT value FROM json_each(?3))
    """
    return set(column(conn, sql, (key, text_hash, json_list(ids))))


def keyed(conn: apsw.Connection, keys: Iterable[str]) -> dict[str, str]:
    """Return the ids of the living project memories with these keys, by key."""
    sql = """
        SELECT key, id FROM nodes
         WHERE archived_ms IS NULL AND scope = 'project'
           AND key IN (SELECT value FROM json_each(?))
    """
    return dict(iter(conn.execute(sql, (json_list(keys),))))


def ways(
    conn: apsw.Connection, nums: Iterable[int], limit: int
) -> list[tuple[int, int, str, float]]:
    """Return the open edges that start in `nums`: from, to, kind and weight, oldest first."""
    rows = conn.execute(
        """
        SELECT start.num, goal.num, edges.kind, edges.weight
          FROM json_each(?) AS given
         CROSS JOIN nodes AS start ON start.num = given.value
         CROSS JOIN edges ON edges.from_node = start.id
         CROSS JOIN nodes AS goal ON goal.id = edges.to_node
         WHERE edges.valid_until_ms IS NULL
         ORDER BY edges.id
         LIMIT ?
        """,
        (json_list(nums), limit),
    )
    return list(rows)


def hot_rules(
    conn: apsw.Connection,
    *,
    agents: bool = False,
    inside: Collection[str] = (),
    agreed: Collection[str] = (),
) -> list[Node]:
    """Return the living hot or pinned memories, pinned first, then oldest first.

    Superseded ones are left out; see `edges`.

    Args:
        conn: a snapshot.
        agents: include those of agents and imports that no person has approved.
        inside: hashes of the lines of a block: a line that came with git stays in its block, and
            is exported to no other before a person approves it.
        agreed: memories with a line in a block: when git changed the text elsewhere, the line
            follows.
    """
    order = column(
        conn,
        f"""
        SELECT id
          FROM nodes
         WHERE archived_ms IS NULL AND scope = 'project' AND kind NOT IN ('file', 'entity')
           AND (tier = 1 OR pinned)
           AND ((?1 AND from_git = 0) OR {persons_word("nodes")}
                OR (from_git = 1 AND (text_hash IN (SELECT value FROM json_each(?2))
                                      OR id IN (SELECT value FROM json_each(?3)))))
         ORDER BY pinned DESC, created_ms, id
        """,
        (int(agents), json_list(inside), json_list(agreed)),
    )
    gone = edges.successors(conn, order)
    found = nodes.many(conn, [node for node in order if node not in gone])
    return [found[node] for node in order if node in found]


def persons(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that a person said, confirmed, pinned or typed."""
    sql = f"""
        SELECT id FROM nodes
         WHERE id IN (SELECT value FROM json_each(?)) AND {by_person_sql("nodes")}
    """
    return set(column(conn, sql, (json_list(ids),)))


def archived(conn: apsw.Connection, hashes: Iterable[str]) -> dict[str, Node]:
    """Return the memory last archived with each of these texts, by hash, where no living one has
    it.
    """
    rows = conn.execute(
        """
        SELECT text_hash, id
          FROM nodes AS old
         WHERE text_hash IN (SELECT value FROM json_each(?)) AND archived_ms IS NOT NULL
           AND scope = 'project' AND kind NOT IN ('file', 'entity')
           AND NOT EXISTS (
               SELECT 1
                 FROM nodes AS living
                WHERE living.text_hash = old.text_hash AND living.scope = 'project'
                  AND living.archived_ms IS NULL AND living.kind NOT IN ('file', 'entity'))
         ORDER BY archived_ms, id
        """,
        (json_list(hashes),),
    )
    newest = dict(iter(rows))
    found = nodes.many(conn, newest.values())
    return {key: found[node] for key, node in newest.items()}


def former_words(conn: apsw.Connection) -> dict[str, str]:
    """Return the earlier texts of archived memories, and which memory had each."""
    rows = conn.execute(
        """
        SELECT DISTINCT node_versions.text, nodes.id
          FROM node_versions
          JOIN nodes ON nodes.id = node_versions.node
         WHERE nodes.archived_ms IS NOT NULL AND nodes.scope = 'project'
           AND nodes.kind NOT IN ('file', 'entity') AND nodes.text <> node_versions.text
         ORDER BY node_versions.text, nodes.id
        """
    )
    return dict(iter(rows))


def living(conn: apsw.Connection, hashes: Iterable[str]) -> list[Node]:
    """Return the living memories with these texts, by id."""
    sql = """
        SELECT id FROM nodes
         WHERE text_hash IN (SELECT value FROM json_each(?)) AND archived_ms IS NULL
           AND scope = 'project' AND kind NOT IN ('file', 'entity')
    """
    return list(nodes.many(conn, column(conn, sql, (json_list(hashes),))).values())


def edited_by(conn: apsw.Connection, actor: str, ids: Iterable[str]) -> set[str]:
    """Return those of the nodes whose latest edit is by an actor."""
    found = column(
        conn,
        """
        SELECT node FROM node_versions AS old
         WHERE node IN (SELECT value FROM json_each(?)) AND change = 'edited' AND actor = ?
           AND NOT EXISTS (SELECT 1 FROM node_versions AS new
                            WHERE new.node = old.node AND new.change = 'edited'
                              AND new.version > old.version)
        """,
        (json_list(ids), actor),
    )
    return set(found)


def earlier_words_by(conn: apsw.Connection, person: str, ids: Iterable[str]) -> list[str]:
    """Return the earlier texts of living nodes that a person typed, with `person` as actor."""
    return column(
        conn,
        f"""
        SELECT node_versions.text
          FROM node_versions
          JOIN nodes ON nodes.id = node_versions.node
         WHERE node IN (SELECT value FROM json_each(?)) AND actor = ?
           AND node_versions.text <> nodes.text AND nodes.archived_ms IS NULL
           AND reason NOT LIKE '%{FROM_GIT}'
           AND (change = 'edited' OR (change = 'created' AND nodes.from_git = 0))
        """,
        (json_list(ids), person),
    )


def hot_texts(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, list[str]]:
    """Return the current and earlier texts of each node, newest first, each once."""
    rows = conn.execute(
        """
        SELECT old.node, coalesce(old.text, nodes.text)
          FROM node_versions AS old
          JOIN nodes ON nodes.id = old.node
         WHERE old.node IN (SELECT value FROM json_each(?))
         ORDER BY old.node, old.version DESC
        """,
        (json_list(ids),),
    )
    found: dict[str, dict[str, None]] = {}
    for node, text in rows:
        found.setdefault(node, {})[text] = None
    return {node: list(said) for node, said in found.items()}
