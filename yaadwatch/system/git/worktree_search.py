"""Which files of certain names are somewhere in a work tree, by what git knows of it."""

import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.system.git.repository import Repository

TREES_MAX: Final = 256
FOLDERS_MAX: Final = 256
"""Folders that are looked into before git is asked: so many cost as much as its two commands."""

Says = Callable[[str], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    """What there was at an index; `tracked` None: git was not asked, for there was no such file."""

    index: tuple[int, int, int]
    tracked: tuple[str, ...] | None
    untracked: tuple[str, ...]


class Below:
    """Lists the files of a work tree that git tracks, or would, and remembers those asked for.

    What git tracks is listed anew when its index has changed. What it does not track takes a walk
    through all folders, so it is listed only when somebody has the time. Git is not asked where no
    file of such a name is on the disk. Whoever asks wants the same names each time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listed: OrderedDict[Path, _Listed] = OrderedDict()

    def names(
        self, repository: Repository, wants: Says, *, passed: Says, thorough: bool
    ) -> tuple[str, ...]:
        """Return the paths, relative to the work tree, with '/'; some may not be on the disk.

        Args:
            repository: of the work tree.
            wants: says of a path whether it is one of those.
            passed: says of the name of a folder that nothing below it counts.
            thorough: look again for what git does not track, too.

        Raises:
            YaadError: from git.
        """
        root, git_dir = repository.layout.root, repository.layout.git_dir
        index = _signature(git_dir / "index")
        with self._lock:
            known = self._listed.get(git_dir)
        same = known is not None and known.index == index
        tracked = known.tracked if known is not None and same else None
        untracked = known.untracked if known is not None else ()
        if thorough or not same:
            if root is not None and _none_there(root, wants, passed):
                tracked, untracked = None, ()
            else:
                if tracked is None:
                    tracked = tuple(filter(wants, repository.tracked()))
                if thorough:
                    untracked = tuple(filter(wants, repository.untracked()))
        with self._lock:
            self._listed[git_dir] = _Listed(index=index, tracked=tracked, untracked=untracked)
            self._listed.move_to_end(git_dir)
            while len(self._listed) > TREES_MAX:
                self._listed.popitem(last=False)
        return tuple(dict.fromkeys((*(tracked or ()), *untracked)))


def _none_there(root: Path, wants: Says, passed: Says) -> bool:
    """Return whether it is sure that no file of those names is in a work tree, ignored or not.

    Links are not followed, as git does not.
    """
    waiting = deque([""])
    looked = 0
    while waiting:
        looked += 1
        if looked > FOLDERS_MAX:
            return False
        above = waiting.popleft()
        try:
            with os.scandir(f"{root}/{above}") as entries:
                for entry in entries:
                    path = above + entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name != ".git" and not passed(entry.name):
                            waiting.append(f"{path}/")
                    elif wants(path):
                        return False
        except OSError:
            return False
    return True


def _signature(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
