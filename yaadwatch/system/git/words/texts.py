"""Which files and words does a search of texts look at, and what does one text hold?"""

import functools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

NO_TEXT = Path(__file__).with_name("no_text.attributes")
"""Names the formats in which no word is looked for, as git's attributes do."""
_UNSEARCHABLE = re.compile("[\0\n\ud800-\udfff]")
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
        if may_be_searched(word):
            plain = word.encode()
            # A pattern that begins with plain bytes is found many times as fast.
            only = re.escape(plain)
            whole = only + rb"(?<!\w" + only + rb")(?!\w)"
            if plain in data and re.search(whole, data) is not None:
                yield word
