"""How nodes relate: edges, who has them, and that the acyclic kinds stay acyclic."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import apsw

from yaadwatch.model.edges import ACYCLIC, Edge
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.codec import from_ms, from_ms_or_null, json_list, to_ms, to_ms_or_null


def insert(conn: apsw.Connection, edge: Edge) -> bool:
    """Add an edge; return False when the same open edge is there already.

    Raises:
        YaadError: REFUSED; its kind is acyclic and it would close a cycle of open edges, which the
            message names.
        apsw.ConstraintError: an end is not there, or its interval ends before it begins.
    """
    if edge.kind in ACYCLIC and edge.valid_until is None:
        _refuse_cycle(conn, edge)
    conn.execute(
        """
        INSERT INTO edges (from_node, to_node, kind, weight, created_ms, updated_ms, valid_from_ms,
                           valid_until_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (from_node, kind, to_node) WHERE valid_until_ms IS NULL DO NOTHING
        """,
        (
            edge.from_node,
            edge.to_node,
            edge.kind,
            edge.weight,
            to_ms(edge.created_at),
            to_ms(edge.created_at),
            to_ms(edge.valid_from),
            to_ms_or_null(edge.valid_until),
        ),
    )
    return conn.changes() > 0


def close(conn: apsw.Connection, edge: Edge, at: datetime) -> bool:
    """End the open edge like `edge` at `at`; return False when there is none."""
    conn.execute(
        """
        UPDATE edges
           SET valid_until_ms = max(valid_from_ms, ?1), updated_ms = ?1
         WHERE from_node = ?2 AND kind = ?3 AND to_node = ?4 AND valid_until_ms IS NULL
        """,
        (to_ms(at), edge.from_node, edge.kind, edge.to_node),
    )
    return conn.changes() > 0


def weigh(conn: apsw.Connection, edge: Edge, at: datetime) -> bool:
    """Give the open edge like `edge` its weight; return whether it had another one."""
    conn.execute(
        """
        UPDATE edges
           SET weight = ?, updated_ms = ?
         WHERE from_node = ? AND kind = ? AND to_node = ? AND valid_until_ms IS NULL
           AND weight <> ?
        """,
        (edge.weight, to_ms(at), edge.from_node, edge.kind, edge.to_node, edge.weight),
    )
    return conn.changes() > 0


def of_node(conn: apsw.Connection, id: str) -> list[Edge]:
    """Return the open edges that begin or end in a node, oldest first."""
    rows = conn.execute(
        """
        SELECT from_node, to_node, kind, created_ms, valid_from_ms, weight, valid_until_ms
          FROM edges
         WHERE valid_until_ms IS NULL AND (from_node = :id OR to_node = :id)
         ORDER BY id
        """,
        {"id": id},
    )
    return [_edge(row) for row in rows]


def between_memories(
    conn: apsw.Connection, ids: Iterable[str], kinds: Iterable[str], limit: int
) -> list[Edge]:
    """Return the open edges of some kinds that begin or end in one of `ids`.

    Those that end in a file or symbol are left out. At most `limit`, the strongest; of equal ones
    the oldest.
    """
    rows = conn.execute(
        """
        SELECT from_node, to_node, kind, created_ms, valid_from_ms, weight, valid_until_ms
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
        """,
        {"ids": json_list(ids), "kinds": json_list(kinds), "limit": limit},
    )
    return [_edge(row) for row in rows]


def degrees(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return how many open edges each of `ids` has, both directions, `learned_in` not counted.

    Every given id is a key. An edge from a node to itself counts once.
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


def superseded(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` in whose place another node stands: the end of an open `supersedes`."""
    rows = conn.execute(
        """
        SELECT DISTINCT to_node
          FROM edges
         WHERE kind = 'supersedes' AND valid_until_ms IS NULL
           AND to_node IN (SELECT value FROM json_each(?))
         ORDER BY to_node
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def lonely_things(conn: apsw.Connection, limit: int) -> list[str]:
    """Return at most `limit` ids of file and entity nodes that have no open edge, sorted."""
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
    """Return those of `ids` in which an open edge from another node ends."""
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


def _edge(row: tuple[Any, ...]) -> Edge:
    from_node, to_node, kind, created_ms, valid_from_ms, weight, valid_until_ms = row
    return Edge(
        from_node=from_node,
        to_node=to_node,
        kind=kind,
        created_at=from_ms(created_ms),
        valid_from=from_ms(valid_from_ms),
        weight=weight,
        valid_until=from_ms_or_null(valid_until_ms),
    )


def _refuse_cycle(conn: apsw.Connection, edge: Edge) -> None:
    """Walk from the edge's end, one layer a query; refuse when the walk reaches its beginning."""
    came_from = {edge.to_node: edge.to_node}
    layer = [edge.to_node]
    while layer and edge.from_node not in came_from:
        rows = conn.execute(
            """
            SELECT from_node, to_node
              FROM edges
             WHERE kind = ? AND valid_until_ms IS NULL
               AND from_node IN (SELECT value FROM json_each(?))
             ORDER BY from_node, to_node
            """,
            (edge.kind, json_list(layer)),
        )
        layer = []
        for here, there in rows:
            if there not in came_from:
                came_from[there] = here
                layer.append(there)
    if edge.from_node not in came_from:
        return
    walk = [edge.from_node]
    while walk[-1] != edge.to_node:
        walk.append(came_from[walk[-1]])
    cycle = " -> ".join(node[-8:] for node in [edge.from_node, *reversed(walk)])
    raise YaadError(
        Code.REFUSED,
        f"{edge.kind} must not run in a circle: {cycle}; the edge was not added.",
        "Leave out the edge that is not true.",
    )
