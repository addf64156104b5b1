"""Start, note in, end, list and find sessions."""

import threading
from collections.abc import Sequence
from dataclasses import replace

from yaadwatch.api.messages.memories import Context
from yaadwatch.api.messages.store import SessionEnd, SessionNote, Sessions, SessionStart
from yaadwatch.db import authority, edges, nodes
from yaadwatch.db import sessions as db_sessions
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import flags, lessons, views
from yaadwatch.memory.contradictions import Contradiction, open_contradictions
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.projects import LEARNED, SHOWN, USED, Session
from yaadwatch.sessions import context, ending
from yaadwatch.text import privacy, words
from yaadwatch.workspace.live_sessions import Live
from yaadwatch.workspace.workspace import AGENT, Call, Home, Space


def session_row(conn: Connection, session: Session) -> dict[str, object]:
    """Return the JSON of a session in a list."""
    tally = dict.fromkeys(("learned", "shown", "used", "tokens"), 0)
    tally |= db_sessions.tallies(conn, [session.id]).get(session.id, {})
    return {
        "id": session.id,
        "agent": session.agent,
        "name": session.name or None,
        "branch": session.branch or None,
        "started_at": session.started_at,
        "last_at": session.last_at,
        "ended_at": session.ended_at,
        "ended_by": session.ended_by or None,
        "summary": session.summary or lessons.session_text(conn, session),
        **tally,
        "commits": len(session.facts.commits),
        "files": len(session.facts.files) + session.facts.more,
    }


def receipt(
    conn: Connection, id: str, worktree: int, clashes: Sequence[Contradiction]
) -> dict[str, object]:
    """Return the JSON of one session with what it was shown, learned, noted and changed.

    Args:
        conn: a snapshot.
        id: of the session.
        worktree: the one whose flags are returned.
        clashes: the contradictions there.

    Raises:
        YaadError: NOT_FOUND when it no longer exists.
    """
    session = db_sessions.get(conn, id)
    if session is None:
        raise YaadError(Code.NOT_FOUND, f"Session {short_id(id)} was taken away meanwhile.")
    part = db_sessions.of_session(conn, id)
    found = nodes.many(conn, [one.node for one in part])
    flagged = flags.spread_flags_of(conn, worktree, list(found))
    used = {one.node for one in part if one.role == USED}
    against: dict[str, list[dict[str, object]]] = {}
    for clash in clashes:
        for node in {side.node.id for side in clash.sides}:
            against.setdefault(node, []).append({"id": clash.name, "words": clash.words})
    superseded = edges.successors(conn, found)
    whose = authority.of_nodes(conn, found)

    def row(node: str) -> dict[str, object]:
        memory = found[node]
        return {
            "id": node,
            "kind": memory.kind,
            "text": memory.summary,
            "archived": memory.archived_at is not None,
            "stale": views.short_flag(flagged.get(node)),
            "contradicted": against.get(node, []),
            "superseded": node in superseded,
            **views.by_row(whose.get(node)),
        }

    return session_row(conn, session) | {
        "shown_memories": [
            row(one.node) | {"tokens": one.tokens, "used": one.node in used, "at": one.at}
            for one in part
            if one.role == SHOWN
        ],
        "learned_memories": [row(one.node) | {"at": one.at} for one in part if one.role == LEARNED],
        "notes": [{"at": note.at, "text": note.text} for note in db_sessions.notes(conn, id)],
        "made": [{"id": one.id, "subject": one.subject} for one in session.facts.commits],
        "changed": [
            {"path": one.path, "how": one.how, "committed": one.committed}
            for one in session.facts.files
        ],
        "touched": list(db_sessions.files(conn, id)),
    }


NOTES_MAX = 200
"""Notes of one session."""


def session_start(home: Home, call: Call, ask: SessionStart) -> dict[str, object]:
    """Start a session, or continue the one of this name; the answer is Started.

    Raises:
        YaadError: NOT_FOUND when no watched project is here.
    """
    with home.space(call) as space:
        live, again, gone = _begin(home, call, space, ask.name)
        space.db.write(lessons.write, live, home.clock.now())
        context.begin_preparing(space.root, call.origin)
    _end(home, gone, ask.wait_ms / 1000)
    brief = context.context(
        home,
        call,
        Context(tokens_max=ask.tokens_max, chars_max=ask.chars_max, wait_ms=ask.wait_ms),
    )
    return {"session": live.id, "again": again} | brief


def session_note(home: Home, call: Call, ask: SessionNote) -> dict[str, object]:
    """Add a note to a session, which is no memory of its own; the answer is Noted.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `session` does not name exactly one;
            TOO_LARGE when the session has 200 notes.
    """
    masked = privacy.kept(ask.text.strip())
    with home.space(call) as space:
        id = lessons.session_of(home, call, space, ask.session)  # noqa: A001

        def note(conn: Connection) -> int:
            live, now = home.live.get(id), home.clock.now()
            if live is not None:
                lessons.write(conn, live, now)
            notes = db_sessions.notes(conn, id)
            if len(notes) >= NOTES_MAX:
                raise YaadError(
                    Code.TOO_LARGE,
                    f"The session has {NOTES_MAX} notes already; this one was not kept.",
                    hint="What will matter later is a memory: yaadwatch remember TEXT",
                )
            db_sessions.add_note(conn, id, masked.text, now)
            row = db_sessions.get(conn, id)
            if row is not None and row.ended_at is not None:
                lessons.reword_session(conn, id, now)
            else:
                lessons.index(conn, id, "")
            return len(notes) + 1

        notes = space.db.write(note)
    return {"session": id, "text": masked.text, "masked": list(masked.kinds), "notes": notes}


def session_end(home: Home, call: Call, ask: SessionEnd) -> dict[str, object]:
    """End a session and return its summary; the answer is Ended.

    Raises:
        YaadError: NOT_FOUND when there is none that goes on; BAD_REQUEST, CONFLICT when `session`
            does not name exactly one.
    """
    with home.space(call) as space:
        found = _to_end(home, call, space, ask.session, ask.name)
        live = home.live.get(found.id) or Live(project=space.project.id, session=found)
        ended = ending.finish(home, live, "asked")
        row = space.db.read(session_row, ended) if ended is not None else None
        return {"kept": row is not None, "session": row}


def sessions(home: Home, call: Call, ask: Sessions) -> dict[str, object]:
    """List the sessions of a project, newest first, or the matches of a query, best first.

    The answer is Sessions; with `id` it holds that one alone, with its receipt.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name exactly one.
    """
    with home.space(call) as space:
        if ask.id is not None:
            found = lessons.find(space, ask.id)
            live = home.live.get(found.id)
            if live is not None:
                lessons.flush(home, live)
            view = view_of(home, space)
            clashes = open_contradictions(space.db, view, home.clock.now())
            found_receipt = space.db.read(
                seen_from, view, receipt, found.id, space.worktree.id, clashes
            )
            return {"sessions": [found_receipt]}
        return {"sessions": space.db.read(_listed, ask.query, ask.limit)}


def _listed(conn: Connection, query: str | None, limit: int) -> list[dict[str, object]]:
    if query is None:
        found = db_sessions.latest(conn, limit)
    else:
        sought = words.match_expression(query)
        order = [one for one, _ in db_sessions.search(conn, sought, limit)] if sought else []
        known = db_sessions.many(conn, order)
        found = [known[one] for one in order if one in known]
    return [session_row(conn, session) for session in found]


def _begin(home: Home, call: Call, space: Space, name: str) -> tuple[Live, bool, list[Live]]:
    """Return the session that starts or continues, whether it continues, and the abandoned ones."""
    named = privacy.kept(name).text
    with home.live.lock:
        mine = home.live.of(space.project.id, space.worktree.id, call.origin)
        live = next((one for one in mine if named and one.session.name == named), None)
        if live is None and named:
            row = space.db.read(db_sessions.named, space.worktree.id, call.origin, named)
            if row is not None:
                row = replace(row, ended_at=None, ended_by="")
                live = Live(project=space.project.id, session=row)
        again, now = live is not None, home.clock.now()
        for one in mine if live is None and named else ():
            # An agent's connection has just begun it, before its hook came.
            age_s = (now - one.session.started_at).total_seconds()
            is_agents = one.session.agent.startswith(AGENT) and not one.session.name
            if one.connections and is_agents and age_s < 120.0:
                live = one
                break
        if live is None:
            live = lessons.new(home, call, space, name)
        live.session = replace(live.session, name=named or live.session.name, last_at=now)
        live.left_at = None
        if call.session:
            live.connections.add(call.session)
        home.live.enter(live)
    gone = [one for one in mine if one.left_at is not None and one.id != live.id]
    return live, again, gone


def _end(home: Home, gone: list[Live], time_s: float) -> None:
    """End sessions that were left; slow git work continues in the background."""
    ended = [
        threading.Thread(target=ending.finish_quietly, args=(home, one, "left"), daemon=True)
        for one in gone
    ]
    for one in ended:
        one.start()
    for one in ended:
        one.join(time_s)


def _to_end(home: Home, call: Call, space: Space, session: str | None, name: str) -> Session:
    """Return the session to end.

    Raises:
        YaadError: NOT_FOUND when there is none that goes on.
    """
    if session is not None:
        return lessons.find(space, session)
    named = privacy.kept(name).text
    with home.live.lock:
        mine = home.live.of(space.project.id, space.worktree.id, call.origin)
    for live in mine:
        if named:
            is_meant = live.session.name == named
        elif call.session:
            is_meant = call.session in live.connections
        else:
            is_meant = not live.session.is_day
        if is_meant:
            return live.session
    row = None
    if named:
        row = space.db.read(db_sessions.named, space.worktree.id, call.origin, named)
    else:
        since = home.clock.now() - lessons.idle_after(call.origin)
        open_ones = space.db.read(db_sessions.going_on, space.worktree.id, call.origin, since)
        row = next(iter(open_ones), None)
    if row is None:
        raise YaadError(
            Code.NOT_FOUND,
            "No session goes on here; nothing was ended.",
            hint="See those there were: yaadwatch sessions",
        )
    return row
