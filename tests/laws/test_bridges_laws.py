"""Laws of reading agent files: nothing raises, nothing is made up, nothing hidden is told."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bridges.items import items
from bridges.markdown import scan
from bridges.outline import outline
from bridges.reading import imports
from bridges.registry import BRIDGES

HIDDEN = "zzhidden"

each_bridge = pytest.mark.parametrize("bridge", BRIDGES, ids=lambda bridge: bridge.name)

# Anything that markdown has a use for, put together with no regard for sense.
shreds = st.sampled_from(
    [
        *("- ", "* ", "+ ", "1. ", "2) ", "> ", "# ", "## ", "-", "[ ] ", "    ", "  ", "\t", " "),
        *("```", "~~~", "<!-- ", " -->", "`<!--`", "<div>", "</div>", "<b>", "<pre>", "<?"),
        *("| a | b |", "|---|---|", "|", "\\", "---", "===", "[a]: http://b", "**bold**", "`code`"),
        *(
            "word",
            "Some words here.",
            "Never:",
            "\ufeff",
            "\u00a0",
            "\x0b",
            "\x00",
            "表",
            "e\u0301",
        ),
    ]
)
shredded_lines = st.lists(shreds, max_size=4).map("".join)
shredded = st.lists(shredded_lines, max_size=12).map("\n".join)
texts = shredded | st.text(max_size=200)

words = st.sampled_from(["tabs", "jose", "`make test`", "**always**", "src/app.py", "2.5", "naïve"])
sentences = st.lists(words, min_size=1, max_size=5).map(lambda some: f"Use {' '.join(some)}.")


@st.composite
def bullets(draw):
    """A list, its items indented as people do, some with an item nested in them."""
    marker = draw(st.sampled_from(["-", "*", "+", "1.", "7)", "- [ ]", "- [x]"]))
    lines = []
    for sentence in draw(st.lists(sentences, min_size=1, max_size=4)):
        lines.append(f"{marker} {sentence}")
        if draw(st.booleans()):
            lines.append(f"{' ' * len(marker.split()[0])} - {draw(sentences)}")
    return "\n".join(lines)


@st.composite
def tables(draw):
    rows = draw(st.lists(st.tuples(words, sentences), min_size=1, max_size=3))
    return "\n".join(["| what | how |", "|---|:--|", *(f"| {a} | {b} |" for a, b in rows)])


told = st.one_of(
    sentences,
    st.tuples(sentences, sentences).map("\n".join),
    bullets(),
    tables(),
    sentences.map(lambda sentence: f"{sentence} <!-- {HIDDEN} --> And more."),
    sentences.map(lambda sentence: f"- {sentence}\n  ```\n  - {HIDDEN}\n  ```"),
)
untold = st.sampled_from(
    [
        f"# {HIDDEN}",
        f"{HIDDEN}\n===",
        f"```sh\n{HIDDEN}\n\n- {HIDDEN}\n```",
        f"~~~\n```\n{HIDDEN}\n~~~",
        f"````\n```\n{HIDDEN}\n```\n{HIDDEN}\n````",
        f"# code\n\n    {HIDDEN}\n\n    - {HIDDEN}",
        f"> {HIDDEN}\n> - {HIDDEN}\n{HIDDEN}",
        f"> - {HIDDEN}\n>\n> {HIDDEN}",
        f"<!-- {HIDDEN} -->",
        f"<!--\n- {HIDDEN}\n\n{HIDDEN}\n-->",
        f"<div>\n- {HIDDEN}\n</div>",
        f"<pre>\n\n- {HIDDEN}\n</pre>",
        f"[{HIDDEN}]: http://example.com",
        f"Now <!-- {HIDDEN}\n\n- {HIDDEN}\n\n{HIDDEN} -->",
        "---",
    ]
)
documents = st.lists(told | untold, max_size=8).map("\n\n".join)


def _letters(text):
    return "".join(text.split())


@given(text=texts)
@example(text="- 表[ ] 1. ")
@example(text="- [ ] one")
def test_a_statement_is_one_line_of_words_that_stand_in_the_file_up_to_it(text):
    lines = re.split(r"\r\n?|\n", text)

    for statement in scan(text):
        above = _letters("".join(lines[: statement.end_line]))
        assert statement.text == " ".join(statement.text.split())
        assert all(word in above for word in re.findall(r"\w+", statement.text))


@given(text=texts)
def test_a_statement_ends_as_its_own_lines_do(text):
    """Outside tables and comments, where signs are dropped, the letters are the same."""
    lines = re.split(r"\r\n?|\n", text)

    for statement in scan(text):
        own = "".join(lines[statement.line - 1 : statement.end_line])
        if not re.search(r"\||<!--|\[ \]|\\", own):
            letters = re.sub(r"^(?:[-*+]|\d+[.)])+", "", _letters(own.lstrip("\ufeff")))
            assert _letters(statement.text).endswith(letters)


@given(text=documents)
@example(text=f"- Use tabs.\n<div>\n{HIDDEN}\n</div>")
@example(text=f"> Use tabs.\n<!-- {HIDDEN}\n{HIDDEN} -->\nUse jose.")
@example(text=f"---\ndescription: {HIDDEN}\nglobs:\n  - {HIDDEN}\n---\nUse tabs.")
@example(
    text=f"Use tabs. <!-- {HIDDEN}\n\n- [ ] {HIDDEN}\n\n| a | b |\n|---|---|\n| {HIDDEN} | b | -->"
)
def test_code_quotes_comments_html_and_headings_are_never_statements(text):
    assert not [s for s in scan(text) if HIDDEN in s.text]


@given(parts=st.lists(told | untold, max_size=8))
def test_every_sentence_of_items_paragraphs_and_rows_is_told(parts):
    text = "\n\n".join(parts)
    if "Now <!--" not in text:
        told_text = " ".join(s.text for s in scan(text))
        for sentence in re.findall(r"Use [^.\n]*\w.*?\.(?=$|\s)", text, re.MULTILINE):
            assert sentence in told_text


@given(text=documents, blanks=st.lists(st.sampled_from(["", " ", "\t", "\u00a0"]), max_size=4))
@example(text="- Use tabs.", blanks=[""])
def test_empty_lines_at_the_end_change_nothing(text, blanks):
    assert scan("\n".join([text, *blanks])) == scan(text)


@given(text=documents, count=st.integers(min_value=1, max_value=5))
@example(text="---\n\n- Use tabs.\n\n---", count=1)
@example(text="---\n# Tabs\nUse tabs.\n\n---", count=1)
def test_empty_lines_at_the_top_move_every_statement_down(text, count):
    moved = [(s.line - count, s.end_line - count, s.text) for s in scan("\n" * count + text)]

    assert moved == [(s.line, s.end_line, s.text) for s in scan(text)]


def _lines_of(blocks, kind):
    for block in blocks:
        if block.kind == kind:
            yield block.line
        yield from _lines_of(block.children, kind)


@given(text=documents)
@example(text="-\n  Use tabs.\n- - Use jose.\n\n  Use tabs.\n1) a\n2) b\n> q\n- c")
@example(text="- a\n  - b\n\n    c\n\n      d\n- e\n# f\n* g\n---\n+ h")
def test_headings_and_items_stand_where_another_parser_sees_them(text):
    seen = {"heading_open": [], "list_item_open": []}
    quotes = 0
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        quotes += {"blockquote_open": 1, "blockquote_close": -1}.get(token.type, 0)
        if token.type in seen and not quotes:
            seen[token.type].append(token.map[0] + 1)

    blocks = outline(text.split("\n"))

    assert list(_lines_of(blocks, "heading")) == seen["heading_open"]
    assert list(_lines_of(blocks, "item")) == seen["list_item_open"]


@given(content=st.binary(max_size=200) | st.text(max_size=200) | shredded | documents)
@example(content="@" * 5_000)
@example(content="@\\ " * 5_000)
@example(content="- " * 5_000 + "@a.md")
def test_imports_are_paths_in_the_project_that_stand_in_the_file(content):
    text = content if isinstance(content, str) else content.decode(errors="replace")

    for path in imports(content):
        assert path.replace(" ", "\\ ") in text
        assert not path.startswith(("/", "~", "@"))


@given(
    paths=st.lists(st.sampled_from(["AGENTS.md", "docs/a.md", "../b.md"]), max_size=4),
    data=st.data(),
)
def test_every_import_is_found_between_other_things_and_once(paths, data):
    parts = [f"- Read @{path} first." for path in paths]
    text = "\n\n".join(part for own in parts for part in (data.draw(told), own))

    assert imports(text) == tuple(dict.fromkeys(paths))


LABELS = [
    *("Never do these:", "Do not under any circumstances", "Never", "**Never**", "**Forbidden**"),
    *("Only on Windows:", "In production:", "**If you write SQL**", "We no longer do this:"),
]
below_labels = st.lists(
    st.sampled_from(
        [
            *(
                "Use force push.",
                "Use eval.\nUse goto.",
                "- Use force push\n- Use eval",
                "1. Use eval",
            ),
            *("---", "***", "> a quote", "![picture](a.png)", "<!-- a list -->", "<br>"),
            *("```\nmake\n```", "- Use eval\n\n- Use goto"),
        ]
    ),
    min_size=1,
    max_size=4,
)


@given(label=st.sampled_from(LABELS), parts=below_labels)
@example(label="Never do these:", parts=["Use force push.", "Use eval.\nUse goto."])
@example(label="Never do these:", parts=["---", "- Use force push\n- Use eval"])
def test_a_rule_below_a_label_of_uncertain_reach_has_it_in_its_words_or_stays(label, parts):
    """The reach is certain for the list right below, and where a condition is about code."""
    text = "\n\n".join(["# Shop", "## Work", label, *parts, "## Web", "- Use tabs"])

    *found, last = [one.text for one in scan(text) if not one.stays]

    assert last == "Web > Use tabs"
    is_certain = parts[0][0] in "-1`" and parts[0] != "---" and "every" not in label
    is_ban = any(word in label for word in ("Never", "not", "Forbidden"))
    if not is_certain or (parts[0].startswith("```") and is_ban):
        assert [one for one in found if label not in one] == []
    assert [one for one in found if one in (label, f"Work > {label}")] == []


@given(label=st.sampled_from(LABELS), parts=below_labels)
@example(label="Never do these:", parts=["---", "- Use force push"])
@example(label="- Do not under any circumstances", parts=["- Use force push"])
def test_a_rule_of_a_block_never_loses_its_label(label, parts):
    found = items("\n\n".join([label, *parts]).split("\n"))

    is_list = re.match(r"- |1\.", parts[0]) is not None
    if not is_list and not parts[0].startswith("```"):
        assert found == ()
    elif is_list and not label.startswith(("**", "-")):
        assert found[0].text.startswith(label)


@given(
    comment=st.sampled_from(
        [
            "These hold for Windows only",
            "in tests only",
            "never do these",
            "old rules?",
            "todo: drop",
        ]
    ),
    gap=st.sampled_from(["\n", "\n\n"]),
)
def test_a_rule_below_a_comment_of_a_person_stays(comment, gap):
    rules = f"## Rules\n\n<!-- {comment} -->{gap}- Use CRLF\n- Use eval"
    text = f"# Shop\n\n{rules}\n\n## Web\n\n- Use tabs\n"

    assert [one.text for one in scan(text) if not one.stays] == ["Web > Use tabs"]
    assert items(f"<!-- {comment} -->{gap}- Use CRLF".split("\n")) == ()
