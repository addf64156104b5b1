"""What is asked about truth beyond files: claims, contradictions, gaps, feedback, review."""

from yaadwatch.api.limits import ID, NUMBER, REASON, TIME, WORDS, OneOf, Text, Within
from yaadwatch.api.message import Message, field
from yaadwatch.api.messages.memories import ONE
from yaadwatch.model.limits import QUERY_CHARS_MAX

VERDICTS = ("approve", "edit", "discard")
DECISIONS = ("approve", "edit", "dismiss", "undo")
_QUESTION = Text(QUERY_CHARS_MAX)


class Claims(Message, answer="Claims"):
    """Ask what is claimed: by one memory, or of one subject."""

    id: str | None = field(default=None, limit=ID)
    subject: str | None = field(
        default=None, limit=WORDS, help="only claims about this subject", option="--subject S"
    )
    all: bool = field(default=False, help="also claims that no longer hold", option="--all")


class AddClaim(Message, answer="Claimed"):
    """Say what a memory claims besides its words."""

    id: str = field(limit=ID)
    subject: str = field(limit=WORDS)
    attribute: str = field(limit=WORDS)
    value: str = field(limit=WORDS)
    evidence: str = field(
        default="",
        limit=REASON,
        help="for add: what shows that it is true, in words",
        option="--evidence TEXT",
    )
    evidence_at: str | None = field(
        default=None,
        limit=TIME,
        help="for add: the date of the evidence, such as 2026-03-01",
        option="--evidence-at TIME",
    )
    edge: int | None = field(
        default=None,
        limit=NUMBER,
        help="for add: the relation it rests on; when that ends, the claim is contradicted",
        option="--edge N",
    )


class EndClaim(Message, answer="Claimed"):
    """Say that a claim, by its number, no longer holds."""

    claim: int = field(limit=NUMBER)


class Contradictions(Message, answer="Contradictions"):
    """Ask what cannot all be true."""

    settled: bool = field(default=False, help="also those that were settled", option="--settled")


class Resolve(Message, answer="Resolved"):
    """Settle a contradiction: keep one memory, both, or none."""

    id: str = field(limit=ID, help="the id of the contradiction, or its beginning", option="ID")
    keep: str | None = field(
        default=None,
        limit=ID,
        help="the memory that is right: " + ONE,
        option="--keep MEMORY",
        one_of="how, required",
    )
    both: bool = field(
        default=False,
        help="both are right; do not show it again",
        option="--both",
        one_of="how, required",
    )
    none: bool = field(
        default=False, help="none of them is right", option="--none", one_of="how, required"
    )
    forget: bool = field(
        default=False, help="archive the memories that are not kept", option="--forget"
    )
    reason: str = field(
        default="", limit=REASON, help="why; kept with the decision", option="--reason TEXT"
    )


class Gaps(Message, answer="Gaps"):
    """Ask which questions had no good answer."""


class ApproveGap(Message, answer="Gap"):
    """Have the words of a question kept that had no good answer: only who gives them can."""

    question: str = field(limit=_QUESTION)
    reason: str = field(
        default="",
        limit=REASON,
        help="for approve: why; kept with it",
        option="--reason TEXT",
    )


class DropGap(Message, answer="Gap"):
    """Forget a question that had no good answer, by the beginning of its hash."""

    gap: str = field(limit=WORDS)


class Feedback(Message, answer="Judged"):
    """Judge a memory: `approve` it, `edit` it (with `text`), or `discard` it (with a reason)."""

    id: str = field(limit=ID, help=ONE, option="ID")
    verdict: str = field(
        limit=OneOf(VERDICTS), help="your verdict", option="{approve,edit,discard}"
    )
    text: str | None = field(default=None, help="for edit: the new text", option="[TEXT...]")
    reason: str = field(
        default="",
        limit=REASON,
        help="for discard: why; kept with it",
        option="--reason TEXT",
    )

    def validate(self) -> None:
        """Raise ValueError unless text and reason go with the verdict."""
        if (self.text is not None) != (self.verdict == "edit"):
            raise ValueError("text is for the verdict 'edit', and needed there")
        if self.reason and self.verdict != "discard":
            raise ValueError("reason is for the verdict 'discard'")


class Review(Message, answer="Review"):
    """Ask which notes of agents and imports wait for a person."""

    limit: int = field(default=100, limit=Within(1, 1000))


class Decide(Message, answer="Decided"):
    """Approve, edit or dismiss a note or a proposal, or undo that."""

    id: str = field(limit=ID)
    verdict: str = field(limit=OneOf(DECISIONS))
    text: str | None = None
    expected_version: int | None = field(
        default=None, limit=NUMBER, help="the version that the person saw"
    )
    proposal: str | None = field(default=None, limit=WORDS, help="the proposal that the person saw")

    def validate(self) -> None:
        """Raise ValueError unless text goes with the verdict."""
        if (self.text is not None) != (self.verdict == "edit"):
            raise ValueError("text is for the verdict 'edit', and needed there")
