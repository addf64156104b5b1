"""Keep the list of work trees, and watch and poll each of them.

Differences become hints. File systems without notifications are polled more often. A missing work
tree is kept as long as its project is registered, because its disk may come back.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

from yaadwatch.daemon.arming import Arms, Meaning, Mode, Silent, budget, key_of, report
from yaadwatch.daemon.dispatch import Workers
from yaadwatch.daemon.hints import Bursts, HintQueue, TreeKey
from yaadwatch.daemon.polling import NOTHING, Differences, Poller
from yaadwatch.daemon.supervisor import Health
from yaadwatch.db import projects
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import Watch
from yaadwatch.projects import verifying
from yaadwatch.repo.watch import Watcher, open_watcher
from yaadwatch.staleness import stale
from yaadwatch.staleness.stale import WatchedTree
from yaadwatch.system import files
from yaadwatch.workspace import agent_files, identity
from yaadwatch.workspace.agent_files import Formats
from yaadwatch.workspace.stores import is_there
from yaadwatch.workspace.workspace import Home

if TYPE_CHECKING:
    from yaadwatch.memory.flags import Checked


P = ParamSpec("P")
R = TypeVar("R")

HERE: Final = ""
"""Names, among the projects, the thread that looks at what is on this machine: what is learnt later
is also applied later."""
LOOKED_AT_ONCE: Final = 25
"""Work trees armed or polled before other work gets the thread."""


class Engine:
    """Knows the projects, and brings them up to date. Methods run in threads.

    Args:
        home: the stores.
        on_checked: called with a project after each check.
    """

    def __init__(self, home: Home, on_checked: Callable[[str], None]) -> None:
        self._home = home
        self._on_checked = on_checked
        self._listed: list[Project] | None = None

    def trees(self, project: str | None) -> Sequence[WatchedTree]:
        """Return the work trees of one project, or of all (None), wherever they went."""
        rows = self._home.user.read(projects.everything)
        asked = [row for row in rows if project in (None, row.id)]
        near = set(files.near(row.common_dir for row in asked))  # others may never answer
        if not all(
            is_there(row) and row.gone_at is None and bool(row.root_commit)
            for row in asked
            if row.common_dir in near
        ):
            identity.note_places(self._home, project)
        return stale.watched(self._home, project)

    def registered(self) -> Mapping[str, Path]:
        """Return the git folder of each project in the registry, by id; keep a copy of the list."""
        rows = self._home.user.read(projects.everything)
        if self._listed not in (None, rows):
            verifying.copy_project_list(self._home)
        self._listed = rows
        return {row.id: row.common_dir for row in rows}

    def check(self, project: str, worktree: int, paths: frozenset[str] | None) -> "Checked":
        """Bring the flags of a tree up to date; paths None: look at everything."""
        try:
            return stale.check_tree(self._home, project, worktree, paths)
        finally:
            self._on_checked(project)

    def sync(self, project: str, worktree: int, paths: frozenset[str] | None) -> bool:
        """Bring agent files among the paths and memories together; return whether to try again."""
        from yaadwatch.memory import visibility
        from yaadwatch.sessions import context
        from yaadwatch.sync import tree

        visibility.find_merged_elsewhere(self._home, project, worktree)
        done = tree.sync_tree(self._home, project, worktree, paths)
        context.prepare(self._home, project, worktree, force=paths is None)
        return done.waiting or done.watching

    def formats(self) -> Formats:
        """Return the formats of agent files; of a setting that is no pattern `status` reports."""
        try:
            return agent_files.known_formats(self._home)
        except YaadError:
            return agent_files.formats()


class Trees:
    """The work trees of all projects. Made and used on the loop, unless a method says so.

    Args:
        engine: knows the projects, and which of their files matter.
        bursts: is given what may have changed.
        hints: the queue of what the watcher reports.
        workers: one thread for each project, and one for what is on this machine.
        settings: how files are watched.
        health: reports what is degraded.
        monotonic_s: the clock of hints, in seconds.
        silent: the places at or below a folder without change notifications.
        dropped: called with a work tree that is known no longer.
    """

    def __init__(
        self,
        engine: Engine,
        bursts: Bursts,
        hints: HintQueue,
        workers: Workers,
        *,
        settings: Watch,
        health: Health,
        monotonic_s: Callable[[], float],
        silent: Silent,
        dropped: Callable[[TreeKey], None],
    ) -> None:
        self._engine = engine
        self._bursts = bursts
        self._hints = hints
        self._settings = settings
        self._health = health
        self._monotonic_s = monotonic_s
        self._silent = silent
        self._dropped = dropped
        self._silent_places: frozenset[Path] = frozenset()
        self._known: dict[TreeKey, WatchedTree] = {}
        self._unarmed: set[TreeKey] = set()
        self._away: set[TreeKey] = set()  # those of which a check found no folder
        self._unlearnt: set[TreeKey] = set()  # not found when we last listed them
        self._places: Mapping[str, Path] = {}
        self._poller = Poller(engine.formats)
        self._workers = workers
        self._afar: dict[TreeKey, asyncio.Task[None]] = {}  # looks at network disks under way
        self.watcher: Watcher = Watcher()
        self.arms = self._arms_of(self.watcher)

    async def start(self) -> None:
        """Watch every project, then note that everything has to be checked."""
        self.watcher = open_watcher(self._hints.hint, self._hints.overflow, self.cares)
        self.arms = self._arms_of(self.watcher)
        self._silent_places = frozenset(await self._look(self._silent, Path("/")))
        await self.refresh(None)

    def close(self) -> None:
        """Stop watching, and look at nothing more."""
        self.watcher.close()
        for task in self._afar.values():
            task.cancel()

    def cares(self, folder: Path, name: str) -> bool:
        """Return whether a hint means anything to anybody; quick, for the watcher's thread."""
        return self.arms.cares(folder, name)

    @property
    def known(self) -> Mapping[TreeKey, WatchedTree]:
        """Return the work trees there are."""
        return self._known

    def is_afar(self, key: TreeKey) -> bool:
        """Return whether a part of a tree is on a network disk, which may hang. Any thread."""
        tree = self._known.get(key)
        return tree is not None and any(
            place.is_relative_to(tree.root) or folder.is_relative_to(place)
            for place in self._silent_places
            for folder in (tree.root, tree.common_dir)
        )

    async def refresh(self, project: str | None) -> None:
        """Learn which files matter in one project, or in all; watch them, then check what is new.

        A missing work tree stays watched for as long as its project is registered: it
        may come back, and is then listed.
        """
        trees = await self._look(self._engine.trees, project)
        registered = await self._registered()
        for key in [key for key in self._known if key[0] not in registered]:
            await self._forget(key)
        asked = {key for key in self._known if project in (None, key[0])}
        self._unlearnt = (self._unlearnt - asked) | asked.difference(map(key_of, trees))
        changed = [tree for tree in trees if tree != self._known.get(key_of(tree))]
        before = {key_of(tree): self._known.get(key_of(tree)) for tree in changed}
        self._known.update({key_of(tree): tree for tree in changed})
        await self._arm_and_look(changed)
        self._report()
        now = self._monotonic_s()
        for tree in changed:
            known = before[key_of(tree)]
            if known is None:
                self._bursts.everything(key_of(tree), now)
            elif tree.paths - known.paths:
                self._bursts.hint(key_of(tree), tree.paths - known.paths, now)
        self._hints.nudge()

    async def who_came_or_went(self) -> set[str]:
        """Return the projects that came, went, or are registered for another place now."""
        registered = await self._registered()
        changed = registered.keys() ^ {project for project, _ in self._known}
        self._places = registered
        return changed | {tree.project for tree in self._known.values() if self._is_elsewhere(tree)}

    def moved(self, project: str) -> bool:
        """Return whether a project is registered for another place than it is watched at."""
        return any(
            key[0] == project and self._is_elsewhere(tree) for key, tree in self._known.items()
        )

    def everything(self) -> None:
        """Note that each tree has to be armed again, and checked as a whole."""
        self._unarmed.update(self._known)
        now = self._monotonic_s()
        for key in self._known:
            self._bursts.everything(key, now)
        self._hints.nudge()

    def take(self, key: TreeKey, meaning: Meaning, at: float) -> None:
        """Note what a hint means for a tree."""
        if meaning.lock:
            self._bursts.held(key, at)
            return
        if meaning.shape or self.arms.is_demoted(key):
            self._unarmed.add(key)
        self._bursts.hint(key, meaning.paths, at)

    async def poll(self) -> None:
        """Poll HEAD, anchored files and agent files; a difference is a hint.

        A project whose store or folder was unreachable is tried again: its disk may be back.
        """
        registered = await self._registered()
        for project in sorted(registered.keys() - {project for project, _ in self._known}):
            await self.refresh(project)
        await self._look_for_the_away()
        await self._look_for_mounts()
        known = list(self._known.values())

        def look(tree: WatchedTree) -> Differences | None:
            if self.arms.is_silent(key_of(tree)):
                return None
            return self._poller.look(tree)

        await self._look_at(known, look)
        self._hints.nudge()

    async def arm_if_changed(self, key: TreeKey) -> frozenset[str]:
        """Watch what a tree needs as it is now; return the paths that look different by then.

        Before a check: a change in between is either seen or notified.
        """
        tree = self._known.get(key)
        if tree is None or key not in self._unarmed:
            return frozenset()
        self._unarmed.discard(key)
        found = await self._look(self._arm, tree)
        if found is None:
            await self._look_afar([tree])
        self._report()
        return (found or NOTHING).paths

    def found(self, key: TreeKey) -> bool:
        """Note that a check found the folder of a tree; return whether to list it again."""
        self._away.discard(key)
        return key in self._unlearnt

    def not_found(self, key: TreeKey) -> None:
        """Note that a check found no folder: it is looked for with each poll."""
        self._away.add(key)

    def mode(self, project: str) -> Mode:
        """Return how changes in a project are noticed: the worst of its work trees. Any thread.

        A work tree that is gone does not count, unless all are.
        """
        modes = [self.arms.mode(key) for key in tuple(self._known) if key[0] == project]
        here = [mode for mode in modes if mode != "off"]
        return max(here or modes, key=("full", "poll", "off").index, default="off")

    def disk_of(self, folder: str) -> str:
        """Return the network disk that a folder is on, by its name; elsewhere the folder itself."""
        for place in self._silent_places:
            if place != Path("/") and Path(folder).is_relative_to(place):
                return str(place)
        return folder

    async def _look(self, work: Callable[P, R], *args: P.args, **kw: P.kwargs) -> R:
        """Run `work` in the one thread that reads local disks."""
        return await self._workers.run(HERE, partial(work, *args, **kw))

    async def _registered(self) -> Mapping[str, Path]:
        """Return the folder of each project; clears the problems of other projects."""
        registered = await self._look(self._engine.registered)
        self._health.keep_only(registered)
        return registered

    def _arms_of(self, watcher: Watcher) -> Arms:
        return Arms(watcher, budget=budget(self._settings), silent=self._silent)

    def _report(self) -> None:
        report(self._health, self.watcher, self.arms, self._settings)

    def _is_elsewhere(self, tree: WatchedTree) -> bool:
        """Return whether the project of `tree` is registered at another place: it keeps its id."""
        place = self._places.get(tree.project)
        return place is not None and place != tree.registered

    async def _look_for_mounts(self) -> None:
        """Arm all trees again when a network file system was mounted or unmounted."""
        silent = frozenset(await self._look(self._silent, Path("/")))
        if silent != self._silent_places:
            self._silent_places = silent
            await self._arm_and_look(list(self._known.values()))

    async def _look_for_the_away(self) -> None:
        """Register and check missing trees whose folder is back."""
        roots = {key: self._known[key].root for key in self._away | self._unlearnt}
        there = [key for key, root in roots.items() if await self._look(root.is_dir)]
        for key in there:
            if key in self._unlearnt:
                await self.refresh(key[0])
            if key in self._away and key in self._known:
                self._unarmed.add(key)
                self._bursts.everything(key, self._monotonic_s())
            self._away.discard(key)
        for project in sorted({project for project, _ in self._unlearnt}):
            await self.refresh(project)  # it may be beside its place by now

    async def _arm_and_look(self, trees: Sequence[WatchedTree]) -> None:
        """Watch the folders that `trees` need, and take in how their files differ."""
        await self._look_at(trees, self._arm)

    def _arm(self, tree: WatchedTree) -> Differences | None:
        """Watch the folders that a tree needs, then poll its files; None: on a network disk."""
        self.arms.arm(tree)
        return None if self.arms.is_silent(key_of(tree)) else self._poller.look(tree)

    async def _look_at(
        self, trees: Sequence[WatchedTree], look: Callable[[WatchedTree], Differences | None]
    ) -> None:
        """Take in how the files of trees differ, those on network disks (None) last."""

        def several(some: Sequence[WatchedTree]) -> list[tuple[TreeKey, Differences]]:
            found = ((key_of(tree), look(tree)) for tree in some)
            return [(key, seen) for key, seen in found if seen is not None]

        for begin in range(0, len(trees), LOOKED_AT_ONCE):
            for key, seen in await self._look(several, trees[begin : begin + LOOKED_AT_ONCE]):
                self._take_seen(key, seen)
        await self._look_afar(trees)

    async def _look_afar(self, trees: Iterable[WatchedTree]) -> None:
        """Poll trees on network disks, except those still waiting for an earlier poll."""
        asked = []
        for tree in trees:
            if self.arms.is_silent(key_of(tree)) and key_of(tree) not in self._afar:
                self._afar[key_of(tree)] = asyncio.create_task(self._look_at_one_afar(tree))
                asked.append(self._afar[key_of(tree)])
        if asked:
            # A look at a network disk is waited for so long; what it saw comes later.
            await asyncio.wait(asked, timeout=5.0)

    async def _look_at_one_afar(self, tree: WatchedTree) -> None:
        key = key_of(tree)
        try:
            seen = await self._workers.run(tree.project, partial(self._poller.look, tree))
        finally:
            del self._afar[key]
        self._take_seen(key, seen)
        self._hints.nudge()

    def _take_seen(self, key: TreeKey, seen: Differences) -> None:
        if seen and key in self._known:
            # The watcher may have missed these paths: a mounted disk hides a folder,
            # whose watch then reports nothing. Arming the tree again mends it.
            shape = seen.replaced or bool(seen.paths)
            meaning = Meaning(paths=tuple(seen.paths), head=seen.head, shape=shape)
            self.take(key, meaning, self._monotonic_s())

    async def _forget(self, key: TreeKey) -> None:
        self._known.pop(key, None)  # another refresh may have been as quick
        self._bursts.drop(key)
        self._unarmed.discard(key)
        self._away.discard(key)
        self._unlearnt.discard(key)
        self._poller.forget(key)
        self._dropped(key)
        await self._look(self.arms.disarm, key)
