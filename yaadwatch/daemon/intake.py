"""From hints to checks: what may have changed is looked at soon, once, and never forgotten.

Hints come from the watcher's thread into a bounded set; the loop turns them into bursts, and each
burst that is over into one check of its work tree, in a thread. Losing hints only delays: an
overflow, a failed check and the hourly sweep all end in "look at everything".
"""

import asyncio
import functools
import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, ParamSpec, Protocol, TypeVar

from yaadwatch.daemon.arming import (
    Arms,
    Meaning,
    Mode,
    Silent,
    WatchedTree,
    budget,
    key_of,
    report,
)
from yaadwatch.daemon.bursts import Batch, Bursts, Tree
from yaadwatch.daemon.health import Health
from yaadwatch.daemon.hearing import Hearing
from yaadwatch.daemon.polling import NOTHING, STUCK_S, Differences, Looking, Poller
from yaadwatch.daemon.supervisor import attempt, in_words, log_crash
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Watch
from yaadwatch.system.watch import NoWatcher, Watcher, open_watcher

_log: Final = logging.getLogger(__name__)

CHECKS_AT_ONCE: Final = 2
STUCK_MAX: Final = 6
"""Checks that do not end, because a disk does not answer, and yet keep no other one waiting."""
LOOKED_AT_ONCE: Final = 25
"""Work trees armed, or looked at, before whoever else waits for the thread has its turn."""
TOLD_POLLED_MAX: Final = 50
"""Of the work trees that the system tells us about, so many are polled at a time, in turn: polling
is there for what is lost, and shall not cost more with every project.
"""
RETRY_MAX_S: Final = 300.0
_WAIT_MAX_S: Final = 30.0
"""Time between two looks at agent files while git is at work, at most."""
_LOOK_S: Final = 0.05
"""While something is open, hints are looked at at least this often, or once a quiet period."""

P = ParamSpec("P")
R = TypeVar("R")


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
    """What the intake asks of the rest; plain functions, run in threads.

    Args:
        trees: the work trees of one project, or of all (None).
        projects: the projects in the registry, by id, and where each is.
        check: bring the flags of a tree up to date; paths None: look at everything.
        sync: bring the agent files of a tree and the graph together, when they are among the paths;
            tells whether it has to be tried again soon.
        is_rule: whether a file in a folder further down would be an agent file.
        is_passed: which folders, by their names, have none that count.
    """

    trees: Callable[[str | None], Iterable[WatchedTree]]
    projects: Callable[[], Mapping[str, Path]]
    check: Callable[[str, int, frozenset[str] | None], Checked]
    sync: Callable[[str, int, frozenset[str] | None], bool]
    is_rule: Callable[[str], bool] = lambda _: False
    is_passed: Callable[[str], bool] = lambda _: False


class Intake:
    """Keeps the work trees watched and checked. Made and used on the loop, unless a method says so.

    Args:
        engine: does the checking.
        settings: how files are watched.
        health: is told what is degraded.
        monotonic_s: the clock of hints, in seconds.
        silent: the places at or below a folder from which on nobody tells about changes.
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
        self._settings = settings
        self._health = health
        self._monotonic_s = monotonic_s
        self._silent = silent
        self._silent_places: frozenset[Path] = frozenset()
        self._look_s = max(settings.quiet_ms / 1000, _LOOK_S)
        self._bursts = Bursts(settings.quiet_ms / 1000)
        self._poller = Poller(engine.is_rule, engine.is_passed)
        self._trees: dict[Tree, WatchedTree] = {}
        self._unarmed: set[Tree] = set()
        self._away: set[Tree] = set()  # those of which a check found no folder
        self._unlearnt: set[Tree] = set()  # those that were not found when we last learnt of them
        self._running: dict[Tree, asyncio.Task[None]] = {}
        self._failures: dict[Tree, int] = {}
        self._waits: dict[Tree, int] = {}
        self._next_looks: dict[Tree, asyncio.TimerHandle] = {}
        self._lags_s: dict[str, float] = {}
        self._polls = 0
        self._polled: dict[Tree, int] = {}
        self._looking = Looking(self._poller, health, self._took)
        self._look = self._looking.here
        self._stuck: set[Tree] = set()  # those whose check does not end
        self._checking = ThreadPoolExecutor(CHECKS_AT_ONCE + STUCK_MAX, thread_name_prefix="check")
        self._changed_projects: set[str] = set()
        self._places: Mapping[str, Path] = {}
        self._registry_changed = False
        self._learning: asyncio.Task[None] | None = None
        self._hearing = Hearing(self._cares, monotonic_s)
        self._watcher: Watcher = NoWatcher()
        self._arms = self._arms_of(self._watcher)

    async def start(self) -> None:
        """Watch every project, then note that everything has to be checked."""
        self._watcher = open_watcher(self._hearing.hint, self._hearing.overflow, self._cares)
        self._arms = self._arms_of(self._watcher)
        self._silent_places = frozenset(await self._look(self._silent, Path("/")))
        await self.refresh(None)

    async def run(self) -> None:
        """Turn hints into checks until cancelled."""
        while True:
            now = self._monotonic_s()
            self._interpret()
            if (self._changed_projects or self._registry_changed) and self._learning is None:
                self._learning = asyncio.create_task(self._learn())
            room = self._room
            for batch in self._bursts.due(now, lock=self._lock, running=self._running, room=room):
                self._running[batch.tree] = asyncio.create_task(self._check(batch))
            await self._pause()

    async def stop(self) -> None:
        """End the watching; a check under way runs to its end in its thread."""
        self._watcher.close()
        for task in (*self._running.values(), self._learning):
            if task is not None:
                task.cancel()
        self._looking.stop()
        self._checking.shutdown(wait=False, cancel_futures=True)

    def anchors_changed(self, project: str) -> None:
        """Note that other files matter in a project now; learnt after a quiet period."""
        self._changed_projects.add(project)
        self._hearing.nudge()

    def rules_changed(self, project: str) -> None:
        """Note that agent files may have to say something else now."""
        now = self._monotonic_s()
        for key in self._trees:
            if key[0] == project:
                self._bursts.hint(key, (), now)
        self._hearing.nudge()

    def quiet(self, folder: Path) -> None:
        """Note that an agent that worked in `folder` has left: what waited for it can be done."""
        now = self._monotonic_s()
        for key, tree in self._trees.items():
            if folder.is_relative_to(tree.root):
                self._bursts.hint(key, (), now)
        self._hearing.nudge()

    def registry_changed(self) -> None:
        """Note that projects may have come or gone."""
        self._registry_changed = True
        self._hearing.nudge()

    def store_written(self, project: str) -> None:
        """Note that a project may now say where its work trees are, if it has moved."""
        if any(key[0] == project and self._is_elsewhere(tree) for key, tree in self._trees.items()):
            self.anchors_changed(project)

    async def refresh(self, project: str | None) -> None:
        """Learn which files matter in one project, or in all; watch them, then check what is new.

        A work tree that is not found stays watched for as long as its project is registered: it
        may come back, and what was to be learnt of it is learnt then.
        """
        trees = await self._look(self._engine.trees, project)
        registered = await self._look(self._engine.projects)
        for key in [key for key in self._trees if key[0] not in registered]:
            await self._forget(key)
        asked = {key for key in self._trees if project in (None, key[0])}
        self._unlearnt = (self._unlearnt - asked) | asked.difference(map(key_of, trees))
        changed = [tree for tree in trees if tree != self._trees.get(key_of(tree))]
        before = {key_of(tree): self._trees.get(key_of(tree)) for tree in changed}
        self._trees.update({key_of(tree): tree for tree in changed})
        # One instant for all: none of them pushes another out of the budget.
        now = self._monotonic_s()
        await self._arm_and_look(changed, now)
        report(self._health, self._watcher, self._arms, self._settings)
        for tree in changed:
            known = before[key_of(tree)]
            if known is None:
                self._bursts.everything(key_of(tree), now)
            elif tree.paths - known.paths:
                self._bursts.hint(key_of(tree), tree.paths - known.paths, now)
        self._hearing.nudge()

    async def sweep(self) -> None:
        """Learn everything anew, and note that everything has to be checked."""
        await self.refresh(None)
        self._unarmed.update(self._trees)
        self._everything()

    async def poll(self) -> None:
        """Look at anchored files; what looks different is a hint.

        At those of work trees that nobody tells us about each time, at the others' in turn.
        A project whose store or folder could not be had is tried again: its disk may be back.
        """
        registered = await self._look(self._engine.projects)
        for project in sorted(registered.keys() - {project for project, _ in self._trees}):
            await self.refresh(project)
        await self._look_for_the_away()
        await self._look_for_mounts()
        turns = self._take_turns()
        trees = [tree for tree in turns if not self._arms.is_silent(key_of(tree))]
        for begin in range(0, len(trees), LOOKED_AT_ONCE):
            some = trees[begin : begin + LOOKED_AT_ONCE]
            for key, seen in (await self._look(self._look_at, some)).items():
                self._take_seen(key, seen)
        await self._look_afar(turns)
        self._hearing.nudge()

    async def _look_for_mounts(self) -> None:
        """Arm all anew when a network file system came or went: it is looked at in another way."""
        silent = frozenset(await self._look(self._silent, Path("/")))
        if silent != self._silent_places:
            self._silent_places = silent
            await self._arm_and_look(list(self._trees.values()), self._monotonic_s())

    async def _look_for_the_away(self) -> None:
        """Learn of those, and check them, whose folder is there again, whatever was told of it."""
        roots = {key: self._trees[key].root for key in self._away | self._unlearnt}
        for key in await self._look(_standing, roots):
            if key in self._unlearnt:
                await self.refresh(key[0])
            if key in self._away and key in self._trees:
                self._unarmed.add(key)
                self._bursts.everything(key, self._monotonic_s())
            self._away.discard(key)

    def _take_turns(self) -> list[WatchedTree]:
        """Return the work trees to be polled now."""
        told = [key for key in self._trees if self._arms.mode(key) == "full"]
        self._polls += 1
        their_turn = sorted(told, key=lambda key: self._polled.get(key, 0))[:TOLD_POLLED_MAX]
        self._polled.update(dict.fromkeys(their_turn, self._polls))
        passed = set(told).difference(their_turn)
        return [tree for key, tree in self._trees.items() if key not in passed]

    async def check_now(self, project: str, worktree: int) -> None:
        """Look now whether HEAD moved in a tree; one that is not there any more is left alone.

        Raises:
            YaadError: the check could not be done.
        """
        if (project, worktree) not in self._trees:
            await self.refresh(project)
        try:
            await self._ask(self._engine.check, project, worktree, frozenset())
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise

    def mode(self, project: str) -> Mode:
        """Return how changes in a project are noticed: the worst of its work trees. Any thread.

        A work tree that is gone does not count, unless all are.
        """
        modes = [self._arms.mode(key) for key in tuple(self._trees) if key[0] == project]
        here = [mode for mode in modes if mode != "off"]
        return max(here or modes, key=("full", "poll", "off").index, default="off")

    def hangs(self, project: str) -> bool:
        """Return whether the disk that a project's git folder is on does not answer. Any thread."""
        hanging = [key for key in self._looking.hanging if key[0] == project]
        return any(not self._arms.is_told(key) for key in hanging)

    def lag_ms(self, project: str) -> int | None:
        """Return the time from the last change to the end of its check, in ms. Any thread."""
        lag_s = self._lags_s.get(project)
        return None if lag_s is None else round(lag_s * 1000)

    @property
    def idle(self) -> bool:
        """Return whether nothing waits to be checked and no check runs."""
        waiting = self._bursts or self._hearing or self._changed_projects
        return not (waiting or self._running or self._learning or self._registry_changed)

    def _cares(self, folder: Path, name: str) -> bool:
        return self._arms.cares(folder, name)

    def _arms_of(self, watcher: Watcher) -> Arms:
        return Arms(watcher, budget=budget(self._settings), silent=self._silent)

    @property
    def _room(self) -> int:
        """Return how many checks may begin now; those that hang keep nobody from it."""
        hanging = min(len(self._stuck), STUCK_MAX)
        return CHECKS_AT_ONCE + hanging - len(self._running)

    async def _pause(self) -> None:
        """Wait until something is due, or is heard."""
        if not self._bursts:
            await self._hearing.pause(None)
            return
        # Without room for another check only the end of one matters, which nudges; what is due
        # already would else be looked for without a pause.
        full = self._room <= 0
        at = None if full else self._bursts.next_at(self._running)
        wait_s = self._look_s if at is None else max(at - self._monotonic_s(), 0.0)
        await self._hearing.pause(min(wait_s, self._look_s))

    def _interpret(self) -> None:
        """Turn what was heard into bursts."""
        heard = self._hearing.take()
        for (folder, name), at in heard.hints.items():
            for key, meaning in self._arms.meanings(folder, name):
                self._take(key, meaning, at)
        if heard.lost:
            _log.warning("watch.overflowed", extra={"effect": "everything is checked"})
            self._health.degraded(
                "watch.overflow",
                "The system lost hints about changed files; everything is being checked.",
                mend="yaadwatch status",
            )
            self._unarmed.update(self._trees)
            self._everything()
        elif not self._bursts and self._running.keys() <= self._stuck:
            self._health.well("watch.overflow")

    def _take(self, key: Tree, meaning: Meaning, at: float) -> None:
        self._arms.used(key, at)
        if meaning.lock:
            self._bursts.held(key, at)
            return
        if meaning.trees:
            self._changed_projects.add(key[0])
        if meaning.shape or self._arms.is_demoted(key):
            self._unarmed.add(key)
        self._bursts.hint(key, meaning.paths, at)

    def _take_seen(self, key: Tree, seen: Differences) -> None:
        if seen and key in self._trees:
            # The watcher may not have told of these paths: a disk that is put in hides a folder,
            # and who watches that one hears nothing. Armed anew it is right from then on.
            shape = seen.replaced or bool(seen.paths)
            meaning = Meaning(paths=tuple(seen.paths), head=seen.head, shape=shape)
            self._take(key, meaning, self._monotonic_s())

    async def _learn(self) -> None:
        await asyncio.sleep(self._look_s)
        error = await attempt(self._refresh_changed())
        if error is not None:
            log_crash("watch.not_refreshed", error, effect="tried again by the next sweep")
        self._learning = None
        self._hearing.nudge()

    async def _refresh_changed(self) -> None:
        changed, self._changed_projects = self._changed_projects, set()
        if self._registry_changed:
            self._registry_changed = False
            registered = await self._look(self._engine.projects)
            changed |= registered.keys() ^ {project for project, _ in self._trees}
            self._places = registered
            changed |= {tree.project for tree in self._trees.values() if self._is_elsewhere(tree)}
        for project in sorted(changed):
            await self.refresh(project)

    def _is_elsewhere(self, tree: WatchedTree) -> bool:
        """Say whether the project of `tree` is registered for another place: it keeps its id."""
        place = self._places.get(tree.project)
        return place is not None and place != tree.common_dir

    def _everything(self) -> None:
        now = self._monotonic_s()
        for key in self._trees:
            self._bursts.everything(key, now)
        self._hearing.nudge()

    def _lock(self, key: Tree) -> Hashable | None:
        """Return which index lock is there; never asks a network file system, which may hang."""
        tree = self._trees.get(key)
        if tree is None or not self._arms.is_told(key):
            return None
        try:
            found = (tree.git_dir / "index.lock").lstat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns

    async def _check(self, batch: Batch) -> None:
        key = batch.tree
        hanging = asyncio.get_running_loop().call_later(STUCK_S, self._hangs, key)
        try:
            error = await attempt(self._check_in_thread(batch))
            if error is None:
                self._went_well(batch)
            elif key in self._trees:
                self._went_wrong(batch, error)
        finally:
            hanging.cancel()
            self._stuck.discard(key)
            self._running.pop(key, None)
            self._hearing.nudge()

    def _hangs(self, key: Tree) -> None:
        """Take note of a check that a disk afar keeps from ending: others go on, and it is told."""
        tree = self._trees.get(key)
        if tree is not None and self._silent_places:
            self._stuck.add(key)
            self._health.degraded(
                _part(key),
                f"The check of {tree.root} has not ended for {STUCK_S:g} s: a disk may not answer.",
                mend="umount --lazy the disk that hangs, then: yaadwatch restart",
            )
        self._hearing.nudge()

    async def _check_in_thread(self, batch: Batch) -> None:
        tree = self._trees.get(batch.tree)
        if tree is None:
            return
        paths = batch.paths
        if batch.tree in self._unarmed:
            # Armed first, then checked: what changes in between is either seen or told.
            self._unarmed.discard(batch.tree)
            seen = await self._arm(tree, self._monotonic_s())
            report(self._health, self._watcher, self._arms, self._settings)
            paths = None if paths is None else paths | seen.paths
        project, worktree = batch.tree
        done = await self._ask(self._engine.check, project, worktree, paths)
        waiting = await self._ask(self._engine.sync, project, worktree, paths)
        if batch.bare and paths:
            # None of the paths needs to be an agent file's.
            waiting |= await self._ask(self._engine.sync, project, worktree, frozenset())
        self._wait_for_git(batch.tree, waiting=waiting)
        if batch.paths is not None:
            self._lags_s[project] = self._monotonic_s() - batch.since
        if done.raised or done.cleared:
            await self.refresh(project)  # the places that doubts point to are watched too

    def _wait_for_git(self, key: Tree, *, waiting: bool) -> None:
        """Look at the agent files again later, while git or a person is at work."""
        planned = self._next_looks.pop(key, None)
        if planned is not None:
            planned.cancel()  # else each change meanwhile would add a look of its own, for ever
        if not waiting or key not in self._trees:
            self._waits.pop(key, None)
            return
        waits = self._waits[key] = self._waits.get(key, 0) + 1
        delay_s = min(2.0 ** (waits - 2), _WAIT_MAX_S)
        loop = asyncio.get_running_loop()
        self._next_looks[key] = loop.call_later(delay_s, self._again, key, frozenset())

    def _went_well(self, batch: Batch) -> None:
        self._away.discard(batch.tree)
        if batch.tree in self._unlearnt:  # it is there again, and so is what rests on its files
            self._changed_projects.add(batch.tree[0])
        self._failures.pop(batch.tree, None)
        self._health.well(_part(batch.tree))

    def _went_wrong(self, batch: Batch, error: Exception) -> None:
        """Say so and try again later; a tree that is not there is left until its folder returns.

        What is expected to go wrong once is told when it does so twice: of a project that is just
        being removed the store goes first, then its name.
        """
        key = batch.tree
        if isinstance(error, YaadError) and error.code is Code.NOT_FOUND:
            _log_put_off(key, error)
            self._health.well(_part(key))
            self._away.add(key)
            self._changed_projects.add(key[0])  # it may have moved, and be found where it is now
            return
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        if isinstance(error, YaadError) and failures == 1:
            _log_put_off(key, error)
        else:
            log_crash("check.failed", error, project=key[0], worktree=key[1])
            mend = error.hint if isinstance(error, YaadError) and error.hint else "yaadwatch stale"
            self._health.degraded(
                _part(key),
                f"{self._trees[key].root} could not be checked: {in_words(error)}",
                mend=mend,
            )
        asyncio.get_running_loop().call_later(
            min(2.0 ** (failures - 1), RETRY_MAX_S), self._again, key, batch.paths
        )

    def _again(self, key: Tree, paths: frozenset[str] | None) -> None:
        if key not in self._trees:
            return
        now = self._monotonic_s()
        if paths is None:
            self._bursts.everything(key, now)
        else:
            self._bursts.hint(key, paths, now)
        self._hearing.nudge()

    async def _arm(self, tree: WatchedTree, now: float) -> Differences:
        """Watch what `tree` needs; return how its files differ from the last look at them."""
        seen = (await self._look(self._armed, [tree], now)).get(key_of(tree))
        if seen is None:
            await self._look_afar([tree])
        return seen or NOTHING

    async def _arm_and_look(self, trees: Sequence[WatchedTree], now: float) -> None:
        """Watch what each of `trees` needs, and take in how its files differ."""
        for begin in range(0, len(trees), LOOKED_AT_ONCE):
            some = trees[begin : begin + LOOKED_AT_ONCE]
            for key, seen in (await self._look(self._armed, some, now)).items():
                self._take_seen(key, seen)
        await self._look_afar(trees)

    def _armed(self, trees: Iterable[WatchedTree], now: float) -> dict[Tree, Differences]:
        """Watch what each of `trees` needs, and look then at its files, unless they are afar."""
        found = {}
        for tree in trees:
            self._arms.arm(tree, now)
            if not self._arms.is_silent(key_of(tree)):
                found[key_of(tree)] = self._poller.look(tree)
        return found

    def _look_at(self, trees: Iterable[WatchedTree]) -> dict[Tree, Differences]:
        return {key_of(tree): self._poller.look(tree) for tree in trees}

    async def _look_afar(self, trees: Iterable[WatchedTree]) -> None:
        await self._looking.afar(tree for tree in trees if self._arms.is_silent(key_of(tree)))

    def _took(self, tree: WatchedTree, seen: Differences) -> None:
        self._take_seen(key_of(tree), seen)
        self._hearing.nudge()

    async def _forget(self, key: Tree) -> None:
        del self._trees[key]
        self._bursts.drop(key)
        self._unarmed.discard(key)
        self._away.discard(key)
        self._unlearnt.discard(key)
        self._failures.pop(key, None)
        self._wait_for_git(key, waiting=False)
        if all(key[0] != project for project, _ in self._trees):
            self._lags_s.pop(key[0], None)
        self._poller.forget(key)
        self._polled.pop(key, None)
        self._health.well(_part(key))
        await self._look(self._arms.disarm, key)

    async def _ask(self, work: Callable[P, R], *args: P.args, **kw: P.kwargs) -> R:
        return await asyncio.get_running_loop().run_in_executor(
            self._checking, functools.partial(work, *args, **kw)
        )


def _standing(roots: Mapping[Tree, Path]) -> list[Tree]:
    """Return the work trees whose folder is there."""
    return [key for key, root in roots.items() if root.is_dir()]


def _log_put_off(key: Tree, error: Exception) -> None:
    fields = {"project": key[0], "worktree": key[1], "error": in_words(error)}
    _log.info("check.put_off", extra=fields)


def _part(key: Tree) -> str:
    return f"check {key[0]} {key[1]}"
