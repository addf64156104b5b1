"""Requests about relations, claims, contradictions, gaps, feedback and review."""

from yaadwatch.api.message import (
    EDGE_KIND,
    ID,
    KINDS_MAX,
    NUMBER,
    REASON,
    TAG_CHARS_MAX,
    TIME,
    TOKENS,
    WORDS,
    Each,
    Message,
    OneOf,
    Text,
    Within,
    field,
)
from yaadwatch.api.messages.memories import ONE
from yaadwatch.model.limits import (
    CURRENT,
    GRAPH_DEPTH_MAX,
    GRAPH_NODES_MAX,
    INJECT_EDGES_MAX,
    INJECT_NODES_MAX,
    QUERY_CHARS_MAX,
    TAGS_MAX,
    VIEWS,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.model.queries import GivenEdge, GivenNode


DIRECTIONS = ("both", "ancestors", "descendants")
_TAGS = Each(TAGS_MAX, Text(TAG_CHARS_MAX))


class Unlink(Message, answer="Unlinked"):
    """End the relation of a kind between two memories."""

    id: str = field(
        limit=ID,
        help="id of a memory; a unique beginning or end is enough",
        option="FROM",
        tool="",
    )
    kind: str = field(
        limit=EDGE_KIND,
        help="depends_on, part_of, caused_by, led_to, ...",
        option="KIND",
        tool="",
    )
    to: str = field(limit=ID, help="id of the other memory", option="TO", tool="")


class Link(Message, answer="Linked"):
    """Say that the memory `id` relates to the memory `to`."""

    id: str = field(
        limit=ID,
        help="id of a memory; a unique beginning or end is enough",
        option="FROM",
        tool="",
    )
    kind: str = field(
        limit=EDGE_KIND,
        help="depends_on, part_of, caused_by, led_to, ...",
        option="KIND",
        tool="depends_on, part_of, caused_by, led_to, ...",
    )
    to: str = field(limit=ID, help="id of the other memory", option="TO", tool="")
    weight: float | None = field(
        default=None,
        limit=Within(0, 1, excludes_low=True),
        help="how much of a flag it passes on, 0 to 1 (default: unchanged; 1 for a new relation)",
        option="--weight W",
    )
    since: str | None = field(
        default=None,
        limit=TIME,
        help="when the relation began (default: now)",
        option="--since TIME",
    )
    attributes: dict[str, object] | None = field(
        default=None,
        help='extra data to keep with it, such as \'{"source": "review"}\'',
        option="--attributes JSON",
    )


class CloseLink(Message, answer="Unlinked"):
    """End one relation, by the number of its edge, now or at a time before."""

    edge: int = field(limit=NUMBER)
    at: str | None = field(
        default=None,
        limit=TIME,
        help="for close: when it ended (default: now)",
        option="--at TIME",
    )


class Traverse(Message, answer="Walked"):
    """Walk from a memory along its edges; `kinds` and `view`: of the edges."""

    id: str = field(limit=ID, help=ONE, option="ID")
    direction: str = field(default="both", limit=OneOf(DIRECTIONS))
    depth: int = field(
        default=1,
        limit=Within(1, GRAPH_DEPTH_MAX),
        help="steps, 1 to 10 (default: {default})",
        option="--depth N",
    )
    kinds: tuple[str, ...] = field(
        default=(),
        limit=Each(KINDS_MAX, EDGE_KIND),
        help="only relations of this kind; may be repeated",
        option="--kind KIND",
    )
    view: str = field(
        default=CURRENT,
        limit=OneOf(VIEWS),
        help="relations that hold, that have ended, or both (default: {default})",
        option="--view",
    )
    nodes_max: int = field(
        default=100,
        limit=Within(1, GRAPH_NODES_MAX),
        help="at most so many memories",
        option="--nodes N",
    )
    tokens_max: int = field(default=8000, limit=TOKENS)


class Subgraph(Message, answer="Walked"):
    """Ask what is around a memory, or around the answers to a question."""

    id: str | None = field(default=None, limit=ID, help=ONE, option="[ID]", tool="")
    query: str | None = field(
        default=None,
        limit=Text(QUERY_CHARS_MAX),
        help="start from the answers to this question",
        option="--query WORDS",
        tool="",
    )
    depth: int = field(
        default=2,
        limit=Within(1, GRAPH_DEPTH_MAX),
        help="steps, 1 to 10 (default: {default})",
        option="--depth N",
        tool="steps, to 10",
    )
    kinds: tuple[str, ...] = field(
        default=(),
        limit=Each(KINDS_MAX, EDGE_KIND),
        help="only relations of this kind; may be repeated",
        option="--kind KIND",
    )
    view: str = field(
        default=CURRENT,
        limit=OneOf(VIEWS),
        help="relations that hold, that have ended, or both (default: {default})",
        option="--view",
    )
    nodes_max: int = field(
        default=50,
        limit=Within(1, GRAPH_NODES_MAX),
        help="at most so many memories",
        option="--nodes N",
    )
    tokens_max: int = field(
        default=2000,
        limit=TOKENS,
        help="at most so many tokens (default: {default})",
        option="--tokens N",
    )


class Inject(Message, answer="Injected"):
    """Take in many memories with ids of their own, and relations: all of them or none."""

    nodes: "tuple[GivenNode, ...]" = field(default=(), limit=Each(INJECT_NODES_MAX))
    edges: "tuple[GivenEdge, ...]" = field(default=(), limit=Each(INJECT_EDGES_MAX))
    dry_run: bool = field(
        default=False, help="change nothing; count what would change", option="--dry-run"
    )

    def validate(self) -> None:
        """Raise ValueError when a memory has too many tags, or too long ones."""
        for place, node in enumerate(self.nodes):
            _TAGS.check(f"nodes[{place}].tags", node.tags)


class GraphStats(Message, answer="GraphStats"):
    """Ask how many nodes and edges there are, and which nodes have most."""


class DeleteNode(Message, answer="DeletedNode"):
    """Delete a memory for good, with its history and its relations."""

    id: str = field(limit=ID)


class DeleteEdge(Message, answer="DeletedEdge"):
    """Delete a relation for good: one interval by its number, or all between two memories."""

    edge: int | None = field(default=None, limit=NUMBER)
    id: str | None = field(default=None, limit=ID)
    kind: str | None = field(default=None, limit=EDGE_KIND)
    to: str | None = field(default=None, limit=ID)


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
