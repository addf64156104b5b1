"""Which files look different from the last look? The way that works on every file system.

Only `stat`, about two microseconds a file or folder, and what it saw is kept in memory: a project
at rest is polled without opening its store. A difference is a hint like any other; the first look
gives none, so look before the first check.
"""

import asyncio
import functools
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, ParamSpec, TypeVar

from yaadwatch.daemon.health import Health
from yaadwatch.daemon.watching.arming import WatchedTree, key_of
from yaadwatch.daemon.watching.bursts import Tree
from yaadwatch.daemon.watching.folders import Folders, Passed

P = ParamSpec("P")
R = TypeVar("R")

STUCK_S: Final = 60.0
"""What takes longer than this is told: a disk may not answer."""
AFAR_AT_ONCE: Final = 4
"""Network file systems that do not answer, before those that do have to wait for them."""
_AFAR_S: Final = 5.0
"""Nobody waits longer than this for a look at a network file system; what it saw comes later."""
_HEAD_BYTES_MAX: Final = 4096
_GIT_FILES: Final = ("logs/HEAD", "reftable/tables.list")
_COMMON_FILES: Final = ("packed-refs", "reftable/tables.list")


@dataclass(frozen=True, slots=True, kw_only=True)
class Differences:
    """What looks different: files (relative paths), HEAD, or the very folder of the work tree."""

    paths: frozenset[str]
    head: bool
    replaced: bool

    def __bool__(self) -> bool:
        return bool(self.paths) or self.head or self.replaced


NOTHING: Final = Differences(paths=frozenset(), head=False, replaced=False)


@dataclass(slots=True, kw_only=True)
class _Look:
    """How a work tree looked; `empty`: places of agent files at which there was nothing."""

    files: dict[str, int]
    empty: dict[str, int]
    head: int
    root: int
    named: "_Named"


@dataclass(frozen=True, slots=True)
class _Named:
    """What a file HEAD said when it looked so: it is replaced as a whole, never written into."""

    looked: int = 0
    text: bytes = b""


class Poller:
    """Remembers how each work tree looked.

    Args:
        is_rule: whether a file at a path, in a folder further down, would be an agent file.
        is_passed: which folders, by their names, have none that count.
        is_place: whether an agent file may come up at a path, in a project that has none there.
    """

    def __init__(
        self,
        is_rule: Callable[[str], bool] = lambda _: False,
        is_passed: Passed = lambda _: False,
        is_place: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._is_place = is_place
        self._is_rule = is_rule
        self._is_passed = is_passed
        self._looks: dict[Tree, _Look] = {}
        self._folders: dict[Tree, Folders] = {}

    def look(self, tree: WatchedTree, *, whole: bool = True) -> Differences:
        """Look at a tree; return what differs from the last look. New anchors do not count.

        Args:
            tree: the work tree.
            whole: look, too, whether agent files came up where there were none; these are most of
                the places of a project, and most of what a look costs.
        """
        root = str(tree.root)
        last = self._looks.get(key_of(tree))
        passed = {} if last is None or whole else last.empty
        seen = _signatures(root, tree.paths.difference(passed)) | passed
        named = _named(tree, last.named if last is not None else _Named())
        now = _Look(
            files=seen,
            empty=passed or self._empty(seen),
            head=_head(tree, named.text),
            root=hash((_identity(root), _identity(f"{root}/.git"))),
            named=named,
        )
        before = last or now
        self._looks[key_of(tree)] = now
        looked = whole or last is None
        came_up = self._came_up(tree, first=last is None) if looked else frozenset[str]()
        return Differences(
            paths=came_up.union(
                path
                for path, signature in now.files.items()
                if before.files.get(path, signature) != signature
            ),
            head=now.head != before.head,
            replaced=now.root != before.root,
        )

    def forget(self, key: Tree) -> None:
        """Forget how a tree looked."""
        self._looks.pop(key, None)
        self._folders.pop(key, None)

    def _empty(self, files: Mapping[str, int]) -> dict[str, int]:
        """Return the places of agent files at which there was nothing."""
        return {path: 0 for path, seen in files.items() if not seen and self._is_place(path)}

    def _came_up(self, tree: WatchedTree, *, first: bool) -> frozenset[str]:
        """Return the agent files that came up further down, where nobody tells of them."""
        root = str(tree.root)
        folders = self._folders.get(key_of(tree))
        if folders is None or folders.root != root:
            folders = Folders(root, self._is_rule, self._is_passed)
            self._folders[key_of(tree)] = folders
            first = True
        found = folders.look(tree.paths)
        return frozenset() if first else found


class Looking:
    """Looks at disks in threads of its own. Made and used on the loop.

    What is on the network has other threads than the rest: it may not answer for hours.

    Args:
        poller: looks at work trees.
        health: is told of a disk that does not answer.
        took: is given what was seen afar, once it is.
    """

    def __init__(
        self, poller: Poller, health: Health, took: Callable[[WatchedTree, Differences], None]
    ) -> None:
        self._poller = poller
        self._health = health
        self._took = took
        # One thread, so that what is learnt later is also applied later.
        self._here = ThreadPoolExecutor(1, thread_name_prefix="look")
        self._afar = ThreadPoolExecutor(AFAR_AT_ONCE, thread_name_prefix="afar")
        self._waiting: dict[Tree, asyncio.Task[None]] = {}
        self._hanging: set[Tree] = set()

    async def here(self, work: Callable[P, R], *args: P.args, **kw: P.kwargs) -> R:
        """Return what `work` returns, in the thread that looks at what is on this machine."""
        loop = asyncio.get_running_loop()
        stuck = loop.call_later(STUCK_S, self._tell, "watch.stuck", "Folders of projects")
        try:
            return await loop.run_in_executor(self._here, functools.partial(work, *args, **kw))
        finally:
            stuck.cancel()
            self._health.well("watch.stuck")

    async def afar(self, trees: Iterable[WatchedTree]) -> None:
        """Look at trees on network file systems; at one that still does not answer, not again."""
        asked = []
        for tree in trees:
            if key_of(tree) not in self._waiting:
                task = asyncio.create_task(self._look_afar(tree))
                self._waiting[key_of(tree)] = task
                asked.append(task)
        if asked:
            await asyncio.wait(asked, timeout=_AFAR_S)
        self._hanging = set(self._waiting)

    @property
    def hanging(self) -> Collection[Tree]:
        """Return the trees whose disk did not answer in time, and has not since. Any thread."""
        return tuple(self._hanging)

    def stop(self) -> None:
        """Look at nothing more."""
        for task in self._waiting.values():
            task.cancel()
        for threads in (self._here, self._afar):
            threads.shutdown(wait=False, cancel_futures=True)

    async def _look_afar(self, tree: WatchedTree) -> None:
        loop = asyncio.get_running_loop()
        part = f"watch.stuck {tree.project} {tree.worktree}"
        stuck = loop.call_later(STUCK_S, self._tell, part, f"What is at {tree.root}", tree.project)
        try:
            seen = await loop.run_in_executor(self._afar, self._poller.look, tree)
        finally:
            stuck.cancel()
            del self._waiting[key_of(tree)]
            self._hanging = self._hanging - {key_of(tree)}
            self._health.well(part)
        self._took(tree, seen)

    def _tell(self, part: str, what: str, project: str = "") -> None:
        self._health.degraded(
            part,
            f"{what} could not be looked at for {STUCK_S:g} s: a disk does not answer.",
            mend="umount --lazy the disk that hangs, then: yaadwatch restart",
            project=project,
        )


def _signatures(root: str, paths: Iterable[str]) -> dict[str, int]:
    """Return how each path looks; a folder, `x/*`, looks different when a file came or went.

    In a folder at the top that is not there nothing is looked for: most agents have none here.
    """
    tops: dict[str, bool] = {}
    found = {}
    for path in paths:
        top, inside, _ = path.partition("/")
        if inside and top not in tops:
            tops[top] = os.path.lexists(f"{root}/{top}")
        there = not inside or tops[top]
        found[path] = _signature(f"{root}/{path.removesuffix('/*')}") if there else 0
    return found


def _signature(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return hash((found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode))


def _identity(path: str) -> int:
    try:
        found = os.lstat(path)
    except OSError:
        return 0
    return hash((found.st_dev, found.st_ino))


def _named(tree: WatchedTree, last: _Named) -> _Named:
    """Return what HEAD says; it is read where it looks different from `last`."""
    path = f"{tree.git_dir}/HEAD"
    looks = _signature(path)
    if looks and looks == last.looked:
        return last
    try:
        with open(path, "rb") as stream:  # noqa: PTH123
            return _Named(looks, stream.read(_HEAD_BYTES_MAX))
    except OSError:
        return _Named()


def _head(tree: WatchedTree, named: bytes) -> int:
    git_dir, common_dir = str(tree.git_dir), str(tree.common_dir)
    places = dict.fromkeys(f"{git_dir}/{name}" for name in _GIT_FILES)
    places |= dict.fromkeys(f"{common_dir}/{name}" for name in _COMMON_FILES)
    reference = os.fsdecode(named.strip()).removeprefix("ref: ")
    if reference.startswith("refs/heads/") and ".." not in reference and "\0" not in reference:
        places[f"{common_dir}/{reference}"] = None
    return hash((named, *map(_signature, places)))
