"""Is what is still there a shell by now: does it call itself deprecated, is its list elsewhere?"""

import re

from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import Kind

HEAD_LINES = 30
"""Where a file speaks of itself."""
ABOVE_LINES, BELOW_LINES = 8, 12
"""Where it speaks of a definition, seen from its first line."""
_MARK = re.compile(
    r"""
    ^\W*deprecated\b                       # @Deprecated, .. deprecated::, // Deprecated: ...
    | ^\W*obsolete\b
    | \[Obsolete\b | \bDeprecationWarning\b
    | \b(?:is|are|has[ ]been|have[ ]been)[ ](?:now[ ])?(?:deprecated|superseded[ ]by|obsolete)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MOVED = re.compile(
    r"\bthis[ ](?:file|page|document|guide|module|package|script)[ ]"
    r"(?:(?:has|was)[ ](?:been[ ])?moved|moved[ ]to|is[ ]now[ ]in|now[ ]lives[ ]in)\b",
    re.IGNORECASE,
)
_INSTEAD = re.compile(
    r"(?:use|import[ ]from|prefer|superseded[ ]by|replaced[ ]by|in[ ]favou?r[ ]of|moved[ ]to)"
    r"[ ](?:the[ ])?(?::\w+:)?[`'\"*]*([A-Za-z_][\w./:@-]*\w)",
    re.IGNORECASE,
)


_NO_MEMBER = re.compile(
    r"\s*(?:(?:import|from|package|use|using|require|include|#include|module|namespace|<\?php)\b"
    r"|warnings\.|declare\s*\(|export\s+[*{]|['\"]use |[\"']{3})"
)
"""A line that defines nothing: what stands right above it is on the file."""
_OF_A_NAME = re.compile(
    r"(?:[`'\"]|\(\)|\w[._:]\w+|[a-z0-9][A-Z]\w*|[A-Z_]{3,})[`'\"]?\s+"
    r"(?:is|are|has been|have been)\s[^.]*$"
)
"""What is called deprecated is a name, and not the file that says so."""
_REMARKS = ("@", "#", "/", "*", "[", ".", '"', "'", ")", "--", ";", "<!")
"""How a line begins that remarks on the definition below it."""
_OF_MEMBERS = ("@", "#", "/", "*", "[", "--", ";", "<!")
"""How one begins that inside a definition remarks on a member of it."""
_ITEM = re.compile(rb"\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`")
_ITEMS_MIN = 3
"""What held so many texts, and holds less than a third of them, has them from elsewhere."""


def emptied(then: bytes, now: bytes, path: str, symbol: str) -> bool:
    """Return whether a constant or a key that listed texts lists next to none any more.

    Args:
        then: the file as it was.
        now: the file as it is.
        path: its name, which tells the language.
        symbol: the definition.
    """
    before, after = _items(then, path, symbol), _items(now, path, symbol)
    if before is None or after is None:
        return False
    return before >= max(_ITEMS_MIN, 3 * after)


def _items(source: bytes, path: str, symbol: str) -> int | None:
    """Return how many texts a constant or a key lists; None for anything else."""
    found = definitions.define(source, path, symbol)
    kinds = {one.kind for one in definitions.names(source, path) if one.line == found.line}
    if found.line is None or not kinds & {Kind.VALUE, Kind.KEY}:
        return None
    lines = source.split(b"\n")[found.line - 1 : found.end_line]
    return len(_ITEM.findall(b"\n".join(lines)))


def says_so(data: bytes, line: int | None = None) -> bool:
    """Return whether the head of a file, or what is around a line of it, calls it deprecated."""
    around = _around(data, line)
    if line is not None:
        return any(map(_MARK.search, around))
    marks = ((one, _MARK.search(one)) for one in around)
    return any(found and not _OF_A_NAME.search(one[: found.end()]) for one, found in marks)


def has_moved(data: bytes) -> bool:
    """Return whether a file says at its head that it, or what it said, is elsewhere now."""
    head = data.decode("utf-8", "replace").split("\n")[:HEAD_LINES]
    return any(map(_MOVED.search, head))


def instead(data: bytes, line: int | None = None) -> str:
    """Return what is named there to be used instead; '' when nothing is."""
    lines = _around(data, line)
    for at, one in enumerate(lines):
        if _MARK.search(one):
            found = _INSTEAD.search(" ".join(part.strip() for part in lines[at : at + 4]))
            return found.group(1) if found else ""
    return ""


def _around(data: bytes, line: int | None) -> list[str]:
    """Return the head of a file; or a definition's own remarks, its line, and what is inside.

    What a condition, a member or a parameter says is not about the whole.
    """
    lines = data.decode("utf-8", "replace").split("\n")
    if line is None:
        return _before_block(_of_file(lines[:HEAD_LINES]))
    lines = lines[: line + BELOW_LINES]
    first = line - 1
    while lines[first - 1 : first] and lines[first - 1].lstrip().startswith(_REMARKS):
        first -= 1
    first = max(first, line - 1 - ABOVE_LINES)
    depth, last = _depth(lines[line - 1 : line]), line
    while last < len(lines) and (not lines[last].strip() or _depth(lines[last : last + 1]) > depth):
        last += 1
    more = lines[line - 1 : line] and lines[line - 1].rstrip().endswith(("(", ","))
    return [*lines[first:line], *([] if more else _own(lines[line:last]))]


def _own(body: list[str]) -> list[str]:
    """Return what is inside a definition without what is about its members and parameters."""
    base = next((_depth([one]) for one in body if one.strip()), 0)
    return [
        one
        for one in _before_block(body)
        if not one.lstrip().startswith(_OF_MEMBERS)
        and not (one.lstrip().startswith("..") and _depth([one]) > base)
    ]


def _before_block(lines: list[str]) -> list[str]:
    """Return the lines before the first that begins a block, and before the remarks on that."""
    for at, one in enumerate(lines):
        if one.rstrip().endswith((":", "{")) and not one.lstrip().startswith(_REMARKS):
            end = at
            while end and lines[end - 1].lstrip().startswith(_REMARKS):
                end -= 1
            return lines[:end]
    return lines


def _of_file(lines: list[str]) -> list[str]:
    """Return the head of a file without the remarks right above a definition: those are on that."""
    kept: list[str] = []
    remarks: list[str] = []
    for one in lines:
        if one.lstrip().startswith(_OF_MEMBERS) and not one.lstrip().startswith("#include"):
            remarks.append(one)
            continue
        if not one.strip() or _NO_MEMBER.match(one):
            kept += remarks
        remarks = []
        kept.append(one)
    return [*kept, *remarks]


def _depth(lines: list[str]) -> int:
    return sum(len(line) - len(line.lstrip()) for line in lines)
