"""Match a path against a pattern with `*`, `**`, `?` and `{a,b}`.

Patterns come from repositories, too, so no pattern may take long: positions in the pattern are
followed side by side, and nothing is tried twice.
"""

import re
from collections.abc import Sequence
from typing import Final

BRACES_MAX: Final = 64
BRACES_CHARS_MAX: Final = 8_000
"""Patterns that one with braces may stand for, and their letters; one that stands for more matches
nothing."""

_SIGNS: Final = re.compile(r"\*\*/|\*+|.", re.DOTALL)
_BRACES: Final = re.compile(r"\{([^{}]*)\}")


def is_matched(path: str, glob: str) -> bool:
    """Return whether a path is one of a pattern with `*`, `**`, `?` and `{a,b}`.

    In time that grows with both lengths only, whoever wrote the pattern.
    """
    return any(_is_matched(path, _SIGNS.findall(one)) for one in _without_braces(glob))


def _without_braces(glob: str) -> list[str]:
    found = [glob]
    while _is_short(found) and (braces := _BRACES.search(found[0])):
        found = [
            f"{one[: braces.start()]}{word}{one[braces.end() :]}"
            for one in found
            if (braces := _BRACES.search(one))
            for word in braces[1].split(",")
        ]
    return found if _is_short(found) or len(found) == 1 else []


def _is_short(patterns: Sequence[str]) -> bool:
    return len(patterns) <= BRACES_MAX and sum(map(len, patterns)) <= BRACES_CHARS_MAX


def _is_matched(path: str, signs: Sequence[str]) -> bool:
    last = len(signs)
    at = _skipped({0}, signs)
    for letter in path:
        following = set()
        for position in at - {last}:
            sign = signs[position]
            if sign == "**/":
                following |= {position, position + 1} if letter == "/" else {position}
            elif sign.startswith("*"):
                following |= {position} if letter != "/" or len(sign) > 1 else set()
            elif sign == letter or (sign == "?" and letter != "/"):
                following.add(position + 1)
        at = _skipped(following, signs)
    return last in at


def _skipped(positions: set[int], signs: Sequence[str]) -> set[int]:
    """Return the positions, and those behind the stars there: each may stand for nothing."""
    found = set(positions)
    for position in positions:
        behind = position
        # Where a position behind is known already, so are those behind that.
        while behind < len(signs) and signs[behind].startswith("*") and behind + 1 not in found:
            behind += 1
            found.add(behind)
    return found
