"""Events that were read at once: each name is told once, and what has no name always."""

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.system.watch import _each_name_once

events = st.tuples(
    st.integers(-1, 2),
    st.sampled_from([0x8, 0x40, 0x80, 0x100, 0x200, 0x800, 0x4000, 0x8000]),
    st.just(0),
    st.sampled_from([b"", b"a.py", b"b.py"]),
)


@given(st.lists(events))
def test_every_name_is_told_once_in_order_and_nothing_else_is_left_out(given_events):
    once = _each_name_once(given_events)

    named = [(event[0], event[3]) for event in once if event[3]]
    left = iter(given_events)
    assert len(named) == len(set(named))
    assert set(named) == {(event[0], event[3]) for event in given_events if event[3]}
    assert [event for event in once if not event[3]] == [
        event for event in given_events if not event[3]
    ]
    assert all(any(event == other for other in left) for event in once)
