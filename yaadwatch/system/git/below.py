"""Which files of certain names are somewhere in a work tree, by what git knows of it."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.system.git.repository import Repository

TREES_MAX: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Listed:
    index: tuple[int, int, int]
    tracked: tuple[str, ...]
    untracked: tuple[str, ...]


class Below:
    """Lists the files of a work tree that git tracks, or would, and remembers those asked for.

    What git tracks is listed anew when its index has changed. What it does not track takes a walk
    through all folders, so it is listed only when somebody has the time. Whoever asks wants
    the same names each time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listed: OrderedDict[Path, _Listed] = OrderedDict()

    def names(
        self, repository: Repository, wants: Callable[[str], bool], *, thorough: bool
    ) -> tuple[str, ...]:
        """Return the paths, relative to the work tree, with '/'.

        Args:
            repository: of the work tree.
            wants: says of a path whether it is one of those.
            thorough: look again for what git does not track, too.

        Raises:
            YaadError: from git.
        """
        git_dir = repository.layout.git_dir
        index = _signature(git_dir / "index")
        with self._lock:
            known = self._listed.get(git_dir)
        tracked: tuple[str, ...] = known.tracked if known is not None else ()
        untracked: tuple[str, ...] = known.untracked if known is not None else ()
        if known is None or known.index != index:
            tracked = tuple(filter(wants, repository.tracked()))
        if thorough:
            untracked = tuple(filter(wants, repository.untracked()))
        with self._lock:
            self._listed[git_dir] = _Listed(index=index, tracked=tracked, untracked=untracked)
            self._listed.move_to_end(git_dir)
            while len(self._listed) > TREES_MAX:
                self._listed.popitem(last=False)
        return tuple(dict.fromkeys((*tracked, *untracked)))


def _signature(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0, 0
    return found.st_mtime_ns, found.st_size, found.st_ino
