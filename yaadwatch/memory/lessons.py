"""Record what a session learned, describe sessions in text, and find the session of a call.

A session's text is made of facts alone, without a model. Its input is already masked, and what
others wrote (notes, memories, commits, unusual file names) is quoted, because it is data.

A session begins with the first call of its agent, and is stored with the first call that writes or
that returns memories: a read writes nothing.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from yaadwatch.db import authority, edges, history, nodes, projects
from yaadwatch.db import sessions as db_sessions
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.memories import COLD, Edge, Node
from yaadwatch.model.projects import DAY, IDLE, LEARNED, Facts, Session, of_origin
from yaadwatch.model.settings import SHOWN_NOTED_MAX
from yaadwatch.text import privacy, words
from yaadwatch.text.quoting import as_kind, as_name, author, quoted, words_hash
from yaadwatch.workspace.live_sessions import Live
from yaadwatch.workspace.workspace import AGENT, FRAGMENT_CHARS_MIN, Call, Home, Space, too_short

LINE_CHARS_MAX: Final = 300
"""A note or a statement that is longer is cut after a whole word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A memory learned in a session; `state` is a task's state, otherwise ''."""

    id: str
    kind: str
    text: str
    state: str = ""


def session_lines(
    session: Session,
    *,
    facts: Facts,
    learned: Sequence[Lesson],
    notes: Sequence[str],
    ended_at: datetime | None,
) -> str:
    """Return the description of a session, a line per topic; '' when nothing happened."""
    lines = [f"Noted: {quoted(_line(note))}" for note in notes[-12:]]
    for sort, are_tasks in (("Learned", False), ("Tasks", True)):
        told = [
            f"{one.state or as_kind(one.kind)}: {quoted(_line(one.text))}"
            for one in learned
            if (one.kind == "task") == are_tasks
        ]
        lines += _listed(sort, told[:8], left_out=len(told) - 8)
    # The newest commits describe best where it ended.
    told = [f"{made.id[:8]} {quoted(_line(made.subject))}" for made in facts.commits]
    lines += _listed("Commits", told[-8:], left_out=len(told) - 8)
    for sort, committed in (("Files", True), ("Files not committed", False)):
        told = [
            as_name(one.path) + ("" if one.how == "changed" else f" ({one.how})")
            for one in facts.files
            if one.committed == committed
        ]
        left_out = max(0, len(told) - 20) + (facts.more if committed else 0)
        lines += _listed(sort, told[:20], left_out=left_out, between=", ")
    if facts.reason:
        lines.append(f"Not known: {_line(facts.reason)}")
    if not lines or (facts.reason and len(lines) == 1):
        return ""
    return "\n".join([_headline(session, ended_at), *lines])


def _listed(sort: str, told: Sequence[str], *, left_out: int, between: str = "; ") -> list[str]:
    more = f"{between}and {left_out} more" if left_out > 0 else ""
    return [f"{sort}: {between.join(told)}{more}"] if told else []


_NAME = re.compile(r"`([^`\s]{3,80})`|\b([A-Za-z_][\w.-]*[\w])")
_IS_NAME = re.compile(r"[a-z0-9][A-Z]|[_./-]|[A-Z]{2}|\d")


def names(text: str) -> frozenset[str]:
    """Return the names in a text: words in backticks, identifiers, paths, options.

    Plain words are left out: they would match anywhere.
    """
    found = set()
    for match in _NAME.finditer(text):
        name = (match[1] or match[2]).strip(".-/()")
        if len(name) >= 4 and (match[1] or _IS_NAME.search(name)):
            found.add(name)
    return frozenset(found)


def new_names(before: str, after: str) -> frozenset[str]:
    """Return the names in `after` that are not in `before`."""
    return frozenset(_words(after) - _words(before))


def _words(text: str) -> set[str]:
    """Return the words of a text, whole (`a/b.py`) and split."""
    found: set[str] = set()
    for word in re.findall(r"[\w./-]+", text):
        found.add(word.strip(".-/"))
        found.update(re.split(r"[./-]", word))
    return found


def _headline(session: Session, ended_at: datetime | None) -> str:
    who = author(of_origin(session.agent, session.started_at))
    where = f" on {as_name(_line(session.branch))}" if session.branch else ""
    begun = session.started_at
    if ended_at is None:
        return f"{who}{where}, since {begun:%Y-%m-%d %H:%M} UTC."
    until = f"{ended_at:%H:%M}" if ended_at.date() == begun.date() else f"{ended_at:%Y-%m-%d %H:%M}"
    return f"{who}{where}, {begun:%Y-%m-%d %H:%M} to {until} UTC."


def _line(text: str) -> str:
    line = " ".join(text.split())
    if len(line) <= LINE_CHARS_MAX:
        return line
    return line[:LINE_CHARS_MAX].rpartition(" ")[0] + "…"


LEFT_AFTER = timedelta(minutes=5)
"""A session named by a hook ends this long after its agent's last connection."""
IDLE_PERSON = timedelta(hours=12)
"""As IDLE, for a session that a person began at the command line."""


def current(home: Home, call: Call, space: Space, named: str = "") -> Live:
    """Return the session of a call, starting a new one when there is none.

    In this order: the session named by the agent; that of its connection; one of the same agent in
    this work tree without a connection (started by a hook, or before a daemon restart). At the
    command line: the session started there, else the day's.
    """
    now = home.clock.now()
    with home.live.lock:
        name = privacy.kept(named).text or _name(call, now)
        live = _known(home, call, space, now)
        if named:
            there = home.live.of(space.project.id, space.worktree.id, call.origin)
            live = next((one for one in there if one.session.name == name), None)
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
    """Return a session that starts now and is not stored yet."""
    now = home.clock.now()
    try:
        head = space.repository.head()
        commit, branch = head.commit, head.branch
    except YaadError:  # an unreadable HEAD: the session lists no commits
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
        told_seq=space.db.read(history.last),
    )
    return Live(project=space.project.id, session=session)


def write(conn: Connection, live: Live, now: datetime) -> None:
    """Store a live session, inside a transaction."""
    if not db_sessions.touch(conn, live.id, live.session.last_at):
        db_sessions.put(conn, live.session)
        body: dict[str, object] = {"agent": live.session.agent, "worktree": live.session.worktree}
        history.append(conn, Event(kind=events.SESSION_STARTED, at=now, subject=live.id, body=body))


def session_of(home: Home, call: Call, space: Space, given: str | None = None) -> str:
    """Return the id of a call's session, or of the given one.

    Raises:
        YaadError: as for `find`.
    """
    return find(space, given).id if given else current(home, call, space).id


def find(space: Space, fragment: str) -> Session:
    """Return the session that `fragment` names: its id, or a unique start or end of it.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST (a match shorter than four characters), CONFLICT.
    """
    found = space.db.read(nodes.find, fragment, 2, table="sessions")
    if found and fragment not in found and len(fragment) < FRAGMENT_CHARS_MIN:
        raise too_short(fragment)
    session = space.db.read(db_sessions.get, found[0]) if len(found) == 1 else None
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


def note_shown(home: Home, call: Call, space: Space, tokens: Mapping[str, int]) -> None:
    """Count the nodes shown to the calling agent and their tokens; persons are not counted."""
    if not tokens or not call.origin.startswith(AGENT):
        return
    live = current(home, call, space)
    with home.live.lock:
        _add(live, tokens)


@contextlib.contextmanager
def pending(home: Home, live: Live) -> Iterator[dict[str, int]]:
    """Lend the nodes shown in a session and not stored yet: tokens by node.

    They are cleared at the end of the block; after an error they are kept, together with those
    shown meanwhile.
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
                # A session that ended or was resumed meanwhile has the same id.
                _add(home.live.get(live.id) or live, taken)


def flush(home: Home, live: Live) -> None:
    """Store what a session was shown, and its last request, if either is new.

    Raises:
        YaadError: its store cannot be opened or written; the nodes are kept for the next call.
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
            if taken or db_sessions.get(conn, live.id) is not None:
                write(conn, live, now)
                db_sessions.note_shown_nodes(conn, live.id, taken, now)

        with home.stores.use(project) as db:
            db.write(change)
        live.failed_at = None
        live.written = session


def _add(live: Live, tokens: Mapping[str, int]) -> None:
    """Add tokens by node, up to the limit of nodes; the caller holds `LiveSessions.lock`."""
    for node, cost in tokens.items():
        if node in live.shown or len(live.shown) < SHOWN_NOTED_MAX:
            live.shown[node] = live.shown.get(node, 0) + cost


def idle_after(agent: str) -> timedelta:
    """Return the idle time after which a session of `agent` is over."""
    return IDLE if agent.startswith(AGENT) else IDLE_PERSON


def _known(home: Home, call: Call, space: Space, now: datetime) -> Live | None:
    """Return the session of a call from memory."""
    found = home.live.of(space.project.id, space.worktree.id, call.origin)
    fresh = [live for live in found if now - live.session.last_at < idle_after(call.origin)]
    if call.session:
        own = [live for live in found if call.session in live.connections]
        fresh = own or [live for live in fresh if not live.connections]
    elif not call.origin.startswith(AGENT):
        begun = [live for live in fresh if not live.session.is_day]
        fresh = begun or [live for live in found if live.session.name == _name(call, now)]
    return next(iter(fresh), None)


def _stored(
    home: Home, call: Call, space: Space, now: datetime, *, name: str, only: bool
) -> Live | None:
    """Return the stored session that a call continues; with `only`, the one of this name."""
    since = now - idle_after(call.origin)
    open_ones = (
        [] if only else space.db.read(db_sessions.going_on, space.worktree.id, call.origin, since)
    )
    session = next((one for one in open_ones if home.live.get(one.id) is None), None)
    if session is None and name:
        session = space.db.read(db_sessions.named, space.worktree.id, call.origin, name)
    if session is None:
        return None
    return Live(project=space.project.id, session=replace(session, ended_at=None, ended_by=""))


def _name(call: Call, now: datetime) -> str:
    """Return the name of the day's session, for calls from the command line."""
    return "" if call.origin.startswith(AGENT) else f"{DAY}{now.date()}"


def session_text(conn: Connection, session: Session) -> str:
    """Return the current text of a session; '' when nothing happened in it."""
    notes = [note.text for note in db_sessions.notes(conn, session.id)]
    dismissed = authority.dismissals_of_hashes(conn, map(words_hash, notes)) if notes else {}
    return session_lines(
        session,
        facts=session.facts,
        learned=lessons_of(conn, session.id),
        notes=[note for note in notes if words_hash(note) not in dismissed],
        ended_at=session.ended_at,
    )


def lessons_of(conn: Connection, session: str) -> list[Lesson]:
    """Return the living memories that a session learned, in order."""
    order = [one.node for one in db_sessions.of_session(conn, session) if one.role == LEARNED]
    found = nodes.many(conn, order)
    states = db_sessions.states(conn, order)
    return [
        Lesson(
            id=node.id,
            kind=node.kind,
            text=node.text if len(node.text) <= LINE_CHARS_MAX else node.summary,
            state=states.get(node.id, ""),
        )
        for node in (found[one] for one in order if one in found)
        if node.archived_at is None
    ]


def reword_session(conn: Connection, session: str, now: datetime) -> str:
    """Rebuild the text of a session and its node, inside a transaction; return it.

    Erased and forgotten memories are no longer in it.
    """
    row = db_sessions.get(conn, session)
    if row is None:
        return ""
    summary = session_text(conn, row)
    db_sessions.put(conn, replace(row, summary=summary))
    index(conn, session, summary)
    if summary:
        db_sessions.set_node_words(
            conn, session, text=summary, summary=words.summarise(summary), at=now
        )
    return summary


def index(conn: Connection, session: str, summary: str) -> None:
    """Index a session by its summary and notes, inside a transaction."""
    notes = "\n".join(note.text for note in db_sessions.notes(conn, session))
    db_sessions.index(conn, session, summary=words.spaced(summary), notes=words.spaced(notes))


def around(conn: Connection, node: str, now: datetime) -> None:
    """Rebuild the summaries of ended sessions that learned a memory, inside a transaction.

    Call it after the memory was changed, archived or restored.
    """
    sessions = db_sessions.learned_in(conn, [node]).get(node, ())
    for session in db_sessions.many(conn, sessions).values():
        if session.ended_at is not None:
            reword_session(conn, session.id, now)
    changed = nodes.get(conn, node)
    if changed is not None and changed.archived_at is not None:
        drop_note(conn, changed.text, now)


def drop_note(conn: Connection, said: str, now: datetime) -> None:
    """Rebuild the summaries of ended sessions with a note that was just dismissed.

    Args:
        conn: the transaction of the dismissal, after it.
        said: the dismissed text.
        now: the time.
    """
    digest = words_hash(said)
    for session in db_sessions.sessions_with_note(conn, lambda note: words_hash(note) == digest):
        reword_session(conn, session, now)


def without(conn: Connection, node: str, now: datetime) -> None:
    """Remove a memory from every session that learned it, before it is erased.

    Call it inside the erasing transaction, before the deletion.
    """
    sessions = db_sessions.learned_in(conn, [node]).get(node, ())
    for session in db_sessions.many(conn, sessions).values():
        db_sessions.drop_node(conn, session.id, node)
        if session.ended_at is not None:
            reword_session(conn, session.id, now)


def learned(
    conn: Connection,
    home: Home,
    node: Node,
    session: str | None,
    now: datetime,
    *,
    fresh: bool = False,
) -> None:
    """Relate a memory to the session it was stored in, inside a transaction.

    Edges never cross stores: a memory of the user store keeps only the session id. A `fresh`
    memory, stored in this transaction, has no such edge yet. An ended session gets a new text.
    """
    if session is None or node.scope != "project":
        return
    live = home.live.get(session)
    if live is not None:
        write(conn, live, now)
    found = db_sessions.get(conn, session) if live is None else live.session
    if found is None:
        return
    ensure_node(conn, found, now)
    db_sessions.note_nodes(conn, session, LEARNED, [node.id], now)
    edge = Edge(
        from_node=node.id, to_node=session, kind="learned_in", created_at=now, valid_from=now
    )
    if fresh:
        edges.add_all(conn, [edge])
    if fresh or edges.begin(conn, edge):
        history.append_edge(conn, events.EDGE_CREATED, edge, now)
    if found.ended_at is not None:
        reword_session(conn, session, now)


def ensure_node(conn: Connection, session: Session, now: datetime) -> None:
    """Create the node of a session when missing.

    It is indexed with sessions, not with memories: what was learned answers a question, not who
    learned it.
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
        # Two sessions may have the same text.
        text_hash=words.text_hash(f"session {session.id}"),
        summary=said,
        origin=session.agent,
        session=session.id,
        confidence=1.0,
        confirmed_at=now,
        created_at=session.started_at,
        updated_at=now,
    )
    nodes.insert(conn, node)
    history.add_versions(conn, [changes.version_of(node, now, "created", node.origin)])
