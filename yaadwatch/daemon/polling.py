"""Which files look different from the last look? The way that works on every file system.

Only `stat`, about two microseconds a file or folder, and what it saw is kept in memory: a project
at rest is polled without opening its store. A difference is a hint like any other; the first look
gives none, so look before the first check.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from yaadwatch.daemon.arming import WatchedTree, key_of
from yaadwatch.daemon.bursts import Tree
from yaadwatch.daemon.folders import Folders, Passed

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


@dataclass(slots=True, kw_only=True)
class _Look:
    files: dict[str, int]
    head: int
    root: int


class Poller:
    """Remembers how each work tree looked.

    Args:
        is_rule: whether a file at a path, in a folder further down, would be an agent file.
        is_passed: which folders, by their names, have none that count.
    """

    def __init__(
        self,
        is_rule: Callable[[str], bool] = lambda _: False,
        is_passed: Passed = lambda _: False,
    ) -> None:
        self._is_rule = is_rule
        self._is_passed = is_passed
        self._looks: dict[Tree, _Look] = {}
        self._folders: dict[Tree, Folders] = {}

    def look(self, tree: WatchedTree) -> Differences:
        """Look at a tree; return what differs from the last look. New anchors do not count."""
        root = str(tree.root)
        now = _Look(
            files=_signatures(root, tree.paths),
            head=_head(tree),
            root=hash((_identity(root), _identity(f"{root}/.git"))),
        )
        before = self._looks.get(key_of(tree), now)
        self._looks[key_of(tree)] = now
        came_up = self._came_up(tree, first=before is now)
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


def _head(tree: WatchedTree) -> int:
    git_dir, common_dir = str(tree.git_dir), str(tree.common_dir)
    try:
        with open(f"{git_dir}/HEAD", "rb") as stream:  # noqa: PTH123
            text = stream.read(_HEAD_BYTES_MAX)
    except OSError:
        text = b""
    seen: list[object] = [text]
    seen += [_signature(f"{git_dir}/{name}") for name in _GIT_FILES]
    seen += [_signature(f"{common_dir}/{name}") for name in _COMMON_FILES]
    reference = os.fsdecode(text.strip()).removeprefix("ref: ")
    if reference.startswith("refs/heads/") and ".." not in reference and "\0" not in reference:
        seen.append(_signature(f"{common_dir}/{reference}"))
    return hash(tuple(seen))
