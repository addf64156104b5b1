"""What do the relations add to what was found? A tenth at most, and nothing that was not found.

Measured before: a list of neighbours as an equal partner of the other lists ruins the ranking,
because neighbours of a good answer are many; a bounded boost of what was found anyway helps.
"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from yaadwatch.core.recall.intent import edge_weight

Name = TypeVar("Name", bound=Hashable)
BOOST_MAX: Final = 0.1
"""How much a relation may raise a score, as a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link(Generic[Name]):
    """Two nodes that an edge connects; `weight`: of the edge, 1.0 when nobody said otherwise."""

    one: Name
    other: Name
    kind: str
    weight: float


def boosted(
    scores: Mapping[Name, float], links: Iterable[Link[Name]], *, intent: str
) -> dict[Name, float]:
    """Return the scores, those of nodes raised that are related to others that were found.

    The strongest relation counts, not their number: by the score of the other end (as a share of
    the best), the weight of the edge, and how much its kind leads to what the question wants.
    """
    best = max(scores.values(), default=0.0)
    if best <= 0.0:
        return dict(scores)
    pull: dict[Name, float] = {}
    for link in links:
        if link.one == link.other or link.one not in scores or link.other not in scores:
            continue
        strength = edge_weight(intent, link.kind) * min(max(link.weight, 0.0), 1.0)
        for here, there in ((link.one, link.other), (link.other, link.one)):
            pull[here] = max(pull.get(here, 0.0), strength * scores[there] / best)
    return {
        name: score * (1 + BOOST_MAX * pull[name]) if name in pull else score
        for name, score in scores.items()
    }
