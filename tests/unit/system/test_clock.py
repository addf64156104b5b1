"""The clock, and ids that sort by it."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, timedelta

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.system.clock import Clock


class Hands(Clock):
    """A clock whose time is set by hand."""

    def __init__(self, *times_ns):
        super().__init__()
        self.times_ns = list(times_ns)

    def now_ns(self):
        return self.times_ns.pop(0) if len(self.times_ns) > 1 else self.times_ns[0]


def test_now_is_aware_utc_of_whole_milliseconds():
    now = Clock().now()

    assert now.tzinfo is UTC
    assert now.microsecond % 1000 == 0


def test_now_and_nanoseconds_are_one_clock():
    clock = Hands(1_795_300_761_899_042_443)

    assert clock.now().timestamp() == 1_795_300_761.899


def test_monotonic_time_does_not_go_back():
    clock = Clock()
    times = [clock.monotonic_s() for _ in range(100)]

    assert times == sorted(times)


def test_an_id_is_a_uuid_of_version_7_that_holds_its_time():
    clock = Hands(1_795_300_761_899_042_443)

    made = uuid.UUID(clock.new_id())

    assert (made.version, made.variant) == (7, uuid.RFC_4122)
    assert made.int >> 80 == 1_795_300_761_899


@given(st.lists(st.integers(0, 2**47), min_size=1, max_size=20))
def test_ids_are_made_in_rising_order_even_when_the_clock_goes_back(milliseconds):
    clock = Hands(*(ms * 1_000_000 for ms in milliseconds))

    ids = [clock.new_id() for _ in milliseconds]

    assert ids == sorted(set(ids))
    assert all(uuid.UUID(made).version == 7 for made in ids)


def test_ids_of_one_moment_differ_in_their_last_digits():
    clock = Hands(1_795_300_761_899_042_443)

    ends = {clock.new_id()[-8:] for _ in range(1000)}

    assert len(ends) > 995


def test_threads_never_get_the_same_id():
    clock = Clock()

    with ThreadPoolExecutor(8) as threads:
        made = [
            one
            for ids in threads.map(lambda _: [clock.new_id() for _ in range(500)], range(8))
            for one in ids
        ]

    assert len(set(made)) == 4000


def test_the_difference_of_two_instants_is_a_duration():
    clock = Hands(1_000_000_000_000, 1_000_500_000_000)

    assert clock.now() - clock.now() == -timedelta(milliseconds=500)
