"""Real agent files of public repositories: read completely, written and left byte for byte."""

import csv
import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from bridges.block import Block, find, insert, put, remove
from bridges.instructing import is_neutral, without_number
from bridges.outline import outline
from bridges.reading import parse
from bridges.registry import for_path

CORPUS = Path(__file__).parents[2] / "../shared/bench/agent-files"
FILES = sorted(path for path in CORPUS.glob("*__*") if path.is_file())
INDEX = (
    [*csv.DictReader((CORPUS / "index.tsv").open(encoding="utf-8"), delimiter="\t")]
    if FILES
    else []
)
FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
pytestmark = pytest.mark.skipif(not FILES, reason=f"no agent files in {CORPUS}")


def _text(path):
    """The text as another parser should see it: front matter gone, its lines still counted."""
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    return FRONT_MATTER.sub(lambda found: "\n" * found.group().count("\n"), text)


def _seen(text):
    """Lines of headings, items, paragraphs and rows outside quotes, as markdown-it-py has them."""
    lines = {"heading_open": [], "list_item_open": [], "paragraph_open": [], "tr_open": []}
    quotes = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type in lines and not quotes:
            lines[token.type].append((token.map[0] + 1, token.map[1]))
    return lines


def _blocks(blocks, kind):
    for block in blocks:
        if block.kind == kind:
            yield block
        yield from _blocks(block.children, kind)


def test_there_are_agent_files_to_read():
    assert len(FILES) >= 18


@each_file
def test_every_file_is_read_without_a_problem(path):
    document = parse(path.read_bytes())

    assert document.problems == ()
    assert document.statements or b"\n@" in path.read_bytes()


@each_file
def test_blocks_stand_where_another_parser_sees_them(path):
    seen = _seen(_text(path))

    blocks = outline(_text(path).split("\n"))

    assert [b.line for b in _blocks(blocks, "heading")] == [a for a, _ in seen["heading_open"]]
    assert [b.line for b in _blocks(blocks, "item")] == [a for a, _ in seen["list_item_open"]]
    assert [b.line for b in _blocks(blocks, "row")] == [a for a, _ in seen["tr_open"]]
    paragraphs = [(b.line, b.end_line) for b in _blocks(blocks, "paragraph")]
    assert paragraphs == seen["paragraph_open"]


@each_file
def test_a_statement_is_where_another_parser_sees_words(path):
    seen = _seen(_text(path))
    spans = [*seen["paragraph_open"], *seen["tr_open"]]

    for statement in parse(path.read_bytes()).statements:
        assert any(a <= statement.line and statement.end_line <= b for a, b in spans)


@each_file
def test_most_of_what_a_file_says_is_told(path):
    """What is left out: labels of what follows, long stories, imports. Never most of a file."""
    seen = _seen(_text(path))
    spans = [*seen["paragraph_open"], *seen["tr_open"]]
    statements = parse(path.read_bytes()).statements

    told = sum(any(a <= s.line and s.end_line <= b for s in statements) for a, b in spans)

    assert told >= 0.5 * len(spans) or len(spans) < 4


@each_file
@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\r\n", b"\n"),
        lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
        lambda raw: b"\xef\xbb\xbf" + raw.removeprefix(b"\xef\xbb\xbf"),
        lambda raw: raw.removeprefix(b"\xef\xbb\xbf"),
        lambda raw: raw.rstrip(b"\r\n"),
        lambda raw: raw + b"\n\n",
    ],
    ids=["LF", "CRLF", "CR", "BOM", "no-BOM", "no-final-newline", "blank-lines"],
)
def test_encoding_and_line_ends_change_nothing(path, change):
    raw = path.read_bytes()

    assert parse(change(raw)) == parse(raw)


CRLF = re.compile(rb"\r\n|\r|\n")
VARIANTS = {
    "raw": lambda raw: raw,
    "CRLF": lambda raw: CRLF.sub(b"\r\n", raw),
    "BOM": lambda raw: b"\xef\xbb\xbf" + raw.removeprefix(b"\xef\xbb\xbf"),
    "no-final-newline": lambda raw: raw.rstrip(b"\r\n"),
}
RULES = ["- Use tabs in Go files", "- Run `make test` first", "- 表は使わない"]


def _bridge(path):
    """The format that a file had in its repository; where it had none, the one of its name."""
    row = next(row for row in INDEX if row["file"] == path.name)
    place = row["source"].split(":", 1)[1]
    by_name = {".mdc": ".cursor/rules/x.mdc", ".md": "AGENTS.md"}
    return for_path(place) or for_path(by_name[path.suffix])


def test_the_files_are_of_many_formats():
    names = {_bridge(path).name for path in FILES}

    assert names >= {"agents", "claude", "claude-rules", "cursor-rules", "copilot", "cline-rules"}


@each_file
def test_every_file_is_read_in_its_own_format(path):
    raw = path.read_bytes()
    document = _bridge(path).parse(raw)

    assert document.problems == ()
    assert [(one.line, one.end_line, one.own) for one in document.statements] == [
        (one.line, one.end_line, one.own) for one in parse(raw).statements
    ]
    for change in VARIANTS.values():
        assert _bridge(path).parse(change(raw)) == document


@each_file
def test_every_heading_but_neutral_ones_stands_in_front(path):
    for statement in _bridge(path).parse(path.read_bytes()).statements:
        for heading in statement.headings[1:]:
            assert is_neutral(heading) or without_number(heading) in statement.lead


@pytest.mark.parametrize(
    ("name", "everywhere"),
    [
        ("jlowin__fastmcp__cursor--rules--core-mcp-objects.mdc", True),
        ("eyaltoledano__claude-task-master__assets--rules--taskmaster.mdc", True),
        ("nwiizo__tfmcp__cursor--rules--001_rust.mdc", False),
        ("vercel__workflow__cursor--rules--workflow-deployment.mdc", False),
        ("dyoshikawa__rulesync__claude--rules--coding-guidelines.md", False),
        ("cline__cline__clinerules--protobuf-development.md", True),
    ],
)
def test_headers_of_real_files_say_for_whom_they_hold(name, everywhere):
    path = CORPUS / name

    assert _bridge(path).parse(path.read_bytes()).everywhere is everywhere


@each_file
@pytest.mark.parametrize("variant", VARIANTS)
def test_in_changed_and_out_again_leaves_every_byte_and_every_word(path, variant):
    data = VARIANTS[variant](path.read_bytes())
    bridge = _bridge(path)
    said = bridge.parse(data)

    written = insert(data, RULES)
    changed = put(written, [*RULES[1:], "- One more"])

    for file in (written, changed):
        block = find(file)
        assert isinstance(block, Block)
        before = file[: block.begin].removesuffix(block.newline * block.added)
        assert before + file[block.end :] == data
        assert remove(file) == put(file, ()) == data
        document = bridge.parse(file)
        assert [s.text for s in document.statements] == [s.text for s in said.statements]
        assert document.everywhere is said.everywhere
