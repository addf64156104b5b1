"""Which files and words does a search of texts look at, and what does one text hold?"""

import functools
import re
import string
from collections.abc import Iterable, Iterator
from pathlib import Path

NO_TEXT = Path(__file__).with_name("no_text.attributes")
"""Names the formats in which no word is looked for, as git's attributes do."""
_UNSEARCHABLE = re.compile("[\0\n\ud800-\udfff]")
_OF_WORDS = frozenset(bytes([one]) for one in f"{string.ascii_letters}{string.digits}_".encode())
_PARTS_MAX = 32
"""Places inside of other words that are looked at one by one."""
_HEAD_BYTES = 8000
"""Where git looks for a zero, to tell a text from other bytes."""


def may_be_searched(word: str) -> bool:
    """Return whether a line of a text can hold a word; nothing does that is empty, or no text."""
    return bool(word) and not _UNSEARCHABLE.search(word)


def may_be_text(path: str) -> bool:
    """Return whether a search reads a file: not one whose name says that it is none."""
    return not path.endswith(_no_text())


@functools.cache
def _no_text() -> tuple[str, ...]:
    lines = NO_TEXT.read_text("utf-8").splitlines()
    return tuple(line.split()[0].removeprefix("*") for line in lines if line.startswith("*"))


def words_in(words: Iterable[str], data: bytes) -> Iterator[str]:
    """Yield those of `words` that a file's bytes hold, as `files_with` would say of that file."""
    if b"\0" in data[:_HEAD_BYTES]:
        return
    for word in words:
        if may_be_searched(word) and _holds(data, word.encode()):
            yield word


def _holds(data: bytes, word: bytes) -> bool:
    """Return whether a text holds a word as a whole: no letter, digit or `_` is beside it.

    To compile a pattern for each word takes longer than most searches. One that often stands inside
    of others is searched for by a pattern nevertheless.
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
