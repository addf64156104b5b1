"""Lines that come and wait, by a clock that only the test moves."""

import asyncio
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.errors import Code, YaadError
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


said = st.lists(st.binary(max_size=6).map(lambda text: text.replace(b"\n", b"")), max_size=8)
cuts = st.lists(st.integers(0, 80), max_size=8)


def heard_of(pieces, limit=100, full_at=None):
    """Return what is heard of pieces as they come; from the piece `full_at` on none is taken until
    all came.
    """
    loop = Loop()

    async def make():
        return Heard(Limits(frame_time=timedelta(seconds=FRAME_S), frame_bytes_max=limit))

    try:
        heard = loop.run_until_complete(make())
        heard.connection_made(Transport())
        for number, piece in enumerate(pieces):
            heard.full = full_at is not None and number >= full_at
            taken = len(heard.lines)
            heard.data_received(piece)
            assert not heard.full or len(heard.lines) == taken
        heard.full = False
        for _ in pieces:
            heard.go_on()
            loop.after(0)
        return heard
    finally:
        loop.close()


@given(said, cuts, st.none() | st.integers(0, 8))
def test_however_bytes_are_cut_the_same_lines_are_heard_in_their_order(texts, places, full_at):
    lines = [text + b"\n" for text in texts]
    whole = b"".join(lines)
    ends = [0, *sorted(place for place in places if place < len(whole)), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(ends)]
    pieces = [piece for piece in pieces if piece]

    assert heard_of(pieces, full_at=full_at).lines == lines
    assert heard_of(lines, full_at=full_at).lines == lines  # each one whole, and alone


@given(st.integers(0, 12), st.booleans())
def test_a_line_may_have_as_many_bytes_whole_as_in_pieces(length, in_pieces):
    line = b"x" * length + b"\n"
    pieces = [line[at : at + 1] for at in range(len(line))] if in_pieces else [line]

    heard = heard_of(pieces, limit=8)

    assert heard.lines == ([line] if length <= 8 else [])
    assert (heard.parted is not None and heard.parted.code is Code.TOO_LARGE) == (length > 8)


def test_what_ends_a_connection_is_said_of_a_line_that_came_whole_too(heard):
    def refuse(line):
        raise YaadError(Code.BAD_REQUEST, "no")

    heard.take = refuse

    heard.data_received(b"what\n")

    assert heard.parted.message == "no"
