"""Nodes, edges between them, and claims, contradictions and gaps as they are stored.

A node is a memory, or a file or symbol that memories touch. An edge holds from one time until
another.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple

from yaadwatch.model.limits import short_id

KINDS = (
    "convention",
    "decision",
    "preference",
    "command",
    "bug",
    "fix",
    "spec",
    "task",
    "skill",
    "session",
    "file",
    "entity",
)
"""The kinds we know. A caller may give others of the same form."""

THINGS = ("file", "entity")
"""The kinds of nodes that are no memories: what memories touch."""

NOT_GIVEN = {"file": "what memories touch", "entity": "what memories touch", "session": "sessions"}
"""Internal kinds and their purpose; nodes of these kinds are never recalled."""

HOT, WARM, COLD = 1, 2, 3

_TIERS = dict.fromkeys(("convention", "decision", "preference", "command"), HOT) | dict.fromkeys(
    ("session", "file", "entity"), COLD
)
KEY_CHARS_MAX = 64
_KIND_FORM = re.compile(r"[a-z][a-z0-9-]{0,31}")
_KEY_FORM = re.compile(r"[a-z0-9](?:[a-z0-9._/-]{0,62}[a-z0-9])?")


def canonical_kind(kind: str) -> str:
    """Return `kind` in its stored form: lower case, words separated by '-'.

    Raises:
        ValueError: what is left does not look like `[a-z][a-z0-9-]{0,31}`.
    """
    canonical = re.sub(r"[\s_.-]+", "-", kind.strip().lower()).strip("-")
    if not _KIND_FORM.fullmatch(canonical):
        raise ValueError(
            f"a kind is a word of 1 to 32 letters, digits and '-', beginning with a letter, got "
            f"{kind!r}"
        )
    return canonical


def canonical_key(key: str) -> str:
    """Return `key` in its stored form: a slug in lower case, its words separated by '-'.

    Raises:
        ValueError: what is left is not 1 to 64 letters, digits, '-', '_', '.' and '/', beginning
            and ending with a letter or digit.
    """
    canonical = re.sub(r"\s+", "-", key.strip().lower())
    if not _KEY_FORM.fullmatch(canonical):
        raise ValueError(
            f"a key is 1 to {KEY_CHARS_MAX} letters, digits, '-', '_', '.' and '/', beginning and"
            f" ending with a letter or digit, got {key[:KEY_CHARS_MAX]!r}"
        )
    return canonical


def tier_of(kind: str) -> int:
    """Return the tier that memories of `kind` start in: 1 hot, 2 warm, 3 cold."""
    return _TIERS.get(kind, WARM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A node as it is stored; `text` is masked.

    `tier`: HOT, WARM or COLD. `origin`: who stated it: 'cli' (a person), 'agent:NAME', 'file:PATH',
    'import' or 'import:NAME'; see `of_origin`. `key`: unique among the live nodes of its scope.
    `from_git`: its words came with git, and were not typed while the file was watched.
    """

    id: str
    kind: str
    tier: int
    scope: str
    text: str
    text_hash: str
    summary: str
    origin: str
    confidence: float
    confirmed_at: datetime
    created_at: datetime
    updated_at: datetime
    key: str | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict, hash=False)
    session: str | None = None
    accessed_at: datetime | None = None
    pinned: bool = False
    version: int = 1
    archived_at: datetime | None = None
    archive_reason: str | None = None
    from_git: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A node after one change; `actor` is an origin or the name of a job."""

    node: str
    version: int
    at: datetime
    change: str
    actor: str
    reason: str
    kind: str
    tier: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """A place of a node in a person's own file; `line` is None while git hides it."""

    node: str
    worktree: int
    path: str
    position: int
    line: int | None
    since: datetime


SUPERSEDES: Final = "supersedes"
"""From a memory to the memory that it supersedes."""
ACYCLIC = frozenset({"caused_by", "led_to", SUPERSEDES, "learned_in", "part_of"})
"""Kinds that must stay acyclic. Order in time is a column, never an edge."""

_RELATION_FORM = re.compile(r"[a-z][a-z0-9_]{0,31}")
_SHOWN: Final = 12
"""Nodes of a circle that a message shows."""


def canonical_relation(kind: str) -> str:
    """Return `kind` in its stored form: lower case, words separated by '_'.

    Raises:
        ValueError: what is left does not look like `[a-z][a-z0-9_]{0,31}`.
    """
    canonical = re.sub(r"[\s_.-]+", "_", kind.strip().lower()).strip("_")
    if not _RELATION_FORM.fullmatch(canonical):
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


def circle_in_words(nodes: Sequence[str], added: Iterable[tuple[str, str]]) -> str:
    """Return a circle for a message: "c -> a -> b -> c", an edge that was `added` first.

    A long one is cut in the middle.
    """
    new = set(added)
    steps = list(zip(nodes, [*nodes[1:], nodes[0]], strict=True))
    first = next((place for place, step in enumerate(steps) if step in new), 0)
    names = [short_id(node) for node in (*nodes[first:], *nodes[:first], nodes[first])]
    if len(names) > _SHOWN:
        half = _SHOWN // 2
        names = [*names[:half], f"{len(names) - 2 * half} more", *names[-half:]]
    return " -> ".join(names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`from_node` relates to `to_node`, in the half-open interval [valid_from, valid_until).

    `id` is 0 and `updated_at` None until it is stored.
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


VALUES: Final = "values"
LINK: Final = "link"
EVIDENCE: Final = "evidence"
"""The kinds of contradiction: two values at once; a claim whose relation has ended; evidence that
is newer than what it speaks against."""

KEPT, BOTH, NONE = "kept", "both", "none"
"""How a contradiction is settled: one memory was right, all of them are, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """The claim of a memory that `subject` has `value` as its `attribute`.

    `sense` is the value in its comparable form, `place` the folder it applies to ('' for all),
    `source` 'text' or its author, `edge` the relation it rests on, `supersedes` the earlier claim
    of the same memory. Valid in [valid_from, valid_until). `id` is 0 until it is stored.
    """

    node: str
    subject: str
    attribute: str
    value: str
    sense: str
    source: str
    valid_from: datetime
    valid_until: datetime | None = None
    place: str = ""
    evidence: str = ""
    evidence_at: datetime | None = None
    edge: int | None = None
    supersedes: int | None = None
    id: int = 0


class Thing(NamedTuple):
    """The subject of a claim: an attribute of a subject, in a folder or everywhere ('')."""

    subject: str
    attribute: str
    place: str


class Stated(NamedTuple):
    """A claim of a memory, by number, and the value as it is compared."""

    claim: int
    node: str
    sense: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """What contradicts a claim: another `claim`, the end of its relation, or newer evidence.

    `other` is a claim's number for VALUES, else 0; `against` the memory that is the evidence, or
    ''; `at` is when the relation ended or the evidence is from.
    """

    kind: str
    claim: int
    other: int = 0
    against: str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """Somebody decided about a contradiction; `name` is how it was shown."""

    name: str
    kind: str
    claim: int
    decision: str
    actor: str
    at: datetime
    other: int | None = None
    kept: str | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A question that was answered poorly; `text` is None until a person approves keeping it."""

    hash: str
    asked: int
    first: datetime
    last: datetime
    text: str | None = None
    approved_at: datetime | None = None
    approved_by: str | None = None
    reason: str = ""
