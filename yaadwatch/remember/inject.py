"""Write many memories and relations in one batch: all or none, and idempotent.

A memory keeps the id that the caller gives it, so it is never merged with another memory of similar
words. The batch skips and reports what a person forgot or ended here, and edges without both ends.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final, TypeVar

from yaadwatch.api.messages.graph import Inject
from yaadwatch.db import authority, edges, history, nodes
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, visibility
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import PROJECT, short_id
from yaadwatch.model.memories import (
    ACYCLIC,
    NOT_GIVEN,
    SUPERSEDES,
    Edge,
    Interval,
    Node,
    canonical_key,
    canonical_kind,
    clash,
    free_from,
)
from yaadwatch.model.queries import GivenEdge, GivenNode
from yaadwatch.model.settings import EDGE_ATTRIBUTES_BYTES_MAX, NODE_ATTRIBUTES_BYTES_MAX
from yaadwatch.remember import preparing, storing
from yaadwatch.remember.drafts import (
    Draft,
    Ready,
    clean,
    clean_attributes,
    clean_key,
    clean_kind,
    merged,
)
from yaadwatch.remember.links import given_kind, past
from yaadwatch.remember.write_batch import WriteBatch, change_one
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Call, Home

NEW, CHANGED, SAME = "new", "changed", "same"


Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batch:
    """A batch with everything decided that does not need the transaction.

    Args:
        nodes: as given, with the time each was created.
        ready: by id, what has to be stored; the others read the same when they were looked at.
        edges: as they are to be stored, and whether the caller says since when they hold.
        now: when it comes.
        actor: the caller.
        elsewhere: which of these words a person dismissed for all projects.
    """

    nodes: Sequence[tuple[GivenNode, datetime]]
    ready: Mapping[str, Ready]
    edges: Sequence[tuple[Edge, bool]]
    now: datetime
    actor: str
    elsewhere: visibility.Elsewhere


@dataclass(slots=True, kw_only=True)
class _Done:
    """The outcome of a batch."""

    nodes: Counter[str] = field(default_factory=Counter)
    edges: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, object]] = field(default_factory=list)


def _edge(place: int, one: GivenEdge, now: datetime) -> tuple[Edge, bool]:
    """Return an edge in its stored form, and whether the caller gave its start.

    Args:
        place: where it stands in the batch, for the messages.
        one: as it was given.
        now: when the batch comes.

    Raises:
        YaadError: BAD_REQUEST when its kind, a time or its attributes cannot be stored.
    """

    def time(name: str, given: str | None, default: datetime) -> datetime:
        return default if given is None else past(f"edges[{place}].{name}", given, now)

    created = time("created_at", one.created_at, now)
    until = one.valid_until
    try:
        kind = given_kind(one.kind)
        attributes = clean_attributes(one.attributes or {}, EDGE_ATTRIBUTES_BYTES_MAX)
    except YaadError as error:
        message = f"edges[{place}]: {error.message}"
        raise YaadError(error.code, message, hint=error.hint) from error
    edge = Edge(
        from_node=one.from_,
        to_node=one.to,
        kind=kind,
        weight=one.weight,
        attributes=attributes,
        created_at=created,
        updated_at=now,
        valid_from=time("valid_from", one.valid_from, created),
        valid_until=None if until is None else time("valid_until", until, now),
    )
    return edge, one.valid_from is not None or one.created_at is not None


def _store_edges(
    writes: WriteBatch,
    given: Sequence[tuple[Edge, bool]],
    *,
    actor: str,
    tiered: Collection[str],
    done: _Done,
) -> None:
    """Store the edges; circles are searched once per kind.

    Args:
        writes: of the batch; what it collected is written first.
        given: of `_edge`.
        actor: the caller.
        tiered: memories that the batch gives a tier.
        done: the outcome; added to.

    Raises:
        YaadError: CONFLICT when one holds since another time, or two of the batch overlap; REFUSED
            when some close a circle; TOO_LARGE when that cannot be known.
    """
    writes.flush()
    conn, now = writes.conn, writes.now
    known = nodes.many(conn, (end for edge, _ in given for end in (edge.from_node, edge.to_node)))
    fresh: list[Edge] = []
    for edge, dated in given:
        others = edges.equal(conn, edge)
        reason = _left_out(edge, known) or _persons(conn, edge, others, actor)
        what = "" if reason else _there_already(conn, edge, others, dated=dated, now=now)
        if reason or what not in ("", SAME, CHANGED):
            done.left_out.append(_row(edge) | (reason or {"reason": what}))
        elif what:
            done.edges[what] += 1
        else:
            ended = () if dated else [one.interval for one in others]
            fresh.append(replace(edge, valid_from=free_from(edge.valid_from, ended)))
    for kind in sorted({edge.kind for edge in fresh} & ACYCLIC):
        open_ones = [one for one in fresh if one.kind == kind and one.valid_until is None]
        edges.refuse_circles(conn, kind, [(one.from_node, one.to_node) for one in open_ones])
    added: dict[tuple[str, str, str], list[Interval]] = {}
    for edge in fresh:
        others = edges.equal(conn, edge)
        if any(
            one.interval == edge.interval or (not one.valid_until and not edge.valid_until)
            for one in others
        ):
            done.edges[SAME] += 1  # given twice
            continue
        mine = added.setdefault((edge.from_node, edge.kind, edge.to_node), [])
        if clash(edge.interval, mine):
            raise YaadError(
                Code.CONFLICT,
                f"{edge.from_node} {edge.kind} {edge.to_node} is in the batch twice for one time; "
                "nothing was stored.",
                hint="Let one begin when the other one has ended.",
            )
        mine.append(edge.interval)
        edges.refuse_overlap(edge, others)
        edges.add_all(conn, [edge])
        history.append_edge(conn, events.EDGE_CREATED, edge, now)
        done.edges[NEW] += 1
    for edge in fresh:
        if edge.kind == SUPERSEDES and edge.valid_until is None:
            new, old = edge.from_node, known[edge.to_node]
            changes.note_superseded(conn, new, old, now, actor=actor, keeps_tier=new in tiered)


def _there_already(
    conn: Connection, edge: Edge, others: Sequence[Edge], *, dated: bool, now: datetime
) -> str:
    """Return 'same', 'changed', or why an equal edge leaves this one out; '' when it is new."""
    for other in others:
        begun = not dated or other.valid_from == edge.valid_from
        if other.interval == edge.interval or (
            other.valid_until is None and edge.valid_until is None and begun
        ):
            if other.valid_until is not None:
                return SAME
            attributes = edge.attributes or other.attributes
            changed = edges.update(conn, edge, now, weight=edge.weight, attributes=attributes)
            return CHANGED if changed else SAME
        if dated and begun and other.valid_until is not None and edge.valid_until is None:
            return f"ended here at {events.time_text(other.valid_until)}"
        if dated and begun and other.valid_until is None and edge.valid_until is not None:
            edges.close(conn, [other], edge.valid_until)
            history.append_edge(conn, events.EDGE_CLOSED, edge, now)
            return CHANGED
        if other.valid_until is None and edge.valid_until is None:
            since = events.time_text(other.valid_from)
            raise YaadError(
                Code.CONFLICT,
                f"{edge.from_node} {edge.kind} {edge.to_node} holds since {since} already (edge "
                f"{other.id}), not since {events.time_text(edge.valid_from)}; nothing was stored.",
                hint=f"Give it valid_from {since}, or delete that one first: "
                f"yaadwatch graph delete-link {other.id}",
            )
    return ""


def _left_out(edge: Edge, known: Mapping[str, Node]) -> dict[str, object]:
    """Return why an edge cannot be stored; '' when it can."""
    ends = (edge.from_node, edge.to_node)
    missing = [privacy.mask(end).text for end in ends if end not in known]
    if missing:
        return {"reason": f"no node {' and no node '.join(missing)}", "missing": missing}
    gone = [end for end in ends if known[end].archived_at is not None]
    return {"reason": f"{' and '.join(gone)} archived here"} if gone else {}


def _persons(conn: Connection, edge: Edge, others: Sequence[Edge], actor: str) -> dict[str, object]:
    """Return why an agent may not store an edge, or end it; '' when it may."""
    is_open = any(not one.valid_until for one in others)
    if edge.kind != SUPERSEDES or is_open != bool(edge.valid_until):
        return {}
    if is_open and not visibility.is_persons(actor) and authority.approved(conn, [edge.from_node]):
        return {"reason": "a person said what supersedes it, and only a person can end that"}
    if is_open or changes.may_supersede(conn, edge.from_node, edge.to_node, actor=actor):
        return {}
    return {"reason": "a person said both, and only a person can supersede one with the other"}


def _row(edge: Edge) -> dict[str, object]:
    start, end = privacy.mask(edge.from_node).text, privacy.mask(edge.to_node).text
    return {"from": start, "kind": edge.kind, "to": end}


LEFT_OUT_SHOWN_MAX: Final = 2_000
"""Rows listed in an answer: each may name four ids, and an answer is 4 MiB at most."""


def inject(home: Home, call: Call, ask: Inject) -> dict[str, object]:
    """Store memories with given ids, and edges, in one transaction; the answer is Injected.

    A node that is there already gets what is different, and keeps when it was created; so does an
    edge that still holds.

    Raises:
        YaadError: BAD_REQUEST and TOO_LARGE as for `remember`; BAD_REQUEST too for an id that is
            given twice, is a secret, or is a file or symbol, and for future times; CONFLICT when
            an edge would hold twice at a time; REFUSED for a circle, kinds that are not for
            callers, and new words for what a person's own file says.
    """
    answer = inject_all(home, call, nodes=ask.nodes, edges=ask.edges, dry_run=ask.dry_run)
    left_out = list(answer["left_out"])
    more = max(0, len(left_out) - LEFT_OUT_SHOWN_MAX)
    return answer | {"left_out": left_out[:LEFT_OUT_SHOWN_MAX], "left_out_more": more}


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
        created = [
            now
            if one.created_at is None
            else past(f"nodes[{place}].created_at", one.created_at, now)
            for place, one in enumerate(nodes)
        ]
        _refuse_ids(nodes)
        texts = _each(nodes, lambda one: clean(one.text))
        said_now = {one: said.text for one, said in texts.items()}
        differ = space.db.read(_different, nodes, said_now, call.origin)
        _each(nodes, lambda one: None if one.kind is None else clean_kind(one.kind))
        keys = _each(nodes, lambda one: None if one.key is None else clean_key(one.key))
        drafts = [
            Draft(
                text=one.text,
                origin=call.origin,
                cleaned=texts[one.id],
                kind=one.kind,
                tier=one.tier,
                key=keys[one.id],
                tags=one.tags,
                attributes=one.attributes or {},
                pinned=one.pin,
                has_id=True,
            )
            for one in differ
        ]
        try:
            ready = preparing.prepare(home, space, drafts) if drafts else []
        except YaadError as error:
            if error.code is Code.TOO_LARGE:
                _each(  # to name the node
                    nodes,
                    lambda one: clean_attributes(one.attributes or {}, NODE_ATTRIBUTES_BYTES_MAX),
                )
            raise
        batch = _Batch(
            nodes=list(zip(nodes, created, strict=True)),
            ready={one.id: item for one, item in zip(differ, ready, strict=True)},
            edges=[_edge(place, one, now) for place, one in enumerate(edges)],
            now=now,
            actor=call.origin,
            elsewhere=visibility.in_stores(
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
    """Return the result of `work` for each node, by id.

    Raises:
        YaadError: as `work`; the message begins with which node it is.
    """
    found: dict[str, Found] = {}
    for place, one in enumerate(given):
        try:
            found[one.id] = work(one)
        except YaadError as error:
            message = f"nodes[{place}], {short_id(one.id)}: {error.message}"
            raise YaadError(error.code, message, hint=error.hint) from error
    return found


def _refuse_ids(given: Sequence[GivenNode]) -> None:
    """Refuse ids that cannot be kept as they are.

    Raises:
        YaadError: BAD_REQUEST.
    """
    seen = set()
    for place, one in enumerate(given):
        if one.id in seen:
            raise YaadError(
                Code.BAD_REQUEST,
                f"nodes[{place}] has the id of a node before it, {one.id}; nothing was stored.",
                hint="Give every node an id of its own.",
            )
        seen.add(one.id)
        if privacy.mask(one.id).kinds:
            raise YaadError(
                Code.BAD_REQUEST,
                f"The id of nodes[{place}] looks like a secret; nothing was stored.",
                hint="Give it an id that may be seen.",
            )


def _different(
    conn: Connection, given: Sequence[GivenNode], texts: Mapping[str, str], origin: str
) -> list[GivenNode]:
    """Return the nodes that are new or differ; archived ones are left alone."""
    known = nodes.many(conn, [one.id for one in given])
    kept = storing.protected_from(conn, origin, known)
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
    """Return whether a batch changes a memory.

    Of a memory that is protected from the caller (`kept`) only tags can change.
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
    changed = [one for one in known if one in batch.ready]
    hashes = nodes.hashes_said(conn, PROJECT, (one.text_hash for one in batch.ready.values()))
    in_files = history.said_somewhere(conn, changed)
    persons = storing.protected_from(conn, batch.actor, changed)
    writes = WriteBatch(conn, home, batch.now)
    stated: list[str] = []
    for one, created_at in batch.nodes:
        item, node = batch.ready.get(one.id), known.get(one.id)
        _refuse(one, item, node)
        reason = ""
        if node is not None and node.archived_at is not None:
            reason = f"archived here ({node.archive_reason}); yaadwatch restore {short_id(node.id)}"
        elif item is None:
            done.nodes[SAME] += 1
        elif node is None or item.text != node.text:
            unwanted = visibility.of_text(
                conn, item.text, actor=batch.actor, elsewhere=batch.elsewhere
            )
            if unwanted is not None:
                reason = visibility.words_of(unwanted)
            elif node is not None and one.id in persons and one.id not in in_files:
                reason = (
                    f"conflict: a person said it in other words; yaadwatch edit {short_id(node.id)}"
                )
        if reason:
            done.left_out.append({"id": one.id, "reason": reason})
        if reason or item is None:
            continue
        stated.append(item.text)
        _refuse_key(writes, item.draft.key, one.id)
        if node is None:
            apart = item.text_hash in hashes
            made = storing.store_as(
                writes, item, batch.now, id=one.id, created_at=created_at, apart=apart
            )
            done.nodes[NEW] += 1
        else:
            if item.text != node.text and one.id in in_files:
                raise YaadError(
                    Code.REFUSED,
                    f"A person's own file says memory {short_id(node.id)}; only that person gives "
                    "it other words, so nothing was stored.",
                    hint=f"Where: yaadwatch show {short_id(node.id)}",
                )
            apart = item.text_hash != node.text_hash and item.text_hash in hashes
            kept = one.id in persons
            made = storing.merged_memory(item, node, batch.now, apart=apart, kept=kept)
            writes.flush()
            change_one(
                conn,
                home,
                made,
                rests_on=item.anchors,
                names=item.entities,
                actor=batch.actor,
                stated=False,
            )
            hashes.discard(node.text_hash)
            done.nodes[CHANGED] += 1
        hashes.add(made.text_hash)
    visibility.lift_words_dismissed(conn, stated, actor=batch.actor)
    _store_edges(
        writes,
        batch.edges,
        actor=batch.actor,
        tiered={one.id for one, _ in batch.nodes if one.tier is not None},
        done=done,
    )
    return done


def _refuse(one: GivenNode, item: Ready | None, node: Node | None) -> None:
    """Refuse what cannot become a memory, or was erased meanwhile.

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


def _refuse_key(writes: WriteBatch, key: str | None, node_id: str) -> None:
    """Refuse the key of another living memory.

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
