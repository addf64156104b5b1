"""What was learned in a session: edges `learned_in`, and the text of the session's node."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from yaadwatch.core import cjk, text
from yaadwatch.core.recall import past
from yaadwatch.core.recall.past import Lesson
from yaadwatch.core.wording import words_hash
from yaadwatch.engine import node_changes
from yaadwatch.engine.learning import current
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.edges import Edge
from yaadwatch.model.nodes import COLD, Node
from yaadwatch.model.sessions import LEARNED, Session
from yaadwatch.store import edges, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import doings, rows, tasks
from yaadwatch.store.truth import dismissals, versions


def told(conn: Connection, session: Session) -> str:
    """Return what there is to tell of a session now; '' when nothing happened in it."""
    return past.tell(
        session,
        facts=session.facts,
        learned=lessons_of(conn, session.id),
        notes=_wanted(conn, [note.text for note in doings.notes(conn, session.id)]),
        ended_at=session.ended_at,
    )


def _wanted(conn: Connection, notes: Sequence[str]) -> list[str]:
    """Return the notes of a session without those whose words a person dismissed or forgot."""
    hashes = [words_hash(note) for note in notes]
    unwanted = dismissals.of_hashes(conn, hashes) if hashes else {}
    return [note for note, digest in zip(notes, hashes, strict=True) if digest not in unwanted]


def lessons_of(conn: Connection, session: str) -> list[Lesson]:
    """Return the living memories that a session learned, in the order in which it did."""
    order = [one.node for one in doings.of_session(conn, session) if one.role == LEARNED]
    found = nodes.many(conn, order)
    states = tasks.states(conn, order)
    return [
        Lesson(id=node, kind=found[node].kind, text=_said(found[node]), state=states.get(node, ""))
        for node in order
        if node in found and found[node].archived_at is None
    ]


def retell(conn: Connection, session: str, now: datetime) -> str:
    """Give a session, and its node, the words that it has now, inside a transaction; return them.

    What was erased, or forgotten, is not in them any more.
    """
    row = rows.get(conn, session)
    if row is None:
        return ""
    summary = told(conn, row)
    rows.put(conn, replace(row, summary=summary))
    index(conn, session, summary)
    if summary:
        rows.say(conn, session, text=summary, summary=text.summarise(summary), at=now)
    return summary


def index(conn: Connection, session: str, summary: str) -> None:
    """Make a session findable by a summary and its notes, inside a transaction."""
    notes = "\n".join(note.text for note in doings.notes(conn, session))
    rows.index(conn, session, summary=cjk.spaced(summary), notes=cjk.spaced(notes))


def around(conn: Connection, node: str, now: datetime) -> None:
    """Rewrite the summaries of the ended sessions that learned a memory, inside a transaction.

    Call it when the memory was changed, archived or brought back.
    """
    sessions = doings.learned_in(conn, [node]).get(node, ())
    for session in rows.many(conn, sessions).values():
        if session.ended_at is not None:
            retell(conn, session.id, now)
    changed = nodes.get(conn, node)
    if changed is not None and changed.archived_at is not None:
        drop_note(conn, changed.text, now)


def drop_note(conn: Connection, said: str, now: datetime) -> None:
    """Rewrite the summaries of the ended sessions with a note that a person just dismissed.

    Args:
        conn: inside the transaction of the dismissal, after it.
        said: the dismissed words.
        now: when.
    """
    digest = words_hash(said)
    for session in doings.sessions_with_note(conn, lambda note: words_hash(note) == digest):
        retell(conn, session, now)


def without(conn: Connection, node: str, now: datetime) -> None:
    """Have every session that learned a memory tell of it no more; it is about to be erased.

    Call it inside the transaction that erases the memory, before that.
    """
    sessions = doings.learned_in(conn, [node]).get(node, ())
    for session in rows.many(conn, sessions).values():
        doings.drop_node(conn, session.id, node)
        if session.ended_at is not None:
            retell(conn, session.id, now)


def _said(node: Node) -> str:
    return node.text if len(node.text) <= past.LINE_CHARS_MAX else node.summary


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
        log.append_edge(conn, events.EDGE_CREATED, edge, now)
    if found.ended_at is not None:
        retell(conn, session, now)


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
