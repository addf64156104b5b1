"""Answers about claims, contradictions, gaps and review."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.memories import Changed
from yaadwatch.api.answers.shapes import Anchor, By, Restated, Said, ShortFlag, Time


class Claim(By):
    """A memory claims that a subject has a value."""

    claim: int
    """its number"""
    node: str
    """the memory"""
    subject: str
    attribute: str
    value: str
    place: str | None
    """the folder that it holds for"""
    source: str
    """`text`, or who gave it"""
    evidence: str | None
    evidence_at: Time | None
    edge: int | None
    """the relation that it rests on"""
    supersedes: int | None
    """what the same memory claimed before"""
    since: Time
    until: Time | None
    holds: bool


class Claimed(Claim, Restated):
    """A claim that was added or ended."""

    masked: NotRequired[list[str]]
    undo: NotRequired[str]


class Claims(TypedDict):
    """What memories claim."""

    claims: list[Claim]
    more: bool


class Side(By):
    """One value of a contradiction."""

    claim: int
    node: str
    value: str
    text: str
    source: str
    evidence: str | None
    confirmed_at: Time


class _Versus(By):
    node: str
    text: str


class Contradiction(TypedDict):
    """What cannot all be true."""

    id: str
    kind: Literal["values", "link", "evidence"]
    words: str
    """all of it in one line"""
    subject: str
    attribute: str
    place: str | None
    sides: list[Side]
    against: _Versus | None
    at: Time | None


class Settled(TypedDict):
    """A contradiction that somebody decided about."""

    id: str
    kind: Literal["values", "link", "evidence"]
    words: str
    decision: Literal["kept", "both", "none"]
    kept: str | None
    by: str
    reason: str | None
    at: Time


class Contradictions(TypedDict):
    """Open ones are what the claims say now: they go when their reason goes."""

    contradictions: list[Contradiction]
    settled: list[Settled]


class _StillSaid(TypedDict):
    id: str
    path: str
    line: int | None


class Resolved(TypedDict):
    """What was decided about a contradiction."""

    id: str
    decision: Literal["kept", "both", "none"]
    words: str
    kept: str | None
    ended: list[int]
    """the numbers of claims"""
    superseded: list[str]
    forgotten: list[str]
    still_said: list[_StillSaid]
    """where a person's own files say what is not kept"""
    still_rules: list[Said]
    """rules that say it still, because they say more than that, or nothing was kept"""


class Gap(TypedDict):
    """A question that had no good answer."""

    gap: str
    """the beginning of a keyed hash of the words that carry meaning"""
    asked: int
    first: Time
    last: Time
    text: str | None
    """masked, and only once somebody has approved it by giving the question again"""
    approved_at: Time | None
    approved_by: str | None
    reason: str | None
    masked: NotRequired[list[str]]


class Gaps(TypedDict):
    """Questions that had no good answer."""

    gaps: list[Gap]
    more: int


class Waiting(By):
    """A note of an agent or an import, or new words that it proposes."""

    id: str
    text: str
    kind: str
    scope: Literal["project", "user"]
    cause: str
    """what came together: an agent's session, or an import"""
    session: str | None
    version: int
    proposal: str | None
    """these are new words for a memory of a person, whose id this is. The memory stays as it is
    until the person decides; a second proposal replaces the first. A proposal waits no more once
    the memory has other words, is archived or superseded"""
    before: str | None
    """the person's words that an approval replaces"""
    anchors: list[Anchor]
    stale: ShortFlag | None
    files: list[str]
    """what an approval writes to"""
    too_long: bool
    """no rules file has room for it (4 kB), so agents get it by recall alone"""


class Review(TypedDict):
    """The proposals and notes that wait for a person, the newest of each first."""

    waiting: list[Waiting]
    count: int


class Decided(Changed):
    """What a person decided; for an edit and an approved proposal with what Updated has.

    Refused for agents, for what was decided about meanwhile, for words that hold a secret
    (also the new ones of an edit), and for an `undo` where the memory changed after the decision.
    `conflict`, with the words it has now, where it is not at `expected_version` or something else
    is proposed than `proposal`, and where an approval names neither: a proposal needs
    `proposal`, a note whose words changed since it was stated needs `expected_version`."""

    verdict: Literal["approve", "edit", "dismiss", "undo"]
    files: list[str]
    too_long: bool
    left: int
    """how many notes and proposals still wait"""
    version: NotRequired[int]
    anchors: NotRequired[list[Anchor]]
    masked: NotRequired[list[str]]
