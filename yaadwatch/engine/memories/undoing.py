"""Undo the last decision of a review: what was decided about waits again."""

from dataclasses import replace
from datetime import datetime

from yaadwatch.engine import json_views, node_changes
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.memories import history, proposing
from yaadwatch.engine.store_lookup import Held
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.authority import Proposal
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import Node, Version
from yaadwatch.store import events as log
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import proposals, versions
from yaadwatch.store.truth.authority import APPROVED, TAKEN_BACK

IN_REVIEW = "in review"
"""The reason of a version with the words that a person gave a note in a review."""


def undo(home: Home, call: Call, held: Held) -> dict[str, object]:
    """Undo what a person decided last about a note or a proposal; the answer is Changed.

    Args:
        home: what may be reached.
        call: whose project; a person's.
        held: the note, or the memory that the proposal was for.

    Raises:
        YaadError: REFUSED when nothing was decided, or the memory changed since; as `restore`.
    """
    node, past, proposal = held.db.read(_gather, held.id)
    now = home.clock.now()
    if node.archived_at is not None and node.archive_reason == dismissing.DISMISSED:
        return history.restore(home, call, id=node.id)
    if proposal is not None and proposal.decision == dismissing.DISMISS:
        return held.db.write(proposing.reopen, proposal, proposal.version)
    last = past[-1] if past else None
    if last is not None and last.version == node.version:
        if proposal is not None and proposal.decision and proposal.version == node.version:
            if not last.reason.startswith(proposing.PROPOSED_BY):  # the words stayed the same
                return held.db.write(proposing.reopen, proposal, node.version)
            done = _former_words(home, call, node, past, reopened=proposal)
            return done | held.db.read(_row, node.id)
        if last.change == APPROVED:
            return held.db.write(_take_approval_back, node.id, node.version, now, call.origin)
        if last.change == "edited" and last.reason == IN_REVIEW:
            return _former_words(home, call, node, past)
    raise proposing.nothing_to_undo(node.id)


def _gather(conn: Connection, node_id: str) -> tuple[Node, list[Version], Proposal | None]:
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {called(node_id)} was erased; nothing was done.")
    return node, versions.of_node(conn, node_id), proposals.get(conn, node_id)


def _former_words(
    home: Home, call: Call, node: Node, past: list[Version], *, reopened: Proposal | None = None
) -> dict[str, object]:
    """Give a memory the words of the version before, as if it had not got others."""

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
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {called(node_id)} was erased; nothing was done.")
    done = replace(node, updated_at=now, version=node.version + 1)
    nodes.replace(conn, done, expected_version=node.version)
    versions.add(conn, node_changes.version_of(done, now, TAKEN_BACK, actor))
    body: dict[str, object] = {"change": TAKEN_BACK}
    log.append(conn, Event(kind=events.NODE_UPDATED, at=now, subject=node_id, body=body))
    return _row(conn, node_id)


def _row(conn: Connection, node_id: str) -> dict[str, object]:
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {called(node_id)} was erased; nothing was done.")
    return json_views.attributed(conn, [json_views.changed_row(node)])[0]
