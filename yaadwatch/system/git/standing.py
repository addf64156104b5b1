"""In which files of a work tree does a word stand, without a process of git's for each question?

Of a tree that is asked about often, a few bits tell for each file which words it may hold. Each
question looks at the signatures of all tracked files, so that what is true is computed from how
they are now; files that changed are read again, and files that may hold a word are read to know.
The answers are those of a search of git's.
"""

import functools
import operator
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch.system import files
from yaadwatch.system.git.texts import may_be_searched, may_be_text, words_in

SEARCHES_MIN: Final = 4
"""Searches of a tree after which it is worth while to read it: that costs some ten of them."""
PATHS_MAX: Final = 4_000
"""In a larger tree, git looks."""
TREES_MAX: Final = 2
"""Trees that are kept, those that were asked last: a kilobyte a file."""
TEXT_BYTES_MAX: Final = 8 * 1024 * 1024
"""With a larger file among them, git looks."""
TREE_BYTES_MAX: Final = 32 * 1024 * 1024
"""With more than that in all of its files, git looks."""
WORDS_MAX: Final = 6_000
"""Of a file with more different words the bits would tell nothing; it is read at each question."""
AGAIN_BYTES_MAX: Final = 4 * 1024 * 1024
"""With more than that in such files, git looks."""
WAIT_SECONDS: Final = 0.05
"""How long one question waits for another about the same tree; after that, git looks."""
_PIECE_BYTES: Final = 64 * 1024
"""So much of a file is looked at in one go; other threads run in between."""
_BITS: Final = 13
_SLOT: Final = (1 << _BITS) - 1
_ANYTHING: Final = -1
"""The bits of a file that may hold any word."""
_WORD: Final = re.compile(rb"\w+")
_GAP: Final = re.compile(rb"\W")


@dataclass(slots=True)
class _File:
    """What is known of a file: how it looked when it was read, and which words it may hold."""

    looked: tuple[int, ...] = ()
    may_hold: int = 0


@dataclass(slots=True)
class _Kept:
    """A work tree that was asked about."""

    paths: tuple[str, ...] = ()
    searches: int = 0
    files: dict[str, _File] = field(default_factory=dict)
    reading: threading.Lock = field(default_factory=threading.Lock)
    """Held by the one that looks at its files, and at `paths`."""


class Standing:
    """What the text files of the work trees that were asked about last may hold."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._trees: OrderedDict[Path, _Kept] = OrderedDict()

    def files_with(
        self, root: Path, paths: Sequence[str], words: Sequence[str], now_ns: int
    ) -> dict[str, list[str]] | None:
        """Return for each word the text files that hold it, sorted; None when git has to look.

        Args:
            root: of the work tree.
            paths: its tracked files.
            words: taken literally.
            now_ns: now, read before the call.
        """
        asked = {word: _WORD.findall(word.encode()) for word in words if may_be_searched(word)}
        if len(paths) > PATHS_MAX or not asked or not all(asked.values()):
            return None
        with self._lock:
            kept = self._trees.setdefault(root, _Kept())
            self._trees.move_to_end(root)
            while len(self._trees) > TREES_MAX:
                self._trees.popitem(last=False)
            kept.searches += 1
            if kept.searches <= SEARCHES_MIN:
                return None
        if not kept.reading.acquire(timeout=WAIT_SECONDS):
            return None
        try:
            if kept.paths != tuple(paths):
                kept.paths = tuple(paths)
                kept.files = {
                    path: kept.files.get(path) or _File()
                    for path in sorted(paths)
                    if may_be_text(path)
                }
            wanted = {word: _bits(parts) for word, parts in asked.items()}
            found = _look(kept.files, root, wanted, now_ns)
        finally:
            kept.reading.release()
        return None if found is None else {word: found.get(word, []) for word in words}


def _look(
    tree: Mapping[str, _File], root: Path, wanted: Mapping[str, int], now_ns: int
) -> dict[str, list[str]] | None:
    """Return which files hold each word, whose bits are given; None where they are too much."""
    there = _signatures(tree, root)
    if there is None:
        return None
    found: dict[str, list[str]] = {word: [] for word in wanted}
    # What all of them have in common, a file that holds any has; of one word, that is all of it.
    any_word = functools.reduce(operator.and_, wanted.values())
    for path, now in there.items():
        known = tree[path]
        same = now is None
        if same:
            may_hold = known.may_hold
            if may_hold & any_word != any_word:
                continue
            mine = [word for word, bits in wanted.items() if may_hold & bits == bits]
            if not mine:
                continue
        else:
            mine = list(wanted)
        read = files.observe(root, path, bytes_max=TEXT_BYTES_MAX, now_ns=0)
        if read.kind == "too_large":
            return None
        if read.data is None:
            continue
        if now is not None:
            known.looked = _looks(now) if files.is_settled(now, now_ns) else ()
            known.may_hold = _all_bits(read.data)
        for word in words_in(mine, read.data):
            found[word].append(path)
    return found


def _signatures(tree: Mapping[str, _File], root: Path) -> dict[str, os.stat_result | None] | None:
    """Return how the plain files look now, None for each that looks as it did when it was read.

    None for all where they are too large together.
    """
    found: dict[str, os.stat_result | None] = {}
    whole = again = 0
    top, lstat = f"{root}/", os.lstat
    for path, known in tree.items():
        try:
            there = lstat(top + path)
        except (OSError, ValueError):
            continue
        if known.looked and known.looked == _looks(there):  # a plain file then, and so it is now
            found[path] = None
            if known.may_hold == _ANYTHING:
                again += there.st_size
        elif stat.S_ISREG(there.st_mode):
            found[path] = there
        else:
            continue
        whole += there.st_size
    return None if whole > TREE_BYTES_MAX or again > AGAIN_BYTES_MAX else found


def _looks(there: os.stat_result) -> tuple[int, ...]:
    return (there.st_mtime_ns, there.st_size, there.st_ctime_ns, there.st_ino)


def _all_bits(data: bytes) -> int:
    """Return the bits of all words of a file."""
    words: set[bytes] = set()
    at = 0
    while at < len(data):
        gap = _GAP.search(data, at + _PIECE_BYTES)
        end = gap.start() if gap is not None else len(data)
        words.update(_WORD.findall(data, at, end))
        if len(words) > WORDS_MAX:
            return _ANYTHING
        at = end
    return _bits(words)


def _bits(words: Sequence[bytes] | set[bytes]) -> int:
    """Return a number with two bits set for each word."""
    bits = bytearray(1 << (_BITS - 3))
    for word in words:
        number = hash(word)
        for slot in (number & _SLOT, number >> _BITS & _SLOT):
            bits[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(bits, "little")
