"""How sure a memory still is: confidence as a function of its age, computed and never stored."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

HASTE: Final = 2
"""How much faster a memory ages that nothing is linked to, or that another one has replaced."""

SANE_FROM: Final = datetime(2005, 1, 1, tzinfo=UTC)
"""A time before it is no time: a column of zeros, a machine without a clock. Git is that old."""
HELD_SHARE: Final = 0.5
HELD_FROM: Final = 20
"""More than this share of all memories, and more than so many, never fade at once by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the graph says about a memory that changes how it ages.

    `orphan`: no open edge but `learned_in`. `superseded`: the old end of an open `supersedes`.
    `said`: at least one place in a person's own file still says it.
    """

    orphan: bool = False
    superseded: bool = False
    pinned: bool = False
    said: bool = False


PLAIN: Final = Facts()


def effective_confidence(stated: float, age: timedelta, *, half_life: timedelta) -> float:
    """Return what is left of `stated` after `age`, from 0.0 to 1.0.

    Args:
        stated: confidence when the memory was last confirmed, 0.0 to 1.0.
        age: time since then. A negative age (a clock that went back) counts as zero.
        half_life: the age at which half is left; positive.

    Raises:
        ValueError: `stated` is outside 0.0 to 1.0, or `half_life` is not positive.
    """
    if not 0.0 <= stated <= 1.0:
        raise ValueError(f"stated must be within 0.0 and 1.0, got {stated!r}")
    if half_life <= timedelta(0):
        raise ValueError(f"half_life must be positive, got {half_life}")
    half_lives: float = max(age, timedelta(0)) / half_life
    return float(stated * 0.5**half_lives)


def boosted(left: float, boost: float) -> float:
    """Return the confidence of a memory that was recalled: more than was left, at most 1.0.

    Args:
        left: what was left of it, 0.0 to 1.0.
        boost: not negative.
    """
    return min(1.0, left + boost)


def too_many(fading: int, living: int) -> bool:
    """Return whether so many of all memories would fade at once that something else is wrong.

    A clock that jumped ahead, or times that were lost in an import, look like great age.
    """
    return fading > max(HELD_FROM, living * HELD_SHARE)


def counts_from(confirmed_at: datetime, accessed_at: datetime | None, now: datetime) -> datetime:
    """Return when the age of a memory begins: when it was confirmed or last recalled.

    Without a sane time that is `now`: what nobody knows the age of has none.
    """
    known = [at for at in (confirmed_at, accessed_at) if at is not None and at >= SANE_FROM]
    return max(known, default=now)


def confidence(
    stated: float,
    confirmed_at: datetime,
    now: datetime,
    *,
    half_life: timedelta,
    facts: Facts = PLAIN,
    accessed_at: datetime | None = None,
) -> float:
    """Return how sure a memory is at `now`, from 0.0 to 1.0.

    What is pinned, or still said by a person's own file, does not age. An orphan or superseded
    memory ages twice as fast. One that is both ages twice as fast too, not four times: the two
    facts overlap, because a memory loses its links when another one takes its place.

    Args:
        stated: confidence when the memory was last confirmed, 0.0 to 1.0.
        confirmed_at: when that was, aware. A time after `now` counts as `now`.
        now: aware.
        half_life: the age at which half is left of a memory without such facts; positive.
        facts: what the graph says about it.
        accessed_at: when a recall last raised `stated`, aware; its age counts from there.

    Raises:
        ValueError: `stated` is outside 0.0 to 1.0, or `half_life` is not positive.
    """
    ages = not (facts.pinned or facts.said)
    age = now - counts_from(confirmed_at, accessed_at, now) if ages else timedelta(0)
    hasty = facts.orphan or facts.superseded
    return effective_confidence(stated, age, half_life=half_life / HASTE if hasty else half_life)
