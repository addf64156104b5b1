"""Laws that every agent-file format must obey, as tests that any package can run on its formats.

Each law is a function of one Bridge that raises when the law does not hold:

    @pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
    def test_my_format_keeps_the_law(law):
        law(MY_BRIDGE)

Only this module needs Hypothesis, which the extra `laws` installs; the loaded Hypothesis profile
sets the number of examples.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from hypothesis import assume, example, given
from hypothesis import strategies as st

from bridges.block import NOTICE, Block, find, insert, outside, put, remove, replace, unreadable
from bridges.items import items, line_of
from bridges.rules import Bridge, Document

Law = Callable[[Bridge], None]
Lines = tuple[str, ...]

_MARKER = re.compile(rb"(?i)yaad:(?:begin|end)")

# Anything that markdown or a header has a use for, put together with no regard for sense.
_SHREDS: Final = st.sampled_from(
    [
        *("- ", "* ", "1. ", "2) ", "> ", "# ", "## ", "    ", "  ", "\t", " ", "-", "---", "..."),
        *("```", "~~~", "````", "<!--", "-->", "<!-- x -->", "<div>", "[ ] ", "| a | b |", "|---|"),
        *("word", "Two words.", "Never:", "表", "e\u0301", "`a`", "**b**", "@a.md", "\u2028"),
        *("globs: *.ts", "alwaysApply: true", "paths:", "  - src/**", 'applyTo: "**"', "a: b"),
        *("trigger: always_on", "inclusion: manual", "'", '"', "[", "]", "{", ": ", "#", "~"),
    ]
)
_SHREDDED: Final = st.lists(
    st.tuples(
        st.lists(_SHREDS, max_size=3).map("".join),
        st.sampled_from(["\n", "\r\n", "\r", "\n", "\n\n", ""]),
    ),
    max_size=7,
).map(lambda parts: "".join(line + end for line, end in parts))
_TEXTS: Final = _SHREDDED | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60
)

_RULES: Final = st.sampled_from(
    [
        *("Use tabs in Go files.", "Never push to main", "Run `make test` first", "表は使わない"),
        *("Use jose, not jsonwebtoken", "**Ask** before adding a dependency", "2.5 is the minimum"),
    ]
)
_RULE_LISTS: Final = st.lists(_RULES, min_size=1, max_size=6, unique=True)
_BLOCK_LINES: Final = st.lists(
    _RULES.map(lambda rule: f"- {rule}")
    | st.sampled_from(["## Style", "Some prose.", "", "  - nested", "> quoted", "  goes on"]),
    max_size=6,
).map(tuple)


def _files(bridge: Bridge) -> st.SearchStrategy[bytes]:
    """Files of the format without a block of ours, some of which begin as our own files do."""
    return st.builds(
        lambda mark, head, text: (mark + head + text).encode(),
        st.sampled_from(["", "", "\ufeff"]),
        st.sampled_from(["", bridge.preamble, bridge.preamble.replace("\n", "\r\n")]),
        _TEXTS,
    ).filter(lambda data: not _MARKER.search(data))


def _texts(document: Document) -> list[str]:
    return [statement.text for statement in document.statements]


def reading_never_raises(bridge: Bridge) -> None:
    """Any bytes parse to a Document; bytes that are not UTF-8 give no statements, and a reason."""

    @given(data=st.binary(max_size=100) | _files(bridge))
    @example(data=b"")
    @example(data=b"\xef\xbb\xbf")
    @example(data=b"\xff\xfe-\x00 \x00a\x00")
    @example(data=b"> " * 2_000 + b"deep")
    @example(data=b"- " * 2_000 + b"deep")
    @example(data=b"---\n" + b"a: [" * 2_000 + b"\n---\n- Use tabs.")
    @example(data=b"<!-- yaad:end -->\n- Use tabs.")
    def holds(data: bytes) -> None:
        document = bridge.parse(data)

        assert isinstance(document, Document)
        if unreadable(data) is not None:
            assert document.statements == ()
            assert document.problems

    holds()


def statements_stand_in_the_file_in_order_and_apart(bridge: Bridge) -> None:
    """Each has lines of its own that the file has, and they come in the order of the file."""

    @given(data=_files(bridge))
    @example(data=b"- Use tabs.\n- Never push.\n")
    def holds(data: bytes) -> None:
        statements = bridge.parse(data).statements
        count = len(re.split(r"\r\n?|\n", data.decode()))

        assert all(one.end_line <= count for one in statements)
        assert all(one.end_line < two.line for one, two in pairwise(statements))

    holds()


def line_ends_and_a_byte_order_mark_change_nothing(bridge: Bridge) -> None:
    """A file means the same with LF, CRLF and CR, and with a byte order mark."""

    @given(text=_TEXTS, preamble=st.booleans())
    @example(text="- Use tabs.\n- Never push.\n", preamble=True)
    def holds(text: str, preamble: bool) -> None:
        text = (bridge.preamble if preamble else "") + text.removeprefix("\ufeff")
        text = re.sub(r"\r\n?", "\n", text)
        said = bridge.parse(text.encode())

        assert bridge.parse(text.replace("\n", "\r\n").encode()) == said
        assert bridge.parse(text.replace("\n", "\r").encode()) == said
        assert bridge.parse(f"\ufeff{text}".encode()) == said

    holds()


def a_block_is_read_as_it_was_put(bridge: Bridge) -> None:
    """A written block is found again, and writing it again changes no byte."""

    @given(data=_files(bridge), lines=_BLOCK_LINES)
    def holds(data: bytes, lines: Lines) -> None:
        written = _with(data, lines)
        found = find(written)

        assert isinstance(found, Block)
        assert found.lines == (NOTICE, *lines)
        assert _with(written, lines) == _with(written, found.lines) == written

    holds()


def no_byte_outside_the_block_changes(bridge: Bridge) -> None:
    """Inserting, changing and removing the block preserves the file's own bytes.

    The block is preceded by as many line ends as its marker counts.
    """

    @given(
        data=_files(bridge),
        changes=st.lists(_BLOCK_LINES, min_size=1, max_size=3),
    )
    def holds(data: bytes, changes: list[Lines]) -> None:
        written = data
        for lines in changes:
            written = _with(written, lines)
            block = find(written)
            assert isinstance(block, Block)
            before = written[: block.begin].removesuffix(block.newline * block.added)
            assert before + written[block.end :] == data

        assert remove(written) == put(written, ()) == data

    holds()


def words_survive_the_block(bridge: Bridge) -> None:
    """A block at the end of a file changes none of its statements, lines or conditions."""

    @given(data=_files(bridge), lines=_BLOCK_LINES)
    def holds(data: bytes, lines: Lines) -> None:
        written = _with(data, lines)
        block = find(written)
        assert isinstance(block, Block)
        assert b"".join(outside(written, block).split()) == b"".join(data.split())
        assume(block.begin >= len(data))

        assert bridge.parse(written) == bridge.parse(data)

    holds()


def rules_in_a_block_are_read_back(bridge: Bridge) -> None:
    """Each rule is one line of the block, and is read there as the same words."""

    @given(data=_files(bridge), rules=_RULE_LISTS)
    def holds(data: bytes, rules: list[str]) -> None:
        block = find(_with(data, _rule_lines(rules)))

        assert isinstance(block, Block)
        assert [item.text for item in items(block.lines)] == rules

    holds()


def a_file_of_our_own_is_read_back(bridge: Bridge) -> None:
    """The preamble with rules below it parses to these rules, for every file and task.

    A format without a preamble is tested with none.
    """

    @given(rules=_RULE_LISTS, newline=st.sampled_from(["\n", "\r\n"]))
    def holds(rules: list[str], newline: str) -> None:
        remark = "<!-- Written by a program. -->\n\n"
        text = bridge.preamble + remark + "".join(f"{line}\n" for line in _rule_lines(rules))

        document = bridge.parse(text.replace("\n", newline).encode())

        assert _texts(document) == rules
        assert document.problems == ()
        assert document.everywhere

    holds()


LAWS: Final[tuple[Law, ...]] = (
    reading_never_raises,
    statements_stand_in_the_file_in_order_and_apart,
    line_ends_and_a_byte_order_mark_change_nothing,
    a_block_is_read_as_it_was_put,
    no_byte_outside_the_block_changes,
    words_survive_the_block,
    rules_in_a_block_are_read_back,
    a_file_of_our_own_is_read_back,
)
"""Every law; a format keeps all of them."""


def _with(data: bytes, lines: Lines) -> bytes:
    """Return a file with a block of `lines`, also when there are none."""
    has_block = isinstance(find(data), Block)
    written = replace(data, lines) if has_block else insert(data, lines)
    assert isinstance(written, bytes), written
    return written


def _rule_lines(rules: list[str]) -> Lines:
    lines = [line_of(rule) for rule in rules]
    assert None not in lines
    return tuple(filter(None, lines))
