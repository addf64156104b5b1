"""Walk the graph one step at a time, refuse circles and overlaps, and count nodes and edges.

A walk follows `learned_in` only on request: through a long session every memory would be two steps
from every other.
"""

from collections.abc import Iterable, Sequence

import apsw

from yaadwatch.db.codec import json_list
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Edge, Interval, circle, circle_in_words, clash
from yaadwatch.model.settings import CIRCLE_EDGES_MAX

OUT, IN = "out", "in"


def beyond(
    conn: apsw.Connection,
    ids: Iterable[str],
    *,
    direction: str,
    kinds: Iterable[str],
    view: str,
    limit: int,
) -> list[str]:
    """Return the nodes that edges lead to from `ids`, one per edge, strongest first.

    Args:
        conn: a snapshot.
        ids: the start of the walk.
        direction: `out` for edges that begin there, `in` for those that end there.
        kinds: of the edges; all but `learned_in` when empty.
        view: `current`, `historical` or `all`.
        limit: number of edges read, at most.
    """
    # The known node comes first; each direction has its own index.
    here, there = ("from_node", "to_node") if direction == OUT else ("to_node", "from_node")
    rows = conn.execute(
        _BEYOND.replace(":here", here).replace(":there", there),
        {
            "ids": json_list(ids),
            "kinds": json_list(kinds),
            "view": view,
            "limit": limit,
        },
    )
    return [node for (node,) in rows]


_BEYOND = """
SELECT edges.:there
  FROM json_each(:ids) AS start CROSS JOIN edges ON edges.:here = start.value
 WHERE iif(:kinds = '[]', edges.kind <> 'learned_in',
           edges.kind IN (SELECT value FROM json_each(:kinds)))
   AND (:view = 'all' OR (valid_until_ms IS NULL) = (:view = 'current'))
 ORDER BY weight DESC, edges.id
 LIMIT :limit
"""


def among(
    conn: apsw.Connection, ids: Iterable[str], *, kinds: Iterable[str], view: str, limit: int
) -> list[int]:
    """Return the numbers of the edges with both ends in `ids`, strongest first."""
    rows = conn.execute(
        """
        SELECT edges.id
          FROM json_each(:ids) AS start CROSS JOIN edges ON edges.from_node = start.value
         WHERE to_node IN (SELECT value FROM json_each(:ids))
           AND iif(:kinds = '[]', edges.kind <> 'learned_in',
           edges.kind IN (SELECT value FROM json_each(:kinds)))
           AND (:view = 'all' OR (valid_until_ms IS NULL) = (:view = 'current'))
         ORDER BY weight DESC, edges.id
         LIMIT :limit
        """,
        {"ids": json_list(ids), "kinds": json_list(kinds), "view": view, "limit": limit},
    )
    return [number for (number,) in rows]


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
        {
            "ends": json_list(end for _, end in added),
            "kind": kind,
            "limit": CIRCLE_EDGES_MAX + 1,
        },
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
    if found is None:
        return
    raise YaadError(
        Code.REFUSED,
        f"{kind} must not run in a circle: {circle_in_words(found, added)}; nothing was stored.",
        "Leave out the edge that is not true.",
    )


def refuse_overlap(edge: Edge, others: Iterable[Edge]) -> None:
    """Refuse an edge whose interval overlaps one of the same kind and ends.

    Raises:
        YaadError: CONFLICT, with what keeps the two apart.
    """
    there = {one.interval: one for one in others}
    found = clash(edge.interval, there)
    if found is not None:
        raise YaadError(
            Code.CONFLICT,
            f"{short_id(edge.from_node)} {edge.kind} {short_id(edge.to_node)} held from {found} "
            f"already (edge {there[found].id}), and would hold twice; nothing was added.",
            _apart(edge, found, there[found].id),
        )


def _apart(edge: Edge, other: Interval, number: int) -> str:
    """Return words that distinguish an edge from the one it overlaps."""
    if other.end is not None:
        return (
            f"Begin it when that one ended, at {events.time_text(other.end)}; or if that one never "
            f"held: yaadwatch graph delete-link {number}"
        )
    if edge.valid_from > other.start:
        return (
            f"End that one when this one begins: yaadwatch graph close {number} --at "
            f"{events.time_text(edge.valid_from)}"
        )
    return f"End this one by {events.time_text(other.start)}, when that one begins."


def living(conn: apsw.Connection) -> dict[str, int]:
    """Return the number of living nodes of each kind, files and symbols included."""
    rows = conn.execute(
        "SELECT kind, count(*) FROM nodes WHERE archived_ms IS NULL GROUP BY kind ORDER BY kind"
    )
    return dict(iter(rows))


def archived(conn: apsw.Connection) -> int:
    """Return the number of archived memories, without session nodes."""
    return int(
        conn.execute(
            """
            SELECT count(*)
              FROM nodes
             WHERE archived_ms IS NOT NULL AND kind NOT IN ('file', 'entity', 'session')
            """
        ).get
    )


def current(conn: apsw.Connection) -> dict[str, int]:
    """Return the number of open edges of each kind."""
    rows = conn.execute(
        "SELECT kind, count(*) FROM edges WHERE valid_until_ms IS NULL GROUP BY kind ORDER BY kind"
    )
    return dict(iter(rows))


def historical(conn: apsw.Connection) -> int:
    """Return the number of ended edges."""
    return int(conn.execute("SELECT count(*) FROM edges WHERE valid_until_ms IS NOT NULL").get)


def orphans(conn: apsw.Connection) -> int:
    """Return the number of living memories without open edges other than `learned_in`."""
    return int(
        conn.execute(
            """
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
        ).get
    )


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
         ORDER BY edges DESC, node
         LIMIT ?
        """,
        (limit,),
    )
    return [(node, edges) for node, edges in rows]
