"""How much does it count for a memory that it was of use in sessions it was shown in? A little.

It decides between near equals only. What was never of use loses nothing: it may not have been asked
for yet.
"""

from typing import Final

USED_MOST: Final = 0.03
"""How far having been of use may raise a score."""
_HALF_AT: Final = 2  # sessions in which half of that is reached


def factor(used: int) -> float:
    """Return by how much a score is raised: from 1.0, without any use, to below 1.03.

    Args:
        used: sessions in which the memory was shown and of use; each one adds less than the last.
    """
    count = max(used, 0)
    return 1.0 + USED_MOST * count / (count + _HALF_AT)
