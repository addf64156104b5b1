"""Bytes in, statements or one clear reason out; and which path has which format."""

import pytest

from bridges.formats.plain import STATEMENTS_MAX, parse
from bridges.registry import BRIDGES, for_path
from bridges.rules import Problem, Statement


def test_a_file_is_read():
    document = parse(b"\xef\xbb\xbf# Rules\r\n\r\n- Use tabs.\r\n")

    assert document.problems == ()
    assert document.statements == (
        Statement(text="Use tabs.", line=3, end_line=3, headings=("Rules",), kind="convention"),
    )


def test_an_empty_file_says_nothing_and_is_no_problem():
    assert parse(b"") == parse(b"\n") == parse(b"\xef\xbb\xbf")
    assert parse(b"").problems == ()


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"- ok\n- caf\xe9\n", 2, "Byte 0xe9 in line 2 is not UTF-8; nothing was read."),
        (b"- ok\n\n- \0", 3, "Byte 0x00 in line 3 is NUL; nothing was read."),
        ("- ok".encode("utf-16"), 1, "Byte 0xff in line 1 is not UTF-8; nothing was read."),
    ],
)
def test_bytes_that_are_not_text_are_not_read_and_the_place_is_named(content, line, message):
    document = parse(content)

    assert document.statements == ()
    assert document.problems == (
        Problem(line=line, message=f"{message} Save the file as UTF-8 text to have it read."),
    )


def test_too_many_statements_are_cut_and_that_is_said():
    full = "\n".join(f"- rule {number}" for number in range(STATEMENTS_MAX))

    assert parse(full.encode()).problems == ()

    document = parse(f"{full}\n- one\n- two".encode())
    assert len(document.statements) == STATEMENTS_MAX
    assert document.problems == (
        Problem(
            line=STATEMENTS_MAX + 1,
            message="The file holds 2002 statements; the first 2000 were read."
            " Split the file to have all of them read.",
        ),
    )


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("CLAUDE.md", "claude"),
        ("AGENTS.md", "agents"),
        (".cursorrules", "cursorrules"),
        ("packages/web/AGENTS.md", "agents"),
    ],
)
def test_a_path_has_the_format_of_its_name(path, name):
    bridge = for_path(path)

    assert bridge is not None
    assert bridge.name == name


@pytest.mark.parametrize("path", ["", "README.md", "claude.md", "MYCLAUDE.md", "CLAUDE.md/x"])
def test_other_paths_have_none(path):
    assert for_path(path) is None


def test_names_and_paths_are_taken_once():
    assert len({bridge.name for bridge in BRIDGES}) == len(BRIDGES)
    paths = [path for bridge in BRIDGES for path in bridge.paths]
    assert len(set(paths)) == len(paths)


@pytest.mark.parametrize(("line", "end_line"), [(0, 1), (2, 1), (-1, -1)])
def test_a_statement_without_a_place_cannot_exist(line, end_line):
    with pytest.raises(ValueError, match="lines count from 1"):
        Statement(text="Use tabs.", line=line, end_line=end_line)


def test_a_statement_without_words_cannot_exist():
    with pytest.raises(ValueError, match="has words"):
        Statement(text="", line=1, end_line=1)
