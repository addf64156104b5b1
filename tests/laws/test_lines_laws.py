"""Laws of definitions by lines: one changes with what is inside of it, and with nothing else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.definitions import define_by_lines, defines, locate

STYLES = {
    "go": ("func {}(a int) int {{", "    return {}", "}}"),
    "rust": ("pub fn {}(a: u8) -> u8 {{", "    a + {}", "}}"),
    "c": ("static int {}(int a)\n{{", "    return {};", "}}"),
    "ruby": ("def {}(a)", "  a + {}", "end"),
    "typescript": ("export const {} = (a: number) => {{", "  return a + {};", "}};"),
    "shell": ("{}() {{", "    echo {}", "}}"),
}
NAMES = ["alpha", "beta", "gamma", "delta"]
styles = st.sampled_from(sorted(STYLES))
numbers = st.integers(min_value=0, max_value=9)


def function(style, name, numbers):
    first, body, last = STYLES[style]
    lines = [*first.format(name).split("\n"), *(body.format(n) for n in numbers), last.format()]
    return [line for line in lines if line]


bodies = st.dictionaries(st.sampled_from(NAMES), st.lists(numbers, min_size=1, max_size=3))


def fingerprint(source, name):
    return define_by_lines(source.encode("utf-8", "surrogateescape"), "a", name).fingerprint


@given(styles, bodies, bodies)
def test_a_definition_changes_with_its_own_lines_wherever_it_stands(style, old, new):
    then, now = (
        "\n".join(line for name in some for line in [*function(style, name, some[name]), ""])
        for some in (old, new)
    )

    for name in NAMES:
        changed = fingerprint(then, name) != fingerprint(now, name)
        assert changed == (old.get(name) != new.get(name))


@given(st.text(alphabet="ab (){}<>=;:.,*&#/@\t\n\udc80", max_size=200), st.text(max_size=8))
def test_any_lines_have_an_answer(text, symbol):
    found = define_by_lines(text.encode("utf-8", "surrogateescape"), "a", symbol)

    number = locate(text, symbol)
    assert number is None or 1 <= number <= text.count("\n") + 1
    assert found.line is None or found.line <= (found.end_line or 0)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "func.",
            "type ",
            "a",
            "a ",
            "(",
            "a(",
            "<",
            "func <",
            "a<",
            "limit(",
            "limit ",
            "limit.",
        ),
        *(
            "func limit",
            "::",
            "static int ",
            "{",
            "\t",
            "*",
            "public ",
            "func (a) ",
            "limit((",
            "=> ",
        ),
    ],
)
def test_a_minified_line_takes_no_more_than_its_share(unit):
    line = unit * (1024 * 1024 // len(unit))
    start = time.process_time()

    defines(line, "limit")
    locate(line, "limit")
    define_by_lines(line.encode(), "a", "limit")

    assert time.process_time() - start < 5
