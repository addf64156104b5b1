"""Where words stand in commits, kept from one job to the next: a commit does not change.

What is gone is looked for by every job until somebody mends the memory.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

PLACES_MAX: Final = 20_000
"""Words and paths kept at most, of all commits together: 2 MiB with paths of ordinary length."""
NEAR_MAX: Final = 4
"""Commits offered as near ones, the last used first."""


class Remembered:
    """The answers of searches of whole commits; those that were not used for longest go first."""

    def __init__(self, places_max: int = PLACES_MAX) -> None:
        self._places_max = places_max
        self._lock = threading.Lock()
        self._commits: OrderedDict[tuple[Path, str], dict[str, tuple[str, ...]]] = OrderedDict()
        self._places = 0

    def known(self, folder: Path, commit: str, words: Iterable[str]) -> dict[str, list[str]]:
        """Return the files that hold each of the words that were looked for in a commit.

        Args:
            folder: of the repository, common to its work trees.
            commit: its id.
            words: those asked for; the others are left out.
        """
        with self._lock:
            kept = self._commits.get((folder, commit))
            if kept is None:
                return {}
            self._commits.move_to_end((folder, commit))
            return {word: list(kept[word]) for word in words if word in kept}

    def near(self, folder: Path, words: Sequence[str]) -> list[str]:
        """Return the commits for which all of the words are known, the last used first."""
        with self._lock:
            found = [
                commit
                for (place, commit), kept in reversed(self._commits.items())
                if place == folder and all(word in kept for word in words)
            ]
        return found[:NEAR_MAX]

    def keep(self, folder: Path, commit: str, found: Mapping[str, Sequence[str]]) -> None:
        """Keep what a search of a whole commit found."""
        with self._lock:
            kept = self._commits.setdefault((folder, commit), {})
            self._commits.move_to_end((folder, commit))
            for word, paths in found.items():
                if word not in kept:
                    kept[word] = tuple(paths)
                    self._places += 1 + len(paths)
            while self._places > self._places_max and self._commits:
                _, gone = self._commits.popitem(last=False)
                self._places -= sum(1 + len(paths) for paths in gone.values())

    def forget(self) -> None:
        """Forget all of it: words that were looked for may be those of a memory."""
        with self._lock:
            self._commits.clear()
            self._places = 0


def is_whole(folder: Path) -> bool:
    """Return whether a repository has all of its objects, as far as its packs tell.

    What a partial clone does not have now it may have later, so that answers change.
    """
    return not any((folder / "objects" / "pack").glob("*.promisor"))
