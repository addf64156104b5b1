"""One connection: a first line, then requests that may overlap, or a stream of events.

A few requests of one client are under way at most, so that none keeps the others waiting; limits of
lines and of memory are those of `servers/lines.py`.
"""

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from yaadwatch.api import codec, frames
from yaadwatch.api.messages.wire import Hello, Shutdown, Subscribe
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.places import PROTOCOL
from yaadwatch.servers.dispatch import Dispatcher, Events, Job
from yaadwatch.servers.lines import Limits, Lines

if TYPE_CHECKING:
    from yaadwatch.servers.mcp import Session

_FLUSH: Final = timedelta(seconds=0.2)
"""A connection that is ended has so long to take its last answers."""


class Conversation(Lines):
    """Serves one client, from the moment it has connected.

    Args:
        admit: called with the connection when it is made.
        when_over: called when it is gone.
        dispatcher, version, now, events, on_shutdown, wide, limits: as for `LocalSocket`.
    """

    def __init__(
        self,
        *,
        admit: Callable[["Conversation", asyncio.BaseTransport], None],
        when_over: Callable[["Conversation"], None],
        dispatcher: Dispatcher,
        version: str,
        now: Callable[[], datetime],
        events: Events,
        on_shutdown: Callable[[], None],
        wide: Sequence[str],
        limits: Limits,
    ) -> None:
        super().__init__(limits)
        self._admit = admit
        self._when_over = when_over
        self._dispatcher = dispatcher
        self._version = version
        self._now = now
        self._events = events
        self._on_shutdown = on_shutdown
        self._wide = wide
        self._hello: Hello | None = None
        self._jobs: set[Job] = set()
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._telling: asyncio.Task[None] | None = None
        self._ending = False
        self._all_answered: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin, if the client is admitted."""
        super().connection_made(transport)
        self._admit(self, transport)

    async def end(self, grace: timedelta) -> None:
        """Let what is under way be answered within `grace`, then end the connection."""
        self._ending = True
        if self._is_busy:
            self._all_answered = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._all_answered], timeout=grace.total_seconds())
        self._say_farewell()
        self._leave()
        self.close()
        await asyncio.wait([self.over], timeout=_FLUSH.total_seconds())
        self.abort()
        await self.over

    def is_taking(self) -> bool:
        """Say whether a request may be begun now."""
        if self._session is not None:
            return len(self._tasks) < self._limits.waiting_max and not self._ending
        return len(self._jobs) < self._limits.in_flight_max

    def take(self, line: bytes) -> None:
        """Take the first line, or what a client asks."""
        if self._telling is not None:
            raise _only_events()
        if self._session is not None:
            self._session.hear(line)
        elif self._hello is not None:
            self._ask(self._hello, _decoded(line))
        else:
            self._greet(codec.hello(_decoded(line)))

    def ended(self) -> None:
        """Leave, once all is answered: a client may ask everything, close its side, and wait."""
        if self._telling is not None or not self._is_busy:
            self._leave()
            self.close()

    def lost(self) -> None:
        """Begin nothing more of what was asked."""
        self._leave()
        self._note_all_answered()
        self._when_over(self)

    def data_received(self, data: bytes) -> None:
        """Take what came in."""
        super().data_received(data)
        if self._telling is not None and self.drop_what_waits():
            self.part(_only_events())

    def part(self, error: YaadError) -> None:
        """Say why we end; nothing more is begun."""
        self._leave()
        self.part_with(frames.encode(frames.failure(None, error)))

    @property
    def _is_busy(self) -> bool:
        return bool(self._jobs or self._tasks)

    def _greet(self, hello: Hello) -> None:
        greeting: dict[str, object] = {
            "protocol": PROTOCOL,
            "server": self._version,
            "pid": os.getpid(),
            "at": self._now(),
        }
        self.send(frames.encode(greeting))
        self._hello = hello
        if hello.speaks == "mcp":
            self._session = self._agent(hello)

    # Requests of our own protocol.

    def _ask(self, hello: Hello, frame: dict[str, object]) -> None:
        """Begin what a client asks, or say what is wrong with it."""
        try:
            if self._ending:
                raise frames.Stopping
            request = codec.request(frame)
        except YaadError as error:
            self.send(frames.encode(frames.failure(codec.request_id(frame), error)))
            return
        match request.message:
            case Subscribe(after=after):
                self._telling = asyncio.create_task(self._tell(request.id, after))
                self._telling.add_done_callback(self._told)
            case Shutdown():
                self.send(frames.encode(frames.answer(request.id, {"stopping": True})))
                self._on_shutdown()
            case _:
                at_once = self._dispatcher.at_once(hello, request)
                if at_once is not None:
                    self.send(at_once)
                else:
                    self._jobs.add(self._dispatcher.begin(hello, request, self._answered))

    def _answered(self, job: Job, line: bytes) -> None:
        self._jobs.discard(job)
        if len(line) > self._limits.frame_bytes_max:
            error = YaadError(
                Code.TOO_LARGE,
                f"The answer has {len(line)} bytes; {self._limits.frame_bytes_max} is the limit.",
                hint="Ask for less at a time.",
            )
            line = frames.encode(frames.failure(job.request.id, error))
        self.send(line)
        self._one_less()

    def _one_less(self) -> None:
        self.go_on()
        if not self._is_busy:
            self._note_all_answered()

    def _note_all_answered(self) -> None:
        if self._all_answered is not None and not self._all_answered.done():
            self._all_answered.set_result(None)

    def _say_farewell(self) -> None:
        """Tell a client that what it asked and got no answer to was not done.

        From here on nothing is begun. When something that was begun has no answer yet, nobody can
        tell, and nothing is said.
        """
        asks = self._hello is not None and self._session is None and self._telling is None
        if asks and not self._is_busy and not self.is_parting:
            self.send(frames.encode(frames.failure(None, frames.Stopping())))

    def _leave(self) -> None:
        """Begin nothing more of what was asked, and tell no more events."""
        for job in self._jobs:
            job.drop()
        self._jobs.clear()
        for task in self._tasks:
            task.cancel()
        if self._telling is not None:
            self._telling.cancel()
        session, self._session = self._session, None
        if session is not None and self._hello is not None:
            session.close()
            # When the daemon ends, the agent goes on, with the next daemon.
            if not self._ending:
                self._dispatcher.left(self._hello, session.agent, session.name)

    # Events.

    async def _tell(self, identity: int | str, after: str | None) -> None:
        """Send events until the client leaves or the stream breaks."""
        async with aclosing(self._dispatcher.follow(identity, self._events, after)) as lines:
            async for line in lines:
                await self.send_and_wait(line)
                if self.is_closing:
                    return
                await asyncio.sleep(0)  # many events at once are no reason to keep others waiting

    def _told(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            self.close()
            task.result()

    # Agents.

    def _agent(self, hello: Hello) -> "Session":
        """Return what serves a client that speaks the Model Context Protocol.

        A daemon that is stopping answers no new request: whoever waits for one asks the next
        daemon.
        """
        from yaadwatch.servers.mcp import Session

        return Session(
            hello,
            self._dispatcher,
            version=self._version,
            at_once=self._limits.in_flight_max,
            start=self._start,
            send=self.send_and_wait,
            events=self._events,
            wide=self._wide,
            line_bytes_max=self._limits.frame_bytes_max,
        )

    def _start(self, work: Coroutine[object, object, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._served)
        return task

    def _served(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._one_less()


def _decoded(line: bytes) -> dict[str, object]:
    try:
        return frames.decode(line)
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"The connection was closed: {error}.") from None


def _only_events() -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        "After `subscribe` a connection only carries events; it was closed.",
        hint="Ask on another connection.",
    )
