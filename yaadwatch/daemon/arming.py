"""Choose the folders to watch for each work tree, and say what a change in them means.

A work tree is never watched as a whole: only git's few folders, which show that HEAD moved, and the
folders from the root to each anchored file. The number of folders is limited; of a work tree that
does not fit only git's folders are watched, and polling covers its files.
"""

import os
import shlex
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from yaadwatch.daemon.hints import TreeKey
from yaadwatch.daemon.supervisor import Health
from yaadwatch.model.settings import Watch
from yaadwatch.repo.watch import Watcher, watch_limit
from yaadwatch.staleness.stale import WatchedTree

Mode = Literal["full", "poll", "off"]
"""How changes in a tree are noticed: notifications; polling; not at all, its folder is gone."""

ANY: Final = "/"
"""Any name in a folder; no file can have this name."""
ITSELF: Final = ""
"""The folder itself: it was deleted or moved."""
BRANCH_FOLDERS_MAX: Final = 64
"""Folders of branches that are watched; the reflog and polling cover the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a change of a name means for a work tree.

    Args:
        paths: anchored files that are this name, or lie below it.
        head: HEAD may have moved.
        shape: folders may have come or gone, so the tree must be armed again.
        lock: git began or ended its work on the index.
        trees: work trees of the repository may have come or gone.
    """

    paths: tuple[str, ...] = ()
    head: bool = False
    shape: bool = False
    lock: bool = False
    trees: bool = False


Names = Mapping[str, Meaning]
Silent = Callable[[Path], Collection[Path]]

_RAISE_LIMIT: Final = "sudo sysctl fs.inotify.max_user_watches=524288"

_HEAD = Meaning(head=True)
_REFS = Meaning(head=True, shape=True)


def key_of(tree: WatchedTree) -> TreeKey:
    """Return what a work tree is called by."""
    return tree.project, tree.worktree


def budget(settings: Watch) -> int:
    """Return how many folders to watch at most: as set, or an eighth of the system's limit."""
    limit = watch_limit()
    return settings.directories_max if limit is None else min(settings.directories_max, limit // 8)


def report(health: Health, watcher: Watcher, arms: "Arms", settings: Watch) -> None:
    """Say in `health` what is polled because it cannot be watched."""
    instead = f"looked at every {settings.poll_s} s only"
    if type(watcher) is Watcher and watcher.refused:
        health.degraded(
            "watch.refused",
            f"The system has no watcher left for us, so everything is {instead}. Other programs of "
            "yours may hold them all.",
            mend="sudo sysctl fs.inotify.max_user_instances=512, then: yaadwatch restart",
        )
    elif watcher.refused:
        health.degraded(
            "watch.refused",
            f"The system refuses to watch {watcher.refused} folders; they are {instead}. "
            f"Its limit for all programs of a user is {watch_limit()}.",
            mend=_RAISE_LIMIT,
        )
    else:
        health.well("watch.refused")
    if watcher.unreadable:
        folder = min(watcher.unreadable)
        health.degraded(
            "watch.unreadable",
            f"{len(watcher.unreadable)} folders may not be read by you, and are {instead}; "
            f"for instance {folder}.",
            mend=f"ls -ld {shlex.quote(str(folder))}",
        )
    else:
        health.well("watch.unreadable")
    if arms.demoted:
        folders = budget(settings)
        raised = max(2 * folders, 256)
        more = f"yaadwatch config set watch.directories_max {raised} && yaadwatch restart"
        health.degraded(
            "watch.budget",
            f"We watch {folders} folders at most, so some work trees ({arms.demoted}) are "
            f"{instead}.",
            mend=more if folders == settings.directories_max else _RAISE_LIMIT,
        )
    else:
        health.well("watch.budget")


def plan(
    tree: WatchedTree, branch_folders: Iterable[Path], *, files: bool
) -> dict[Path, dict[str, Meaning]]:
    """Return the folders to watch, each after its parent, and the names that matter in them.

    Args:
        tree: the work tree.
        branch_folders: the folders below `refs/heads`.
        files: whether the anchored files are watched too, not only git.
    """
    everything = Meaning(paths=tuple(sorted(tree.paths)), head=True, shape=True)
    folders: dict[Path, dict[str, Meaning]] = {
        tree.root.parent: {ITSELF: everything, tree.root.name: everything},
        tree.root: {ITSELF: everything, ".git": _REFS},
    }
    if files:
        _plan_files(tree, folders)
    git_names = {ITSELF: _REFS, "HEAD": _HEAD, "index.lock": Meaning(lock=True)}
    worktrees = Meaning(trees=True, shape=True)
    common_names = {ITSELF: _REFS, "packed-refs": _HEAD, "worktrees": worktrees}
    for folder, names in ((tree.git_dir, git_names), (tree.common_dir, common_names)):
        known = folders.setdefault(folder, {})
        known.update(names)
        known.update(dict.fromkeys(("logs", "reftable", "refs"), _REFS))
    heads = tree.common_dir / "refs" / "heads"
    for folder in (heads, *branch_folders):
        folders[folder] = {ITSELF: _REFS, ANY: _REFS}
    for git_dir in {tree.git_dir, tree.common_dir}:
        folders[git_dir / "reftable"] = {ITSELF: _REFS, "tables.list": _HEAD}
    folders[tree.git_dir / "logs"] = {ITSELF: _REFS, "HEAD": _HEAD}
    folders[tree.common_dir / "worktrees"] = {ANY: Meaning(trees=True)}
    return folders


def _plan_files(tree: WatchedTree, folders: dict[Path, dict[str, Meaning]]) -> None:
    below: dict[str, dict[str, list[str]]] = {}
    for path in sorted(tree.paths):
        folder = ""
        for name in path.split("/"):
            below.setdefault(folder, {}).setdefault(name, []).append(path)
            folder = f"{folder}/{name}" if folder else name
    places = {"": tree.root}
    for folder in sorted(below):  # a folder sorts before what is below it
        place = places[folder]
        known = folders.setdefault(place, {})
        for name, paths in below[folder].items():
            child = f"{folder}/{name}" if folder else name
            meaning = Meaning(paths=tuple(paths), shape=child in below)
            known[ANY if name == "*" else name] = meaning
            if child in below:
                places[child] = place / name
                folders.setdefault(places[child], {})[ITSELF] = meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class _Armed:
    tree: WatchedTree
    folders: frozenset[Path]
    mode: Mode
    demoted: bool
    silent: bool


class Arms:
    """Keeps the right folders watched. Any thread may call it.

    Args:
        watcher: watches the folders.
        budget: watched folders at most.
        silent: the places at or below a folder from which on no file system tells about changes,
            as network file systems do not; what is below them is not watched.
    """

    def __init__(self, watcher: Watcher, *, budget: int, silent: Silent) -> None:
        self._watcher = watcher
        self._budget = budget
        self._silent = silent
        self._lock = threading.Lock()
        self._armed: dict[TreeKey, _Armed] = {}
        # Replaced entry by entry, never changed in place: the watcher's thread reads it unlocked.
        self._interest: dict[Path, dict[TreeKey, Names]] = {}

    def arm(self, tree: WatchedTree) -> None:
        """Watch what `tree` needs as it is now, and nothing it needed before."""
        with self._lock:
            key = key_of(tree)
            silent = set(self._silent(tree.root))
            for git_dir in {tree.git_dir, tree.common_dir}:
                if not git_dir.is_relative_to(tree.root):
                    silent.update(self._silent(git_dir))
            if tree.root in silent:
                self._apply(tree, {}, demoted=False, silent=True)
                return
            wanted, silences = _audible(tree, silent, files=True)
            demoted = not self._fits(key, wanted)
            if demoted:
                wanted, _ = _audible(tree, silent, files=False)
            if not self._fits(key, wanted):
                wanted = {}
            self._apply(tree, wanted, demoted=demoted, silent=silences)

    def disarm(self, key: TreeKey) -> None:
        """Watch nothing for a tree any more."""
        with self._lock:
            armed = self._armed.pop(key, None)
            if armed is not None:
                self._release(key, armed.folders)

    def cares(self, folder: Path, name: str) -> bool:
        """Return whether a hint means anything to anybody; quick, for the watcher's thread."""
        for names in self._interest.get(folder, _NOBODY).values():
            if name in names or (ANY in names and name != ITSELF):
                return name == "index.lock" or not name.endswith(".lock")
        return False

    def meanings(self, folder: Path, name: str) -> list[tuple[TreeKey, Meaning]]:
        """Return what a hint means, for each tree to which it means something."""
        found = []
        for key, names in self._interest.get(folder, _NOBODY).items():
            meaning = names.get(name)
            if meaning is None and name != ITSELF:
                meaning = names.get(ANY)
            if meaning is not None:
                found.append((key, meaning))
        return found

    def mode(self, key: TreeKey) -> Mode:
        """Return how changes in a tree are noticed."""
        armed = self._armed.get(key)
        return armed.mode if armed is not None else "off"

    def is_told(self, key: TreeKey) -> bool:
        """Return whether git's folder of a tree is watched; on a network file system it is not."""
        armed = self._armed.get(key)
        return armed is not None and armed.tree.git_dir in armed.folders

    def is_silent(self, key: TreeKey) -> bool:
        """Return whether a part of a tree is on a file system without notifications."""
        armed = self._armed.get(key)
        return armed is not None and armed.silent

    def is_demoted(self, key: TreeKey) -> bool:
        """Return whether a tree's files are polled because the budget is spent."""
        armed = self._armed.get(key)
        return armed is not None and armed.demoted

    @property
    def demoted(self) -> int:
        """Return how many trees are polled because the budget is spent."""
        return sum(armed.demoted for armed in tuple(self._armed.values()))

    def _fits(self, key: TreeKey, wanted: Mapping[Path, Names]) -> bool:
        """Return whether `wanted` and the other trees' folders are within the budget."""
        armed = self._armed.get(key)
        own = armed.folders if armed is not None else frozenset()
        shared = sum(folder in self._interest for folder in wanted)
        dropped = sum(
            folder not in wanted and self._interest[folder].keys() == {key} for folder in own
        )
        return len(self._interest) - shared - dropped + len(wanted) <= self._budget

    def _apply(
        self, tree: WatchedTree, wanted: Mapping[Path, Names], *, demoted: bool, silent: bool
    ) -> None:
        key = key_of(tree)
        before = self._armed.get(key)
        missing: set[Path] = set()
        refused = False
        for folder, names in wanted.items():
            # Its parent is watched by now: if it appears after this look, there is a notification.
            if folder.parent in missing or _is_none(folder):
                missing.add(folder)
                continue
            # First the interest, then the watch: the first hint may come at once.
            self._interest[folder] = {**self._interest.get(folder, _NOBODY), key: names}
            if self._watcher.watch(folder):
                continue
            if folder.is_dir() and not folder.is_symlink():
                refused = True
            else:
                missing.add(folder)
        folders = frozenset(wanted.keys() - missing)
        self._release(key, missing | ((before.folders if before else frozenset()) - folders))
        mode: Mode = "poll"
        if tree.root in missing or tree.git_dir in missing:
            mode = "off"  # the folder where a disk was mounted may still be there
        elif folders and not (demoted or refused or silent):
            mode = "full"
        self._armed[key] = _Armed(
            tree=tree, folders=folders, mode=mode, demoted=demoted, silent=silent
        )

    def _release(self, key: TreeKey, folders: Iterable[Path]) -> None:
        for folder in folders:
            by = self._interest.get(folder, _NOBODY)
            others = {other: names for other, names in by.items() if other != key}
            if others:
                self._interest[folder] = others
            elif by:
                del self._interest[folder]
                self._watcher.unwatch(folder)


_NOBODY: dict[TreeKey, Names] = {}


def _audible(
    tree: WatchedTree, silent: Collection[Path], *, files: bool
) -> tuple[dict[Path, dict[str, Meaning]], bool]:
    """Return what `plan` says, without what is at or below a place in `silent`; and whether
    anything was left out for that.
    """

    def is_silent(folder: Path) -> bool:
        return any(folder.is_relative_to(place) for place in silent)

    branches = () if is_silent(tree.common_dir) else _branch_folders(tree.common_dir)
    whole = plan(tree, branches, files=files)
    if not silent:
        return whole, False
    heard = {folder: names for folder, names in whole.items() if not is_silent(folder)}
    return heard, len(heard) < len(whole)


def _is_none(folder: Path) -> bool:
    """Return whether there is certainly no folder (and no link) at a path."""
    try:
        return not stat.S_ISDIR(os.lstat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


def _branch_folders(common_dir: Path) -> list[Path]:
    """Return the folders below `refs/heads`, each after its parent; branches may be called a/b."""
    found: list[Path] = []
    left = [common_dir / "refs" / "heads"]
    while left and len(found) < BRANCH_FOLDERS_MAX:
        folder = left.pop(0)
        try:
            with os.scandir(folder) as entries:
                inner = [Path(entry) for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # git removes such a folder when its last branch goes
        found += inner
        left += inner
    return found[:BRANCH_FOLDERS_MAX]
