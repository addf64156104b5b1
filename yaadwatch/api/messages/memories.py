"""What is asked about memories, one at a time, and of all of them at once."""

from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import (
    EDGE_MAX,
    NAME_CHARS_MAX,
    TAG_CHARS_MAX,
    TOKENS_MAX,
    check_id,
    check_length,
    check_text,
    check_texts,
    check_version,
    check_view,
    check_within,
)
from yaadwatch.model.edges import CURRENT
from yaadwatch.model.nodes import PROJECT, SCOPES, canonical_key, canonical_kind
from yaadwatch.model.settings import ANCHORS_PER_NODE_MAX, TAGS_MAX

CHARS_MAX: Final = 800_000
WAIT_MS_MAX: Final = 30_000
REASON_CHARS_MAX: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Keep a statement. `files` and `symbols` name what it is about besides what the text names;
    `scope` says where it holds: in this project, or for the user everywhere. The memory under
    `key`, if there is one, gets the words; `expected_version` is the one they are meant for.
    `session` is the one it is learned in, if not that of who asks.

    The text itself is judged where it is kept, which has more to say about it.
    """

    text: str
    kind: str | None = None
    tier: int | None = None
    scope: str = PROJECT
    key: str | None = None
    expected_version: int | None = None
    tags: tuple[str, ...] = ()
    attributes: dict[str, object] | None = None
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pin: bool = False
    session: str | None = None

    def __post_init__(self) -> None:
        if self.session is not None:
            check_id(self.session)
        if self.kind is not None:
            canonical_kind(self.kind)
        if self.tier is not None:
            check_within("tier", self.tier, 1, 3)
        if self.scope not in SCOPES:
            raise ValueError(f"scope must be 'project' or 'user', got {self.scope!r}")
        if self.key is not None:
            canonical_key(self.key)
        if self.expected_version is not None:
            check_version(self.expected_version)
            if self.key is None:
                raise ValueError("expected_version needs the key of the memory that it is of")
        check_texts("tags", self.tags, TAGS_MAX, TAG_CHARS_MAX)
        check_texts("files", self.files, ANCHORS_PER_NODE_MAX, NAME_CHARS_MAX)
        check_texts("symbols", self.symbols, ANCHORS_PER_NODE_MAX, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Ask for the brief. `wait_ms` is how long the files may be looked at first."""

    tokens_max: int = 2000
    chars_max: int = 8000
    wait_ms: int = 1000

    def __post_init__(self) -> None:
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)
        check_within("chars_max", self.chars_max, 1, CHARS_MAX)
        check_within("wait_ms", self.wait_ms, 0, WAIT_MS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Show:
    """Ask for everything about one memory. `id` is an id or a unique part of it; `view`: which of
    its edges.
    """

    id: str
    view: str = CURRENT

    def __post_init__(self) -> None:
        check_id(self.id)
        check_view(self.view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Forget:
    """Archive one memory, for a reason."""

    id: str
    reason: str = ""

    def __post_init__(self) -> None:
        check_id(self.id)
        check_length("reason", self.reason, REASON_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Erase:
    """Erase a memory from everything of ours, backups too; it cannot be brought back."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore:
    """Bring an archived memory back, or a memory as it was in one `version`."""

    id: str
    version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.version is not None:
            check_within("version", self.version, 1, EDGE_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """Ask what became of a memory: every version, who made it, and why."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirm:
    """Say that a memory still holds; `anyway`: also when it is false for certain."""

    id: str
    anyway: bool = False

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Give a memory new words; `expected_version` is the one that they are meant for.

    The text itself is judged where it is kept, which has more to say about it.
    """

    id: str
    text: str
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        if self.expected_version is not None:
            check_version(self.expected_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reanchor:
    """Accept what the flag of one memory proposes, or of all; with `dry_run` only say what.

    What also changed stays flagged, unless `accept_change`.
    """

    id: str | None = None
    all: bool = False
    dry_run: bool = False
    accept_change: bool = False

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """Keep a memory from ageing."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpin:
    """Let a pinned memory age again."""

    id: str

    def __post_init__(self) -> None:
        check_id(self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tag:
    """Put tags on a memory and take others off."""

    id: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    expected_version: int | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_texts("add", self.add, TAGS_MAX, TAG_CHARS_MAX)
        check_texts("remove", self.remove, TAGS_MAX, TAG_CHARS_MAX)
        if not self.add and not self.remove:
            raise ValueError("add and remove must not both be empty")
        both = sorted(set(self.add) & set(self.remove))
        if both:
            raise ValueError(f"{both[0]!r} must not be in add and in remove")
        if self.expected_version is not None:
            check_version(self.expected_version)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale:
    """Ask what may no longer be true. `all` adds suspects; `check` looks at the files first."""

    all: bool = False
    check: bool = True
    all_branches: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """Ask what rests on a file: FILE, FILE:SYMBOL or a folder. `check` looks at the files first;
    `all_branches` tells memories from branches that are not merged here, too.
    """

    file: str
    check: bool = True
    all_branches: bool = False

    def __post_init__(self) -> None:
        check_text("file", self.file, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Compare every memory of a project with its files now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """Archive and prune what has faded; with `dry_run` only say what would be.

    `accept`: also when most memories would go at once.
    """

    dry_run: bool = False
    accept: bool = False
