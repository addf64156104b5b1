"""How a session is told: a row of a list, and the receipt of what it was shown and made of it."""

from collections.abc import Mapping, Sequence

from yaadwatch.engine import json_views
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.learning import lessons
from yaadwatch.engine.truth.contradictions import Contradiction
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.sessions import LEARNED, SHOWN, USED, Session
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession
from yaadwatch.store.sessions import doings, rows
from yaadwatch.store.truth import authority

_NOTHING = {"shown": 0, "used": 0, "learned": 0, "tokens": 0}


def row(conn: Connection, session: Session) -> dict[str, object]:
    """Return the JSON of a session in a list."""
    tally = doings.tallies(conn, [session.id]).get(session.id, _NOTHING)
    return {
        "id": session.id,
        "agent": session.agent,
        "name": session.name or None,
        "branch": session.branch or None,
        "started_at": session.started_at,
        "last_at": session.last_at,
        "ended_at": session.ended_at,
        "ended_by": session.ended_by or None,
        "summary": session.summary or lessons.told(conn, session),
        "learned": tally["learned"],
        "shown": tally["shown"],
        "used": tally["used"],
        "tokens": tally["tokens"],
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
        worktree: the one whose doubts are told.
        clashes: what cannot all be true there.

    Raises:
        YaadError: NOT_FOUND when it is not there any more.
    """
    session = rows.get(conn, id)
    if session is None:
        raise YaadError(Code.NOT_FOUND, f"Session {called(id)} was taken away meanwhile.")
    part = doings.of_session(conn, id)
    found = nodes.many(conn, [one.node for one in part])
    doubts = doubting.of_nodes(conn, worktree, list(found))
    used = {one.node for one in part if one.role == USED}
    against = _against(clashes)
    superseded = supersession.successors(conn, found)
    whose = authority.of_nodes(conn, found)

    def told(node: str) -> dict[str, object]:
        memory = found[node]
        return {
            "id": node,
            "kind": memory.kind,
            "text": memory.summary,
            "archived": memory.archived_at is not None,
            "stale": json_views.doubt_in_short(doubts.get(node)),
            "contradicted": against.get(node, []),
            "superseded": node in superseded,
            **json_views.by_row(whose.get(node)),
        }

    return row(conn, session) | {
        "shown_memories": [
            told(one.node) | {"tokens": one.tokens, "used": one.node in used, "at": one.at}
            for one in part
            if one.role == SHOWN
        ],
        "learned_memories": [
            told(one.node) | {"at": one.at} for one in part if one.role == LEARNED
        ],
        "notes": [{"at": note.at, "text": note.text} for note in doings.notes(conn, id)],
        "made": [{"id": one.id, "subject": one.subject} for one in session.facts.commits],
        "changed": [
            {"path": one.path, "how": one.how, "committed": one.committed}
            for one in session.facts.files
        ],
        "touched": list(doings.files(conn, id)),
    }


def _against(clashes: Sequence[Contradiction]) -> Mapping[str, list[dict[str, object]]]:
    """Return what speaks against memories now, by node."""
    found: dict[str, list[dict[str, object]]] = {}
    for one in clashes:
        for node in dict.fromkeys(side.node.id for side in one.sides):
            found.setdefault(node, []).append({"id": one.name, "words": one.words})
    return found
