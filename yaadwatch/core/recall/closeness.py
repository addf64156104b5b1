"""How well do the words of a text answer? Its BM25, its length, and words that stand together.

Measured on questions about commits and chats (decision 0014): BM25 alone prefers long texts, which
mention everything, a little too much; and of two texts with the same words, the one answers that
has them side by side as the question does.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from yaadwatch.core.recall.query import STOP_WORDS, telling, words

READ_MAX: Final = 50
"""Texts of one question that are read for words side by side, the best by BM25."""

_SIDE_BY_SIDE = 0.8
_SHORTER = 0.1
_CHARS_MIN = 40  # no text is shorter than a sentence
_CHARS_READ_MAX = 20_000
_PAIRS_MAX = 32
_STEM_CHARS_MIN = 4
_ENDING = re.compile(r"(?:ing|ies|ied|ed|es|s|e|y)\Z")
_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two words that stand side by side in a question, without their inflection."""

    one: str
    other: str
    pattern: re.Pattern[str]

    def stands_in(self, text: str) -> bool:
        """Return whether they stand so in `text`, which is in lower case; inflected or not."""
        return self.one in text and self.other in text and bool(self.pattern.search(text))


def pairs(question: str) -> list[Pair]:
    """Return every two words that stand side by side in a question, stop words left out."""
    lowered = [word.lower() for word in words(question)]
    found = dict.fromkeys(
        (_INFLECTION.sub("", one), _INFLECTION.sub("", other))
        for one, other in pairwise(lowered)
        if one not in STOP_WORDS and other not in STOP_WORDS
    )
    return [
        Pair(one=one, other=other, pattern=re.compile(rf"{one}[^\W_]{{0,3}}[\W_]+{other}"))
        for one, other in list(found)[:_PAIRS_MAX]
    ]


def shares(question: str, texts: Mapping[str, str]) -> dict[str, float]:
    """Return, by id, which share of the question's pairs of words a text holds, 0.0 to 1.0."""
    sought = pairs(question)
    if not sought:
        return {}
    found = {}
    for name, text in texts.items():
        lowered = text[:_CHARS_READ_MAX].lower()
        found[name] = sum(pair.stands_in(lowered) for pair in sought) / len(sought)
    return found


def relevance(bm25: float, *, chars: int, share: float) -> float:
    """Return how relevant a text is by its words; only its ratio to another one means something.

    Args:
        bm25: not negative, more is better.
        chars: the length of the text.
        share: of the question's pairs of words that it holds, 0.0 to 1.0.
    """
    shorter = math.pow(max(chars, _CHARS_MIN), -_SHORTER)
    return bm25 * (1 + _SIDE_BY_SIDE * share) * shorter


def coverage(question: str, text: str) -> float:
    """Return which share of the words that a question is about a text has, 0.0 to 1.0.

    Whatever their form: `retries` is there where `retry` is.
    """
    sought = [_stem(word) for word in telling(question)]
    if not sought:
        return 0.0
    there = {_stem(word.lower()) for word in words(text[:_CHARS_READ_MAX])}
    return sum(word in there for word in sought) / len(sought)


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > _STEM_CHARS_MIN else word
