"""Poll files for changes.

Polling works on every file system. It uses only `stat` (about two microseconds a file) and keeps
the last state in memory, so polling an idle project never opens its store. The first look only
records the state: look before the first check.
"""

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Final

from yaadwatch.daemon.arming import key_of
from yaadwatch.daemon.hints import TreeKey
from yaadwatch.plain_files import read_plain
from yaadwatch.staleness.stale import WatchedTree
from yaadwatch.workspace.agent_files import Formats, formats, is_skipped_folder

FOLDERS_MAX: Final = 2_048
"""Folders of one work tree that are looked at, those near its top first."""


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
    """How a work tree looked."""

    files: dict[str, int]
    head: int
    root: int
    named: "_Named"


@dataclass(frozen=True, slots=True)
class _Named:
    """What a file HEAD said when it looked so: it is replaced as a whole, never written into."""

    looked: int = 0
    text: bytes = b""


@dataclass(slots=True)
class Folders:
    """Finds new agent files in the unwatched folders of a work tree.

    A folder's modification time shows that a name came or went, so an idle poll is one `stat` for
    each folder. Whether git ignores a new file is decided later: it is a hint like any other.

    Args:
        root: the work tree.
        formats: returns the formats of agent files.
    """

    root: str
    formats: Callable[[], Formats]
    _changed_ns: dict[str, int] = field(default_factory=dict)

    def look(self, known: Collection[str]) -> frozenset[str]:
        """Return the agent files in folders that changed since the last look, `known` left out.

        The first look finds what there is.
        """
        found: set[str] = set()
        waiting = deque(self._changed_ns or [""])
        while waiting:
            folder = waiting.popleft()
            try:
                now_ns = os.lstat(f"{self.root}/{folder}").st_mtime_ns
            except OSError:
                self._changed_ns.pop(folder, None)
                continue
            if self._changed_ns.get(folder) != now_ns:
                self._changed_ns[folder] = now_ns
                waiting += self._scan(folder, found)
        return frozenset(found.difference(known))

    def _scan(self, folder: str, found: set[str]) -> list[str]:
        """Add the agent files of a folder to `found`; return its new subfolders."""
        inner: list[str] = []
        try:
            with os.scandir(f"{self.root}/{folder}") as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if self._is_new(path, entry.name):
                            self._changed_ns[path] = -1
                            inner.append(path)
                    elif folder and self.formats().is_below(path):
                        found.add(path)
        except OSError:
            return inner  # it went meanwhile, or may not be looked into
        return sorted(inner)

    def _is_new(self, path: str, name: str) -> bool:
        """Return whether to scan a folder from now on: not another repository."""
        return (
            path not in self._changed_ns
            and len(self._changed_ns) < FOLDERS_MAX
            and not is_skipped_folder(name)
            and not os.path.lexists(f"{self.root}/{path}/.git")
        )


class Poller:
    """Remembers how each work tree looked.

    Args:
        formats: returns the formats of agent files.
    """

    def __init__(self, formats: Callable[[], Formats] = formats) -> None:
        self._formats = formats
        self._looks: dict[TreeKey, _Look] = {}
        self._folders: dict[TreeKey, Folders] = {}

    def look(self, tree: WatchedTree) -> Differences:
        """Look at a tree; return what differs from the last look. New anchors do not count."""
        root = str(tree.root)
        last = self._looks.get(key_of(tree))
        named = _named(tree, last.named if last is not None else _Named())
        now = _Look(
            files=_signatures(root, tree.paths),
            head=_head(tree, named.text),
            root=hash((_identity(root), _identity(f"{root}/.git"))),
            named=named,
        )
        before = last or now
        self._looks[key_of(tree)] = now
        return Differences(
            paths=self._came_up(tree).union(
                path
                for path, signature in now.files.items()
                if before.files.get(path, signature) != signature
            ),
            head=now.head != before.head,
            replaced=now.root != before.root,
        )

    def forget(self, key: TreeKey) -> None:
        """Forget how a tree looked."""
        self._looks.pop(key, None)
        self._folders.pop(key, None)

    def _came_up(self, tree: WatchedTree) -> frozenset[str]:
        """Return new agent files in subfolders, which no notification covers."""
        root = str(tree.root)
        folders = self._folders.get(key_of(tree))
        if folders is not None and folders.root == root:
            return folders.look(tree.paths)
        self._folders[key_of(tree)] = Folders(root, self._formats)
        self._folders[key_of(tree)].look(tree.paths)
        return frozenset()


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
    """Return the content of HEAD, read only when it looks different from `last`."""
    path = f"{tree.git_dir}/HEAD"
    looks = _signature(path)
    if looks and looks == last.looked:
        return last
    try:
        return _Named(looks, read_plain(path, 4096, links=True))
    except OSError:
        return _Named()


def _head(tree: WatchedTree, named: bytes) -> int:
    git_dir, common_dir = str(tree.git_dir), str(tree.common_dir)
    places = dict.fromkeys(f"{git_dir}/{name}" for name in ("logs/HEAD", "reftable/tables.list"))
    places |= dict.fromkeys(
        f"{common_dir}/{name}" for name in ("packed-refs", "reftable/tables.list")
    )
    reference = os.fsdecode(named.strip()).removeprefix("ref: ")
    if reference.startswith("refs/heads/") and ".." not in reference and "\0" not in reference:
        places[f"{common_dir}/{reference}"] = None
    return hash((named, *map(_signature, places)))
