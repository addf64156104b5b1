"""Asks a repository during one job: no question twice, and none after it took too long once."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar, cast

from yaadwatch.model.anchors import Commit, Hunk
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.changes import Change, Departure
from yaadwatch.system.git.repository import LeftOut, Repository

WORDS_PER_SCAN = 128
"""Names looked for in one scan of the tree."""

R = TypeVar("R")


class History:
    """What git knows, as one job asks for it. Its methods are those of `Repository`.

    Many memories raise the same question: what was renamed, which commits touched this file, what
    changed between these versions. A question of a sort that git could not answer in time is not
    asked a second time, so that a job ends.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._answers: dict[tuple[object, ...], object] = {}
        self._slow: dict[str, YaadError] = {}

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is not there."""
        return self._once(("blob_at", commit, path), self._repository.blob_at, commit, path)

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there."""
        return self._once(("has_commit", commit), self._repository.has_commit, commit)

    def read_blob(self, blob: str) -> bytes | None:
        """Return a blob's bytes; None when it is not there, or too large. It is not kept."""
        return self._repository.read_blob(blob)

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        return self._once(("commit", commit), self._repository.commit, commit)

    def renames(self, old: str, new: str) -> dict[str, str]:
        """Return the files that were renamed between two commits, old path to new path."""
        return self._once(("renames", old, new), self._repository.renames, old, new)

    def file_changes(self, old: str, new: str) -> Sequence[Change]:
        """Return the files that differ between two commits, renames found by git."""
        return self._once(("file_changes", old, new), self._repository.file_changes, old, new)

    def paths_at(self, commit: str) -> Sequence[str]:
        """Return the paths in a commit."""
        return self._once(("paths_at", commit), self._repository.paths_at, commit)

    def tracked(self) -> Sequence[str]:
        """Return the paths in the index."""
        return self._once(("tracked",), self._repository.tracked)

    def departures(self, since: str, until: str) -> Sequence[Departure]:
        """Return the removals and renames of files in `since..until`, oldest first."""
        return self._once(("departures", since, until), self._repository.departures, since, until)

    def changes(self, paths: Sequence[str], since: str, until: str) -> Sequence[str]:
        """Return the commits in `since..until` that touched a path, oldest first."""
        key = ("changes", *paths, since, until)
        return self._once(key, self._repository.changes, paths, since, until)

    def hunks(self, old: tuple[str, bytes], new: tuple[str, bytes], name: str) -> Sequence[Hunk]:
        """Return git's hunks between two texts, each given with its blob id."""
        key = ("hunks", old[0], new[0], name.rpartition(".")[2])
        return self._once(key, self._repository.hunks, old[1], new[1], name)

    def untracked(self) -> Sequence[str]:
        """Return the files that git neither tracks nor ignores."""
        return self._once(("untracked",), self._repository.untracked)

    def left_out(self) -> LeftOut:
        """Return what may be missing in the work tree without being deleted."""
        return self._once(("left_out",), self._repository.left_out)

    def staged_renames(self) -> dict[str, str]:
        """Return the files that were renamed in the index and not yet committed."""
        return self._once(("staged_renames",), self._repository.staged_renames)

    def holding(self, word: str, likely: Iterable[str], *, at: str | None) -> Sequence[str]:
        """Return the text files that hold `word` as a whole word, sorted.

        Args:
            word: taken literally.
            likely: words that will probably be asked for too; one scan answers for all.
            at: a commit; the work tree, with the files that git does not know, when None.
        """
        if ("holding", at, word) not in self._answers:
            self._once(("scan", at, word), self._scan, word, likely, at)
        return cast("Sequence[str]", self._answers["holding", at, word])

    def standing(self, words: Sequence[str], *, at: str | None) -> dict[str, Sequence[str]]:
        """Return the text files that hold each word; of a work tree the tracked ones only."""
        kind = "standing"
        wanted = [word for word in dict.fromkeys(words) if (kind, at, word) not in self._answers]
        for start in range(0, len(wanted), WORDS_PER_SCAN):
            piece = wanted[start : start + WORDS_PER_SCAN]
            found = self._once((kind, at, *piece), self._hold, piece, at)
            for word, paths in found.items():
                self._answers[kind, at, word] = paths
        return {word: cast("Sequence[str]", self._answers[kind, at, word]) for word in words}

    def _hold(self, words: Sequence[str], at: str | None) -> dict[str, list[str]]:
        return self._repository.files_with(words, at=at, whole=False)

    def _scan(self, word: str, likely: Iterable[str], at: str | None) -> None:
        news = (other for other in likely if ("holding", at, other) not in self._answers)
        words = list(dict.fromkeys((word, *news)))[:WORDS_PER_SCAN]
        found = self._repository.files_with(words, at=at, untracked=at is None)
        for name, paths in found.items():
            self._answers["holding", at, name] = paths

    def _once(self, key: tuple[object, ...], ask: Callable[..., R], *given: object) -> R:
        if key not in self._answers:
            sort = str(key[0])
            if sort in self._slow:
                raise self._slow[sort]
            try:
                self._answers[key] = ask(*given)
            except YaadError as error:
                if error.code is Code.TIMEOUT:
                    self._slow[sort] = error
                raise
        return cast("R", self._answers[key])
