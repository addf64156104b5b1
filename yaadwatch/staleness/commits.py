"""Read two commits: the files of one, and the files and words that changed between both.

`Window` costs what differs between its commits, not what the tree holds. `AtHead` looks up each
file at most once per job.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from bridges import block
from bridges.registry import for_path
from bridges.rules import RULES_FILES
from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import Anchor
from yaadwatch.repo.attributes import object_id
from yaadwatch.repo.changes import Change
from yaadwatch.repo.layout import Head
from yaadwatch.staleness import uses
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.uses import Uses
from yaadwatch.system import files

FILES_MAX = 800
"""Changed files that are read for the uses of a word; the others count as unchanged."""
FOLDER_FILES_MAX = 2_000
"""Files of a folder whose entries are counted; a larger one is data."""
_BYTES_MAX = 512 * 1024
_NOT_READ = (
    *(".lock", ".svg", ".map", ".snap", ".png", ".jpg", ".jpeg", ".gif", ".ico", ".pdf"),
    *(".woff", ".woff2", ".ttf", ".zip", ".gz", ".ipynb", ".min.js", ".min.css", ".sum", ".pb.go"),
    *("/package-lock.json", "/pnpm-lock.yaml", "/npm-shrinkwrap.json"),
)


@dataclass(slots=True)
class Window:
    """The difference between two commits.

    Args:
        history: the repository's.
        since: the older commit.
        until: the newer commit; both exist.
        hidden: files that count for nothing, because their text is what is judged.
    """

    history: History
    since: str
    until: str
    hidden: frozenset[str] = frozenset()
    _expected: dict[str, None] = field(default_factory=dict)
    _uses: dict[str, Uses] = field(default_factory=dict)
    _come_up: dict[str, bool] = field(default_factory=dict)

    def expect(self, words: Iterable[str]) -> None:
        """Announce the words that callers will query: one scan looks for all."""
        self._expected |= dict.fromkeys(word for word in words if word)

    @property
    def differing(self) -> Sequence[Change]:
        """Return the files that differ; a rename counts as one removed and one added file."""
        return () if self.since == self.until else self.history.differing(self.since, self.until)

    @property
    def changes(self) -> "_Changes":
        """Return the files that differ, with renames; git may take long to find them."""
        return self.history.once("window_changes", self._compared, self.since, self.until)

    def _compared(self, since: str, until: str) -> "_Changes":
        return _Changes(() if since == until else self.history.file_changes(since, until))

    def touched_inside(self, folder: str) -> bool:
        """Return whether a file in `folder` changed, moved or was removed."""
        inside = folder + "/"
        return any(change.old and change.old.startswith(inside) for change in self.differing)

    def uses(self, word: str) -> Uses:
        """Return where a word went out of use, and what replaced it; '' where nothing did.

        New uses are not returned: only files that held a word before are read.
        """
        if not word:
            return Uses()
        if word not in self._uses:
            self.expect([word])
            wanted = [one for one in self._expected if one not in self._uses]
            self._uses |= self._read(wanted)
        return self._uses[word]

    def comes_up(self, word: str) -> bool:
        """Return whether a file without the word gained it; may read many files.

        One pass looks for all words that left one file.
        """
        if word not in self._come_up:
            left = (one for one, uses in self._uses.items() if len(uses.lost) == 1)
            wanted = dict.fromkeys((word, *(one for one in left if one not in self._come_up)))
            self._come_up |= self._arrived(list(wanted))
        return self._come_up[word]

    def _arrived(self, words: Sequence[str]) -> dict[str, bool]:
        """Return the words that files gained."""
        missing = dict.fromkeys(words)
        for change in self._changed(words):
            new = self._text(change.new_blob)
            if len(new) > _BYTES_MAX or not any(word.encode() in new for word in missing):
                continue
            old = self._text(change.old_blob)
            if len(old) > _BYTES_MAX:
                continue
            tally = uses.Tally(missing)
            tally.add(change.old, change.new, old, new)
            found = tally.found()
            missing = dict.fromkeys(word for word in missing if not found[word].gained)
            if not missing:
                break
        return {word: word not in missing for word in words}

    def spread(self, word: str) -> int:
        """Return how many files held a word before.

        One search covers all expected words that went out of use somewhere.
        """
        found = self.history.files_by_word([word, *self.lost()], at=self.since)[word]
        return sum(
            path not in self.hidden and not is_only_ours(word, path, self._before) for path in found
        )

    def _before(self, path: str) -> bytes | None:
        blob = self.history.blob_at(self.since, path)
        return self.history.read_blob(blob) if blob else None

    def stirred(self, words: Iterable[str], perhaps: Iterable[str] = ()) -> set[str]:
        """Return the words that may have entered or left a file.

        Of more than 800 files it is not read which words they have: then it is all `words`, and
        those of `perhaps` that stand anywhere, before or after.

        Args:
            words: those that stood somewhere once.
            perhaps: those of which that is not known.
        """
        rare = set(perhaps).difference(words)
        if rare:
            before, after = (self.history.absent(rare, at=at) for at in (self.since, self.until))
            rare -= before & after
        every = {*words, *rare}
        same = self.since == self.until or not every
        few = () if same else self.history.differing_little(self.since, self.until, FILES_MAX)
        if few is None:
            asked = sorted(rare)
            both = [self.history.files_by_word(asked, at=at) for at in (self.since, self.until)]
            return every - {word for word in rare if not any(found[word] for found in both)}
        counted = uses.ChangedCounts(every)
        found: set[str] = set()
        for change in self._readable(few):
            old, new = self._text(change.old_blob), self._text(change.new_blob)
            found |= counted.by(old[:_BYTES_MAX], new[:_BYTES_MAX])
        return found

    def lost(self) -> list[str]:
        """Return the expected words that went out of use somewhere."""
        return [word for word in list(self._expected) if self.uses(word).lost]

    def _read(self, words: list[str]) -> dict[str, Uses]:
        tally = uses.Tally(words)
        for change in self._changed(words, self._places(words)):
            old = self._text(change.old_blob)
            if not old or len(old) > _BYTES_MAX or not tally.may_count(old):
                continue
            new = self._text(change.new_blob)
            if len(new) <= _BYTES_MAX and not object_id(new):
                tally.add(change.old, change.new, old, new)
        return {word: replace(uses, gained=[]) for word, uses in tally.found().items()}

    def _text(self, blob: str | None) -> bytes:
        """Return the text of a file that others wrote; empty when it is missing."""
        return without_ours(self.history.read_blob(blob)) if blob else b""

    def _places(self, words: Sequence[str]) -> set[str] | None:
        """Return the files that held one of the words before; None when unknown.

        Searched where too many files differ to read all: other changes must not hide those files.
        """
        known = self.history.known_files_by_word(words, at=self.since)
        if known is None and len(self.differing) > FILES_MAX:
            known = self.history.files_by_word(words, at=self.since)
        return {path for paths in known.values() for path in paths} if known is not None else None

    def _changed(self, words: Sequence[str], places: Collection[str] | None = None) -> list[Change]:
        """Return the changed files that may be read; only those at `places`, if given.

        Renames are resolved only when a removed file held one of the words.
        """
        plain = self._readable(_at(self.differing, places))
        gone = [change for change in plain if change.new is None]
        if len(gone) < len(plain) and self._held(words, gone):
            return self._readable(_at(self.changes.listed, places))
        return plain

    def _held(self, words: Sequence[str], changes: Sequence[Change]) -> bool:
        places = self._places(words)
        if places is not None:
            return any(change.old in places for change in changes)
        plain = [word.encode() for word in words]
        texts = (self.history.read_blob(one.old_blob) for one in changes if one.old_blob)
        return any(word in text for text in texts if text for word in plain)

    def _readable(self, changes: Iterable[Change]) -> list[Change]:
        return list(islice(filter(self._may_be_read, changes), FILES_MAX))

    def _may_be_read(self, change: Change) -> bool:
        if change.old_blob == change.new_blob or {change.old, change.new} & self.hidden:
            return False
        path = change.new or change.old or ""
        return not f"/{path}".endswith(_NOT_READ) and not is_ours(path)


def _at(changes: Iterable[Change], places: Collection[str] | None) -> Iterator[Change]:
    return (change for change in changes if places is None or change.old in places)


@dataclass(frozen=True)
class _Changes:
    """The files that differ between two commits, by kind of change."""

    listed: Sequence[Change]

    def __len__(self) -> int:
        return len(self.listed)

    @cached_property
    def renamed(self) -> dict[str, str]:
        """Return the renamed files, old path to new path."""
        return {
            change.old: change.new
            for change in self.listed
            if change.old and change.new and change.old != change.new
        }

    @cached_property
    def removed(self) -> tuple[str, ...]:
        """Return the files that are nowhere now."""
        return tuple(change.old for change in self.listed if change.old and change.new is None)

    @cached_property
    def added(self) -> tuple[str, ...]:
        """Return the paths at which there was no file before, those of renamed files too."""
        return tuple(
            change.new for change in self.listed if change.new and change.new != change.old
        )


def is_ours(path: str) -> bool:
    """Return whether yaadwatch writes the whole file of this path, for agents."""
    return path in RULES_FILES


def is_only_ours(word: str, path: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a word stands in a file only where yaadwatch writes: its file or its block."""
    if is_ours(path):
        return True
    if for_path(path) is None:
        return False
    data = read(path)
    return data is not None and b"yaad:begin" in data and word.encode() not in without_ours(data)


def without_ours(data: bytes | None) -> bytes:
    """Return what others wrote in a file: our block is blanked; empty for None."""
    if not data or b"yaad:begin" not in data:
        return data or b""
    found = block.find(data)
    return block.outside(data, found) if isinstance(found, block.Block) else data


@dataclass(frozen=True, slots=True, kw_only=True)
class FileInView:
    """A file as one view has it; `data` is None when not read; `odd`: why it cannot be.

    `kind`: see `files.observe`; a file that is too large, or unreadable, has one.
    """

    blob: str
    data: bytes | None = None
    odd: str = ""
    kind: files.Kind = "file"


@dataclass(slots=True, kw_only=True)
class AtHead:
    """The files of one commit: the one that is checked out, or any other.

    Args:
        history: the repository's.
        head: the commit.
        hidden: files that exist and whose content must not be read.
    """

    history: History
    head: Head
    hidden: frozenset[str] = frozenset()
    _found: dict[str, FileInView | None] = field(default_factory=dict)
    _windows: dict[str, Window] = field(default_factory=dict)

    def find(self, path: str) -> FileInView | None:
        """Return the file at `path` in the commit, or None."""
        if path not in self._found:
            blob = self.history.blob_at(self.head.commit, path)
            self._found[path] = FileInView(blob=blob) if blob is not None else None
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the file's bytes; None when it is missing, hidden, or larger than 2 MiB."""
        found = self.find(path)
        if found is None or path in self.hidden:
            return None
        return self.history.read_blob(found.blob)

    def untouched_since(self, commit: str, places: Iterable[str]) -> bool:
        """Return whether no commit after `commit`, an ancestor of HEAD, touched these places.

        Equal content is no proof: a change may have been reverted. False also when unknown.

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
        """Return whether the history since the anchor's commit, an earlier one, is known."""
        return self._is_after(anchor) and self.history.has_commit(anchor.commit)

    def is_of_another_history(self, anchor: Anchor) -> bool:
        """Return whether the anchor's commit is missing here, as after a rewrite."""
        return self._is_after(anchor) and not self.history.has_commit(anchor.commit)

    def _is_after(self, anchor: Anchor) -> bool:
        since, until = anchor.commit, self.head.commit
        return bool(since and until and since != until)

    def window(self, since: str) -> Window:
        """Return the difference between another commit, which exists, and this one."""
        if since not in self._windows:
            self._windows[since] = Window(self.history, since, self.head.commit, self.hidden)
        return self._windows[since]

    def renamed_to(self, anchor: Anchor) -> str | None:
        """Return where the anchored file went between the anchor's commit and this one.

        The commits on the way decide. Where they do not, a comparison of both ends does, unless
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
        return self.history.listing(self.head.commit)

    def files_in(self, folder: str) -> list[str]:
        """Return the files in a folder of the commit; [] for more than FOLDER_FILES_MAX."""
        return self.history.once("files_in", self._files_in, self.head.commit, folder)

    def _files_in(self, commit: str, folder: str) -> list[str]:
        inside = f"{folder}/"
        found = [path for path in self.history.listing(commit).every() if path.startswith(inside)]
        return found if len(found) <= FOLDER_FILES_MAX else []

    def has_folder(self, path: str) -> bool:
        """Return whether the commit has a folder, or a submodule, at `path`."""
        commit = self.head.commit
        return self.history.has_folder(commit, path) or self.history.is_submodule(commit, path)

    def matching(self, pattern: str) -> bool:
        """Return whether a file of the commit matches the pattern."""
        return any(True for _ in self.listing().matching(pattern))

    def files_by_word(self, words: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return the text files of the commit that hold each word, without hidden ones."""
        if not self.head.commit:
            return dict.fromkeys(words, ())
        found = self.history.files_by_word(words, at=self.head.commit)
        return {
            word: [path for path in paths if path not in self.hidden]
            for word, paths in found.items()
        }

    def using(self, word: str) -> Sequence[str]:
        """Return the files of the commit that hold `word`, as far as git has their content."""
        return self.files_by_word([word])[word]

    def holding(self, word: str) -> Sequence[str]:
        """Return the files of the commit that hold `word`, sorted.

        Raises:
            YaadError: from git, or no text holds it and git lacks some.
        """
        if not self.head.commit:
            return []
        found = self.history.holding(word, at=self.head.commit)
        return [path for path in found if path not in self.hidden]
