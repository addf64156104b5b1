"""What is asked about a store as a whole, and about what goes out of it and comes into it."""

from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import NAME_CHARS_MAX, check_length

EXPORTS: Final = ("jsonl", "markdown", "store")
IMPORTS: Final = ("jsonl", "markdown", "agent-file", "yaad", "store")


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """Ask for a piece of what goes out: the first one, or, with `upload`, the one at `after`."""

    format: str = "jsonl"
    user: bool = False
    upload: str | None = None
    after: int = 0

    def __post_init__(self) -> None:
        _one_of(self.format, EXPORTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """Hand in a piece (base64) of what comes in; `last`: that was all, now take it, or with
    `dry_run` only try. `mine`: an export of ours that holds the person's own words.
    """

    format: str
    upload: str | None = None
    part: str = "data"
    data: str = ""
    last: bool = False
    dry_run: bool = False
    user: bool = False
    source: str = ""
    mine: bool = False

    def __post_init__(self) -> None:
        _one_of(self.format, IMPORTS)
        check_length("source", self.source, NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Imports:
    """Ask what was imported."""

    user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verify:
    """Look for what is wrong in a store; `repair` makes anew what is derived. `user`: the user's
    own store, not that of the project.
    """

    user: bool = False
    repair: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact:
    """Write a store anew, without the room of what was deleted."""

    user: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """Make a dated copy of a store now."""

    user: bool = False


def _one_of(given: str, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ValueError(f"format must be one of {', '.join(known)}, got {given!r}")
