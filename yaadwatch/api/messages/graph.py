"""What is asked about the relations between memories."""

from yaadwatch.api.limits import (
    EDGE_KIND,
    ID,
    KINDS_MAX,
    NUMBER,
    TAG_CHARS_MAX,
    TIME,
    TOKENS,
    Each,
    OneOf,
    Text,
    Within,
)
from yaadwatch.api.message import Message, field
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
    from yaadwatch.model.given import GivenEdge, GivenNode

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
