"""Claims, contradictions and gaps, as they are stored."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

VALUES: Final = "values"
LINK: Final = "link"
EVIDENCE: Final = "evidence"
"""The kinds of contradiction: two values at once; a claim whose relation has ended; evidence that
is newer than what it speaks against."""

KEPT, BOTH, NONE = "kept", "both", "none"
"""How a contradiction is settled: one memory was right, all of them are, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A memory says that `subject` has `value` as its `attribute`.

    `sense` is the value as it is compared, `place` the folder it holds for ('' for all), `source`
    'text' or who gave it, `edge` the relation it rests on, `supersedes` what the same memory
    claimed before. It holds from `valid_from` until right before `valid_until`. `id` is 0 until it
    is stored.
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
    """What is claimed of: an attribute of a subject, in a folder or everywhere ('')."""

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
class Settled:
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
    """A question that was answered poorly; `text` is None until somebody approved keeping it."""

    hash: str
    asked: int
    first: datetime
    last: datetime
    text: str | None = None
    approved_at: datetime | None = None
    approved_by: str | None = None
    reason: str = ""
