"""The hashes of texts, as steps of the schema needed them when they were made.

A step that was released never changes, and neither does what is here. How a text is hashed now says
`core.text`.
"""

import hashlib
import re
import unicodedata
from typing import Final

import apsw

_LIST_MARKER: Final = re.compile(r"(?:[-*+•]|\d{1,3}[.)]) ")


def hash_13(text: str) -> str:
    """Return the hash of a text up to version 13: every full stop at its end is dropped."""
    return _hash(_plain(text).rstrip(" ."))


def hash_14(text: str) -> str:
    """Return the hash of a text from version 14 on: one that is a word, or of a path, is kept."""
    plain = _plain(text)
    bare = plain.rstrip(" .")
    if not bare:
        return _hash("")
    word = plain.rpartition(" ")[2]
    head = word.rstrip(".")
    dots = len(word) - len(head)
    if dots and not head:
        return _hash(plain)
    if not dots or not head.endswith("/"):
        return _hash(bare)
    return _hash(plain[:-1] if dots in (1, 4) else plain)


def give(conn: apsw.Connection) -> None:
    """Let the steps that are taken on a connection call these functions."""
    conn.create_scalar_function("hash_13", lambda *said: hash_13(str(*said)), 1, deterministic=True)
    conn.create_scalar_function("hash_14", lambda *said: hash_14(str(*said)), 1, deterministic=True)


def take_back(conn: apsw.Connection) -> None:
    """Let nothing on a connection call them any more."""
    for name in ("hash_13", "hash_14"):
        conn.create_scalar_function(name, None, 1)


def _plain(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    while marker := _LIST_MARKER.match(plain):
        plain = plain[marker.end() :]
    return plain


def _hash(plain: str) -> str:
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:32]
