"""What is it worth that a memory is near a question? Something is always the nearest.

Measured with MiniLM: the nearest of 100 to 10,000 memories has a cosine of 0.2 to 0.35 with what
none of them is about, and the more there are, the nearer one comes by chance. An answer in other
words may be as far away as that, so nearness decides only where no word of the question is known.
"""

import math
from collections.abc import Collection
from typing import Final

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
