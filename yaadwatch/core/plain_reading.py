"""How is a text read by what it is given to? Without what cannot be seen, in plain letters.

A secret that was copied from a page, a chat or a terminal may have soft hyphens, zero-width
characters, colours or full-width letters in it. Who cleans it has the secret; so it is looked for
in the clean text, and what was found is taken out of the text as it stands.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise
from typing import Final, NamedTuple


class Reading(NamedTuple):
    """A text as it is read, and where each of its characters stands in the text as it is."""

    text: str
    at: Sequence[int]


_ASCII: Final = frozenset(map(chr, range(128)))
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1b\x7f]")
_ESCAPE: Final = "\x1b"
_STEERING: Final = (
    r"(?:\x1b\[|\x9b)[0-?]{0,32}[ -/]{0,4}[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x90\x98\x9c-\x9f\n]{0,2000}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]{1,4}[0-~]|\x1b[<-?]"
)
"""What makes a terminal write in colour, name a link or a window, or take other characters.

What has a letter or a digit right behind its escape is not among them: that may be a secret's own.
"""
# What is drawn as nothing and is not of the categories Cc and Cf: marks, letters, and places that
# are set aside for more such characters.
_DRAWN_AS_NOTHING: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U000e0000-\U000e0fff]"
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_HYPHENS: Final = "\u2010\u2011"


def readings(text: str, beginnings: tuple[str, ...] = ()) -> Iterator[Reading]:
    """Yield the text as it stands and, where it differs, as it is read: the clean text.

    What was not seen may have parted two words. Where one of the second begins with one of
    `beginnings` (lower case), there is one more reading, in which they are two.
    """
    yield Reading(text, range(len(text)))
    if text.isascii() and not _CONTROL.search(text):
        return
    odd = {char: plain for char in set(text) - _ASCII if (plain := _plain(char)) != char}
    odd |= dict.fromkeys(_CONTROL.findall(text), "")
    if not odd:
        return
    read: list[str] = []
    at: list[int] = []
    joints: list[int] = []
    end = 0
    for found in re.finditer(f"{_STEERING}|[{re.escape(''.join(odd))}]", text):
        start = found.start()
        read += text[end:start]
        at += range(end, start)
        plain = odd.get(found[0], "")
        read += plain
        at += [start] * len(plain)
        end = found.end()
        if not plain:
            joints.append(len(read))
        if found[0] == _ESCAPE:  # what is right behind it may belong to it
            joints.append(len(read) + 1)
    read += text[end:]
    at += range(end, len(text))
    clean = "".join(read)
    yield Reading(clean, at)
    lowered = in_lower_case(clean)
    parted = [
        joint
        for joint in sorted(set(joints))
        if 0 < joint < len(clean)
        if clean[joint - 1].isalnum() and lowered.startswith(beginnings, joint)
    ]
    if parted:
        ends = [0, *parted, len(read)]
        spans = list(pairwise(ends))
        places = (place for start, end in spans for place in (*at[start:end], at[end - 1]))
        yield Reading(" ".join(clean[start:end] for start, end in spans), [*places][:-1])


def cleaned(text: str) -> str:
    """Return a text as it is read."""
    return next(islice(readings(text), 1, None), Reading(text, ())).text


def in_lower_case(text: str) -> str:
    """Return a text in lower case, as long as it is: a few letters are longer in lower case."""
    lowered = text.lower()
    if len(lowered) != len(text):
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    return lowered


@lru_cache(4096)
def _plain(char: str) -> str:
    """Return what a character beyond ASCII is read as: nothing, plain letters, or itself."""
    if unicodedata.category(char) in ("Cf", "Cc") or _DRAWN_AS_NOTHING.match(char):
        return "" if not char.isspace() else char
    if char in _HYPHENS:
        return "-"
    # Marks stay: a full-width colon is one of its language, and what follows is in it.
    plain = unicodedata.normalize("NFKC", char)
    return plain if _PLAIN.fullmatch(plain) else char
