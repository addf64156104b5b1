"""Find the flagged memories that a statement is about, and the newer statements about flagged ones.

Two statements are about the same where they rest on one definition, or where most of their words
are the same: of one file much is said that replaces nothing. That is a reason to offer a
replacement, and never one to make it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from yaadwatch.core.references.counts import subjects_of
from yaadwatch.core.truth.hunks import last_part
from yaadwatch.model.anchors import Anchor, Flag
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.store import anchors, flags, nodes, provenance, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession

DEFINITION: Final = "definition"
FILE: Final = "file"
WORDS: Final = "words"
_RANK: Final = {DEFINITION: 0, FILE: 1, WORDS: 2}
WORDS_SHARED_MIN: Final = 2
"""Stems that two statements must share where they rest on nothing in common."""
SHARE_MIN: Final = 0.6
"""The part of the stems of the shorter statement that must be among them."""
NEWER_MAX: Final = 3
"""Newer statements shown beside one flagged memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A flagged memory that a statement is about; `on`: what they share."""

    node: Node
    flag: Flag
    on: str
    shared_words: int


def flagged_beside(
    conn: Connection, worktree: int, node: Node, rests_on: Sequence[Anchor]
) -> list[Overlap]:
    """Return the flagged memories that a statement is about, the likeliest first.

    Args:
        conn: where they are.
        worktree: of which work tree the flags are.
        node: the statement.
        rests_on: its anchors.
    """
    warned = flags.warned(conn, worktree) - {node.id}
    if not warned:
        return []
    warned -= provenance.hidden(conn, worktree, warned) | visibility.among(conn, warned)
    warned -= supersession.successors(conn, warned).keys()
    known = nodes.many(conn, warned)
    found = flags.of_nodes(conn, worktree, known)
    resting = anchors.of_nodes(conn, known)
    overlaps = []
    for other_id, flag in found.items():
        other = known[other_id]
        if other.archived_at is not None or other.kind in THINGS:
            continue
        shared = _shared_words(node.text, other.text)
        on = _common(rests_on, resting[other_id], flag)
        if on == DEFINITION or _is_alike(node, other):
            on = on or WORDS
            overlaps.append(Overlap(node=other, flag=flag, on=on, shared_words=shared))
    overlaps.sort(key=lambda one: (_RANK[one.on], -one.shared_words, -one.flag.score, one.node.id))
    return overlaps


def newer_than(
    conn: Connection, raised: Iterable[Flag], *, hidden: Collection[str]
) -> dict[str, list[Node]]:
    """Return what was stated about flagged memories since they were flagged, by their ids.

    Only what shares a definition with one, or a file and a word.

    Args:
        conn: where they are.
        raised: the flags.
        hidden: memories that are not shown.
    """
    since = {flag.node: flag for flag in raised}
    resting = anchors.of_nodes(conn, since)
    paths = {path for node, flag in since.items() for path in _paths(resting[node], flag)}
    oldest = min((flag.since for flag in since.values()), default=None)
    if not paths or oldest is None:
        return {}
    beside: dict[str, list[Anchor]] = {}
    for anchor in anchors.on_paths(conn, paths):
        beside.setdefault(anchor.node, []).append(anchor)
    others = _stated_since(nodes.many(conn, beside.keys() - since.keys() - set(hidden)), oldest)
    flagged = nodes.many(conn, since)
    found: dict[str, list[Node]] = {}
    for flag in since.values():
        if flag.node not in flagged:
            continue
        newer = [
            (_RANK[on], -shared, other)
            for other in others
            if other.created_at > flag.since
            if (on := _common(beside[other.id], resting[flag.node], flag))
            if (shared := _shared_words(other.text, flagged[flag.node].text)) or on == DEFINITION
        ]
        newer.sort(key=lambda one: (*one[:2], one[2].id))
        if newer:
            found[flag.node] = [other for _, _, other in newer[:NEWER_MAX]]
    return found


def _stated_since(known: Mapping[str, Node], at: datetime) -> list[Node]:
    return [
        node
        for node in known.values()
        if node.archived_at is None and node.kind not in THINGS and node.created_at > at
    ]


def _common(mine: Sequence[Anchor], theirs: Sequence[Anchor], flag: Flag) -> str:
    """Return what two statements rest on alike: DEFINITION, FILE or ''."""
    there = _paths(theirs, flag)
    here = [anchor for anchor in mine if anchor.path in there]
    names = {last_part(anchor.name) for anchor in theirs if anchor.name}
    if any(anchor.name and last_part(anchor.name) in names for anchor in here):
        return DEFINITION
    return FILE if here else ""


def _paths(rests_on: Sequence[Anchor], flag: Flag) -> set[str]:
    """Return the files that a flagged memory is about, where they were and where they are."""
    paths = {anchor.path for anchor in rests_on} | {one.path for one in flag.evidence}
    if flag.suggestion is not None:
        paths |= {flag.suggestion.path or "", *flag.suggestion.places}
    return paths - {""}


def _shared_words(one: str, other: str) -> int:
    return len(_stems(one) & _stems(other))


def _is_alike(one: Node, other: Node) -> bool:
    """Return whether most of the words of two statements are the same."""
    mine, theirs = _stems(one.text), _stems(other.text)
    shared = len(mine & theirs)
    return shared >= WORDS_SHARED_MIN and shared >= SHARE_MIN * min(len(mine), len(theirs))


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for stem in subjects_of(text) if not stem.startswith("#"))
