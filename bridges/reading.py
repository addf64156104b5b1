"""Read a markdown agent file: its statements outside our block, their scope, and its imports.

An import is an `@path` at the start of a word outside code, as Claude Code reads them; a backslash
escapes a space in the name, and `#` starts a fragment. The caller checks that the file exists and
may be read: `@types/node` in a sentence looks the same.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from bridges import frontmatter
from bridges.block import Absent, Block, Malformed, Refused, find, outside
from bridges.frontmatter import Fields
from bridges.items import restricted
from bridges.markdown import lines_of, read_text, sources, without_code
from bridges.rules import STATEMENT_CHARS_MAX, Document, Problem

STATEMENTS_MAX: Final = 2_000
DROPPED_NAMED_MAX: Final = 3
"""Statements taken from one file."""

PATTERNS_MAX: Final = 4
"""Patterns of files that words name; more are a list."""
_PLAIN_PATTERN = re.compile(r"(?!!)[\w.*?/{},@+-]{1,80}")

_ALL_FILES: Final = frozenset({"*", "**", "**/*"})
"""Patterns that every file matches."""


def parse(content: bytes, *, is_part: bool = False) -> Document:
    """Return the statements of a markdown file outside our block.

    Text that a person added to the block below a restricting heading is read like the rest.

    Bytes that are not UTF-8 are not read, nor is a file whose block is damaged: a person's words
    could not be distinguished from ours.

    Args:
        content: the file.
        is_part: whether it is one of several files about a project: its title counts as a heading.
    """
    found = find(content)
    if isinstance(found, Refused | Malformed):
        hint = "Mend or delete both marker lines to have it read."
        if isinstance(found, Refused):
            hint = "Save the file as UTF-8 text to have it read."
        message = f"{found.reason[0].upper()}{found.reason[1:]}; nothing was read. {hint}"
        return Document(statements=(), problems=(Problem(line=found.line, message=message),))
    keep = restricted(found.lines) if isinstance(found, Block) else ()
    said = outside(content, found, keep=keep).decode()
    reader = read_text(said, is_part=is_part)
    statements, problems = tuple(reader.statements), _problems(reader.dropped)
    if len(statements) <= STATEMENTS_MAX:
        return Document(statements=statements, problems=problems)
    message = (
        f"The file holds {len(statements)} statements; the first {STATEMENTS_MAX} were read."
        " Split the file to have all of them read."
    )
    cut = Problem(line=statements[STATEMENTS_MAX].line, message=message)
    return Document(statements=statements[:STATEMENTS_MAX], problems=(cut, *problems))


def _problems(dropped: Mapping[int, str]) -> tuple[Problem, ...]:
    """Return what to say about lines that were left out: of the first few each by itself."""
    first = sorted(dropped.items())[:DROPPED_NAMED_MAX]
    said = [
        Problem(line=at, message=f"Line {at} is not read: it has {what}.") for at, what in first
    ]
    if len(dropped) > len(first):
        more = f"Nor are {len(dropped) - len(first)} other lines."
        said.append(Problem(line=None, message=more))
    return tuple(said)


parse_part: Final = partial(parse, is_part=True)
"""Reads one of several files about a project: its title counts as a heading."""


def headed(
    holds: Callable[[Fields], bool],
    files: Callable[[Fields], tuple[str, ...]] = lambda _: (),
) -> Callable[[bytes], Document]:
    """Return a parser for files whose header restricts where they apply.

    A statement that applies to some files only is prefixed with the condition in words, so that it
    keeps its meaning elsewhere.

    Args:
        holds: whether a header, empty where there is none, lets a file apply everywhere. Not called
            for a damaged header: such a file never does.
        files: returns the patterns of the files to which the header restricts it.
    """

    def read(content: bytes) -> Document:
        said = frontmatter.fields(lines_of(content.decode(errors="replace")))
        named = files(said) if said is not None else ()
        if for_all_files(named) or (said is not None and holds(said)):
            return parse_part(content)
        condition = in_words(named)
        document = parse(content, is_part=not condition)
        statements = document.statements
        if condition:
            under = (
                replace(one, text=f"{condition} {one.text}", lead=f"{condition} {one.lead}".strip())
                for one in statements
            )
            statements = tuple(one for one in under if len(one.text) <= STATEMENT_CHARS_MAX)
        return replace(document, statements=statements, everywhere=False, condition=condition)

    return read


def for_all_files(patterns: Sequence[str]) -> bool:
    """Return whether every file matches one of the patterns, and none excludes any."""
    is_exclusion = any(pattern.startswith("!") for pattern in patterns)
    return not is_exclusion and not _ALL_FILES.isdisjoint(patterns)


def in_words(patterns: Sequence[str]) -> str:
    """Return the condition that a rule applies to some files, in words; "" if not expressible."""
    if not 1 <= len(patterns) <= PATTERNS_MAX or not all(map(_PLAIN_PATTERN.fullmatch, patterns)):
        return ""
    if any(pattern.count("{") != pattern.count("}") for pattern in patterns):
        return ""
    return f"For files matching {' or '.join(f'`{pattern}`' for pattern in patterns)}:"


IMPORTS_MAX: Final = 100
"""Files taken in by one file; more of them are left out."""
PATH_CHARS_MAX: Final = 1_000

_IMPORT = re.compile(r"(?<!\S)@(?P<path>(?:\\ |[^\s\\])+)")
_DRIVE = re.compile(r"[A-Za-z]:")
_START = re.compile(r"[A-Za-z0-9._-]")


def imports(content: str | bytes) -> tuple[str, ...]:
    """Return the paths that a file imports, each once, relative to the file's own folder.

    Absolute paths and paths in a home folder are left out: they are outside the project. Our block
    imports nothing. Never raises: an unreadable file has no imports.
    """
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    found = find(data)
    if not isinstance(found, Absent | Block):
        return ()
    paths: dict[str, None] = {}
    for source in sources(outside(data, found).decode()):
        for match in _IMPORT.finditer(without_code(source)):
            path = match["path"].replace("\\ ", " ").split("#", 1)[0].removeprefix("./")
            is_plain = len(path) <= PATH_CHARS_MAX and path.isprintable()
            if is_plain and _START.match(path) and not _DRIVE.match(path):
                paths[path] = None
            if len(paths) == IMPORTS_MAX:
                return tuple(paths)
    return tuple(paths)
