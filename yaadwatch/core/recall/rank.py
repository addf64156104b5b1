"""Which of the memories that were found answers best? Relevance first, everything else mildly.

Relevance is BM25, raised by up to a half where words that stand side by side in the question stand
so in the text. Confidence, recency, tier and pin together move a memory by a tenth at most: they
decide between near equals and bury nothing.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from yaadwatch.core.recall.query import STOP_WORDS, words
from yaadwatch.core.text import normalise
from yaadwatch.core.truth.decay import effective_confidence
from yaadwatch.model.nodes import COLD, HOT
from yaadwatch.model.settings import Settings

MILD: Final = 0.1
"""How far confidence, recency, tier and pin together may move a score, up or down."""

_SIDE_BY_SIDE = 0.5
_PAIRS_MAX = 32
_TEXTS_READ_MAX = 50
_CHARS_READ_MAX = 20_000
_EXACT = 10.0  # far above what relevance and the mild factors can give

# The shares of the mild factors; together 1.
_CONFIDENCE, _RECENCY, _TIER, _PIN = 0.4, 0.25, 0.2, 0.15

_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A memory that was found.

    `bm25`: positive, more is better; 0 for what was found by its name only. `confidence`: what is
    left of it, 0.0 to 1.0. `exact`: see `is_exact`.
    """

    id: str
    text: str
    bm25: float
    confidence: float
    updated_at: datetime
    tier: int
    pinned: bool = False
    exact: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranked:
    """A candidate and its score, 0.0 to 1.0; the best has 1.0."""

    candidate: Candidate
    score: float


def is_exact(query: str, *, text: str, key: str | None = None, paths: Sequence[str] = ()) -> bool:
    """Tell whether `query` is a memory's whole text, its key, or a path (its end) it is about."""
    wanted = normalise(query.strip("`'\" ")).casefold()
    if not wanted:
        return False
    if wanted in (normalise(text).casefold(), (key or "").casefold()):
        return True
    ending = "/" + wanted.removeprefix("./")
    return any(f"/{path}".casefold().endswith(ending) for path in paths)


def rank(
    query: str, candidates: Sequence[Candidate], *, now: datetime, settings: Settings
) -> list[Ranked]:
    """Return the candidates, best first: the exact ones, then the others. Equals keep their order.

    A memory is never ranked below one that is less relevant by more than the mild factors can make
    up for (a ratio of 1.1 to 0.9), unless the other one is exact.
    """
    if not candidates:
        return []
    most = max(candidate.bm25 for candidate in candidates) or 1.0
    close = _closeness(query, candidates)
    half_life = timedelta(days=settings.memory.half_life_days)
    points = []
    for candidate in candidates:
        relevance = candidate.bm25 / most * (1 + _SIDE_BY_SIDE * close.get(candidate.id, 0.0))
        mild = mild_factor(candidate, now=now, half_life=half_life)
        points.append((relevance + _EXACT * candidate.exact) * mild)
    best = max(points) or 1.0
    ranked = [
        Ranked(candidate=candidate, score=each / best)
        for candidate, each in zip(candidates, points, strict=True)
    ]
    return sorted(ranked, key=lambda each: -each.score)


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


def _closeness(query: str, candidates: Sequence[Candidate]) -> dict[str, float]:
    """Return, for the most relevant candidates, the share of the question's pairs they contain."""
    pairs = _pairs(query)
    if not pairs:
        return {}
    nearest = sorted(candidates, key=lambda candidate: -candidate.bm25)[:_TEXTS_READ_MAX]
    close = {}
    for candidate in nearest:
        text = candidate.text[:_CHARS_READ_MAX].lower()
        close[candidate.id] = sum(bool(pair.search(text)) for pair in pairs) / len(pairs)
    return close


def _pairs(query: str) -> list[re.Pattern[str]]:
    """Return a pattern for every two words that stand side by side in `query`, inflected or not."""
    lowered = [word.lower() for word in words(query)]
    found = dict.fromkeys(
        (one, other)
        for one, other in pairwise(lowered)
        if one not in STOP_WORDS and other not in STOP_WORDS
    )
    return [
        re.compile(rf"{_INFLECTION.sub('', one)}[^\W_]{{0,3}}[\W_]+{_INFLECTION.sub('', other)}")
        for one, other in list(found)[:_PAIRS_MAX]
    ]
