"""How a markdown agent file is read: what it says outside our block, and for whom it holds."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bridges import frontmatter
from bridges.block import Block, Malformed, Refused, find, outside
from bridges.frontmatter import Fields
from bridges.items import restricted
from bridges.markdown import lines_of, scan
from bridges.rules import Document, Problem

STATEMENTS_MAX: Final = 2_000
"""Statements taken from one file."""

ALL_FILES: Final = ("**", "**/*")
"""Patterns that every file matches."""


def parse(content: bytes) -> Document:
    """Return what a markdown file says outside our block.

    What a person put into the block below a heading that restricts it is read like the rest.

    Bytes that are not UTF-8 text are not read, nor is a file whose block is damaged: what a person
    wrote and what we did could not be told apart.
    """
    found = find(content)
    match found:
        case Refused():
            return _unread(found, "Save the file as UTF-8 text to have it read.")
        case Malformed():
            return _unread(found, "Mend or delete both marker lines to have it read.")
    keep = restricted(found.lines) if isinstance(found, Block) else ()
    statements = scan(outside(content, found, keep=keep).decode())
    if len(statements) <= STATEMENTS_MAX:
        return Document(statements=statements)
    message = (
        f"The file holds {len(statements)} statements; the first {STATEMENTS_MAX} were read."
        " Split the file to have all of them read."
    )
    cut = Problem(line=statements[STATEMENTS_MAX].line, message=message)
    return Document(statements=statements[:STATEMENTS_MAX], problems=(cut,))


def headed(holds: Callable[[Fields], bool]) -> Callable[[bytes], Document]:
    """Return how files are read that say in their header for whom they hold.

    Args:
        holds: whether a header, empty where there is none, lets a file hold everywhere. It is not
            asked about a damaged one: such a file never does.
    """

    def read(content: bytes) -> Document:
        document = parse(content)
        said = frontmatter.fields(lines_of(content.decode(errors="replace")))
        return replace(document, everywhere=said is not None and holds(said))

    return read


def _unread(found: Refused | Malformed, hint: str) -> Document:
    message = f"{found.reason[0].upper()}{found.reason[1:]}; nothing was read. {hint}"
    return Document(statements=(), problems=(Problem(line=found.line, message=message),))
