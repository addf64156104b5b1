"""Whose session is a call part of? And: what a session was shown, until it is written down.

A session begins with the first thing its agent asks; it is written down with the first thing it is
told or says. Nothing is written while somebody reads.
"""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from yaadwatch.core import privacy
from yaadwatch.engine.workspace import AGENT, FRAGMENT_CHARS_MIN, Call, Home, Space, too_short
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.sessions import DAY, IDLE, Session
from yaadwatch.model.settings import SHOWN_NOTED_MAX
from yaadwatch.store import events as log
from yaadwatch.store import projects
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import doings, rows
from yaadwatch.system.live_sessions import Live

LEFT_AFTER = timedelta(minutes=5)
"""A session that a hook has named is over so long after its agent's last connection ended."""
IDLE_PERSON = timedelta(hours=12)
"""As IDLE, for a session that a person began at the command line."""


def current(home: Home, call: Call, space: Space, named: str = "") -> Live:
    """Return the session that a call is part of; one begins when there is none.

    The one of this name, where the agent gives one. Else that of its connection; else one of the
    same agent in this work tree that has no connection yet (a hook began it, or the daemon was
    restarted); at the command line the one that was begun there, else the day.
    """
    now = home.clock.now()
    with home.live.lock:
        name = privacy.kept(named).text or _name(call, now)
        live = _called(home, call, space, name) if named else _known(home, call, space, now)
        if live is None:
            stored = _stored(home, call, space, now, name=name, only=bool(named))
            live = stored or new(home, call, space, name)
            home.live.enter(live)
        if call.session:
            live.connections.add(call.session)
            live.left_at = None
        live.session = replace(live.session, last_at=now)
        return live


def new(home: Home, call: Call, space: Space, name: str = "") -> Live:
    """Return a session that begins now; nobody knows it yet."""
    now = home.clock.now()
    try:
        head = space.repository.head()
        commit, branch = head.commit, head.branch
    except YaadError:  # a HEAD that cannot be read: its session has no commits to tell of
        commit, branch = "", ""
    session = Session(
        id=home.new_id(),
        worktree=space.worktree.id,
        agent=call.origin,
        name=privacy.kept(name).text,
        started_at=now,
        last_at=now,
        branch=privacy.mask(branch).text,
        start_commit=commit,
        told_seq=space.db.read(log.last),
    )
    return Live(project=space.project.id, session=session)


def write(conn: Connection, live: Live, now: datetime) -> None:
    """Write down a session that goes on, inside a transaction."""
    if not rows.touch(conn, live.id, live.session.last_at):
        rows.put(conn, live.session)
        body: dict[str, object] = {"agent": live.session.agent, "worktree": live.session.worktree}
        log.append(conn, Event(kind=events.SESSION_STARTED, at=now, subject=live.id, body=body))


def session_of(home: Home, call: Call, space: Space, given: str | None = None) -> str:
    """Return the id of the session that a call is part of, or of the one that was given.

    Raises:
        YaadError: as for `find`.
    """
    return find(space, given).id if given else current(home, call, space).id


def find(space: Space, fragment: str) -> Session:
    """Return the one session that `fragment` names: its id, or a unique end of it.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST (it fits, and is shorter than four characters), CONFLICT.
    """
    found = space.db.read(rows.find, fragment, 2)
    if found and fragment not in found and len(fragment) < FRAGMENT_CHARS_MIN:
        raise too_short(fragment)
    session = space.db.read(rows.get, found[0]) if len(found) == 1 else None
    if len(found) > 1:
        raise YaadError(
            Code.CONFLICT,
            f"{fragment} fits several sessions; nothing was done.",
            hint="Give more characters of the one you mean.",
        )
    if session is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"No session of this project has the id {fragment}.",
            hint="Ids are shown by: yaadwatch sessions",
        )
    return session


def shown(home: Home, call: Call, space: Space, tokens: Mapping[str, int]) -> None:
    """Note what whoever asks was shown, and the tokens it took; agents only."""
    if not tokens or not call.origin.startswith(AGENT):
        return
    live = current(home, call, space)
    with home.live.lock:
        _add(live, tokens)


@contextlib.contextmanager
def pending(home: Home, live: Live) -> Iterator[dict[str, int]]:
    """Lend what a session was shown and is not written down yet: tokens by node.

    It is forgotten at the end of the block; where that goes wrong it is kept for the next time,
    together with what was shown meanwhile.
    """
    with home.live.lock:
        taken, live.shown = live.shown, {}
    written = False
    try:
        yield taken
        written = True
    finally:
        if not written:
            with home.live.lock:
                # A session that ended, or began again, meanwhile is known under the same id.
                _add(home.live.get(live.id) or live, taken)


def flush(home: Home, live: Live) -> None:
    """Write down what a session was shown, and when it last asked, if that is news.

    Raises:
        YaadError: its store cannot be had, or written; what was shown is kept for the next time.
    """
    with home.live.lock:
        session = live.session
        if live.is_written:
            return
    project = home.user.read(projects.get, live.project)
    if project is None or project.removed_at is not None:
        return

    with pending(home, live) as taken:

        def change(conn: Connection) -> None:
            now = home.clock.now()
            if taken or rows.get(conn, live.id) is not None:
                write(conn, live, now)
                doings.shown(conn, live.id, taken, now)

        with home.stores.use(project) as db:
            db.write(change)
        live.failed_at = None
        live.written = session


def _add(live: Live, tokens: Mapping[str, int]) -> None:
    """Note tokens by node, of so many nodes at most; `LiveSessions.lock` is held."""
    for node, cost in tokens.items():
        if node in live.shown or len(live.shown) < SHOWN_NOTED_MAX:
            live.shown[node] = live.shown.get(node, 0) + cost


def idle_after(agent: str) -> timedelta:
    """Return after how much quiet a session of `agent` is over."""
    return IDLE if agent.startswith(AGENT) else IDLE_PERSON


def _known(home: Home, call: Call, space: Space, now: datetime) -> Live | None:
    """Return the session in memory that a call is part of."""
    found = home.live.of(space.project.id, space.worktree.id, call.origin)
    if call.session:
        own = next((live for live in found if call.session in live.connections), None)
        free = (live for live in found if not live.connections and _is_fresh(live.session, now))
        return own or next(free, None)
    if call.origin.startswith(AGENT):
        return next((live for live in found if _is_fresh(live.session, now)), None)
    begun = (live for live in found if not live.session.is_day and _is_fresh(live.session, now))
    today = (live for live in found if live.session.name == _name(call, now))
    return next(begun, None) or next(today, None)


def _called(home: Home, call: Call, space: Space, name: str) -> Live | None:
    """Return the session in memory that its agent calls so."""
    found = home.live.of(space.project.id, space.worktree.id, call.origin)
    return next((live for live in found if live.session.name == name), None)


def _stored(
    home: Home, call: Call, space: Space, now: datetime, *, name: str, only: bool
) -> Live | None:
    """Return the session in the store that a call goes on with; `only` the one of this name."""
    since = now - idle_after(call.origin)
    open_ones = [] if only else space.db.read(rows.going_on, space.worktree.id, call.origin, since)
    session = next((one for one in open_ones if home.live.get(one.id) is None), None)
    if session is None and name:
        session = space.db.read(rows.named, space.worktree.id, call.origin, name)
    if session is None:
        return None
    return Live(project=space.project.id, session=replace(session, ended_at=None, ended_by=""))


def _is_fresh(session: Session, now: datetime) -> bool:
    return now - session.last_at < idle_after(session.agent)


def _name(call: Call, now: datetime) -> str:
    """Return the name of the day, for who is at the command line."""
    return "" if call.origin.startswith(AGENT) else f"{DAY}{now.date()}"
