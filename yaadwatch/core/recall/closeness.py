"""How well do the words of a text answer? Its BM25, its length, and words that stand together.

Measured on questions about commits and chats (decision 0014): BM25 alone prefers long texts, which
mention everything, a little too much; and of two texts with the same words, the one answers that
has them side by side as the question does.
"""

import math
import re
from collections.abc import Hashable, Mapping
from itertools import pairwise
from typing import Final, TypeVar

from yaadwatch.core import cjk
from yaadwatch.core.recall.query import STOP_WORDS, telling, words

Name = TypeVar("Name", bound=Hashable)
READ_MAX: Final = 50
"""Texts of one question that are read for words side by side, the best by BM25."""

_SIDE_BY_SIDE = 0.8
_SHORTER = 0.1
_LENGTH_MIN = 7  # words; no text counts as shorter than a sentence
_CHARS_READ_MAX = 20_000
_PAIRS_MAX = 32
_STEM_CHARS_MIN = 4
_LENGTHS_KNOWN = 512
_ENDING = re.compile(r"(?:ing|ies|ied|ed|es|s|e|y)\Z")
_INFLECTION = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\Z")


def pairs(question: str) -> list[tuple[str, str]]:
    """Return every two words that stand side by side in a question, without their inflection.

    Stop words are left out, and what is made of letters side by side itself; at most 32.
    """
    lowered = [word.lower() for word in words(question)]
    found = dict.fromkeys(
        (_INFLECTION.sub("", one), _INFLECTION.sub("", other))
        for one, other in pairwise(lowered)
        if not {one, other} & STOP_WORDS and not cjk.is_cjk(one) and not cjk.is_cjk(other)
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
        last = min(end + 3, len(text))
        while end < last and text[end].isalnum():
            end += 1
        next_word = end
        while next_word < len(text) and not text[next_word].isalnum():
            next_word += 1
        if next_word > end and text.startswith(other, next_word):
            return True
        at = text.find(one, at + 1)
    return False


def shares(question: str, texts: Mapping[Name, str]) -> dict[Name, float]:
    """Return, by name, which share of the question's pairs of words a text holds, 0.0 to 1.0.

    Texts without any are left out.
    """
    sought = pairs(question)
    said = {word for pair in sought for word in pair}
    found = {}
    for name, text in texts.items():
        lowered = text[:_CHARS_READ_MAX].lower()
        there = {word for word in said if word in lowered}
        held = [
            (one, other)
            for one, other in sought
            if one in there and other in there and side_by_side(one, other, lowered)
        ]
        if held:
            found[name] = len(held) / len(sought)
    return found


def relevances(
    bm25: Mapping[Name, float], lengths: Mapping[Name, int], shares_held: Mapping[Name, float]
) -> dict[Name, float]:
    """Return the relevance of each text; see `relevance`.

    Args:
        bm25: of each.
        lengths: of each, in words.
        shares_held: the share of the question's pairs; 0.0 for who is not there.
    """
    return {
        name: score
        * (1 + _SIDE_BY_SIDE * shares_held.get(name, 0.0))
        * (_SHORTER_BY[length] if (length := lengths[name]) < _LENGTHS_KNOWN else _shorter(length))
        for name, score in bm25.items()
    }


def relevance(bm25: float, *, length: int, share: float) -> float:
    """Return how relevant a text is by its words; only its ratio to another one means something.

    Args:
        bm25: not negative, more is better.
        length: of the text, in words.
        share: of the question's pairs of words that it holds, 0.0 to 1.0.
    """
    return bm25 * (1 + _SIDE_BY_SIDE * share) * _shorter(length)


def _shorter(length: int) -> float:
    """Return what a text of so many words counts for being short."""
    return math.pow(max(length, _LENGTH_MIN), -_SHORTER)


_SHORTER_BY: Final = tuple(map(_shorter, range(_LENGTHS_KNOWN)))
"""To raise two hundred lengths to a power costs more than to look them up."""


def coverage(question: str, text: str) -> float:
    """Return which share of the words that a question is about a text has, 0.0 to 1.0.

    Whatever their form: `retries` is there where `retry` is.
    """
    sought = [_stem(word) for word in telling(question)]
    if not sought:
        return 0.0
    read = text[:_CHARS_READ_MAX]
    there = {_stem(word.lower()) for word in words(read)} | cjk.letters(read)
    return sum(word in there for word in sought) / len(sought)


def _stem(word: str) -> str:
    return _ENDING.sub("", word) if len(word) > _STEM_CHARS_MIN else word
