"""What do the answers of two stores make together? The project's own words shadow the user's."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.core.recall.rank import Ranked

_LEAST: Final = 0.2  # what a store's best counts at least, whatever it holds of the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a store answers, best first, its best with 1.0.

    `covered`: which share of the question its best one holds, 0.0 to 1.0.
    """

    ranked: Sequence[Ranked]
    covered: float


def merged(stores: Sequence[Answers], *, shadowed: Collection[str] = ()) -> list[Ranked]:
    """Return the answers of all stores, best first; what is exact stays in front.

    Scores of two stores cannot be compared, because a word is rare in the one and not in the other.
    So each store's are shares of its best one, which counts by how much of the question it holds.

    Args:
        stores: the nearest first; of equals, its answers come first.
        shadowed: ids that another memory of the same key stands for; they are left out.
    """
    most = max((store.covered for store in stores if store.ranked), default=0.0)
    found = []
    for store in stores:
        kept = [each for each in store.ranked if each.candidate.id not in shadowed]
        best = max((each.score for each in kept), default=0.0) or 1.0
        part = max(store.covered / most, _LEAST) if most > 0.0 else 1.0
        found += [Ranked(candidate=each.candidate, score=each.score / best * part) for each in kept]
    found.sort(key=lambda each: (not each.candidate.exact, -each.score))
    highest = max((each.score for each in found), default=0.0) or 1.0
    return [Ranked(candidate=each.candidate, score=each.score / highest) for each in found]
