"""Which living memory does a statement mean: that of its key, or one that says or begins it?

What a person's own file says is nobody's to reword, and neither is what a person said for an agent;
beside such a memory a statement that goes on with it is a new one.
"""

from typing import Final

from yaadwatch.core.ingest import likeness
from yaadwatch.core.ingest.lettering import bare, folded
from yaadwatch.engine import succession
from yaadwatch.engine.remember.drafts import Draft, Match, Ready
from yaadwatch.model.nodes import Node, canonical_kind
from yaadwatch.store import anchors, hot, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.recall import beginnings

SAME: Final = "same"
"""It says the same, capitals and the mark at the end aside where they cannot count."""
KEYED: Final = "keyed"
"""It is kept under the key, and says something else."""
REFINES: Final = likeness.REFINES
WITHIN: Final = likeness.WITHIN

CANDIDATES_MAX: Final = 64
"""Memories that begin with the same words and are looked at, the newest."""
BEGUN_AT_ONCE: Final = 2_000
"""Memories of which it is worked out in one transaction how they begin: some 50 ms."""
FILE: Final = "file:"
"""What the origin begins with of a statement that stands in a person's file."""


def find(conn: Connection, draft: Draft, text_hash: str, scope: str) -> Match | None:
    """Return which living memory of `scope` a masked draft means; None when it is a new one.

    Args:
        conn: a snapshot.
        draft: the statement, masked.
        text_hash: of its text.
        scope: whose store.
    """
    return _exact(conn, draft, text_hash, scope) or _alike(conn, draft)


def lacks(conn: Connection) -> bool:
    """Return whether of some memories it is not known how they begin, so that none is found.

    They came from an import, or were given other words.
    """
    return bool(beginnings.lacking(conn, 1))


def begin(conn: Connection) -> None:
    """Note of some memories, inside a transaction, how they begin."""
    beginnings.note(
        conn,
        [(num, likeness.number(said)) for num, said in beginnings.lacking(conn, BEGUN_AT_ONCE)],
    )


def again(conn: Connection, item: Ready) -> Match | None:
    """Return what `find` does, when it was asked a moment ago, and little can have changed.

    What others began to say since then in other words is left alone: it stays beside this one.
    """
    exact, before = _exact(conn, item.draft, item.text_hash, item.scope), item.match
    if exact is not None or before is None or before.how == KEYED:
        return exact
    now = nodes.get(conn, before.node.id)
    return before if now == before.node else _alike(conn, item.draft)


def _exact(conn: Connection, draft: Draft, text_hash: str, scope: str) -> Match | None:
    known = nodes.by_hash(conn, scope, text_hash, thing=False)
    if draft.key is not None:
        holder = nodes.by_key(conn, scope, draft.key)
        if holder is not None and (known is None or known.id != holder.id):
            return Match(holder, KEYED)
    return Match(known, SAME) if known is not None else None


def _alike(conn: Connection, draft: Draft) -> Match | None:
    """Return the memory that a draft goes on with, or that says it in more words."""
    if draft.baseline or draft.has_id or draft.key is not None or draft.origin.startswith(FILE):
        return None
    number = likeness.number(draft.text)
    found = beginnings.of(conn, number, CANDIDATES_MAX) if number else ()
    if not found:
        return None
    mine, plain, letters = likeness.said(draft.text), bare(draft.text), folded(draft.text)
    hows = {}
    for node_id, said in found:
        if bare(said) != plain:
            hows[node_id] = likeness.compare_with(mine, said)
        elif folded(said) == letters:
            same = nodes.get(conn, node_id)
            if same is not None and not _of_other_kind(draft, same):
                return Match(same, SAME)
    known = nodes.many(conn, (node for node, how in hows.items() if how != likeness.APART))
    for node in sorted(known.values(), key=lambda one: (one.updated_at, one.id), reverse=True):
        if _may_be(conn, draft, node):
            return Match(node, hows[node.id])
    return None


def _of_other_kind(draft: Draft, node: Node) -> bool:
    return bool(draft.kind) and canonical_kind(draft.kind or "") != node.kind


def _may_be(conn: Connection, draft: Draft, node: Node) -> bool:
    """Return whether a memory is one that this draft may stand for."""
    if node.key is not None or _of_other_kind(draft, node):
        return False
    if provenance.of_node(conn, node.id):
        return False
    if not succession.is_person(draft.origin) and hot.is_persons(conn, node.id):
        return False
    if not draft.files and not draft.symbols:
        return True
    given = {
        (anchor.path, anchor.symbol)
        for anchor in anchors.of_nodes(conn, [node.id]).get(node.id, ())
        if anchor.trust == "given"
    }
    named = (
        {path for path, symbol in given if not symbol},
        {symbol for _, symbol in given if symbol},
    )
    return not given or named == (set(draft.files), set(draft.symbols))
