"""First syncs: every shape of file that is known to have cost somebody bytes."""

from pathlib import Path

import pytest

from bridges.block import Block, Malformed, find, insert, outside, put, remove, replace
from bridges.reading import parse
from bridges.registry import BRIDGES, PLAIN

RULES = ["- Use tabs in Go files", "- Run `make test` first", "- 表は使わない"]

SHAPES = {
    "empty": b"",
    "one line end": b"\n",
    "only empty lines": b"\n\n\n",
    "only blanks": b" \t ",
    "only a byte order mark": b"\xef\xbb\xbf",
    "byte order mark": b"\xef\xbb\xbf# Rules\n\n- Use uv\n",
    "byte order mark and crlf": b"\xef\xbb\xbf# Rules\r\n\r\n- Use uv\r\n",
    "no final line end": b"# Rules\n\n- Use uv",
    "crlf": b"# Rules\r\n\r\n- Use uv\r\n",
    "crlf, no final line end": b"# Rules\r\n- Use uv",
    "old mac": b"# Rules\r\r- Use uv\r",
    "mixed, mostly lf": b"# Rules\n\n- Use uv\r\n- Use ruff\n",
    "mixed, mostly crlf": b"# Rules\r\n\r\n- Use uv\n- Use ruff\r\n",
    "lf, but for a cr at the end": b"# Rules\n\n- Use uv\r",
    "many empty lines at the end": b"# Rules\n\n\n\n\n",
    "blanks at the end of lines": b"# Rules  \n- Use uv   \n   \n",
    "tabs": b"-\tUse uv\n\t-\tnested\n",
    "front matter": b"---\ndescription: x\nglobs: '*.py'\nalwaysApply: true\n---\n\n# Rules\n",
    "front matter only": b"---\nalwaysApply: true\n---\n",
    "front matter with a comment": b"---\n# a: b\n## c\n---\n- Use uv\n",
    "a ruler on top": b"---\n# Rules\n---\n",
    "fence": b"# Rules\n```sh\nmake  # no marker\n```\n",
    "fence at the end": b"Run:\n```\nmake\n```",
    "fence that is not closed": b"Run:\n```\nmake\n",
    "fence of tildes around one of ticks": b"~~~\n```\n~~~\ntext\n",
    "fence in a list": b"- Run:\n  ```\n  make\n  ```\n",
    "fence in a list that is not closed": b"- Run:\n  ```\n  make",
    "indented code": b"Run:\n\n    make\n    ## no heading\n",
    "quote": b"> ## Quoted\n> - rule\n",
    "html comment": b"<!-- keep\n## this\n-->\n# Rules\n",
    "comment that is not closed": b"# Rules\n<!-- to do\n",
    "comment at the end": b"# Rules\n<!-- end -->",
    "block of another tool": b"<!-- BEGIN X -->\n- Use x\n<!-- END X -->\n",
    "blocks of two tools": b"<!-- a:start -->\na\n<!-- a:end -->\n\n<!-- b -->\nb\n<!-- /b -->\n",
    "words like our markers": b"yaad:begin and `yaad:end` are words, <!-- yaad --> too\n",
    "html": b"<details>\n<summary>More</summary>\n\n- Use uv\n\n</details>\n",
    "pre": b"<pre>\n## no heading\n```\n</pre>\n## Heading\n",
    "table": b"| a | b |\n|---|---|\n| c | d |\n",
    "table at the end": b"| a | b |\n|---|---|\n| c | d |",
    "list at the end": b"# Rules\n1. one\n   - nested",
    "underlined heading": b"Rules\n=====\n\nMore\n----\ntext\n",
    "imports": b"@AGENTS.md\n@docs/style.md\n",
    "header of a rule": b"---\nglobs: *.ts,*.tsx\nalwaysApply: false\n---\n# TS\n- Own\n",
    "header that is not closed": b"---\nalwaysApply: true\n\n- Use uv\n",
    "header with a list": b"---\npaths:\n  - 'src/**'\n---\n\n## Go\n- Own",
    "header after an empty line": b"\n---\ntrigger: always_on\n---\n- Use uv\n",
    "import without a line end": b"@AGENTS.md",
    "name of a file, as git writes links": b"AGENTS.md",
    "second-level headings": b"# A\n\n## B\n\n- Use uv\n\n## C\n",
    "heading first": b"## B\n- Use uv\n",
    "cjk": "# 規則\n\n- タブを使う\n".encode(),
    "emoji and marks": "# 🤖 Règles\n- ne\u0301 🏳️‍🌈\n".encode(),
    "right to left": "# כללים\n- השתמש\u200f ב-uv\n".encode(),
    "other line separators": "a\u2028b\x85c\x0bd\x0ce\n".encode(),
    "one long line": b"x" * 100_000,
    "many lines": b"- Use uv\n" * 5_000,
}
CORPUS = Path(__file__).parents[3] / "../shared/bench/agent-files"
SHAPES |= {p.name: p.read_bytes() for p in sorted(CORPUS.glob("*__*")) if p.is_file()}


def _lf(data):
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


VARIANTS = {
    "as it is": lambda data: data,
    "crlf": lambda data: _lf(data).replace(b"\n", b"\r\n"),
    "marked": lambda data: b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    "unended": lambda data: data.rstrip(b"\r\n"),
}


def test_there_are_as_many_as_the_bar_asks_for():
    assert len(SHAPES) >= 32


@pytest.mark.covering
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("shape", SHAPES)
def test_in_changed_and_out_again_leaves_every_byte(shape, variant):
    data = VARIANTS[variant](SHAPES[shape])
    written = insert(data, RULES)
    changed = replace(written, RULES[1:])
    block = find(changed)

    assert isinstance(block, Block)
    assert block.lines[1:] == tuple(RULES[1:])
    own = changed[: block.begin - block.added * len(block.newline)] + changed[block.end :]
    assert own == data
    assert remove(written) == remove(changed) == data


@pytest.mark.parametrize("shape", SHAPES)
def test_what_is_said_outside_stays_the_same(shape):
    data = SHAPES[shape]
    written = insert(data, RULES)

    assert [s.text for s in parse(written).statements] == [s.text for s in parse(data).statements]
    assert len(outside(written, find(written)).splitlines()) == len(written.splitlines())


@pytest.mark.parametrize("data", [b"a\xff", b"\xff\xfe#\x00", b"a\0b", "é".encode("latin-1")])
def test_what_is_no_utf8_text_is_never_written(data):
    for written in (insert(data, RULES), replace(data, RULES), remove(data)):
        assert not isinstance(written, bytes)
        assert written.reason.startswith("byte 0x")


BEGIN, END = b"<!-- yaad:begin v=1 nl=1 -->", b"<!-- yaad:end -->"
BLOCK = BEGIN + b"\n- Use tabs.\n" + END + b"\n"

MUTATIONS = {
    "begin gone": BLOCK.replace(BEGIN + b"\n", b""),
    "end gone": BLOCK.replace(END + b"\n", b""),
    "cut in the begin": BLOCK[len(b"<!-- yaad:begin") :].join([b"<!-- yaad:begin\n", b""]),
    "cut in the end": BLOCK[: -len(b"end -->\n")] + b"end",
    "begin twice": BEGIN + b"\n" + BLOCK,
    "end twice": BLOCK + END + b"\n",
    "swapped": END + b"\n- Use tabs.\n" + BEGIN + b"\n",
    "nested": BLOCK.replace(b"- Use tabs.\n", BLOCK),
    "two blocks": BLOCK + b"\n- Own\n\n" + BLOCK,
    "on one line": BLOCK.replace(b"\n", b" "),
    "begin indented": b"  " + BLOCK,
    "end indented": BLOCK.replace(END, b"\t" + END),
    "quoted": b"> " + BLOCK.rstrip().replace(b"\n", b"\n> ") + b"\n",
    "listed": b"- " + BLOCK.rstrip().replace(b"\n", b"\n  ") + b"\n",
    "fenced": b"```md\n" + BLOCK + b"```\n",
    "fenced by tildes": b"~~~\n" + BLOCK + b"~~~\n",
    "fence opened in it": BLOCK.replace(b"- Use", b"```\n- Use"),
    "blank after the end": BLOCK.replace(END, END + b" "),
    "words after the begin": BLOCK.replace(BEGIN, BEGIN + b" mine"),
    "upper case": BLOCK.upper(),
    "more blanks inside": BLOCK.replace(b"<!-- yaad:end", b"<!--  yaad:end"),
    "another version": BLOCK.replace(b"v=1", b"v=2"),
    "no version": BLOCK.replace(b" v=1 nl=1", b""),
    "count that cannot be": BLOCK.replace(b"nl=1", b"nl=9"),
    "count that is no number": BLOCK.replace(b"nl=1", b"nl=x"),
    "comment not closed": BLOCK.replace(b"nl=1 -->", b"nl=1"),
    "conflict of a merge": b"<<<<<<< a\n" + BLOCK + b"=======\n" + BLOCK + b">>>>>>> b\n",
}


def test_there_are_as_many_mutations_as_the_bar_asks_for():
    assert len(MUTATIONS) >= 11


@pytest.mark.covering
@pytest.mark.parametrize("variant", ["as it is", "crlf", "marked"])
@pytest.mark.parametrize("around", [b"", b"# Rules\n\n- Own\n\n", b"---\nalwaysApply: true\n---\n"])
@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_file_with_damaged_markers_is_neither_written_nor_read(mutation, around, variant):
    data = VARIANTS[variant](around + MUTATIONS[mutation] + b"\n- Own too\n")

    assert isinstance(find(data), Malformed)
    for written in (insert(data, RULES), replace(data, RULES), put(data, RULES), put(data, ())):
        assert isinstance(written, Malformed)
    assert isinstance(remove(data), Malformed)
    for bridge in (PLAIN[0], *(bridge for bridge in BRIDGES if not bridge.block)):
        document = bridge.parse(data)
        assert document.statements == ()
        assert len(document.problems) == 1
