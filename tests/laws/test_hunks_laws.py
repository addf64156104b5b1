"""Laws of hunks: a definition is touched by what is inside of it, and by nothing else."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.anchors.definitions import defines, locate, touches
from yaadwatch.model.anchors import Hunk

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


@given(styles, bodies, bodies)
def test_a_file_that_is_exchanged_touches_what_differs_in_it(style, old, new):
    """One hunk that takes everything away and puts everything in, in any order."""
    removed = [line for name in old for line in [*function(style, name, old[name]), ""]]
    added = [line for name in new for line in [*function(style, name, new[name]), ""]]
    hunk = Hunk(header="", removed=tuple(removed), added=tuple(added))

    for name in NAMES:
        assert touches(name, [hunk], "\n".join(added)) == (old.get(name) != new.get(name))


@given(styles, st.sampled_from(NAMES), st.sampled_from(NAMES), numbers, numbers)
def test_a_change_belongs_to_the_innermost_line_above_it(style, above, asked, one, other):
    header, *_ = function(style, above, [0])
    body = STYLES[style][1]
    hunk = Hunk(header=header, removed=(body.format(one),), added=(body.format(other),))

    assert touches(asked, [hunk]) == (asked == above and one != other)


@given(styles, st.sampled_from(NAMES), st.sampled_from(NAMES))
def test_what_begins_behind_a_function_is_no_change_of_it(style, above, new):
    header, *_ = function(style, above, [0])
    added = ("", *function(style, new, [1]))
    hunk = Hunk(header=header, removed=(), added=added)

    assert touches(above, [hunk]) == (above == new)
    assert touches(new, [hunk])


lines = st.lists(st.text(alphabet="ab (){}<>=;:.,*&#/@\t\udc80", max_size=30), max_size=6)


@given(lines, lines, lines, st.text(max_size=8), st.text(max_size=60))
def test_any_lines_have_an_answer(header, removed, added, symbol, text):
    hunk = Hunk(header="\n".join(header), removed=tuple(removed), added=tuple(added))

    assert touches(symbol, [hunk], text) in (True, False)
    assert not touches(symbol, [Hunk(header="", removed=tuple(added), added=tuple(added))], text)
    number = locate(text, symbol)
    assert number is None or 1 <= number <= text.count("\n") + 1


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
    touches("limit", [Hunk(header=line, removed=(line,), added=())], line)

    assert time.process_time() - start < 5
