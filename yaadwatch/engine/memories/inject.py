"""Take in many memories and relations at once: all of them or none, and twice is once.

A memory keeps the id it comes with, so nothing is taken for another one that reads alike. What a
person forgot or ended here is left so, and told; so are edges whose ends are not there.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Self, TypeVar

from yaadwatch.api.messages.graph import Inject
from yaadwatch.core import privacy
from yaadwatch.core.privacy import Masked
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.memories import inject_edges
from yaadwatch.engine.memories.inject_edges import CHANGED, NEW, SAME
from yaadwatch.engine.memories.links import past
from yaadwatch.engine.remember import preparing, storing
from yaadwatch.engine.remember.drafts import (
    Draft,
    Ready,
    clean,
    clean_attributes,
    clean_key,
    clean_kind,
    merged,
)
from yaadwatch.engine.remember.write_batch import ExistingRows, WriteBatch
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.edges import Edge
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.given import GivenEdge, GivenNode
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import NOT_GIVEN, PROJECT, Node, canonical_key, canonical_kind
from yaadwatch.model.settings import NODE_ATTRIBUTES_BYTES_MAX
from yaadwatch.store import nodes, provenance
from yaadwatch.store.connection import Connection

Found = TypeVar("Found")

LEFT_OUT_TOLD_MAX: Final = 2_000
"""Told one by one: each may name four ids, and an answer is 4 MiB at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """A batch with everything decided that does not need the transaction.

    Args:
        nodes: as given, with the time each was created.
        ready: by id, what has to be stored; the others read the same when they were looked at.
        edges: as they are to be stored, and whether the caller says since when they hold.
        now: when it comes.
        actor: who brings it.
        elsewhere: which of these words a person dismissed for all projects.
    """

    nodes: Sequence[tuple[GivenNode, datetime]]
    ready: Mapping[str, Ready]
    edges: Sequence[tuple[Edge, bool]]
    now: datetime
    actor: str
    elsewhere: dismissing.Elsewhere


@dataclass(slots=True, kw_only=True)
class _Done:
    """What became of a batch."""

    nodes: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, object]] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _There:
    """What a store holds when a batch comes.

    Args:
        said: hashes of what living memories say, as far as the batch says it, too.
        in_files: those of the batch that a person's own file says.
        kept: those that are kept from whoever brings the batch.
        existing: the rows of those that are to be changed.
    """

    said: set[str]
    in_files: Collection[str]
    kept: Collection[str]
    existing: ExistingRows

    @classmethod
    def read(cls, conn: Connection, batch: _Batch, changed: Collection[str]) -> Self:
        """Return what is there, inside the transaction; `changed`: the ids whose rows are read."""
        hashes = {item.text_hash for item in batch.ready.values()}
        return cls(
            said=nodes.said_of(conn, PROJECT, hashes),
            in_files=provenance.said(conn, changed),
            kept=storing.kept_from(conn, batch.actor, changed),
            existing=ExistingRows.read(conn, changed),
        )


def inject(home: Home, call: Call, ask: Inject) -> dict[str, object]:
    """Store memories with ids of their own, and relations, in one transaction; the answer is
    Injected.

    A node that is there already gets what is different, and keeps when it was created; so does an
    edge that still holds.

    Raises:
        YaadError: BAD_REQUEST and TOO_LARGE as for `remember`; BAD_REQUEST too for an id that is
            given twice, is a secret, or is a file or symbol, and for times to come; CONFLICT when
            an edge would hold twice at a time; REFUSED for a circle, kinds that are not for
            callers, and new words for what a person's own file says.
    """
    answer = inject_all(home, call, nodes=ask.nodes, edges=ask.edges, dry_run=ask.dry_run)
    told = list(answer["left_out"])
    more = max(0, len(told) - LEFT_OUT_TOLD_MAX)
    return answer | {"left_out": told[:LEFT_OUT_TOLD_MAX], "left_out_more": more}


def inject_all(
    home: Home,
    call: Call,
    *,
    nodes: Sequence[GivenNode],
    edges: Sequence[GivenEdge],
    dry_run: bool,
) -> dict[str, Any]:
    """Do what `inject` does; the answer names everything that was left out.

    Raises:
        YaadError: as `inject`.
    """
    with home.space(call) as space:
        now = home.clock.now()
        created = [(one, _created(place, one, now)) for place, one in enumerate(nodes)]
        _refuse_ids(nodes)
        texts = _each(nodes, lambda one: clean(one.text))
        said_now = {one: said.text for one, said in texts.items()}
        differ = space.db.read(_different, nodes, said_now, call.origin)
        _each(nodes, lambda one: None if one.kind is None else clean_kind(one.kind))
        keys = _each(nodes, lambda one: None if one.key is None else clean_key(one.key))
        drafts = [_draft(one, call.origin, texts[one.id], keys[one.id]) for one in differ]
        try:
            ready = preparing.prepare(home, space, drafts) if drafts else []
        except YaadError as error:
            if error.code is Code.TOO_LARGE:
                _each(nodes, _fitting_attributes)
            raise
        batch = _Batch(
            nodes=created,
            ready={one.id: item for one, item in zip(differ, ready, strict=True)},
            edges=[inject_edges.edge_of(place, one, now) for place, one in enumerate(edges)],
            now=now,
            actor=call.origin,
            elsewhere=dismissing.in_stores(
                [home.user], [item.text for item in ready], actor=call.origin
            ),
        )
        store = space.db.rehearse if dry_run else space.db.write
        done = store(lambda conn: _store(conn, home, batch))
    masked = {one: said.kinds for one, said in texts.items()}
    masked |= {one: item.masked for one, item in batch.ready.items()}
    return {
        "nodes": {what: done.nodes[what] for what in (NEW, CHANGED, SAME)},
        "edges": {what: done.edges[what] for what in (NEW, CHANGED, SAME)},
        "left_out": done.left_out,
        "masked": [{"id": one, "kinds": list(kinds)} for one, kinds in masked.items() if kinds],
    }


def _each(given: Sequence[GivenNode], work: Callable[[GivenNode], Found]) -> dict[str, Found]:
    """Return what comes of each node, by its id.

    Raises:
        YaadError: as `work`; the message begins with which node it is.
    """
    found: dict[str, Found] = {}
    for place, one in enumerate(given):
        try:
            found[one.id] = work(one)
        except YaadError as error:
            told = f"nodes[{place}], {called(one.id)}: {error.message}"
            raise YaadError(error.code, told, hint=error.hint) from error
    return found


def _fitting_attributes(one: GivenNode) -> Mapping[str, object]:
    return clean_attributes(one.attributes or {}, NODE_ATTRIBUTES_BYTES_MAX)


def _created(place: int, one: GivenNode, now: datetime) -> datetime:
    return (
        now if one.created_at is None else past(f"nodes[{place}].created_at", one.created_at, now)
    )


def _refuse_ids(given: Sequence[GivenNode]) -> None:
    """Refuse ids that cannot be kept as they are.

    Raises:
        YaadError: BAD_REQUEST.
    """
    seen = set()
    may_be_secret = privacy.may_hold(one.id for one in given)
    for place, one in enumerate(given):
        if one.id in seen:
            raise YaadError(
                Code.BAD_REQUEST,
                f"nodes[{place}] has the id of a node before it, {one.id}; nothing was stored.",
                hint="Give every node an id of its own.",
            )
        seen.add(one.id)
        if may_be_secret and privacy.mask(one.id).kinds:
            raise YaadError(
                Code.BAD_REQUEST,
                f"The id of nodes[{place}] looks like a secret; nothing was stored.",
                hint="Give it an id that may be seen.",
            )


def _draft(one: GivenNode, origin: str, cleaned: Masked, key: str | None) -> Draft:
    return Draft(
        text=one.text,
        origin=origin,
        cleaned=cleaned,
        kind=one.kind,
        tier=one.tier,
        key=key,
        tags=one.tags,
        attributes=one.attributes or {},
        pinned=one.pin,
        has_id=True,
    )


def _different(
    conn: Connection, given: Sequence[GivenNode], texts: Mapping[str, str], origin: str
) -> list[GivenNode]:
    """Return those that are not there, or read otherwise; what is archived is left alone."""
    known = nodes.many(conn, [one.id for one in given])
    kept = storing.kept_from(conn, origin, known)
    return [
        one
        for one in given
        if one.id not in known
        or (
            known[one.id].archived_at is None
            and _changes(known[one.id], one, texts[one.id].strip(), kept=one.id in kept)
        )
    ]


def _changes(node: Node, given: GivenNode, text: str, *, kept: bool) -> bool:
    """Return whether a batch makes something else of a memory.

    Of one that is `kept` from whoever brings the batch, nothing but its tags can change.
    """
    tags = {privacy.kept(tag).text for tag in given.tags}
    if node.text != text or not tags <= set(node.tags):
        return True
    return not kept and (
        (given.kind is not None and node.kind != canonical_kind(given.kind))
        or (given.tier is not None and node.tier != given.tier)
        or (given.key is not None and node.key != canonical_key(given.key))
        or merged(node.attributes, privacy.mask_tree(given.attributes or {})) != node.attributes
        or (given.pin and not node.pinned)
    )


def _store(conn: Connection, home: Home, batch: _Batch) -> _Done:
    done = _Done()
    known = nodes.many(conn, [one.id for one, _ in batch.nodes])
    there = _There.read(conn, batch, [one for one in known if one in batch.ready])
    writes = WriteBatch(conn, home, batch.now)
    said: list[str] = []
    for one, created_at in batch.nodes:
        item, node = batch.ready.get(one.id), known.get(one.id)
        _refuse(one, item, node)
        if node is not None and node.archived_at is not None:
            hint = f"archived here ({node.archive_reason}); yaadwatch restore {called(node.id)}"
            done.left_out.append({"id": one.id, "reason": hint})
        elif item is None:
            done.nodes[SAME] += 1
        else:
            unwanted = dismissing.of_text(
                conn, item.text, actor=batch.actor, elsewhere=batch.elsewhere
            )
            if unwanted is not None and (node is None or item.text != node.text):
                done.left_out.append({"id": one.id, "reason": dismissing.words_of(unwanted)})
                continue
            said.append(item.text)
            _refuse_key(writes, item.draft.key, one.id)
            if node is None:
                apart = item.text_hash in there.said
                made = storing.store_as(
                    writes, item, batch.now, id=one.id, created_at=created_at, apart=apart
                )
                there.said.add(made.text_hash)
                done.nodes[NEW] += 1
            else:
                _change(writes, batch, item, node, there=there, done=done)
    dismissing.lift(conn, said, actor=batch.actor)
    inject_edges.store(
        writes,
        batch.edges,
        actor=batch.actor,
        tiered={one.id for one, _ in batch.nodes if one.tier is not None},
        counts=done.edges,
        left_out=done.left_out,
    )
    return done


def _refuse(one: GivenNode, item: Ready | None, node: Node | None) -> None:
    """Refuse what cannot become a memory, or has become none meanwhile.

    Raises:
        YaadError: BAD_REQUEST, CONFLICT.
    """
    if node is not None and node.kind in NOT_GIVEN:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{one.id} is the id of a {node.kind}, which is no memory; nothing was stored.",
            hint="Give the node another id.",
        )
    if item is None and node is None:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {one.id} was erased meanwhile; nothing was stored.",
            hint="Try again.",
        )


def _change(
    writes: WriteBatch, batch: _Batch, item: Ready, node: Node, *, there: _There, done: _Done
) -> None:
    """Give a memory that is there what the batch says of it."""
    if item.text != node.text and node.id in there.in_files:
        raise YaadError(
            Code.REFUSED,
            f"A person's own file says memory {called(node.id)}; only that person gives it other "
            "words, so nothing was stored.",
            hint=f"Where: yaadwatch show {called(node.id)}",
        )
    kept = node.id in there.kept
    if item.text != node.text and kept:
        reason = f"conflict: a person said it in other words; yaadwatch edit {called(node.id)}"
        done.left_out.append({"id": node.id, "reason": reason})
        return
    apart = item.text_hash != node.text_hash and item.text_hash in there.said
    changed = storing.made_of(item, node, batch.now, apart=apart, kept=kept)
    writes.change(
        changed,
        node,
        there.existing,
        rests_on=item.anchors,
        names=item.entities,
        actor=item.draft.origin,
        reason="",
    )
    there.said.discard(node.text_hash)
    there.said.add(changed.text_hash)
    done.nodes[CHANGED] += 1


def _refuse_key(writes: WriteBatch, key: str | None, node_id: str) -> None:
    """Refuse a key that another living memory is kept under.

    Raises:
        YaadError: CONFLICT.
    """
    holder = None if key is None else writes.holder(PROJECT, key)
    if holder is not None and holder != node_id:
        raise YaadError(
            Code.CONFLICT,
            f"The key {key} of {node_id} is that of memory {holder}; nothing was stored.",
            hint="Give it another key, or none.",
        )
