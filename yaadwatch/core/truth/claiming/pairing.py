"""Which claims about one thing cannot both be right: pairs of them, up to a limit.

Values are compared, not claims: thousands of memories may say one of two values.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, combinations, islice
from typing import Final

from yaadwatch.core.truth.claiming.parts import differ
from yaadwatch.model.claims import Stated

SENSES_MAX: Final = 64
"""Values of one thing that are compared, the newest: with more, nobody could say which is right."""
LOOKED_AT_MIN: Final = 20_000
LOOKED_AT_EACH: Final = 100
"""Pairs with two values that are looked at of one thing, and for each that may be returned: where
hardly any of them cannot both be right, there may be millions."""


def pairs(
    attribute: str,
    sides: Sequence[Stated],
    together: Callable[[Stated, Stated], bool],
    *,
    limit: int,
    of: str = "",
) -> list[tuple[int, int]]:
    """Return pairs of claims of two memories that cannot both be right, by number, sorted.

    Args:
        attribute: whose values they are.
        sides: all that is claimed of one thing, by number.
        together: whether two claims are right together whatever they say.
        limit: how many at most. Each claim that is in one with the first is then still there.
        of: a memory whose pairs come before others; if it has none, there are none at all.
    """
    own = [one for one in sides if of and one.node == of]
    others = [one for one in sides if not of or one.node != of]
    by_sense: dict[str, list[Stated]] = {}
    for one in (*own, *reversed(others)):
        by_sense.setdefault(one.sense, []).append(one)
    against = _against(attribute, list(by_sense)[:SENSES_MAX])

    def apart(ones: Iterable[Stated]) -> Iterator[tuple[Stated, Stated]]:
        for one in ones:
            for other in chain.from_iterable(map(by_sense.__getitem__, against.get(one.sense, ()))):
                yield one, other

    def clashing(ones: Iterable[Stated]) -> Iterator[tuple[int, int]]:
        for one, other in islice(apart(ones), max(LOOKED_AT_MIN, limit * LOOKED_AT_EACH)):
            if other.node != one.node and not together(one, other):
                yield min(one.claim, other.claim), max(one.claim, other.claim)

    found = set(islice(clashing(own), limit))
    if of and not found:
        return []
    for pair in clashing(others):
        if len(found) >= limit:
            break
        found.add(pair)
    return sorted(found)


def _against(attribute: str, senses: Sequence[str]) -> dict[str, list[str]]:
    """Return of each value those that cannot be right beside it."""
    against: dict[str, list[str]] = {sense: [] for sense in senses}
    for one, other in combinations(senses, 2):
        if differ(attribute, one, other):
            against[one].append(other)
            against[other].append(one)
    return against
