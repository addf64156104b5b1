"""Which resources of one client have changed, told as it asked: a resource at a time, or a stream.

With the handshake a client subscribes to a resource; without, it opens a stream for several, whose
lines bear the id of the request that opened it. Either way it hears that a resource changed, not
what: it reads it again when it likes. So many changes at once are one line.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from typing import Final

from yaadwatch.api import frames
from yaadwatch.model.errors import YaadError
from yaadwatch.servers.dispatch import Events
from yaadwatch.servers.mcp_texts import RESOURCES

LISTENS_MAX: Final = 64
"""Streams of one client that are open at the same time."""
GATHER_S: Final = 0.1
"""Changes that come within so long after the first are told with it."""
AGAIN_S: Final = 1.0
"""After the stores could not be followed, it is tried again so much later."""

_SUBSCRIPTION: Final = "io.modelcontextprotocol/subscriptionId"

_log: Final = logging.getLogger(__name__)


class News:
    """What one client wants to hear of. Methods run on the loop.

    Args:
        events: what happens in the stores, from a cursor on.
        send: hands a line to the client.
    """

    def __init__(self, events: Events, send: Callable[[bytes], Awaitable[None]]) -> None:
        self._events = events
        self._send = send
        self._stores: Collection[str] = ()
        self._subscribed: set[str] = set()
        self._listening: dict[int | str, frozenset[str]] = {}
        self._hearing: asyncio.Task[None] | None = None
        self._begun: asyncio.Future[None] | None = None
        self._telling: asyncio.Task[None] | None = None
        self._changed: set[str] = set()

    @property
    def is_full(self) -> bool:
        """Whether no more streams may be opened."""
        return len(self._listening) >= LISTENS_MAX

    def is_listening(self, identity: int | str) -> bool:
        """Return whether the request of this id opened a stream that is not over."""
        return identity in self._listening

    async def subscribe(self, uri: str, stores: Collection[str]) -> None:
        """Tell when a resource changes; what happens after this returns is not missed.

        Args:
            uri: of the resource.
            stores: whose events are about it.
        """
        await self._hear(stores)
        self._subscribed.add(uri)

    def unsubscribe(self, uri: str) -> None:
        """Tell of a resource no more; other subscriptions go on."""
        self._subscribed.discard(uri)

    def unsubscribe_all(self) -> None:
        """Begin anew: what a client subscribed to before a handshake is not told after it."""
        self._subscribed.clear()

    async def listen(
        self, identity: int | str, uris: Sequence[str], stores: Collection[str]
    ) -> None:
        """Open a stream, say what it will tell of, and tell when one of that changes.

        Args:
            identity: of the request; each line of the stream bears it.
            uris: of the resources; none: nothing will be told.
            stores: whose events are about them.
        """
        if uris:
            await self._hear(stores)
        self._listening[identity] = frozenset(uris)
        honoured = {"resourceSubscriptions": list(uris)} if uris else {}
        # Written before anything else can be: the first line of a stream says what it is of.
        await self._send(
            _notice(
                "notifications/subscriptions/acknowledged", identity, {"notifications": honoured}
            )
        )

    def leave(self, identity: int | str) -> None:
        """End a stream, if there is such a one."""
        self._listening.pop(identity, None)

    def close(self) -> None:
        """Tell nothing more."""
        for task in (self._hearing, self._telling):
            if task is not None:
                task.cancel()

    async def _hear(self, stores: Collection[str]) -> None:
        """Begin to hear what happens; return when nothing is missed any more."""
        self._stores = stores
        if self._hearing is None or self._begun is None or self._hearing.done():
            self._begun = asyncio.get_running_loop().create_future()
            self._hearing = asyncio.create_task(self._follow(self._begun))
            self._hearing.add_done_callback(_log_end)
        await asyncio.wait([self._begun, self._hearing], return_when=asyncio.FIRST_COMPLETED)

    async def _follow(self, begun: "asyncio.Future[None]") -> None:
        """Hear what happens; after an error begin again, and tell that all may have changed."""
        while True:
            try:
                await self._follow_once(begun)
            except YaadError as error:
                _log.warning("mcp.news_again", extra={"error": str(error)})
            if not begun.done():
                begun.set_result(None)
            await asyncio.sleep(AGAIN_S)

    async def _follow_once(self, begun: "asyncio.Future[None]") -> None:
        stream = self._events(None)
        is_first = True
        try:
            async for event in stream:
                if is_first:
                    is_first = False
                    if begun.done():
                        self._note("")
                    else:
                        begun.set_result(None)
                elif event["project"] in self._stores:
                    self._note(str(event["kind"]))
        finally:
            if isinstance(stream, AsyncGenerator):
                await stream.aclose()

    def _note(self, kind: str) -> None:
        """Take note of an event; '' is one that nobody heard, and may have been any."""
        self._changed |= {one.uri for one in RESOURCES if not kind or kind.startswith(one.changes)}
        if self._changed and (self._telling is None or self._telling.done()):
            self._telling = asyncio.create_task(self._tell())

    async def _tell(self) -> None:
        while self._changed:
            await asyncio.sleep(GATHER_S)
            changed, self._changed = self._changed, set()
            for uri in sorted(changed & self._subscribed):
                await self._send(_updated(uri))
            for identity, uris in list(self._listening.items()):
                for uri in sorted(changed & uris):
                    await self._send(_updated(uri, identity))


def _updated(uri: str, identity: int | str | None = None) -> bytes:
    return _notice("notifications/resources/updated", identity, {"uri": uri})


def _notice(method: str, identity: int | str | None, params: dict[str, object]) -> bytes:
    meta = {} if identity is None else {"_meta": {_SUBSCRIPTION: identity}}
    return frames.encode({"jsonrpc": "2.0", "method": method, "params": params | meta})


def _log_end(task: "asyncio.Task[None]") -> None:
    """Note that changes are not heard of any more; the next subscription begins anew."""
    error = None if task.cancelled() else task.exception()
    if error is not None:
        _log.error("mcp.news_ended", extra={"error": f"{type(error).__name__}: {error}"})
