"""The header of an agent file: what people write there, which is seldom YAML and often near it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.frontmatter import HEADER_CHARS_MAX, fields, length, patterns, places, problems


def said(*lines):
    return fields(["---", *lines, "---", "- Use tabs."])


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("key: word", "word"),
        ("key: two words", "two words"),
        ("key:   blanks around   ", "blanks around"),
        ("key: word  # remark", "word"),
        ("key: a#b", "a#b"),
        ("key: true", True),
        ("key: True # always", True),
        ("key: false", False),
        ('key: "true"', "true"),
        ("key: 'true' # text", "true"),
        ("key: yes", "yes"),
        ("key:", None),
        ("key: # nothing", None),
        ("key: ~", None),
        ("key: null", None),
        ('key: ""', ""),
        ('"key": word', "word"),
        ("key : word", "word"),
        ("key: []", ()),
        ("key: [a, b]", ("a", "b")),
        ("key: ['a,b', \"c\"] # two", ("a,b", "c")),
        ("key: **/*.ts", "**/*.ts"),
        ("key: *.ts, *.tsx", "*.ts, *.tsx"),
        ("key: https://a.b:8080", "https://a.b:8080"),
        ("key: |", "|"),
        ("key: {a: b}", "{a: b}"),
        ("key: 'not closed", "'not closed"),
    ],
)
def test_a_value_on_one_line(line, value):
    assert said(line) == {"key": value}
    assert said(line)["key"] is value or not isinstance(value, bool | None)


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (("key:", "  - a", '  - "b"', "", "  # remark", "  - 'c' # remark"), ("a", "b", "c")),
        (("key: # list", "- a", "-"), ("a",)),
        (("key: [", '  "a",', "  b", "]"), ("a", "b")),
        (("key: a text", "  that goes on"), "a text that goes on"),
        (("key: |", "  true"), "| true"),
        (("key:", "  inner: true"), "inner: true"),
    ],
)
def test_a_value_on_several_lines(lines, value):
    assert said(*lines) == {"key": value}


@pytest.mark.parametrize(
    "lines",
    [
        ("key: a", "key: b"),
        ("key:a",),
        ("no key",),
        ("  indented: first",),
        ("- a",),
        (f"key: {'x' * HEADER_CHARS_MAX}",),
    ],
)
def test_a_damaged_header_says_nothing(lines):
    assert said(*lines) is None


def test_a_header_that_is_not_there_is_no_damaged_one():
    assert fields(["- Use tabs."]) == fields([""]) == fields([]) == {}
    assert fields(["---", "---"]) == fields(["---", "", "---"]) == {}
    assert fields(["---", "key: a"]) is None
    assert fields([" ---", "key: a", "---"]) == {}


def test_a_header_ends_at_the_first_ruler():
    assert length(["---", "a: b", "---", "c: d", "---"]) == 3
    assert length(["---", "a: b", "..."]) == 3
    assert length(["text", "---", "a: b", "---"]) == 0


def test_patterns_are_told_from_a_list_or_a_text_with_commas():
    assert patterns("a, b,,c") == patterns(("a", "b", "c")) == ("a", "b", "c")
    assert patterns(None) == patterns(()) == patterns("") == patterns(True) == ()


@pytest.mark.timeout(10)
@pytest.mark.parametrize("odd", [" ", "#", " #", "'", "\"'", "[", ",", "- ", ": ", "a: "])
def test_nobody_waits_for_a_header_that_repeats_a_sign(odd):
    many = odd * (HEADER_CHARS_MAX // len(odd) - 20)

    for line in (f"a: x{many}y", f"a: 'x'{many}y", f"a: [{many}]", f"a{many}y", many):
        said(line)


@pytest.mark.parametrize(
    ("lines", "line", "why"),
    [
        (["---", "a: b", "key: [broken", "---"], 3, "key: a list that has no end"),
        (["---", "key: {a: b", "---"], 2, "key: an object that has no end"),
        (["---", 'key: "not closed', "---"], 2, "key: a quotation that has no end"),
        (["---", "key: [a,", "  b", "---"], 2, "key: a list that has no end"),
        (["---", "key: a", "key: b", "---"], 3, "key stands twice"),
        (["---", "key: a", "no key", "---"], 3, "no field"),
        (["---", "- a", "---"], 2, "no field"),
        (["---", "key:a", "---"], 2, "no field"),
        (["---", "# remark", "---"], 1, "no fields"),
        (["---", "key: a"], 1, "no end"),
        (["---", f"key: {'x' * HEADER_CHARS_MAX}", "---"], 1, "over 20000 characters"),
    ],
)
def test_what_a_header_cannot_mean_is_told_by_its_line(lines, line, why):
    (found,) = problems(lines)

    assert found.line == line
    assert why in found.message


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["- Use tabs."],
        ["---", "---"],
        ["---", "key: [a, b]", "other: [", "  c", "]", "---"],
        ["---", "key: {a: b}", "it: it's", "both: 'a', 'b'", "---"],
        ["---", "key: a", "# remark", "", "  goes on", "---"],
    ],
)
def test_of_a_header_that_can_be_read_nothing_is_told(lines):
    assert problems(lines) == ()


header_lines = st.lists(
    st.one_of(
        st.sampled_from(
            ["---", "...", "", "# remark", "a: b", "a: [b", "c: 'd", "- e", "  f", "]"]
        ),
        st.text(max_size=20),
    ),
    max_size=8,
)


@given(header_lines)
def test_a_header_that_is_not_read_has_a_line_that_says_why(lines):
    lines = ["---", *lines]

    told = problems(lines)

    assert all(1 <= one.line <= len(lines) for one in told)
    if fields(lines) is None:
        assert len(told) == 1
    else:
        assert places(lines).keys() == fields(lines).keys()
