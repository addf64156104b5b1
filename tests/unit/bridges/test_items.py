"""The rules of a block are read and written with their bodies, and with what restricts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.items import (
    bare,
    escaped,
    escaped_start,
    items,
    line_of,
    parts_lines,
    restricted,
)

BODIES = {
    "nested items": ["- Never do any of these:", "  - push to main", "  - skip the tests"],
    "a list at its own margin": ["- Never do any of these:", "- push to main", "- skip the tests"],
    "a label above its list": ["Never do any of these:", "", "- push to main", "- skip the tests"],
    "a fence": ["- Format dates like this:", "  ```", "  2026-01-31", "", "  # UTC", "  ```"],
    "a table": ["- Never use:", "", "  | name | why |", "  |---|---|", "  | moment | old |"],
    "a second paragraph": ["- Never commit secrets;", "", "  they go into the vault"],
    "a line that goes on": ["- Run the full test suite before you", "push to main"],
    "a nested line that goes on": ["- Release:", "  - run the suite before you", "tag the commit"],
    "nested items of a number": ["1. Never:", "   1. push", "   2. skip"],
    "nested items after a tab": ["- Never:", "\t- push", "\t- skip"],
}


@pytest.mark.parametrize("lines", BODIES.values(), ids=BODIES)
def test_a_rule_is_read_with_its_body_and_nothing_below(lines):
    found = items([*lines, "", "- Use tabs"])

    assert [(item.first, item.last) for item in found] == [
        (0, len(lines) - 1),
        (len(lines) + 1, len(lines) + 1),
    ]
    assert found[0].raw == "\n".join(lines)


@pytest.mark.parametrize("lines", BODIES.values(), ids=BODIES)
def test_a_rule_is_written_with_its_body_and_read_back(lines):
    text = items(lines)[0].text

    written = line_of(text)

    assert written is not None
    assert [item.text for item in items(written.split("\n"))] == [text]


def test_lines_that_a_person_wrapped_are_one_paragraph():
    (item,) = items(["- Run the full test suite", "with the database", "  in a container"])

    assert item.text == "Run the full test suite with the database in a container"


@pytest.mark.parametrize(
    "heading", ["## Never", "## If you write SQL", "### Only for the Windows build", "## Python"]
)
def test_items_below_a_heading_that_restricts_them_are_no_rules_of_the_block(heading):
    lines = ["- Use tabs", heading, "- Use spaces", f"{heading.split()[0]} Style", "- Be short"]

    assert [item.text for item in items(lines)] == ["Use tabs", "Be short"]
    assert restricted(lines) == {1, 2}


@pytest.mark.parametrize(
    "above",
    [
        ["Alice", "-----"],
        ["On release day", "===", ""],
        ["**Windows**", ""],
        ["__Backend__"],
    ],
)
def test_items_below_words_that_head_them_are_no_rules_of_the_block(above):
    lines = ["- Use tabs", "", *above, "- Use spaces", "", "# Style", "- Be short"]

    assert [item.text for item in items(lines)] == ["Use tabs", "Be short"]


@pytest.mark.parametrize(
    "above", [["Some prose."], ["**Use it.**"], ["**Code style**", ""], ["Notes", "---"]]
)
def test_items_below_other_words_are_rules_of_the_block(above):
    lines = ["- Use tabs", "", *above, "- Use spaces"]

    assert [item.text for item in items(lines)] == ["Use tabs", "Use spaces"]


def test_a_label_without_a_list_is_no_rule():
    assert items(["Never do any of these:", "", "Use tabs."]) == ()


def test_a_long_rule_is_none():
    lines = ["- Use tabs", "- " + "word " * 900]

    assert [item.text for item in items(lines)] == ["Use tabs"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("See @docs/style.md.", "- See `@docs/style.md`."),
        ("@docs/style.md is ours", "- `@docs/style.md` is ours"),
        ("Ask (@~/own.md) first", "- Ask (`@~/own.md`) first"),
        ("Ask `@docs/a.md` or me@example.org", "- Ask `@docs/a.md` or me@example.org"),
        ("# Title", "- \\# Title"),
        ("> quoted", "- \\> quoted"),
        ("- nested", "- \\- nested"),
        ("2. second", "- 2\\. second"),
        ("[x] done", "- \\[x] done"),
        ("Hide <!-- this --> here", "- Hide <\\!-- this --> here"),
        ("Write `<!-- yaad:end -->` never", "- Write `<\\!-- yaad:end -->` never"),
        ("Do so:\n- @a/b.md\n# no heading", "- Do so:\n  - `@a/b.md`\n  \\# no heading"),
    ],
)
def test_what_agents_take_for_syntax_is_escaped(text, line):
    assert line_of(text) == line


@pytest.mark.parametrize("text", ["Never do any of these:", "```\nopen", "---"])
def test_what_would_take_in_the_next_rule_cannot_be_written(text):
    assert line_of(text) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Put it in C:\\dir", "Put it in C:\\\\dir"),
        ("2 * 3 * 4", "2 *3* 4"),
        ("See https://example.org", "See <https://example.org>"),
        ("Use *tabs*", "Use _tabs_"),
        ("Use snake_case", "Use snake\\_case"),
    ],
)
def test_the_escapes_of_formatters_are_no_other_words(one, other):
    assert bare(one) == bare(other)


@pytest.mark.parametrize(
    ("one", "other"), [("lint src/*.py", "lint src/**/*.py"), ("Use tabs", "Use Tabs")]
)
def test_other_words_stay_other_words(one, other):
    assert bare(one) != bare(other)


@given(st.text(alphabet="ab @`#-<!>*_.\\/[]x1:", max_size=30))
def test_escapes_change_no_words_and_leave_no_import(words):
    assert bare(escaped(words)) == bare(words)
    assert bare(escaped_start(words)) == bare(words)
    assert "<!--" not in escaped(words)


lines = st.sampled_from(
    [
        *("- Use tabs", "- Never:", "  - push", "  ```", "  | a | b |", "  |---|---|", "Never:"),
        *("", "word", "  more", "## Never", "## Style", "1. one", "   - deep", "> quote"),
    ]
)


@given(st.lists(lines, max_size=12), st.integers(0, 20))
def test_a_rule_that_is_taken_out_leaves_the_others_as_they_are(block, number):
    found = items(block)
    if not found:
        return
    gone = found[number % len(found)]
    blank = [""] if parts_lines(block, gone) else []
    left = [*block[: gone.first], *blank, *block[gone.last + 1 :]]

    assert [item.raw for item in items(left)] == [item.raw for item in found if item is not gone]


@pytest.mark.parametrize(
    "lines",
    [
        ["The following is forbidden.", "", "- Use eval"],
        ["Only for the Windows build.", "- Use eval"],
        ["- Use tabs", "", "Avoid these in new code.", "", "- Use eval"],
        ["<bad_example>", "- Use eval", "</bad_example>"],
        ["<details><summary>Only Windows</summary>", "", "- Use eval", "", "</details>"],
        ["## Alternatives we rejected", "", "- Use eval"],
        ["## Things that break the build", "- Use eval"],
    ],
)
def test_items_below_words_that_restrict_them_are_no_rules_of_the_block(lines):
    assert "Use eval" not in [item.text for item in items(lines)]
    assert "Use spaces" in [item.text for item in items([*lines, "", "## Style", "- Use spaces"])]


@pytest.mark.parametrize(
    "lines",
    [
        ["Some notes of mine.", "", "- Use eval"],
        ["<rules>", "- Use eval", "</rules>"],
        ["<name> stands for the branch.", "", "- Use eval"],
        ["## Style", "", "- Use eval"],
    ],
)
def test_items_below_other_words_stay_rules(lines):
    assert "Use eval" in [item.text for item in items(lines)]
