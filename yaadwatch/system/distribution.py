"""Is the program that runs still the one that is installed?

Installers replace the folder with the distribution's metadata; its METADATA file is looked at, and
nothing of the program is imported for that.
"""

import os
import sys
from collections.abc import Iterable, Iterator

Stamp = tuple[tuple[str, int, int, int], ...]
"""Path, inode, time and size of each METADATA of ours; empty when the program is not installed."""

_BEGINS = "yaadwatch-"
_ENDS = ".dist-info"


def stamp(folders: Iterable[str] | None = None) -> Stamp:
    """Return what changes when the program is installed anew.

    Args:
        folders: where packages are; by default those of this process.
    """
    return tuple(sorted(_seen(sys.path if folders is None else folders)))


class Installation:
    """The installed program, as it was when this object was made.

    Args:
        folders: as for `stamp`.
    """

    def __init__(self, folders: Iterable[str] | None = None) -> None:
        self._folders = None if folders is None else tuple(folders)
        self._first = self._last = stamp(self._folders)

    def was_replaced(self) -> bool:
        """Say whether another one is installed, and its installer has finished.

        It has finished when nothing moved since this was asked last. A program that is gone is not
        replaced: it may come back, and until then there is nothing to start.
        """
        now, last = stamp(self._folders), self._last
        self._last = now
        return bool(self._first) and bool(now) and now == last != self._first


def _seen(folders: Iterable[str]) -> Iterator[tuple[str, int, int, int]]:
    for folder in dict.fromkeys(folders):
        try:
            names = sorted(os.listdir(folder or "."))  # noqa: PTH208
        except OSError:
            continue  # a zip file, or a folder that is not there
        for name in names:
            if name.startswith(_BEGINS) and name.endswith(_ENDS):
                path = os.path.join(folder, name, "METADATA")  # noqa: PTH118
                try:
                    found = os.stat(path)  # noqa: PTH116
                except OSError:
                    continue  # just being written, or taken away
                yield path, found.st_ino, found.st_mtime_ns, found.st_size
