"""Walk the edges around a memory or a question, and count the whole graph.

Skips archived memories and those that only another branch's files state.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from yaadwatch.api.messages.graph import Subgraph, Traverse
from yaadwatch.api.messages.memories import Recall
from yaadwatch.db import authority, edges, history, nodes
from yaadwatch.db.files import Connection
from yaadwatch.memory import flags, views
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.memories import THINGS, Node, canonical_relation
from yaadwatch.model.settings import (
    GRAPH_EDGES_MAX,
    GRAPH_STEP_EDGES_MAX,
)
from yaadwatch.recall import fitting, recall
from yaadwatch.recall.fitting import Item
from yaadwatch.workspace.lookup import shelves
from yaadwatch.workspace.workspace import Call, Home


def graph_stats(home: Home, call: Call) -> dict[str, object]:
    """Count the nodes and edges of a project; the answer is GraphStats.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        return space.db.read(_count)


def _count(conn: Connection) -> dict[str, object]:
    living = nodes.kinds(conn)
    things = sum(living.pop(kind, 0) for kind in THINGS)
    sessions = living.pop("session", 0)
    current, historical = edges.counts(conn)
    hubs = edges.hubs(conn, 5)
    known = nodes.many(conn, [node for node, _ in hubs])
    rows = [
        {"id": node, "kind": known[node].kind, "text": known[node].summary, "edges": number}
        for node, number in hubs
    ]
    return {
        "memories": sum(living.values()),
        "archived": nodes.count(conn, archived=True),
        "sessions": sessions,
        "things": things,
        "orphans": edges.orphans(conn),
        "kinds": living,
        "edges": {
            "current": sum(current.values()),
            "historical": historical,
            "kinds": current,
        },
        "hubs": views.attributed(conn, rows),
    }


_DIRECTIONS = {
    "both": (True, False),
    "ancestors": (False,),
    "descendants": (True,),
}


@dataclass(slots=True, kw_only=True)
class _Walk:
    """The result of a walk: each node with its distance, nearest first."""

    found: dict[str, tuple[Node, int]] = field(default_factory=dict)
    left: set[str] = field(default_factory=set)
    complete: bool = True


def traverse(home: Home, call: Call, ask: Traverse) -> dict[str, object]:
    """Walk from a memory along its edges; the answer is Walked.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when `id` does not name exactly one.
    """
    with shelves(home, call) as both:
        held = both.find(ask.id)
        return held.db.read(_walked, [held.id], ask, held.shelf.worktree)


def subgraph(home: Home, call: Call, ask: Subgraph) -> dict[str, object]:
    """Return the graph around a memory, or around the answers to a question; the answer is Walked.

    Raises:
        YaadError: BAD_REQUEST unless one of `id` and `query` is given; else as for `traverse`.
    """
    if (ask.id is None) == (ask.query is None):
        raise YaadError(
            Code.BAD_REQUEST,
            "Either a memory or a question is what to look around; nothing was looked up.",
            hint="A memory: yaadwatch subgraph ID. A question: yaadwatch subgraph --query WORDS",
        )
    starts: list[str] = []
    if ask.query is not None:
        found = recall.recall(home, call, Recall(query=ask.query, top_k=5))["results"]
        starts = [str(row["id"]) for row in found] if isinstance(found, list) else []
    with shelves(home, call) as both:
        if ask.id is None:
            space = both.require_project()
            return space.db.read(_walked, starts, ask, space.worktree.id)
        held = both.find(ask.id)
        return held.db.read(_walked, [held.id], ask, held.shelf.worktree)


def _walked(
    conn: Connection, starts: Sequence[str], ask: Traverse | Subgraph, worktree: int
) -> dict[str, object]:
    kinds = [canonical_relation(kind) for kind in ask.kinds]
    walk = _walk(conn, starts, ask, kinds, history.hidden_by_git(conn, worktree))
    fitted = fitting.fit(
        [
            Item(id=one, text=node.text, summary=node.summary)
            for one, (node, _) in walk.found.items()
        ],
        ask.tokens_max,
    )
    shown = {item.id: item for item in fitted.items}
    related = edges.among(conn, shown, kinds=kinds, view=ask.view, limit=GRAPH_EDGES_MAX + 1)
    flagged = flags.spread_flags_of(conn, worktree, shown)
    whose = authority.of_nodes(conn, shown)
    more = len(walk.left) + len(walk.found) - len(shown)
    return {
        "start": [one for one in starts if one in shown],
        "nodes": [
            {
                "id": node_id,
                "kind": walk.found[node_id][0].kind,
                "tier": walk.found[node_id][0].tier,
                "text": item.text,
                **views.by_row(whose.get(node_id)),
                "depth": item.depth,
                "steps": walk.found[node_id][1],
                "stale": views.short_flag(flagged.get(node_id)),
            }
            for node_id, item in shown.items()
        ],
        "edges": [
            views.edge_row(edge)
            for edge in sorted(related[:GRAPH_EDGES_MAX], key=lambda edge: edge.id)
        ],
        "more": more,
        "complete": walk.complete and not more and len(related) <= GRAPH_EDGES_MAX,
        "budget": {"used": fitted.used, "left": fitted.left},
    }


def _walk(
    conn: Connection,
    starts: Sequence[str],
    ask: Traverse | Subgraph,
    kinds: Sequence[str],
    hidden: set[str],
) -> _Walk:
    """Walk breadth-first; each node is visited once, so circles do no harm."""
    known = nodes.many(conn, starts)
    walk = _Walk(found={one: (known[one], 0) for one in starts if one in known})
    layer = list(walk.found)
    for step in range(1, ask.depth + 1):
        if not layer:
            break
        ahead: dict[str, None] = {}
        for forward in _DIRECTIONS[ask.direction if isinstance(ask, Traverse) else "both"]:
            rows = edges.beyond(
                conn,
                layer,
                forward=forward,
                kinds=kinds,
                view=ask.view,
                limit=GRAPH_STEP_EDGES_MAX,
            )
            walk.complete = walk.complete and len(rows) < GRAPH_STEP_EDGES_MAX
            ahead |= dict.fromkeys(rows)
        new = [one for one in ahead if one not in walk.found and one not in hidden]
        known = nodes.many(conn, new)
        living = [one for one in new if known[one].archived_at is None]
        room = max(ask.nodes_max - len(walk.found), 0)
        layer = living[:room]
        walk.found |= {one: (known[one], step) for one in layer}
        walk.left |= set(living[room:])
    return walk
