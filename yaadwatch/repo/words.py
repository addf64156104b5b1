"""Find the files of a work tree that hold a word, as a git search would.

A tree that is searched often keeps a few bits per file: a signature of the words it may hold. Each
search compares the signatures of all tracked files, so the result always reflects the current
state; changed files are read again, and files that may hold the word are read to make sure.
"""

import functools
import os
import re
import stat
import string
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Final

from yaadwatch.system import files

NO_TEXT = Path(__file__).with_name("no_text.attributes")
"""Names the formats in which no word is looked for, as git's attributes do."""
_UNSEARCHABLE = re.compile("[\0\n\ud800-\udfff]")
_OF_WORDS = frozenset(bytes([one]) for one in f"{string.ascii_letters}{string.digits}_".encode())
_PARTS_MAX = 32
"""Places inside of other words that are looked at one by one."""
_HEAD_BYTES = 8000
"""Bytes in which git looks for a zero to detect a binary file."""
SEARCHES_MIN: Final = 4
"""Searches of a tree after which it is worth while to read it: that costs some ten of them."""
PATHS_MAX: Final = 20_000
"""Files of all trees that are kept: a kilobyte each. In a larger tree, git looks."""
TREES_MAX: Final = 2
"""Trees that are kept, those that were asked last."""
TEXT_BYTES_MAX: Final = 8 * 1024 * 1024
"""With a larger file among them, git looks."""
TREE_BYTES_MAX: Final = 256 * 1024 * 1024
"""With more than that in all of its files, git looks."""
AT_ONCE_BYTES: Final = 8 * 1024 * 1024
"""So much is read at one question, a third of a second; until all is read, git looks."""
WORDS_MAX: Final = 6_000
"""A file with more different words gets no signature; it is read at each search."""
AGAIN_BYTES_MAX: Final = 4 * 1024 * 1024
"""With more than that in such files, git looks."""
WAIT_SECONDS: Final = 0.05
"""How long one question waits for another about the same tree; after that, git looks."""
_PIECE_BYTES: Final = 64 * 1024
"""So much of a file is looked at in one go; other threads run in between."""
_BITS: Final = 13
_SLOT: Final = (1 << _BITS) - 1
_ANYTHING: Final = b"\xff" * (1 << (_BITS - 3))
"""The bits of a file of which nothing is known: it may hold any word."""
_WORD: Final = re.compile(rb"\w+")
_GAP: Final = re.compile(rb"\W")
_SIGNS: Final = attrgetter("st_mtime_ns", "st_size", "st_ctime_ns", "st_ino", "st_mode")


_Looks = tuple[int, ...] | None
"""How a file looks: times of writing and change, with its size between them, and more; None when
there is none."""


def may_be_searched(word: str) -> bool:
    """Return whether a line of a text can hold a word; nothing does that is empty, or no text."""
    return bool(word) and not _UNSEARCHABLE.search(word)


def may_be_text(path: str) -> bool:
    """Return whether a search reads a file: not if its name marks it as binary."""
    return not path.endswith(_no_text())


@functools.cache
def _no_text() -> tuple[str, ...]:
    lines = NO_TEXT.read_text("utf-8").splitlines()
    return tuple(line.split()[0].removeprefix("*") for line in lines if line.startswith("*"))


def words_in(words: Iterable[str], data: bytes) -> Iterator[str]:
    """Yield those of `words` that a file's bytes hold, with the result of `files_with`."""
    if b"\0" in data[:_HEAD_BYTES]:
        return
    for word in words:
        if may_be_searched(word) and _holds(data, word.encode()):
            yield word


def _holds(data: bytes, word: bytes) -> bool:
    """Return whether a text holds a whole word: no letter, digit or `_` is next to it.

    Compiling a pattern for each word takes longer than most searches. A word that is often part of
    others is searched for by a pattern nevertheless.
    """
    at = data.find(word)
    for _ in range(_PARTS_MAX):
        if at < 0:
            return False
        beside = (data[max(at - 1, 0) : at], data[at + len(word) : at + len(word) + 1])
        if not any(one in _OF_WORDS for one in beside):
            return True
        at = data.find(word, at + 1)
    only = re.escape(word)
    # A pattern that begins with plain bytes is found many times as fast.
    whole = re.compile(only + rb"(?<!\w" + only + rb")(?!\w)")
    return at >= 0 and whole.search(data, at) is not None


@dataclass(slots=True)
class _File:
    """A file as it was read: its signature on disk, and the words it may hold."""

    looked: _Looks = None
    may_hold: bytes = _ANYTHING
    """A bit for each slot that one of its words has."""


@dataclass(slots=True)
class _Files:
    """The files of a tree that may be texts, and where they are; what is known of each.

    `settled`: how all of them looked when each was known as it is; mostly they look so again, and
    then nothing is asked file by file. `absent`: those that are no plain files then. `whole`,
    `again`: the bytes of all, and of those that are read at each question.
    """

    paths: Sequence[str] = ()
    places: Sequence[str] = ()
    known: Mapping[str, _File] = field(default_factory=dict)
    settled: Sequence[_Looks] | None = None
    absent: Set[str] = frozenset()
    whole: int = 0
    again: int = 0

    def now(self, root: Path, paths: Sequence[str]) -> "_Files":
        """Return the same for these paths; what is known of those that were there stays."""
        if self.paths == paths:
            return self
        known = {path: self.known.get(path) or _File() for path in paths if may_be_text(path)}
        top = str(root)
        return _Files(paths, [f"{top}/{path}" for path in known], known)

    def changed(self) -> list[tuple[str, _File]]:
        """Compare all files with the disk; return those without a current signature."""
        there = _signatures(self.places)
        if there == self.settled:
            return []
        self.whole = self.again = 0
        unread = []
        absent: set[str] = set()
        for at, ((path, known), looks) in enumerate(zip(self.known.items(), there, strict=True)):
            if looks is None or not stat.S_ISREG(looks[-1]):
                absent.add(path)
                continue
            self.whole += looks[1]
            if looks != known.looked:
                unread.append((path, known))
                continue
            there[at] = known.looked  # one of them need be kept
            if known.may_hold is _ANYTHING:
                self.again += looks[1]
        self.absent, self.settled = absent, None if unread else there
        return unread

    def that_may_hold(self, slots: "Sequence[_Slot]", but: Set[str]) -> list[str]:
        """Return the files with the bits at all of these places, without `but` and absent ones."""
        (at, bit), *others = slots
        found = [(path, one.may_hold) for path, one in self.known.items() if one.may_hold[at] & bit]
        for at, bit in others:
            found = [one for one in found if one[1][at] & bit]
        return [path for path, _ in found if path not in but and path not in self.absent]


@dataclass(slots=True)
class _Kept:
    """A work tree that was searched."""

    searches: int = 0
    tracked: _Files = field(default_factory=_Files)
    others: _Files = field(default_factory=_Files)
    """Untracked files of the last search that included any."""
    reading: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that reads its files."""

    def among(self, root: Path, paths: Sequence[str], others: Sequence[str] | None) -> list[_Files]:
        """Return what is known of those that may be texts."""
        self.tracked = self.tracked.now(root, paths)
        if others is None:
            return [self.tracked]
        self.others = self.others.now(root, others)
        return [self.tracked, self.others]

    def __len__(self) -> int:
        return len(self.tracked.known) + len(self.others.known)


class WordFilter:
    """Signatures of the words in the text files of the work trees searched last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trees: OrderedDict[Path, _Kept] = OrderedDict()

    def is_worth_it(self, root: Path, scans: int = 1) -> bool:
        """Return whether a work tree was asked about so often that it is read; call it once each.

        Args:
            root: of the work tree.
            scans: so many of git's would answer.
        """
        with self._lock:
            kept = self._trees.setdefault(root, _Kept())
            self._trees.move_to_end(root)
            while len(self._trees) > TREES_MAX:
                self._trees.popitem(last=False)
            kept.searches += 1
            return kept.searches + scans - 1 > SEARCHES_MIN

    def files_with(
        self,
        root: Path,
        paths: Sequence[str],
        words: Sequence[str],
        now_ns: int,
        others: Sequence[str] | None = None,
    ) -> dict[str, list[str]] | None:
        """Return for each word the text files that hold it, sorted; None when git has to look.

        Args:
            root: of the work tree.
            paths: its tracked files.
            words: taken literally.
            now_ns: now, read before the call.
            others: files to look at besides.
        """
        asked = {word: _WORD.findall(word.encode()) for word in words if may_be_searched(word)}
        count = len(paths) + len(others or ())
        if count > PATHS_MAX or not asked or not all(asked.values()):
            return None
        kept = self._room(root, count)
        if not kept.reading.acquire(timeout=WAIT_SECONDS):
            return None
        try:
            wanted = {word: _slots(parts) for word, parts in asked.items()}
            by_part: dict[bytes, list[str]] = {}
            for word, parts in asked.items():
                by_part.setdefault(parts[0], []).append(word)
            question = _Question(
                files=kept.among(root, paths, others),
                root=root,
                wanted=wanted,
                by_part=by_part,
                now_ns=now_ns,
            )
            found = question.answer()
        finally:
            kept.reading.release()
        return None if found is None else {word: found.get(word, []) for word in words}

    def forget(self) -> None:
        """Drop the signatures of all trees; they are rebuilt on demand."""
        with self._lock:
            self._trees.clear()

    def _room(self, root: Path, count: int) -> _Kept:
        """Return what is kept of a tree, of so many files now; those it has no room for go."""
        with self._lock:
            kept = self._trees.setdefault(root, _Kept())
            self._trees.move_to_end(root)
            others = sum(len(tree) for tree in self._trees.values() if tree is not kept)
            while len(self._trees) > 1 and others + count > PATHS_MAX:
                _, gone = self._trees.popitem(last=False)
                others -= len(gone)
            return kept


def is_answerable(word: str) -> bool:
    """Return whether signatures can answer for a word; otherwise git has to search."""
    return _WORD.search(word.encode("utf-8", "surrogatepass")) is not None


_Slot = tuple[int, int]
"""The place of a bit: which byte, and which of its bits is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """A search for words in files.

    `wanted`: for each word the bits of a file that may hold it. `by_part`: words that begin with a
    part of letters and digits.
    """

    files: Sequence[_Files]
    root: Path
    wanted: Mapping[str, Sequence[_Slot]]
    by_part: Mapping[bytes, Sequence[str]]
    now_ns: int

    def answer(self) -> dict[str, list[str]] | None:
        """Return which files hold each word; None where they are too much."""
        unread: list[tuple[str, _File]] = []
        perhaps: dict[str, list[str]] = {}
        for files_ in self.files:
            changed = files_.changed()
            unread += changed
            but = {path for path, _ in changed}
            for word, slots in self.wanted.items():
                for path in files_.that_may_hold(slots, but):
                    perhaps.setdefault(path, []).append(word)
        whole, again = (sum(one.whole for one in self.files), sum(one.again for one in self.files))
        if whole > TREE_BYTES_MAX or again > AGAIN_BYTES_MAX:
            return None
        read = self._read(unread)
        unchanged = self._look_again(perhaps) if read is not None else None
        if read is None or unchanged is None:
            return None
        return {word: sorted({*read[word], *unchanged[word]}) for word in self.wanted}

    def _read(self, unread: Sequence[tuple[str, _File]]) -> dict[str, list[str]] | None:
        """Return which of the changed files hold each word; None until all of them were read."""
        found: dict[str, list[str]] = {word: [] for word in self.wanted}
        left = AT_ONCE_BYTES
        for path, known in unread:
            looks = _signature(f"{self.root}/{path}")
            if looks is None or not stat.S_ISREG(looks[-1]):
                continue
            left -= looks[1]
            data, too_large = _observed(self.root, path) if left >= 0 else (None, True)
            if too_large:
                return None
            if data is None:
                continue
            words = _words_of(data)
            known.may_hold = _bits(words)
            settled = files.is_settled(looks[0], looks[2], self.now_ns)
            known.looked = looks if settled else None
            for word in words_in(self._candidates(words), data):
                found[word].append(path)
        return found

    def _candidates(self, words: Set[bytes] | None) -> Iterable[str]:
        """Return the words of the search that a file of these may hold."""
        if words is None:
            return self.wanted
        return [one for part in self.by_part.keys() & words for one in self.by_part[part]]

    def _look_again(self, perhaps: Mapping[str, Sequence[str]]) -> dict[str, list[str]] | None:
        """Return which unchanged files hold the words they may; None when one is too large now."""
        found: dict[str, list[str]] = {word: [] for word in self.wanted}
        for path, mine in perhaps.items():
            data, too_large = _observed(self.root, path)
            if too_large:
                return None
            for word in words_in(mine, data or b""):
                found[word].append(path)
        return found


def _observed(root: Path, path: str) -> tuple[bytes | None, bool]:
    """Return the bytes of a file, and whether it has too many."""
    read = files.observe(root, path, bytes_max=TEXT_BYTES_MAX, now_ns=0)
    return read.data, read.kind == "too_large"


def _signatures(places: Sequence[str]) -> list[_Looks]:
    """Return the signatures of files, in one pass where all exist."""
    try:
        return list(map(_SIGNS, map(os.lstat, places)))
    except (OSError, ValueError):
        return list(map(_signature, places))


def _signature(place: str) -> _Looks:
    """Return the signature of `place`; None when nothing is there."""
    try:
        return _SIGNS(os.lstat(place))
    except (OSError, ValueError):
        return None


def _words_of(data: bytes) -> Set[bytes] | None:
    """Return all words of a file; None where they are too many."""
    words: set[bytes] = set()
    at = 0
    while at < len(data):
        gap = _GAP.search(data, at + _PIECE_BYTES)
        end = gap.start() if gap is not None else len(data)
        words.update(_WORD.findall(data, at, end))
        if len(words) > WORDS_MAX:
            return None
        at = end
    return words


def _bits(words: Set[bytes] | None) -> bytes:
    """Return the bits of all words of a file; `None`: it may hold any."""
    if words is None:
        return _ANYTHING
    bits = bytearray(1 << (_BITS - 3))
    for word in words:
        number = hash(word)
        for slot in (number & _SLOT, number >> _BITS & _SLOT):
            bits[slot >> 3] |= 1 << (slot & 7)
    return bytes(bits)


def _slots(parts: Iterable[bytes]) -> list[_Slot]:
    """Return the bits of a file that holds all of these parts."""
    numbers = (hash(word) for word in parts)
    slots = (slot for one in numbers for slot in (one & _SLOT, one >> _BITS & _SLOT))
    return [(slot >> 3, 1 << (slot & 7)) for slot in slots]
