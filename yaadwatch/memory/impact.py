"""Compute how flags spread along edges, and how confidence decays with age.

A node takes the strongest path from a flagged node, at most three hops long. Paths are not added
up: ten weak reasons are not one strong reason, and a circle gains nothing. Confidence is a function
of age, computed and never stored.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from yaadwatch.model.memories import Edge
from yaadwatch.model.settings import IMPACT_HOPS_MAX


@dataclass(frozen=True, slots=True)
class Carry:
    """The share of a flag that an edge passes to its start and to its end; 0 to below 1."""

    back: float = 0.0
    forth: float = 0.0


CARRIES: Final[Mapping[str, Carry]] = {
    # A memory that depends on a false one is more often false than not.
    "depends_on": Carry(back=0.8),
    # A statement about the whole applies to its parts; one bad part says less about the whole.
    "part_of": Carry(back=0.6, forth=0.3),
    # A lost cause leaves its effect unexplained. An effect says nothing about
    # its cause.
    "caused_by": Carry(back=0.6),
    "led_to": Carry(forth=0.6),
    # Most memories about the same thing are about another aspect of it.
    "touches": Carry(back=0.3),
}
"""Edge kinds that spread flags; all others spread none. The shares are estimates: there is no
labelled set of linked memories to fit them on."""

PART_MIN: Final = 0.2
"""Weaker flags are not reported, because nearly everything is linked somehow."""
WARN_MIN: Final = 0.68
"""A spread flag is a warning from here on, and a suspicion below: what depends
with full weight on a memory whose only file is gone (0.85 by `verdict.WEIGHTS`, 0.8 of it carried).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """The path by which a flag came to a node.

    Args:
        node: its id.
        part: the remaining strength of the flag, 0.0 to 1.0.
        path: the ids on the path, from the flagged source to `node`.
        edges: the edges between them, one less.
    """

    node: str
    part: float
    path: tuple[str, ...]
    edges: tuple[Edge, ...] = ()


class Graph:
    """Edges indexed by the direction in which they spread flags; their order does not matter.

    Edges of kinds that spread nothing are left out.
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
        self,
        sources: Mapping[str, float],
        halts: Callable[[Edge, str], bool] = lambda _edge, _node: False,
    ) -> dict[str, Reached]:
        """Return every node that flags reach, sources included, with the strongest path.

        Ties go to the shortest path, then to the one whose ids sort first.

        Args:
            sources: flagged nodes and their strength, 0.0 to 1.0.
            halts: given an edge and the end a flag would reach, whether the flag stops before it.
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

        Only edges between the given nodes count.
        """
        ids = sorted(set(nodes))
        rank = dict.fromkeys(ids, 1.0 / len(ids)) if ids else {}
        # Rank flows against flags: from a node to what it rests on.
        rests: dict[str, list[tuple[str, float]]] = {node: [] for node in ids}
        for start in ids:
            for end, part, _ in sorted(
                self._steps.get(start, ()), key=lambda step: (step[0], step[1], step[2].kind)
            ):
                if end in rests:
                    rests[end].append((start, part))
        for _ in range(40):  # the remaining error is below a thousandth
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
"""The share of the rank of a node that it passes on, as in PageRank."""


def level_of(part: float) -> str:
    """Return 'warn', 'suspect', or '' for a flag too weak to report."""
    if part >= WARN_MIN:
        return "warn"
    return "suspect" if part >= PART_MIN else ""


def words(edge: Edge, node: str) -> str:
    """Return how `node` relates to the other end of an edge: "depends on"."""
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
    def order(reached: Reached) -> tuple[object, ...]:
        edges = tuple((edge.kind, edge.from_node, edge.weight) for edge in reached.edges)
        return (-reached.part, len(reached.path), reached.path, edges)

    return other if one is None else min(one, other, key=order)


SANE_FROM: Final = datetime(2005, 1, 1, tzinfo=UTC)
"""Earlier times are invalid: a column of zeros, a machine without a clock. Git is that old."""


def boosted(left: float, boost: float) -> float:
    """Return the confidence of a recalled memory: higher than `left`, at most 1.0.

    Args:
        left: its effective confidence, 0.0 to 1.0.
        boost: not negative.
    """
    return min(1.0, left + boost)


def too_many(fading: int, living: int) -> bool:
    """Return whether so many memories would fade at once that the clock or data must be wrong.

    A clock that jumped ahead, or times lost in an import, look like great age.
    """
    return fading > max(20, living * 0.5)


def confidence(
    stated: float,
    confirmed_at: datetime,
    now: datetime,
    *,
    half_life: timedelta,
    ages: bool = True,
    hasty: bool = False,
    accessed_at: datetime | None = None,
) -> float:
    """Return the confidence of a memory at `now`, from 0.0 to 1.0.

    Its age starts when it was confirmed or last recalled. Without a plausible time it has none.

    Args:
        stated: confidence when the memory was last confirmed, 0.0 to 1.0.
        confirmed_at: when that was, aware. A time after `now` counts as `now`.
        now: aware.
        half_life: the age at which half is left; positive.
        ages: not for pinned memories, and those in a person's own file.
        hasty: it ages twice as fast: an orphan or superseded memory. One that is both does, too,
            because superseding a memory often takes its links.
        accessed_at: when a recall last raised `stated`, aware; its age counts from there.

    Raises:
        ValueError: `stated` is outside 0.0 to 1.0, or `half_life` is not positive.
    """
    if not 0.0 <= stated <= 1.0:
        raise ValueError(f"stated must be within 0.0 and 1.0, got {stated!r}")
    if half_life <= timedelta(0):
        raise ValueError(f"half_life must be positive, got {half_life}")
    if not ages:
        return stated
    known = [at for at in (confirmed_at, accessed_at) if at is not None and at >= SANE_FROM]
    age = max(now - max(known, default=now), timedelta(0))
    half_lives: float = age / half_life * (2 if hasty else 1)
    return float(stated * 0.5**half_lives)
