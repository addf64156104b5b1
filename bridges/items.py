"""Which of the lines in a managed block are rules: list items at the margin, with what they say.

Headings, prose, nested items, code and comments that a person typed there are no rules; whoever
writes the block again leaves them where they are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bridges.block import Absent, find
from bridges.rules import STATEMENT_CHARS_MAX
from bridges.zones import zones

MARKER: Final = "- "
"""What a new rule begins with."""

_ITEM = re.compile(r"(?P<marker> ?(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)(?P<text>\S.*)")
_GOES_ON = re.compile(r"(?: {2,}|\t)\s*(?![>#|]|(?:[-*+]|\d{1,9}[.)])\s)(?=.*\w)\S")
_COMMENT = re.compile(r"<!--.*?-->")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A rule in a block.

    Args:
        first: index of its first line in the block.
        last: index of its last line: indented text right below goes on with it.
        marker: what stands before its words, a task box included.
        text: its words on one line.
        raw: its lines as they stand there, joined by line feeds.
    """

    first: int
    last: int
    marker: str
    text: str
    raw: str


def items(lines: Sequence[str]) -> tuple[Item, ...]:
    """Return the rules among the lines of a block, in their order. Never raises.

    A comment that nothing closes hides no rule: its author means to go on writing.
    """
    known = zones(lines)
    shown = [kind == "text" for kind in known.kinds]
    if known.open_html is not None:
        shown[known.open_html + 1 :] = [True] * (len(lines) - known.open_html - 1)
    found: list[Item] = []
    index = 0
    while index < len(lines):
        first, index = index, index + 1
        item = _ITEM.fullmatch(lines[first])
        if item is None or not shown[first] or not _says_something(item["text"]):
            continue
        while index < len(lines) and shown[index] and _GOES_ON.match(lines[index]):
            index += 1
        own = [item["text"], *lines[first + 1 : index]]
        if sum(map(len, own)) > STATEMENT_CHARS_MAX:
            continue  # a text, and no rule
        found.append(
            Item(
                first=first,
                last=index - 1,
                marker=item["marker"],
                text=" ".join(" ".join(own).split()),
                raw="\n".join(lines[first:index]),
            )
        )
    return tuple(found)


def line_of(text: str, marker: str = MARKER) -> str | None:
    """Return the line that says `text` in a block; None if no line there can say it.

    A line cannot hold the markers of the block, and it must be read back as the same words.
    """
    words = " ".join(text.split())
    line = marker + words
    if not isinstance(find(line.encode("utf-8", "surrogatepass")), Absent):
        return None
    return line if [item.text for item in items([line])] == [words] else None


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, _COMMENT.sub("", text)))
