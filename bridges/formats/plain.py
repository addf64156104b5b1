"""Formats that are markdown and nothing else: one table, one way to read them."""

from typing import Final

from bridges.block import Malformed, Refused, find, outside
from bridges.markdown import scan
from bridges.rules import Bridge, Document, Problem

STATEMENTS_MAX: Final = 2_000
"""Statements taken from one file."""

#: Name, where such files are, and whether those in folders further down are read too.
_FORMATS: Final = (
    ("claude", ("CLAUDE.md",), True),
    ("agents", ("AGENTS.md",), True),
    ("cursorrules", (".cursorrules",), False),
)


def parse(content: bytes) -> Document:
    """Return what a markdown file says outside our block.

    Bytes that are not UTF-8 text are not read, nor is a file whose block is damaged: what a person
    wrote and what we did could not be told apart.
    """
    found = find(content)
    match found:
        case Refused():
            return _unread(found, "Save the file as UTF-8 text to have it read.")
        case Malformed():
            return _unread(found, "Mend or delete both marker lines to have it read.")
    statements = scan(outside(content, found).decode())
    if len(statements) <= STATEMENTS_MAX:
        return Document(statements=statements)
    message = (
        f"The file holds {len(statements)} statements; the first {STATEMENTS_MAX} were read."
        " Split the file to have all of them read."
    )
    cut = Problem(line=statements[STATEMENTS_MAX].line, message=message)
    return Document(statements=statements[:STATEMENTS_MAX], problems=(cut,))


def _unread(found: Refused | Malformed, hint: str) -> Document:
    message = f"{found.reason[0].upper()}{found.reason[1:]}; nothing was read. {hint}"
    return Document(statements=(), problems=(Problem(line=found.line, message=message),))


PLAIN: Final = tuple(
    Bridge(name=name, paths=paths, parse=parse, nested=nested) for name, paths, nested in _FORMATS
)
