"""May a Python file define a name at all? A look at the lines that have it, before it is parsed.

To parse a file takes a hundred times as long as to look for a word in it, and of the files that
have a name most only import or call it. What is told here to define nothing does not; the rest is
for the parser to tell.
"""

import re
from typing import Final

_LINE_BYTES_MAX: Final = 2_000
"""What stands before a name on a line that is longer is not looked at; it may define it."""
_STRINGS: Final = re.compile(rb"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'")
_INSIDE: Final = re.compile(rb"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")
_KEYWORD: Final = re.compile(rb"(?:def|class|type)[\s\\]+\Z")
_TARGETS: Final = re.compile(rb"[\s\w\x80-\xff.,*=()\[\]']*\Z")
_TWO_WORDS: Final = re.compile(rb"[\w\x80-\xff][ \t\f\v]+[\w\x80-\xff]")
_CALLED: Final = re.compile(rb"[\w\x80-\xff)\]][ \t\f\v]*[(\[]")
_FOLLOWS: Final = re.compile(rb"\s*(?:[=:,)\]#\\]|[-+*/%&|^@<>]{1,3}=|\Z)")
_TYPED: Final = re.compile(rb"\s*[\w\x80-\xff.]+\s*\Z")
_COMPOUND: Final = re.compile(
    rb"\s*(?:if|elif|else|while|with|for|match|case|class|def|async|try|except|finally)\b"
)
_OPENED: Final = re.compile(rb"[(\[{]")
_INVISIBLE: Final = tuple(mark.encode() for mark in "\ufeff\u2060\u200b")
"""What the parser takes for white space besides ASCII's."""
_BEHIND: Final = (b"", b",", b"(", b"[", b"*", b"=")
"""What one of several targets may stand behind; or nothing."""


def may_define(source: bytes, name: str) -> bool:
    """Return False only if a Python file cannot define `name`: the last part of a whole name.

    What is defined is a class, a function, a type, or what a statement assigns to a plain name.
    Where a line makes no sense in front of the name, the parser may still see a definition behind
    it; there False may be returned, too.

    Args:
        source: the file, its line ends '\\n'; anything at all.
        name: one identifier.
    """
    for mark in _INVISIBLE:
        source = source.replace(mark, b" ")
    plain = re.escape(name.encode("utf-8", "replace"))
    spread: bool | None = None
    for found in re.finditer(plain + rb"(?<![\w.]" + plain + rb")(?!\w)", source):
        start = source.rfind(b"\n", 0, found.start()) + 1
        end = source.find(b"\n", found.end())
        before = source[start : found.start()]
        after = source[found.end() : end if end >= 0 else len(source)]
        if source[max(start - 2, 0) : start] == b"\\\n" or _KEYWORD.search(before):
            return True
        if not _FOLLOWS.match(after) or not _may_begin(before):
            continue
        rest = after.strip()
        if b"=" in rest or rest[:1] == b":" or rest[-1:] == b"\\":
            return True
        if spread is None:
            spread = _has_spread(source)
        if spread:
            return True
    return False


def _may_begin(before: bytes) -> bool:
    """Return whether an assignment to a name may begin with this, the line up to the name."""
    if len(before) > _LINE_BYTES_MAX:
        return True
    plain = _STRINGS.sub(b"", before)
    if b'"' in plain or b"'" in plain:
        return True  # a string goes over several lines
    whole = b""
    while whole != plain:
        whole, plain = plain, _INSIDE.sub(b"", plain)
    plain = plain.rpartition(b";")[2]
    head, colon, rest = plain.rpartition(b":")
    # Quotes within quotes may have hidden that its brackets are closed.
    closed = not _OPENED.search(head) or b'"' in before or b"'" in before
    if colon and closed and _COMPOUND.match(before):
        return True
    if _CALLED.search(head if colon else plain):
        return False  # it stands in brackets
    if colon:
        if b"{" in head or _TYPED.match(head):
            return False  # it is a type, or stands in a table
        plain = rest
    in_place = plain.rstrip()[-1:] in _BEHIND
    return in_place and bool(_TARGETS.match(plain)) and not _TWO_WORDS.search(plain)


def _has_spread(source: bytes) -> bool:
    """Return whether a line may end targets that stand on several lines: it closes a bracket."""
    for line in source.split(b"\n"):
        head, equals, _ = line.partition(b"=")
        if equals and (b")" in head or b"]" in head):
            closed = head.count(b")") + head.count(b"]")
            if closed > head.count(b"(") + head.count(b"["):
                return True
    return False
