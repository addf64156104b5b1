"""What is asked about the relations between memories."""

from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import (
    KINDS_MAX,
    TAG_CHARS_MAX,
    TOKENS_MAX,
    check_count,
    check_edge,
    check_id,
    check_text,
    check_texts,
    check_view,
    check_within,
)
from yaadwatch.model.edges import CURRENT
from yaadwatch.model.edges import canonical_kind as canonical_edge_kind
from yaadwatch.model.given import GivenEdge, GivenNode
from yaadwatch.model.settings import (
    GRAPH_DEPTH_MAX,
    GRAPH_NODES_MAX,
    ID_CHARS_MAX,
    INJECT_EDGES_MAX,
    INJECT_NODES_MAX,
    QUERY_CHARS_MAX,
    TAGS_MAX,
)
from yaadwatch.model.times import instant

DIRECTIONS: Final = ("both", "ancestors", "descendants")


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Say that the memory `id` relates to the memory `to`; `weight`: how much doubt goes along."""

    id: str
    kind: str
    to: str
    weight: float | None = None
    since: str | None = None
    attributes: dict[str, object] | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        canonical_edge_kind(self.kind)
        check_text("to", self.to, ID_CHARS_MAX)
        if self.weight is not None and not 0.0 < self.weight <= 1.0:
            raise ValueError(f"weight must be above 0 and at most 1, got {self.weight:g}")
        if self.since is not None:
            instant("since", self.since)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlink:
    """End the relation of a kind between two memories."""

    id: str
    kind: str
    to: str

    def __post_init__(self) -> None:
        check_id(self.id)
        canonical_edge_kind(self.kind)
        check_text("to", self.to, ID_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseLink:
    """End one relation, by the number of its edge, now or at a time before."""

    edge: int
    at: str | None = None

    def __post_init__(self) -> None:
        check_edge(self.edge)
        if self.at is not None:
            instant("at", self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Traverse:
    """Walk from a memory along its edges; `kinds` and `view`: of the edges."""

    id: str
    depth: int = 1
    direction: str = "both"
    kinds: tuple[str, ...] = ()
    view: str = CURRENT
    nodes_max: int = 100
    tokens_max: int = 8000

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.direction not in DIRECTIONS:
            raise ValueError(
                f"direction must be one of {', '.join(DIRECTIONS)}, got {self.direction!r}"
            )
        _walk(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraph:
    """Ask what is around a memory, or around the answers to a question."""

    id: str | None = None
    query: str | None = None
    depth: int = 2
    kinds: tuple[str, ...] = ()
    view: str = CURRENT
    nodes_max: int = 50
    tokens_max: int = 2000

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)
        if self.query is not None:
            check_text("query", self.query, QUERY_CHARS_MAX)
        _walk(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inject:
    """Take in many memories with ids of their own, and relations: all of them or none; with
    `dry_run` only say what would be.
    """

    nodes: tuple[GivenNode, ...] = ()
    edges: tuple[GivenEdge, ...] = ()
    dry_run: bool = False

    def __post_init__(self) -> None:
        check_count("nodes", self.nodes, INJECT_NODES_MAX)
        check_count("edges", self.edges, INJECT_EDGES_MAX)
        for place, node in enumerate(self.nodes):
            check_texts(f"nodes[{place}].tags", node.tags, TAGS_MAX, TAG_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """Ask how many nodes and edges there are, and which nodes have most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Delete a memory for good, with its history and its relations."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEdge:
    """Delete a relation for good: one interval by its number, or all between two memories."""

    edge: int | None = None
    id: str | None = None
    kind: str | None = None
    to: str | None = None

    def __post_init__(self) -> None:
        if self.edge is not None:
            check_edge(self.edge)
        if self.id is not None:
            check_id(self.id)
        if self.kind is not None:
            canonical_edge_kind(self.kind)
        if self.to is not None:
            check_text("to", self.to, ID_CHARS_MAX)


def _walk(asked: Traverse | Subgraph) -> None:
    check_within("depth", asked.depth, 1, GRAPH_DEPTH_MAX)
    check_within("nodes_max", asked.nodes_max, 1, GRAPH_NODES_MAX)
    check_within("tokens_max", asked.tokens_max, 1, TOKENS_MAX)
    check_count("kinds", asked.kinds, KINDS_MAX)
    for kind in asked.kinds:
        canonical_edge_kind(kind)
    check_view(asked.view)
