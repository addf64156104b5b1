"""Turn hints of changed paths into checks of work trees.

Hints arrive from the watcher's thread in a bounded set; the loop groups them into bursts, and each
finished burst becomes one check in a thread. A lost hint only delays: an overflow, a failed check
and the hourly sweep all check everything. A failed check is retried, and a hung disk blocks only
its own project.
"""

import asyncio
import logging
from collections.abc import Callable, Hashable
from functools import partial
from pathlib import Path
from typing import Final

from yaadwatch.daemon.arming import Mode, Silent
from yaadwatch.daemon.dispatch import Workers
from yaadwatch.daemon.hints import Batch, Bursts, HintQueue, TreeKey
from yaadwatch.daemon.supervisor import Health, attempt, error_in_words, log_crash
from yaadwatch.daemon.trees import HERE, Engine, Trees
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Watch

CHECKS_AT_ONCE: Final = 2
SLOW_S: Final = 5.0
SLOW_MAX: Final = 2
"""Checks that take longer than SLOW_S, beside others."""
STUCK_S: Final = 60.0
"""What takes longer than this on a machine with network disks may wait for one of them."""
LOOK_S: Final = 0.05
"""While a burst is open, hints are looked at at least this often, or once a quiet period."""

_log: Final = logging.getLogger(__name__)


class Intake:
    """Keeps the work trees watched and checked. Made and used on the loop, unless a method says so.

    Args:
        engine: does the checking.
        settings: how files are watched.
        health: reports what is degraded.
        monotonic_s: the clock of hints, in seconds.
        silent: the places at or below a folder without change notifications.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        settings: Watch,
        health: Health,
        monotonic_s: Callable[[], float],
        silent: Silent,
    ) -> None:
        self._engine = engine
        self._health = health
        self._monotonic_s = monotonic_s
        self._silent = silent
        self._look_s = max(settings.quiet_ms / 1000, LOOK_S)
        self._changed_projects: set[str] = set()
        self._registry_changed = False
        self._learning: asyncio.Task[None] | None = None
        self._running: dict[TreeKey, asyncio.Task[None]] = {}
        self._began_s: dict[TreeKey, float] = {}
        self._failures: dict[TreeKey, int] = {}
        self._unchecked: dict[TreeKey, frozenset[str] | None] = {}  # by checks that failed
        self._waits: dict[TreeKey, int] = {}
        self._next_looks: dict[TreeKey, asyncio.TimerHandle] = {}
        self._lags_s: dict[str, float] = {}
        self.bursts = Bursts(settings.quiet_ms / 1000)
        self.hints = HintQueue(self._cares, monotonic_s)
        self._workers = Workers(1)
        self.trees = Trees(
            engine,
            self.bursts,
            self.hints,
            self._workers,
            settings=settings,
            health=health,
            monotonic_s=monotonic_s,
            silent=silent,
            dropped=self._forget,
        )

    async def start(self) -> None:
        """Watch every project, then note that everything has to be checked."""
        await self.trees.start()

    async def run(self) -> None:
        """Turn hints into checks until cancelled."""
        while True:
            now = self._monotonic_s()
            self._interpret()
            if (self._changed_projects or self._registry_changed) and self._learning is None:
                self._learning = asyncio.create_task(self._learn())
            running = self._waiting_trees
            for batch in self.bursts.due(now, lock=self._lock, running=running, room=self._room):
                self._began_s[batch.tree] = self._monotonic_s()
                self._running[batch.tree] = asyncio.create_task(self._check(batch))
            await self._pause()

    async def stop(self) -> None:
        """End the watching; a check under way runs to its end in its thread."""
        self.trees.close()
        for task in (*self._running.values(), self._learning):
            if task is not None:
                task.cancel()
        self._workers.close()

    def anchors_changed(self, project: str) -> None:
        """Note that other files matter in a project now; learnt after a quiet period."""
        self._changed_projects.add(project)  # not the set's own `add`: the set is replaced
        self.hints.nudge()

    def rules_changed(self, project: str) -> None:
        """Note that agent files may have to say something else now."""
        for key in self.trees.known:
            if key[0] == project:
                self.bursts.hint(key, (), self._monotonic_s())
        self.hints.nudge()

    def head_moved(self, project: str, worktree: int) -> None:
        """Note that HEAD may have moved in a work tree, perhaps a new one."""
        if (project, worktree) in self.trees.known:
            self.bursts.hint((project, worktree), (), self._monotonic_s())
            self.hints.nudge()
        else:
            self.anchors_changed(project)

    def quiet(self, folder: Path) -> None:
        """Note that an agent that worked in `folder` has left: what waited for it can be done."""
        for key, tree in self.trees.known.items():
            if folder.is_relative_to(tree.root):
                self.bursts.hint(key, (), self._monotonic_s())
        self.hints.nudge()

    def registry_changed(self) -> None:
        """Note that projects may have come or gone."""
        self._registry_changed = True
        self.hints.nudge()

    def store_written(self, project: str) -> None:
        """Note that a project may now say where its work trees are, if it has moved."""
        if self.trees.moved(project):
            self.anchors_changed(project)

    async def sweep(self) -> None:
        """List all trees again, and check everything."""
        await self.trees.refresh(None)
        self.trees.everything()

    async def poll(self) -> None:
        """Look at anchored files; what looks different is a hint; see `Trees.poll`."""
        await self.trees.poll()

    def mode(self, project: str) -> Mode:
        """Return how changes in a project are noticed; see `Trees.mode`. Any thread."""
        return self.trees.mode(project)

    def stuck(self) -> list[tuple[str, str]]:
        """Return what a disk may keep from ending, in words, each with its project. Any thread.

        A check of what is on this machine ends, however long it takes: its project is compared.
        """
        known = tuple(self.trees.known.items())
        places = {
            key[0]: f"What is at {tree.root}" for key, tree in known if self.trees.is_afar(key)
        }
        places[HERE] = "The folders of projects"
        late = places.keys() & set(map(str, self._workers.late(STUCK_S)))
        problem = f"could not be looked at for {STUCK_S:g} s: a disk may not answer."
        return [(f"{places[project]} {problem}", project) for project in sorted(late)]

    def lag_ms(self, project: str) -> int | None:
        """Return the time from the last change to the end of its check, in ms. Any thread."""
        lag_s = self._lags_s.get(project)
        return None if lag_s is None else round(lag_s * 1000)

    @property
    def idle(self) -> bool:
        """Return whether nothing waits to be checked and no check runs."""
        waiting = self.bursts or self.hints or self._changed_projects
        return not (waiting or self._running or self._learning or self._registry_changed)

    @property
    def _unhindered(self) -> int:
        """Return how many checks run that no disk seems to keep from ending."""
        late_s = self._monotonic_s() - STUCK_S
        began = self._began_s.items()
        return sum(began_s > late_s or not self.trees.is_afar(key) for key, began_s in began)

    @property
    def _waiting_trees(self) -> set[TreeKey]:
        """Return the trees of projects that are being checked: a project has one thread."""
        projects = {project for project, _ in self._running}
        return {key for key in self.trees.known if key[0] in projects}

    @property
    def _room(self) -> int:
        """Return how many checks may begin; a slow one makes room, so that no other waits."""
        slow_s = self._monotonic_s() - SLOW_S
        quick = sum(began_s > slow_s for began_s in self._began_s.values())
        return min(CHECKS_AT_ONCE - quick, CHECKS_AT_ONCE + SLOW_MAX - self._unhindered)

    def _cares(self, folder: Path, name: str) -> bool:
        return self.trees.cares(folder, name)

    async def _pause(self) -> None:
        """Wait until a burst is due or a hint arrives."""
        if not self.bursts:
            await self.hints.pause(None)
            return
        # Without room for another check only the end of one matters, which nudges; what is due
        # already would else be looked for without a pause.
        at = None if self._room <= 0 else self.bursts.next_at(self._waiting_trees)
        wait_s = self._look_s if at is None else max(at - self._monotonic_s(), 0.0)
        await self.hints.pause(min(wait_s, self._look_s))

    def _interpret(self) -> None:
        """Turn the queued hints into bursts."""
        heard = self.hints.take()
        for (folder, name), at in heard.hints.items():
            for key, meaning in self.trees.arms.meanings(folder, name):
                if meaning.trees:
                    self._changed_projects.add(key[0])
                self.trees.take(key, meaning, at)
        if heard.lost:
            _log.warning("watch.overflowed", extra={"effect": "everything is checked"})
            self._health.degraded(
                "watch.overflow",
                "The system lost hints about changed files; everything is being checked.",
                mend="yaadwatch status",
            )
            self.trees.everything()
        elif not self.bursts and not self._unhindered:
            self._health.well("watch.overflow")

    async def _learn(self) -> None:
        await asyncio.sleep(self._look_s)
        error = await attempt(self._refresh_changed())
        if error is not None:
            log_crash("watch.not_refreshed", error, effect="tried again by the next sweep")
        self._learning = None
        self.hints.nudge()

    async def _refresh_changed(self) -> None:
        changed, self._changed_projects = self._changed_projects, set()
        if self._registry_changed:
            self._registry_changed = False
            changed |= await self.trees.who_came_or_went()
        for project in sorted(changed):
            await self.trees.refresh(project)

    def _lock(self, key: TreeKey) -> Hashable | None:
        """Return the index lock of a tree; never asks a network file system, which may hang."""
        tree = self.trees.known.get(key)
        if tree is None or not self.trees.arms.is_told(key):
            return None
        # It may have been mounted since the tree was learnt, and this is the loop: by its name.
        root = Path("/")
        afar = set(self._silent(root)) - {root}
        if any(tree.git_dir.is_relative_to(place) for place in afar):
            return None
        try:
            found = (tree.git_dir / "index.lock").lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    async def _check(self, batch: Batch) -> None:
        key = batch.tree
        try:
            error = await attempt(self._check_in_thread(batch))
            if error is None:
                if self.trees.found(key):  # it is there again, and so is what rests on its files
                    self._changed_projects.add(key[0])
                self._failures.pop(key, None)
                self._health.well(_part(key))
                if batch.paths is None:
                    self._unchecked.pop(key, None)
                self._check_again(key)
            elif key in self.trees.known:
                self._went_wrong(batch, error)
        finally:
            self._began_s.pop(key, None)
            self._running.pop(key, None)
            self.hints.nudge()

    async def _check_in_thread(self, batch: Batch) -> None:
        if batch.tree not in self.trees.known:
            return
        different = await self.trees.arm_if_changed(batch.tree)
        paths = None if batch.paths is None else batch.paths | different
        project, worktree = batch.tree
        engine, run = self._engine, partial(self._workers.run, project)
        done = await run(lambda: engine.check(project, worktree, paths))
        waiting = await run(lambda: engine.sync(project, worktree, paths))
        if batch.bare and paths:
            # None of the paths needs to be an agent file's.
            waiting |= await run(lambda: engine.sync(project, worktree, frozenset()))
        self._wait_for_git(batch.tree, waiting=waiting)
        if batch.paths is not None:
            self._lags_s[project] = self._monotonic_s() - batch.since
        if done.raised or done.cleared:
            await self.trees.refresh(project)  # the places that flags point to are watched too

    def _wait_for_git(self, key: TreeKey, *, waiting: bool) -> None:
        """Check the agent files again later, while git or a person is writing them."""
        planned = self._next_looks.pop(key, None)
        if planned is not None:
            planned.cancel()  # else each change meanwhile would add a look of its own, for ever
        if not waiting or key not in self.trees.known:
            self._waits.pop(key, None)
            return
        waits = self._waits[key] = self._waits.get(key, 0) + 1
        # Time between two looks at agent files while git is at work, at most.
        delay_s = min(2.0 ** (waits - 2), 30.0)
        loop = asyncio.get_running_loop()
        self._next_looks[key] = loop.call_later(delay_s, self._again, key, frozenset())

    def _went_wrong(self, batch: Batch, error: Exception) -> None:
        """Log the error and retry later; a missing tree waits until its folder returns.

        An expected error is logged only the second time: of a project that is just
        being removed the store goes first, then its name.
        """
        key = batch.tree
        put_off = {"project": key[0], "worktree": key[1], "error": error_in_words(error)}
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if isinstance(error, YaadError) and error.code is Code.NOT_FOUND:
            if failures == 1:
                _log.info("check.put_off", extra=put_off)
            self._health.well(_part(key))
            self.trees.not_found(key)
            self._changed_projects.add(key[0])  # it may have moved, and be found where it is now
            if failures <= 5:  # a disk may only be slow; later, each poll looks for the folder
                self._put_off(batch, 2.0**failures)
            return
        if isinstance(error, YaadError) and failures == 1:
            _log.info("check.put_off", extra=put_off)
        else:
            log_crash("check.failed", error, project=key[0], worktree=key[1])
            mend = error.hint if isinstance(error, YaadError) and error.hint else "yaadwatch stale"
            self._health.degraded(
                _part(key),
                f"{self.trees.known[key].root} could not be checked: {error_in_words(error)}",
                mend=mend,
                project=key[0],
            )
        self._put_off(batch, min(2.0 ** (failures - 1), 300.0))

    def _put_off(self, batch: Batch, delay_s: float) -> None:
        """Check what a failed check left, later or after one that went well, whichever is first."""
        key = batch.tree
        known: frozenset[str] | None = self._unchecked.get(key, frozenset())
        if key not in self._unchecked:  # else each save meanwhile would be tried again by itself
            asyncio.get_running_loop().call_later(delay_s, self._check_again, key)
        if known is None or batch.paths is None:
            self._unchecked[key] = None
        else:
            self._unchecked[key] = known | batch.paths

    def _check_again(self, key: TreeKey) -> None:
        if key in self._unchecked:
            self._again(key, self._unchecked.pop(key))

    def _again(self, key: TreeKey, paths: frozenset[str] | None) -> None:
        if key not in self.trees.known:
            return
        if paths is None:
            self.bursts.everything(key, self._monotonic_s())
        else:
            self.bursts.hint(key, paths, self._monotonic_s())
        self.hints.nudge()

    def _forget(self, key: TreeKey) -> None:
        """Forget a tree that is watched no longer."""
        self._failures.pop(key, None)
        self._unchecked.pop(key, None)
        self._wait_for_git(key, waiting=False)
        if all(key[0] != project for project, _ in self.trees.known):
            self._lags_s.pop(key[0], None)
        self._health.well(_part(key))


def _part(key: TreeKey) -> str:
    return f"check {key[0]} {key[1]}"
