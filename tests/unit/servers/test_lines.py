"""Lines that come and wait, by a clock that only the test moves."""

import asyncio
from datetime import timedelta

import pytest

from yaadwatch.servers.lines import Limits, Lines

FRAME_S = 10.0


class Loop(asyncio.SelectorEventLoop):
    """A loop whose time stands still until it is told."""

    now_s = 0.0

    def time(self):
        return self.now_s

    def after(self, seconds):
        """Let so much time pass, and do what is due then."""
        self.now_s += seconds
        self.call_soon(self.stop)
        self.run_forever()


class Transport(asyncio.Transport):
    """The end of a connection of which nothing is ever taken."""

    def __init__(self):
        super().__init__()
        self.closing = False

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass

    def is_closing(self):
        return self.closing


class Heard(Lines):
    """Keeps the lines, and why it was ended; takes none while it is `full`."""

    def __init__(self, limits):
        super().__init__(limits)
        self.lines = []
        self.parted = None
        self.full = False

    def is_taking(self):
        return not self.full

    def take(self, line):
        self.lines.append(line)

    def ended(self):
        pass

    def lost(self):
        pass

    def part(self, error):
        self.parted = error


@pytest.fixture
def loop():
    made = Loop()
    yield made
    made.close()


@pytest.fixture
def heard(loop):
    async def make():
        return Heard(Limits(frame_time=timedelta(seconds=FRAME_S)))

    made = loop.run_until_complete(make())
    made.connection_made(Transport())
    return made


def test_a_line_that_does_not_end_in_time_ends_the_connection(loop, heard):
    heard.data_received(b"one\ntw")
    loop.after(FRAME_S + 1)

    assert heard.lines == [b"one\n"]
    assert heard.parted is not None


def test_a_line_that_waits_until_its_client_has_read_is_not_late(loop, heard):
    """Half of it came while lines were taken, the rest when none was."""
    heard.data_received(b"one\ntw")
    heard.pause_writing()
    heard.data_received(b"o\n")
    loop.after(FRAME_S + 1)
    assert heard.parted is None

    heard.resume_writing()
    assert heard.lines == [b"one\n", b"two\n"]


def test_a_line_that_still_misses_its_end_after_a_wait_has_its_time_anew(loop, heard):
    heard.data_received(b"one\ntw")
    heard.full = True
    heard.go_on()
    loop.after(FRAME_S + 1)
    heard.full = False
    heard.go_on()
    assert heard.parted is None

    loop.after(FRAME_S + 1)
    assert heard.parted is not None
