"""Propose new words of an agent for a person's memory; the person decides."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from yaadwatch.db import anchors, authority, history, nodes
from yaadwatch.db.codec import to_ms
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, lessons, views, visibility
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Node
from yaadwatch.model.projects import Proposal
from yaadwatch.remember.write_batch import require
from yaadwatch.text import privacy, words
from yaadwatch.text.quoting import quoted, words_hash
from yaadwatch.workspace.lookup import LocatedMemory, Shelves

PROPOSED_BY: Final = "proposed by "
"""The beginning of the reason of a version that an approval makes."""


def is_needed(conn: Connection, node_id: str, *, actor: str) -> bool:
    """Return whether the caller may only propose new words for a memory."""
    return not visibility.is_persons(actor) and bool(authority.approved(conn, [node_id]))


def propose(
    both: Shelves,
    held: LocatedMemory,
    said: str,
    now: datetime,
    *,
    actor: str,
    masked: tuple[str, ...],
) -> dict[str, object]:
    """Store new words for a person's memory, which stays unchanged; the answer is Updated.

    Args:
        both: the stores of the call.
        held: the memory.
        said: the new words, masked.
        now: when they are proposed.
        actor: the author.
        masked: kinds of secrets that were masked in them.

    Raises:
        YaadError: REFUSED when a person does not want these words; CONFLICT when another memory
            says the same.
    """
    elsewhere = visibility.in_stores(both.beside(held), [said], actor=actor)
    proposal = Proposal(node=held.id, text=said, actor=actor, at=now)
    return held.db.write(_propose, proposal, elsewhere) | {"masked": list(masked)}


def _propose(
    conn: Connection, proposal: Proposal, elsewhere: visibility.Elsewhere
) -> dict[str, object]:
    node = nodes.get(conn, proposal.node)
    short = short_id(proposal.node)
    if node is None or node.archived_at is not None:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short} was archived or erased meanwhile; nothing was proposed.",
            hint=f"See what became of it: yaadwatch history {short}",
        )
    visibility.refuse(conn, proposal.text, actor=proposal.actor, elsewhere=elsewhere)
    changes.refuse_twin(conn, replace(node, text_hash=words.text_hash(proposal.text)))
    last = authority.waiting_proposals(conn, [node.id]).get(node.id)
    if last is None or (last.text, last.actor) != (proposal.text, proposal.actor):
        # The times of two proposals for one memory tell them apart.
        at = proposal.at if last is None else max(proposal.at, last.at + timedelta(milliseconds=1))
        authority.put_proposal(conn, replace(proposal, at=at, version=node.version))
    body: dict[str, object] = {"change": "proposed"}
    history.append(
        conn, Event(kind=events.NODE_UPDATED, at=proposal.at, subject=node.id, body=body)
    )
    row = views.attributed(conn, [views.changed_row(node)])[0]
    return row | {
        "version": node.version,
        "anchors": views.anchor_rows(anchors.of_nodes(conn, [node.id]).get(node.id, ())),
        "waits": True,
    }


def decided(conn: Connection, proposal: Proposal, decision: str) -> None:
    """Record a person's decision on a proposal, inside the transaction that applies it."""
    node = require(conn, proposal.node)
    authority.put_proposal(conn, replace(proposal, decision=decision, version=node.version))


def require_waiting(conn: Connection, proposal: Proposal) -> None:
    """Refuse to decide on a proposal that is no longer open.

    Raises:
        YaadError: CONFLICT.
    """
    if authority.waiting_proposals(conn, [proposal.node]).get(proposal.node) != proposal:
        short = short_id(proposal.node)
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short}, or the proposal for it, changed meanwhile. Nothing was decided.",
            hint="See what waits now: yaadwatch review",
        )


def dismiss(conn: Connection, proposal: Proposal, now: datetime) -> dict[str, object]:
    """Keep the person's words, and record that the person rejects the proposed ones."""
    require_waiting(conn, proposal)
    node = require(conn, proposal.node)
    visibility.put_words_dismissed(conn, replace(node, text=proposal.text), now)
    lessons.drop_note(conn, proposal.text, now)
    decided(conn, proposal, visibility.DISMISS)
    return views.attributed(conn, [views.changed_row(node)])[0]


def reopen(conn: Connection, proposal: Proposal, version: int) -> dict[str, object]:
    """Reopen a proposal; its words are not rejected any more.

    Args:
        conn: inside the transaction that takes the decision back.
        proposal: the decided one.
        version: of the memory, with the words that the proposal is for.

    Raises:
        YaadError: REFUSED when the memory was reworded since.
    """
    node = require(conn, proposal.node)
    authority.lift_dismissal(conn, [words_hash(proposal.text)])
    again = replace(proposal, decision="", version=version)
    authority.put_proposal(conn, again)
    if again.node not in authority.waiting_proposals(conn, [again.node]):
        raise nothing_to_undo(again.node)
    return views.attributed(conn, [views.changed_row(node)])[0]


def nothing_to_undo(node_id: str) -> YaadError:
    """Return the error for a memory without a decision that can be undone."""
    return YaadError(
        Code.REFUSED,
        f"There is no decision about memory {short_id(node_id)} to undo, or it changed since then; "
        "nothing was changed.",
        hint=f"What became of it: yaadwatch history {short_id(node_id)}",
    )


def require_same(proposal: Proposal, seen: str | None) -> None:
    """Refuse a decision on other proposed words than those that the person saw.

    Raises:
        YaadError: CONFLICT, with the words that are proposed now.
    """
    if seen is not None and token(proposal) != seen:
        raise YaadError(
            Code.CONFLICT,
            f"The proposal for memory {short_id(proposal.node)} changed meanwhile; {proposal.by} "
            f"now proposes {quoted(proposal.text)}. Nothing was decided.",
            hint="See it again: yaadwatch review",
        )


def require_seen(conn: Connection, node: Node, proposal: Proposal | None) -> None:
    """Refuse to approve by the id alone what may differ from what the person saw.

    That is each proposal, and a note whose words changed since it was stated.

    Raises:
        YaadError: CONFLICT, with the words, and how to approve them; REFUSED for a secret.
    """
    if proposal is not None:
        said, seen = proposal.text, token(proposal)
        why = f"{proposal.by} proposes {quoted(said)} for it"
    elif any(one.text != node.text for one in history.versions_of_node(conn, node.id)):
        said, seen = node.text, str(node.version)
        why = f"it was changed, and now says {quoted(said)}"
    else:
        return
    require_no_secret(node.id, said)
    short = short_id(node.id)
    raise YaadError(
        Code.CONFLICT,
        f"Memory {short} was not approved, because you may have seen other words: {why}.",
        hint=f"To approve these words: yaadwatch review --approve {short}@{seen}",
    )


def require_shown(conn: Connection, node: Node, *, actor: str) -> None:
    """Refuse to let a person confirm or pin words of an agent that they have not seen.

    Raises:
        YaadError: as for `require_seen`.
    """
    if visibility.is_persons(actor) and authority.of_nodes(conn, [node.id])[node.id].is_unverified:
        require_seen(conn, node, None)


def require_no_secret(node_id: str, said: str) -> None:
    """Refuse to approve words that hold a secret; '' for `node_id` when they are a person's own.

    Raises:
        YaadError: REFUSED, without the words.
    """
    secrets = privacy.kept(said).kinds
    if secrets:
        short = short_id(node_id)
        what = f"Memory {short} holds" if short else "The new words hold"
        raise YaadError(
            Code.REFUSED,
            f"{what} what looks like a secret ({', '.join(secrets)}); nothing was approved.",
            hint=f"Dismiss it, or give it other words: yaadwatch review --edit {short} TEXT"
            if short
            else "Leave it out, or name the place where it is kept.",
        )


def token(proposal: Proposal) -> str:
    """Return the token that identifies one proposal for a memory.

    It is derived from the time: an agent could find two texts with one short hash.
    """
    return f"p{to_ms(proposal.at):x}"
