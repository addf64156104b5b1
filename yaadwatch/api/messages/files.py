"""What is asked about agent files."""

from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import NAME_CHARS_MAX, check_mode, check_text, check_texts
from yaadwatch.model.agent_files import INLINE

PATHS_MAX: Final = 64
HISTORY_ENTRIES_MAX: Final = 1_000
IDS_MAX: Final = 1_000


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
        check_texts("accept_deletions", self.accept_deletions, PATHS_MAX, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAdopt:
    """Have an agent file, or all of them, take part in another way."""

    path: str | None = None
    mode: str = INLINE

    def __post_init__(self) -> None:
        check_mode(self.mode)
        if self.path is not None:
            check_text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """Ask what agent files, or one of them, state, and which of it travels to other agents."""

    path: str | None = None

    def __post_init__(self) -> None:
        if self.path is not None:
            check_text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesShare:
    """Send what a file states, or some of it, to the other agents; `undo` takes it back."""

    path: str | None = None
    ids: tuple[str, ...] = ()
    undo: bool = False

    def __post_init__(self) -> None:
        check_texts("ids", self.ids, IDS_MAX, NAME_CHARS_MAX)
        if self.path is not None:
            check_text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRelease:
    """Take our block out of an agent file, or of all of them; they are only read from then on."""

    path: str | None = None

    def __post_init__(self) -> None:
        if self.path is not None:
            check_text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesRestore:
    """Bring a copy of an agent file back; the newest one unless another is named."""

    path: str
    snapshot: int | None = None

    def __post_init__(self) -> None:
        check_text("path", self.path, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesHistory:
    """Ask what happened to an agent file, newest first."""

    path: str
    entries_max: int = 100

    def __post_init__(self) -> None:
        check_text("path", self.path, NAME_CHARS_MAX)
        if not 1 <= self.entries_max <= HISTORY_ENTRIES_MAX:
            raise ValueError(f"entries_max must be from 1 to {HISTORY_ENTRIES_MAX}")
