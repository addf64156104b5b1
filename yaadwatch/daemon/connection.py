"""Serve one client connection: a hello line, then overlapping requests or a stream of events.

Back-pressure bounds the memory: the next line is read only while fewer than `in_flight_max`
requests are in flight, and an answer stays in flight until the client's buffer has room for it.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from yaadwatch.api import codec, frames
from yaadwatch.api.messages.store import Hello, Shutdown, Subscribe
from yaadwatch.daemon.dispatch import Dispatcher, Events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import FRAME_BYTES_MAX
from yaadwatch.model.settings import REQUESTS_AT_ONCE_MAX
from yaadwatch.places import PROTOCOL

if TYPE_CHECKING:
    from yaadwatch.daemon.mcp import Session


DISCARDED_MAX: Final = 64 * 1024 * 1024
DISCARDED_A_STEP: Final = 64 * 1024
"""What a rejected client sends in a tenth of the time for a line, or it is not waited for."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a connection may take.

    Args:
        connections_max: connections at the same time.
        in_flight_max: requests of one connection under way; fewer than verbs run at once, so that
            no client alone keeps the others waiting.
        waiting_max: the same for an agent, whose session lets fewer of them run.
        frame_bytes_max: the longest line, in either direction.
        frame_time: from the first byte of a line to its last; for the first line, from the moment
            of connecting.
        write_time: how long a client may leave answers unread.
    """

    connections_max: int = 256
    in_flight_max: int = REQUESTS_AT_ONCE_MAX - 1
    waiting_max: int = 64
    frame_bytes_max: int = FRAME_BYTES_MAX
    frame_time: timedelta = timedelta(seconds=10)
    write_time: timedelta = timedelta(seconds=30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """What every connection is served with.

    Args:
        dispatcher: answers the operations that are verbs.
        version: of the server, for the first line it sends.
        now: the present time, for that line too: clients measure times ago by the daemon's clock.
        events: the stream that `subscribe` asks for.
        on_shutdown: called after `shutdown` was answered; should make the daemon end.
        wide: which wide tools agents are listed besides the others.
    """

    dispatcher: Dispatcher
    version: str
    now: Callable[[], datetime]
    events: Events
    on_shutdown: Callable[[], None]
    wide: Sequence[str] = ()


class Connection:
    """Serves one client. Runs on the loop.

    Args:
        reader: its `limit` is `limits.frame_bytes_max`.
        writer: the other direction.
        service: what answers.
        limits: what the client may take.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        service: Serving,
        limits: Limits,
    ) -> None:
        # With more than this unread, an answer waits until the client reads.
        writer.transport.set_write_buffer_limits(high=256 * 1024)
        self._reader = reader
        self._writer = writer
        self._service = service
        self._limits = limits
        self._hello: Hello | None = None
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        """The requests under way."""
        self._lost = asyncio.ensure_future(writer.wait_closed())
        """Done when nothing more arrives in either direction."""
        self._streams = False
        self._ending = False
        self._is_left = False

    async def run(self, refusal: YaadError | None = None) -> None:
        """Serve the client until one side ends the connection; None: it is not refused."""
        try:
            if refusal is not None:
                self._writer.write(frames.encode(frames.failure(None, refusal)))
                return
            await self._serve()
            while self._tasks and not self._lost.done():  # it closed its side, and still listens
                await self._one_is_answered()
        except YaadError as error:
            self._leave()
            await self._reject(error)
        except OSError as error:
            _log.debug("socket.client_left", extra={"reason": str(error)})
        finally:
            self._leave()
            await self._close()

    async def end(self, grace: timedelta) -> None:
        """Answer what is under way within `grace`, then make `run` return soon."""
        self._ending = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=grace.total_seconds())
        is_asking = self._hello is not None and self._session is None and not self._streams
        if is_asking and not self._tasks and not self._is_left:
            # Whatever else the client sent was not begun.
            self._writer.write(frames.encode(frames.failure(None, frames.Stopping())))
        self._leave()
        self._writer.close()
        # It has so long to deliver its last answers.
        asyncio.get_running_loop().call_later(0.2, self.abort)

    def abort(self) -> None:
        """End the connection now."""
        self._writer.transport.abort()

    async def _serve(self) -> None:
        """Read lines until the client closes its side or the connection ends."""
        greeted = codec.hello(_decoded(await self._line(is_first=True)))
        self._greet(greeted)
        while not self._is_left:
            limits = self._limits
            under_way_max = limits.in_flight_max if self._session is None else limits.waiting_max
            while len(self._tasks) >= under_way_max and not self._lost.done():
                await self._one_is_answered()
            line = await self._line()
            if not line or self._is_left:
                return
            if self._session is not None:
                self._session.hear(line)
            else:
                await self._ask(greeted, _decoded(line))
            await asyncio.sleep(0)  # many lines at once: let the other clients have their turn

    async def _one_is_answered(self) -> None:
        await asyncio.wait([*self._tasks, self._lost], return_when=asyncio.FIRST_COMPLETED)

    async def _line(self, *, is_first: bool = False) -> bytes:
        """Return the next line; b'' when the client has ended its side.

        Raises:
            YaadError: TOO_LARGE or TIMEOUT.
        """
        begin = b"" if is_first else await self._reader.read(1)  # an idle client may wait for ever
        if begin == b"\n" or (not begin and not is_first):
            return begin
        try:
            async with asyncio.timeout(self._limits.frame_time.total_seconds()):
                return begin + await self._reader.readuntil()
        except asyncio.IncompleteReadError:
            return b""
        except asyncio.LimitOverrunError:
            raise YaadError(
                Code.TOO_LARGE,
                f"A line had more than {self._limits.frame_bytes_max} bytes; nothing in it was done"
                " and the connection was closed.",
                hint="Send less at a time.",
            ) from None
        except TimeoutError:
            raise YaadError(
                Code.TIMEOUT,
                f"A line was not complete within {self._limits.frame_time.total_seconds():g} s;"
                " the connection was closed.",
            ) from None

    def _greet(self, hello: Hello) -> None:
        service = self._service
        greeting: dict[str, object] = {
            "protocol": PROTOCOL,
            "server": service.version,
            "pid": os.getpid(),
            "at": service.now(),
        }
        self._writer.write(frames.encode(greeting))
        self._hello = hello
        if hello.speaks == "mcp":
            from yaadwatch.daemon.mcp import Session

            self._session = Session(
                hello,
                service.dispatcher,
                version=service.version,
                at_once=self._limits.in_flight_max,
                start=self._start,
                send=self._send,
                wide=service.wide,
                line_bytes_max=self._limits.frame_bytes_max,
            )

    async def _ask(self, hello: Hello, frame: dict[str, object]) -> None:
        """Start answering a request of our own protocol, or send its error."""
        try:
            if self._ending:
                raise frames.Stopping
            request = codec.request(frame)
        except Exception as error:  # noqa: BLE001  (the client waits for an answer)
            await self._send(self._failed(codec.request_id(frame), str(frame.get("method")), error))
            return
        match request.message:
            case Subscribe(after=after):
                await self._stream(request.id, after)
            case Shutdown():
                await self._send(frames.encode(frames.answer(request.id, {"stopping": True})))
                self._service.on_shutdown()
            case _:
                at_once = self._service.dispatcher.at_once(hello, request)
                if at_once is not None:
                    await self._send(at_once)
                else:
                    self._start(self._answer(hello, request))

    async def _answer(self, hello: Hello, request: codec.Request) -> None:
        try:
            line = await self._service.dispatcher.answer(hello, request)
        except Exception as error:  # noqa: BLE001  (the client waits for an answer)
            line = self._failed(request.id, request.operation.name, error)
        if len(line) > self._limits.frame_bytes_max:
            too_large = YaadError(
                Code.TOO_LARGE,
                f"The answer has {len(line)} bytes; {self._limits.frame_bytes_max} is the limit.",
                hint="Ask for less at a time.",
            )
            line = frames.encode(frames.failure(request.id, too_large))
        await self._send(line)

    def _failed(self, identity: int | str | None, operation: str, error: Exception) -> bytes:
        failure = self._service.dispatcher.failure_of(operation, error)
        return frames.encode(frames.failure(identity, failure))

    async def _stream(self, identity: int | str, after: str | None) -> None:
        """Send events until the client ends its side or the stream breaks; then leave.

        Raises:
            YaadError: the client sent something: from here on the connection carries events only.
        """
        self._streams = True
        sending = asyncio.create_task(self._send_events(identity, after))
        heard = asyncio.create_task(self._reader.read(1))
        try:
            await asyncio.wait([sending, heard], return_when=asyncio.FIRST_COMPLETED)
            if heard.done() and heard.result():
                raise YaadError(
                    Code.BAD_REQUEST,
                    "After `subscribe` a connection only carries events; it was closed.",
                    hint="Ask on another connection.",
                )
            if sending.done():
                sending.result()
        finally:
            for task in (sending, heard):
                task.cancel()
            await asyncio.gather(sending, heard, return_exceptions=True)
        self._leave()

    async def _send_events(self, identity: int | str, after: str | None) -> None:
        service = self._service
        async with aclosing(service.dispatcher.follow(identity, service.events, after)) as lines:
            async for line in lines:
                await self._send(line)
                if self._writer.is_closing():
                    return
                await asyncio.sleep(0)  # many events at once: let the other clients have their turn

    async def _send(self, line: bytes) -> None:
        """Send `line` and wait for room in the client's buffer; drop a slow client."""
        writer = self._writer
        if writer.is_closing():
            return
        writer.write(line)
        if not writer.transport.get_write_buffer_size():
            return
        try:
            async with asyncio.timeout(self._limits.write_time.total_seconds()):
                await writer.drain()
        except TimeoutError:
            after_s = self._limits.write_time.total_seconds()
            _log.warning("socket.dropped_slow_client", extra={"after_s": after_s})
            self.abort()
        except ConnectionError as error:
            _log.debug("socket.client_left", extra={"reason": str(error)})

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _leave(self) -> None:
        """Accept no more requests, and deliver no more answers."""
        self._is_left = True
        for task in self._tasks:
            task.cancel()
        session, self._session = self._session, None
        # When the daemon ends, the agent goes on, with the next daemon.
        if session is not None and self._hello is not None and not self._ending:
            self._service.dispatcher.left(self._hello, session.agent, session.name)

    async def _reject(self, error: YaadError) -> None:
        """Send why the connection ends, and read on for a moment: else the reason may be lost."""
        if self._writer.is_closing():
            return
        discarded, until = 0, DISCARDED_A_STEP
        step_s = self._limits.frame_time.total_seconds() / 10
        with suppress(OSError):
            self._writer.write(frames.encode(frames.failure(None, error)))
            self._writer.write_eof()
            # A rejected client may read the reason only once it has sent everything; one that sends
            # little by little is not waited for.
            while discarded < DISCARDED_MAX:
                with suppress(TimeoutError):
                    async with asyncio.timeout(step_s):
                        while discarded < until and (data := await self._reader.read(65536)):
                            discarded += len(data)
                if discarded < until:
                    return
                until = discarded + DISCARDED_A_STEP

    async def _close(self) -> None:
        """Close the connection once the client has read everything, or after a time limit."""
        self._writer.close()
        await asyncio.wait([self._lost], timeout=self._limits.write_time.total_seconds())
        if not self._lost.done():
            self.abort()
            await asyncio.wait([self._lost])
        if not self._lost.cancelled() and (error := self._lost.exception()) is not None:
            _log.debug("socket.client_left", extra={"reason": str(error)})


def _decoded(line: bytes) -> dict[str, object]:
    try:
        return frames.decode(line)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"The connection was closed: {error}.") from None
