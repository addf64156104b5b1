"""How well do the words of a text answer? Its BM25, its length, and words that stand together.

Measured on questions about commits and chats (decision 0014): BM25 alone prefers long texts, which
mention everything, a little too much; and of two texts with the same words, the one answers that
has them side by side as the question does.
"""

import math
import re
from collections.abc import Mapping
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
_INFLECTED_CHARS_MAX = 3
_STEM_CHARS_MIN = 4
_ENDING = re.compile(r"(?:ing|ies|ied|ed|es|s|e|y)\Z")
_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")


def pairs(question: str) -> list[tuple[str, str]]:
    """Return every two words that stand side by side in a question, without their inflection.

    Stop words are left out; at most 32.
    """
    lowered = [word.lower() for word in words(question)]
    found = dict.fromkeys(
        (_INFLECTION.sub("", one), _INFLECTION.sub("", other))
        for one, other in pairwise(lowered)
        if one not in STOP_WORDS and other not in STOP_WORDS
    )
    return list(found)[:_PAIRS_MAX]


def side_by_side(one: str, other: str, text: str) -> bool:
    """Tell whether a word that begins with `other` comes right after `one`, inflected or not.

    `text` is in lower case. Looked for by hand: to compile an expression for each pair of each
    question costs more than to read the texts.
    """
    at = text.find(one)
    while at >= 0:
        end = at + len(one)
        last = min(end + _INFLECTED_CHARS_MAX, len(text))
        while end < last and text[end].isalnum():
            end += 1
        next_word = end
        while next_word < len(text) and not text[next_word].isalnum():
            next_word += 1
        if next_word > end and text.startswith(other, next_word):
            return True
        at = text.find(one, at + 1)
    return False


def shares(question: str, texts: Mapping[str, str]) -> dict[str, float]:
    """Return, by id, which share of the question's pairs of words a text holds, 0.0 to 1.0."""
    sought = pairs(question)
    if not sought:
        return {}
    found = {}
    for name, text in texts.items():
        lowered = text[:_CHARS_READ_MAX].lower()
        there = sum(
            one in lowered and other in lowered and side_by_side(one, other, lowered)
            for one, other in sought
        )
        found[name] = there / len(sought)
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
