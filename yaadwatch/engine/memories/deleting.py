"""Delete a memory for good, with everything that hangs on it; to be able to go back, forget it."""

from datetime import datetime

from yaadwatch.api.messages.graph import DeleteNode
from yaadwatch.core import text
from yaadwatch.engine import json_views
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.learning import lessons
from yaadwatch.engine.store_lookup import shelves
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.edges import ALL
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.store import agreements, edges, nodes, provenance
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority


def delete_node(home: Home, call: Call, ask: DeleteNode) -> dict[str, object]:
    """Delete a memory, its history and its relations, if it is there; the answer is DeletedNode.

    Raises:
        YaadError: CONFLICT when `id` names several; REFUSED when a person's own file says it, or
            it stands in the block of an agent file, or an agent deletes a person's.
    """
    with shelves(home, call) as both:
        held = both.there(ask.id)
        if held is None:
            return {"deleted": False, "edges": 0}
        return held.db.write(_delete, held.id, home.clock.now(), call.origin)


def _delete(conn: Connection, node_id: str, now: datetime, actor: str) -> dict[str, object]:
    node = nodes.get(conn, node_id)
    if node is None:
        return {"deleted": False, "edges": 0}
    dismissing.refuse_agent(conn, node, actor=actor, change="deleted")
    for place in provenance.of_node(conn, node_id):
        if place.line is not None:
            raise YaadError(
                Code.REFUSED,
                f"{place.path} (line {place.line}) still says this; it was not deleted.",
                hint=f"Delete it there, then: yaadwatch graph delete {called(node_id)}",
            )
    # What was agreed goes with the node, and then its line in a block would be taken for one that
    # somebody has typed; in a block that git brings back, a tombstone keeps it from that.
    if files := agreements.standing(conn, node_id):
        raise YaadError(
            Code.REFUSED,
            f"Memory {called(node_id)} stands in the block of {' and '.join(files)}; it was not "
            "deleted.",
            hint=f"Forget it first, and delete it then: yaadwatch forget {called(node_id)}",
        )
    related = edges.of_node(conn, node_id, ALL)
    whose = authority.of_nodes(conn, [node_id]).get(node_id)
    for worktree, path in agreements.places(conn, node_id):
        agreements.bury(conn, worktree, path, [text.text_hash(node.text)], now)
    dismissing.note(conn, node, now, actor=actor, reason="")
    lessons.drop_note(conn, node.text, now)
    lessons.without(conn, node_id, now)
    nodes.erase(conn, [node_id])
    log.hush(conn, node_id)
    log.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node_id))
    return {
        "deleted": True,
        "id": node_id,
        "text": node.text,
        "edges": len(related),
        "at": now,
        **json_views.by_row(whose),
    }
