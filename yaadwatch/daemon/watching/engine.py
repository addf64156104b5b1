"""What the watching asks of the rest of the program: plain functions, run in threads."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from yaadwatch.daemon.watching.arming import WatchedTree


class Checked(Protocol):
    """What a check did; see `engine.stale.Checked`."""

    @property
    def raised(self) -> int:
        """Return how many doubts were raised."""

    @property
    def cleared(self) -> int:
        """Return how many doubts were cleared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What is known of the projects, and what brings them up to date.

    Args:
        trees: the work trees of one project, or of all (None).
        projects: the projects in the registry, by id, and where each is.
        check: bring the flags of a tree up to date; paths None: look at everything.
        sync: bring the agent files of a tree and the graph together, when they are among the paths;
            tells whether it has to be tried again soon.
        is_rule: whether a file in a folder further down would be an agent file.
        is_passed: which folders, by their names, have none that count.
        is_place: whether an agent file may come up at a path, in a project that has none there.
    """

    trees: Callable[[str | None], Iterable[WatchedTree]]
    projects: Callable[[], Mapping[str, Path]]
    check: Callable[[str, int, frozenset[str] | None], Checked]
    sync: Callable[[str, int, frozenset[str] | None], bool]
    is_rule: Callable[[str], bool] = lambda _: False
    is_passed: Callable[[str], bool] = lambda _: False
    is_place: Callable[[str], bool] = lambda _: False
