"""Relate one memory to another, and take that back. Doubt goes along what is linked."""

from dataclasses import replace
from datetime import datetime

from yaadwatch.engine.workspace import Call, Home, find_node
from yaadwatch.model import events
from yaadwatch.model.edges import Edge, canonical_kind
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import Node
from yaadwatch.store import edges, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection

OURS = {
    "touches": "Name the file when you remember: yaadwatch remember --file PATH",
    "learned_in": "It is made when a session ends.",
}
"""Kinds that follow from what a memory rests on, and where it was learned; and what to do then."""


def link(
    home: Home, call: Call, *, id: str, kind: str, to: str, weight: float = 1.0
) -> dict[str, object]:
    """Say that a memory relates to another one; the answer is Linked.

    Said again it changes nothing but the weight.

    Args:
        home: what may be reached.
        call: whose project.
        id: the memory that the relation begins at; what it would be in doubt with is `to`.
        kind: `depends_on`, `part_of`, `caused_by`, `led_to`, `supersedes`, or another word.
        to: the memory that it ends at.
        weight: how much of a doubt goes along it, above 0.0 and at most 1.0.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when an id does not name exactly one;
            BAD_REQUEST too for a memory and itself; REFUSED when one of them is archived, the kind
            is not for callers, or it would close a circle that its kind must not have.
    """
    kind = _kind(kind)
    with home.space(call) as space:
        start, end = find_node(space.db, id), find_node(space.db, to)
        if start == end:
            raise YaadError(
                Code.BAD_REQUEST,
                f"{id} and {to} are the same memory; nothing was linked.",
                hint="Name two different ones.",
            )
        now = home.clock.now()
        edge = Edge(
            from_node=start, to_node=end, kind=kind, weight=weight, created_at=now, valid_from=now
        )
        ends, made, changed = space.db.write(_link, edge, now)
    undo = f"yaadwatch unlink {start[-8:]} {kind} {end[-8:]}" if made else ""
    return _row(edge, ends, undo) | {"made": made, "changed": changed}


def unlink(home: Home, call: Call, *, id: str, kind: str, to: str) -> dict[str, object]:
    """End a relation between two memories, if it is there; the answer is Unlinked.

    Raises:
        YaadError: as for `link`; archived memories may be unlinked, and circles are no matter.
    """
    kind = _kind(kind)
    with home.space(call) as space:
        start, end = find_node(space.db, id), find_node(space.db, to)
        now = home.clock.now()
        edge = Edge(from_node=start, to_node=end, kind=kind, created_at=now, valid_from=now)
        ends, ended = space.db.write(_unlink, edge, now)
    if ended is None:
        return _row(edge, ends, "") | {"ended": False}
    weight = "" if ended.weight == 1.0 else f" --weight {ended.weight:g}"
    undo = f"yaadwatch link {start[-8:]} {kind} {end[-8:]}{weight}"
    return _row(ended, ends, undo) | {"ended": True}


def _kind(given: str) -> str:
    kind = canonical_kind(given)
    if kind in OURS:
        raise YaadError(
            Code.REFUSED,
            f"Edges of the kind {kind} are made by yaadwatch alone; nothing was changed.",
            hint=OURS[kind],
        )
    return kind


def _link(conn: Connection, edge: Edge, now: datetime) -> tuple[dict[str, Node], bool, bool]:
    """Return both ends, whether the edge is new, and whether its weight is."""
    ends = _ends(conn, edge)
    for node in ends.values():
        if node.archived_at is not None:
            raise YaadError(
                Code.REFUSED,
                f"Memory {node.id[-8:]} is archived ({node.archive_reason}); nothing was linked.",
                hint=f"Bring it back first: yaadwatch restore {node.id[-8:]}",
            )
    if not edges.insert(conn, edge):
        return ends, False, edges.weigh(conn, edge, now)
    body: dict[str, object] = {"to": edge.to_node, "kind": edge.kind}
    log.append(conn, Event(kind=events.EDGE_CREATED, at=now, subject=edge.from_node, body=body))
    return ends, True, False


def _unlink(conn: Connection, edge: Edge, now: datetime) -> tuple[dict[str, Node], Edge | None]:
    """Return both ends, and the edge that was there."""
    ends = _ends(conn, edge)
    there = next(
        (
            row
            for row in edges.of_node(conn, edge.from_node)
            if (row.from_node, row.kind, row.to_node) == (edge.from_node, edge.kind, edge.to_node)
        ),
        None,
    )
    if there is None:
        return ends, None
    edges.close(conn, there, now)
    body: dict[str, object] = {"to": edge.to_node, "kind": edge.kind}
    log.append(conn, Event(kind=events.EDGE_CLOSED, at=now, subject=edge.from_node, body=body))
    return ends, replace(there, valid_until=now)


def _ends(conn: Connection, edge: Edge) -> dict[str, Node]:
    """Return the two memories of an edge.

    Raises:
        YaadError: NOT_FOUND when one was erased meanwhile.
    """
    found = nodes.many(conn, [edge.from_node, edge.to_node])
    for node in (edge.from_node, edge.to_node):
        if node not in found:
            raise YaadError(
                Code.NOT_FOUND, f"Memory {node[-8:]} was erased meanwhile; nothing was changed."
            )
    return found


def _row(edge: Edge, ends: dict[str, Node], undo: str) -> dict[str, object]:
    return {
        "id": edge.from_node,
        "kind": edge.kind,
        "to": edge.to_node,
        "weight": edge.weight,
        "text": ends[edge.from_node].text,
        "to_text": ends[edge.to_node].text,
        "undo": undo or None,
    }
