"""Edges: how one node relates to another, from when until when; and what a set of them keeps to."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from yaadwatch.model.ids import called
from yaadwatch.model.limits import ALL, CURRENT, HISTORICAL, VIEWS

__all__ = ("ALL", "CURRENT", "HISTORICAL", "VIEWS")
"""Defined in `limits`, which imports nothing; the other names here are public, too."""


SUPERSEDES: Final = "supersedes"
"""From a memory to the one in whose place it stands."""
ACYCLIC = frozenset({"caused_by", "led_to", SUPERSEDES, "learned_in", "part_of"})
"""Kinds that must stay acyclic. Order in time is a column, never an edge."""

_KIND_FORM = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SHOWN: Final = 12
"""Nodes of a circle that a message shows."""


def canonical_kind(kind: str) -> str:
    """Return `kind` in its stored form: lower case, words separated by '_'.

    Raises:
        ValueError: what is left does not look like `[a-z][a-z0-9_]{0,31}`.
    """
    canonical = re.sub(r"[\s_.-]+", "_", kind.strip().lower()).strip("_")
    if not _KIND_FORM.fullmatch(canonical):
        raise ValueError(
            f"a kind of edge is a word of 1 to 32 letters, digits and '_', beginning with a letter,"
            f" got {kind!r}"
        )
    return canonical


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The time from `start` until right before `end`; without an end it goes on.

    One that ends where it starts holds nothing.
    """

    start: datetime
    end: datetime | None = None

    def __post_init__(self) -> None:
        if self.end is not None and self.end < self.start:
            raise ValueError(f"an interval must not end before it starts, got {self}")

    def __str__(self) -> str:
        until = f"{self.end:%Y-%m-%d %H:%M:%S}" if self.end else "now"
        return f"{self.start:%Y-%m-%d %H:%M:%S} to {until}"

    def holds(self, at: datetime) -> bool:
        """Return whether `at` lies in it."""
        return self.start <= at and (self.end is None or at < self.end)

    def overlaps(self, other: "Interval") -> bool:
        """Return whether any instant lies in both."""
        later = max(self, other, key=lambda one: one.start).start
        return self.holds(later) and other.holds(later)


def clash(new: Interval, others: Iterable[Interval]) -> Interval | None:
    """Return the first of `others`, by their start, that overlaps `new`; None when none does."""
    found = [one for one in others if one.overlaps(new)]
    return min(found, key=lambda one: one.start, default=None)


def free_from(at: datetime, others: Iterable[Interval]) -> datetime:
    """Return the first instant, `at` or later, from which on none of `others` holds.

    Those without an end are left out: nothing comes after them.
    """
    return max((one.end for one in others if one.end is not None and one.end > at), default=at)


def circle(pairs: Iterable[tuple[str, str]]) -> list[str] | None:
    """Return the nodes of a circle that these edges (from, to) close, in the order of the edges.

    None when there is none. Which one it is depends on the edges alone, not on their order.
    """
    ahead: dict[str, set[str]] = {}
    behind: dict[str, set[str]] = {}
    for start, end in pairs:
        ahead.setdefault(start, set()).add(end)
        behind.setdefault(end, set()).add(start)
    waits = {node: len(before) for node, before in behind.items()}
    ready = [node for node in ahead if node not in waits]
    while ready:
        for end in ahead.get(ready.pop(), ()):
            waits[end] -= 1
            if not waits[end]:
                del waits[end]
                ready.append(end)
    if not waits:
        return None
    # Of what is left, every node has another one before it: going back must come round.
    walk: dict[str, int] = {}
    node = min(waits)
    while node not in walk:
        walk[node] = len(walk)
        node = min(behind[node] & waits.keys())
    return list(reversed(list(walk)[walk[node] :]))


def told_circle(nodes: Sequence[str], added: Iterable[tuple[str, str]]) -> str:
    """Return a circle for a message: "c -> a -> b -> c", an edge that was `added` first.

    A long one is cut in the middle.
    """
    new = set(added)
    steps = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    first = next((place for place, step in enumerate(steps) if step in new), 0)
    names = [called(node) for node in (*nodes[first:], *nodes[:first], nodes[first])]
    if len(names) > _SHOWN:
        half = _SHOWN // 2
        names = [*names[:half], f"{len(names) - 2 * half} more", *names[-half:]]
    return " -> ".join(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`from_node` relates to `to_node`, in the half-open interval [valid_from, valid_until).

    `id` is 0 and `updated_at` None until the store has said what they are.
    """

    from_node: str
    to_node: str
    kind: str
    created_at: datetime
    valid_from: datetime
    weight: float = 1.0
    valid_until: datetime | None = None
    attributes: Mapping[str, object] = field(default_factory=dict, hash=False)
    updated_at: datetime | None = field(default=None, compare=False)
    id: int = field(default=0, compare=False)

    @property
    def interval(self) -> Interval:
        """Return when it holds."""
        return Interval(start=self.valid_from, end=self.valid_until)
