"""What is in the graph of a project: how much, of which kinds, and what has most relations."""

from yaadwatch.engine import json_views
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.nodes import THINGS
from yaadwatch.model.settings import GRAPH_HUBS_MAX
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import census


def graph_stats(home: Home, call: Call) -> dict[str, object]:
    """Count the nodes and edges of a project; the answer is GraphStats.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        return space.db.read(_count)


def _count(conn: Connection) -> dict[str, object]:
    living = census.living(conn)
    things = sum(living.pop(kind, 0) for kind in THINGS)
    sessions = living.pop("session", 0)
    current = census.current(conn)
    hubs = census.hubs(conn, GRAPH_HUBS_MAX)
    known = nodes.many(conn, [node for node, _ in hubs])
    return {
        "memories": sum(living.values()),
        "archived": census.archived(conn),
        "sessions": sessions,
        "things": things,
        "orphans": census.orphans(conn),
        "kinds": living,
        "edges": {
            "current": sum(current.values()),
            "historical": census.historical(conn),
            "kinds": current,
        },
        "hubs": json_views.attributed(
            conn,
            [
                {
                    "id": node,
                    "kind": known[node].kind,
                    "text": known[node].summary,
                    "edges": number,
                }
                for node, number in hubs
            ],
        ),
    }
