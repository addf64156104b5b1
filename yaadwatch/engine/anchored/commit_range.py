"""What happened to the files between two commits, and to the words in them; one comparison a job.

Whatever is asked costs what changed between the two, not what the tree holds.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from bridges import block
from bridges.agents import CARRIERS
from bridges.registry import for_path
from yaadwatch.core.lfs_pointer import object_id
from yaadwatch.core.truth.doubt import uses as using
from yaadwatch.core.truth.doubt.uses import Uses
from yaadwatch.engine.git_queries import History
from yaadwatch.system.git.changes import Change

FILES_MAX = 800
"""Changed files that are read to see where a word went; the others are as if unchanged."""
_BYTES_MAX = 512 * 1024
_NOT_READ = (
    *(".lock", ".svg", ".map", ".snap", ".png", ".jpg", ".jpeg", ".gif", ".ico", ".pdf"),
    *(".woff", ".woff2", ".ttf", ".zip", ".gz", ".ipynb", ".min.js", ".min.css", ".sum", ".pb.go"),
    *("/package-lock.json", "/pnpm-lock.yaml", "/npm-shrinkwrap.json"),
)


@dataclass(slots=True)
class Window:
    """The way from one commit to another.

    Args:
        history: who knows both.
        since: the older commit.
        until: the newer one; both are there.
        hidden: files that say nothing, because what they say is what is to be judged.
    """

    history: History
    since: str
    until: str
    hidden: frozenset[str] = frozenset()
    _expected: dict[str, None] = field(default_factory=dict)
    _uses: dict[str, Uses] = field(default_factory=dict)
    _come_up: dict[str, bool] = field(default_factory=dict)
    _changes: "_Changes | None" = None

    def expect(self, words: Iterable[str]) -> None:
        """Tell which words will be asked for: all are looked for in one reading."""
        self._expected |= dict.fromkeys(word for word in words if word)

    @property
    def differing(self) -> Sequence[Change]:
        """Return the files that differ; a renamed one is one that is gone and one that is new."""
        return () if self.since == self.until else self.history.differing(self.since, self.until)

    @property
    def changes(self) -> "_Changes":
        """Return the files that differ, renames found by git, which may take it long."""
        if self._changes is None:
            same = self.since == self.until
            listed = () if same else self.history.file_changes(self.since, self.until)
            self._changes = _Changes(tuple(listed))
        return self._changes

    def touched_inside(self, folder: str) -> bool:
        """Return whether a file in `folder` changed, moved or went."""
        inside = folder + "/"
        return any(change.old and change.old.startswith(inside) for change in self.differing)

    def uses(self, word: str) -> Uses:
        """Return where a word stands no more, and what stands there; '' stands nowhere.

        Where it came to stand is not told: only files that held a word before are read.
        """
        if not word:
            return Uses()
        if word not in self._uses:
            self.expect([word])
            wanted = [one for one in self._expected if one not in self._uses]
            self._uses |= self._read(wanted)
        return self._uses[word]

    def comes_up(self, word: str) -> bool:
        """Return whether a word came to stand in a file without it; it may read many.

        All words that left one file are looked for in one reading.
        """
        if word not in self._come_up:
            left = (one for one, uses in self._uses.items() if len(uses.lost) == 1)
            wanted = dict.fromkeys((word, *(one for one in left if one not in self._come_up)))
            self._come_up |= self._arrived(list(wanted))
        return self._come_up[word]

    def _arrived(self, words: Sequence[str]) -> dict[str, bool]:
        """Return which of the words came to stand in a file without them."""
        missing = dict.fromkeys(words)
        for change in self._changed(words):
            new = self._text(change.new_blob)
            if len(new) > _BYTES_MAX or not any(word.encode() in new for word in missing):
                continue
            old = self._text(change.old_blob)
            if len(old) > _BYTES_MAX:
                continue
            tally = using.Tally(missing)
            tally.add(change.old, change.new, old, new)
            found = tally.found()
            missing = dict.fromkeys(word for word in missing if not found[word].gained)
            if not missing:
                break
        return {word: word not in missing for word in words}

    def spread(self, word: str) -> int:
        """Return in how many files a word stood before.

        All expected words that stand no more somewhere are looked for in one search.
        """
        found = self.history.standing([word, *self.lost()], at=self.since)[word]
        return sum(
            path not in self.hidden and not is_only_ours(word, path, self._before) for path in found
        )

    def _before(self, path: str) -> bytes | None:
        blob = self.history.blob_at(self.since, path)
        return self.history.read_blob(blob) if blob else None

    def stirred(self, words: Iterable[str], perhaps: Iterable[str] = ()) -> set[str]:
        """Return the words that may have come to, or gone from, a place.

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
            return every - (rare - self._named(rare))
        counted = using.Stirred(every)
        found: set[str] = set()
        for change in self._readable(few):
            old, new = self._text(change.old_blob), self._text(change.new_blob)
            found |= counted.by(old[:_BYTES_MAX], new[:_BYTES_MAX])
        return found

    def _named(self, words: Iterable[str]) -> set[str]:
        """Return the words that stand in a file of one of the two commits."""
        asked = sorted(words)
        both = [self.history.standing(asked, at=at) for at in (self.since, self.until)]
        return {word for found in both for word in found if found[word]}

    def lost(self) -> list[str]:
        """Return the expected words that stand no more where they stood."""
        return [word for word in list(self._expected) if self.uses(word).lost]

    def _read(self, words: list[str]) -> dict[str, Uses]:
        tally = using.Tally(words)
        for change in self._naming(words):
            old = self._text(change.old_blob)
            if len(old) > _BYTES_MAX or not tally.may_count(old):
                continue
            new = self._text(change.new_blob)
            if len(new) <= _BYTES_MAX and not object_id(new):
                tally.add(change.old, change.new, old, new)
        return {word: replace(uses, gained=()) for word, uses in tally.found().items()}

    def _text(self, blob: str | None) -> bytes:
        """Return what others than we wrote in a file; nothing when it is not there."""
        return without_ours(self.history.read_blob(blob)) if blob else b""

    def _naming(self, words: Sequence[str]) -> Iterator[Change]:
        """Yield the changed files that may have held one of the words before."""
        for change in self._changed(words, self._places(words)):
            if change.old_blob:
                yield change

    def _places(self, words: Sequence[str]) -> set[str] | None:
        """Return the files that held one of the words before; None when that is not known.

        It is looked for where so many files differ that not all of them are read: what else changed
        must not hide those that held a word.
        """
        known = self.history.known_standing(words, at=self.since)
        if known is None and len(self.differing) > FILES_MAX:
            known = self.history.standing(words, at=self.since)
        return {path for paths in known.values() for path in paths} if known is not None else None

    def _changed(self, words: Sequence[str], places: Collection[str] | None = None) -> list[Change]:
        """Return the changed files that may be read; only those that were at `places`, if given.

        Which files were renamed is asked only when one that is gone held one of the words: of any
        other one it does not matter where it went.
        """
        plain = self._readable(_at(self.differing, places))
        gone = [change for change in plain if change.new is None]
        if len(gone) < len(plain) and self._held(words, gone):
            return self._readable(_at(self.changes.listed, places))
        return plain

    def _held(self, words: Sequence[str], changes: Sequence[Change]) -> bool:
        """Return whether one of the words stood in one of these files before."""
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
    """The files that differ between two commits, by what became of them."""

    listed: tuple[Change, ...]

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
    """Return whether a file of this path is one that we write, as a whole, for agents."""
    return path in CARRIERS


def is_only_ours(word: str, path: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a word stands in a file only where we write: in all of it, or in our block."""
    if is_ours(path):
        return True
    if for_path(path) is None:
        return False
    data = read(path)
    return data is not None and b"yaad:begin" in data and word.encode() not in without_ours(data)


def without_ours(data: bytes | None) -> bytes:
    """Return what others wrote in a file: our block in it is blank; nothing for None."""
    if not data or b"yaad:begin" not in data:
        return data or b""
    found = block.find(data)
    return block.outside(data, found) if isinstance(found, block.Block) else data
