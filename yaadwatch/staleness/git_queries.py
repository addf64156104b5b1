"""Cache the git queries of one job; a kind of query that timed out is not run again."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar, cast

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import Commit, Hunk
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import Change, Departure, SkippedPaths
from yaadwatch.repo.hunks import WORDS_PER_SCAN
from yaadwatch.repo.repository import Repository
from yaadwatch.repo.words import may_be_text, words_in
from yaadwatch.staleness import successors
from yaadwatch.staleness.successors import Departed

_READ_COST = 2
"""Reading a changed file costs as much as searching so many files of a tree."""
_FILES_BY_WORD = "standing"
_STOPS_MAX = 8
"""Places that a file is followed to, before the newest commits."""

R = TypeVar("R")


class History:
    """The git queries of one job, cached. Its methods are those of `Repository`.

    Many memories raise the same query: what was renamed, which commits touched this file, what
    changed between these versions. A query that failed, and any query of a kind that timed out, is
    not run again, so that a job ends.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._answers: dict[tuple[object, ...], object] = {}
        self._failed: dict[tuple[object, ...], YaadError] = {}
        self._slow: dict[str, YaadError] = {}
        self._expected: dict[str, None] = {}
        self._searched: dict[str, None] = {}
        self._scanned: set[str | None] = set()
        self._listed: dict[str, None] = {}

    def worked_out(self, key: tuple[object, ...], work: Callable[..., R], *given: object) -> R:
        """Return `work` of the arguments, computed once per job and key."""
        return self._once(("worked out", *key), work, *given)

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is missing."""
        return self._once(("blob_at", commit, path), self._repository.blob_at, commit, path)

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there."""
        return self._once(("has_commit", commit), self._repository.has_commit, commit)

    def read_blob(self, blob: str) -> bytes | None:
        """Return a blob's bytes; None when it is missing or too large. Not cached."""
        return self._repository.read_blob(blob)

    def has_blob(self, blob: str) -> bool:
        """Return whether a blob is present: false where a partial clone left it out."""
        return self._once(("has_blob", blob), self._repository.has_blob, blob)

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is missing."""
        return self._once(("commit", commit), self._repository.commit, commit)

    def renames(self, old: str, new: str) -> dict[str, str]:
        """Return the files that were renamed between two commits, old path to new path."""
        return self._once(("renames", old, new), self._repository.renames, old, new)

    def file_changes(self, old: str, new: str) -> Sequence[Change]:
        """Return the files that differ between two commits, renames found by git."""
        found = self.differing(old, new)
        gone = any(change.new is None for change in found)
        if not gone or not any(change.old is None for change in found):
            return found  # nothing went, or nothing came: nothing was renamed
        return self._once(("file_changes", old, new), self._repository.file_changes, old, new)

    def differing(self, old: str, new: str) -> Sequence[Change]:
        """Return the files that differ between two commits, renamed ones as gone and as new."""
        return self._once(("differing", old, new), self._repository.differing, old, new)

    def differing_little(self, old: str, new: str, most: int) -> Sequence[Change] | None:
        """Return `differing`; None when more files than `most` differ."""
        if ("differing", old, new) not in self._answers:
            key = ("differing_little", old, new)
            few = self._once(key, self._repository.differing_little, old, new, most)
            if few is None:
                return None
            self._answers["differing", old, new] = few
        found = self.differing(old, new)
        return found if len(found) <= most else None

    def listing(self, commit: str) -> Tree:
        """Return the files of a commit; none for ''."""
        return Tree.of(self._paths_at(commit) if commit else ())

    def _paths_at(self, commit: str) -> Sequence[str]:
        """Return the paths in a commit, derived from those of another one where possible.

        Listing a commit costs what its tree holds.
        """
        if ("paths_at", commit) not in self._answers:
            for near in self._listed:
                changes = self._answers.get(("differing", near, commit))
                if changes is not None:
                    known = cast("Sequence[str]", self._answers["paths_at", near])
                    differing = cast("Sequence[Change]", changes)
                    self._answers["paths_at", commit] = _after(known, differing)
                    break
        paths = self._once(("paths_at", commit), self._repository.paths_at, commit)
        self._listed[commit] = None
        return paths

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a folder at `path`."""
        return self._once(("has_folder", commit, path), self._repository.has_folder, commit, path)

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a submodule at `path`."""
        key = ("is_submodule", commit, path)
        return self._once(key, self._repository.is_submodule, commit, path)

    def submodule_above(self, commit: str, path: str) -> str | None:
        """Return the submodule of `commit` that `path` is inside; None when there is none."""
        folders = (path[:at] for at, letter in enumerate(path) if letter == "/")
        return next((one for one in folders if self.is_submodule(commit, one)), None)

    def tracked(self) -> Sequence[str]:
        """Return the paths in the index."""
        return self._once(("tracked",), self._repository.tracked)

    def tracked_in(self, folder: str) -> Sequence[str]:
        """Return the paths in the index that are in `folder`, or are it."""
        return self._once(("tracked", folder), self._repository.tracked, folder)

    def departures(self, since: str, until: str) -> Sequence[Departure]:
        """Return the removals and renames of files in `since..until`, oldest first."""
        return self._once(("departures", since, until), self._repository.departures, since, until)

    def way_of(self, path: str, since: str, until: str) -> list[Departure]:
        """Return the renames of a file in `since..until`, oldest first.

        Ends with a removal, or with the last place of the file. A long history is known in full for
        the newest commits only: before those, each file is a query of its own.
        """
        found: list[Departure] = []
        for _ in range(_STOPS_MAX):
            for one in self.departures(since, until):
                if one.path == path:
                    found.append(one)
                    path = one.to or path
            if (found and found[-1].to is None) or self.blob_at(until, path) is not None:
                break
            key = ("departure", path, since, until)
            older = self._once(key, self._repository.departure, path, since, until)
            if older is None or older in found:
                break
            found.append(older)
            path = older.to or path
        return found

    def came_from(self, path: str, since: str, until: str) -> str:
        """Return the name of a file at `since`, as the commits up to `until` renamed it."""
        for one in reversed(self.departures(since, until)):
            if one.to == path:
                path = one.path
        return path

    def departures_in(self, folder: str, since: str, until: str) -> Sequence[Departure]:
        """Return the last removals and renames of files in a folder, oldest first."""
        key = ("departures_in", folder, since, until)
        return self._once(key, self._repository.departures_in, folder, since, until)

    def departures_like(self, pattern: str, since: str, until: str) -> Sequence[Departure]:
        """Return the last removals of files like a pattern, oldest first."""
        key = ("departures_like", pattern, since, until)
        return self._once(key, self._repository.departures_like, pattern, since, until)

    def touched(self, since: str, until: str) -> frozenset[str] | None:
        """Return the files that commits in `since..until` touched; None for too many."""
        return self._once(("touched", since, until), self._repository.touched, since, until)

    def way_of_folder(self, path: str, since: str, until: str) -> str | None:
        """Return where most of a folder's files went in `since..until`, from place to place.

        None: the folder exists, or its files went nowhere or to different places. Files that were
        there only in between do not count.
        """
        if self.has_folder(until, path):
            return None
        came: list[str] = []
        inside = f"{path}/"
        at_first = sum(one.startswith(inside) for one in self.listing(since).paths)
        for _ in range(_STOPS_MAX):
            is_there = self.has_folder(until, path)
            if is_there and self._most_stand(came, until):
                return path
            went = self._went(path, came, since, until, whole=not is_there)
            inside = f"{path}/"
            stayed = {
                name: one.to for name, one in went.items() if one.to and one.to.startswith(inside)
            }
            if is_there and self._most_stand([stayed.get(one, one) for one in came], until):
                return path
            left = [one for name, one in went.items() if name not in stayed]
            moved = {one.name: one.to for one in left if one.to is not None}
            then = successors.of_folder(path, moved, ())
            of_all = len(came) if is_there else max(len(left), 0 if came else at_first)
            if then is None or not then.sure or 2 * len(moved) <= of_all:
                return None
            path = then.path
            came = [to for to in moved.values() if to.startswith(f"{path}/")]
        return None

    def _most_stand(self, paths: Sequence[str], until: str) -> bool:
        return 2 * sum(self.blob_at(until, path) is not None for path in paths) >= len(paths)

    def _went(
        self, folder: str, came: Sequence[str], since: str, until: str, *, whole: bool
    ) -> dict[str, Departed]:
        """Return the moves of the files that entered a folder, or were there at `since`.

        Other files count only where the `whole` folder moved.
        """
        departures = self.departures_in(folder, since, until)
        went = successors.from_folder(folder, ((one.path, one.to) for one in departures))
        mine = {name: went[name] for name in came if name in went}
        if mine or not whole:
            return mine
        there = ((name, one.to or self.blob_at(since, name)) for name, one in went.items())
        return {name: went[name] for name, is_told in there if is_told}

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

    def commit_named(self, name: str) -> str | None:
        """Return the id of the commit that a name stands for, or None."""
        return self._once(("commit_named", name), self._repository.commit_named, name)

    def commits_of(self, path: str, until: str) -> Sequence[str]:
        """Return the newest commits in the history of `until` that touched a path, newest first."""
        return self._once(("commits_of", path, until), self._repository.commits_of, path, until)

    def merge_base(self, one: str, other: str) -> str:
        """Return the newest common commit; '' when there is none."""
        key = ("merge_base", one, other)
        return self._once(key, self._repository.merge_base, one, other)

    def is_merged(self, commit: str, into: str) -> bool:
        """Return whether a commit is in the history of another one."""
        if not commit or not into or commit == into:
            return bool(commit) and commit == into
        return self.has_commit(commit) and self.merge_base(commit, into) == commit

    def stray(self, commits: frozenset[str]) -> frozenset[str]:
        """Return the existing `commits` that no branch, tag or HEAD of this tree has."""
        return self._once(("stray", commits), self._repository.stray, commits)

    def rewritten(self, commits: frozenset[str], branch: str) -> frozenset[str]:
        """Return the stray `commits` that a branch had; all of them when unknown."""
        logged = self._once(("logged", branch), self._repository.logged, branch)
        if not logged or not commits:
            return commits
        return commits - self._repository.stray(commits, logged)

    def stashes(self) -> Sequence[str]:
        """Return the commits of the stash, newest first."""
        return self._once(("stashes",), self._repository.stashes)

    def tips_above(self, commit: str) -> Sequence[str]:
        """Return the tips of the local branches that have a commit, the newest first."""
        return self._once(("tips_above", commit), self._repository.tips_above, commit)

    def is_checked_out(self, path: str, blob: str) -> bool:
        """Return whether a file is as git last wrote it from `blob`."""
        key = ("is_checked_out", path, blob)
        return self._once(key, self._repository.is_checked_out, path, blob)

    def is_ignored(self, path: str) -> bool:
        """Return whether git ignores `path`, existing or not; a folder ends with '/'.

        Git refuses to answer for a file in a submodule, which has rules of its own.
        """
        if any(path.startswith(f"{module}/") for module in self.left_out().modules):
            return False
        return self._once(("ignored", path), self._repository.is_ignored, path)

    def left_out(self) -> SkippedPaths:
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
        if (failed := self._failed.get(("holding", at, word))) is not None:
            raise failed
        return cast("Sequence[str]", self._answers["holding", at, word])

    def expect(self, words: Iterable[str]) -> None:
        """Announce words that callers will query, at any commit: a scan looks for all."""
        self._expected |= dict.fromkeys(words)

    def files_by_word(self, words: Sequence[str], *, at: str | None) -> dict[str, Sequence[str]]:
        """Return the text files that hold each word; of a work tree the tracked ones only.

        A commit that differs little from a searched one is not searched itself.
        """
        wanted = self._unknown(words, at)
        if wanted and at is not None:
            if not self._derive(wanted, at):
                wanted += self._unknown(self._expected, at)
            wanted = self._unknown(wanted, at)
        if wanted:
            self._keep(self._once((_FILES_BY_WORD, at, *wanted), self._hold, wanted, at), at)
        return self._known(words, at)

    def known_files_by_word(
        self, words: Sequence[str], *, at: str
    ) -> dict[str, Sequence[str]] | None:
        """Return `files_by_word` if it is cached already, without git."""
        return None if self._unknown(words, at) else self._known(words, at)

    def absent(self, words: Iterable[str], *, at: str) -> set[str]:
        """Return the words known to be in no file of a commit, without git."""
        known = self._repository.remembered(list(words), at=at)
        return {word for word, paths in known.items() if not paths}

    def _unknown(self, words: Iterable[str], at: str | None) -> list[str]:
        once = dict.fromkeys(words)
        return [word for word in once if (_FILES_BY_WORD, at, word) not in self._answers]

    def _known(self, words: Iterable[str], at: str | None) -> dict[str, Sequence[str]]:
        return {
            word: cast("Sequence[str]", self._answers[_FILES_BY_WORD, at, word]) for word in words
        }

    def _keep(self, found: Mapping[str, Sequence[str]], at: str | None) -> None:
        for word, paths in found.items():
            self._answers[_FILES_BY_WORD, at, word] = paths
        if at is not None:
            self._searched[at] = None

    def _derive(self, words: Sequence[str], at: str) -> bool:
        """Derive where words stand from a searched commit; False when there is none."""
        whole = self._repository.remembered(words, at=at)
        if len(whole) == len(set(words)):
            self._keep(whole, at)
            return True
        for near in dict.fromkeys((*self._searched, *self._repository.searched(words))):
            if near == at:
                continue
            known: Mapping[str, Sequence[str]] | None = self.known_files_by_word(words, at=near)
            known = known or self._repository.remembered(words, at=near)
            if len(known) < len(set(words)):
                continue
            changes = self.differing_little(near, at, len(self._paths_at(near)) // _READ_COST)
            if changes is None:
                continue
            carried = self._apply_changes(known, changes)
            found = self._repository.texts_only(carried, at=at) if carried is not None else None
            if found is not None:
                self._keep(found, at)
                self._repository.remember(found, at=at)
                return True
        return False

    def _apply_changes(
        self, known: Mapping[str, Sequence[str]], changes: Sequence[Change]
    ) -> dict[str, Sequence[str]] | None:
        """Return where words stand after `changes`; None when a changed file is too large."""
        left = {change.old for change in changes}
        places = {word: [one for one in known[word] if one not in left] for word in known}
        for change in changes:
            if change.new is None or not change.new_blob or not may_be_text(change.new):
                continue
            data = self.read_blob(change.new_blob)
            if data is None and self._repository.has_blob(change.new_blob):
                return None
            for word in words_in(known, data or b""):
                places[word].append(change.new)
        return {word: sorted(paths) for word, paths in places.items()}

    def _hold(self, words: Sequence[str], at: str | None) -> dict[str, list[str]]:
        return self._repository.files_with(words, at=at, whole=False)

    def _scan(self, word: str, likely: Iterable[str], at: str | None) -> None:
        # A caller that asks about a second word of a commit will ask about more: one scan for all.
        more = (*likely, *self._expected) if at in self._scanned else likely
        self._scanned.add(at)
        news = (other for other in more if ("holding", at, other) not in self._answers)
        words = list(dict.fromkeys((word, *news)))
        words = words[:WORDS_PER_SCAN] if at is None else words
        new = self.untracked() if at is None else None
        try:
            found = self._repository.files_with(words, at=at, untracked=at is None, new=new)
        except YaadError as error:
            if error.code is not Code.UNAVAILABLE or at is None:
                raise
            # An unreadable text does not invalidate the matches in others.
            found = self._repository.files_with(words, at=at, whole=False)
            lost = [name for name, paths in found.items() if not paths]
            self._failed |= {("holding", at, name): error for name in lost}
            found = {name: paths for name, paths in found.items() if paths}
        for name, paths in found.items():
            self._answers["holding", at, name] = paths

    def _once(self, key: tuple[object, ...], ask: Callable[..., R], *given: object) -> R:
        if key not in self._answers:
            sort = str(key[0])
            failed = self._slow.get(sort) or self._failed.get(key)
            if failed is not None:
                raise failed
            try:
                self._answers[key] = ask(*given)
            except YaadError as error:
                self._failed[key] = error
                if error.code is Code.TIMEOUT:
                    self._slow[sort] = error
                raise
        return cast("R", self._answers[key])


def _after(paths: Sequence[str], changes: Sequence[Change]) -> list[str]:
    """Return the files of a commit, given those of another one and what differs."""
    found = dict.fromkeys(paths)
    for change in changes:
        if change.old is not None:
            found.pop(change.old, None)
    return [*found, *(change.new for change in changes if change.new and change.new not in found)]
