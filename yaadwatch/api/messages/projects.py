"""What is asked about the projects that are watched."""

from dataclasses import dataclass

from yaadwatch.api.messages.checks import check_mode


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
            check_mode(self.mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Stop watching a repository and remove its store, after a backup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Projects:
    """Ask which repositories are watched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Ask what runs, what is watched and what is wrong."""
