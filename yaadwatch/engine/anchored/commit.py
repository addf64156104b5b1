"""The files as a commit has them, each looked up at most once for a job."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from yaadwatch.core.references.tree import Tree
from yaadwatch.engine.anchored.commit_range import Window
from yaadwatch.engine.git_queries import History
from yaadwatch.model.anchors import Anchor
from yaadwatch.system import files
from yaadwatch.system.git.layout import Head


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A file as one view shows it; `data` None: not read; `odd`: why it cannot be.

    `kind`: as `files.observe` says it; a file that is too large, or may not be read, is one.
    """

    blob: str
    data: bytes | None = None
    odd: str = ""
    kind: files.Kind = "file"


@dataclass(slots=True, kw_only=True)
class AtHead:
    """The files as one commit has them: the one that is checked out, or any other.

    Args:
        history: who knows the commit.
        head: the commit.
        names: the definitions that the job is about, by the file they were in.
        hidden: files that are there, and whose content is not to be looked at.
    """

    history: History
    head: Head
    names: dict[str, list[str]]
    hidden: frozenset[str] = frozenset()
    _found: dict[str, Found | None] = field(default_factory=dict)
    _windows: dict[str, Window] = field(default_factory=dict)
    _listing: Tree | None = None

    def find(self, path: str) -> Found | None:
        """Return the file at `path` in the commit, or None."""
        if path not in self._found:
            blob = self.history.blob_at(self.head.commit, path)
            self._found[path] = Found(blob=blob) if blob is not None else None
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the file's bytes; None when it is not there, hidden, or larger than 2 MiB."""
        found = self.find(path)
        if found is None or path in self.hidden:
            return None
        return self.history.read_blob(found.blob)

    def untouched_since(self, commit: str, places: Iterable[str]) -> bool:
        """Return whether no commit after `commit`, from which HEAD grew, touched these places.

        That all is as it was does not tell it: what was done may have been taken back. False also
        when it cannot be told.

        Args:
            commit: an ancestor of HEAD, or HEAD.
            places: files, or folders with all that is in them; '' is the whole tree.
        """
        if commit == self.head.commit:
            return True
        touched = self.history.touched(commit, self.head.commit)
        return touched is not None and not any(
            not place or path == place or path.startswith(f"{place}/")
            for place in places
            for path in touched
        )

    def knows(self, anchor: Anchor) -> bool:
        """Return whether what happened since the anchor's commit, an earlier one, can be told."""
        return self._is_after(anchor) and self.history.has_commit(anchor.commit)

    def is_of_another_history(self, anchor: Anchor) -> bool:
        """Return whether the anchor's commit is not in this repository: it was rewritten, say."""
        return self._is_after(anchor) and not self.history.has_commit(anchor.commit)

    def _is_after(self, anchor: Anchor) -> bool:
        since, until = anchor.commit, self.head.commit
        return bool(since and until and since != until)

    def window(self, since: str) -> Window:
        """Return what happened between another commit, which is there, and this one."""
        if since not in self._windows:
            self._windows[since] = Window(self.history, since, self.head.commit, self.hidden)
        return self._windows[since]

    def renamed_to(self, anchor: Anchor) -> str | None:
        """Return where the anchored file went between the anchor's commit and this one.

        The commits on the way tell it. Where they do not, a comparison of both ends does, unless
        they say that the file which it found came from another one.
        """
        since, until = anchor.commit, self.head.commit
        way = self.history.way_of(anchor.path, since, until)
        last = way[-1].to if way else None  # what was removed before it went on was brought back
        if last is not None and self.find(last) is not None:
            return last
        direct = self.window(since).changes.renamed.get(anchor.path)
        if direct is None:
            return None
        names = {anchor.path, direct, *(one.path for one in way)}
        return direct if self.history.came_from(direct, since, until) in names else None

    def listing(self) -> Tree:
        """Return all files of the commit."""
        if self._listing is None:
            self._listing = self.history.listing(self.head.commit)
        return self._listing

    def has_folder(self, path: str) -> bool:
        """Return whether the commit has a folder, or a submodule, at `path`."""
        commit = self.head.commit
        return self.history.has_folder(commit, path) or self.history.is_submodule(commit, path)

    def matching(self, pattern: str) -> bool:
        """Return whether a file of the commit matches the pattern."""
        return any(True for _ in self.listing().matching(pattern))

    def standing(self, words: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return the text files of the commit that hold each word, without hidden ones."""
        if not self.head.commit:
            return dict.fromkeys(words, ())
        found = self.history.standing(words, at=self.head.commit)
        return {
            word: [path for path in paths if path not in self.hidden]
            for word, paths in found.items()
        }

    def using(self, word: str, like: str) -> Sequence[str]:  # noqa: ARG002
        """Return the files of the commit that hold `word`, as far as git has their content."""
        lost = (one for window in self._windows.values() for one in window.lost())
        return self.standing([word, *lost])[word]

    def holding(self, word: str, like: str) -> Sequence[str]:
        """Return the files of the commit that hold `word`, sorted; `like` as for a work tree."""
        if not self.head.commit:
            return []
        found = self.history.holding(word, missed(self.names, self.find, like), at=self.head.commit)
        return [path for path in found if path not in self.hidden]


def missed(
    names: Mapping[str, Sequence[str]], find: Callable[[str], object], like: str
) -> Iterator[str]:
    """Yield the names that a view probably lacks: those of `like`, and of files that are gone.

    Args:
        names: the definitions that a job is about, by the file they were in.
        find: returns None for a file that the view does not have.
        like: a file.
    """
    yield from names.get(like, ())
    for path, own in names.items():
        if find(path) is None:
            yield from own
