"""How doubt spreads: from what is doubted to what rests on it, fading with every hop.

A node is as doubtful as the strongest way by which doubt reaches it, at most three hops long. Ways
are not added up: ten weak reasons are not one strong reason, and a circle gains nothing.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from yaadwatch.model.edges import Edge
from yaadwatch.model.settings import IMPACT_HOPS_MAX


@dataclass(frozen=True, slots=True)
class Carry:
    """The part of a doubt that an edge carries: to its beginning, and to its end; 0 to below 1."""

    back: float = 0.0
    forth: float = 0.0


CARRIES: Final[Mapping[str, Carry]] = {
    # What depends on something false is false more often than not.
    "depends_on": Carry(back=0.8),
    # What is said of the whole holds for its parts; one bad part says less about the whole.
    "part_of": Carry(back=0.6, forth=0.3),
    # A reason that fell away leaves what it caused without one. What was caused says nothing about
    # its cause.
    "caused_by": Carry(back=0.6),
    "led_to": Carry(forth=0.6),
    # Most of what speaks of the same thing speaks of another side of it.
    "touches": Carry(back=0.3),
}
"""Kinds that carry doubt. All others carry none; order in time is no edge at all. Set by judgement:
no set of linked memories with known answers exists to fit them on."""

PART_MIN: Final = 0.2
"""Less than this is not told: everything is linked with everything somehow."""
WARN_MIN: Final = 0.68
"""Doubt that came from elsewhere is a warning from here on, and a suspicion below: what depends
with full weight on a memory whose only file is gone (0.85 by `doubt.weights`, 0.8 of it carried).
"""

Halts = Callable[[Edge, str], bool]
"""Given an edge and the end of it that doubt would reach, whether the doubt stops before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How doubt came to a node.

    Args:
        node: its id.
        part: what is left of the doubt, 0.0 to 1.0.
        path: the ids on the way, from where the doubt began to `node`.
        edges: the edges between them, one less.
    """

    node: str
    part: float
    path: tuple[str, ...]
    edges: tuple[Edge, ...] = ()


class Graph:
    """Edges, ready to be walked in the direction in which they carry doubt; their order is nothing.

    Edges of kinds that carry no doubt are left out.
    """

    def __init__(self, edges: Iterable[Edge]) -> None:
        self._steps: dict[str, list[tuple[str, float, Edge]]] = {}
        for edge in edges:
            carry = CARRIES.get(edge.kind)
            if carry is None or edge.from_node == edge.to_node:
                continue
            weight = min(max(edge.weight, 0.0), 1.0)
            for start, end, part in (
                (edge.to_node, edge.from_node, carry.back * weight),
                (edge.from_node, edge.to_node, carry.forth * weight),
            ):
                if part > 0.0:
                    self._steps.setdefault(start, []).append((end, part, edge))

    def spread(
        self, sources: Mapping[str, float], halts: Halts = lambda _edge, _node: False
    ) -> dict[str, Reached]:
        """Return every node that doubt reaches, the sources among them, with the strongest way.

        Of ways of the same strength the shortest counts, then the one whose ids sort first.

        Args:
            sources: what is doubted, and how much, 0.0 to 1.0.
            halts: where doubt stops.
        """
        layer = {
            node: Reached(node=node, part=min(max(part, 0.0), 1.0), path=(node,))
            for node, part in sources.items()
        }
        best = dict(layer)
        for _ in range(IMPACT_HOPS_MAX):
            following: dict[str, Reached] = {}
            for reached in layer.values():
                for end, part, edge in self._steps.get(reached.node, ()):
                    if halts(edge, end):
                        continue
                    come = Reached(
                        node=end,
                        part=reached.part * part,
                        path=(*reached.path, end),
                        edges=(*reached.edges, edge),
                    )
                    following[end] = _stronger(following.get(end), come)
            for node, come in following.items():
                best[node] = _stronger(best.get(node), come)
            layer = following
        return best

    def centrality(self, nodes: Iterable[str]) -> dict[str, float]:
        """Return how much of these nodes rests on each of them, by PageRank; the sum is 1.

        A node counts for more when more of the others would be in doubt with it. Only edges between
        the given nodes count.
        """
        ids = sorted(set(nodes))
        rank = dict.fromkeys(ids, 1.0 / len(ids)) if ids else {}
        # Rank flows against doubt: from what rests to what it rests on.
        rests: dict[str, list[tuple[str, float]]] = {node: [] for node in ids}
        for start in ids:
            for end, part, _ in sorted(self._steps.get(start, ()), key=_step_order):
                if end in rests:
                    rests[end].append((start, part))
        for _ in range(_ROUNDS):
            given = dict.fromkeys(ids, 0.0)
            for node in ids:
                whole = sum(part for _, part in rests[node])
                for start, part in rests[node]:
                    given[start] += rank[node] * part / whole
            lost = 1.0 - sum(given.values())
            rank = {
                node: (1 - _FOLLOWED) / len(ids) + _FOLLOWED * (given[node] + lost / len(ids))
                for node in ids
            }
        return rank


_FOLLOWED: Final = 0.85
_ROUNDS: Final = 40
"""Rounds of PageRank; what is left to settle after these is below a thousandth."""


def level_of(part: float) -> str:
    """Return 'warn', 'suspect', or '' for doubt that came from elsewhere and is not told."""
    if part >= WARN_MIN:
        return "warn"
    return "suspect" if part >= PART_MIN else ""


def words(edge: Edge, node: str) -> str:
    """Return how `node` relates to the other end of an edge that carries doubt: "depends on"."""
    forward, backward = _WORDS[edge.kind]
    return forward if edge.from_node == node else backward


_WORDS: Final = {
    "depends_on": ("depends on", "is needed by"),
    "part_of": ("is part of", "has as a part"),
    "caused_by": ("was caused by", "caused"),
    "led_to": ("led to", "follows from"),
    "touches": ("touches", "is touched by"),
}


def _stronger(one: Reached | None, other: Reached) -> Reached:
    if one is None:
        return other
    return min(one, other, key=_order)


def _order(reached: Reached) -> tuple[object, ...]:
    edges = tuple((edge.kind, edge.from_node, edge.weight) for edge in reached.edges)
    return (-reached.part, len(reached.path), reached.path, edges)


def _step_order(step: tuple[str, float, Edge]) -> tuple[str, float, str, str]:
    end, part, edge = step
    return end, part, edge.kind, edge.from_node
