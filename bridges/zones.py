"""Find the lines of a markdown text that are code, commented out or inside a tag.

A line-by-line reading of CommonMark's containers: enough to find where a fence or a comment begins
and ends, in lists too. It needs no parser, so it is cheap on any bytes.

A tag such as `<details>` or `<bad_example>` may restrict its content, or mark it as wrong. Tags
that only frame instructions do not.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

Zone = Literal["text", "fence", "html"]

_FENCE = re.compile(r" {0,3}(?P<marks>`{3,}(?!.*`)|~{3,})")
_HTML: Final = (
    (re.compile(r" {0,3}<!--"), re.compile(r"-->")),
    (
        re.compile(r" {0,3}<(?:pre|script|style|textarea)(?=[\s>]|$)", re.IGNORECASE),
        re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE),
    ),
)
"""HTML that goes on over blank lines: how it begins, and what ends it."""

_ITEM = re.compile(r"(?P<marker> {0,3}(?:[-*+]|(?P<number>\d{1,9})[.)]))(?P<gap>[ \t]+|$)")
_STARTS_BLOCK = re.compile(r" {0,3}(?:#{1,6}(?:[ \t]|$)|>|<)")
_CODE_INDENT = 4
_ITEMS_IN_LINE_MAX = 100
"""List items that begin in one line; what a longer row of markers opens is not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Zones:
    """What each line is.

    Args:
        kinds: one for each line; the lines that open or close a fence or comment belong to it.
        open_fence: index of the line that opens a fence at the margin which nothing closes.
        open_html: index of the line that opens a comment, or code in HTML, which nothing closes.
    """

    kinds: tuple[Zone, ...]
    open_fence: int | None
    open_html: int | None


def zones(lines: Iterable[str]) -> Zones:
    """Tell code and comments from text; `lines` carry no line ends. Never raises."""
    reader = _Reader()
    kinds = tuple(reader.read(index, line.expandtabs(4)) for index, line in enumerate(lines))
    fence, html = reader.fence, reader.html
    return Zones(
        kinds=kinds,
        open_fence=fence.line if fence is not None and not fence.margin else None,
        open_html=html.line if html is not None else None,
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """An open container: its end, the column of its list item's text, its first line."""

    end: re.Pattern[str]
    margin: int
    line: int


class _Reader:
    def __init__(self) -> None:
        self.fence: _Open | None = None
        self.html: _Open | None = None
        self._items: list[int] = []  # where the text of each open list item begins
        self._in_paragraph = False
        self._is_bare = False  # the last line was an item's marker and nothing else

    def read(self, index: int, line: str) -> Zone:
        """Return the zone of a line, given those before it."""
        blank = not line.strip()
        indent = len(line) - len(line.lstrip(" "))
        if not blank:
            self._leave(indent)
        if self.fence is not None:
            if self.fence.end.fullmatch(line[self.fence.margin :]):
                self.fence = None
            return "fence"
        if self.html is not None:
            if self.html.end.search(line):
                self.html = None
            return "html"
        if blank:
            if self._is_bare:
                self._items.pop()
            self._in_paragraph = self._is_bare = False
            return "text"
        return self._text(index, line, indent)

    def _leave(self, indent: int) -> None:
        """Close everything inside a list item that a less indented line has ended."""
        if self.fence is not None and indent < self.fence.margin:
            self.fence = None
        if self.html is not None and indent < self.html.margin:
            self.html = None

    def _text(self, index: int, line: str, indent: int) -> Zone:
        margin = max((column for column in self._items if column <= indent), default=0)
        rest = line[margin:]
        goes_on = self._in_paragraph and not self._starts_block(rest)
        self._is_bare = False
        if not goes_on:
            self._items = [column for column in self._items if column <= margin and column]
            margin, rest = self._enter_items(margin, rest)
        if opened := _FENCE.match(rest):
            marks = opened["marks"]
            end = re.compile(rf" {{0,3}}{marks[0]}{{{len(marks)},}}[ \t]*")
            self.fence = _Open(end, margin, index)
            self._in_paragraph = False
            return "fence"
        for begin, end in _HTML:
            if begin.match(rest):
                self.html = None if end.search(rest) else _Open(end, margin, index)
                self._in_paragraph = False
                return "html"
        indented_code = rest.startswith(" " * _CODE_INDENT) and not goes_on
        block = _STARTS_BLOCK.match(rest) or _is_ruler(rest)
        self._in_paragraph = bool(rest.strip()) and not indented_code and not block
        return "text"

    def _starts_block(self, rest: str) -> bool:
        """Return whether a line ends the paragraph above it."""
        if _FENCE.match(rest) or _is_ruler(rest) or _STARTS_BLOCK.match(rest):
            return True
        item = _ITEM.match(rest)
        if item is None:
            return False
        in_list = bool(self._items)
        return in_list or (item["number"] in (None, "1") and bool(rest[item.end() :].strip()))

    def _enter_items(self, margin: int, rest: str) -> tuple[int, str]:
        """Open the list items that begin in a line; return where the rest of it begins."""
        for _ in range(_ITEMS_IN_LINE_MAX):
            item = None if _is_ruler(rest) else _ITEM.match(rest)
            if item is None:
                break
            gap = len(item["gap"])
            bare = not rest[item.end() :].strip()
            width = len(item["marker"]) + (1 if bare or gap > _CODE_INDENT else gap)
            margin += width
            rest = rest[width:]
            self._items.append(margin)
            self._is_bare = bare
        return margin, rest


def _is_ruler(line: str) -> bool:
    marks = line.replace(" ", "")
    return len(marks) > 2 and marks[0] in "-*_" and marks.count(marks[0]) == len(marks)


_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)(?:\s[^<>]*)?(?P<empty>/?)>")
_CLOSING = re.compile(r"</(?P<name>[A-Za-z][\w-]*)\s*>")
"""Of each name the last one in a file counts."""
_STARTS = re.compile(r" {0,3}</?[A-Za-z]")
_FENCE_LINE = re.compile(r" {0,3}(?:`{3}|~{3})")
_PLAIN: Final = re.compile(
    r"(?:project|coding|code|general|core|global|agent|critical|system|key|my|our|the)?[-_]?"
    r"(?:rules?|instructions?|guidelines?|conventions?|important|policy|policies|requirements?"
    r"|principles?|standards?|system|reminder|styles?|preferences?|memory|memories|context|project"
    r"|div|p|section|center|span|a|b|i|em|strong|ul|ol|li|br|hr|img|input)",
    re.IGNORECASE,
)
"""Names of tags that do not change the meaning of their content, or that hold no lines."""


def tagged(lines: Sequence[str]) -> frozenset[int]:
    """Return the lines, from 0, inside a tag that may change what they mean; its own among them.

    A name in angle brackets that is never closed is no tag.
    """
    found: set[int] = set()
    opened: list[str] = []
    in_fence = False
    closed = {
        tag["name"].lower(): (index, tag.end())
        for index, line in enumerate(lines)
        for tag in _CLOSING.finditer(line)
    }
    for index, line in enumerate(lines):
        in_fence ^= _FENCE_LINE.match(line) is not None
        if in_fence or not _STARTS.match(line):
            found |= {index} if opened else set()
            continue
        for tag in _TAG.finditer(line):
            name = tag["name"].lower()
            if tag["end"]:
                if name in opened:
                    found.add(index)
                    del opened[opened.index(name) :]
            elif (
                not tag["empty"]
                and not _PLAIN.fullmatch(name)
                and (index, tag.end()) < closed.get(name, (0, 0))
            ):
                opened.append(name)
        found |= {index} if opened else set()
    return frozenset(found)


_CODE = r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)"
_CODE_SPAN = re.compile(_CODE, re.DOTALL)
_CODE_OR_COMMENT = re.compile(rf"{_CODE}|<!--.*?-->|(?P<open><!--.*)", re.DOTALL)


def replace_code(text: str, put: Callable[[re.Match[str]], str]) -> str:
    """Replace each piece of code and each comment that ends; an open comment is text."""

    def one(found: re.Match[str]) -> str:
        return _CODE_SPAN.sub(put, found["open"]) if found["open"] else put(found)

    return _CODE_OR_COMMENT.sub(one, text)
