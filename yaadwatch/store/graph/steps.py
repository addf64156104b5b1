"""One step of a walk through the graph, and the edges between what a walk came to.

Where a memory was learned is no way to go unless it is asked for: by way of a long session
everything would be two steps from everything.
"""

from collections.abc import Iterable

import apsw

from yaadwatch.store.codec import json_list

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
    """Return the nodes that edges lead to from `ids`, one for each edge, the strongest first.

    Args:
        conn: a snapshot.
        ids: where the edges are.
        direction: `out` for edges that begin there, `in` for those that end there.
        kinds: of the edges; all but `learned_in` when empty.
        view: `current`, `historical` or `all`.
        limit: edges looked at, at most.
    """
    # The node that is known stands first; each direction has an index of its own.
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
    """Return the numbers of the edges that begin and end in `ids`, the strongest first."""
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
