"""Handoff: a prompt for whoever goes on, so that nothing has to be found out twice."""

from dataclasses import replace

from yaadwatch.api.messages.sessions import Handoff
from yaadwatch.core.recall import handoff as composing
from yaadwatch.core.recall.brief import Statement, source_of
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.learning import current, lessons
from yaadwatch.engine.sessions import ending
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home, Space
from yaadwatch.model.limits import DOING, UNFINISHED
from yaadwatch.model.sessions import Session
from yaadwatch.store import nodes, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.sessions import rows, tasks
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import seen_from

TASKS_MAX = 50
DOUBTS_MAX = 50


def handoff(home: Home, call: Call, ask: Handoff) -> dict[str, object]:
    """Return a prompt for the next agent: what was done, what is open and in doubt, which files.

    The answer is Handoff.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `session` does not name exactly one.
    """
    with home.space(call) as space:
        found = current.find(space, ask.session) if ask.session else _which(home, call, space)
        if found is not None and found.ended_at is None:
            facts = ending.gather(space, found, home.clock.now()).facts
            found = replace(found, facts=facts)
        view = view_of(home, space)
        prompt = space.db.read(seen_from, view, _compose, found, space.worktree.id, ask.tokens_max)
    return {
        "prompt": prompt.text,
        "session": found.id if found is not None else None,
        "open": prompt.open,
        "flags": prompt.doubts,
        "budget": {"used": prompt.used, "left": prompt.left},
    }


def _which(home: Home, call: Call, space: Space) -> Session | None:
    """Return the session that a call is part of if it has anything to tell, else the last one."""
    live = current.current(home, call, space)
    own = space.db.read(rows.get, live.id)
    if own is not None and not own.is_day and space.db.read(lessons.told, own):
        return own
    return space.db.read(rows.last_told, space.worktree.id, live.id)


def _compose(
    conn: Connection, session: Session | None, worktree: int, tokens_max: int
) -> composing.Handoff:
    hidden = visibility.hidden(conn)
    flags = [
        flag
        for flag in doubting.of_worktree(conn, worktree)
        if flag.level == "warn" and flag.node not in hidden
    ]
    flags.sort(key=lambda flag: (-flag.score, flag.node))
    doubted = nodes.many(conn, [flag.node for flag in flags[:DOUBTS_MAX]])
    found = [row for row in tasks.of_states(conn, UNFINISHED, TASKS_MAX) if row.node not in hidden]
    known = nodes.many(conn, [row.node for row in found])
    whose = authority.of_nodes(conn, known)
    return composing.compose(
        done=lessons.told(conn, session) if session is not None else "",
        going_on=session is not None and session.ended_at is None,
        tasks=[
            Statement(
                id=row.node,
                text=known[row.node].text,
                summary=known[row.node].summary,
                state="under way" if row.state == DOING else "",
                source=source_of(known[row.node].origin),
                whose=whose.get(row.node),
            )
            for row in found
        ],
        doubts=[
            (flag.node, doubted[flag.node].summary, flag.reason)
            for flag in flags[:DOUBTS_MAX]
            if flag.node in doubted
        ],
        tokens_max=tokens_max,
    )
