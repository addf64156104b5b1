"""Is it any use to wait for the daemon? What its process is seen doing decides."""

import pytest

from yaadwatch.client.presence import Patience


def after(*looks, age_s=100.0):
    """Patience after one look a second, each at a state and at how long the process ran by then."""
    patience = Patience()
    for second, (state, ran) in enumerate(looks, start=1):
        patience.note(state, ran, age_s, second)
    return patience


def test_one_that_sleeps_all_the_time_is_idle():
    assert after(*[("S", 7)] * 6).is_idle(6.0, 5.0, 20.0)


@pytest.mark.parametrize("state", ["R", "D"])
def test_one_that_waits_for_the_processor_or_a_disk_is_not_idle(state):
    """The machine may have so much to do that it is not let run for seconds."""
    assert not after(*[(state, 7)] * 6).is_idle(6.0, 5.0, 20.0)
    assert not after(("S", 7), (state, 7), *[("S", 7)] * 4).is_idle(6.0, 5.0, 20.0)


def test_one_that_is_not_seen_is_not_idle():
    assert not after(*[("", None)] * 6).is_idle(6.0, 5.0, 20.0)


@pytest.mark.parametrize("state", ["T", "t"])
def test_one_that_stands_still_in_two_looks_is_suspended(state):
    assert after((state, 7), (state, 7)).is_suspended
    assert not after((state, 7)).is_suspended


def test_one_that_runs_between_the_stops_of_a_tracer_is_not_suspended():
    """`strace` stops it at each call; it goes on in between."""
    assert not after(("t", 7), ("t", 9), ("t", 12)).is_suspended
