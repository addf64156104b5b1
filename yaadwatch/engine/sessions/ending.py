"""The end of a session: what it is remembered by, found out once, from facts."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from yaadwatch.core import text
from yaadwatch.engine.learning import current, lessons, retelling
from yaadwatch.engine.sessions import evidence
from yaadwatch.engine.sessions.evidence import Evidence
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.edges import Edge
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import COLD, Node
from yaadwatch.model.sessions import IDLE, LEARNED, SHOWN, USED, Ending, Facts, Session
from yaadwatch.store import edges, nodes, projects
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import doings, rows
from yaadwatch.system.livesessions import Live

FILES_RELATED: Final = 50
"""Files that the node of a session has an edge to."""

_log: Final = logging.getLogger(__name__)


def finish(home: Home, live: Live, by: Ending) -> Session | None:
    """End a session; return it as it is kept, or None when nothing happened in it.

    What git has to say is asked first, then everything is written in one transaction. A session
    that was asked to end twice ends once.

    Raises:
        YaadError: its store cannot be had.
    """
    with home.live.lock:
        home.live.leave(live.id)
        pending = current.take_shown(home, live)
    now = home.clock.now()
    last = live.session.last_at
    ended_at = last if by == "idle" else now
    until = min(now, last + current.idle_after(live.session.agent)) if by == "idle" else now
    found = Evidence() if live.session.is_day else _evidence(home, live, until)
    project = home.user.read(projects.get, live.project)
    if project is None:
        return None

    def end(conn: Connection) -> Session | None:
        return _end(conn, home, live, pending, found, ended_at=ended_at, by=by)

    with home.stores.use(project) as db:
        return db.write(end)


def finish_quietly(home: Home, live: Live, by: Ending) -> None:
    """End a session for which nobody waits; what is wrong stands in the log."""
    _quietly(live.id, finish, home, live, by)


def left(home: Home, call: Call) -> None:
    """End the sessions of an agent whose connection has ended.

    One that a hook has named may go on: its hook says when it ends, or it is over after a while.
    """
    ended = []
    with home.live.lock:
        for live in home.live.with_connection(call.session):
            live.connections.discard(call.session)
            if live.session.name and not live.connections:
                live.left_at = home.clock.now()
            elif not live.connections:
                ended.append(live)
    for live in ended:
        finish_quietly(home, live, "left")


def flush(home: Home) -> None:
    """Write down what the sessions that go on were shown; they go on."""
    with home.live.lock:
        lives = home.live.everything()
    for live in lives:
        _quietly(live.id, current.flush, home, live)


def expire(home: Home, *, everywhere: bool = False) -> None:
    """Write down what the sessions were shown; end those that were left, or are idle.

    Args:
        home: what may be reached.
        everywhere: also in stores that are not open.
    """
    now = home.clock.now()
    with home.live.lock:
        lives = home.live.everything()
    for live in lives:
        gone = live.left_at is not None and now - live.left_at >= current.LEFT_AFTER
        quiet = now - live.session.last_at
        if gone or quiet >= current.idle_after(live.session.agent):
            finish_quietly(home, live, "left" if gone else "idle")
        else:
            _quietly(live.id, current.flush, home, live)
    for project in home.user.read(projects.everything):
        if everywhere or home.stores.opened(project.id) is not None:
            _quietly(project.id, _expire_stored, home, project.id)


def _expire_stored(home: Home, project: str) -> None:
    """End the sessions that only the store of a project knows, and that are idle."""
    found = home.user.read(projects.get, project)
    if found is None:
        return
    now = home.clock.now()
    with home.stores.use(found) as db:
        idle = db.read(rows.idle, now - IDLE)
    for session in idle:
        live = Live(project=project, session=session)
        quiet = now - session.last_at
        if quiet >= current.idle_after(session.agent) and home.live.get(session.id) is None:
            finish(home, live, "idle")


def _evidence(home: Home, live: Live, until: datetime) -> Evidence:
    try:
        with home.tree(live.project, live.session.worktree or 0) as space:
            return evidence.gather(home, space, live.session, until)
    except YaadError:
        return Evidence(facts=Facts(reason="its work tree is not there any more"))


def _end(
    conn: Connection,
    home: Home,
    live: Live,
    pending: Mapping[str, int],
    found: Evidence,
    *,
    ended_at: datetime,
    by: Ending,
) -> Session | None:
    now = home.clock.now()
    stored = rows.get(conn, live.id)
    if stored is not None and stored.ended_at is not None:
        return stored
    if stored is None:
        current.write(conn, live, now)
        stored = rows.get(conn, live.id) or live.session
    doings.shown(conn, live.id, pending, now)
    session = replace(
        stored,
        last_at=max(stored.last_at, live.session.last_at),
        ended_at=max(ended_at, stored.started_at),
        ended_by=by,
        facts=found.facts,
    )
    rows.put(conn, session)
    part = doings.of_session(conn, session.id)
    shown = [one.node for one in part if one.role == SHOWN]
    use = evidence.used(conn, shown, found, doings.files(conn, session.id))
    doings.forget_role(conn, session.id, USED)
    doings.note_nodes(conn, session.id, USED, use, now)
    told = retelling.retell(conn, session.id, now)
    if not told and not part:
        rows.drop(conn, session.id)
        return None
    if told:
        _relate(conn, home, session, now)
    body: dict[str, object] = {
        "agent": session.agent,
        "worktree": session.worktree,
        "learned": sum(one.role == LEARNED for one in part),
        "files": len(found.facts.files) + found.facts.more,
    }
    log.append(conn, Event(kind=events.SESSION_ENDED, at=now, subject=session.id, body=body))
    return replace(session, summary=told)


def _relate(conn: Connection, home: Home, session: Session, now: datetime) -> None:
    """Relate the node of a session to the files that it changed; secret names are left out."""
    lessons.ensure_node(conn, session, now)
    retelling.retell(conn, session.id, now)
    for touched in [one for one in session.facts.files if "[masked:" not in one.path][
        :FILES_RELATED
    ]:
        digest = text.text_hash(touched.path)
        thing = nodes.by_hash(conn, "project", digest, thing=True)
        if thing is None:
            thing = Node(
                id=home.new_id(),
                kind="file",
                tier=COLD,
                scope="project",
                text=touched.path,
                text_hash=digest,
                summary=touched.path,
                origin=session.agent,
                confidence=1.0,
                confirmed_at=now,
                created_at=now,
                updated_at=now,
            )
            nodes.insert(conn, thing)
        edge = Edge(
            from_node=session.id, to_node=thing.id, kind="touches", created_at=now, valid_from=now
        )
        edges.begin(conn, edge)


def _quietly(subject: str, do: object, *arguments: object) -> None:
    """Do something that nobody waits for; what is wrong stands in the log."""
    try:
        do(*arguments)  # type: ignore[operator]
    except YaadError as error:
        _log.warning("session.not_ended", extra={"subject": subject, "reason": error.message})
