"""Does this look like an accident? Then nothing is deleted, and the file waits for a person."""

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bridges.zones import zones
from yaadwatch.model.settings import AGENT_FILE_WRITES_MAX, AGENT_FILE_WRITES_WITHIN

VANISHED_MIN: Final = 3
"""Fewer deletions at once are always believed."""
VANISHED_MANY: Final = 5
"""So many at once are never believed; fewer are not if they are more than half."""

_CONFLICT = re.compile(rb"^(?:<{7}|>{7}) ", re.MULTILINE)
_MARKS = re.compile(r"(?:<{7}|>{7}) ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paused:
    """The file is left alone until a person says more; `reason` is a sentence without its stop.

    `lost` of `total` rules are missing when that is the reason; 0 of 0 otherwise.
    """

    reason: str
    lost: int = 0
    total: int = 0


def deletion(
    lost: int, total: int, *, block_is_gone: bool = False, file_is_gone: bool = False
) -> Paused | None:
    """Return why a file is paused that lost rules; None if a person may well have deleted them.

    Args:
        lost: how many are missing that should be there, from 0 to `total`.
        total: how many there were.
        block_is_gone: whether the whole block is missing, not only what was in it.
        file_is_gone: whether there is no such file any more.
    """
    if not lost:
        return None
    if file_is_gone:
        reason = f"it is gone with {lost} of {total} rules"
    elif block_is_gone:
        reason = f"its block is gone with {lost} of {total} rules"
    elif lost >= VANISHED_MANY or (lost >= VANISHED_MIN and lost * 2 > total):
        reason = f"it lost {lost} of {total} rules at once"
    else:
        return None
    return Paused(reason=f"{reason}; no memory was deleted", lost=lost, total=total)


def replaced(agreed: Set[str], said: Set[str], before: Set[str], now: Set[str]) -> Paused | None:
    """Return why a file is paused that another one was copied over; None if it is still the same.

    Args:
        agreed: words and lines of its block as it was agreed.
        said: words and lines of its block now.
        before: words outside its block as they were read last.
        now: words outside its block now.
    """
    if not (agreed and said and before and now):
        return None
    if (agreed | before) & (said | now):
        return None
    return Paused(
        reason="it holds nothing of what it held, and a block of other rules, as if the file of "
        "another repository was copied over it; nothing was read",
        lost=len(before),
        total=len(before),
    )


def conflict_markers(data: bytes) -> Paused | None:
    """Return why a file with the markers of an unfinished merge is paused; None if it has none.

    Markers in a code fence are an example: the merge itself is seen by what git keeps of it.
    """
    # A lone CR ends a line too, but no merge writes files with those.
    if _CONFLICT.search(data) is None:
        return None
    lines = data.decode("utf-8", "replace").split("\n")
    for number, kind in enumerate(zones(lines).kinds):
        if kind != "fence" and _MARKS.match(lines[number]):
            return Paused(reason=f"an unfinished merge stands in line {number + 1}")
    return None


def ping_pong(written: Iterable[datetime], now: datetime) -> Paused | None:
    """Return why a file is paused that somebody else keeps changing back; None if nobody does.

    Args:
        written: when we wrote it, in any order.
        now: the time, aware.
    """
    recent = sum(at > now - AGENT_FILE_WRITES_WITHIN for at in written)
    if recent < AGENT_FILE_WRITES_MAX:
        return None
    seconds = AGENT_FILE_WRITES_WITHIN.total_seconds()
    return Paused(reason=f"it was written {recent} times within {seconds:.0f} seconds")
