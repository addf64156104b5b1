"""What fits into a block."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bridges.block import find, insert
from yaadwatch.model.settings import BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX
from yaadwatch.sync.inventory import Rule, block_bytes, fit, is_grave

lines = st.lists(st.integers(0, 900).map(lambda size: "- " + "x" * size), max_size=40)


@given(lines=st.lists(st.sampled_from(["- a", "- 表", "prose", ""]), max_size=5))
def test_the_size_is_that_of_the_block_in_the_file(lines):
    for data in (b"a\n\n", b"a\r\n\r\n"):
        written = insert(data, lines)
        block = find(written)
        assert block_bytes(lines, newline=len(block.newline)) == block.end - block.begin
        assert block_bytes(block.lines, newline=len(block.newline)) == block.end - block.begin


rules = st.lists(
    st.builds(Rule, line=lines.map(lambda some: (some or ["- a"])[0]), rank=st.integers(0, 3)),
    max_size=40,
)


def asked(fixed, standing, wanted):
    """Return the rules that are in the block, and those that are not."""
    every = [*(replace(rule, stands=True) for rule in standing), *wanted]
    fits = fit(fixed, len(fixed), every, newline=1)
    inside = [rule for rule, fitting in zip(every, fits, strict=True) if fitting]
    outside = [rule for rule, fitting in zip(every, fits, strict=True) if not fitting]
    return inside, [replace(rule, stands=False) for rule in outside]


@given(fixed=lines, standing=rules, wanted=rules)
def test_nothing_is_added_beyond_the_limits(fixed, standing, wanted):
    inside, _ = asked(fixed, standing, wanted)

    if any(not rule.stands for rule in inside):
        assert len(fixed) + len(inside) <= BLOCK_ITEMS_MAX
        assert block_bytes([*fixed, *(rule.line for rule in inside)], newline=1) <= BLOCK_BYTES_MAX


@given(fixed=lines, standing=rules, wanted=rules)
def test_what_did_not_fit_does_not_fit_the_next_time(fixed, standing, wanted):
    inside, outside = asked(fixed, standing, wanted)

    again, _ = asked(fixed, inside, outside)

    assert [rule.line for rule in again] == [rule.line for rule in inside]


@given(standing=rules, wanted=rules)
def test_no_rule_gives_way_to_one_of_a_worse_rank(standing, wanted):
    inside, outside = asked([], standing, wanted)
    came_in = [rule for rule in inside if not rule.stands]
    gave_way = [rule for rule in outside if rule.line in {one.line for one in standing}]

    if came_in and all(len(rule.line) < 100 for rule in (*standing, *wanted)):
        assert max(rule.rank for rule in came_in) <= min(
            (rule.rank for rule in gave_way), default=3
        )


def test_a_rule_that_is_too_long_keeps_no_shorter_one_out():
    every = [Rule(line=line, rank=0) for line in ("- " + "x" * 5000, "- a", "- b")]

    assert fit([], 0, every, newline=1) == (False, True, True)


def test_a_prohibition_is_grave():
    assert is_grave("Never drop the production database")
    assert is_grave("Tokens must not be logged")
    assert not is_grave("Name handlers after their route")
