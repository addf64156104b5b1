"""Is the program that runs still the one that is installed?

Installers replace the folder with the distribution's metadata; its METADATA file is looked at, and
nothing of the program is imported for that.
"""

import os
import sys
from collections.abc import Iterable

Stamp = tuple[tuple[str, int, int, int], ...]
"""Path, inode, time and size of each METADATA of ours; empty when the program is not installed."""

_BEGINS = "yaadwatch-"
_ENDS = ".dist-info"


def stamp(folders: Iterable[str] | None = None) -> Stamp:
    """Return what changes when the program is installed anew.

    Args:
        folders: where packages are; by default those of this process.
    """
    return _seen(_metadata(dict.fromkeys(sys.path if folders is None else folders)))


class Installation:
    """The installed program, as it was when this object was made.

    Args:
        folders: as for `stamp`.
    """

    def __init__(self, folders: Iterable[str] | None = None) -> None:
        self._folders = None if folders is None else tuple(folders)
        self._times: list[int | None] = []
        self._at_rest = False
        self._paths: list[str] = []
        self._first = self._last = self._stamp()

    def was_replaced(self) -> bool:
        """Say whether another one is installed, and its installer has finished.

        It has finished when nothing moved since this was asked last. A program that is gone is not
        replaced: it may come back, and until then there is nothing to start.
        """
        now, last = self._stamp(), self._last
        self._last = now
        return bool(self._first) and bool(now) and now == last != self._first

    def _stamp(self) -> Stamp:
        """Return the stamp; folders are listed only while their times move, and once more after
        that: two changes may have the same time.
        """
        folders = dict.fromkeys(sys.path if self._folders is None else self._folders)
        times = [_changed_ns(folder) for folder in folders]
        moves = times != self._times
        if moves or not self._at_rest:
            self._paths = _metadata(folders)
        self._times, self._at_rest = times, not moves
        return _seen(self._paths)


def _changed_ns(folder: str) -> int | None:
    """Return when something came into a folder or went; None when it is not there."""
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116
    except OSError:
        return None


def _metadata(folders: Iterable[str]) -> list[str]:
    """Return where each METADATA of ours is, or is about to be."""
    found = []
    for folder in folders:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208
        except OSError:
            continue  # a zip file, or a folder that is not there
        found += [
            os.path.join(folder, name, "METADATA")  # noqa: PTH118
            for name in names
            if name.startswith(_BEGINS) and name.endswith(_ENDS)
        ]
    return found


def _seen(paths: Iterable[str]) -> Stamp:
    seen = []
    for path in paths:
        try:
            found = os.stat(path)  # noqa: PTH116
        except OSError:
            continue  # just being written, or taken away
        seen.append((path, found.st_ino, found.st_mtime_ns, found.st_size))
    return tuple(sorted(seen))
