"""Parse markdown into blocks with the line on which each of them starts.

mistune keeps no positions. The two subclasses below add the line: a block starts at the parser's
cursor, and a list item is parsed from a text that has the same lines as the file. Callers still
compare a block with its lines before they trust the position.

Importing this module imports mistune, which costs some 20 ms and 5 MB; import it only when the
first file is read.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from re import Match
from typing import Any, Literal

from mistune.block_parser import BlockParser
from mistune.core import BlockState
from mistune.helpers import BLOCK_TAGS, PRE_TAGS

NESTING_MAX = 20
"""Lists and quotes inside one another; what is deeper is read as plain text."""

Kind = Literal["heading", "paragraph", "list", "item", "table", "row", "other"]

_MARKER = re.compile(r"(?<![ \t])[ \t]*+(?:[*+-]|\d{1,9}[.)])")
_PIPE = re.compile(r"(?<!\\)\|")
_RULE_CELL = re.compile(r":?-+:?")
_INDENTED = re.compile(r" {4}| {0,3}\t")

# A line with a pipe, and under it a line of dashes, colons and pipes. Nothing here can match in
# two ways, so a line of a million pipes costs no more than a million steps.
_TABLE = r"^ {0,3}(?=[^\n|]*\|)[^\s][^\n]*\n {0,3}[|:\- \t]+$"

# mistune's own pattern does not see `<div>` or `<pre>` at the end of a list item or quote, only
# `<div ...>`, and would take what is in them for words of the item.
_BLOCK_HTML = (
    r"^ {0,3}(?:</?(?:" + "|".join((*BLOCK_TAGS, *PRE_TAGS)) + r")(?=[\s/>]|$)"
    r"|<!--|<\?|<![A-Z]|<!\[CDATA\[)"
)

_ENDS_TABLE = ["fenced_code", "atx_heading", "thematic_break", "block_quote", "list", "block_html"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of a text. Code, quotes, HTML and rules are "other": only that they are there.

    Args:
        line: the line it starts on, from 1.
        text: the source of a heading, paragraph or table row, without list markers.
        level: of a heading, 1 to 6.
        cells: of a table row.
        children: the items of a list, the blocks of an item, the rows of a table (header first).
    """

    kind: Kind
    line: int
    text: str = ""
    level: int = 0
    cells: tuple[str, ...] = ()
    children: "tuple[Block, ...]" = ()

    @property
    def end_line(self) -> int:
        """The last line of the text, inclusive."""
        return self.line + self.text.count("\n")


def outline(lines: Sequence[str], *, first_line: int = 1) -> tuple[Block, ...]:
    """Return the blocks of a markdown text in their order; `lines` carry no line ends."""
    state = _State()
    state.first_line = first_line
    state.process("\n".join(lines) + "\n")
    _parser().parse(state)
    return _blocks(state.tokens)


class _State(BlockState):
    """A text that is being parsed, and the line of the file that it starts on."""

    first_line = 1

    def __init__(self, parent: "_State | None" = None) -> None:
        super().__init__(parent)
        # Whose text `child_state` is asked for: the start of a list item, or None for a quote.
        # A stack, because a quote that ends a list is parsed before the list's last item.
        self.containers: list[int | None] = []
        self._line_ends: list[int] = []

    def process(self, src: str) -> None:
        super().process(src)
        self._line_ends = [found.start() for found in re.finditer("\n", src)]

    def line_at(self, position: int) -> int:
        """Return the line of the file for a position in this text."""
        return self.first_line + bisect_left(self._line_ends, position)

    def child_state(self, src: str, lazy_line_starts: set[int] | None = None) -> BlockState:
        child = _State(self)
        child.process(src)
        if lazy_line_starts:
            child.lazy_line_starts = lazy_line_starts
        start = self.containers[-1]
        if start is not None:
            # mistune leaves a first line out that holds nothing but the marker.
            line = self.line_at(start)
            bare = not _MARKER.sub("", self.get_line(start), count=1).strip()
            child.first_line = line + bare
            child.tokens.append({"type": "marker", "line": line})
            # Should another item follow, then its marker is on the line that was read last.
            self.containers[-1] = self.src.rfind("\n", 0, max(self.cursor - 1, 0)) + 1
        return child

    def add_paragraph(self, text: str) -> None:
        super().add_paragraph(text)
        self.tokens[-1].setdefault("line", self.line_at(self.cursor))

    def append_token(self, token: dict[str, Any]) -> None:
        if token["type"] == "block_code":
            token["line"] = self.line_at(self.cursor)
        super().append_token(token)


class _Parser(BlockParser):
    """mistune's block parser; every token it makes knows its line."""

    state_cls = _State

    def parse_method(self, m: Match[str], state: BlockState) -> int | None:
        known = len(state.tokens)
        end = super().parse_method(m, state)
        for token in state.tokens[max(known - 1, 0) :]:  # a quote may be put before the last one
            token.setdefault("line", _own(state).line_at(m.start()))
        return end

    def parse_list(self, m: Match[str], state: BlockState) -> int:
        containers = _own(state).containers
        containers.append(m.start())
        end = super().parse_list(m, state)
        containers.pop()
        return end

    def parse_block_quote(self, m: Match[str], state: BlockState) -> int:
        containers = _own(state).containers
        containers.append(None)
        end = super().parse_block_quote(m, state)
        containers.pop()
        return end


def _own(state: BlockState) -> _State:
    assert isinstance(state, _State)  # noqa: S101  (mistune makes states by `state_cls` only)
    return state


@cache
def _parser() -> _Parser:
    """Return the one parser; it keeps nothing between texts but compiled patterns."""
    parser = _Parser(max_nested_level=NESTING_MAX)
    parser.specification["block_html"] = _BLOCK_HTML
    parser.register("table", _TABLE, _parse_table)
    parser.insert_rule(parser.list_rules, "table")
    return parser


def _parse_table(parser: BlockParser, m: Match[str], state: BlockState) -> int | None:
    """Read a table as GitHub does; its rows need not have as many cells as the header.

    mistune's own plugin gives a whole table up for one row with a pipe too many, and its time
    grows with the square of the rows when it does.
    """
    header, rule = m.group().split("\n")
    names = _cells(header)
    rules = _cells(rule)
    if "|" not in rule or len(names) != len(rules) or not all(map(_RULE_CELL.fullmatch, rules)):
        return None
    line = _own(state).line_at(m.start())
    rows = [Block(kind="row", line=line, text=header, cells=names)]
    ends = parser.compile_sc(_ENDS_TABLE)
    position = m.end() + 1
    while position < state.cursor_max:
        row = state.get_line(position)
        if "|" not in row or _INDENTED.match(row) or ends.match(state.src, position):
            break
        text = row.rstrip("\n")
        rows.append(Block(kind="row", line=line + len(rows) + 1, text=text, cells=_cells(text)))
        position += len(row)
    state.append_token({"type": "table", "line": line, "rows": rows})
    return position


def _cells(row: str) -> tuple[str, ...]:
    """Return the cells of a table row; `\\|` is a pipe inside a cell."""
    inner = row.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return tuple(cell.strip().replace("\\|", "|") for cell in _PIPE.split(inner))


def _blocks(tokens: Iterable[dict[str, Any]]) -> tuple[Block, ...]:
    """Return mistune's tokens as blocks in the order of their lines.

    mistune puts a quote that a list ends before the last token, which is not always that list.
    """
    blocks = [_block(token) for token in tokens if token["type"] not in ("blank_line", "marker")]
    return tuple(sorted(blocks, key=lambda block: block.line))


def _block(token: dict[str, Any]) -> Block:
    line: int = token["line"]
    match token["type"]:
        case "heading":
            text = token["text"].rstrip("\n")
            return Block(kind="heading", line=line, text=text, level=token["attrs"]["level"])
        case "paragraph" | "block_text":
            return Block(kind="paragraph", line=line, text=token["text"].rstrip("\n"))
        case "table":
            return Block(kind="table", line=line, children=tuple(token["rows"]))
        case "list":
            items = (item["children"] for item in token["children"])
            children = (
                Block(kind="item", line=marker["line"], children=_blocks(inside))
                for marker, *inside in items
            )
            return Block(kind="list", line=line, children=tuple(children))
        case _:
            return Block(kind="other", line=line)
