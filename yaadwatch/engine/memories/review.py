"""The review: what agents and imports stated, and a person's verdict on each of it."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bridges.agents import CARRIERS
from yaadwatch.core import privacy
from yaadwatch.engine import claiming, json_views, node_changes
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.memories import history, mend
from yaadwatch.engine.store_lookup import Held, Shelf, shelves
from yaadwatch.engine.workspace import PERSON, Call, Home
from yaadwatch.model import events
from yaadwatch.model.agent_files import ABSENT, INLINE, PAUSED
from yaadwatch.model.authority import Authority
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import HOT, PROJECT, Node, Version
from yaadwatch.store import agent_files, anchors, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority, dismissals, versions
from yaadwatch.store.truth.authority import APPROVED

LISTED_MAX: Final = 100
"""Notes in one answer; the answer counts the rest."""
_VOUCHING: Final = (
    *("created", "edited", "confirmed", "pinned", "restored"),
    *(authority.APPROVED, authority.SHARED),
)
"""Changes by which a person vouches for the words that a memory has then."""
APPROVE, EDIT, DISMISS = VERDICTS = ("approve", "edit", "dismiss")


def review(home: Home, call: Call, *, limit: int = LISTED_MAX) -> dict[str, object]:
    """Return the notes that wait for a person, newest first; the answer is Review.

    Args:
        home: what may be reached.
        call: whose project; outside of one, only the notes for all projects are listed.
        limit: notes in the answer at most.
    """
    with shelves(home, call) as both:
        found: list[dict[str, object]] = []
        count = 0
        for shelf in (both.project, both.own):
            if shelf is not None:
                count += shelf.db.read(authority.count_waiting)
                found += shelf.db.read(_listed, shelf, limit)
    return {"waiting": found[:limit], "count": count}


def decide(
    home: Home,
    call: Call,
    *,
    id: str,
    verdict: str,
    text: str | None = None,
    expected_version: int | None = None,
) -> dict[str, object]:
    """Approve, edit or dismiss a note of an agent or an import; the answer is Decided.

    Approved or edited words count as the person's. Dismissed words are archived, and refused when
    an agent states them again; where an agent had reworded a person's memory, that gets its former
    words again.

    Args:
        home: what may be reached.
        call: whose project; only a person decides.
        id: of the note.
        verdict: `approve`, `edit` or `dismiss`.
        text: the new words, for an edit; masked.
        expected_version: the version that the person saw; any when None.

    Raises:
        YaadError: REFUSED when an agent asks, the note is archived or approved already, or its
            words hold a secret; CONFLICT, with the words it has now, when it is not at
            `expected_version`; NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name one memory.
    """
    if call.origin != PERSON:
        raise YaadError(
            Code.REFUSED,
            "Only a person decides about notes; nothing was changed.",
            hint="Ask the person to run in a terminal of their own: yaadwatch review",
        )
    with shelves(home, call) as both:
        held = both.find(id)
        shelf, now = held.shelf, home.clock.now()
        held.db.read(_require_waiting, held.id, expected_version)
        if verdict == EDIT:
            done = mend.update(
                home, call, id=held.id, text=text or "", expected_version=expected_version
            )
        elif verdict == APPROVE:
            done = held.db.write(_approve, held.id, expected_version, now, call.origin)
        else:
            done = _bring_back(home, call, held) or held.db.write(
                _dismiss, held.id, expected_version, now, call.origin
            )
        files = [] if verdict == DISMISS else held.db.read(_files, shelf, held.id)
        left = sum(
            each.db.read(authority.count_waiting)
            for each in (both.project, both.own)
            if each is not None
        )
    return done | {"verdict": verdict, "files": files, "left": left}


def _listed(conn: Connection, shelf: Shelf, limit: int) -> list[dict[str, object]]:
    ids = authority.waiting(conn, limit)
    known = nodes.many(conn, ids)
    whose = authority.of_nodes(conn, ids)
    rests_on = anchors.of_nodes(conn, ids)
    flags = doubting.of_nodes(conn, shelf.worktree, ids)
    return [
        _row(known[one], whose[one])
        | {
            "cause": cause_of(known[one], whose[one]),
            "session": known[one].session,
            "version": known[one].version,
            "before": before.text if (before := _before(conn, known[one])) else None,
            "anchors": [json_views.anchor_row(anchor) for anchor in rests_on.get(one, ())],
            "stale": json_views.doubt_in_short(flags.get(one)),
            "files": _files(conn, shelf, one),
        }
        for one in ids
        if one in known and one in whose
    ]


def cause_of(node: Node, whose: Authority) -> str:
    """Return what notes have in common that came together: an agent's session, or an import."""
    session = f", session {called(node.session)}" if node.session else ""
    return f"{whose.by}{session}"


def _row(node: Node, whose: Authority) -> dict[str, object]:
    return {
        "id": node.id,
        "text": node.text,
        "kind": node.kind,
        "scope": node.scope,
        **json_views.by_row(whose),
    }


def _before(conn: Connection, node: Node) -> Version | None:
    """Return the version whose words a person vouched for before an agent gave a memory others."""
    for past in reversed(versions.of_node(conn, node.id)):
        is_brought_back = past.change == "restored" and not past.reason
        if (
            dismissing.is_persons(past.actor)
            and past.change in _VOUCHING
            and not is_brought_back
            and not past.reason.endswith(authority.FROM_GIT)
            and past.text != node.text
        ):
            return past
    return None


def _files(conn: Connection, shelf: Shelf, node_id: str) -> list[str]:
    """Return the files that a note is written into once a person has approved it."""
    node = nodes.get(conn, node_id)
    if node is None or shelf.space is None or node.scope != PROJECT:
        return []
    if node.tier != HOT and not node.pinned:
        return []
    rows = sorted(agent_files.of_worktree(conn, shelf.worktree).items())
    there = [path for path, row in rows if row.state not in (PAUSED, ABSENT)]
    blocks = [path for path in there if dict(rows)[path].mode == INLINE]
    ours = [path for path, row in rows if path in CARRIERS and row.state != PAUSED]
    # Without a block the first file of ours is written where there is none yet.
    return sorted({*blocks, *(path for path in ours if path in there or not blocks)})


def _require_waiting(conn: Connection, node_id: str, expected: int | None) -> Node:
    """Return a note that a person can decide about.

    Raises:
        YaadError: NOT_FOUND, CONFLICT or REFUSED.
    """
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {called(node_id)} was erased; nothing was done.")
    if node.archived_at is not None:
        found = dismissals.of_node(conn, node_id)
        why = dismissing.words_of(found) if found is not None else "It is archived"
        raise YaadError(
            Code.REFUSED,
            f"{why}; nothing was changed.",
            hint=f"Bring it back first: yaadwatch restore {called(node_id)}",
        )
    if expected is not None:
        nodes.require_version(conn, node_id, expected)
    if authority.of_nodes(conn, [node_id])[node_id].is_persons:
        raise YaadError(
            Code.REFUSED,
            f"Memory {called(node_id)} does not wait for review: it is a person's word, or was "
            "approved meanwhile. Nothing was changed.",
            hint="What waits: yaadwatch review",
        )
    return node


def _approve(
    conn: Connection, node_id: str, expected: int | None, now: datetime, actor: str
) -> dict[str, object]:
    node = _require_waiting(conn, node_id, expected)
    secrets = privacy.kept(node.text).kinds
    if secrets:
        raise YaadError(
            Code.REFUSED,
            f"Memory {called(node_id)} holds what looks like a secret ({', '.join(secrets)}); it "
            "was not approved.",
            hint=f"Dismiss it, or give it other words: yaadwatch review --edit {called(node_id)} "
            "TEXT",
        )
    done = replace(node, confidence=1.0, confirmed_at=now, updated_at=now, version=node.version + 1)
    nodes.replace(conn, done, expected_version=node.version)
    versions.add(conn, node_changes.version_of(done, now, APPROVED, actor))
    dismissing.lift(conn, [node.text], actor=actor)
    claiming.again(conn, done, now)
    body: dict[str, object] = {"change": APPROVED}
    log.append(conn, Event(kind=events.NODE_UPDATED, at=now, subject=node_id, body=body))
    return json_views.attributed(conn, [json_views.changed_row(done)])[0]


def _bring_back(home: Home, call: Call, held: Held) -> dict[str, object] | None:
    """Give a memory that an agent has reworded the words of the person again.

    Returns:
        None when there are none, or another memory says them by now.
    """
    node = held.db.read(nodes.get, held.id)
    before = held.db.read(_before, node) if node is not None else None
    if node is None or before is None:
        return None
    try:
        done = history.restore(home, call, id=held.id, version=before.version)
    except YaadError as error:
        if error.code in (Code.CONFLICT, Code.REFUSED):
            return None
        raise
    held.db.write(dismissing.put, node, home.clock.now())
    return done


def _dismiss(
    conn: Connection, node_id: str, expected: int | None, now: datetime, actor: str
) -> dict[str, object]:
    node = _require_waiting(conn, node_id, expected)
    done = node_changes.archive(conn, node, now, actor=actor, reason=dismissing.DISMISSED)
    row = json_views.changed_row(done, undo=f"yaadwatch restore {called(node_id)}")
    return json_views.attributed(conn, [row])[0]
