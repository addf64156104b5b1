"""Was this question asked before? What two questions of the same words have in common."""

import unicodedata
from collections.abc import Sequence
from typing import Final

from yaadwatch.core.recall.query import STOP_WORDS, words

ANSWERED_SHARE: Final = 0.34
"""Of the words of a question that carry meaning, so many stand in its answers at least."""
STEM_CHARS: Final = 5


def answers(question: str, texts: Sequence[str]) -> bool:
    """Return whether texts may answer a question: some of its words stand in them.

    One that has no words is never answered poorly.
    """
    wanted = [word[:STEM_CHARS] for word in form(question).split()]
    said = " ".join(texts).casefold()
    return sum(word in said for word in wanted) >= ANSWERED_SHARE * len(wanted)


def form(question: str) -> str:
    """Return the words of a question that carry meaning: lower case, each once, sorted.

    "How do we deploy?" and "how to deploy" have the same. A question of stop words has all of them;
    one without words has ''.
    """
    every = {unicodedata.normalize("NFKC", word).casefold() for word in words(question)}
    return " ".join(sorted(every - STOP_WORDS) or sorted(every))
