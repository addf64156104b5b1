"""The checks of work trees: some at a time, in threads; one that went wrong is tried again.

A check that a disk keeps from ending keeps only its own project waiting.
"""

import asyncio
import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Final, TypeVar

from yaadwatch.daemon.health import Health
from yaadwatch.daemon.supervisor import attempt, in_words, log_crash
from yaadwatch.daemon.watching.bursts import Batch, Bursts, Tree
from yaadwatch.daemon.watching.hint_set import Hearing
from yaadwatch.daemon.watching.trees import Engine, Trees
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.servers.workers import Workers

_log: Final = logging.getLogger(__name__)

CHECKS_AT_ONCE: Final = 2
STUCK_S: Final = 60.0
"""What takes longer than this on a machine with network disks may wait for one of them."""
RETRY_MAX_S: Final = 300.0
_WAIT_MAX_S: Final = 30.0
"""Time between two looks at agent files while git is at work, at most."""

R = TypeVar("R")


class Checks:
    """Runs the checks, and says what comes of them. Made and used on the loop.

    Args:
        engine: does the checking.
        trees: the work trees there are.
        bursts: is told what is to be checked again.
        hearing: is nudged when a check ended.
        workers: one thread for each project.
        health: is told what is degraded.
        monotonic_s: the clock of hints, in seconds.
        unknown: called with a project whose files are to be learnt anew.
    """

    def __init__(
        self,
        engine: Engine,
        trees: Trees,
        bursts: Bursts,
        hearing: Hearing,
        workers: Workers,
        *,
        health: Health,
        monotonic_s: Callable[[], float],
        unknown: Callable[[str], None],
    ) -> None:
        self._engine = engine
        self._trees = trees
        self._bursts = bursts
        self._hearing = hearing
        self._workers = workers
        self._health = health
        self._monotonic_s = monotonic_s
        self._unknown = unknown
        self._running: dict[Tree, asyncio.Task[None]] = {}
        self._began_s: dict[Tree, float] = {}
        self._failures: dict[Tree, int] = {}
        self._waits: dict[Tree, int] = {}
        self._next_looks: dict[Tree, asyncio.TimerHandle] = {}
        self._lags_s: dict[str, float] = {}

    @property
    def running(self) -> Collection[Tree]:
        """Return the work trees that are being checked."""
        return self._running.keys()

    @property
    def room(self) -> int:
        """Return how many checks may begin now; those that may hang do not count."""
        return CHECKS_AT_ONCE - self.unhindered

    @property
    def unhindered(self) -> int:
        """Return how many checks run that no disk seems to keep from ending."""
        since_s = self._monotonic_s() - STUCK_S if self._trees.has_afar else float("-inf")
        return sum(began_s > since_s for began_s in self._began_s.values())

    def begin(self, batch: Batch) -> None:
        """Check what a burst has changed."""
        self._began_s[batch.tree] = self._monotonic_s()
        self._running[batch.tree] = asyncio.create_task(self._check(batch))

    async def head(self, project: str, worktree: int) -> None:
        """Look now whether HEAD moved in a tree; one that is not there any more is left alone.

        Raises:
            YaadError: the check could not be done.
        """
        try:
            await self._ask(project, self._engine.check, worktree, frozenset())
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise

    def lag_s(self, project: str) -> float | None:
        """Return the time from the last change to the end of its check. Any thread."""
        return self._lags_s.get(project)

    def forget(self, key: Tree) -> None:
        """Forget a tree that is watched no longer."""
        self._failures.pop(key, None)
        self._wait_for_git(key, waiting=False)
        if all(key[0] != project for project, _ in self._trees.known):
            self._lags_s.pop(key[0], None)
        self._health.well(_part(key))

    def cancel(self) -> None:
        """Wait for no check any more; one under way runs to its end in its thread."""
        for task in self._running.values():
            task.cancel()

    async def _check(self, batch: Batch) -> None:
        key = batch.tree
        try:
            error = await attempt(self._check_in_thread(batch))
            if error is None:
                self._went_well(key)
            elif key in self._trees.known:
                self._went_wrong(batch, error)
        finally:
            self._began_s.pop(key, None)
            self._running.pop(key, None)
            self._hearing.nudge()

    async def _check_in_thread(self, batch: Batch) -> None:
        if batch.tree not in self._trees.known:
            return
        different = await self._trees.arm_if_changed(batch.tree)
        paths = None if batch.paths is None else batch.paths | different
        project, worktree = batch.tree
        done = await self._ask(project, self._engine.check, worktree, paths)
        waiting = await self._ask(project, self._engine.sync, worktree, paths)
        if batch.bare and paths:
            # None of the paths needs to be an agent file's.
            waiting |= await self._ask(project, self._engine.sync, worktree, frozenset())
        self._wait_for_git(batch.tree, waiting=waiting)
        if batch.paths is not None:
            self._lags_s[project] = self._monotonic_s() - batch.since
        if done.raised or done.cleared:
            await self._trees.refresh(project)  # the places that doubts point to are watched too

    def _wait_for_git(self, key: Tree, *, waiting: bool) -> None:
        """Look at the agent files again later, while git or a person is at work."""
        planned = self._next_looks.pop(key, None)
        if planned is not None:
            planned.cancel()  # else each change meanwhile would add a look of its own, for ever
        if not waiting or key not in self._trees.known:
            self._waits.pop(key, None)
            return
        waits = self._waits[key] = self._waits.get(key, 0) + 1
        delay_s = min(2.0 ** (waits - 2), _WAIT_MAX_S)
        loop = asyncio.get_running_loop()
        self._next_looks[key] = loop.call_later(delay_s, self._again, key, frozenset())

    def _went_well(self, key: Tree) -> None:
        if self._trees.found(key):  # it is there again, and so is what rests on its files
            self._unknown(key[0])
        self._failures.pop(key, None)
        self._health.well(_part(key))

    def _went_wrong(self, batch: Batch, error: Exception) -> None:
        """Say so and try again later; a tree that is not there is left until its folder returns.

        What is expected to go wrong once is told when it does so twice: of a project that is just
        being removed the store goes first, then its name.
        """
        key = batch.tree
        if isinstance(error, YaadError) and error.code is Code.NOT_FOUND:
            _log_put_off(key, error)
            self._health.well(_part(key))
            self._trees.not_found(key)
            self._unknown(key[0])  # it may have moved, and be found where it is now
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if isinstance(error, YaadError) and failures == 1:
            _log_put_off(key, error)
        else:
            log_crash("check.failed", error, project=key[0], worktree=key[1])
            mend = error.hint if isinstance(error, YaadError) and error.hint else "yaadwatch stale"
            self._health.degraded(
                _part(key),
                f"{self._trees.known[key].root} could not be checked: {in_words(error)}",
                mend=mend,
                project=key[0],
            )
        asyncio.get_running_loop().call_later(
            min(2.0 ** (failures - 1), RETRY_MAX_S), self._again, key, batch.paths
        )

    def _again(self, key: Tree, paths: frozenset[str] | None) -> None:
        if key not in self._trees.known:
            return
        now = self._monotonic_s()
        if paths is None:
            self._bursts.everything(key, now)
        else:
            self._bursts.hint(key, paths, now)
        self._hearing.nudge()

    async def _ask(
        self,
        project: str,
        work: Callable[[str, int, frozenset[str] | None], R],
        worktree: int,
        paths: frozenset[str] | None,
    ) -> R:
        return await self._workers.run(project, partial(work, project, worktree, paths))


def _log_put_off(key: Tree, error: Exception) -> None:
    fields = {"project": key[0], "worktree": key[1], "error": in_words(error)}
    _log.info("check.put_off", extra=fields)


def _part(key: Tree) -> str:
    return f"check {key[0]} {key[1]}"
