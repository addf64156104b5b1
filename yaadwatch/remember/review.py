"""Review what agents and imports stated: list it, and record a person's decision."""

from dataclasses import replace
from datetime import datetime
from itertools import islice

from bridges.rules import RULES_FILES
from yaadwatch.api.messages.graph import Decide, Review
from yaadwatch.api.messages.memories import Restore
from yaadwatch.db import anchors, authority, edges, nodes, projects
from yaadwatch.db import history as db_history
from yaadwatch.db.authority import APPROVED
from yaadwatch.db.edges import TAKEN_BACK
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, lessons, views, visibility
from yaadwatch.memory import flags as memory_flags
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, PROJECT, short_id
from yaadwatch.model.memories import HOT, SUPERSEDES, Node, Version
from yaadwatch.model.projects import ABSENT, PAUSED, Authority, Proposal
from yaadwatch.remember import edit, history, proposing
from yaadwatch.remember.write_batch import require
from yaadwatch.workspace.agent_files import is_refused
from yaadwatch.workspace.lookup import LocatedMemory, Shelf, shelves
from yaadwatch.workspace.workspace import PERSON, Call, Home

IN_REVIEW = "in review"
"""The reason of a version with the words that a person gave a note in a review."""


def undo(home: Home, call: Call, held: LocatedMemory) -> dict[str, object]:
    """Undo a person's last decision on a note or a proposal; the answer is Changed.

    Args:
        home: the machine's state.
        call: whose project; a person's.
        held: the note, or the memory that the proposal was for.

    Raises:
        YaadError: REFUSED when nothing was decided, or the memory changed since; as `restore`.
    """
    node, past, proposal = held.db.read(_gather, held.id)
    now = home.clock.now()
    if node.archived_at is not None and node.archive_reason == visibility.DISMISSED:
        return history.restore(home, call, Restore(id=node.id))
    if proposal is not None and proposal.decision == visibility.DISMISS:
        return held.db.write(proposing.reopen, proposal, proposal.version)
    last = past[-1] if past else None
    if last is not None and last.version == node.version:
        if proposal is not None and proposal.decision and proposal.version == node.version:
            if not last.reason.startswith(proposing.PROPOSED_BY):  # the words stayed the same
                return held.db.write(proposing.reopen, proposal, node.version)
            done = _former_words(home, call, node, past, reopened=proposal)
            return done | held.db.read(_undone_row, node.id)
        if last.change == APPROVED:
            return held.db.write(_take_approval_back, node.id, node.version, now, call.origin)
        if last.change == "edited" and last.reason == IN_REVIEW:
            return _former_words(home, call, node, past)
    raise proposing.nothing_to_undo(node.id)


def _gather(conn: Connection, node_id: str) -> tuple[Node, list[Version], Proposal | None]:
    past = db_history.versions_of_node(conn, node_id)
    return require(conn, node_id), past, authority.get_proposal(conn, node_id)


def _former_words(
    home: Home, call: Call, node: Node, past: list[Version], *, reopened: Proposal | None = None
) -> dict[str, object]:
    """Restore a memory's words of the version before, as if it had never been reworded."""

    def reopen(conn: Connection) -> None:
        if reopened is not None:
            proposing.reopen(conn, reopened, node.version + 1)

    return history.bring_back(
        home, call, id=node.id, version=past[-2].version, change=TAKEN_BACK, also=reopen
    )


def _take_approval_back(
    conn: Connection, node_id: str, version: int, now: datetime, actor: str
) -> dict[str, object]:
    nodes.require_version(conn, node_id, version)
    done = replace(require(conn, node_id), updated_at=now, version=version + 1)
    changes.save(conn, done, TAKEN_BACK, actor=actor)
    return _undone_row(conn, node_id)


def _undone_row(conn: Connection, node_id: str) -> dict[str, object]:
    return views.attributed(conn, [views.changed_row(require(conn, node_id))])[0]


APPROVE, EDIT, DISMISS, UNDO = ("approve", "edit", "dismiss", "undo")


def review(home: Home, call: Call, ask: Review) -> dict[str, object]:
    """Return the notes and proposals that wait for a person, newest first; the answer is Review."""
    with shelves(home, call) as both:
        found: list[dict[str, object]] = []
        count = 0
        for shelf in (both.project, both.own):
            if shelf is not None:
                count += shelf.db.read(authority.count_waiting)
                found += shelf.db.read(_listed, shelf, ask.limit)
    return {"waiting": found[: ask.limit], "count": count}


def decide(home: Home, call: Call, ask: Decide) -> dict[str, object]:
    """Approve, edit or dismiss a note or a proposal of an agent; the answer is Decided.

    Approved or edited words count as the person's. A dismissed note is archived; a dismissed
    proposal leaves the person's words as they are. Dismissed words are refused when an agent states
    them again. `undo` takes the last decision about a memory back: it waits again.

    Raises:
        YaadError: REFUSED when an agent asks, the note is archived or approved already, there is
            nothing to undo, or its words or the new ones hold a secret; CONFLICT, with the words
            it has now, when it is not at `expected_version`, something else is proposed, or
            neither says which words the person saw; NOT_FOUND, BAD_REQUEST, CONFLICT when `id`
            does not name one memory.
    """
    expected_version = ask.expected_version
    if call.origin != PERSON:
        raise YaadError(
            Code.REFUSED,
            "Only a person decides about notes; nothing was changed.",
            hint="Ask the person to run in a terminal of their own: yaadwatch review",
        )
    if ask.verdict == EDIT:
        proposing.require_no_secret("", ask.text or "")
    with shelves(home, call) as both:
        held = both.find(ask.id)
        if ask.verdict == UNDO:
            done = undo(home, call, held) | {"undo": "yaadwatch review"}
        else:
            proposed = held.db.read(_require_waiting, held.id, expected_version, ask.proposal)
            unseen = ask.proposal is None and (proposed is not None or expected_version is None)
            if ask.verdict == APPROVE and unseen:
                expected_version = held.db.read(_require_seen, held.id, proposed)
            done = _decided(home, call, held, ask, proposed=proposed, expected=expected_version)
            done |= {"undo": f"yaadwatch review --undo {short_id(held.id)}"}
        changes = ask.verdict != DISMISS
        said = str(done["text"])
        files = held.db.read(_files, held.shelf, held.id, said) if changes else []
        is_rule = done["tier"] == HOT or bool(done["pinned"])
        too_long = changes and is_rule and visibility.is_too_long(said)
        left = sum(
            each.db.read(authority.count_waiting)
            for each in (both.project, both.own)
            if each is not None
        )
    return done | {"verdict": ask.verdict, "files": files, "too_long": too_long, "left": left}


def _decided(
    home: Home,
    call: Call,
    held: LocatedMemory,
    ask: Decide,
    *,
    proposed: Proposal | None,
    expected: int | None,
) -> dict[str, object]:
    """Approve, edit or dismiss a proposal, or else the note itself."""
    now = home.clock.now()
    if proposed is None and ask.verdict != EDIT:
        decide_note = _approve if ask.verdict == APPROVE else _dismiss
        return held.db.write(decide_note, held.id, expected, now, call.origin)
    if proposed is None:
        decides, text, reason = None, ask.text or "", IN_REVIEW
    elif ask.verdict == DISMISS:
        return held.db.write(proposing.dismiss, proposed, now)
    else:
        if ask.text is None:
            proposing.require_no_secret(held.id, proposed.text)
        decides = (proposed, ask.verdict)
        text = proposed.text if ask.text is None else ask.text
        reason = f"{proposing.PROPOSED_BY}{proposed.by}"
    return edit.reword(
        home,
        call,
        id=held.id,
        text=text,
        expected_version=expected,
        reason=reason,
        decides=decides,
    )


def _listed(conn: Connection, shelf: Shelf, limit: int) -> list[dict[str, object]]:
    """Return what waits in a store: proposals, then notes."""
    proposals = dict(islice(authority.waiting_proposals(conn).items(), limit))
    notes = authority.waiting(conn, limit)
    ids = [*proposals, *notes]
    known = nodes.many(conn, ids)
    whose = authority.of_nodes(conn, ids)
    rests_on = anchors.of_nodes(conn, ids)
    flags = memory_flags.spread_flags_of(conn, shelf.worktree, ids)
    rows = []
    for number, one in enumerate(ids):
        if one not in known or one not in whose:
            continue
        node = known[one]
        proposal = proposals[one] if number < len(proposals) else None
        text = node.text if proposal is None else proposal.text
        row: dict[str, object] = {
            "id": one,
            "text": text,
            "kind": node.kind,
            "scope": node.scope,
            **views.by_row(whose[one]),
            "cause": _cause_of(node, whose[one]),
            "session": node.session,
            "version": node.version,
            "proposal": None,
            "before": None if proposal is not None else _replaced(conn, one),
            "anchors": [views.anchor_row(anchor) for anchor in rests_on.get(one, ())],
            "stale": views.short_flag(flags.get(one)),
            "files": _files(conn, shelf, one, text),
            "too_long": _is_for_files(node) and visibility.is_too_long(text),
        }
        if proposal is not None:
            row |= {
                "by": proposal.by,
                "said_at": proposal.at,
                "approved_at": None,
                "unverified": True,
                "proposed": None,
                "cause": proposal.by,
                "session": None,
                "proposal": proposing.token(proposal),
                "before": node.text,
            }
        rows.append(row)
    return rows


def _replaced(conn: Connection, node_id: str) -> str | None:
    """Return the person's words that the approval of a note would replace, or None."""
    old = [
        edge.to_node
        for edge in edges.of_node(conn, node_id)
        if edge.kind == SUPERSEDES and edge.from_node == node_id
    ]
    persons = authority.approved(conn, old) if old else set()
    known = nodes.many(conn, [one for one in old if one in persons])
    living = [known[one].text for one in old if one in known and known[one].archived_at is None]
    return "\n".join(living) or None


def _cause_of(node: Node, whose: Authority) -> str:
    """Return the common source of notes that came together: an agent's session, or an import."""
    return whose.by + (f", session {short_id(node.session)}" if node.session else "")


def _is_for_files(node: Node) -> bool:
    return node.scope == PROJECT and (node.tier == HOT or node.pinned)


def _files(conn: Connection, shelf: Shelf, node_id: str, said: str) -> list[str]:
    """Return the files that an approved note is written to."""
    node = nodes.get(conn, node_id)
    if node is None or shelf.space is None or node.scope != PROJECT:
        return []
    if not _is_for_files(node) or visibility.is_too_long(said):
        return []
    rows = projects.agent_files_of_worktree(conn, shelf.worktree)
    there = {path for path, row in rows.items() if row.state not in (PAUSED, ABSENT)}
    # A tracked file gets no block on a branch that has none.
    blocks = {path for path in there if rows[path].mode == INLINE and not is_refused(rows[path])}
    ours = {path for path, row in rows.items() if path in RULES_FILES and row.state != PAUSED}
    # Without a block the first file of ours is written where there is none yet.
    return sorted(blocks | (ours & there if blocks else ours))


def _require_waiting(
    conn: Connection, node_id: str, expected: int | None, seen: str | None = None
) -> Proposal | None:
    """Return the open proposal for a memory; None where the memory itself is a note.

    Raises:
        YaadError: NOT_FOUND, CONFLICT or REFUSED.
    """
    node = _require_living(conn, node_id)
    if expected is not None:
        nodes.require_version(conn, node_id, expected)
    whose = authority.of_nodes(conn, [node_id])[node_id]
    if whose.proposal is not None:
        proposing.require_same(whose.proposal, seen)
        return whose.proposal
    if whose.is_persons or seen is not None:
        raise YaadError(
            Code.REFUSED,
            f"Memory {short_id(node.id)} does not wait for review: it is a person's word, or was "
            "decided about meanwhile. Nothing was changed.",
            hint="What waits: yaadwatch review",
        )
    return None


def _require_seen(conn: Connection, node_id: str, proposal: Proposal | None) -> int:
    """Return the version that the person has seen; see `proposing.require_seen`."""
    node = _require_living(conn, node_id)
    proposing.require_seen(conn, node, proposal)
    return node.version


def _require_living(conn: Connection, node_id: str) -> Node:
    node = require(conn, node_id)
    if node.archived_at is not None:
        found = authority.dismissal_of_node(conn, node_id)
        why = visibility.words_of(found) if found is not None else "It is archived"
        raise YaadError(
            Code.REFUSED,
            f"{why}; nothing was changed.",
            hint=f"Bring it back first: yaadwatch restore {short_id(node_id)}",
        )
    return node


def _approve(
    conn: Connection, node_id: str, expected: int | None, now: datetime, actor: str
) -> dict[str, object]:
    _require_waiting(conn, node_id, expected)
    node = _require_living(conn, node_id)
    proposing.require_no_secret(node_id, node.text)
    done = replace(node, confidence=1.0, confirmed_at=now, updated_at=now, version=node.version + 1)
    changes.save(conn, done, APPROVED, actor=actor)
    visibility.lift_words_dismissed(conn, [node.text], actor=actor)
    return views.attributed(conn, [views.changed_row(done)])[0]


def _dismiss(
    conn: Connection, node_id: str, expected: int | None, now: datetime, actor: str
) -> dict[str, object]:
    _require_waiting(conn, node_id, expected)
    node = _require_living(conn, node_id)
    done = changes.archive(conn, node, now, actor=actor, reason=visibility.DISMISSED)
    lessons.around(conn, node_id, now)
    return views.attributed(conn, [views.changed_row(done)])[0]
