"""Formats that are markdown and nothing else: one table, one way to read them."""

from typing import Final

from bridges.markdown import scan
from bridges.rules import Bridge, Document, Problem

STATEMENTS_MAX: Final = 2_000
"""Statements taken from one file."""

_FORMATS: Final = (
    ("claude", ("CLAUDE.md",)),
    ("agents", ("AGENTS.md",)),
    ("cursorrules", (".cursorrules",)),
)


def parse(content: bytes) -> Document:
    """Return what a markdown file says; bytes that are not UTF-8 text are not read."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        return _unread(content, error.start, "is not UTF-8")
    if "\0" in text:
        return _unread(content, content.index(0), "is NUL")
    statements = scan(text)
    if len(statements) <= STATEMENTS_MAX:
        return Document(statements=statements)
    message = (
        f"The file holds {len(statements)} statements; the first {STATEMENTS_MAX} were read."
        " Split the file to have all of them read."
    )
    cut = Problem(line=statements[STATEMENTS_MAX].line, message=message)
    return Document(statements=statements[:STATEMENTS_MAX], problems=(cut,))


def _unread(content: bytes, position: int, reason: str) -> Document:
    line = content.count(b"\n", 0, position) + 1
    message = (
        f"Byte 0x{content[position]:02x} in line {line} {reason}; nothing was read."
        " Save the file as UTF-8 text to have it read."
    )
    return Document(statements=(), problems=(Problem(line=line, message=message),))


PLAIN: Final = tuple(Bridge(name=name, paths=paths, parse=parse) for name, paths in _FORMATS)
