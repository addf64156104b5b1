"""How Chinese, Japanese and Korean are indexed, as a step of the schema needed it when it was made.

A step that was released never changes, and neither does what is here. How a text is indexed now
say `core.cjk` and `core.text`.
"""

import re
import unicodedata
from typing import Final

import apsw

_LETTERS: Final = (
    r"\u1100-\u11ff\u3005-\u3007\u3021-\u3029\u3031-\u3035\u303b\u303c\u3041-\u312f\u31a0-\u31bf"
    r"\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97c\uac00-\ud7fb\uf900-\ufad9"
    r"\U0001aff0-\U0001b16f\U00020000-\U0003fffd"
)
_LETTER: Final = re.compile(f"[{_LETTERS}]")
_ANY_FORM: Final = re.compile(rf"[{_LETTERS}\u2e80-\u2fd5\u3131-\u318e\u3200-\u33ff\uff01-\uffdc]")
_WORD: Final = re.compile(r"[^\W_]+")
_PART: Final = re.compile(
    r"[A-Z]{2,}s(?![^\W_])|\d*[A-Z]+\d*(?![^\W\d_A-Z])|(?:[A-Z]|\d+)?[^\W\d_A-Z][^\W_A-Z]*|\d+|[A-Z]"
)


def spaced_16(text: str) -> str:
    """Return a text with each of these letters by itself; without any, it stays as it is."""
    if text.isascii() or _ANY_FORM.search(text) is None:
        return text
    return _LETTER.sub(r" \g<0> ", unicodedata.normalize("NFKC", text))


def parts_16(text: str) -> str:
    """Return the parts of the identifiers in a text that change case inside."""
    words = dict.fromkeys(_WORD.findall(text))
    parted = ([part.lower() for part in _PART.findall(word)] for word in words)
    return " ".join(" ".join(parts) for parts in parted if len(parts) > 1)


def give(conn: apsw.Connection) -> None:
    """Let the steps that are taken on a connection call these functions."""
    conn.create_scalar_function("spaced_16", lambda *said: spaced_16(str(*said)), 1)
    conn.create_scalar_function("parts_16", lambda *said: parts_16(str(*said)), 1)


def take_back(conn: apsw.Connection) -> None:
    """Let nothing on a connection call them any more."""
    for name in ("spaced_16", "parts_16"):
        conn.create_scalar_function(name, None, 1)
