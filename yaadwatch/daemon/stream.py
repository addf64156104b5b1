"""What happened since? The events of all stores as one stream, for those who subscribe.

Its cursor says how far each store was told; to a client it is opaque. Nothing is missed from one
connection to the next, and nothing is told twice to a client that keeps the cursor of each event.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event

PAGE: Final = 100
"""Events read at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Logs:
    """The logs of all stores; plain functions, run in threads. The user store is called ''.

    Args:
        stores: what the stores are called.
        last: the number of the newest event of a store, 0 before the first; None when it cannot be
            read.
        after: the events of a store after a number, oldest first, at most so many; none when
            the store is gone or cannot be read.
    """

    stores: Callable[[], frozenset[str]]
    last: Callable[[str], int | None]
    after: Callable[[str, int, int], Sequence[Event]]


@dataclass(slots=True, eq=False)
class _Subscriber:
    woken: set[str] = field(default_factory=set)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self, store: str) -> None:
        self.woken.add(store)
        self.news.set()


class Stream:
    """Tells subscribers what is written. Methods run on the loop."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._subscribers: set[_Subscriber] = set()

    def wake(self, store: str) -> None:
        """Take note that something was written in a store."""
        for subscriber in self._subscribers:
            subscriber.wake(store)

    async def events(self, after: str | None) -> AsyncIterator[dict[str, object]]:
        """Yield the cursor that is listened from, then each Event after it.

        `after`: a cursor; None: listen from now on. Once the first item, `{cursor}`, is there,
        nothing that happens is missed.

        A store that is not in the cursor is younger than it, and is told from its beginning; one
        that could not be read when somebody began to listen, from when it can be.

        Raises:
            YaadError: BAD_REQUEST when `after` is no cursor of ours.
        """
        places = None if after is None else decode_cursor(after)
        subscriber = _Subscriber()
        self._subscribers.add(subscriber)
        try:
            stores = await asyncio.to_thread(self._logs.stores)
            if places is None:
                places = {
                    store: await asyncio.to_thread(self._logs.last, store)
                    for store in sorted(stores)
                }
            yield {"cursor": encode_cursor(places)}
            for store in stores:
                subscriber.wake(store)
            while True:
                await subscriber.news.wait()
                subscriber.news.clear()
                while subscriber.woken:
                    store = min(subscriber.woken)
                    subscriber.woken.discard(store)
                    async for event in self._of_store(store, places):
                        yield event
        finally:
            self._subscribers.discard(subscriber)

    async def _of_store(
        self, store: str, places: dict[str, int | None]
    ) -> AsyncIterator[dict[str, object]]:
        while True:
            seen = places.get(store, 0)
            if seen is None:
                places[store] = await asyncio.to_thread(self._logs.last, store)
                return
            found = await asyncio.to_thread(self._logs.after, store, seen, PAGE)
            for event in found:
                places[store] = event.seq
                yield {
                    "cursor": encode_cursor(places),
                    "project": store,
                    "kind": event.kind,
                    "at": event.at,
                    "subject": event.subject,
                    "body": event.body,
                }
            if len(found) < PAGE:
                return


def encode_cursor(places: dict[str, int | None]) -> str:
    """Return how far each store was told, as one word; None: from when it can be read."""
    text = json.dumps(places, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(text: str) -> dict[str, int | None]:
    """Return how far each store was told.

    Raises:
        YaadError: BAD_REQUEST when `text` is no cursor of ours.
    """
    try:
        places = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        places = None
    if not isinstance(places, dict) or not all(
        seq is None or (type(seq) is int and seq >= 0) for seq in places.values()
    ):
        raise YaadError(
            Code.BAD_REQUEST,
            "`after` is not a cursor that this daemon gave out; no event was sent.",
            hint="Leave it out to hear from now on.",
        )
    return places
