"""Answers of git that stay true, kept from one job to the next."""

import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic, TypeVar

_HASH_BYTES: Final = 20
"""The end of a SHA-1, or of a SHA-256."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
IndexKey = tuple[str, str, int, bytes]


class Cache(Generic[K, V]):
    """A mapping of bounded weight, which drops the least recently used entries. Thread-safe.

    Args:
        most: weight of all entries together.
        weigh: returns the weight of an entry; each weighs 1 when None.
        largest: weight of an entry that is not kept; `most` when None.
    """

    def __init__(
        self,
        most: int,
        weigh: Callable[[K, V], int] | None = None,
        *,
        largest: int | None = None,
    ) -> None:
        self._most = most
        self._largest = most if largest is None else largest
        self._weigh = weigh or _one
        self._lock = threading.Lock()
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._weight = 0

    def get(self, key: K) -> V | None:
        """Return what is kept under a key; None when nothing is."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[0]

    def put(self, key: K, value: V) -> None:
        """Keep a value in place of the one before it, unless it is too large."""
        weight = self._weigh(key, value)
        with self._lock:
            _, before = self._kept.pop(key, (None, 0))
            self._weight -= before
            if weight > self._largest:
                return
            self._kept[key] = value, weight
            self._weight += weight
            while self._weight > self._most:
                _, (_, oldest) = self._kept.popitem(last=False)
                self._weight -= oldest

    def clear(self) -> None:
        """Drop everything."""
        with self._lock:
            self._kept.clear()
            self._weight = 0


def _one(key: object, value: object) -> int:  # noqa: ARG001
    return 1


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


def index_key(root: Path, index: str) -> IndexKey | None:
    """Return what identifies the content of an index file; None: no hash, or no plain file.

    An index ends with a hash of itself. A pipe or a device in its place is never waited for.
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
