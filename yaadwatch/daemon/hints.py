"""Queue the hints of the watcher's thread for the loop, and group them into bursts.

The queue is a bounded set. A storm of hints does not wake the loop for each: the loop is woken only
when it waits for nothing else, and otherwise looks by itself.

A hint opens a burst in its work tree. The burst ends after a quiet time or at its maximum length,
and is held back while git holds the index lock. It then becomes one batch: a set of paths, or
everything. Times are seconds of a monotonic clock, passed in by the caller.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from yaadwatch.model.settings import BURST, DIRTY_PATHS_MAX, HOLD

TreeKey = tuple[str, int]
"""A project's id and a work tree's number in its store."""
Lock = Callable[[TreeKey], Hashable | None]
"""Returns what git holds in a tree right now, by an identity of its own; None when nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HintedNames:
    """Names in folders, each with the time of its last hint; `lost`: some hints were dropped."""

    hints: Mapping[tuple[Path, str], float]
    lost: bool


class HintQueue:
    """Takes hints in the watcher's thread, gives them to the loop it was made in.

    Args:
        cares: returns whether a name in a folder is relevant; must be quick.
        monotonic_s: the clock of hints.
    """

    def __init__(
        self, cares: Callable[[Path, str], bool], monotonic_s: Callable[[], float]
    ) -> None:
        self._cares = cares
        self._monotonic_s = monotonic_s
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._lock = threading.Lock()
        self._hints: dict[tuple[Path, str], float] = {}
        self._lost = False
        self._waiting = False

    def __bool__(self) -> bool:
        return bool(self._hints) or self._lost

    def hint(self, folder: Path, name: str) -> None:
        """Take a hint. Called by the watcher's thread, thousands of times a second at worst."""
        if not self._cares(folder, name):
            return
        with self._lock:
            # More different names than this between two looks count as lost hints.
            if len(self._hints) < 20_000:
                self._hints[folder, name] = self._monotonic_s()
            else:
                self._lost = True
        self._wake()

    def overflow(self) -> None:
        """Take note of lost hints. Called by the watcher's thread."""
        self._lost = True
        self._wake()

    def take(self) -> HintedNames:
        """Return what was heard since the last time."""
        with self._lock:
            heard = HintedNames(hints=self._hints, lost=self._lost)
            self._hints, self._lost = {}, False
        return heard

    def nudge(self) -> None:
        """Let `pause` return soon. Called on the loop."""
        self._news.set()

    async def pause(self, seconds: float | None) -> None:
        """Return after `seconds`, or when nudged; hints end only a wait without end (None)."""
        if seconds is None:
            self._waiting = True
            if self:  # arrived before we were waiting, so nothing woke us
                return
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            return
        self._news.clear()

    def _wake(self) -> None:
        if self._waiting:
            self._waiting = False
            self._loop.call_soon_threadsafe(self._news.set)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What to check in a tree. `paths` None: everything; empty: only what `bare` says.

    `since` is the time of the first hint; `bare`: a hint had no path, so HEAD may have moved, or
    agent files may have to say something else.
    """

    tree: TreeKey
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
        # A held tree is looked at again after this, or after the quiet period if that is longer.
        self._look_again_s = max(quiet_s, 0.05)
        self._open: dict[TreeKey, _Burst] = {}
        self._outlived: dict[TreeKey, Hashable] = {}

    def __len__(self) -> int:
        return len(self._open)

    def hint(self, tree: TreeKey, paths: Collection[str], at: float) -> None:
        """Note that `paths` may have changed; without any, that HEAD may have moved, or that agent
        files may have to say something else.

        Hints may arrive late and in any order; `at` is when they came.
        """
        burst = self._burst(tree, at)
        burst.bare = burst.bare or not paths
        if not burst.everything:
            burst.paths.update(paths)
        if len(burst.paths) > DIRTY_PATHS_MAX:
            burst.everything = True
            burst.paths.clear()

    def everything(self, tree: TreeKey, at: float) -> None:
        """Note that anything in the tree may have changed."""
        burst = self._burst(tree, at)
        burst.everything = True
        burst.paths.clear()

    def held(self, tree: TreeKey, at: float) -> None:
        """Note that git began or ended its work on the index: an open burst is not over yet."""
        if tree in self._open:
            self._burst(tree, at)

    def drop(self, tree: TreeKey) -> None:
        """Forget a tree that is watched no longer."""
        self._open.pop(tree, None)
        self._outlived.pop(tree, None)

    def due(
        self, now: float, *, lock: Lock, running: Collection[TreeKey], room: int
    ) -> list[Batch]:
        """Close the bursts that are over and return them as batches, the oldest first.

        Args:
            now: the present instant.
            lock: returns the lock that git holds; called only for bursts that are otherwise over.
            running: trees that are being checked; they wait.
            room: so many batches at most.
        """
        batches: list[Batch] = []
        for tree, burst in sorted(self._open.items(), key=lambda item: item[1].first):
            if len(batches) >= room:
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

    def next_at(self, running: Collection[TreeKey]) -> float | None:
        """Return the instant when `due` may have something; None when nothing is open."""
        return min(
            (self._over_at(burst) for tree, burst in self._open.items() if tree not in running),
            default=None,
        )

    def _burst(self, tree: TreeKey, at: float) -> _Burst:
        burst = self._open.get(tree)
        if burst is None:
            burst = self._open[tree] = _Burst(first=at, last=at, not_before=at)
        burst.first = min(burst.first, at)
        burst.last = max(burst.last, at)
        return burst

    def _over_at(self, burst: _Burst) -> float:
        over = min(burst.last + self._quiet_s, burst.first + BURST.total_seconds())
        return max(over, burst.not_before)

    def _is_held(self, tree: TreeKey, burst: _Burst, lock: Hashable | None, now: float) -> bool:
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
