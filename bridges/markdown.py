"""Extract statements from markdown: list items, short paragraphs and table rows.

When unsure, leave it out. A block whose words are not on its lines, letter by letter, is not a
statement; nor are code, quotes, HTML, comments, headings, front matter and link definitions.

How words become one line:

- White space is collapsed; list marker, task box and inline comments are dropped.
- The context of a statement comes first, so that the statement means the same when read alone:
  every heading above it except the title and neutral ones ("Rules"), the label above it (a line or
  an item that ends in a colon, a line in bold, a short line or a condition right above a list), the
  item it is nested in. A colon is followed by a space, anything else by " > ". A label above a list
  is not a statement of its own; an item above a nested list is.
- A table row reads `first cell: second cell`; with more columns, or a bare value in the second,
  `header: cell; header: cell`.
- Lines of a paragraph are joined, unless each of them is a complete sentence.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING, Final

from bridges import frontmatter
from bridges.instructing import (
    BODY,
    DOUBTFUL,
    LIMITED,
    TAG,
    TO_DO,
    Form,
    comment_restricts,
    is_bare_ban,
    is_neutral,
    one_line,
    restricts,
    row_words,
    why_it_stays,
    without_number,
)
from bridges.rules import STATEMENT_CHARS_MAX, Statement
from bridges.zones import replace_code, tagged

if TYPE_CHECKING:
    from bridges.outline import Block


PARAGRAPH_CHARS_MAX: Final = 600
"""Longer paragraphs are narrative and are left out."""
SOURCE_CHARS_MAX: Final = 8_000
"""A block with a longer source, indentation and comments included, is not looked into."""
BLANKS_MAX: Final = 128
"""Longer runs of blanks in a line are cut to this before parsing; no list nests that deep."""
LABEL_CHARS_MAX: Final = 60
"""A line without a full stop right above a list is its label up to this length."""
CONDITION_CHARS_MAX: Final = 120
"""A condition above a list is its label up to this length."""

HEADINGS_ASKED: Final = 2
"""A kind is looked for in so many headings, nearest first: a title does not speak for a file."""

_PLACES: Final = (
    r"(?:project|repo(?:sitory)?|code ?base|director(?:y|ies)|folders?|files?|packages?)"
)

# The kind of statements below a heading; the first matching row decides.
_KINDS: Final = (
    ("decision", r"decisions?|adrs?|rationale"),
    ("preference", r"preferences?|preferred"),
    ("convention", r"conventions?|rules?|guidelines?|standards?|styles?|principles?|practices?"),
    ("convention", r"policy|policies|naming|formatting|do['’]?s|don['’]?ts?|never|avoid"),
    ("command", r"commands?|scripts?|cheat ?sheet"),
    ("bug", r"bugs?|known (?:issues?|problems?|limitations?)"),
    ("fix", r"fix(?:es)?|workarounds?"),
    ("spec", r"specs?|specifications?|requirements?|constraints?|invariants?|contracts?"),
    ("task", r"to-?dos?|next steps|open tasks|backlog"),
    (
        "architecture",
        r"architectur(?:e|es|al)|tech(?:nology)? stack|(?:components?|modules?) overview",
    ),
    ("architecture", rf"{_PLACES} (?:structure|layout|organi[sz]ation)"),
)
_KIND_PATTERNS: Final = tuple(
    (kind, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for kind, words in _KINDS
)

# Blocks that may hang on the label above them.
_HANGING: Final = ("list", "table", "paragraph")

_LINE_END = re.compile(r"\r\n?")
_BLANK_RUN = re.compile(rf"([^\S\n]{{{BLANKS_MAX}}})[^\S\n]+")
_WHITE_LINE = re.compile(r"^[^\S\n]+$", re.MULTILINE)
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_COMMENTS = re.compile(r"<!--(?:(.*?)-->|.*)", re.DOTALL)
_CODE_BLOCK = re.compile(r"\s*(?:```|~~~)| {4}|\t")
_MARKERS = re.compile(r"(?:[*+-]|\d{1,9}[.)])*")
_LIST_LIKE = re.compile(r"\s*(?:[*+-]|\d{1,9}[.)])(?:\s|$)")
_TASK_BOX = re.compile(r"\A\s*\[[ xX]\]\s+")
_NUMBERED = re.compile(r"\s*\d{1,9}[.)]\s")
_OPEN_BOX = re.compile(r"\A\s*\[ \]\s")
_SHOWS_BELOW = re.compile(
    r"\b(?:following|below|like this|like so|as follows"
    r"|this (?:format|template|structure|pattern))\b",
    re.IGNORECASE,
)
_LIMITS = re.compile(
    r"""[\s\\*_(>"“]*(?:
        except|exceptions?|but|unless|otherwise|however|apart[ ]from|excluding
        |with[ ]the[ ]exception
        |(?:this|these|that|the[ ](?:above|rule|rules|last|previous)\b[^.:]{0,30})[ ]
         (?:only[ ])?(?:appl(?:y|ies)|holds?|is|are|does|do)\b(?:[ ]only|[ ]not|n['’]t)?
        |(?:none|not[ ]all|only[ ]some)[ ]of[ ](?:this|these|those|them|the[ ]above)
        |(?:ignore|disregard)[ ](?:this|these|those|the[ ]above)
        |not[ ](?:in|for|on|if|when)|only[ ](?:for|in|on|if|when))\b""",
    re.IGNORECASE | re.VERBOSE,
)
"""Beginnings of a text that limits the one above it."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_COLON_AT_END = re.compile(r"[:：][*_]*$")
_SENTENCE_INSIDE = re.compile(r"[.!?][*_)\"”`]*\s|[。！？]")
_SENTENCE_END = re.compile(r"[.!?。！？][*_)\"”’」』]*$")
_SENTENCE_START = re.compile(r"[*_(\"“`]*[^\W_a-z]|[*_(\"“]*`")
_ALL_BOLD = re.compile(r"(?P<mark>\*\*|__)(?:(?!(?P=mark)).)+(?P=mark)")
_IMAGE = re.compile(r"!\[[^\[\]]*\]\([^()]*\)")
_TARGET_OR_TAG = re.compile(r"\]\([^()]*\)|<[^<>]*>")
_POINTER = re.compile(r"\[[^\]]+\]:.*|@\S+(?: @\S+)*|<?https?://\S+>?|={3,}.*")


def scan(text: str, *, is_part: bool = False) -> tuple[Statement, ...]:
    """Return the statements of a markdown text in the order of their lines.

    Line ends may be CRLF, LF or CR, mixed; each counts as one. Never raises: nesting beyond the
    limit of the outline is read as plain text, which is then left out.

    Args:
        text: the whole file.
        is_part: whether the file is one of several about a project, so that its title names what
            it is about, as the heading of a section does.
    """
    return tuple(read_text(text, is_part=is_part).statements)


def read_text(text: str, *, is_part: bool = False) -> "Reader":
    """Return the reader of a text; see `scan`. It also knows what it left out."""
    lines = lines_of(text)
    blocks = _blocks(lines)
    title = None if is_part else _title_line(blocks)
    reader = Reader(lines, _visible(blocks, lines), tagged(lines), title)
    reader.read(blocks, "")
    return reader


def sources(text: str) -> tuple[str, ...]:
    """Return the text of headings, paragraphs and table rows, in order.

    Code blocks, quotes, HTML, comments and the header are left out; code within a line is not.
    """
    lines = lines_of(text)
    return tuple(_visible(_blocks(lines), lines).values())


def first_section(lines: Sequence[str]) -> int | None:
    """Return the line, from 0, of the first heading that is not the title; None without one."""
    blocks = _blocks(lines_of("\n".join(lines)))
    title = _title_line(blocks)
    return next((b.line - 1 for b in blocks if b.kind == "heading" and b.line != title), None)


def _title_line(blocks: "Sequence[Block]") -> int | None:
    """Return the line of the title: the first heading, if it is the only one of the first level."""
    found = [block for block in blocks if block.kind == "heading"]
    is_title = bool(found) and [block.level for block in found].count(1) == found[0].level == 1
    return found[0].line if is_title else None


def without_code(source: str) -> str:
    """Return a paragraph with a blank for each piece of code in its lines."""
    return replace_code(source, lambda _: " ")


def _kind_of(headings: Sequence[str]) -> str | None:
    """Return the kind that the nearest headings name, or None; outermost comes first."""
    for heading in headings[: -HEADINGS_ASKED - 1 : -1]:
        for kind, words in _KIND_PATTERNS:
            if words.search(heading):
                return kind
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Heading:
    """A heading of the current position; `lead` is the context that it and its parents give."""

    level: int
    words: str
    lead: str


class Reader:
    """Walks blocks in the order of the file and collects statements.

    `dropped`: by line, what is in a statement that was left out for it.
    """

    def __init__(
        self,
        lines: Sequence[str],
        sources: Mapping[int, str],
        tagged: Collection[int],
        title: int | None,
    ) -> None:
        self.statements: list[Statement] = []
        self.dropped: dict[int, str] = {}
        self._lines = lines
        self._tagged = tagged
        self._sources = sources
        self._title = title
        self._headings: tuple[_Heading, ...] = ()
        self._kind: str | None = None
        self._above = ""  # the words of the headings above
        self._stays = ""  # why nothing that is read just now is passed on

    def read(self, blocks: "Sequence[Block]", lead: str) -> None:
        """Read consecutive blocks that all depend on the words of `lead`.

        A block may also depend on the label right above it. When the words of that label are
        uncertain, the block is left out: it could mean the opposite without them. When it is
        uncertain for how many blocks a label or comment holds, those that may hang on it stay.
        """
        below_label: str | None = lead
        stays = self._stays
        label: Block | None = None  # holds for the blocks below, as far as anybody can tell
        level = 0
        for block, below in zip_longest(blocks, blocks[1:]):
            on, below_label = below_label, lead
            if label is not None and _ends(label, block, level):
                label = None
            self._stays = stays or (DOUBTFUL if label is not None and on is lead else "")
            if block.kind == "heading":
                self._enter(block)
                level = block.level
            elif block.kind == "paragraph":
                below_label = self._paragraph(block, below, on, lead)
            elif block.kind == "list":
                if on is not None:
                    self._list(block, below, on)
                if below is not None and below.kind == "list":  # another marker: the same list
                    below_label = on
            elif block.kind == "table" and on is not None:
                self._add_rows(block, on)
            if self._is_open(block, below):
                label = block
        self._stays = stays

    def _is_open(self, block: "Block", below: "Block | None") -> bool:
        """Return whether it is uncertain where the text ends that a label or comment is about.

        It is certain for a label right above a list or table, and for a condition above code.
        """
        source = "\n".join(self._lines[block.line - 1 : block.line + 50])
        if block.kind == "other":
            comment = _COMMENT.match(source.lstrip())
            return comment is not None and comment_restricts(comment[1])
        if block.kind != "paragraph" or below is None or below.kind in ("list", "table"):
            return False
        words = one_line(block.text)
        if is_bare_ban(words):
            return True
        is_label = _COLON_AT_END.search(words) is not None or _is_bold(words)
        is_about_code = below.kind == "other" and _CODE_BLOCK.match(self._lines[below.line - 1])
        return is_label and restricts(words) and not is_about_code

    def _list(self, block: "Block", below: "Block | None", lead: str) -> None:
        """Add the items of a list; an item that its successor limits stays in the file.

        An item that is a label, with nothing nested in it, is the label of those below, up to a
        wider gap. Whether it holds for the items below that gap is uncertain, so they stay.
        """
        stays = self._stays
        is_limited = below is not None and _limits(below)
        label: Block | None = None
        gap, end = 0, 0
        for item, after in zip_longest(block.children, block.children[1:]):
            inside = after.children[:1] if after is not None else ()
            blocks = self._inside(item)
            is_label = bool(blocks) and _is_item_label(blocks[0])
            label = None if is_label else label
            gap = gap or item.line - end
            gap = gap if item.line - end <= gap else -1
            words = self._words(label) if label is not None and gap > 0 else ""
            if is_limited or _limits(item) or any(map(_limits, inside)) or (label and not words):
                self._stays = stays or LIMITED
            elif is_label and len(blocks) == 1:
                self._stays = stays or BODY
            self._item(item, _join(lead, _TASK_BOX.sub("", words or "", count=1)))
            self._stays = stays
            if is_label and len(blocks) == 1:
                label, gap = blocks[0], 0
            end = _last_line(item)

    def _paragraph(
        self, block: "Block", below: "Block | None", on: str | None, lead: str
    ) -> str | None:
        """Say a paragraph that hangs on `on`; return what the block below it hangs on."""
        words = self._words(block)
        is_label = _is_label(block, below)
        if on is None or words is None:
            return None if is_label else lead
        is_title = is_label and below is not None and below.kind != "paragraph"
        if _is_complete(words, below) and not is_title:
            stays = BODY if _introduces_next(words, block, below) else ""
            if _limits(block) or (below is not None and _limits(below)):
                stays = stays or LIMITED
            self._say_paragraph(block, words, on, stays)
        return _join(on, words) if is_label else lead

    def _say_paragraph(self, block: "Block", words: str, lead: str, stays: str) -> None:
        parts = [(words, block.line, block.end_line)]
        if _is_list_of_sentences(block.text):
            lines = enumerate(block.text.split("\n"), block.line)
            parts = [(one_line(line), number, number) for number, line in lines]
        for part, first, last in parts:
            if len(part) <= PARAGRAPH_CHARS_MAX:
                self._add(part, first, last, lead, form="paragraph", stays=stays)

    def _item(self, item: "Block", lead: str) -> None:
        """Say a list item, then what is nested in it, which hangs on the item's words."""
        headings, stays = self._headings, self._stays
        blocks = self._inside(item)
        if blocks and blocks[0].kind == "paragraph":
            first, nested = blocks[0], blocks[1:]
            words = self._words(first)
            if words is not None:
                is_open = _OPEN_BOX.match(words) is not None
                words = _TASK_BOX.sub("", words, count=1)
                if any(_LIMITS.match(one) for one in _COMMENTS.findall(first.text)):
                    self._stays = self._stays or LIMITED
                if not _is_whole_in_parts(words, blocks):
                    self._stays = self._stays or BODY
                if _is_complete(words, nested[0] if nested else None):
                    is_step = _NUMBERED.match(self._lines[item.line - 1]) is not None
                    self._add(
                        words,
                        first.line,
                        first.end_line,
                        lead,
                        form="step" if is_step else "item",
                        stays=TO_DO if is_open else "",
                    )
                self.read(nested, _join(lead, words))
        else:
            self.read(blocks, lead)
        self._stays = stays
        if self._headings is not headings:
            self._set_headings(headings)

    def _inside(self, item: "Block") -> "list[Block]":
        """Return the blocks that are surely in a list item: on its first line, or indented.

        mistune takes a line right below an item for a part of it even when the item does not end
        in a paragraph that the line could go on with.
        """
        margin = _indent(self._lines[item.line - 1])
        return list(
            takewhile(
                lambda block: (
                    block.line == item.line or _indent(self._lines[block.line - 1]) > margin
                ),
                item.children,
            )
        )

    def _add_rows(self, table: "Block", lead: str) -> None:
        """Add the rows of a table; a row with a pipe too many is ambiguous and left out."""
        names, *rows = table.children
        for row in rows:
            if self._words(row) is None or "<!--" in row.text:
                continue
            if len(row.cells) <= len(names.cells):
                words = row_words(names.cells, row.cells)
                self._add(words, row.line, row.line, lead, form="row")

    def _enter(self, heading: "Block") -> None:
        source = self._sources.get(heading.line)
        if source is None:
            return
        words = one_line(source)
        is_title = heading.line == self._title
        is_needed = restricts(words) if is_title else not is_neutral(words)
        above = tuple(above for above in self._headings if above.level < heading.level)
        lead = _join(above[-1].lead if above else "", without_number(words) if is_needed else "")
        self._set_headings((*above, _Heading(level=heading.level, words=words, lead=lead)))

    def _set_headings(self, headings: tuple[_Heading, ...]) -> None:
        """Set the current headings."""
        self._headings = headings
        self._kind = _kind_of([heading.words for heading in headings])
        self._above = headings[-1].lead if headings else ""

    def _add(
        self,
        words: str,
        line: int,
        end_line: int,
        lead: str,
        *,
        form: Form = "item",
        stays: str = "",
    ) -> None:
        """Add a statement, unless it has no words or there are too many."""
        hangs_on = _join(self._above, lead)
        text = _join(hangs_on, words)
        if not _has_words(words):
            return
        if len(text) > STATEMENT_CHARS_MAX:
            self.dropped[line] = f"more than {STATEMENT_CHARS_MAX} characters"
            return
        headings = tuple(heading.words for heading in self._headings if heading.words)
        self.statements.append(
            Statement(
                text=text,
                line=line,
                end_line=end_line,
                headings=headings,
                kind=self._kind,
                lead=hangs_on,
                stays=self._stays
                or stays
                or (TAG if line - 1 in self._tagged else "")
                or why_it_stays(words, form, label=hangs_on, kind=self._kind),
            )
        )

    def _words(self, block: "Block") -> str | None:
        """Return the words of a block on one line; None when uncertain."""
        source = self._sources.get(block.line)
        if source is None or not self._is_verbatim(block):
            return None
        if any(map(_LIST_LIKE.match, block.text.split("\n"))):
            return None  # a list that markdown does not see as one
        words = one_line(source)
        if _CONTROL.search(words):
            self.dropped[block.line] = "control characters"
            return None
        return words or None

    def _is_verbatim(self, block: "Block") -> bool:
        """Return whether the block's lines hold its letters, after markers at most."""
        there = _letters("".join(self._lines[block.line - 1 : block.end_line]))
        own = _letters(block.text)
        before = len(there) - len(own)
        return there.endswith(own) and _MARKERS.fullmatch(there, 0, before) is not None


def lines_of(text: str) -> list[str]:
    """Return the lines of a text as the parser gets them: as many as the file has."""
    text = _LINE_END.sub("\n", text.removeprefix("\ufeff"))
    return _WHITE_LINE.sub("", _BLANK_RUN.sub(r"\1", text)).split("\n")


def _blocks(lines: Sequence[str]) -> "tuple[Block, ...]":
    from bridges.outline import outline  # it imports mistune, which a daemon should not at start

    skipped = frontmatter.length(lines)
    return outline(lines[skipped:], first_line=skipped + 1)


def _visible(blocks: "Iterable[Block]", lines: Sequence[str]) -> dict[int, str]:
    """Return by line the source of each block, without comments, that no comment hides.

    A comment that starts in the middle of a block ends for markdown with the block, but for its
    author only at the next `-->`: until there, nothing is believed.
    """
    comment_ends = [number for number, line in enumerate(lines, 1) if "-->" in line]
    hidden_until = 0
    sources: dict[int, str] = {}
    for block in _text_blocks(blocks):
        text = block.text
        if block.line <= hidden_until:
            continue
        too_long = len(text) > SOURCE_CHARS_MAX
        if too_long:
            opens = text.rfind("<!--") > text.rfind("-->")
        else:
            opens = "<!--" in text and "<!--" in replace_code(text, lambda _: "")
        if opens:
            after = bisect_right(comment_ends, block.end_line)
            hidden_until = next(iter(comment_ends[after : after + 1]), block.end_line)
        elif not too_long:
            sources[block.line] = replace_code(text, _keep_code) if "<!--" in text else text
    return sources


def _text_blocks(blocks: "Iterable[Block]") -> "Iterator[Block]":
    for block in blocks:
        if block.kind in ("heading", "paragraph", "row"):
            yield block
        yield from _text_blocks(block.children)


def _is_label(block: "Block", below: "Block | None") -> bool:
    """Return whether the text below a paragraph depends on it."""
    if below is None or below.kind not in _HANGING:
        return False
    words = one_line(block.text)
    if _COLON_AT_END.search(words) or _is_bold(words) or is_bare_ban(words):
        return True
    if below.kind == "list" and block.line == block.end_line and restricts(words):
        return len(words) <= CONDITION_CHARS_MAX and below.line <= block.end_line + 2
    right_above = below.line == block.end_line + 1 and block.line == block.end_line
    return right_above and len(words) <= LABEL_CHARS_MAX and not _SENTENCE_END.search(words)


def _ends(label: "Block", block: "Block", level: int) -> bool:
    """Return whether no block from this one on is about a label below a heading of `level`."""
    if block.kind == "heading":
        is_right_below = bool(label.text) and block.line <= label.end_line + 2
        return block.level <= level or not is_right_below
    return block.kind == "paragraph" and all(_is_bold(one_line(x.text)) for x in (label, block))


def _is_item_label(block: "Block") -> bool:
    """Return whether a list item says nothing without those below: "Never:", "Never", "On CI,"."""
    words = one_line(block.text)
    cut_off = words.endswith(",") or words.strip("*_!").replace("'", "").isalpha()
    return block.kind == "paragraph" and bool(
        _COLON_AT_END.search(words) or (cut_off and restricts(words)) or is_bare_ban(words)
    )


def _last_line(block: "Block") -> int:
    return max([block.end_line, *map(_last_line, block.children)])


def _limits(block: "Block") -> bool:
    """Return whether a block, or its first item, limits the text above."""
    if block.kind in ("list", "item"):
        return bool(block.children) and _limits(block.children[0])
    return block.kind == "paragraph" and _LIMITS.match(block.text) is not None


def _is_whole_in_parts(words: str, blocks: "Sequence[Block]") -> bool:
    """Return whether the statements of a list item together cover all of it.

    True for a label above a list: each item below it has the label in front. False for an item with
    a body of its own or with code, which no statement includes.
    """
    if len(blocks) == 1:
        return True
    is_label = _COLON_AT_END.search(words) is not None or _is_bold(words)
    return is_label and all(block.kind == "list" for block in blocks[1:])


def _introduces_next(words: str, block: "Block", below: "Block | None") -> bool:
    """Return whether a paragraph refers to the code or list right below it."""
    return (
        below is not None
        and below.kind in ("other", "list", "table")
        and below.line <= block.end_line + 2
        and _SHOWS_BELOW.search(words) is not None
    )


def _is_complete(words: str, below: "Block | None") -> bool:
    """Return whether words are complete without the block below them."""
    kind = below.kind if below is not None else "heading"
    if _COLON_AT_END.search(words):
        return kind not in _HANGING and _SENTENCE_INSIDE.search(words) is not None
    return kind in ("heading", "paragraph") or not _is_bold(words)


def _is_bold(words: str) -> bool:
    return _ALL_BOLD.fullmatch(words) is not None and not _SENTENCE_END.search(words)


def _is_list_of_sentences(source: str) -> bool:
    """Return whether each line of a paragraph is a sentence, so that joining would mix them up."""
    lines = [line.strip() for line in source.split("\n")]
    return "<!--" not in source and all(
        _SENTENCE_START.match(line)
        and _SENTENCE_END.search(line)
        and line.count("`") % 2 == 0
        and line.count("**") % 2 == 0
        for line in lines
    )


def _has_words(words: str) -> bool:
    """Return whether words are more than pictures, tags, rulers, bare links and imports."""
    if _POINTER.fullmatch(words):
        return False
    visible = _TARGET_OR_TAG.sub("", _IMAGE.sub("", words))
    return sum(map(str.isalnum, visible)) >= 2


def _join(lead: str, words: str) -> str:
    """Put the context in front of words."""
    if not lead or not words:
        return lead or words
    return f"{lead} {words}" if _COLON_AT_END.search(lead) else f"{lead} > {words}"


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())


def _letters(source: str) -> str:
    return "".join(source.split())


def _keep_code(found: re.Match[str]) -> str:
    return found.group() if found["ticks"] else ""
