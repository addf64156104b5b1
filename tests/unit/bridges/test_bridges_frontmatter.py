"""The header of an agent file: what people write there, which is seldom YAML and often near it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.frontmatter import HEADER_CHARS_MAX, fields, length, patterns, places


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
def test_each_field_has_a_place(lines):
    lines = ["---", *lines]

    assert places(lines).keys() == (fields(lines) or {}).keys()
