"""Which of the memories that were found answers best? Relevance first, everything else mildly.

Confidence, recency, tier and pin together move a memory by a tenth at most: they decide between
near equals and bury nothing. What the question names is above all else.
"""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from yaadwatch.core.text import normalise
from yaadwatch.core.truth.decay import effective_confidence
from yaadwatch.model.nodes import COLD, HOT
from yaadwatch.model.settings import Settings

USED_MOST: Final = 0.03
"""How far having been of use may raise a score."""
_HALF_AT: Final = 2  # sessions in which half of that is reached


def usage_factor(used: int) -> float:
    """Return by how much a score is raised: from 1.0, without any use, to below 1.03.

    Args:
        used: sessions in which the memory was shown and of use; each one adds less than the last.
    """
    count = max(used, 0)
    return 1.0 + USED_MOST * count / (count + _HALF_AT)


Name = TypeVar("Name", bound=Hashable)
MILD: Final = 0.1
"""How far confidence, recency, tier and pin together may move a score, up or down."""

_EXACT = 10.0  # far above what relevance and the mild factors can give

# The shares of the mild factors; together 1.
_CONFIDENCE, _RECENCY, _TIER, _PIN = 0.4, 0.25, 0.2, 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that was found.

    `relevance`: positive, more is better; 0 for what was found by its name only. `confidence`: what
    is left of it, 0.0 to 1.0. `exact`: see `is_exact`. `used`: in how many sessions.
    """

    id: str
    relevance: float
    confidence: float
    updated_at: datetime
    tier: int
    pinned: bool = False
    exact: bool = False
    used: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate and its score, 0.0 to 1.0; the best has 1.0."""

    candidate: Candidate
    score: float


def is_exact(
    query: str,
    *,
    text: str,
    summary: str = "",
    key: str | None = None,
    paths: Sequence[str] = (),
) -> bool:
    """Tell whether `query` is a memory's whole text, its title, its key, or what it is about.

    The title is the summary; what it is about is a path, or the end of one.
    """
    wanted = exact_form(query)
    if not wanted:
        return False
    if wanted in (exact_form(text), exact_form(summary), (key or "").casefold()):
        return True
    ending = "/" + wanted.removeprefix("./")
    return any(f"/{path}".casefold().endswith(ending) for path in paths)


def exact_form(query: str) -> str:
    """Return what a question has in common with what it names: case and quotes do not matter."""
    return normalise(query.strip("`'\" ")).casefold()


def rank(candidates: Sequence[Candidate], *, now: datetime, settings: Settings) -> list[Ranked]:
    """Return the candidates, best first: the exact ones, then the others. Equals keep their order.

    A memory is never ranked below one that is less relevant by more than the mild factors can make
    up for (a ratio of 1.1 to 0.9, and what use it was), unless the other one is exact.
    """
    if not candidates:
        return []
    most = max(candidate.relevance for candidate in candidates) or 1.0
    half_life = timedelta(days=settings.memory.half_life_days)
    points = [
        (candidate.relevance / most + _EXACT * candidate.exact)
        * mild_factor(candidate, now=now, half_life=half_life)
        * usage_factor(candidate.used)
        for candidate in candidates
    ]
    best = max(points) or 1.0
    ranked = [
        Ranked(candidate=candidate, score=each / best)
        for candidate, each in zip(candidates, points, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.score)


def worth_ranking(scores: Mapping[Name, float], count: int) -> list[Name]:
    """Return, best first, those that may be among the `count` best whatever the mild factors do."""
    ordered = sorted(scores, key=scores.__getitem__, reverse=True)
    if len(ordered) <= count:
        return ordered
    least = scores[ordered[count - 1]] * (1 - MILD) / ((1 + MILD) * (1 + USED_MOST))
    return [name for name in ordered if scores[name] >= least]


def mild_factor(candidate: Candidate, *, now: datetime, half_life: timedelta) -> float:
    """Return by how much all that is not relevance raises or lowers a score: 0.9 to 1.1."""
    recency = effective_confidence(1.0, now - candidate.updated_at, half_life=half_life)
    share = (
        _CONFIDENCE * candidate.confidence
        + _RECENCY * recency
        + _TIER * (COLD - candidate.tier) / (COLD - HOT)
        + _PIN * candidate.pinned
    )
    return 1 - MILD + 2 * MILD * share


_LEAST: Final = 0.2  # what a store's best counts at least, whatever it holds of the question


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What a store answers, best first, its best with 1.0.

    `covered`: which share of the question its best one holds, 0.0 to 1.0.
    """

    ranked: Sequence[Ranked]
    covered: float


def merge_stores(stores: Sequence[Answers], *, shadowed: Collection[str] = ()) -> list[Ranked]:
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
