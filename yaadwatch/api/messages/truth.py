"""What is asked about truth beyond files: claims, contradictions, gaps, feedback, review."""

from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import (
    check_edge,
    check_id,
    check_length,
    check_text,
    check_version,
    check_within,
)
from yaadwatch.model.settings import QUERY_CHARS_MAX
from yaadwatch.model.times import instant

WORDS_CHARS_MAX: Final = 256
"""A subject, an attribute or a value."""
REASON_CHARS_MAX: Final = 1_000
NUMBER_MAX: Final = 2**63 - 1
VERDICTS: Final = ("approve", "edit", "discard")
DECISIONS: Final = ("approve", "edit", "dismiss", "undo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claims:
    """Ask what is claimed: by one memory, or of one subject; `all`: what no longer holds too."""

    id: str | None = None
    subject: str | None = None
    all: bool = False

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)
        if self.subject is not None:
            check_text("subject", self.subject, WORDS_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddClaim:
    """Say what a memory claims besides its words; `edge` is the number of one of its relations."""

    id: str
    subject: str
    attribute: str
    value: str
    evidence: str = ""
    evidence_at: str | None = None
    edge: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_text("subject", self.subject, WORDS_CHARS_MAX)
        check_text("attribute", self.attribute, WORDS_CHARS_MAX)
        check_text("value", self.value, WORDS_CHARS_MAX)
        check_length("evidence", self.evidence, REASON_CHARS_MAX)
        if self.evidence_at is not None:
            instant("evidence_at", self.evidence_at)
        if self.edge is not None:
            check_edge(self.edge)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndClaim:
    """Say that a claim, by its number, no longer holds."""

    claim: int

    def __post_init__(self) -> None:
        check_within("claim", self.claim, 1, NUMBER_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradictions:
    """Ask what cannot all be true; with `settled` what was decided, too."""

    settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolve:
    """Settle a contradiction: keep one memory, both, or none; `forget` archives those not kept."""

    id: str
    keep: str | None = None
    both: bool = False
    none: bool = False
    forget: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.keep is not None:
            check_id(self.keep)
        check_length("reason", self.reason, REASON_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gaps:
    """Ask which questions had no good answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveGap:
    """Have the words of a question kept that had no good answer: only who gives them can."""

    question: str
    reason: str = ""

    def __post_init__(self) -> None:
        check_text("question", self.question, QUERY_CHARS_MAX)
        check_length("reason", self.reason, REASON_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropGap:
    """Forget a question that had no good answer, by the beginning of its hash."""

    gap: str

    def __post_init__(self) -> None:
        check_text("gap", self.gap, WORDS_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """Judge a memory: `approve` it, `edit` it (with `text`), or `discard` it (with a reason)."""

    id: str
    verdict: str
    text: str | None = None
    reason: str = ""

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.verdict not in VERDICTS:
            raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {self.verdict!r}")
        if (self.text is not None) != (self.verdict == "edit"):
            raise ValueError("text is for the verdict 'edit', and needed there")
        if self.reason and self.verdict != "discard":
            raise ValueError("reason is for the verdict 'discard'")
        check_length("reason", self.reason, REASON_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """Ask which notes of agents and imports wait for a person."""

    limit: int = 100

    def __post_init__(self) -> None:
        check_within("limit", self.limit, 1, 1000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """Approve, edit or dismiss a note or a proposal, or undo that.

    `expected_version` and `proposal` are those that the person saw.
    """

    id: str
    verdict: str
    text: str | None = None
    expected_version: int | None = None
    proposal: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.verdict not in DECISIONS:
            raise ValueError(f"verdict must be one of {', '.join(DECISIONS)}, got {self.verdict!r}")
        if (self.text is not None) != (self.verdict == "edit"):
            raise ValueError("text is for the verdict 'edit', and needed there")
        if self.expected_version is not None:
            check_version(self.expected_version)
        if self.proposal is not None:
            check_text("proposal", self.proposal, WORDS_CHARS_MAX)
