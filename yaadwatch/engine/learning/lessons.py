"""What was learned in a session: the edge `learned_in`, and the node of the session it leads to."""

from datetime import datetime

from yaadwatch.core import text
from yaadwatch.engine import node_changes
from yaadwatch.engine.learning import current, session_text
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.edges import Edge
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import COLD, Node
from yaadwatch.model.sessions import LEARNED, Session
from yaadwatch.store import edges, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import doings, rows
from yaadwatch.store.truth import versions

KIND = "learned_in"


def learned(
    conn: Connection,
    home: Home,
    node: Node,
    session: str | None,
    now: datetime,
    *,
    fresh: bool = False,
) -> None:
    """Relate a memory to the session that it was said in, inside a transaction.

    Edges never cross stores: a memory of the user's own store keeps the id of the session alone.
    One that is `fresh`, stored in this transaction, has no such edge, and nothing leads to it. A
    session that has ended gets its words anew.
    """
    if session is None or node.scope != "project":
        return
    live = home.live.get(session)
    if live is not None:
        current.write(conn, live, now)
    found = rows.get(conn, session) if live is None else live.session
    if found is None:
        return
    ensure_node(conn, found, now)
    doings.note_nodes(conn, session, LEARNED, [node.id], now)
    edge = Edge(from_node=node.id, to_node=session, kind=KIND, created_at=now, valid_from=now)
    if fresh:
        edges.add(conn, edge)
    if fresh or edges.begin(conn, edge):
        body: dict[str, object] = {"to": session, "kind": KIND}
        log.append(conn, Event(kind=events.EDGE_CREATED, at=now, subject=node.id, body=body))
    if found.ended_at is not None:
        session_text.retell(conn, session, now)


def ensure_node(conn: Connection, session: Session, now: datetime) -> None:
    """Make the node of a session when it is not there.

    Its words are in the index of sessions, not in that of memories: a question is answered by what
    was learned, not by who learned it.
    """
    if nodes.has(conn, session.id):
        return
    who = session.agent.partition(":")[2] or "the command line"
    where = f" on {session.branch}" if session.branch else ""
    said = f"Session of {who}{where}, begun {session.started_at:%Y-%m-%d %H:%M} UTC"
    node = Node(
        id=session.id,
        kind="session",
        tier=COLD,
        scope="project",
        text=said,
        # Two sessions may say the same of themselves, and are not the same.
        text_hash=text.text_hash(f"session {session.id}"),
        summary=said,
        origin=session.agent,
        session=session.id,
        confidence=1.0,
        confirmed_at=now,
        created_at=session.started_at,
        updated_at=now,
    )
    nodes.insert(conn, node)
    versions.add(conn, node_changes.version_of(node, now, "created", node.origin))
