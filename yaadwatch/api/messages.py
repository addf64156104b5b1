"""What each operation is asked with: one frozen dataclass per request, checked when it is made.

A field without a default must be given. The types here are the types on the wire; `api/codec.py`
reads them, so a new field needs no other line.
"""

import re
from dataclasses import dataclass
from typing import Final

from yaadwatch.model.agent_files import INLINE, MODES
from yaadwatch.model.edges import CURRENT, VIEWS
from yaadwatch.model.edges import canonical_kind as canonical_edge_kind
from yaadwatch.model.given import GivenEdge, GivenNode
from yaadwatch.model.nodes import canonical_kind
from yaadwatch.model.settings import (
    ANCHORS_PER_NODE_MAX,
    GRAPH_DEPTH_MAX,
    GRAPH_NODES_MAX,
    ID_CHARS_MAX,
    INJECT_EDGES_MAX,
    INJECT_NODES_MAX,
    QUERY_CHARS_MAX,
    TAGS_MAX,
)
from yaadwatch.model.times import instant

TOP_K_MAX: Final = 100
TOKENS_MAX: Final = 100_000
CHARS_MAX: Final = 800_000
WAIT_MS_MAX: Final = 30_000
KINDS_MAX: Final = 32
PATHS_MAX: Final = 64
REASON_CHARS_MAX: Final = 1_000
TAG_CHARS_MAX: Final = 64
NAME_CHARS_MAX: Final = 4_096
HISTORY_ENTRIES_MAX: Final = 1_000
"""A path, a symbol or a cursor."""
CLIENT_CHARS_MAX: Final = 128
DIRECTIONS: Final = ("both", "ancestors", "descendants")
EDGE_MAX: Final = 2**63 - 1
"""The number of an edge, as SQLite counts."""

AGENT_FORM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""How the name of a coding agent looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hello:
    """The first line a client sends: which language it speaks, and on whose behalf."""

    protocol: int
    client: str
    cwd: str
    agent: str | None
    speaks: str

    def __post_init__(self) -> None:
        _text("client", self.client, CLIENT_CHARS_MAX)
        check_folder("cwd", self.cwd)
        if self.agent is not None and not AGENT_FORM.fullmatch(self.agent):
            raise ValueError(
                "agent must be 1 to 64 letters, digits, '.', '_' and '-', beginning with a letter"
                f" or digit, got {self.agent!r}"
            )
        if self.speaks not in {"rpc", "mcp"}:
            raise ValueError(f"speaks must be 'rpc' or 'mcp', got {self.speaks!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Keep a statement. `files` and `symbols` name what it is about besides what the text names.

    The text itself is judged where it is kept, which has more to say about it.
    """

    text: str
    kind: str | None = None
    tier: int | None = None
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pin: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:
            canonical_kind(self.kind)
        if self.tier is not None:
            _within("tier", self.tier, 1, 3)
        _texts("tags", self.tags, TAGS_MAX, TAG_CHARS_MAX)
        _texts("files", self.files, ANCHORS_PER_NODE_MAX, NAME_CHARS_MAX)
        _texts("symbols", self.symbols, ANCHORS_PER_NODE_MAX, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Ask a question; get the memories that answer it, best first."""

    query: str
    top_k: int = 10
    tokens_max: int = 800
    kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _text("query", self.query, QUERY_CHARS_MAX)
        _within("top_k", self.top_k, 1, TOP_K_MAX)
        _within("tokens_max", self.tokens_max, 1, TOKENS_MAX)
        _count("kinds", self.kinds, KINDS_MAX)
        for kind in self.kinds:
            canonical_kind(kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Ask for the brief. `wait_ms` is how long the files may be looked at first."""

    tokens_max: int = 2000
    chars_max: int = 8000
    wait_ms: int = 1000

    def __post_init__(self) -> None:
        _within("tokens_max", self.tokens_max, 1, TOKENS_MAX)
        _within("chars_max", self.chars_max, 1, CHARS_MAX)
        _within("wait_ms", self.wait_ms, 0, WAIT_MS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Ask for everything about one memory. `id` is an id or a unique part of it; `view`: which of
    its edges.
    """

    id: str
    view: str = CURRENT

    def __post_init__(self) -> None:
        _id(self.id)
        _view(self.view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Archive one memory, for a reason."""

    id: str
    reason: str = ""

    def __post_init__(self) -> None:
        _id(self.id)
        _at_most("reason", self.reason, REASON_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring an archived memory back."""

    id: str

    def __post_init__(self) -> None:
        _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Say that a memory still holds."""

    id: str

    def __post_init__(self) -> None:
        _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Give a memory new words; `expected_version` is the one that they are meant for.

    The text itself is judged where it is kept, which has more to say about it.
    """

    id: str
    text: str
    expected_version: int | None = None

    def __post_init__(self) -> None:
        _id(self.id)
        if self.expected_version is not None and self.expected_version < 1:
            raise ValueError(f"expected_version counts from 1, got {self.expected_version}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reanchor:
    """Accept what the doubt about one memory proposes, or of all; with `dry_run` only say what."""

    id: str | None = None
    all: bool = False
    dry_run: bool = False

    def __post_init__(self) -> None:
        if self.id is not None:
            _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Keep a memory from ageing."""

    id: str

    def __post_init__(self) -> None:
        _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin:
    """Let a pinned memory age again."""

    id: str

    def __post_init__(self) -> None:
        _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Ask what may no longer be true. `all` adds suspects; `check` looks at the files first."""

    all: bool = False
    check: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """Ask what rests on a file: FILE, FILE:SYMBOL or a folder. `check` looks at the files first."""

    file: str
    check: bool = True

    def __post_init__(self) -> None:
        _text("file", self.file, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """Say that the memory `id` relates to the memory `to`; `weight`: how much doubt goes along."""

    id: str
    kind: str
    to: str
    weight: float = 1.0
    since: str | None = None
    attributes: dict[str, object] | None = None

    def __post_init__(self) -> None:
        _id(self.id)
        canonical_edge_kind(self.kind)
        _text("to", self.to, ID_CHARS_MAX)
        if not 0.0 < self.weight <= 1.0:
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
        _id(self.id)
        canonical_edge_kind(self.kind)
        _text("to", self.to, ID_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseLink:
    """End one relation, by the number of its edge, now or at a time before."""

    edge: int
    at: str | None = None

    def __post_init__(self) -> None:
        _edge(self.edge)
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
        _id(self.id)
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
            _id(self.id)
        if self.query is not None:
            _text("query", self.query, QUERY_CHARS_MAX)
        _walk(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Inject:
    """Take in many memories with ids of their own, and relations: all of them or none."""

    nodes: tuple[GivenNode, ...] = ()
    edges: tuple[GivenEdge, ...] = ()

    def __post_init__(self) -> None:
        _count("nodes", self.nodes, INJECT_NODES_MAX)
        _count("edges", self.edges, INJECT_EDGES_MAX)
        for place, node in enumerate(self.nodes):
            _texts(f"nodes[{place}].tags", node.tags, TAGS_MAX, TAG_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphStats:
    """Ask how many nodes and edges there are, and which nodes have most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Delete a memory for good, with its history and its relations."""

    id: str

    def __post_init__(self) -> None:
        _id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteEdge:
    """Delete a relation for good: one interval by its number, or all between two memories."""

    edge: int | None = None
    id: str | None = None
    kind: str | None = None
    to: str | None = None

    def __post_init__(self) -> None:
        if self.edge is not None:
            _edge(self.edge)
        if self.id is not None:
            _id(self.id)
        if self.kind is not None:
            canonical_edge_kind(self.kind)
        if self.to is not None:
            _text("to", self.to, ID_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Compare every memory of a project with its files now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Watch a repository. `trust` adopts a store we do not know; `restore` brings a backup back;
    `mode` says how its agent files take part.
    """

    trust: bool = False
    restore: bool = False
    mode: str | None = None

    def __post_init__(self) -> None:
        if self.mode is not None:
            _mode(self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Stop watching a repository and remove its store, after a backup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """Ask which repositories are watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Ask what runs, what is watched and what is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Ask which agent files there are, how they take part and how they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesDiff:
    """Ask what a sync of the agent files would change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesSync:
    """Bring agent files and memories together; deletions in the files named are meant."""

    accept_deletions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _texts("accept_deletions", self.accept_deletions, PATHS_MAX, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAdopt:
    """Have an agent file, or all of them, take part in another way."""

    path: str | None = None
    mode: str = INLINE

    def __post_init__(self) -> None:
        _mode(self.mode)
        if self.path is not None:
            _text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRelease:
    """Take our block out of an agent file, or of all of them; they are only read from then on."""

    path: str | None = None

    def __post_init__(self) -> None:
        if self.path is not None:
            _text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRestore:
    """Bring a copy of an agent file back; the newest one unless another is named."""

    path: str
    snapshot: int | None = None

    def __post_init__(self) -> None:
        _text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesHistory:
    """Ask what happened to an agent file, newest first."""

    path: str
    entries_max: int = 100

    def __post_init__(self) -> None:
        _text("path", self.path, NAME_CHARS_MAX)
        if not 1 <= self.entries_max <= HISTORY_ENTRIES_MAX:
            raise ValueError(f"entries_max must be from 1 to {HISTORY_ENTRIES_MAX}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Archive and prune what has faded; with `dry_run` only say what would be."""

    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Follow the events after a cursor; without one, those from now on."""

    after: str | None = None

    def __post_init__(self) -> None:
        if self.after is not None:
            _text("after", self.after, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shutdown:
    """End the daemon."""


def check_folder(name: str, folder: str) -> None:
    """Raise ValueError unless `folder` could be a folder's absolute path; it need not exist."""
    if not folder.startswith("/"):
        raise ValueError(f"{name} must be an absolute folder, got {folder!r}")
    _at_most(name, folder, NAME_CHARS_MAX)


def _text(name: str, text: str, chars_max: int) -> None:
    if not text.strip():
        raise ValueError(f"{name} must not be empty")
    _at_most(name, text, chars_max)


def _at_most(name: str, text: str, chars_max: int) -> None:
    if len(text) > chars_max:
        raise ValueError(f"{name} must have at most {chars_max} characters, got {len(text)}")


def _texts(name: str, texts: tuple[str, ...], count_max: int, chars_max: int) -> None:
    _count(name, texts, count_max)
    for text in texts:
        _text(f"each of {name}", text, chars_max)


def _count(name: str, given: tuple[object, ...], count_max: int) -> None:
    if len(given) > count_max:
        raise ValueError(f"{name} must have at most {count_max} entries, got {len(given)}")


def _mode(given: str) -> None:
    if given not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {given!r}")


def _view(given: str) -> None:
    if given not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {given!r}")


def _walk(asked: Traverse | Subgraph) -> None:
    _within("depth", asked.depth, 1, GRAPH_DEPTH_MAX)
    _within("nodes_max", asked.nodes_max, 1, GRAPH_NODES_MAX)
    _within("tokens_max", asked.tokens_max, 1, TOKENS_MAX)
    _count("kinds", asked.kinds, KINDS_MAX)
    for kind in asked.kinds:
        canonical_edge_kind(kind)
    _view(asked.view)


def _edge(number: int) -> None:
    _within("edge", number, 1, EDGE_MAX)


def _id(given: str) -> None:
    _text("id", given, ID_CHARS_MAX)


def _within(name: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise ValueError(f"{name} must be within {low} and {high}, got {number}")
