"""Is a burst of changes over, and what changed in it? A state machine that is told the time.

A hint opens a burst in its work tree. The burst is over after some quiet, or when it has lasted
too long; while git is at work on the index it is held back. Then it becomes one batch: the paths
to look at, or everything. Instants are seconds of a clock that never goes back.
"""

from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field

from yaadwatch.model.settings import BURST, DIRTY_PATHS_MAX, HOLD

Tree = tuple[str, int]
"""A project's id and a work tree's number in its store."""
Lock = Callable[[Tree], Hashable | None]
"""Returns what git holds in a tree right now, by an identity of its own; None when nothing."""

_LOOK_AGAIN_S = 0.05
"""A held tree is looked at again after this, or after the quiet period if that is longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What to check in a tree. `paths` None: everything; empty: only whether HEAD moved.

    `since` is the instant of the first hint; `bare`: one of them named no path, so that more than
    the paths has to be looked at.
    """

    tree: Tree
    paths: frozenset[str] | None
    since: float
    bare: bool = False


@dataclass(slots=True, kw_only=True)
class _Burst:
    first: float
    last: float
    not_before: float
    everything: bool = False
    bare: bool = False
    paths: set[str] = field(default_factory=set)


class Bursts:
    """The open bursts of all work trees.

    Args:
        quiet_s: so much silence ends a burst, 0 to 2 seconds.
    """

    def __init__(self, quiet_s: float) -> None:
        self._quiet_s = quiet_s
        self._look_again_s = max(quiet_s, _LOOK_AGAIN_S)
        self._open: dict[Tree, _Burst] = {}
        self._outlived: dict[Tree, Hashable] = {}

    def __len__(self) -> int:
        return len(self._open)

    def hint(self, tree: Tree, paths: Collection[str], at: float) -> None:
        """Note that `paths` may have changed; without any, that HEAD may have moved, or that agent
        files may have to say something else.

        Hints may be told late and in any order; `at` is when they came.
        """
        burst = self._burst(tree, at)
        burst.bare = burst.bare or not paths
        if not burst.everything:
            burst.paths.update(paths)
        if len(burst.paths) > DIRTY_PATHS_MAX:
            burst.everything = True
            burst.paths.clear()

    def everything(self, tree: Tree, at: float) -> None:
        """Note that anything in the tree may have changed."""
        burst = self._burst(tree, at)
        burst.everything = True
        burst.paths.clear()

    def held(self, tree: Tree, at: float) -> None:
        """Note that git began or ended its work on the index: an open burst is not over yet."""
        if tree in self._open:
            self._burst(tree, at)

    def drop(self, tree: Tree) -> None:
        """Forget a tree that is watched no longer."""
        self._open.pop(tree, None)
        self._outlived.pop(tree, None)

    def due(self, now: float, *, lock: Lock, running: Collection[Tree], room: int) -> list[Batch]:
        """Close the bursts that are over and return them as batches, the oldest first.

        Args:
            now: the present instant.
            lock: tells what git holds; asked only for bursts that are over otherwise.
            running: trees that are being checked; they wait.
            room: so many batches at most.
        """
        batches: list[Batch] = []
        for tree, burst in sorted(self._open.items(), key=lambda item: item[1].first):
            if len(batches) == room:
                break
            if tree in running or now < self._over_at(burst):
                continue
            if self._is_held(tree, burst, lock(tree), now):
                burst.not_before = now + self._look_again_s
                continue
            del self._open[tree]
            paths = None if burst.everything else frozenset(burst.paths)
            batches.append(Batch(tree=tree, paths=paths, since=burst.first, bare=burst.bare))
        return batches

    def next_at(self, running: Collection[Tree]) -> float | None:
        """Return the instant when `due` may have something; None when nothing is open."""
        return min(
            (self._over_at(burst) for tree, burst in self._open.items() if tree not in running),
            default=None,
        )

    def _burst(self, tree: Tree, at: float) -> _Burst:
        burst = self._open.get(tree)
        if burst is None:
            burst = self._open[tree] = _Burst(first=at, last=at, not_before=at)
        burst.first = min(burst.first, at)
        burst.last = max(burst.last, at)
        return burst

    def _over_at(self, burst: _Burst) -> float:
        over = min(burst.last + self._quiet_s, burst.first + BURST.total_seconds())
        return max(over, burst.not_before)

    def _is_held(self, tree: Tree, burst: _Burst, lock: Hashable | None, now: float) -> bool:
        if lock is None:
            self._outlived.pop(tree, None)
            return False
        if self._outlived.get(tree) == lock:
            return False
        if now < burst.first + HOLD.total_seconds():
            return True
        # A lock that a crashed git left behind is waited for once, not at every save from now on.
        self._outlived[tree] = lock
        return False
