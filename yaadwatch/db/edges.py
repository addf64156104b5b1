"""Store edges between nodes, walk and count them, and find which memories supersede others.

A memory is superseded while a living memory stands at the end of a chain of open `supersedes`
edges. Archived and erased memories in between keep the chain intact, so deleting the second of
three versions does not bring back the first. An agent's memory cannot supersede what a person said,
confirmed, pinned or typed.

A walk follows `learned_in` only on request: through a long session every memory would be two steps
from every other.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db.codec import Record, column, json_list, to_json, to_ms
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import time_text
from yaadwatch.model.limits import CURRENT, short_id
from yaadwatch.model.memories import (
    ACYCLIC,
    SUPERSEDES,
    Edge,
    circle,
    circle_in_words,
    clash,
    free_from,
)
from yaadwatch.model.settings import CIRCLE_EDGES_MAX

_ROW: Final = Record(Edge, "edges")
_NEW: Final = Record(Edge, "edges", but=["id"])
_OPEN_LIKE: Final = "from_node = ?1 AND kind = ?2 AND +to_node = ?3 AND valid_until_ms IS NULL"
"""`+` keeps SQLite from the index of the other end: thousands of memories may touch one file, and
none touches thousands."""
_IN_VIEW: Final = "(:view = 'all' OR (valid_until_ms IS NULL) = (:view = 'current'))"
_OF_KINDS: Final = """iif(:kinds = '[]', edges.kind <> 'learned_in',
               edges.kind IN (SELECT value FROM json_each(:kinds)))"""


def insert(conn: apsw.Connection, edge: Edge) -> bool:
    """Add an edge; return False when the same open edge exists.

    Raises:
        YaadError: CONFLICT; an equal edge holds at the same time. REFUSED; its kind is acyclic and
            it would close a circle of open edges, which the message names. TOO_LARGE; there are too
            many edges to search.
        apsw.ConstraintError: an end does not exist.
        ValueError: its interval ends before it begins.
    """
    return _insert(conn, edge, equal(conn, edge))


def begin(conn: apsw.Connection, edge: Edge) -> bool:
    """Add an edge that holds from now on; return False when the same open edge exists.

    When an equal edge ended later than now (a clock that went back), it holds from that end on.

    Raises:
        YaadError, apsw.ConstraintError: as for `insert`.
    """
    others = equal(conn, edge)
    start = free_from(edge.valid_from, [one.interval for one in others])
    return _insert(conn, replace(edge, valid_from=start), others)


def _insert(conn: apsw.Connection, edge: Edge, others: Sequence[Edge]) -> bool:
    if edge.valid_until is None:
        if edge.kind in ACYCLIC:
            refuse_circles(conn, edge.kind, [(edge.from_node, edge.to_node)])
        if any(one.valid_until is None for one in others):
            return False
    refuse_overlap(edge, others)
    add_all(conn, [edge])
    return True


def add_all(conn: apsw.Connection, new: Iterable[Edge]) -> None:
    """Add edges of nodes created in this transaction, which have no edges like them yet.

    Raises:
        apsw.ConstraintError: an end does not exist, or the same open edge exists.
    """
    _NEW.insert(conn, (replace(one, updated_at=one.updated_at or one.created_at) for one in new))


def get(conn: apsw.Connection, id: int) -> Edge | None:
    """Return the edge with this number, open or closed, or None."""
    return _ROW.first(conn, "WHERE id = ?", (id,))


def equal(conn: apsw.Connection, edge: Edge) -> list[Edge]:
    """Return the edges of the same kind and ends, closed ones too, by start."""
    where = "WHERE from_node = ? AND kind = ? AND +to_node = ? ORDER BY valid_from_ms, id"
    return _ROW.select(conn, where, (edge.from_node, edge.kind, edge.to_node))


def holds_within(
    conn: apsw.Connection, edge: tuple[str, str, str], begin_ms: int, until_ms: int | None
) -> bool:
    """Return whether an edge (from, kind, to) holds from the first time until before the second."""
    if until_ms is not None and until_ms <= begin_ms:
        return False  # it holds at no time
    sql = """
        SELECT 1
          FROM edges
         WHERE from_node = ?1 AND kind = ?2 AND +to_node = ?3
           AND (valid_until_ms IS NULL OR (valid_until_ms > ?4 AND valid_until_ms > valid_from_ms))
           AND (?5 IS NULL OR valid_from_ms < ?5)
    """
    return conn.execute(sql, (*edge, begin_ms, until_ms)).get is not None


def close(conn: apsw.Connection, ended: Iterable[Edge], at: datetime) -> None:
    """End the open edges like these at `at`."""
    at_ms = to_ms(at)
    conn.executemany(
        "UPDATE edges SET valid_until_ms = max(valid_from_ms, ?4), updated_ms = max(created_ms, ?4)"
        f" WHERE {_OPEN_LIKE}",
        ((one.from_node, one.kind, one.to_node, at_ms) for one in ended),
    )


def erase(conn: apsw.Connection, ids: Iterable[int]) -> None:
    """Delete edges by number."""
    conn.execute(
        "DELETE FROM edges WHERE id IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )


def update(
    conn: apsw.Connection,
    edge: Edge,
    at: datetime,
    *,
    weight: float | None = None,
    attributes: Mapping[str, object] | None = None,
) -> bool:
    """Set weight and attributes of the open edge like `edge`, unless None; return whether that
    changed one.
    """
    described = None if attributes is None else to_json(dict(attributes))
    conn.execute(
        f"""
        UPDATE edges
           SET weight = coalesce(?4, weight), attributes = coalesce(?5, attributes), updated_ms = ?6
         WHERE {_OPEN_LIKE} AND (weight <> coalesce(?4, weight)
                                 OR attributes <> coalesce(?5, attributes))
        """,
        (edge.from_node, edge.kind, edge.to_node, weight, described, to_ms(at)),
    )
    return conn.changes() > 0


def of_node(conn: apsw.Connection, id: str, view: str = CURRENT) -> list[Edge]:
    """Return the edges at a node, oldest first: the open ones, or those of a view."""
    where = f"WHERE (from_node = :id OR to_node = :id) AND {_IN_VIEW} ORDER BY id"
    return _ROW.select(conn, where, {"id": id, "view": view})


def some_of_node(conn: apsw.Connection, id: str, view: str, limit: int) -> tuple[list[Edge], int]:
    """Return at most `limit` of the edges of `of_node`, and the number of further ones.

    Outgoing edges come first, then the newest.
    """
    where = f"WHERE (from_node = :id OR to_node = :id) AND {_IN_VIEW}"
    given = {"id": id, "view": view, "limit": limit}
    found = _ROW.select(conn, f"{where} ORDER BY from_node <> :id, id DESC LIMIT :limit", given)
    count: int = conn.execute(f"SELECT count(*) FROM edges {where}", given).get
    return sorted(found, key=lambda edge: edge.id), count - len(found)


def between_memories(
    conn: apsw.Connection, ids: Iterable[str], kinds: Iterable[str], limit: int
) -> list[Edge]:
    """Return the open edges of some kinds at any of `ids`, at most `limit`.

    Edges to files and symbols are left out. The strongest come first, then the oldest.
    """
    return _ROW.select(
        conn,
        """
         WHERE id IN (SELECT edges.id
                        FROM edges JOIN json_each(:ids) AS start ON edges.from_node = start.value
                       UNION
                      SELECT edges.id
                        FROM edges JOIN json_each(:ids) AS end ON edges.to_node = end.value)
           AND valid_until_ms IS NULL
           AND kind IN (SELECT value FROM json_each(:kinds))
           AND NOT EXISTS (SELECT 1 FROM nodes
                            WHERE nodes.id = to_node AND nodes.kind IN ('file', 'entity'))
         ORDER BY weight DESC, id LIMIT :limit
        """,
        {"ids": json_list(ids), "kinds": json_list(kinds), "limit": limit},
    )


def beyond(
    conn: apsw.Connection,
    ids: Iterable[str],
    *,
    forward: bool,
    kinds: Iterable[str],
    view: str,
    limit: int,
) -> list[str]:
    """Return the nodes that edges lead to from `ids`, one per edge, strongest first.

    Args:
        conn: a snapshot.
        ids: the start of the walk.
        forward: along edges that begin there; else against those that end there.
        kinds: of the edges; all but `learned_in` when empty.
        view: `current`, `historical` or `all`.
        limit: number of edges read, at most.
    """
    # The known node comes first; each direction has its own index.
    here, there = ("from_node", "to_node") if forward else ("to_node", "from_node")
    sql = f"""
        SELECT edges.{there}
          FROM json_each(:ids) AS start CROSS JOIN edges ON edges.{here} = start.value
         WHERE {_OF_KINDS} AND {_IN_VIEW}
         ORDER BY weight DESC, edges.id LIMIT :limit
    """
    given = {"ids": json_list(ids), "kinds": json_list(kinds), "view": view, "limit": limit}
    return column(conn, sql, given)


def among(
    conn: apsw.Connection, ids: Iterable[str], *, kinds: Iterable[str], view: str, limit: int
) -> list[Edge]:
    """Return the edges with both ends in `ids`, strongest first."""
    where = f"""
         WHERE from_node IN (SELECT value FROM json_each(:ids))
           AND to_node IN (SELECT value FROM json_each(:ids)) AND {_OF_KINDS} AND {_IN_VIEW}
         ORDER BY weight DESC, edges.id LIMIT :limit
    """
    given = {"ids": json_list(ids), "kinds": json_list(kinds), "view": view, "limit": limit}
    return _ROW.select(conn, where, given)


def degrees(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the number of open edges of each of `ids` in both directions, without `learned_in`.

    Every given id is a key. A self-edge counts once.
    """
    rows = conn.execute(
        """
        SELECT value,
               (SELECT count(*) FROM edges
                 WHERE from_node = value AND valid_until_ms IS NULL AND kind <> 'learned_in')
             + (SELECT count(*) FROM edges
                 WHERE to_node = value AND valid_until_ms IS NULL AND kind <> 'learned_in'
                   AND from_node <> value)
          FROM json_each(?)
        """,
        (json_list(ids),),
    )
    return dict(iter(rows))


def lonely_things(conn: apsw.Connection, limit: int) -> list[str]:
    """Return at most `limit` ids of file and entity nodes without open edges, sorted."""
    sql = """
        SELECT id
          FROM nodes
         WHERE kind IN ('file', 'entity')
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE from_node = nodes.id AND valid_until_ms IS NULL)
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE to_node = nodes.id AND valid_until_ms IS NULL)
         ORDER BY id LIMIT ?
    """
    return column(conn, sql, (limit,))


def pointed_at(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` with an open edge from another node."""
    sql = """
        SELECT to_node
          FROM edges
         WHERE valid_until_ms IS NULL AND from_node <> to_node
           AND to_node IN (SELECT value FROM json_each(?))
    """
    return set(column(conn, sql, (json_list(ids),)))


def counts(conn: apsw.Connection) -> tuple[dict[str, int], int]:
    """Return the number of open edges of each kind, and the number of ended edges."""
    rows = conn.execute("SELECT kind, count(*), count(valid_until_ms) FROM edges GROUP BY kind")
    found = sorted((kind, total - ended, ended) for kind, total, ended in rows)
    return {kind: now for kind, now, _ in found if now}, sum(ended for _, _, ended in found)


def orphans(conn: apsw.Connection) -> int:
    """Return the number of living memories without open edges other than `learned_in`."""
    sql = """
        SELECT count(*)
          FROM nodes
         WHERE archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE from_node = nodes.id AND valid_until_ms IS NULL
                              AND edges.kind <> 'learned_in')
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE to_node = nodes.id AND valid_until_ms IS NULL
                              AND edges.kind <> 'learned_in')
    """
    return int(conn.execute(sql).get)


def hubs(conn: apsw.Connection, limit: int) -> list[tuple[str, int]]:
    """Return the nodes with most open edges and their counts: at most `limit`, ties by id.

    `learned_in` is not counted.
    """
    rows = conn.execute(
        """
        SELECT node, count(*) AS edges
          FROM (SELECT from_node AS node FROM edges
                 WHERE valid_until_ms IS NULL AND kind <> 'learned_in'
                 UNION ALL
                SELECT to_node FROM edges
                 WHERE valid_until_ms IS NULL AND kind <> 'learned_in' AND to_node <> from_node)
         GROUP BY node
         ORDER BY edges DESC, node LIMIT ?
        """,
        (limit,),
    )
    return list(rows)


def refuse_circles(conn: apsw.Connection, kind: str, added: Sequence[tuple[str, str]]) -> None:
    """Refuse to add open edges (from, to) of an acyclic kind that would close a circle.

    One query finds every reachable edge and visits each node once.

    Raises:
        YaadError: REFUSED, with the circle; TOO_LARGE when there are too many edges to search.
    """
    rows = conn.execute(
        """
        WITH RECURSIVE reached (node) AS (
            SELECT value FROM json_each(:ends)
             UNION
            SELECT edges.to_node
              FROM reached CROSS JOIN edges ON edges.from_node = reached.node AND edges.kind = :kind
             WHERE edges.valid_until_ms IS NULL)
        SELECT edges.from_node, edges.to_node
          FROM reached CROSS JOIN edges ON edges.from_node = reached.node AND edges.kind = :kind
         WHERE edges.valid_until_ms IS NULL
         LIMIT :limit
        """,
        {"ends": json_list(end for _, end in added), "kind": kind, "limit": CIRCLE_EDGES_MAX + 1},
    )
    ahead = [(start, end) for start, end in rows]
    if len(ahead) > CIRCLE_EDGES_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"More than {CIRCLE_EDGES_MAX} edges of the kind {kind} lie ahead, too many to see "
            "whether a circle would be closed; nothing was added.",
            "Take another kind, one that may run in a circle: relates_to",
        )
    found = circle([*ahead, *added])
    if found is not None:
        words = circle_in_words(found, added)
        raise YaadError(
            Code.REFUSED,
            f"{kind} must not run in a circle: {words}; nothing was stored.",
            "Leave out the edge that is not true.",
        )


def refuse_overlap(edge: Edge, others: Iterable[Edge]) -> None:
    """Refuse an edge whose interval overlaps one of the same kind and ends.

    Raises:
        YaadError: CONFLICT, with what keeps the two apart.
    """
    numbers = {one.interval: one.id for one in others}
    found = clash(edge.interval, numbers)
    if found is None:
        return
    number = numbers[found]
    if found.end is not None:
        apart = (
            f"Begin it when that one ended, at {time_text(found.end)}; or if that one never held:"
            f" yaadwatch graph delete-link {number}"
        )
    elif edge.valid_from > found.start:
        apart = (
            f"End that one when this one begins: yaadwatch graph close {number} --at"
            f" {time_text(edge.valid_from)}"
        )
    else:
        apart = f"End this one by {time_text(found.start)}, when that one begins."
    raise YaadError(
        Code.CONFLICT,
        f"{short_id(edge.from_node)} {edge.kind} {short_id(edge.to_node)} held from {found} "
        f"already (edge {number}), and would hold twice; nothing was added.",
        apart,
    )


TAKEN_BACK: Final = "taken back"
"""The change of a version that takes back the one before it."""


def by_person_sql(node: str) -> str:
    """Return an SQL condition: a person said, confirmed, pinned or typed the memory.

    Args:
        node: the row of `nodes`, by its name in the query.
    """
    return f"""
        ({node}.origin = 'cli' OR {node}.origin LIKE 'file:%' OR EXISTS (
            SELECT 1
              FROM node_versions
             WHERE node = {node}.id AND (actor = 'cli' OR actor LIKE 'file:%')
               AND change IN ('approved', 'confirmed', 'pinned', 'edited', 'restored')
               AND NOT {taken_back_sql(node)}))
"""


def taken_back_sql(node: str) -> str:
    """Return an SQL condition: the version after this row of `node_versions` takes it back."""
    return f"""EXISTS (
                   SELECT 1
                     FROM node_versions AS back
                    WHERE back.node = {node}.id AND back.version = node_versions.version + 1
                      AND back.change = '{TAKEN_BACK}')"""


_CHAIN: Final = f"""
    WITH RECURSIVE chain(old, new) AS (
        SELECT to_node, from_node
          FROM edges
         WHERE {{start}} AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL
         UNION
        SELECT chain.old, edges.from_node
          FROM chain CROSS JOIN edges ON edges.to_node = chain.new AND edges.kind = '{SUPERSEDES}'
                               AND edges.valid_until_ms IS NULL)
    SELECT old, new
      FROM chain CROSS JOIN nodes AS later ON later.id = new
                 CROSS JOIN nodes AS former ON former.id = old
     WHERE later.archived_ms IS NULL
       AND new NOT IN (SELECT id FROM temp.hidden)
       AND ({by_person_sql("later")} OR NOT {by_person_sql("former")})
"""


def is_superseded_sql(node: str) -> str:
    """Return an SQL condition: a visible living memory supersedes this one.

    Args:
        node: the column with the id of the superseded memory.
    """
    return f"EXISTS ({_CHAIN.format(start=f'to_node = {node}')})"


def is_superseded(conn: apsw.Connection, id: str) -> bool:
    """Return whether an open `supersedes` edge ends in a memory, whatever its source."""
    sql = "SELECT 1 FROM edges WHERE to_node = ? AND kind = ? AND valid_until_ms IS NULL"
    return conn.execute(sql, (id, SUPERSEDES)).get is not None


def successors(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return the superseded ones of `ids`, each with the living memories that supersede it.

    Chains continue through hidden memories (see `visibility`) as through archived ones.
    """
    sql = _CHAIN.format(start="to_node IN (SELECT value FROM json_each(?))")
    found: dict[str, set[str]] = {}
    for old, new in conn.execute(sql, (json_list(ids),)):
        found.setdefault(old, set()).add(new)
    return found


def predecessors(conn: apsw.Connection, id: str) -> list[str]:
    """Return the living memories that a memory supersedes, by id."""
    sql = f"""
        WITH RECURSIVE before(node) AS (
            SELECT ?
             UNION
            SELECT edges.to_node
              FROM before CROSS JOIN edges ON edges.from_node = before.node
                                          AND edges.kind = '{SUPERSEDES}'
                                          AND edges.valid_until_ms IS NULL)
        SELECT node
          FROM before CROSS JOIN nodes ON nodes.id = before.node
         WHERE nodes.archived_ms IS NULL
         ORDER BY node
    """
    old = column(conn, sql, (id,))
    later = successors(conn, old) if old else {}
    return [node for node in old if id in later.get(node, ())]


def hand_on(conn: apsw.Connection, ids: str) -> None:
    """Relink `supersedes` chains around memories that are about to be erased.

    The new relation starts with the latest of the relations it replaces.

    Args:
        conn: in a transaction.
        ids: the memories to erase, as a JSON list.
    """
    conn.execute(
        f"""
        WITH RECURSIVE chain(old, new, since_ms) AS (
            SELECT to_node, from_node, valid_from_ms
              FROM edges
             WHERE from_node IN (SELECT value FROM json_each(:ids)) AND kind = '{SUPERSEDES}'
               AND valid_until_ms IS NULL
               AND to_node NOT IN (SELECT value FROM json_each(:ids))
             UNION
            SELECT chain.old, edges.from_node, max(chain.since_ms, edges.valid_from_ms)
              FROM chain CROSS JOIN edges ON edges.to_node = chain.new
                                         AND edges.kind = '{SUPERSEDES}'
                                         AND edges.valid_until_ms IS NULL
             WHERE chain.new IN (SELECT value FROM json_each(:ids))),
        found AS (
            SELECT old, new, min(since_ms) AS since_ms
              FROM chain
             WHERE new NOT IN (SELECT value FROM json_each(:ids))
               AND NOT EXISTS (
                   SELECT 1
                     FROM edges
                    WHERE from_node = new AND kind = '{SUPERSEDES}' AND to_node = old
                      AND valid_until_ms IS NULL)
             GROUP BY old, new)
        INSERT INTO edges (from_node, to_node, kind, created_ms, updated_ms, valid_from_ms)
        SELECT new, old, '{SUPERSEDES}', since_ms, since_ms,
               max(since_ms, coalesce((SELECT max(valid_until_ms)
                                         FROM edges
                                        WHERE from_node = new AND kind = '{SUPERSEDES}'
                                          AND to_node = old), 0))
          FROM found
         ORDER BY old, new
        """,
        {"ids": ids},
    )
