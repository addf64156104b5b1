"""A connection as lines: cut out of what comes in, within limits; handed over within others.

An `asyncio.Protocol`, because a stream takes a request through the loop four times more: the bytes
that come in are lines in the same turn. What a line means, `servers/conversation.py` knows.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, cast

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import CONNECTIONS_MAX, FRAME_BYTES_MAX, REQUESTS_AT_ONCE_MAX

_log: Final = logging.getLogger(__name__)

_HIGH_WATER_BYTES: Final = 256 * 1024
"""With more than this unread we wait for the client to read."""
_DISCARD_BYTES_MAX: Final = 64 * 1024 * 1024
"""So much is read and thrown away from a client that was told to stop, so that it reads why."""
_LINES_A_TURN: Final = 16
"""After so many lines of one client it is the turn of the others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a connection may take.

    Args:
        connections_max: connections at the same time.
        in_flight_max: requests of one connection under way; fewer than verbs run at once, so that
            no client alone keeps the others waiting.
        waiting_max: requests of one agent that are read while others of its are under way.
        frame_bytes_max: the longest line, in either direction.
        frame_time: from the first byte of a line to its last; for the first line, from the moment
            of connecting.
        write_time: how long a client may leave answers unread.
    """

    connections_max: int = CONNECTIONS_MAX
    in_flight_max: int = REQUESTS_AT_ONCE_MAX - 1
    waiting_max: int = 64
    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_time: timedelta = timedelta(seconds=10)
    write_time: timedelta = timedelta(seconds=30)


class Lines(asyncio.Protocol, ABC):
    """The lines of one client; who inherits from it says what they mean. Runs on the loop.

    Memory is bounded by not reading on: while `is_taking` says no, or the client does not read, no
    line is taken, and nothing more is read once one waits.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._read = bytearray()
        self._searched = 0
        self._in_turn = False
        self._turn_is_due = False
        self._reads_on = True
        self._has_ended = False
        self.is_parting = False
        """Whether the client was told why we end."""
        self._thrown_away = 0
        self._late: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._closing: asyncio.TimerHandle | None = None
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.over: asyncio.Future[None] = self._loop.create_future()
        """Done when the connection is gone."""

    # What the one who inherits says.

    @abstractmethod
    def is_taking(self) -> bool:
        """Say whether a line may be handed over now."""

    @abstractmethod
    def take(self, line: bytes) -> None:
        """Take a line, with its line feed.

        Raises:
            YaadError: it ends the connection; the client is told why.
        """

    @abstractmethod
    def ended(self) -> None:
        """Take note that the client has nothing more to say, and that all it said was taken."""

    @abstractmethod
    def lost(self) -> None:
        """Take note that the connection is gone."""

    @abstractmethod
    def part(self, error: YaadError) -> None:
        """End the connection, and tell the client why; `part_with` does it."""

    # What it can do.

    @property
    def is_closing(self) -> bool:
        """Whether nothing that is sent arrives any more."""
        return self._transport is None or self._transport.is_closing()

    def send(self, line: bytes) -> None:
        """Hand `line` over; a client that leaves too much unread for too long is dropped."""
        transport = self._transport
        if transport is not None and not transport.is_closing():
            transport.write(line)

    async def send_and_wait(self, line: bytes) -> None:
        """Hand `line` over, and wait while the client has much left to read."""
        self.send(line)
        await self._may_write.wait()

    def go_on(self) -> None:
        """Take the lines that wait, as far as they may be taken; read on when none is left."""
        if self._in_turn or self._turn_is_due or self.is_parting or self.is_closing:
            return
        self._in_turn = True
        try:
            for _ in range(_LINES_A_TURN):
                if not self.is_taking() or not self._may_write.is_set():
                    self._stop_the_clock()  # it may all be there; we do not look
                    self._read_on(yes=False)
                    return
                line = self._next()
                if line is None:
                    break
                self.take(line)
                if self.is_closing:
                    return
                if not self._read:
                    break
            else:
                self._turn_is_due = True
                self._read_on(yes=False)
                self._loop.call_soon(self._next_turn)
                return
        except YaadError as error:
            self.part(error)
            return
        finally:
            self._in_turn = False
        self._watch_the_clock()
        if self._has_ended:
            self.ended()
        else:
            self._read_on(yes=True)

    def drop_what_waits(self) -> bool:
        """Forget what was read and not taken; say whether there was anything."""
        waits = bool(self._read)
        self._read.clear()
        self._searched = 0
        return waits

    def part_with(self, line: bytes) -> None:
        """Say `line` as the last one, and read on for a moment."""
        transport = self._transport
        if transport is None or transport.is_closing() or self.is_parting:
            return
        self.is_parting = True
        self.drop_what_waits()
        self._cancel(self._late)
        transport.write(line)
        if self._has_ended:
            self.close()
            return
        try:
            transport.write_eof()
        except OSError as gone:
            _log.debug("socket.client_left", extra={"reason": str(gone)})
            self.close()
            return
        self._read_on(yes=True)
        self._late = self._loop.call_later(self._limits.frame_time.total_seconds(), self.close)

    def close(self) -> None:
        """End the connection, once the client has taken what was sent, or its time is over."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        self._cancel(self._late)
        transport.close()
        self._closing = self._loop.call_later(
            self._limits.write_time.total_seconds(), transport.abort
        )

    def abort(self) -> None:
        """End the connection now."""
        if self._transport is not None:
            self._transport.abort()

    # What the loop tells.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin: the first line has its time from now on."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        self._late = self._loop.call_later(
            self._limits.frame_time.total_seconds(), self._took_too_long
        )

    def data_received(self, data: bytes) -> None:
        """Take what came in."""
        if self.is_parting:
            self._thrown_away += len(data)
            if self._thrown_away >= _DISCARD_BYTES_MAX:
                self.close()
            return
        one_line = not self._read and data.find(b"\n") == len(data) - 1
        if one_line and len(data) <= self._limits.frame_bytes_max and self._is_at_rest():
            self._take_one(data)
            return
        self._read += data
        self.go_on()

    def _is_at_rest(self) -> bool:
        """Return whether a line that came in whole, and alone, may be taken as it is.

        Mostly it may: a client asks, and waits. Then nothing has to be put together.
        """
        busy = self._in_turn or self._turn_is_due or not self._may_write.is_set()
        return not busy and self.is_taking() and not self.is_closing

    def _take_one(self, line: bytes) -> None:
        self._stop_the_clock()
        self._in_turn = True
        try:
            self.take(line)
        except YaadError as error:
            self.part(error)
        finally:
            self._in_turn = False

    def eof_received(self) -> bool:
        """Note that the client has said everything; it may still wait for answers."""
        self._has_ended = True
        if self.is_parting:
            self.close()
        else:
            self.go_on()
        return True

    def pause_writing(self) -> None:
        """Note that the client has much left to read, and drop it if that lasts."""
        self._may_write.clear()
        self._unread = self._loop.call_later(
            self._limits.write_time.total_seconds(), self._is_too_slow
        )

    def resume_writing(self) -> None:
        """Note that the client has read."""
        self._cancel(self._unread)
        self._may_write.set()
        self.go_on()

    def connection_lost(self, error: Exception | None) -> None:
        """End: nothing that waits is done."""
        if error is not None:
            _log.debug("socket.client_left", extra={"reason": str(error)})
        for timer in (self._late, self._unread, self._closing):
            self._cancel(timer)
        self.drop_what_waits()
        self._transport = None
        self._may_write.set()
        self.over.set_result(None)
        self.lost()

    def _next(self) -> bytes | None:
        """Return the next whole line, if there is one.

        Raises:
            YaadError: it is, or becomes, too long.
        """
        read = self._read
        end = read.find(b"\n", self._searched)
        self._searched = len(read)
        if (end if end >= 0 else len(read)) > self._limits.frame_bytes_max:
            raise YaadError(
                Code.TOO_LARGE,
                f"A line had more than {self._limits.frame_bytes_max} bytes; nothing in it was done"
                " and the connection was closed.",
                hint="Send less at a time.",
            )
        if end < 0:
            return None
        line = bytes(read[: end + 1])
        del read[: end + 1]
        self._searched = 0
        self._stop_the_clock()
        return line

    def _next_turn(self) -> None:
        self._turn_is_due = False
        self.go_on()

    def _watch_the_clock(self) -> None:
        """Give a line that has begun its time; an idle client has as much as it likes."""
        if self._read and self._late is None and not self._has_ended:
            self._late = self._loop.call_later(
                self._limits.frame_time.total_seconds(), self._took_too_long
            )

    def _stop_the_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _took_too_long(self) -> None:
        self.part(
            YaadError(
                Code.TIMEOUT,
                f"A line was not complete within {self._limits.frame_time.total_seconds():g} s;"
                " the connection was closed.",
            )
        )

    def _is_too_slow(self) -> None:
        _log.warning(
            "socket.dropped_slow_client",
            extra={"after_s": self._limits.write_time.total_seconds()},
        )
        self.abort()

    def _read_on(self, *, yes: bool) -> None:
        if yes == self._reads_on or self._transport is None or self._has_ended:
            return
        self._reads_on = yes
        if yes:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    @staticmethod
    def _cancel(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
