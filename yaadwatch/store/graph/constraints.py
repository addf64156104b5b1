"""What edges may not be: a circle of an acyclic kind, or two that hold at the same time."""

from collections.abc import Iterable, Sequence

import apsw

from yaadwatch.model import times
from yaadwatch.model.edges import Edge, Interval, circle, clash, told_circle
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.settings import CIRCLE_EDGES_MAX
from yaadwatch.store.codec import json_list


def refuse_circles(conn: apsw.Connection, kind: str, added: Sequence[tuple[str, str]]) -> None:
    """Refuse to add open edges (from, to) of an acyclic kind that would close a circle.

    One query finds every edge ahead of them; each node is come to once, whatever the graph.

    Raises:
        YaadError: REFUSED, with the circle; TOO_LARGE when there are too many edges ahead to know.
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
        f"{kind} must not run in a circle: {told_circle(found, added)}; nothing was stored.",
        "Leave out the edge that is not true.",
    )


def refuse_overlap(edge: Edge, others: Iterable[Edge]) -> None:
    """Refuse an edge that would hold at a time at which one of the same kind and ends holds.

    Raises:
        YaadError: CONFLICT, with what keeps the two apart.
    """
    there = {one.interval: one for one in others}
    found = clash(edge.interval, there)
    if found is not None:
        raise YaadError(
            Code.CONFLICT,
            f"{called(edge.from_node)} {edge.kind} {called(edge.to_node)} held from {found} already"
            f" (edge {there[found].id}), and would hold twice; nothing was added.",
            _apart(edge, found, there[found].id),
        )


def _apart(edge: Edge, other: Interval, number: int) -> str:
    """Return what keeps an edge apart from one of the same kind whose interval it overlaps."""
    if other.end is not None:
        return (
            f"Begin it when that one ended, at {times.told(other.end)}; or if that one never held: "
            f"yaadwatch graph delete-link {number}"
        )
    if edge.valid_from > other.start:
        return (
            f"End that one when this one begins: yaadwatch graph close {number} --at "
            f"{times.told(edge.valid_from)}"
        )
    return f"End this one by {times.told(other.start)}, when that one begins."
