"""A memory stands in the place of another one until that is said anew.

Whoever says the old words again means them; what they contradict is told then. Only an agent cannot
take back that a person put something else in their place.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final

from yaadwatch.engine import json_views
from yaadwatch.engine.store_lookup import Shelf
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import AGENT, Home
from yaadwatch.model import events
from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.model.nodes import Node
from yaadwatch.store import edges, hot, nodes, visibility
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession
from yaadwatch.store.visibility import seen_from

IMPORT: Final = "import"
"""What the origin begins with of what came from somewhere else."""


def stated_anew(conn: Connection, node: str, now: datetime, *, actor: str) -> None:
    """End, inside a transaction, that others stand in the place of a memory that is said anew.

    Where a hidden memory stands in its place (see `store.visibility`), and nothing of this branch
    by it, that stays so: on its own branch it was not stated again.

    Args:
        conn: the transaction.
        node: the memory.
        now: when it is said.
        actor: who says it. An agent or an import ends nothing where a person's memory is among
            those that stand in its place.
    """
    if not supersession.has_given_way(conn, node):
        return
    away = visibility.hidden(conn)
    if not is_person(actor):
        later = supersession.successors(conn, [node]).get(node, set())
        if hot.persons(conn, later):
            return
    for edge in edges.of_node(conn, node):
        if edge.kind == SUPERSEDES and edge.to_node == node:
            new = edge.from_node
            if new in away and not supersession.successors(conn, [new]):
                continue
            edges.close(conn, edge, now)
            log.append_edge(conn, events.EDGE_CLOSED, edge, now)


def may_put_in_place(conn: Connection, new: str, old: str, *, actor: str) -> bool:
    """Return whether somebody may put one memory in the place of another.

    An agent does not choose between what a person said and what a person said; its own words beside
    a person's stand in their place only once a person says them.
    """
    return is_person(actor) or len(hot.persons(conn, [new, old])) < 2


def is_person(actor: str) -> bool:
    """Return whether a person did something: by a command, or in a file of theirs."""
    return not actor.startswith((AGENT, IMPORT))


def here(
    home: Home, shelf: Shelf, ids: Collection[str], *, everywhere: bool = False
) -> dict[str, list[str]]:
    """Return those of `ids` in whose place others stand, each with the ids of these.

    Args:
        home: what may be reached.
        shelf: the store of them all.
        ids: of memories.
        everywhere: those that belong to other branches count, too.
    """
    later = shelf.db.read(supersession.successors, ids)
    if later and not everywhere:
        later = shelf.db.read(seen_from, view_of(home, shelf), supersession.successors, ids)
    return {old: sorted(new) for old, new in later.items()}


def told_of_both(home: Home, shelf: Shelf, node: str) -> dict[str, object]:
    """Return what `told` does, and in the place of what the memory stands; mostly nothing.

    Who confirms the words of an agent may put them in the place of a person's by that.
    """
    former = shelf.db.read(supersession.predecessors, node)
    if former:
        former = shelf.db.read(seen_from, view_of(home, shelf), supersession.predecessors, node)
    before = shelf.db.read(nodes.many, former) if former else {}
    stands = shelf.db.read(_attributed, before)
    return told(home, shelf, node) | ({"stands_for": stands} if stands else {})


def told(home: Home, shelf: Shelf, node: str) -> dict[str, object]:
    """Return the part of an answer that says what stands in the place of a memory; mostly none."""
    later = here(home, shelf, [node]).get(node)
    if not later:
        return {}
    found = shelf.db.read(nodes.many, later)
    return {"superseded_by": shelf.db.read(_attributed, found)}


def _attributed(conn: Connection, found: Mapping[str, Node]) -> list[dict[str, object]]:
    rows = [{"id": one.id, "text": one.summary} for one in found.values()]
    return json_views.attributed(conn, rows)
