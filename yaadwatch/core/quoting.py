"""Words of others among ours: how they are told, so that they read as data and end where we end.

A repository may be a stranger's, and the name of a file may be a sentence, a heading, a tag, or a
line of commands. A name that can be read as nothing else stands as it is; any other in quotes.
"""

import re
from collections.abc import Sequence
from typing import Final

NAME_CHARS_MAX: Final = 200
"""Of a longer name the end is told."""

_UNSEEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]+"
)
_CLOSING_TAG: Final = re.compile(r"<(?=/)")
_PLAIN_NAME: Final = re.compile(r"[\w./@+~:%^=()\[\]{}*$-]+")
_MARKUP: Final = str.maketrans("<>`", "‹›'")


def quoted(text: str) -> str:
    """Return `text` as data: one line in double quotes that it cannot end by itself.

    Characters that cannot be seen go, and so does what could close a tag around us.
    """
    return '"' + as_line(text).replace('"', "'") + '"'


def as_line(text: str) -> str:
    """Return `text` as one line without what cannot be seen, and that closes no tag around us."""
    return _CLOSING_TAG.sub("< ", " ".join(_UNSEEN.sub(" ", text).split()))


def as_name(name: str) -> str:
    """Return a path, or a value that a file holds, as it is told within a sentence of ours.

    One with anything but letters, digits and what names are made of stands in quotes, in one line,
    and without what opens a tag, a comment or code.
    """
    short = name if len(name) <= NAME_CHARS_MAX else "…" + name[-NAME_CHARS_MAX:]
    return short if _PLAIN_NAME.fullmatch(short) else quoted(short.translate(_MARKUP))


def as_names(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, with `or` between them, and dots where there are more."""
    return " or ".join(map(as_name, names[:most])) + (" ..." if len(names) > most else "")
