"""What do the relations add to what was found? A tenth at most, and nothing that was not found.

Measured before: a list of neighbours as an equal partner of the other lists ruins the ranking,
because neighbours of a good answer are many; a bounded boost of what was found anyway helps.
"""

import math
import re
from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

WHY, WHEN, HOW, WHO, WHAT = INTENTS = ("why", "when", "how", "who", "what")

_ASKED: Final = (
    (WHY, re.compile(r"\bwhy\b|\bhow come\b|\breasons?\b|\bwhat for\b|\brationale\b|\bcaused?\b")),
    (WHEN, re.compile(r"\bwhen\b|\bsince\b|\bhow long\b|\bwhich (?:day|date|release|version)\b")),
    (WHO, re.compile(r"\bwho(?:m|se)?\b|\bby whom\b|\bowners?\b|\bmaintainers?\b")),
    (HOW, re.compile(r"\bhow\b|\bsteps?\b|\bway to\b")),
)
_ELSE: Final = 0.3  # of any kind of edge that a question has no opinion on
_WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    WHY: {"caused_by": 1.0, "led_to": 1.0, "supersedes": 0.8, "part_of": 0.4},
    WHEN: {"supersedes": 1.0, "learned_in": 0.8, "led_to": 0.6, "caused_by": 0.6},
    HOW: {"depends_on": 1.0, "part_of": 0.8, "touches": 0.8, "led_to": 0.4},
    WHO: {"learned_in": 1.0, "touches": 0.6, "part_of": 0.4},
    WHAT: {"relates_to": 0.8, "part_of": 0.8, "touches": 0.6, "depends_on": 0.6},
}


def intent_of(question: str) -> str:
    """Return what a question wants to hear: why, when, who, how, or else what."""
    lowered = question.lower()
    return next((intent for intent, asked in _ASKED if asked.search(lowered)), WHAT)


def edge_weight(intent: str, kind: str) -> float:
    """Return how much an edge of `kind` leads to an answer to such a question, 0.0 to 1.0."""
    return _WEIGHTS[intent].get(kind, _ELSE)


_SHORT, _LONG = 40, 120  # words of a text
_LESS: Final = 1.8
_OF_ONE: Final = 0.26
_TENFOLD: Final = 0.03
_SURE: Final = 0.7


def chance(memories: int) -> float:
    """Return how near the nearest of so many memories is to a question that none is about.

    A cosine; what is not nearer is no answer.
    """
    return _OF_ONE + _TENFOLD * math.log10(max(memories, 1))


def weight(asked: float, lengths: Collection[int]) -> float:
    """Return how much the meaning counts beside the words, 0.0 to 1.0.

    The vector of a short text says all of it, that of a page only what the page is about: measured
    best were 0.5 for texts of up to 40 words, and 0.15 for those of 120 and more.

    Args:
        asked: how much it should count where texts are short, 0.0 to 1.0; 0.0 and 1.0 always hold.
        lengths: of the texts that the words found, in words; the one in the middle decides.
    """
    if not lengths:
        return asked
    middle = max(sorted(lengths)[len(lengths) // 2], 1)
    longer = math.log(middle / _SHORT) / math.log(_LONG / _SHORT)
    return float(asked ** (1 + _LESS * min(max(longer, 0.0), 1.0)))


def score(cosine: float) -> float:
    """Return the score of an answer that only its meaning found, 0.0 to 1.0: 1.0 for one that
    says the same."""
    return min(max(cosine / _SURE, 0.0), 1.0)


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
