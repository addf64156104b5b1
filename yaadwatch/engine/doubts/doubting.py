"""Which memories are in doubt here now: those whose own files say so, and those that rest on them.

Only the first are written down. What doubt reaches along edges is computed when it is asked for,
from the flags and the edges as they are: it goes by itself when its source is confirmed, mended or
forgotten, or when the edge is taken away.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Protocol

from yaadwatch.core.quoting import quoted
from yaadwatch.core.truth import decay, impact
from yaadwatch.core.truth.impact import CARRIES, Graph, Reached
from yaadwatch.model.anchors import Flag, Verdict
from yaadwatch.model.edges import Edge
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.model.settings import IMPACT_EDGES_MAX, IMPACT_HOPS_MAX, Settings
from yaadwatch.store import edges, flags, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession


class Ageing(Protocol):
    """What the age of a memory is computed from; a node has it."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def kind(self) -> str:
        """Return its kind."""

    @property
    def confidence(self) -> float:
        """Return how sure it was, 0.0 to 1.0."""

    @property
    def confirmed_at(self) -> datetime:
        """Return since when it ages."""

    @property
    def accessed_at(self) -> datetime | None:
        """Return when it was recalled last."""

    @property
    def pinned(self) -> bool:
        """Return whether it does not age."""


def confidences(
    conn: Connection, memories: Sequence[Ageing], settings: Settings, now: datetime
) -> dict[str, float]:
    """Return what is left of each memory's confidence at `now`, by id, from 0.0 to 1.0."""
    ids = [node.id for node in memories]
    degrees = edges.degrees(conn, ids)
    superseded = supersession.successors(conn, ids)
    said = provenance.said(conn, ids)
    return {
        node.id: decay.confidence(
            node.confidence,
            node.confirmed_at,
            now,
            half_life=settings.memory.half_life(node.kind),
            facts=decay.Facts(
                orphan=not degrees.get(node.id, 0),
                superseded=node.id in superseded,
                pinned=node.pinned,
                said=node.id in said,
            ),
            accessed_at=node.accessed_at,
        )
        for node in memories
    }


PASSED_ON = {Verdict.GONE: 1.0, Verdict.CHANGED: 1.0, Verdict.MOVED: 0.5}
"""The part of a doubt that concerns others: what only moved is as true as before."""
SUMMARY_CHARS = 60


def of_worktree(conn: Connection, worktree: int) -> list[Flag]:
    """Return the doubts of a work tree, by node, the unknown ones among them.

    One that came along edges has a `via`: the ids it came by, from the memory whose own files are
    the reason to the one right before this.
    """
    direct = {flag.node: flag for flag in flags.of_worktree(conn, worktree)}
    reached = _reached(conn, worktree, direct, around(conn, _spreading(direct)))
    return sorted((*direct.values(), *reached.values()), key=lambda flag: flag.node)


def of_nodes(conn: Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the doubts about these memories, as `of_worktree` has them, by node."""
    wanted = set(ids)
    linked = around(conn, wanted)
    near = wanted | {end for edge in linked for end in (edge.from_node, edge.to_node)}
    direct = flags.of_nodes(conn, worktree, near)
    found = direct | _reached(conn, worktree, direct, linked)
    return {node: found[node] for node in sorted(wanted & found.keys())}


def around(conn: Connection, start: Iterable[str]) -> list[Edge]:
    """Return the edges that could carry doubt from `start`, as far as doubt can come."""
    found: dict[Edge, None] = {}
    seen: set[str] = set()
    layer = set(start)
    for _ in range(IMPACT_HOPS_MAX):
        if not layer:
            break
        seen |= layer
        rows = edges.between_memories(conn, layer, CARRIES, IMPACT_EDGES_MAX)
        found |= dict.fromkeys(rows)
        layer = {end for row in rows for end in (row.from_node, row.to_node)} - seen
    return list(found)


def _spreading(direct: Mapping[str, Flag]) -> dict[str, Flag]:
    return {node: flag for node, flag in direct.items() if flag.verdict in PASSED_ON}


def _reached(
    conn: Connection, worktree: int, direct: Mapping[str, Flag], linked: Sequence[Edge]
) -> dict[str, Flag]:
    """Return the doubts that the `direct` ones spread along edges, by node."""
    sources = _spreading(direct)
    if not linked or not sources:
        return {}
    ends = {end for edge in linked for end in (edge.from_node, edge.to_node)}
    hidden = provenance.hidden(conn, worktree)
    living = {
        node.id: node
        for node in nodes.many(conn, ends).values()
        if node.archived_at is None and node.kind not in THINGS and node.id not in hidden
    }
    graph = Graph(linked)
    best: dict[str, Reached] = {}
    for source, flag in sources.items():
        if source not in living:
            continue
        for node, reached in _from(flag, graph, living).items():
            if node not in direct and (node not in best or reached.part > best[node].part):
                best[node] = reached
    return {
        node: _flag(reached, sources[reached.path[0]], living)
        for node, reached in best.items()
        if impact.level_of(reached.part)
    }


def _from(flag: Flag, graph: Graph, living: Mapping[str, Node]) -> dict[str, Reached]:
    """Return what one doubt reaches.

    It stops at a memory that somebody confirmed since they could know of it: with the doubt raised,
    and the edge made.
    """

    def halts(edge: Edge, node: str) -> bool:
        if node not in living:
            return True
        return living[node].confirmed_at >= max(flag.since, edge.created_at)

    return graph.spread({flag.node: flag.score * PASSED_ON[flag.verdict]}, halts)


def _flag(reached: Reached, source: Flag, living: Mapping[str, Node]) -> Flag:
    before = reached.path[-2]
    said = f"{impact.words(reached.edges[-1], reached.node)} {_named(living[before])}"
    through = "" if before == source.node else f" through {_named(living[source.node])}"
    return replace(
        source,
        node=reached.node,
        score=round(reached.part, 4),
        level=impact.level_of(reached.part),
        reason=f"{said}, which is in doubt{through}: {source.reason}",
        suggestion=None,
        via=reached.path[:-1],
    )


def _named(node: Node) -> str:
    text = node.summary
    short = text if len(text) <= SUMMARY_CHARS else f"{text[: SUMMARY_CHARS - 3]}..."
    return f"{called(node.id)} ({quoted(short)})"
