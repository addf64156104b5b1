"""When edges hold, and that no circle of them goes unseen: laws of intervals and of circles."""

from datetime import UTC, datetime, timedelta
from graphlib import CycleError, TopologicalSorter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.memories import Interval, circle, circle_in_words, clash, free_from

DAY = datetime(2026, 11, 21, tzinfo=UTC)
HOURS = 12


def at(hour):
    return DAY + timedelta(hours=hour)


hours = st.integers(0, HOURS)


@st.composite
def intervals(draw):
    start = draw(hours)
    end = draw(st.none() | st.integers(start, HOURS))
    return Interval(start=at(start), end=None if end is None else at(end))


names = st.sampled_from("abcdefgh")
pairs = st.lists(st.tuples(names, names), max_size=20)


@given(intervals(), intervals())
def test_two_intervals_overlap_when_an_hour_lies_in_both(one, other):
    shared = [hour for hour in range(HOURS + 1) if one.holds(at(hour)) and other.holds(at(hour))]

    assert one.overlaps(other) == other.overlaps(one) == bool(shared)


@given(intervals())
def test_an_interval_holds_from_its_start_until_right_before_its_end(one):
    held = [hour for hour in range(HOURS + 1) if one.holds(at(hour))]

    assert one.overlaps(one) == (one.end != one.start)
    assert all(one.start <= at(hour) and (not one.end or at(hour) < one.end) for hour in held)
    if one.end is not None:
        assert not one.holds(one.end)
        assert not one.overlaps(Interval(start=one.end))


@given(hours, hours)
def test_an_interval_never_ends_before_it_begins(start, end):
    if end < start:
        with pytest.raises(ValueError, match="must not end before it starts"):
            Interval(start=at(start), end=at(end))
    else:
        Interval(start=at(start), end=at(end))


@given(st.lists(intervals(), max_size=12))
def test_intervals_that_are_kept_only_when_none_clashes_hold_once_at_any_time(given_ones):
    kept = []
    for one in given_ones:
        found = clash(one, kept)
        assert found is None or found.overlaps(one)
        if found is None:
            kept.append(one)

    for hour in range(HOURS + 1):
        assert sum(one.holds(at(hour)) for one in kept) <= 1
    assert all(one in kept or clash(one, kept) for one in given_ones)


@given(hours, st.lists(intervals().filter(lambda one: one.end is not None), max_size=6))
def test_from_the_first_free_instant_on_nothing_is_in_the_way(hour, others):
    found = free_from(at(hour), others)

    assert found >= at(hour)
    assert clash(Interval(start=found), others) is None
    assert found == at(hour) or any(one.end == found for one in others)


@given(pairs)
def test_a_circle_is_found_when_there_is_one_and_is_one(rows):
    graph = {}
    for start, end in rows:
        graph.setdefault(start, set()).add(end)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        found = circle(rows)
        assert found
        assert len(set(found)) == len(found)
        assert all(step in rows for step in zip(found, [*found[1:], found[0]], strict=True))
    else:
        assert circle(rows) is None


@given(pairs.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))))
def test_the_order_of_edges_decides_nothing(given_rows):
    rows, shuffled = given_rows

    assert circle(rows) == circle(shuffled) == circle([*rows, *shuffled])


@given(pairs)
def test_edges_that_are_kept_only_when_they_close_no_circle_never_do(rows):
    kept = []
    for row in rows:
        if circle([*kept, row]) is None:
            kept.append(row)

    assert circle(kept) is None
    for row in set(rows) - set(kept):
        closing = circle([*kept, row])
        assert row in zip(closing, [*closing[1:], closing[0]], strict=True)


def test_a_long_circle_is_found_and_told_in_short():
    ring = [f"node{number:05}" for number in range(5000)]
    rows = list(zip(ring, [*ring[1:], ring[0]], strict=True))

    told = circle_in_words(circle(rows), [rows[-1]])

    assert told.startswith("node04999 -> node00000 -> node00001")
    assert "4989 more" in told
    assert told.endswith("-> node04999")
