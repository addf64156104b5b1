"""Read and write the rules in a managed block: list items at the margin, each with its body.

A rule includes its nested items, code, tables, further paragraphs and continued lines. A list below
a label ("Never do these:") is one rule with its label. Headings and prose that a person typed are
not rules, and stay where they are when the block is rewritten. Text below a heading that restricts
when it applies is not a rule of the block: it would lose the condition.

Rules are escaped, because agents read some characters as syntax: `@path` imports a file, `<!--`
hides what follows. Formatters add escapes of their own. Neither changes the meaning, so words are
compared without escapes.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from bridges.block import Absent, find, is_notice
from bridges.instructing import comment_restricts, is_bare_ban, is_neutral, restricts
from bridges.rules import STATEMENT_CHARS_MAX
from bridges.zones import tagged, zones

_CODE = re.compile(r"(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_AT_WORD = re.compile(r"(?<![\w@`/.:-])@(?=[\w.~/\\-])\S+")
_COMMENT_START = "<!--"
_BLOCK_START = re.compile(
    r"(?P<sign>#{1,6}(?=\s|$)|[-*+>|](?=\s|$)|>|~{3}|(?:-{3,}|\*{3,}|_{3,}|={3,})$|\[[ xX]\](?=\s))"
)
_NUMBER = re.compile(r"(?P<number>\d{1,9})(?P<dot>[.)])(?=\s|$)")
_LINK = re.compile(r"<(https?://[^<>\s]+)>")
_TICKED_AT = re.compile(r"`(@[^`]*)`")
_STARS = re.compile(r"(?:(?<!\s)\s++)?([*_]++)\s*")

_END_OF_SENTENCE: Final = ".,;:!?)"


def escaped(words: str) -> str:
    """Return words in which nothing imports a file or opens a comment; code is left as it is."""
    parts, done = [], 0
    for code in _CODE.finditer(words):
        parts += [_escaped_text(words[done : code.start()]), code.group()]
        done = code.end()
    # A marker of the block is one even in code.
    return "".join((*parts, _escaped_text(words[done:]))).replace(_COMMENT_START, "<\\!--")


def escaped_start(words: str) -> str:
    """Return words that begin no heading, list, quote, ruler or task box, and are `escaped`."""
    words = escaped(words)
    if _BLOCK_START.match(words):
        return "\\" + words
    return _NUMBER.sub(r"\g<number>\\\g<dot>", words, count=1) if _NUMBER.match(words) else words


def bare(text: str) -> str:
    """Return a key that ignores Markdown escapes and emphasis, for comparing texts.

    Stars are counted, because file patterns contain them.
    """
    text = _LINK.sub(r"\1", text.replace("\\", ""))
    text = _TICKED_AT.sub(r"\1", text)
    return " ".join(_STARS.sub(lambda found: "*" * len(found[1]), text).split())


def _escaped_text(words: str) -> str:
    # Beside a tick that opens no code, another one would.
    return _AT_WORD.sub(r"\\\g<0>" if "`" in words else _in_code, words)


def _in_code(found: re.Match[str]) -> str:
    """Put `@path` into code, where no agent follows it; the end of a sentence stays outside."""
    word = found.group()
    path = word.rstrip(_END_OF_SENTENCE)
    return word if path == "@" else f"`{path}`{word[len(path) :]}"


MARKER: Final = "- "
"""What a new rule begins with."""

INDENT: Final = "  "
"""Put before each line of the body of a rule."""

_ITEM = re.compile(r"(?P<marker> ?(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?)(?P<text>\S.*)")
_INDENTED = re.compile(r"(?: {2}|\t)\s*\S")
_STARTS_BLOCK = re.compile(r"\s*(?:[>|]|#{1,6}(?:\s|$)|(?:[-*+]|\d{1,9}[.)])(?:\s|$)|`{3}|~{3}|<)")
_PARAGRAPH = re.compile(r"(?=.*\w)\S.*")
_NO_PARAGRAPH = re.compile(r"\s*(?:[|#<]|`{3}|~{3})")
_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<words>.*?))?[ \t]*#*[ \t]*")
_UNDERLINE = re.compile(r" {0,3}(?P<sign>[=-])(?P=sign)*[ \t]*")
_ALL_BOLD = re.compile(r"(?P<mark>\*\*|__)(?:(?!(?P=mark)).)+(?<![.!?])(?P=mark)")
_LABEL_END = re.compile(r"[:：][*_]*$")
_COMMENT = re.compile(r"<!--(.*?)-->")
_COMMENTS = re.compile(r"<!--.*?-->|(<!--.*)")
"""Each comment; the group has one that does not end, up to the end of its line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A rule in a block.

    Args:
        first: index of its first line in the block.
        last: index of its last line, the body included.
        marker: the list marker, with a task box if any; "" for a label above a list.
        text: its words: the first paragraph on one line, the body on the lines below.
        raw: its original lines, joined by line feeds.
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
    return tuple(
        item
        for item in _Reader(lines).read()
        if len(item.text) <= STATEMENT_CHARS_MAX  # longer: a text, and no rule
    )


def parts_lines(lines: Sequence[str], item: Item) -> bool:
    """Return whether removing a rule would join the line below it to the line above."""
    above, below = lines[: item.first], lines[item.last + 1 :]
    return bool(
        above and below and above[-1].strip() and below[0].strip() and not _ITEM.fullmatch(below[0])
    )


def restricted(lines: Sequence[str]) -> frozenset[int]:
    """Return the lines of a block below a heading that restricts when they apply."""
    return _restricted(lines, _shown(lines))


def line_of(text: str, marker: str = MARKER) -> str | None:
    """Return the lines that render `text` in a block, joined by line feeds; None if impossible.

    They never contain the markers of the block, and parse to the same words.
    """
    whole = text.strip()
    flat = "" if "```" in whole or "~~~" in whole else " ".join(whole.split())
    for words in dict.fromkeys((whole, flat)):
        lines = _lines_of(words, marker or MARKER) if words else []
        if lines and _is_one_rule(lines, whole):
            return "\n".join(lines)
    return None


def _is_one_rule(lines: Sequence[str], text: str) -> bool:
    """Return whether lines are one rule with these words, and nothing of them marks a block."""
    if not isinstance(find("\n".join(lines).encode("utf-8", "surrogatepass")), Absent):
        return False
    return (
        [(item.last, bare(item.text)) for item in items(lines)] == [(len(lines) - 1, bare(text))]
        # An unclosed fence or comment would swallow the lines below.
        and [(item.first, item.last) for item in items([*lines, "- x"])][1:] == [(len(lines),) * 2]
    )


def _lines_of(text: str, marker: str) -> list[str]:
    first, *body = text.split("\n")
    while body and body[0].strip() and not _STARTS_BLOCK.match(body[0]):
        first += " " + body.pop(0)
    lines = [marker + escaped_start(" ".join(first.split()))]
    for line, kind in zip(body, zones(body).kinds, strict=True):
        if not line.strip():
            lines.append("")
        elif kind == "fence":
            lines.append(INDENT + line.rstrip())
        else:
            lines.append(INDENT + _escaped_line(line.rstrip()))
    return lines


def _escaped_line(line: str) -> str:
    """Return a line of a body, escaped: lists and tables stay, headings do not."""
    words = line.lstrip()
    blanks = line[: len(line) - len(words)]
    words = escaped(words)
    return blanks + ("\\" + words if words.startswith("#") else words)


class _Reader:
    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._shown = _shown(lines)
        self._is_restricted = _restricted(lines, self._shown)

    def read(self) -> Iterable[Item]:
        index = 0
        while index < len(self._lines):
            item = self._item(index)
            if item is None:
                index += 1
            else:
                index = item.last + 1
                if item.text:
                    yield item
                else:  # a label: it may hold for the items below a gap, too
                    index = self._end_of_list(index)

    def _item(self, first: int) -> Item | None:
        """Return the rule that begins in a line; without words, a label without a list."""
        if not self._shown[first] or first in self._is_restricted:
            return None
        found = _ITEM.fullmatch(self._lines[first])
        if found is None:
            return self._labelled(first, first + 1, "", self._lines[first].strip())
        if not _has_words(found["text"]):
            return None
        head, after = self._paragraph(first, found["text"])
        last = self._end(after)
        if last == after and _is_label(head):
            labelled = self._labelled(first, after, found["marker"], head)
            return labelled or self._made(first, last, "", "", ())
        return self._made(first, last, found["marker"], head, self._lines[after:last])

    def _labelled(self, first: int, after: int, marker: str, label: str) -> Item | None:
        """Return a label with the list below it, as one rule; None if it has none.

        The label of a list is a line of its own, or an item that ends in a colon or forbids without
        saying what, and has no body.
        """
        if not _is_label(label) or _STARTS_BLOCK.match(label):
            return None
        start = after
        if not marker and start < len(self._lines) and not self._lines[start].strip():
            start += 1
        end = start
        while end < len(self._lines) and self._shown[end] and _ITEM.fullmatch(self._lines[end]):
            end = self._end(end + 1)
        if end == start:
            return None
        return self._made(first, end, marker, label, self._lines[start:end])

    def _end_of_list(self, index: int) -> int:
        """Return the index of the line below the items that begin in a line, or below a gap."""
        end = index
        while index < len(self._lines):
            if _ITEM.fullmatch(self._lines[index]):
                index = end = self._end(index + 1)
            elif self._lines[index].strip():
                break
            else:
                index += 1
        return end

    def _made(self, first: int, end: int, marker: str, head: str, body: Sequence[str]) -> Item:
        return Item(
            first=first,
            last=end - 1,
            marker=marker,
            text="\n".join((head, *_dedented(body))),
            raw="\n".join(self._lines[first:end]),
        )

    def _paragraph(self, first: int, words: str) -> tuple[str, int]:
        """Return the first paragraph of an item on one line, and the index of the line below."""
        index = first + 1
        while index < len(self._lines) and self._continues_paragraph(index):
            index += 1
        return " ".join(" ".join([words, *self._lines[first + 1 : index]]).split()), index

    def _continues_paragraph(self, index: int) -> bool:
        """Return whether a line goes on with the paragraph above it."""
        line = self._lines[index]
        return (
            self._shown[index]
            and index not in self._is_restricted
            and not _STARTS_BLOCK.match(line)
            and _PARAGRAPH.match(line.strip()) is not None
            and not self._is_label(index)
        )

    def _is_label(self, index: int) -> bool:
        """Return whether a line at the margin is a label with a list below it."""
        line = self._lines[index]
        if _INDENTED.match(line) or not _LABEL_END.search(line.strip()):
            return False
        below = self._lines[index + 1 : index + 3]
        first = below[1:] if below and not below[0].strip() else below
        return bool(first) and _ITEM.fullmatch(first[0]) is not None

    def _end(self, index: int) -> int:
        """Return the index of the line below an item whose first paragraph ends above `index`."""
        in_paragraph = True
        end = index
        while index < len(self._lines):
            line = self._lines[index]
            if not line.strip():
                in_paragraph = False
            elif _INDENTED.match(line):
                in_paragraph = self._shown[index] and not _NO_PARAGRAPH.match(line)
                end = index + 1
            elif in_paragraph and self._continues_paragraph(index):
                end = index + 1
            elif not self._shown[index] and not self._shown[index - 1]:
                end = index + 1  # code that began in the body, at any indentation
            else:
                break
            index += 1
        return end


def _is_label(words: str) -> bool:
    """Return whether a line or an item is about the list below it."""
    return _LABEL_END.search(words) is not None or is_bare_ban(words)


def _shown(lines: Sequence[str]) -> list[bool]:
    known = zones(lines)
    shown = [kind == "text" for kind in known.kinds]
    if known.open_html is not None:
        shown[known.open_html + 1 :] = [True] * (len(lines) - known.open_html - 1)
    return shown


def _restricted(lines: Sequence[str], shown: Sequence[bool]) -> frozenset[int]:
    found = set(tagged(lines))
    open_level = 0
    below_words = False
    below_label = False  # whose reach is uncertain
    for index, line in enumerate(lines):
        heading = _heading(lines, index) if shown[index] else None
        if heading is not None:
            level, words = heading
            if open_level and level > open_level:
                found.add(index)
                continue
            open_level = 0 if is_neutral(words) else level
            below_words = below_label = False
        elif shown[index] and _is_prose(line) and _begins(lines[:index]):
            words = line.strip()
            is_bold = _ALL_BOLD.fullmatch(words) is not None
            is_needed = (is_bold and not is_neutral(words)) or restricts(line)
            below_words = is_needed and not _is_label(words)
            below_label = below_label and not is_bold
            if is_needed and _is_label(words):
                below_label |= not _holds_for_next(words, lines[index + 1 : index + 3])
        elif (comment := _COMMENT.fullmatch(line.strip())) and not is_notice(line.strip()):
            below_label |= comment_restricts(comment[1])
        if open_level or below_words or below_label:
            found.add(index)
    return frozenset(found)


def _holds_for_next(label: str, below: Sequence[str]) -> bool:
    """Return whether a label holds for the list or code right below it, and for no more."""
    first = below[1:] if below and not below[0].strip() else below
    if not first:
        return False
    is_code = re.match(r"`{3}|~{3}", first[0]) is not None
    return _ITEM.fullmatch(first[0]) is not None or (is_code and not is_bare_ban(label))


def _heading(lines: Sequence[str], index: int) -> tuple[int, str] | None:
    """Return level and words of the heading that begins in a line, underlined ones too."""
    found = _HEADING.fullmatch(lines[index])
    if found is not None:
        return len(found["marks"]), found["words"] or ""
    below = _UNDERLINE.fullmatch(lines[index + 1]) if index + 1 < len(lines) else None
    if below is not None and _is_prose(lines[index]) and _begins(lines[:index]):
        return (1 if below["sign"] == "=" else 2), lines[index].strip()
    return None


def _begins(above: Sequence[str]) -> bool:
    """Return whether a line of prose begins a paragraph, and goes on with nothing above it."""
    last = above[-1].strip() if above else ""
    return not last or is_notice(last) or last.startswith(("#", "<"))


def _is_prose(line: str) -> bool:
    """Return whether a line at the margin is of a paragraph, and not the notice of the block."""
    return (
        bool(line.strip())
        and not line[0].isspace()
        and not _STARTS_BLOCK.match(line)
        and not is_notice(line)
    )


def _dedented(body: Sequence[str]) -> list[str]:
    """Return the body of a rule from its own margin; lines that lag behind join those above."""
    lines: list[str] = []
    for line in body:
        wide = line.expandtabs(4).rstrip()
        if wide and not wide.startswith(" ") and lines and lines[-1] and not _ITEM.fullmatch(wide):
            lines[-1] += " " + wide
        else:
            lines.append(wide)
    margin = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
    return [line[margin:] for line in lines]


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, _COMMENTS.sub(r"\1", text)))
