"""Laws of the managed block: no byte outside changes, and it goes as if it had never been there."""

import re
from itertools import pairwise

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bridges.block import (
    NOTICE,
    Absent,
    Block,
    Malformed,
    Refused,
    find,
    insert,
    remove,
    replace,
    restricted_by,
)
from bridges.items import bare, items, line_of
from bridges.markdown import scan
from bridges.registry import parse
from bridges.zones import zones

shreds = st.sampled_from(
    [
        *("- ", "* ", "1. ", "2) ", "> ", "# ", "## ", "    ", "  ", "\t", " ", "-", "---", "***"),
        *("```", "~~~", "````", "```py", "<!--", "-->", "<!-- x -->", "word", "two words", "yaad:"),
        *("\u2028", "\x0b", "表", "e\u0301", "`a`", "[ ] "),
    ]
)
shredded_lines = st.lists(shreds, max_size=4).map("".join)
line_ends = st.sampled_from(["\n", "\r\n", "\r", "\n", "\n\n", ""])
shredded = st.lists(st.tuples(shredded_lines, line_ends), max_size=12).map(
    lambda parts: "".join(line + end for line, end in parts)
)
plain_texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
files = st.builds(
    lambda mark, text: (mark + text).encode(),
    st.sampled_from(["", "", "\ufeff"]),
    shredded | plain_texts,
).filter(lambda data: not re.search(rb"(?i)yaad:(?:begin|end)", data))

rules = st.sampled_from(
    ["- Use tabs.", "- Use jose, not jsonwebtoken", "* `make test` first", "- 表", "1. one"]
)
extras = st.sampled_from(["## Style", "Some prose.", "", "  - nested", "> quoted", "  goes on"])
blocks = st.lists(rules | extras, max_size=6).map(tuple)


def with_notice(lines):
    return (NOTICE, *lines)


@given(data=st.binary(max_size=200) | files)
@example(data=b"")
@example(data=b"<!-- yaad:end -->")
@example(data=b"<!-- yaad:begin v=1 nl=0 -->\r")
@example(data=b"\xff<!-- yaad:begin v=1 nl=0 -->\n<!-- yaad:end -->")
def test_looking_for_a_block_never_raises(data):
    found = find(data)

    assert isinstance(found, Absent | Block | Malformed | Refused)
    assert isinstance(found, Refused) is (b"\0" in data or not _is_utf8(data))
    assert (remove(data) == data) or not isinstance(found, Absent)


def _is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


@given(data=files, lines=blocks)
def test_the_block_has_the_line_end_that_most_lines_have(data, lines):
    newline = find(insert(data, lines)).newline
    counts = {
        end: len(re.findall(form, data))
        for end, form in {b"\n": rb"(?<!\r)\n", b"\r\n": rb"\r\n", b"\r": rb"\r(?!\n)"}.items()
    }

    assert counts[newline] == max(counts.values())
    assert newline == b"\n" or counts[newline] > counts[b"\n"]


@given(data=files)
@example(data=b"# Never\n\n- x\n")
@example(data=b"Never do:\n- x")
@example(data=b"# One\n\n# If you write SQL\n\n- x\n")
@example(data=b"Only on Windows\n===\n\n- x\n")
def test_a_rule_in_a_new_block_reads_as_if_it_stood_alone(data):
    written = insert(data, ["- Use the tabs."])

    found = [one for one in scan(written.decode()) if one.own == "Use the tabs."]
    assert restricted_by(written) == ""
    assert [one.text for one in found] == ["Use the tabs."]
    assert len(found[0].headings) <= 1


# Everything that can happen to a marker line, but for the block going as a whole.
def _mutations(marker):
    yield "deleted", []
    yield "doubled", [marker, marker]
    yield "indented", ["  " + marker]
    yield "tabbed", ["\t" + marker]
    yield "quoted", ["> " + marker]
    yield "listed", ["- " + marker]
    yield "padded", [marker + " "]
    yield "shouted", [marker.upper()]
    yield "fenced", ["```", marker, "```"]
    yield "fenced by tildes", ["~~~", marker, "~~~"]
    yield "fence opened before", ["```", marker]
    yield "fence opened after", [marker, "```"]
    yield "joined", [marker + "word"]
    yield "of another version", [marker.replace("v=1", "v=2").replace("yaad:end", "yaad:end v=2")]
    for cut in range(len(marker)):
        yield f"cut at {cut}", [marker[:cut]]
        yield f"beheaded at {cut}", [marker[cut + 1 :]]
        for more in ("x", " ", "-", "1"):
            yield f"{more!r} put in at {cut}", [marker[:cut] + more + marker[cut:]]


BEGIN, END = "<!-- yaad:begin v=1 nl=1 -->", "<!-- yaad:end -->"


@pytest.mark.parametrize("marker", [BEGIN, END])
def test_a_damaged_marker_is_never_taken_for_a_whole_one(marker):
    """The other marker then stands alone, so no damage to one of them looks like no block."""
    file = ["# Rules", "", BEGIN, "- Use tabs.", "- Use jose.", END, "Own words."]
    number = file.index(marker)

    for name, instead in _mutations(marker):
        data = "\n".join([*file[:number], *instead, *file[number + 1 :]]).encode()
        found = find(data)
        if instead and instead[0] == marker and instead != [marker, marker] and marker == END:
            assert isinstance(found, Block), name  # a fence below the block is not our business
        else:
            assert isinstance(found, Malformed), name
            assert 1 <= found.line <= len(file) + 2
            assert str(found.line) in found.reason
            for written in (insert(data, ["- a"]), replace(data, ["- a"]), remove(data)):
                assert written == found
            assert parse(data).statements == ()


@given(data=files, lines=blocks, position=st.integers(0), more=st.binary(max_size=12))
def test_whatever_is_put_into_a_file_it_has_its_block_or_none_to_write(data, lines, position, more):
    written = insert(data, lines)
    position %= len(written) + 1
    changed = written[:position] + more + written[position:]

    assert not isinstance(find(changed), Absent)


@given(data=files, lines=blocks, position=st.integers(0))
def test_a_file_that_ends_too_early_has_its_block_none_at_all_or_none_to_write(
    data, lines, position
):
    """Half a block is never the block of a person who deleted the other half."""
    written = insert(data, lines)
    block = find(written)
    position %= len(written) + 1

    found = find(written[:position])

    if isinstance(found, Block):
        assert found.lines == block.lines
    elif position >= block.begin + len(BEGIN):
        assert isinstance(found, Malformed | Refused)


@given(data=files, lines=blocks, after=st.sampled_from(["Own words.\n", "- mine", "# T\n"]))
def test_what_was_added_below_the_block_stays_on_lines_of_its_own(data, lines, after):
    written = insert(data, lines)
    assume(find(written).end == len(written))

    left = remove(written + after.encode())

    assert left.removeprefix(b"\xef\xbb\xbf").splitlines()[-1].decode() == after.splitlines()[-1]
    assert left.startswith(data)
    assert len(left.splitlines()) <= len(data.splitlines()) + len(after.splitlines()) + 1


bad_lines = st.sampled_from(["a\nb", "a\rb", "a\0", "\ud800", BEGIN, f"- {END}", "```", "~~~ md"])


@given(data=files, line=bad_lines)
def test_lines_that_would_damage_the_block_are_not_written(data, line):
    assert isinstance(insert(data, ["- a", line]), Refused)
    assert isinstance(replace(insert(data, []), [line]), Refused)


@given(text=plain_texts | st.text() | bad_lines)
@example(text="[ ] box")
@example(text="<!-- hidden -->")
def test_a_line_says_its_words_or_there_is_none(text):
    line = line_of(text)

    if line is not None:
        lines = line.split("\n")
        assert [bare(item.text) for item in items(lines)] == [bare(text)]
        written = insert(b"", lines)
        assert items(find(written).lines)[0].raw == line


@given(lines=st.lists(shredded_lines, max_size=10))
def test_rules_are_read_where_they_stand_and_once(lines):
    found = items(lines)

    for item in found:
        assert item.raw == "\n".join(lines[item.first : item.last + 1])
        assert item.raw.startswith(item.marker)
        assert item.text
    assert all(one.last < two.first for one, two in pairwise(found))


def _is_fenced_for_another_parser(lines):
    tokens = MarkdownIt("commonmark").parse("\n".join([*lines, "<!-- probe -->"]))
    return any(token.type == "fence" and "probe" in token.content for token in tokens)


@given(lines=st.lists(shredded_lines, max_size=10))
@example(lines=["- ```", "  code", "  ```", "text"])
@example(lines=["- foo", "bar", "  ```", "```"])
@example(lines=["- ", "", "  ```"])
@example(lines=["<!-->", "```"])
@example(lines=["1. a", "", "   ```", "   b", "c"])
def test_a_fence_is_open_where_another_parser_sees_it_open(lines):
    known = zones([*lines, "<!-- probe -->"])

    assert (known.kinds[-1] == "fence") is _is_fenced_for_another_parser(lines)
