"""Was this question asked before? What two questions of the same words have in common."""

import unicodedata

from yaadwatch.core.recall.query import STOP_WORDS, words


def form(question: str) -> str:
    """Return the words of a question that carry meaning: lower case, each once, sorted.

    "How do we deploy?" and "how to deploy" have the same. A question of stop words has all of them;
    one without words has ''.
    """
    every = {unicodedata.normalize("NFKC", word).casefold() for word in words(question)}
    return " ".join(sorted(every - STOP_WORDS) or sorted(every))
