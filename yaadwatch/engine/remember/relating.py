"""Relate a memory to what its words name, and to the few other memories that name the same.

What it rests on is related by `node_changes`; these edges are marked, so that neither undoes the
other.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from yaadwatch.engine import node_changes
from yaadwatch.engine.node_changes import NAMED
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.edges import Edge
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import Node
from yaadwatch.store import edges, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection

RARE_MAX: Final = 4
"""A thing that more living memories touch says little of what they have in common."""
RELATED_MAX: Final = 5
"""Other memories that one is related to for a thing they share, at most."""
BY_WORDS: Final[Mapping[str, object]] = {"how": NAMED}
"""What an edge says that leads to what the words of a memory name."""


def relate(
    conn: Connection,
    home: Home,
    node: Node,
    names: Sequence[str],
    now: datetime,
    *,
    known: Sequence[Edge],
    others: bool,
) -> None:
    """Make `names` what the words of a memory name, and nothing else, inside a transaction.

    Args:
        conn: the transaction.
        home: what may be reached.
        node: the memory; what it rests on is written down already.
        names: packages, addresses and ports, as their nodes are called.
        now: the time.
        known: the edges that begin or end in the memory and hold.
        others: relate it to memories that share a rare thing with it, too.
    """
    things = [node_changes.thing(conn, home, node, name, now) for name in names]
    for one in things:
        _begin(conn, _edge(node.id, "touches", one, now))
    named = {one.id for one in things}
    touched = named | rested_on(known)
    for edge in lost(node, known, named, touched):
        edges.close(conn, edge, now)
        log.append(conn, _event(events.EDGE_CLOSED, edge, now))
    if others:
        relate_others(conn, node, touched, known, now)


def rested_on(known: Iterable[Edge]) -> set[str]:
    """Return the ids of what is touched by these edges, and is not only named."""
    return {
        edge.to_node
        for edge in known
        if edge.kind == "touches" and edge.attributes.get("how") != NAMED
    }


def lost(
    node: Node, known: Iterable[Edge], named: Collection[str], touched: Collection[str]
) -> list[Edge]:
    """Return those of its edges that a memory has for words that it does not say any more.

    Args:
        node: the memory.
        known: the edges that begin or end in it.
        named: the ids of what its words name.
        touched: the ids of that and of what it rests on.
    """
    return [
        edge
        for edge in known
        if edge.attributes.get("how") == NAMED
        and (
            (edge.kind == "touches" and edge.from_node == node.id and edge.to_node not in named)
            or (edge.kind == "relates_to" and edge.attributes.get("thing") not in touched)
        )
    ]


def relate_others(
    conn: Connection, node: Node, touched: Iterable[str], known: Sequence[Edge], now: datetime
) -> None:
    """Relate a memory to those that touch the same rare things: no files, which many touch.

    Args:
        conn: the transaction.
        node: the memory.
        touched: the ids of what it touches.
        known: the edges that it has to and from others.
        now: the time.
    """
    related = {edge.from_node for edge in known} | {edge.to_node for edge in known}
    room = RELATED_MAX
    for one in nodes.many(conn, touched).values():
        sharing = edges.touching(conn, one.id, RARE_MAX + 1) if one.kind == "entity" else []
        if len(sharing) > RARE_MAX:
            continue
        for other in sharing:
            if room and other not in related and other != node.id:
                edge = _edge(node.id, "relates_to", one, now)
                _begin(conn, replace(edge, to_node=other, weight=0.5))
                related.add(other)
                room -= 1


def _edge(start: str, kind: str, thing: Node, now: datetime) -> Edge:
    """Return an edge to what is named; its attributes say what that is."""
    more = {"how": NAMED, "thing": thing.id, "shared": thing.text}
    return Edge(
        from_node=start,
        to_node=thing.id,
        kind=kind,
        attributes=BY_WORDS if kind == "touches" else more,
        created_at=now,
        valid_from=now,
    )


def _begin(conn: Connection, edge: Edge) -> None:
    if edges.begin(conn, edge):
        log.append(conn, _event(events.EDGE_CREATED, edge, edge.created_at))


def _event(kind: str, edge: Edge, now: datetime) -> Event:
    body: dict[str, object] = {"to": edge.to_node, "kind": edge.kind}
    return Event(kind=kind, at=now, subject=edge.from_node, body=body)
