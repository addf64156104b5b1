"""Store edges between nodes, and find which memories supersede others.

A memory is superseded while a living memory stands at the end of a chain of open `supersedes`
edges. Archived and erased memories in between keep the chain intact, so deleting the second of
three versions does not bring back the first. An agent's memory cannot supersede what a person said,
confirmed, pinned or typed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db import graph
from yaadwatch.db.codec import Record, json_list, to_json, to_ms, to_ms_or_null
from yaadwatch.model.memories import ACYCLIC, CURRENT, SUPERSEDES, Edge, free_from

_ROW: Final = Record(Edge)


def insert(conn: apsw.Connection, edge: Edge) -> bool:
    """Add an edge; return False when the same open edge exists.

    Raises:
        YaadError: CONFLICT; an equal edge holds at the same time. REFUSED; its kind is acyclic and
            it would close a circle of open edges, which the message names. TOO_LARGE; there are too
            many edges to search.
        apsw.ConstraintError: an end does not exist, or its interval ends before it begins.
    """
    if edge.kind in ACYCLIC and edge.valid_until is None:
        graph.refuse_circles(conn, edge.kind, [(edge.from_node, edge.to_node)])
    return _put(conn, edge, equal(conn, edge))


def begin(conn: apsw.Connection, edge: Edge) -> bool:
    """Add an edge that holds from now on; return False when the same open edge exists.

    When an equal edge ended later than now (a clock that went back), it holds from that end on.

    Raises:
        YaadError, apsw.ConstraintError: as for `insert`.
    """
    others = equal(conn, edge)
    start = free_from(edge.valid_from, [one.interval for one in others])
    edge = replace(edge, valid_from=start)
    if edge.kind in ACYCLIC and edge.valid_until is None:
        graph.refuse_circles(conn, edge.kind, [(edge.from_node, edge.to_node)])
    return _put(conn, edge, others)


def _put(conn: apsw.Connection, edge: Edge, others: Sequence[Edge]) -> bool:
    if edge.valid_until is None and any(one.valid_until is None for one in others):
        return False
    if edge.valid_until is None or edge.valid_until >= edge.valid_from:
        graph.refuse_overlap(edge, others)
    add(conn, edge)
    return True


def add(conn: apsw.Connection, edge: Edge) -> None:
    """Add an edge of a node created in this transaction, which has no edge like it yet.

    Raises:
        apsw.ConstraintError: as for `insert`, and when the same open edge exists.
    """
    add_all(conn, [edge])


def add_all(conn: apsw.Connection, new: Iterable[Edge]) -> None:
    """Add edges as `add` does.

    Raises:
        apsw.ConstraintError: as for `add`, for any edge.
    """
    conn.executemany(
        """
        INSERT INTO edges (from_node, to_node, kind, weight, attributes, created_ms, updated_ms,
                           valid_from_ms, valid_until_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            (
                edge.from_node,
                edge.to_node,
                edge.kind,
                edge.weight,
                to_json(dict(edge.attributes)) if edge.attributes else "{}",
                to_ms(edge.created_at),
                to_ms(edge.updated_at or edge.created_at),
                to_ms(edge.valid_from),
                to_ms_or_null(edge.valid_until),
            )
            for edge in new
        ),
    )


def get(conn: apsw.Connection, id: int) -> Edge | None:
    """Return the edge with this number, open or closed, or None."""
    return next(iter(many(conn, [id])), None)


def many(conn: apsw.Connection, ids: Iterable[int]) -> list[Edge]:
    """Return the edges with these numbers, in the order of the numbers; unknown ones are left
    out.
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM edges
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,  # noqa: S608
        (to_json(sorted(set(ids))),),
    )
    return list(map(_ROW.read, rows))


def touching(conn: apsw.Connection, thing: str, limit: int) -> list[str]:
    """Return at most `limit` living memories that touch a file or an entity, newest first."""
    rows = conn.execute(
        """
        SELECT edges.from_node
          FROM edges
          JOIN nodes ON nodes.id = edges.from_node
         WHERE edges.to_node = ? AND edges.kind = 'touches' AND edges.valid_until_ms IS NULL
           AND nodes.archived_ms IS NULL
         ORDER BY edges.id DESC
         LIMIT ?
        """,
        (thing, limit),
    )
    return [node for (node,) in rows]


def equal(conn: apsw.Connection, edge: Edge) -> list[Edge]:
    """Return the edges of the same kind and ends, closed ones too, by start.

    The query starts at the source node (`+` keeps SQLite from the other index): thousands of
    memories may touch one file, and none touches thousands.
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM edges
         WHERE from_node = ? AND kind = ? AND +to_node = ?
         ORDER BY valid_from_ms, id
        """,  # noqa: S608
        (edge.from_node, edge.kind, edge.to_node),
    )
    return list(map(_ROW.read, rows))


def holds_within(
    conn: apsw.Connection, edge: tuple[str, str, str], times: tuple[int, int | None]
) -> bool:
    """Return whether an edge (from, kind, to) holds from the first time until before the second."""
    begin_ms, until_ms = times
    if until_ms is not None and until_ms <= begin_ms:
        return False  # it holds at no time
    found = conn.execute(
        """
        SELECT 1
          FROM edges
         WHERE from_node = ?1 AND kind = ?2 AND +to_node = ?3
           AND (valid_until_ms IS NULL OR (valid_until_ms > ?4 AND valid_until_ms > valid_from_ms))
           AND (?5 IS NULL OR valid_from_ms < ?5)
         LIMIT 1
        """,
        (*edge, begin_ms, until_ms),
    ).fetchone()
    return found is not None


def close(conn: apsw.Connection, edge: Edge, at: datetime) -> bool:
    """End the open edge like `edge` at `at`; return False when there is none."""
    conn.execute(_CLOSE, (to_ms(at), edge.from_node, edge.kind, edge.to_node))
    return conn.changes() > 0


def close_all(conn: apsw.Connection, ended: Iterable[Edge], at: datetime) -> None:
    """End the open edges like these at `at`."""
    at_ms = to_ms(at)
    conn.executemany(_CLOSE, ((at_ms, one.from_node, one.kind, one.to_node) for one in ended))


_CLOSE = """
UPDATE edges
   SET valid_until_ms = max(valid_from_ms, ?1), updated_ms = max(created_ms, ?1)
 WHERE from_node = ?2 AND kind = ?3 AND +to_node = ?4 AND valid_until_ms IS NULL
"""


def erase(conn: apsw.Connection, ids: Iterable[int]) -> int:
    """Delete edges by number; return how many existed."""
    conn.execute(
        "DELETE FROM edges WHERE id IN (SELECT value FROM json_each(?))",
        (to_json(sorted(set(ids))),),
    )
    return conn.changes()


def describe(
    conn: apsw.Connection, edge: Edge, attributes: Mapping[str, object], at: datetime
) -> bool:
    """Set the attributes of the open edge like `edge`; return whether they changed."""
    said = to_json(dict(attributes))
    conn.execute(
        """
        UPDATE edges
           SET attributes = ?, updated_ms = ?
         WHERE from_node = ? AND kind = ? AND +to_node = ? AND valid_until_ms IS NULL
           AND attributes <> ?
        """,
        (said, to_ms(at), edge.from_node, edge.kind, edge.to_node, said),
    )
    return conn.changes() > 0


def weigh(conn: apsw.Connection, edge: Edge, at: datetime) -> bool:
    """Set the weight of the open edge like `edge`; return whether it changed."""
    conn.execute(
        """
        UPDATE edges
           SET weight = ?, updated_ms = ?
         WHERE from_node = ? AND kind = ? AND +to_node = ? AND valid_until_ms IS NULL
           AND weight <> ?
        """,
        (edge.weight, to_ms(at), edge.from_node, edge.kind, edge.to_node, edge.weight),
    )
    return conn.changes() > 0


def of_node(conn: apsw.Connection, id: str, view: str = CURRENT) -> list[Edge]:
    """Return the edges at a node, oldest first: the open ones, or those of a view."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM edges
         WHERE (from_node = :id OR to_node = :id)
           AND (:view = 'all' OR (valid_until_ms IS NULL) = (:view = 'current'))
         ORDER BY id
        """,  # noqa: S608
        {"id": id, "view": view},
    )
    return list(map(_ROW.read, rows))


def some_of_node(conn: apsw.Connection, id: str, view: str, limit: int) -> tuple[list[Edge], int]:
    """Return at most `limit` of the edges of `of_node`, and the number of further ones.

    Outgoing edges come first, then the newest.
    """
    given = {"id": id, "view": view, "limit": limit}
    seen = """
          FROM edges
         WHERE (from_node = :id OR to_node = :id)
           AND (:view = 'all' OR (valid_until_ms IS NULL) = (:view = 'current'))
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
        {seen}
         ORDER BY from_node <> :id, id DESC
         LIMIT :limit
        """,
        given,
    )
    found = sorted(map(_ROW.read, rows), key=lambda edge: edge.id)
    if len(found) < limit:
        return found, 0
    count: int = conn.execute(f"SELECT count(*) {seen}", given).get
    return found, count - len(found)


def of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, list[Edge]]:
    """Return the open edges at each of these nodes, and its closed `touches` edges, oldest first.

    Every given id is a key.
    """
    wanted = sorted(set(ids))
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM edges
         WHERE id IN (SELECT edges.id
                        FROM json_each(:ids) AS start
                       CROSS JOIN edges ON edges.from_node = start.value
                       WHERE edges.valid_until_ms IS NULL OR edges.kind = 'touches'
                       UNION
                      SELECT edges.id
                        FROM json_each(:ids) AS goal
                       CROSS JOIN edges ON edges.to_node = goal.value
                       WHERE edges.valid_until_ms IS NULL)
         ORDER BY id
        """,  # noqa: S608
        {"ids": json_list(wanted)},
    )
    found: dict[str, list[Edge]] = {node: [] for node in wanted}
    for row in rows:
        edge = _ROW.read(row)
        for end in dict.fromkeys((edge.from_node, edge.to_node)):
            if end in found and (end == edge.from_node or edge.valid_until is None):
                found[end].append(edge)
    return found


def between_memories(
    conn: apsw.Connection, ids: Iterable[str], kinds: Iterable[str], limit: int
) -> list[Edge]:
    """Return the open edges of some kinds at any of `ids`, at most `limit`.

    Edges to files and symbols are left out. The strongest come first, then the oldest.
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM edges
         WHERE id IN (SELECT edges.id
                        FROM edges
                        JOIN json_each(:ids) AS start ON edges.from_node = start.value
                       UNION
                      SELECT edges.id
                        FROM edges
                        JOIN json_each(:ids) AS end ON edges.to_node = end.value)
           AND valid_until_ms IS NULL
           AND kind IN (SELECT value FROM json_each(:kinds))
           AND NOT EXISTS (SELECT 1 FROM nodes
                            WHERE nodes.id = to_node AND nodes.kind IN ('file', 'entity'))
         ORDER BY weight DESC, id
         LIMIT :limit
        """,  # noqa: S608
        {"ids": json_list(ids), "kinds": json_list(kinds), "limit": limit},
    )
    return list(map(_ROW.read, rows))


def degrees(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the number of open edges of each of `ids` in both directions, without `learned_in`.

    Every given id is a key. A self-edge counts once.
    """
    wanted = sorted(set(ids))
    rows = conn.execute(
        """
        SELECT value,
               (SELECT count(*) FROM edges
                 WHERE from_node = value AND valid_until_ms IS NULL AND kind <> 'learned_in')
             + (SELECT count(*) FROM edges
                 WHERE to_node = value AND valid_until_ms IS NULL AND kind <> 'learned_in'
                   AND from_node <> value)
          FROM json_each(?)
         ORDER BY value
        """,
        (json_list(wanted),),
    )
    return dict(iter(rows))


def lonely_things(conn: apsw.Connection, limit: int) -> list[str]:
    """Return at most `limit` ids of file and entity nodes without open edges, sorted."""
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE kind IN ('file', 'entity')
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE from_node = nodes.id AND valid_until_ms IS NULL)
           AND NOT EXISTS (SELECT 1 FROM edges
                            WHERE to_node = nodes.id AND valid_until_ms IS NULL)
         ORDER BY id
         LIMIT ?
        """,
        (limit,),
    )
    return [node for (node,) in rows]


def pointed_at(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` with an open edge from another node."""
    rows = conn.execute(
        """
        SELECT DISTINCT to_node
          FROM edges
         WHERE valid_until_ms IS NULL AND from_node <> to_node
           AND to_node IN (SELECT value FROM json_each(?))
         ORDER BY to_node
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


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
               AND NOT EXISTS (
                   SELECT 1
                     FROM node_versions AS back
                    WHERE back.node = {node}.id AND back.version = node_versions.version + 1
                      AND back.change = '{TAKEN_BACK}')))
"""  # noqa: S608


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
"""  # noqa: S608


def is_superseded_sql(node: str) -> str:
    """Return an SQL condition: a visible living memory supersedes this one.

    Args:
        node: the column with the id of the superseded memory.
    """
    return f"EXISTS ({_CHAIN.format(start=f'to_node = {node}')})"


def is_superseded(conn: apsw.Connection, id: str) -> bool:
    """Return whether an open `supersedes` edge ends in a memory, whatever its source."""
    return bool(
        conn.execute(
            f"""
            SELECT EXISTS (
                SELECT 1
                  FROM edges
                 WHERE to_node = ? AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL)
            """,  # noqa: S608
            (id,),
        ).get
    )


def successors(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return the superseded ones of `ids`, each with the living memories that supersede it.

    Chains continue through hidden memories (see `visibility`) as through archived ones.
    """
    rows = conn.execute(
        _CHAIN.format(start="to_node IN (SELECT value FROM json_each(:ids))"),
        {"ids": json_list(ids)},
    )
    found: dict[str, set[str]] = {}
    for old, new in rows:
        found.setdefault(old, set()).add(new)
    return found


def predecessors(conn: apsw.Connection, id: str) -> list[str]:
    """Return the living memories that a memory supersedes, by id."""
    rows = conn.execute(
        f"""
        WITH RECURSIVE before(node) AS (
            SELECT to_node
              FROM edges
             WHERE from_node = ? AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL
             UNION
            SELECT edges.to_node
              FROM before CROSS JOIN edges ON edges.from_node = before.node
                                          AND edges.kind = '{SUPERSEDES}'
                                          AND edges.valid_until_ms IS NULL)
        SELECT node
          FROM before CROSS JOIN nodes ON nodes.id = before.node
         WHERE nodes.archived_ms IS NULL
         ORDER BY node
        """,  # noqa: S608
        (id,),
    )
    old = [node for (node,) in rows]
    later = successors(conn, old) if old else {}
    return [node for node in old if id in later.get(node, ())]


def hand_on(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Relink `supersedes` chains around memories that are about to be erased.

    The new relation starts with the latest of the relations it replaces.

    Args:
        conn: in a transaction.
        ids: the memories to erase.
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
        """,  # noqa: S608
        {"ids": json_list(ids)},
    )
