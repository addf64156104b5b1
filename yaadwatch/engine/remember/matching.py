"""Find the living memory that a statement means: that of its key, or one that says the same."""

from collections.abc import Sequence
from typing import Final

from yaadwatch.core.ingest import likeness
from yaadwatch.engine.remember.drafts import Draft, Match
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.nodes import Node, canonical_kind
from yaadwatch.store import anchors, nodes
from yaadwatch.store.connection import Connection

SAME: Final = "same"
"""The memory says the same, apart from emphasis."""
KEYED: Final = "keyed"
"""The memory is kept under the key of the statement, and says something else."""

CANDIDATES_MAX: Final = 16
"""Memories that are compared with a statement, the newest."""
FOLDED_AT_ONCE: Final = 2_000
"""Memories whose folded texts are numbered in one transaction: some 50 ms."""
FILE: Final = "file:"
"""Prefix of the origin of a statement that stands in a person's file."""


def find(conn: Connection, draft: Draft, text_hash: str, scope: str) -> Match | None:
    """Return the living memory of `scope` that a masked draft means; None for a new one.

    Args:
        conn: a snapshot.
        draft: the statement, masked.
        text_hash: of its text.
        scope: whose store.
    """
    known = nodes.by_hash(conn, scope, text_hash, thing=False)
    if draft.key is not None:
        holder = nodes.by_key(conn, scope, draft.key)
        if holder is not None and (known is None or known.id != holder.id):
            return Match(holder, KEYED)
    if known is not None:
        return Match(known, SAME)
    if draft.baseline or draft.has_id or draft.key is not None or draft.origin.startswith(FILE):
        return None
    return _same_folded(conn, draft)


def _same_folded(conn: Connection, draft: Draft) -> Match | None:
    number = likeness.number(draft.text)
    for node_id, text in nodes.by_folded(conn, number, CANDIDATES_MAX) if number else ():
        if likeness.folded(text) == likeness.folded(draft.text):
            node = nodes.get(conn, node_id)
            if node is not None and (not draft.kind or canonical_kind(draft.kind) == node.kind):
                return Match(node, SAME)
    return None


def alike(conn: Connection, node: Node, rests_on: Sequence[Anchor]) -> list[Node]:
    """Return living memories that rest on the same things, in nearly the same words.

    Args:
        conn: where they are.
        node: the memory; one without anchors is like no other.
        rests_on: its anchors.
    """
    if not rests_on:
        return []
    mine = {(one.path, one.symbol) for one in rests_on}
    beside = anchors.nodes_on(conn, rests_on[-1].path, rests_on[-1].symbol, CANDIDATES_MAX)
    # Most say something else, which takes least to find out.
    said = nodes.texts(conn, set(beside) - {node.id})
    near = [other for other, text in said.items() if likeness.are_alike(node.text, text)]
    if not near:
        return []
    same = [
        other
        for other, theirs in anchors.of_nodes(conn, near).items()
        if {(one.path, one.symbol) for one in theirs} == mine
    ]
    return list(nodes.many(conn, same).values())


def has_unfolded(conn: Connection) -> bool:
    """Return whether folded texts are to be numbered first, as after an import or an edit."""
    return bool(nodes.unfolded(conn, 1))


def fold(conn: Connection) -> None:
    """Number the folded texts of some memories, inside a transaction."""
    nodes.note_folded(
        conn,
        [(num, likeness.number(text)) for num, text in nodes.unfolded(conn, FOLDED_AT_ONCE)],
    )
