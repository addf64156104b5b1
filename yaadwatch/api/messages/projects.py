"""What is asked about the projects that are watched."""

from dataclasses import dataclass

from yaadwatch.api.messages.checks import check_mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Watch a repository. `adopt` takes over the memories that are kept of it from before;
    `separate` begins without them, and gives a copy an id of its own; `restore` brings a backup
    back; `mode` says how its agent files take part.
    """

    adopt: bool = False
    separate: bool = False
    restore: bool = False
    mode: str | None = None

    def __post_init__(self) -> None:
        if self.mode is not None:
            check_mode(self.mode)
        if self.adopt + self.separate + self.restore > 1:
            raise ValueError("only one of adopt, separate and restore can be asked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Stop watching a repository; its memories are kept, unless `erase` deletes them."""

    erase: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """Ask which repositories are watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Ask what runs, what is watched and what is wrong."""
