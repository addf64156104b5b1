"""What fits into a block."""

from hypothesis import given
from hypothesis import strategies as st

from bridges.block import find, insert
from yaadwatch.core.sync.budget import block_bytes, fit
from yaadwatch.model.settings import BLOCK_BYTES_MAX, BLOCK_ITEMS_MAX

lines = st.lists(st.integers(0, 900).map(lambda size: "- " + "x" * size), max_size=40)


@given(lines=st.lists(st.sampled_from(["- a", "- 表", "prose", ""]), max_size=5))
def test_the_size_is_that_of_the_block_in_the_file(lines):
    for data in (b"a\n\n", b"a\r\n\r\n"):
        written = insert(data, lines)
        block = find(written)
        assert block_bytes(lines, newline=len(block.newline)) == block.end - block.begin
        assert block_bytes(block.lines, newline=len(block.newline)) == block.end - block.begin


@given(standing=lines, wanted=lines)
def test_nothing_is_added_beyond_the_limits(standing, wanted):
    fits = fit(standing, len(standing), wanted, newline=1)
    added = [line for line, fitting in zip(wanted, fits, strict=True) if fitting]

    if added:
        assert len(standing) + len(added) <= BLOCK_ITEMS_MAX
        assert block_bytes([*standing, *added], newline=1) <= BLOCK_BYTES_MAX


@given(standing=lines, wanted=lines)
def test_what_did_not_fit_does_not_fit_the_next_time(standing, wanted):
    fits = fit(standing, len(standing), wanted, newline=1)
    added = [line for line, fitting in zip(wanted, fits, strict=True) if fitting]
    rest = [line for line, fitting in zip(wanted, fits, strict=True) if not fitting]

    assert not any(fit([*standing, *added], len(standing) + len(added), rest, newline=1))


def test_all_that_fits_is_taken_best_first():
    assert fit([], 0, ["- " + "x" * 5000, "- a", "- b"], newline=1) == (False, True, True)
