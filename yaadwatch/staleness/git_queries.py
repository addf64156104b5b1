"""Cache the git queries of one job; a kind of query that timed out is not run again."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Sized
from functools import partial
from typing import TypeVar, cast

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import Change, Departure
from yaadwatch.repo.repository import Repository
from yaadwatch.repo.words import (
    WORDS_PER_SCAN,
    is_binary,
    may_be_searched,
    may_be_text,
    words_in,
)
from yaadwatch.staleness import successors
from yaadwatch.staleness.successors import Departed
from yaadwatch.staleness.uses import Likely, parts_of

_ONCE = (
    *("blob_at", "has_blob", "has_commit", "has_folder", "is_submodule", "commit", "paths_at"),
    *("departures", "departure", "departures_in", "departures_like", "touched", "changes"),
    *("commit_named", "commits_of", "merge_base", "stray", "stashes", "tips_above", "logged"),
    *("is_replaced_by",),
    *("tracked", "untracked", "left_out", "staged_renames", "is_as_indexed", "differing"),
)
"""Queries that are answered from the cache when they are repeated."""
_LISTS = ("differing", "differing_little", "file_changes", "window_changes", "paths_at", "tree_at")
"""Queries whose answers grow with the tree: of these only `LISTED_MAX` rows are cached."""
LISTED_MAX = 60_000
"""Some 24 MiB, in a process that ends where the repository is large. With a third of it, lists were
dropped and made again: a third more git commands."""
_LISTS_MIN = 4
"""So many answers are cached however long they are."""
_READ_COST, _READ_COST_OF_GIT = 3, 100
"""Reading a file for all words of a job costs as much as one search of so many files; a process of
git takes longer.
"""
_STOPS_MAX = 8
"""Places that a file is followed to, before the newest commits."""

R = TypeVar("R")


class _WordsOfTexts:
    """Finds which of the words of a job texts hold; reads each text once for all of them.

    Args:
        read: returns the bytes of a blob; None when it is missing or too large.
    """

    def __init__(self, read: Callable[[str], bytes | None]) -> None:
        self._read = read
        self._expected: frozenset[str] = frozenset()
        self._plain: dict[bytes, str] = {}
        self._others: Sequence[str] = ()
        self._likely = Likely(())
        self._found: dict[str, Sequence[str] | None] = {}

    def unread(self, blobs: Iterable[str], words: Iterable[str]) -> int:
        """Return how many of the blobs would be read to find `words`."""
        known = self._found if self._expected.issuperset(words) else {}
        return sum(blob not in known for blob in set(blobs))

    def expect(self, words: Collection[str], others: Iterable[str]) -> None:
        """Look for `words` from now on, and `others` if texts have to be read again for that."""
        if not self._expected.issuperset(words):
            self._expected = frozenset((*words, *others))
            every = filter(may_be_searched, self._expected)
            plain = {word: parts_of(word.encode()) == [word.encode()] for word in every}
            self._plain = {word.encode(): word for word, is_plain in plain.items() if is_plain}
            self._others = [word for word, is_plain in plain.items() if not is_plain]
            self._likely = Likely([word.encode() for word in self._others], few=0)
            self._found = {}

    def of(self, blob: str) -> Sequence[str] | None:
        """Return the expected words that a text holds; None when it cannot be read."""
        if blob not in self._found:
            data = self._read(blob)
            self._found[blob] = None if data is None else self._words_of(data)
        return self._found[blob]

    def _words_of(self, data: bytes) -> Sequence[str]:
        if is_binary(data):
            return ()
        parts = frozenset(parts_of(data))
        plain = self._plain.keys() & parts
        others = (self._others[at] for at in self._likely.with_parts(parts))
        return (*(self._plain[part] for part in plain), *words_in(others, data))


class History(Repository):
    """A repository whose answers to the queries of one job are cached.

    Many memories raise the same query: what was renamed, which commits touched this file, what
    changed between these versions. A query that failed, and any query of a kind that timed out, is
    not run again, so that a job ends.
    """

    def __init__(self, repository: Repository) -> None:
        vars(self).update(vars(repository))  # what it has opened, and whether git hangs
        self._answers: dict[tuple[Hashable, ...], object] = {}
        self._rows_of: dict[tuple[Hashable, ...], int] = {}
        self._failed: dict[tuple[Hashable, ...], YaadError] = {}
        self._slow: dict[str, YaadError] = {}
        self._expected: dict[str, None] = {}
        self._searched: dict[str, None] = {}
        self._places: dict[tuple[str | None, str], Sequence[str]] = {}
        self._texts = _WordsOfTexts(self.read_blob)
        for name in _ONCE:
            setattr(self, name, partial(self.once, name, getattr(repository, name)))

    def once(self, name: str, ask: Callable[..., R], *given: object) -> R:
        """Return `ask` of the arguments, computed once for each name and arguments."""
        key = (name, *(tuple(one) if isinstance(one, list) else one for one in given))
        if key not in self._answers:
            failed = self._slow.get(name) or self._failed.get(key)
            if failed is not None:
                raise failed
            try:
                self._keep_answer(key, ask(*given))
            except YaadError as error:
                self._failed[key] = error
                if error.code is Code.TIMEOUT:
                    self._slow[name] = error
                raise
        elif key in self._rows_of:
            self._rows_of[key] = self._rows_of.pop(key)  # the last one to be dropped
        return cast("R", self._answers[key])

    def _keep_answer(self, key: tuple[Hashable, ...], answer: object) -> None:
        self._answers[key] = answer
        if key[0] not in _LISTS or not isinstance(answer, Sized):
            return
        self._rows_of[key] = len(answer)
        while len(self._rows_of) > _LISTS_MIN and sum(self._rows_of.values()) > LISTED_MAX:
            oldest = next(iter(self._rows_of))
            del self._rows_of[oldest], self._answers[oldest]

    def file_changes(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renames found by git."""
        found = self.differing(old, new)
        gone = any(change.new is None for change in found)
        if not gone or not any(change.old is None for change in found):
            return found  # nothing went, or nothing came: nothing was renamed
        return self.once("file_changes", super().file_changes, old, new)

    def differing_little(self, old: str, new: str, most: int) -> list[Change] | None:
        """Return `differing`; None when more files than `most` differ."""
        if ("differing", old, new) not in self._answers:
            few = self.once("differing_little", super().differing_little, old, new, most)
            if few is None:
                return None
            self._keep_answer(("differing", old, new), few)
        found = self.differing(old, new)
        return found if len(found) <= most else None

    def listing(self, commit: str) -> Tree:
        """Return the files of a commit; none for ''."""
        return self.once("tree_at", self._tree_at, commit)

    def _tree_at(self, commit: str) -> Tree:
        return Tree.of(self.paths_at(commit) if commit else ())

    def _count_at(self, commit: str) -> int:
        return len(self.paths_at(commit))

    def submodule_above(self, commit: str, path: str) -> str | None:
        """Return the submodule of `commit` that `path` is inside; None when there is none."""
        folders = (path[:at] for at, letter in enumerate(path) if letter == "/")
        return next((one for one in folders if self.is_submodule(commit, one)), None)

    def way_of(self, path: str, since: str, until: str) -> list[Departure]:
        """Return the renames of a file in `since..until`, oldest first.

        Ends with a removal, or with the last place of the file. A long history is known in full for
        the newest commits only: before those, each file is a query of its own.
        """
        found: list[Departure] = []
        if not self.are_joined(since, until):
            return found
        for _ in range(_STOPS_MAX):
            for one in self.departures(since, until):
                if one.path == path:
                    found.append(one)
                    path = one.to or path
            if (found and found[-1].to is None) or self.blob_at(until, path) is not None:
                break
            older = self.departure(path, since, until)
            if older is None or older in found:
                break
            found.append(older)
            path = older.to or path
        return found

    def came_from(self, path: str, since: str, until: str) -> str:
        """Return the name of a file at `since`, as the commits up to `until` renamed it."""
        departures = self.departures(since, until) if self.are_joined(since, until) else ()
        for one in reversed(departures):
            if one.to == path:
                path = one.path
        return path

    def way_of_folder(self, path: str, since: str, until: str) -> str | None:
        """Return where most of a folder's files went in `since..until`, from place to place.

        None: the folder exists, or its files went nowhere or to different places. Files that were
        there only in between do not count.
        """
        if self.has_folder(until, path) or not self.are_joined(since, until):
            return None
        came: list[str] = []
        at_first = sum(one.startswith(f"{path}/") for one in self.listing(since).paths)
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
        return {name: one for name, one in went.items() if one.to or self.blob_at(since, name)}

    def are_joined(self, one: str, other: str) -> bool:
        """Return whether two commits have a part of their history in common.

        Without one, no commit of the one history made what differs in the other.
        """
        return one == other or bool(self.merge_base(one, other))

    def is_merged(self, commit: str, into: str) -> bool:
        """Return whether a commit is in the history of another one."""
        if not commit or not into or commit == into:
            return bool(commit) and commit == into
        return self.has_commit(commit) and self.merge_base(commit, into) == commit

    def rewritten(self, commits: frozenset[str], branch: str) -> frozenset[str]:
        """Return the stray `commits` that a branch had; all of them when unknown."""
        logged = self.logged(branch)
        return commits - self.stray(commits, logged) if logged and commits else commits

    def is_ignored(self, path: str) -> bool:
        """Return whether git ignores `path`, existing or not; a folder ends with '/'.

        Git refuses to answer for a file in a submodule, which has rules of its own.
        """
        if any(path.startswith(f"{module}/") for module in self.left_out().modules):
            return False
        return self.once("is_ignored", super().is_ignored, path)

    def expect(self, words: Iterable[str]) -> None:
        """Announce words that callers will query, at any commit: a scan looks for all."""
        self._expected |= dict.fromkeys(words)

    def holding(self, word: str, *, at: str | None) -> Sequence[str]:
        """Return the text files that hold `word` as a whole word, sorted.

        Args:
            word: taken literally.
            at: a commit; the work tree, with the files that git does not know, when None.

        Raises:
            YaadError: from git, or no text holds it and git lacks some (a partial clone).
        """
        if (at, word) not in self._places and not (at and self._derive([word], at)):
            self._search(self._unknown((word, *self._expected), at)[:WORDS_PER_SCAN], at)
        if (failed := self._failed.get(("holding", at, word))) is not None:
            raise failed
        return self._places[at, word]

    def files_by_word(self, words: Sequence[str], *, at: str | None) -> dict[str, Sequence[str]]:
        """Return the text files that hold each word, as far as git has their content.

        Args:
            words: taken literally.
            at: a commit; the work tree, with the files that git does not know, when None.
        """
        wanted = self._unknown(words, at)
        if wanted and at is not None and not self._derive(wanted, at):
            wanted = self._unknown((*wanted, *self._expected), at)
            if self.is_whole:
                self._carry(dict.fromkeys(wanted, ()), "", at)
        if self._unknown(wanted, at):
            self._search(wanted, at)
        return {word: self._places[at, word] for word in words}

    def known_files_by_word(
        self, words: Sequence[str], *, at: str
    ) -> dict[str, Sequence[str]] | None:
        """Return `files_by_word` if it is cached already, without git."""
        return (
            None if self._unknown(words, at) else {word: self._places[at, word] for word in words}
        )

    def absent(self, words: Iterable[str], *, at: str) -> set[str]:
        """Return the words known to be in no file of a commit, without git."""
        known = self.remembered(list(words), at=at)
        return {word for word, paths in known.items() if not paths}

    def _unknown(self, words: Iterable[str], at: str | None) -> list[str]:
        return [word for word in dict.fromkeys(words) if (at, word) not in self._places]

    def _keep_places(self, found: Mapping[str, Sequence[str]], at: str | None) -> None:
        self._places |= {(at, word): paths for word, paths in found.items()}
        if at is not None:
            self._searched[at] = None

    def _search(self, words: list[str], at: str | None) -> None:
        """Search a commit, or the work tree, for words.

        An unreadable text does not invalidate the matches in others.
        """
        try:
            found = self.once("files_with", self._texts_with, words, at)
        except YaadError as error:
            if error.code is not Code.UNAVAILABLE or at is None:
                raise
            found = self.files_with(words, at=at, whole=False)
            lost = [word for word, paths in found.items() if not paths]
            self._failed |= {("holding", at, word): error for word in lost}
        self._keep_places(found, at)

    def _texts_with(self, words: Sequence[str], at: str | None) -> dict[str, list[str]]:
        return self.files_with(words, at=at, untracked=at is None)

    def _derive(self, words: Sequence[str], at: str) -> bool:
        """Derive where words stand from a commit that was searched; False when there is none.

        A commit that differs little from a searched one is not searched itself.
        """
        if not self.is_whole:
            return False  # what git lacks of one may be what the other has
        whole = self.remembered(words, at=at)
        if len(whole) == len(words):
            self._keep_places(whole, at)
            return True
        for near in dict.fromkeys((*self._searched, *self.searched(words))):
            known: Mapping[str, Sequence[str]] | None = self.known_files_by_word(words, at=near)
            known = known or self.remembered(words, at=near)
            is_whole = not any(("holding", near, word) in self._failed for word in words)
            if near == at or len(known) < len(words) or not is_whole:
                continue
            if self._carry(known, near, at):
                return True
        return False

    def _carry(self, known: Mapping[str, Sequence[str]], near: str, at: str) -> bool:
        """Find where words stand at a commit by reading what differs from another one.

        False where a search costs less, or what differs cannot be read.

        Args:
            known: where the words stand at `near`.
            near: a commit; '' for no files at all.
            at: the commit.
        """
        searches = -(-len(known) // WORDS_PER_SCAN)
        count = self.once("count_at", self._count_at, near or at)
        is_cheap = self.reads_here(at)
        most = searches * count // (_READ_COST if is_cheap else _READ_COST_OF_GIT)
        if not near and (not is_cheap or most < count):
            return False
        changes = self.differing_little(near, at, count)
        if changes is None:
            return False
        blobs = [one.new_blob for one in changes if one.new and may_be_text(one.new)]
        if self._texts.unread(blobs, known) > most:
            return False
        self._texts.expect(known.keys(), self._expected)
        carried = self._carried(known, changes)
        found = self.texts_only(carried, at=at) if carried is not None else None
        if found is not None:
            self._keep_places(found, at)
            self.remember(found, at=at)
        return found is not None

    def _carried(
        self, known: Mapping[str, Sequence[str]], changes: Sequence[Change]
    ) -> dict[str, Sequence[str]] | None:
        """Return where words stand after `changes`; None when a changed file is too large."""
        left = {change.old for change in changes}
        places = {word: [one for one in known[word] if one not in left] for word in known}
        for change in changes:
            if change.new is None or not change.new_blob or not may_be_text(change.new):
                continue
            words = self._texts.of(change.new_blob)
            if words is None and self.has_blob(change.new_blob):
                return None
            for word in words or ():
                if word in places:
                    places[word].append(change.new)
        return {word: sorted(paths) for word, paths in places.items()}
