"""Settings that a person may change, and fixed limits: each with its unit."""

from dataclasses import dataclass, field, fields
from datetime import timedelta
from functools import lru_cache
from typing import Any, Final

from yaadwatch.model.limits import (
    TEXT_CHARS_MAX,
    TOP_K_MAX,
)
from yaadwatch.model.memories import canonical_kind

HALF_LIFE_DAYS: Final = {
    "convention": 180.0,
    "decision": 180.0,
    "preference": 180.0,
    "command": 90.0,
    "skill": 90.0,
    "task": 14.0,
    "session": 14.0,
}
"""Half-life by kind, in days; other kinds take `Memory.half_life_days`."""

STORED_TEXT_CHARS_MAX: Final = 8 * TEXT_CHARS_MAX
"""The same as it is stored: control characters are escaped, secrets masked."""
REQUESTS_AT_ONCE_MAX: Final = 4
"""Verbs running at the same time, over all connections."""

FILE_BYTES_MAX: Final = 2 * 1024 * 1024
"""A file larger than this is never parsed; its definitions are unknown."""
AGENT_FILE_BYTES_MAX: Final = 256 * 1024
"""No agent takes that much, and a hostile megabyte would keep the parser busy for 20 s."""
BLOCK_ITEMS_MAX: Final = 25
"""Rules put into the managed block of one agent file."""
BLOCK_BYTES_MAX: Final = 4 * 1024
"""Size of a managed block, markers and line ends included, up to which rules are put in."""
ALIKE_MIN: Final = 0.6
"""A line that replaced another is that rule in new words if they are so alike, 0 to 1."""
ALIKE_CHARS_MAX: Final = 500
"""How many characters of two lines are compared, from their beginning."""
AGENT_FILE_WRITES_WITHIN: Final = timedelta(minutes=1)
SYMBOL_FILES_MAX: Final = 12
"""A name that is defined or used in more files than this anchors nothing."""
WORD_FILES_MAX: Final = 400
"""A word in more files of code than this is no anchor."""
DEFINITIONS_MAX: Final = 3
"""A name defined more often than this in one file anchors nothing there."""
HISTORY_COMMITS_MAX: Final = 2_000
"""Commits searched for the removal or rename of a file."""
EVIDENCE_COMMITS_MAX: Final = 50
"""Commits of one file in which a change of a definition is sought, the newest."""
MOVE_CANDIDATES_MAX: Final = 200
"""Untracked files looked at for a file that was moved without git knowing."""

IMPACT_HOPS_MAX: Final = 3
"""Edges in a row along which a flag is inherited."""
IMPACT_NODES_MAX: Final = 200
"""Memories listed with an inherited flag, strongest first; the others are counted."""

CIRCLE_EDGES_MAX: Final = 200_000
"""Edges looked at for whether new ones close a circle; with more ahead, none is added."""
NODE_ATTRIBUTES_BYTES_MAX: Final = 8 * 1024
"""Metadata of a memory from a caller, as JSON."""
EDGE_ATTRIBUTES_BYTES_MAX: Final = 8 * 1024
"""Metadata of an edge, as JSON."""

GRAPH_EDGES_MAX: Final = 2_000
"""Edges listed for a walk, strongest first."""
GRAPH_STEP_EDGES_MAX: Final = 5_000
"""Edges looked at for one step of a walk in one direction, the strongest."""

DIRTY_PATHS_MAX: Final = 512
"""More changed paths than this at once are one check of everything."""
HOLD: Final = timedelta(seconds=30)
"""Git's index lock holds a check back for so long at most."""
BURST: Final = timedelta(seconds=2)
"""A burst of changes that never pauses is checked after this."""
STORES_OPEN_MAX: Final = 16
STORE_CLOSING_S: Final = 5.0
"""What is in progress in a store that is being closed is waited for so long."""
STORE_IDLE: Final = timedelta(seconds=30)
"""A store unused for this long may be closed; it takes 0.6 MiB, and 1 ms to open."""
LONG_REST: Final = timedelta(minutes=10)
"""When no store was used for this long, caches are dropped: some megabytes for a large repository,
rebuilt within half a second."""
QUESTION_WAIT_MS: Final = 250
"""A warm worker has so long for the vector of a question; after that, words have to do."""
FILL_BATCH: Final = 16
"""Memories embedded and written at once."""
UPKEEP_BATCH: Final = 500
"""Nodes changed in one transaction by upkeep."""
BACKUPS_KEPT: Final = 7
"""Dated copies kept of one store."""
TRIM_BATCH: Final = 5_000
"""Events forgotten in one transaction."""
CLAIMS_TOLD_MAX: Final = 500
"""Claims listed at once."""
CONTRADICTIONS_MAX: Final = 200
"""Contradictions listed, of each kind."""
CLASHES_MAX: Final = 200
"""Pairs of claims compared for each open contradiction that is listed."""
GAPS_NOTED_MAX: Final = 1_000
"""Different questions without a good answer that are noted between two times of writing down."""
SHOWN_NOTED_MAX: Final = 10_000
"""Memories that are noted as shown, or recalled, between two times of writing down."""


def _within(default: float, low: float, high: float) -> Any:
    """Declare a setting with its default and its limits."""
    return field(default=default, metadata={"limits": (low, high)})


class _Limited:
    __slots__ = ()

    def __post_init__(self) -> None:
        for one in fields(self):  # type: ignore[arg-type]
            value = getattr(self, one.name)
            low, high = one.metadata.get("limits", (value, value))
            if not low <= value <= high:
                raise ValueError(f"{one.name} must be within {low} and {high}, got {value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory(_Limited):
    """How memories age.

    Args:
        half_life_days: for kinds without a row of their own.
        half_lives: rows of `KIND=DAYS`, over those of HALF_LIFE_DAYS.
        min_confidence: below it a memory is archived.
        prune_after_days: an archived memory that nothing points at is erased after so long.
    """

    half_life_days: float = _within(30.0, 0.001, 100_000)
    half_lives: tuple[str, ...] = ()
    min_confidence: float = _within(0.1, 0, 0.999)
    prune_after_days: float = _within(90.0, 0, 100_000)

    def __post_init__(self) -> None:
        _Limited.__post_init__(self)
        _half_lives(self.half_lives)

    def half_life(self, kind: str) -> timedelta:
        """Return the age at which half the confidence of a memory of `kind` is left."""
        return timedelta(days=_half_lives(self.half_lives).get(kind, self.half_life_days))

    def kinds(self) -> frozenset[str]:
        """Return the kinds with a half-life of their own."""
        return frozenset(_half_lives(self.half_lives))


@lru_cache(maxsize=64)
def _half_lives(rows: tuple[str, ...]) -> dict[str, float]:
    """Return the half-life by kind, in days.

    Raises:
        ValueError: a row is not `KIND=DAYS`, with positive days.
    """
    table = dict(HALF_LIFE_DAYS)
    for row in rows:
        kind, _, days = row.partition("=")
        try:
            table[canonical_kind(kind)] = float(days)
        except ValueError:
            raise ValueError(f"half_lives must be rows like 'task=14', got {row!r}") from None
        if not 0.001 <= table[canonical_kind(kind)] <= 100_000:
            raise ValueError(f"half_lives must be days from 0.001 to 100000, got {row!r}")
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall(_Limited):
    """Defaults of recall.

    Args:
        top_k: most memories in an answer.
        min_score: memories with a lower score, as a share of the best, are left out.
        semantic_weight: weight of meaning against words for short texts, when a model is active;
            less for long texts.
    """

    top_k: int = _within(10, 1, TOP_K_MAX)
    min_score: float = _within(0.0, 0, 1)
    semantic_weight: float = _within(0.5, 0, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Store(_Limited):
    """How large a store may get, and how long its log of events is kept.

    Args:
        budget_mib: from this size on nothing is added to a store; 0: no budget.
        events_days: events are forgotten after this.
    """

    budget_mib: int = _within(1024, 0, 1024 * 1024)
    events_days: int = _within(90, 1, 36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch(_Limited):
    """How files are watched."""

    quiet_ms: int = _within(100, 0, 2000)
    poll_s: int = _within(60, 1, 3600)
    directories_max: int = _within(4096, 0, 10_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Git(_Limited):
    """How git is run."""

    timeout_ms: int = _within(10_000, 50, 600_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFiles(_Limited):
    """How agent files are kept in sync.

    Args:
        idle_s: while an agent is at work in a repository, files it may edit are not written until
            it was quiet for so many seconds; 0: they are written at once.
        also: further files with rules, such as CONVENTIONS.md: relative to the top of a project,
            '*' for anything in a name, '**/' for any folders.
    """

    idle_s: int = _within(60, 0, 3600)
    also: tuple[str, ...] = ()


ALWAYS: Final = "always"
"""Rules of agents are followed before a person approves them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agents:
    """How far agents are trusted.

    Args:
        rules: `review`: a rule that an agent states is quoted, and in no rules file, until a person
            approves it; `always`: the private rules files carry it at once.
    """

    rules: str = "review"

    def __post_init__(self) -> None:
        if self.rules not in ("review", ALWAYS):
            raise ValueError(f"rules must be 'review' or 'always', got {self.rules!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Vectors(_Limited):
    """How texts are made vectors; see `yaadwatch embed`.

    Args:
        idle_s: the process that runs the model ends when nothing was asked of it for so long.
    """

    idle_s: int = _within(300, 1, 86_400)


WIDE_TOOLS: Final = ("graph", "curate")
"""Tools for agents that do more than most of them need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mcp:
    """What agents are offered as tools.

    Args:
        wide: wide tools that are listed besides the others: 'graph', 'curate'.
    """

    wide: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in self.wide:
            if name not in WIDE_TOOLS:
                raise ValueError(f"wide must hold {' and '.join(WIDE_TOOLS)} only, got {name!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Daemon:
    """How the process itself behaves.

    Args:
        memory_mib: of memory without pages of files; above it, the daemon restarts itself. 0: no
            limit. Less than 128 is refused: the daemon itself would be above it soon.
    """

    memory_mib: int = 512

    def __post_init__(self) -> None:
        if self.memory_mib != 0 and not 128 <= self.memory_mib <= 1024 * 1024:
            raise ValueError(
                f"memory_mib must be 0 or within 128 and 1048576, got {self.memory_mib}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a person may set."""

    memory: Memory = field(default_factory=Memory)
    recall: Recall = field(default_factory=Recall)
    store: Store = field(default_factory=Store)
    watch: Watch = field(default_factory=Watch)
    git: Git = field(default_factory=Git)
    agent_files: AgentFiles = field(default_factory=AgentFiles)
    agents: Agents = field(default_factory=Agents)
    vectors: Vectors = field(default_factory=Vectors)
    mcp: Mcp = field(default_factory=Mcp)
    daemon: Daemon = field(default_factory=Daemon)
