"""What a memory claims, written down in the transaction that writes the memory down."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from yaadwatch.core.truth.claiming import statements as claiming
from yaadwatch.core.truth.claiming.statements import Claim
from yaadwatch.model.claims import Claimed
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import claims
from yaadwatch.store.truth.claims import TEXT

TELLING: Final = frozenset({"task", "session", "bug", "fix", "skill", *THINGS})
"""Kinds that tell what happened, or what is to be done and how: nothing of how things are."""


def take(
    conn: Connection, node: Node, now: datetime, *, headings: Sequence[str] = ()
) -> list[Claimed]:
    """Make what the words of a memory claim be what it claims; return what is new.

    What it claimed by other words ends now, and what comes in its place supersedes it. What
    somebody gave stays.
    """
    before = [] if node.version == 1 else claims.of_node(conn, node.id)
    ended, new = retold(node, before, now, headings=headings)
    if ended:
        claims.end(conn, ended, now)
    claims.insert_all(conn, new)
    return new


def retold(
    node: Node, claimed: Sequence[Claimed], now: datetime, *, headings: Sequence[str] = ()
) -> tuple[list[int], list[Claimed]]:
    """Return which claims of a memory end with its new words, by number, and which are new.

    Nothing is written down.

    Args:
        node: the memory as it reads now.
        claimed: what it claimed so far, ended claims too.
        now: the time.
        headings: those that its words stand under.
    """
    found = _extracted(node, headings)
    before = _current(claimed, now)
    kept = {(one.subject, one.attribute, one.sense, one.place) for one in before}
    wanted = {(one.subject, one.attribute, one.sense, one.place) for one in found}
    ended = [
        one for one in before if (one.subject, one.attribute, one.sense, one.place) not in wanted
    ]
    former = {(one.subject, one.attribute): one.id for one in ended}
    new = [
        _claimed(node, one, now, supersedes=former.get((one.subject, one.attribute)))
        for one in found
        if (one.subject, one.attribute, one.sense, one.place) not in kept
    ]
    return [one.id for one in ended], new


def said(node: Node, now: datetime, *, headings: Sequence[str] = ()) -> list[Claimed]:
    """Return what the words of a memory that is new claim; it is not written down."""
    return [_claimed(node, one, now) for one in _extracted(node, headings)]


def again(conn: Connection, node: Node, now: datetime) -> None:
    """Let the words of a memory that is stated again claim what they did when they last claimed.

    Its headings are not known any more, so what it claimed is looked at, not what it says.
    """
    if node.kind in TELLING:
        return
    last = {
        (one.subject, one.attribute): one
        for one in claims.of_node(conn, node.id)
        if one.source == TEXT and one.evidence in node.text
    }
    for one in last.values():
        if one.valid_until is not None and one.valid_until <= now:
            claims.insert(conn, replace(one, supersedes=one.id, valid_from=now, valid_until=None))


def _extracted(node: Node, headings: Sequence[str]) -> tuple[Claim, ...]:
    if node.kind in TELLING:
        return ()
    place = claiming.holds_in(node)
    return claiming.extract(node.text, place=place, headings=headings)


def _claimed(node: Node, one: Claim, now: datetime, *, supersedes: int | None = None) -> Claimed:
    return Claimed(
        node=node.id,
        subject=one.subject,
        attribute=one.attribute,
        value=one.value,
        sense=one.sense,
        place=one.place,
        source=TEXT,
        evidence=one.evidence,
        supersedes=supersedes,
        valid_from=now,
    )


def _current(claimed: Sequence[Claimed], now: datetime) -> list[Claimed]:
    """Return what the words of a memory claim so far."""
    return [
        one
        for one in claimed
        if one.source == TEXT and (one.valid_until is None or one.valid_until > now)
    ]
