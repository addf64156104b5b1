"""Requests about relations, claims, contradictions, gaps and review."""

from yaadwatch.api.message import (
    EDGE_KIND,
    ID,
    KINDS_MAX,
    NUMBER,
    REASON,
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
from yaadwatch.api.messages.memories import ONE, TAGS
from yaadwatch.model import limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from yaadwatch.model.queries import GivenEdge, GivenNode


class Unlink(Message, answer="Unlinked"):
    """End the relation of a kind between two memories."""

    id: str = field("FROM  id of a memory; a unique beginning or end is enough", limit=ID, tool="")
    kind: str = field("KIND  depends_on, part_of, caused_by, led_to, ...", limit=EDGE_KIND, tool="")
    to: str = field("TO  id of the other memory", limit=ID, tool="")


class Link(Message, answer="Linked"):
    """Say that the memory `id` relates to the memory `to`."""

    id: str = field("FROM  id of a memory; a unique beginning or end is enough", limit=ID, tool="")
    kind: str = field(
        "KIND  depends_on, part_of, caused_by, led_to, ...",
        limit=EDGE_KIND,
        tool="depends_on, part_of, caused_by, led_to, ...",
    )
    to: str = field("TO  id of the other memory", limit=ID, tool="")
    weight: float | None = field(
        "--weight W  how much of a flag it passes on, 0 to 1 (default: unchanged; 1 for a "
        "new relation)",
        default=None,
        limit=Within(0, 1, excludes_low=True),
    )
    since: str | None = field(
        "--since TIME  when the relation began (default: now)", default=None, limit=TIME
    )
    attributes: dict[str, object] | None = field(
        '--attributes JSON  extra data to keep with it, such as \'{"source": "review"}\'',
        default=None,
    )


class CloseLink(Message, answer="Unlinked"):
    """End one relation, by the number of its edge, now or at a time before."""

    edge: int = field(limit=NUMBER)
    at: str | None = field(
        "--at TIME  for close: when it ended (default: now)", default=None, limit=TIME
    )


class _Walk(Message):
    """Along which edges to walk; `kinds` and `view`: of the edges."""

    kinds: tuple[str, ...] = field(
        "--kind KIND  only relations of this kind; may be repeated",
        default=(),
        limit=Each(KINDS_MAX, EDGE_KIND),
    )
    view: str = field(
        "--view  relations that hold, that have ended, or both (default: {default})",
        default=limits.CURRENT,
        limit=OneOf(limits.VIEWS),
    )


class Traverse(_Walk, answer="Walked"):
    """Walk from a memory along its edges."""

    id: str = field(f"ID  {ONE}", limit=ID)
    direction: str = field(
        "--direction  ancestors: A when A led_to ID; descendants: B when ID led_to B (default: "
        "{default})",
        default="both",
        limit=OneOf(("both", "ancestors", "descendants")),
    )
    depth: int = field(
        "--depth N  steps, 1 to 10 (default: {default})",
        default=1,
        limit=Within(1, limits.GRAPH_DEPTH_MAX),
    )
    nodes_max: int = field(
        "--nodes N  at most so many memories", default=100, limit=Within(1, limits.GRAPH_NODES_MAX)
    )
    tokens_max: int = field(default=8000, limit=TOKENS)


class Subgraph(_Walk, answer="Walked"):
    """Ask what is around a memory, or around the answers to a question."""

    id: str | None = field(f"[ID]  {ONE}", default=None, limit=ID, tool="")
    query: str | None = field(
        "--query WORDS  start from the answers to this question",
        default=None,
        limit=Text(limits.QUERY_CHARS_MAX),
        tool="",
    )
    depth: int = field(
        "--depth N  steps, 1 to 10 (default: {default})",
        default=2,
        limit=Within(1, limits.GRAPH_DEPTH_MAX),
        tool="steps, to 10",
    )
    nodes_max: int = field(
        "--nodes N  at most so many memories", default=50, limit=Within(1, limits.GRAPH_NODES_MAX)
    )
    tokens_max: int = field(
        "--tokens N  at most so many tokens (default: {default})", default=2000, limit=TOKENS
    )


class Inject(Message, answer="Injected"):
    """Take in many memories with ids of their own, and relations: all of them or none."""

    nodes: "tuple[GivenNode, ...]" = field(default=(), limit=Each(limits.INJECT_NODES_MAX))
    edges: "tuple[GivenEdge, ...]" = field(default=(), limit=Each(limits.INJECT_EDGES_MAX))
    dry_run: bool = field("--dry-run  change nothing; count what would change", default=False)

    def validate(self) -> None:
        """Raise ValueError when a memory has too many tags, or too long ones."""
        for place, node in enumerate(self.nodes):
            TAGS.check(f"nodes[{place}].tags", node.tags)


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


class Claims(Message, answer="Claims"):
    """Ask what is claimed: by one memory, or of one subject."""

    id: str | None = field(default=None, limit=ID)
    subject: str | None = field(
        "--subject S  only claims about this subject", default=None, limit=WORDS
    )
    all: bool = field("--all  also claims that no longer hold", default=False)


class AddClaim(Message, answer="Claimed"):
    """Say what a memory claims besides its words."""

    id: str = field(limit=ID)
    subject: str = field(limit=WORDS)
    attribute: str = field(limit=WORDS)
    value: str = field(limit=WORDS)
    evidence: str = field(
        "--evidence TEXT  for add: what shows that it is true, in words", default="", limit=REASON
    )
    evidence_at: str | None = field(
        "--evidence-at TIME  for add: the date of the evidence, such as 2026-03-01",
        default=None,
        limit=TIME,
    )
    edge: int | None = field(
        "--edge N  for add: the relation it rests on; when that ends, the claim is contradicted",
        default=None,
        limit=NUMBER,
    )


class EndClaim(Message, answer="Claimed"):
    """Say that a claim, by its number, no longer holds."""

    claim: int = field(limit=NUMBER)


class Contradictions(Message, answer="Contradictions"):
    """Ask what cannot all be true."""

    settled: bool = field("--settled  also those that were settled", default=False)


class Resolve(Message, answer="Resolved"):
    """Settle a contradiction: keep one memory, both, or none."""

    id: str = field("ID  the id of the contradiction, or its beginning", limit=ID)
    keep: str | None = field(
        "--keep MEMORY  the memory that is right: " + ONE,
        default=None,
        limit=ID,
        one_of="how, required",
    )
    both: bool = field(
        "--both  both are right; do not show it again", default=False, one_of="how, required"
    )
    none: bool = field("--none  none of them is right", default=False, one_of="how, required")
    forget: bool = field("--forget  archive the memories that are not kept", default=False)
    reason: str = field("--reason TEXT  why; kept with the decision", default="", limit=REASON)


class Gaps(Message, answer="Gaps"):
    """Ask which questions had no good answer."""


class ApproveGap(Message, answer="Gap"):
    """Have the words of a question kept that had no good answer: only who gives them can."""

    question: str = field(limit=Text(limits.QUERY_CHARS_MAX))
    reason: str = field("--reason TEXT  for approve: why; kept with it", default="", limit=REASON)


class DropGap(Message, answer="Gap"):
    """Forget a question that had no good answer, by the beginning of its hash."""

    gap: str = field(limit=WORDS)


class Review(Message, answer="Review"):
    """Ask which notes of agents and imports wait for a person."""

    limit: int = field(default=100, limit=Within(1, 1000))


class Decide(Message, answer="Decided"):
    """Approve, edit or dismiss a note or a proposal, or undo that."""

    id: str = field(limit=ID)
    verdict: str = field(limit=OneOf(("approve", "edit", "dismiss", "undo")))
    text: str | None = None
    expected_version: int | None = field(
        default=None, limit=NUMBER, help="the version that the person saw"
    )
    proposal: str | None = field(default=None, limit=WORDS, help="the proposal that the person saw")

    def validate(self) -> None:
        """Raise ValueError unless text goes with the verdict."""
        if (self.text is not None) != (self.verdict == "edit"):
            raise ValueError("text is for the verdict 'edit', and needed there")
