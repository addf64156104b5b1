"""What is in an index, kept for as long as the index is the same; git is asked once for each.

An index ends with a hash of itself, so that it is known by its last bytes, whatever its times say.
"""

import os
import stat
import threading
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Sequence, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

INDEXES_MAX: Final = 4
"""Listings kept, the last used ones."""
PATHS_MAX: Final = 50_000
"""A longer listing is not kept: 5 MiB with paths of ordinary length."""
_HASH_BYTES: Final = 20
"""The end of a SHA-1, or of a SHA-256."""

Key = tuple[str, str, int, bytes]
T = TypeVar("T", bound=Sized)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What the index holds, and the work tree need not show.

    `sparse`: files outside of what is checked out, path to blob. `modules`: folders of submodules.
    `assumed`: files that git takes for unchanged, whatever is in the work tree.
    """

    sparse: dict[str, str]
    modules: frozenset[str]
    assumed: frozenset[str] = frozenset()

    @property
    def overlooked(self) -> frozenset[str]:
        """The files whose changes git does not look at (skip-worktree, assume-unchanged)."""
        return self.assumed | self.sparse.keys()

    def __len__(self) -> int:
        """Return how many paths it has."""
        return len(self.sparse) + len(self.modules)


class Listed(Generic[T]):
    """What was asked of the indexes that were asked last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, T] = OrderedDict()

    def known(self, key: Key) -> T | None:
        """Return what this very index answered; None when it was not asked."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def keep(self, key: Key, answer: T) -> None:
        """Keep what an index answered, unless it is too long."""
        if len(answer) > PATHS_MAX:
            return
        with self._lock:
            self._kept[key] = answer
            while len(self._kept) > INDEXES_MAX:
                self._kept.popitem(last=False)

    def forget(self) -> None:
        """Forget all of it; git is asked again."""
        with self._lock:
            self._kept.clear()


def key_of(root: Path, index: str) -> Key | None:
    """Return what the index of a work tree is known by; None when it is unhashed, or no plain file.

    A pipe or a device that stands in its place is never waited for.
    """
    try:
        descriptor = os.open(index, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        end = os.pread(descriptor, _HASH_BYTES, max(0, found.st_size - _HASH_BYTES))
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return (str(root), index, found.st_size, end) if len(end) == _HASH_BYTES and any(end) else None


def inside(paths: Sequence[str], folder: str) -> list[str]:
    """Return those of the sorted paths of an index that are `folder`, or in it."""
    found = list(paths[slice(*_range(paths, folder, folder + "\0"))])
    return found + list(paths[slice(*_range(paths, folder + "/", folder + "0"))])


def _range(paths: Sequence[str], start: str, end: str) -> tuple[int, int]:
    return bisect_left(paths, start), bisect_left(paths, end)
