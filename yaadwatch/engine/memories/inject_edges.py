"""The relations of a batch: what each makes of those that are there, and what is left out."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from yaadwatch.core import privacy
from yaadwatch.engine import node_changes, succession
from yaadwatch.engine.memories.links import given_kind, past
from yaadwatch.engine.remember.drafts import clean_attributes
from yaadwatch.engine.remember.write_batch import WriteBatch
from yaadwatch.model import events, times
from yaadwatch.model.edges import ACYCLIC, SUPERSEDES, Edge, Interval, clash, free_from
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.given import GivenEdge
from yaadwatch.model.nodes import Node
from yaadwatch.model.settings import EDGE_ATTRIBUTES_BYTES_MAX
from yaadwatch.store import edges, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import steps

NEW, CHANGED, SAME = "new", "changed", "same"


def edge_of(place: int, one: GivenEdge, now: datetime) -> tuple[Edge, bool]:
    """Return an edge as it is to be stored, and whether it is said since when it holds.

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
        told = f"edges[{place}]: {error.message}"
        raise YaadError(error.code, told, hint=error.hint) from error
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


def store(
    writes: WriteBatch,
    given: Sequence[tuple[Edge, bool]],
    *,
    actor: str,
    tiered: Collection[str],
    counts: Counter[str],
    left_out: list[dict[str, object]],
) -> None:
    """Store the edges; whether they close a circle is asked once for each kind.

    Args:
        writes: of the batch; what it collected is written first.
        given: of `edge_of`.
        actor: who brings it.
        tiered: memories that the batch gives a tier.
        counts: how many are new, changed and the same; added to.
        left_out: those that cannot be stored, and why; added to.

    Raises:
        YaadError: CONFLICT when one holds since another time, or two of the batch overlap; REFUSED
            when some close a circle; TOO_LARGE when that cannot be known.
    """
    writes.flush()
    conn, now = writes.conn, writes.now
    ends = {end for edge, _ in given for end in (edge.from_node, edge.to_node)}
    known = nodes.many(conn, ends)
    fresh: list[tuple[int, Edge]] = []
    for place, (edge, dated) in enumerate(given):
        others = edges.equal(conn, edge)
        reason = _left_out(edge, known) or _persons(conn, edge, others, actor)
        if reason:
            left_out.append(_row(edge) | reason)
            continue
        what = _there_already(conn, edge, others, dated=dated, now=now)
        if what in (SAME, CHANGED):
            counts[what] += 1
        elif what:
            left_out.append(_row(edge) | {"reason": what})
        elif dated:
            fresh.append((place, edge))
        else:
            start = free_from(edge.valid_from, [one.interval for one in others])
            fresh.append((place, replace(edge, valid_from=start)))
    for kind in sorted({edge.kind for _, edge in fresh} & ACYCLIC):
        added = [
            (edge.from_node, edge.to_node)
            for _, edge in fresh
            if edge.kind == kind and edge.valid_until is None
        ]
        steps.refuse_circles(conn, kind, added)
    before: dict[tuple[str, str, str], dict[Interval, int]] = {}
    superseding = []
    for place, edge in fresh:
        same = before.setdefault((edge.from_node, edge.kind, edge.to_node), {})
        _refuse_overlap(place, edge, same)
        if edge.interval in same or (
            edge.valid_until is None and any(one.end is None for one in same)
        ):
            counts[SAME] += 1  # given twice
            continue
        if edge.valid_until is None or edge.valid_until >= edge.valid_from:
            steps.refuse_overlap(edge, edges.equal(conn, edge))
        same[edge.interval] = place
        counts[NEW] += 1
        writes.relate(edge)
        if edge.kind == SUPERSEDES and edge.valid_until is None:
            superseding.append(edge)
    writes.flush()
    for edge in superseding:
        new, old = edge.from_node, known[edge.to_node]
        node_changes.stand_in(conn, new, old, now, actor=actor, keeps_tier=new in tiered)


def _refuse_overlap(place: int, edge: Edge, before: Mapping[Interval, int]) -> None:
    """Refuse an edge that overlaps one of the same batch: a number of that one is soon nobody's.

    Raises:
        YaadError: CONFLICT.
    """
    found = None if edge.interval in before else clash(edge.interval, before)
    if found is None or (found.end is None and edge.valid_until is None):
        return
    raise YaadError(
        Code.CONFLICT,
        f"edges[{place}] and edges[{before[found]}]: {edge.from_node} {edge.kind} {edge.to_node} "
        "would hold twice at a time; nothing was stored.",
        hint="Let one begin when the other one has ended.",
    )


def _there_already(
    conn: Connection, edge: Edge, others: Sequence[Edge], *, dated: bool, now: datetime
) -> str:
    """Return what an equal edge makes of this one: same, changed, or why it is left out; '' when it
    is new."""
    for other in others:
        begun = not dated or other.valid_from == edge.valid_from
        if other.interval == edge.interval or (
            other.valid_until is None and edge.valid_until is None and begun
        ):
            if other.valid_until is not None:
                return SAME
            weighed = edges.weigh(conn, edge, now)
            attributes = edge.attributes or other.attributes
            return CHANGED if edges.describe(conn, edge, attributes, now) or weighed else SAME
        if dated and begun and other.valid_until is not None and edge.valid_until is None:
            return f"ended here at {times.told(other.valid_until)}"
        if dated and begun and other.valid_until is None and edge.valid_until is not None:
            edges.close(conn, other, edge.valid_until)
            log.append_edge(conn, events.EDGE_CLOSED, edge, now)
            return CHANGED
        if other.valid_until is None and edge.valid_until is None:
            since = times.told(other.valid_from)
            raise YaadError(
                Code.CONFLICT,
                f"{edge.from_node} {edge.kind} {edge.to_node} holds since {since} already (edge "
                f"{other.id}), not since {times.told(edge.valid_from)}; nothing was stored.",
                hint=f"Give it valid_from {since}, or delete that one first: "
                f"yaadwatch graph delete-link {other.id}",
            )
    return ""


def _left_out(edge: Edge, known: Mapping[str, Node]) -> dict[str, object]:
    """Return why an edge cannot be stored; nothing when it can."""
    ends = (edge.from_node, edge.to_node)
    missing = [privacy.mask(end).text for end in ends if end not in known]
    if missing:
        return {"reason": f"no node {' and no node '.join(missing)}", "missing": missing}
    gone = [end for end in ends if known[end].archived_at is not None]
    return {"reason": f"{' and '.join(gone)} archived here"} if gone else {}


def _persons(conn: Connection, edge: Edge, others: Sequence[Edge], actor: str) -> dict[str, object]:
    """Return why an edge is not for an agent; nothing when it is."""
    if edge.kind != SUPERSEDES or edge.valid_until or any(not one.valid_until for one in others):
        return {}
    if succession.may_put_in_place(conn, edge.from_node, edge.to_node, actor=actor):
        return {}
    return {"reason": "a person said both, and only a person can supersede one with the other"}


def _row(edge: Edge) -> dict[str, object]:
    start, end = privacy.mask(edge.from_node).text, privacy.mask(edge.to_node).text
    return {"from": start, "kind": edge.kind, "to": end}
