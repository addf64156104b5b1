"""Events that were read at once: each name is told once, and what has no name always."""

import struct

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.repo import watch
from yaadwatch.repo.watch import _breath_s, _each_name_once

events = st.tuples(
    st.integers(-1, 2),
    st.sampled_from([0x8, 0x40, 0x80, 0x100, 0x200, 0x800, 0x4000, 0x8000]),
    st.just(0),
    st.sampled_from([b"", b"a.py", b"b.py", b"a name that is longer than the others.py"]),
)


def as_told(given_events):
    """Return events as the kernel lays them out: names are filled up to a multiple of 16."""
    text = b""
    for wd, mask, cookie, name in given_events:
        filled = name and name.ljust(len(name) // 16 * 16 + 16, b"\0")
        text += struct.pack("iIII", wd, mask, cookie, len(filled)) + filled
    return text


@given(st.lists(events))
def test_every_name_is_told_once_in_order_and_nothing_else_is_left_out(given_events):
    once, count = _each_name_once(as_told(given_events))

    named = [(event[0], event[3]) for event in once if event[3]]
    left = iter(given_events)
    assert count == len(given_events)
    assert len(named) == len(set(named))
    assert set(named) == {(event[0], event[3]) for event in given_events if event[3]}
    assert [event for event in once if not event[3]] == [
        event for event in given_events if not event[3]
    ]
    assert all(any(event == other for other in left) for event in once)


@given(st.integers(0, 5_000), st.integers(0, watch._BUFFER_BYTES))
def test_the_system_never_has_to_keep_more_than_it_can(count, buffered):
    """It keeps 16,384 events, and may have no more left for us than one gulp when we wait."""
    breath_s = _breath_s(count, buffered)

    assert 0 <= breath_s * 1e6 < 16_384
    assert not breath_s or count < watch._STORM_EVENTS or buffered < watch._BUFFER_BYTES // 2
