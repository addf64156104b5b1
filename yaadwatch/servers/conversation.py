"""One connection: a first line, then requests that may overlap, or a stream of events.

Memory is bounded by not reading on: a few requests of one client are under way at most, each answer
is handed over before the next request takes its place, and a client who does not read is dropped.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from yaadwatch.api import codec, frames
from yaadwatch.api.messages.wire import Hello, Shutdown, Subscribe
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import CONNECTIONS_MAX, FRAME_BYTES_MAX, REQUESTS_AT_ONCE_MAX
from yaadwatch.places import PROTOCOL
from yaadwatch.servers.dispatch import Dispatcher, Events

_log: Final = logging.getLogger(__name__)

_HIGH_WATER_BYTES: Final = 256 * 1024
"""With more than this unread we wait for the client to read."""
_DISCARD_BYTES_MAX: Final = 64 * 1024 * 1024
"""So much is read and thrown away from a client that was told to stop, so that it reads why."""
_FLUSH: Final = timedelta(seconds=0.2)
"""A connection that is ended has so long to take its last answers."""


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


class Conversation:
    """Serves one client. `run` returns when the connection is over."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        dispatcher: Dispatcher,
        version: str,
        now: Callable[[], datetime],
        events: Events,
        on_shutdown: Callable[[], None],
        wide: Sequence[str],
        limits: Limits,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._dispatcher = dispatcher
        self._version = version
        self._now = now
        self._events = events
        self._on_shutdown = on_shutdown
        self._wide = wide
        self._limits = limits
        self._places = asyncio.Semaphore(limits.in_flight_max)
        self._under_way: set[asyncio.Task[None]] = set()
        self._ending = False
        self._asks = False
        self._task = asyncio.create_task(self._run())

    def when_over(self, then: Callable[["Conversation"], None]) -> None:
        """Call `then` when the connection is over."""
        self._task.add_done_callback(lambda _: then(self))

    async def end(self, grace: timedelta) -> None:
        """Let what is under way be answered within `grace`, then end the connection."""
        self._ending = True
        until = asyncio.get_running_loop().time() + grace.total_seconds()
        while self._under_way:
            left = until - asyncio.get_running_loop().time()
            if left <= 0:
                break
            await asyncio.wait(set(self._under_way), timeout=left)
        self._say_farewell()
        self._task.cancel()
        await asyncio.wait([self._task], timeout=_FLUSH.total_seconds())
        self._writer.transport.abort()
        await asyncio.wait([self._task])

    def _say_farewell(self) -> None:
        """Tell a client that what it asked and got no answer to was not done.

        From here on nothing is begun. When something that was begun has no answer yet, nobody can
        tell, and nothing is said.
        """
        if self._asks and not self._under_way and not self._writer.transport.is_closing():
            self._writer.write(frames.encode(frames.failure(None, frames.Stopping())))

    async def _run(self) -> None:
        self._writer.transport.set_write_buffer_limits(high=_HIGH_WATER_BYTES)
        try:
            hello = await self._greet()
            if hello is not None and hello.speaks == "mcp":
                await self._agent(hello)
            elif hello is not None:
                await self._requests(hello)
        except YaadError as error:
            await self._part(error)
        except ConnectionError:
            _log.debug("socket.client_left")
        finally:
            for task in self._under_way:
                task.cancel()
            await self._close()

    async def _greet(self) -> Hello | None:
        """Return the client's first line, after ours was sent; None when it left without one."""
        line = await self._within_frame_time(self._rest_of_line())
        if line is None:
            return None
        hello = codec.hello(_decoded(line))
        greeting: dict[str, object] = {
            "protocol": PROTOCOL,
            "server": self._version,
            "pid": os.getpid(),
            "at": self._now(),
        }
        await self._send(frames.encode(greeting))
        return hello

    async def _requests(self, hello: Hello) -> None:
        """Serve requests until the client has no more, and all are answered."""
        self._asks = True
        while (line := await self._line()) is not None:
            frame = _decoded(line)
            await self._places.acquire()
            try:
                request = self._understood(frame)
            except YaadError as error:
                self._begin(
                    self._send(frames.encode(frames.failure(codec.request_id(frame), error)))
                )
                continue
            if isinstance(request.message, Subscribe):
                self._asks = False
                await self._stream(request.id, request.message.after)
                return
            self._begin(self._reply(hello, request))
        # A client may close its side when it has asked everything, and wait for the answers.
        if self._under_way:
            await asyncio.wait(set(self._under_way))

    async def _agent(self, hello: Hello) -> None:
        """Serve a client that speaks the Model Context Protocol.

        A daemon that is stopping answers no new request: whoever waits for one asks the next
        daemon.
        """
        from yaadwatch.servers.mcp import Session

        session = Session(
            hello,
            self._dispatcher,
            version=self._version,
            at_once=self._limits.in_flight_max,
            start=self._start,
            send=self._send,
            events=self._events,
            wide=self._wide,
            line_bytes_max=self._limits.frame_bytes_max,
        )
        try:
            while (line := await self._line()) is not None and not self._ending:
                session.hear(line)
                while len(self._under_way) >= self._limits.waiting_max:
                    await asyncio.wait(set(self._under_way), return_when=asyncio.FIRST_COMPLETED)
            if self._under_way:
                await asyncio.wait(set(self._under_way))
        finally:
            session.close()
            # When the daemon ends, the agent goes on, with the next daemon.
            if not self._ending:
                self._dispatcher.left(hello, session.agent, session.name)

    def _understood(self, frame: dict[str, object]) -> codec.Request:
        if self._ending:
            raise frames.Stopping
        return codec.request(frame)

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        """Start `work` in the place that was acquired for it."""
        self._start(work).add_done_callback(self._replied)

    def _replied(self, task: asyncio.Task[None]) -> None:  # noqa: ARG002
        self._places.release()

    async def _reply(self, hello: Hello, request: codec.Request) -> None:
        if isinstance(request.message, Shutdown):
            await self._send(frames.encode(frames.answer(request.id, {"stopping": True})))
            self._on_shutdown()
            return
        line = await self._dispatcher.answer(hello, request)
        if len(line) > self._limits.frame_bytes_max:
            error = YaadError(
                Code.TOO_LARGE,
                f"The answer has {len(line)} bytes; {self._limits.frame_bytes_max} is the limit.",
                hint="Ask for less at a time.",
            )
            line = frames.encode(frames.failure(request.id, error))
        await self._send(line)

    async def _stream(self, identity: int | str, after: str | None) -> None:
        """Send events until the client leaves or the stream breaks."""
        telling = asyncio.create_task(self._tell(identity, after))
        leaving = asyncio.create_task(self._reader.read(1))
        try:
            await asyncio.wait({telling, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if telling.done():
                telling.result()
            elif leaving.result():
                raise YaadError(
                    Code.BAD_REQUEST,
                    "After `subscribe` a connection only carries events; it was closed.",
                    hint="Ask on another connection.",
                )
        finally:
            telling.cancel()
            leaving.cancel()
            await asyncio.gather(telling, leaving, return_exceptions=True)

    async def _tell(self, identity: int | str, after: str | None) -> None:
        async with aclosing(self._dispatcher.follow(identity, self._events, after)) as lines:
            async for line in lines:
                await self._send(line)
                if self._writer.transport.is_closing():
                    return
                await asyncio.sleep(0)  # many events at once are no reason to keep others waiting

    async def _line(self) -> bytes | None:
        """Return the next line, for which an idle client may take its time; None at the end."""
        first = await self._reader.read(1)
        if first in {b"", b"\n"}:
            return first or None
        rest = await self._within_frame_time(self._rest_of_line())
        return None if rest is None else first + rest

    async def _rest_of_line(self) -> bytes | None:
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError:
            raise YaadError(
                Code.TOO_LARGE,
                f"A line had more than {self._limits.frame_bytes_max} bytes; nothing in it was done"
                " and the connection was closed.",
                hint="Send less at a time.",
            ) from None

    async def _within_frame_time(
        self, reading: Coroutine[object, object, bytes | None]
    ) -> bytes | None:
        try:
            async with asyncio.timeout(self._limits.frame_time.total_seconds()):
                return await reading
        except TimeoutError:
            raise YaadError(
                Code.TIMEOUT,
                f"A line was not complete within {self._limits.frame_time.total_seconds():g} s;"
                " the connection was closed.",
            ) from None

    async def _send(self, line: bytes) -> None:
        """Hand `line` over; a client that leaves too much unread for too long is dropped."""
        self._writer.write(line)
        transport = self._writer.transport
        if not transport.is_closing() and transport.get_write_buffer_size() == 0:
            return
        try:
            async with asyncio.timeout(self._limits.write_time.total_seconds()):
                await self._writer.drain()
        except TimeoutError:
            _log.warning(
                "socket.dropped_slow_client",
                extra={"after_s": self._limits.write_time.total_seconds()},
            )
            transport.abort()
        except ConnectionError:
            # The reading side sees the end too, and ends the conversation.
            _log.debug("socket.client_left")

    async def _part(self, error: YaadError) -> None:
        """Say why we end, and read on for a moment: closing at once would lose the reason."""
        self._asks = False
        await self._send(frames.encode(frames.failure(None, error)))
        try:
            self._writer.write_eof()
            async with asyncio.timeout(self._limits.frame_time.total_seconds()):
                left = _DISCARD_BYTES_MAX
                while left > 0 and (chunk := await self._reader.read(65536)):
                    left -= len(chunk)
        except OSError:
            _log.debug("socket.client_left")

    async def _close(self) -> None:
        self._writer.close()
        try:
            async with asyncio.timeout(self._limits.write_time.total_seconds()):
                await self._writer.wait_closed()
        except OSError:
            self._writer.transport.abort()


def _decoded(line: bytes) -> dict[str, object]:
    try:
        return frames.decode(line)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"The connection was closed: {error}.") from None
