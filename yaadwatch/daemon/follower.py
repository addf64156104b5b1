"""Follow the event logs of the stores: run `REACTIONS`, and stream events to subscribers.

Reactions are hints, and nothing about them is stored. What was written before this process looked
is covered by reacting as if everything had changed.

A subscriber's cursor holds the position in each store and is opaque to clients. A client that keeps
the cursor of each event misses none over reconnects and gets none twice.
"""

import asyncio
import base64
import binascii
import json
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from yaadwatch.daemon.supervisor import attempt, log_crash
from yaadwatch.db import history, projects
from yaadwatch.db.files import Connection
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.memories import SUPERSEDES
from yaadwatch.workspace.stores import answers, why_missing
from yaadwatch.workspace.workspace import Home

PAGE: Final = 100
"""Events read at once."""
USER: Final = ""
"""The name of the user store in events."""

Reaction = Literal["head", "anchors", "rules"]
"""`head`: HEAD of that work tree may have moved. `anchors`: other files may matter now, the agent
files may have to say something else, and a vector may be missing. `rules`: only what agent files
say."""

REACTIONS: Final[Mapping[str, Reaction]] = {
    # The check that found a moved HEAD wrote its verdicts in the same transaction. Looking again
    # finds the HEAD that moved on while it was looking.
    events.HEAD_MOVED: "head",
    events.NODE_CREATED: "anchors",
    events.NODE_UPDATED: "anchors",
    events.NODE_ARCHIVED: "anchors",
    events.NODE_RESTORED: "anchors",
    events.NODE_ERASED: "anchors",
    # What supersedes a rule is announced instead of it.
    events.EDGE_CREATED: "rules",
    events.EDGE_CLOSED: "rules",
    # The private rules file has the flags beside the rules.
    events.STALE_RAISED: "rules",
    events.STALE_CLEARED: "rules",
}

_log: Final = logging.getLogger(__name__)
R = TypeVar("R")


def reaction_to(event: Event) -> Reaction | None:
    """Return the reaction to an event; of edges, only those that supersede have one."""
    reaction = REACTIONS.get(event.kind)
    is_edge = event.kind in (events.EDGE_CREATED, events.EDGE_CLOSED)
    return None if is_edge and event.body.get("kind") != SUPERSEDES else reaction


class Follower:
    """Follows the logs of the projects it is woken for. Used on the loop.

    Args:
        unread: the events of a project after a number, or only its newest; run in a thread.
        react: called with a project and an event with a reaction; with None when any may have been
            missed.
    """

    def __init__(
        self,
        unread: Callable[[str, int | None], Sequence[Event]],
        react: Callable[[str, Event | None], None],
    ) -> None:
        self._unread = unread
        self._react = react
        self._seen: dict[str, int] = {}
        self._woken: set[str] = set()
        self._following: dict[str, asyncio.Task[None]] = {}

    def wake(self, project: str) -> None:
        """Take note that there may be events in a project's store."""
        self._woken.add(project)
        if project not in self._following:
            self._following[project] = asyncio.create_task(self._follow(project))

    def stop(self) -> None:
        """Follow nothing more."""
        for task in self._following.values():
            task.cancel()

    async def _follow(self, project: str) -> None:
        try:
            while project in self._woken:
                self._woken.discard(project)
                error = await attempt(self._catch_up(project))
                if isinstance(error, YaadError):  # `status` reports the store
                    extra = {"project": project, "error": error.message}
                    _log.info("follower.put_off", extra=extra)
                elif error is not None:
                    log_crash("follower.failed", error, project=project)
                if error is not None and self._seen.pop(project, None) is not None:
                    asyncio.get_running_loop().call_later(2.0, self.wake, project)
        finally:
            del self._following[project]

    async def _catch_up(self, project: str) -> None:
        while True:
            seen = self._seen.get(project)
            found = await asyncio.to_thread(self._unread, project, seen)
            if seen is None or (found and found[0].seq <= seen):
                seen = None
                self._react(project, None)
            for event in found:
                if seen is not None and reaction_to(event) is not None:
                    self._react(project, event)
            self._seen[project] = found[-1].seq if found else seen or 0
            if seen is None or len(found) < PAGE:
                return


def unread(home: Home, project: str, seen: int | None) -> Sequence[Event]:
    """Return the events of a project after a number, or only its newest.

    Only the newest, too, where its number is smaller: an older store was put in its place.
    A project that is no longer watched, or not at its place, has none.
    """
    found = home.user.read(projects.get, project)
    if found is None or found.removed_at is not None or not answers(found) or why_missing(found):
        return []

    def ask(conn: Connection) -> Sequence[Event]:
        newest = history.last(conn)
        after = newest - 1 if seen is None or newest < seen else seen
        return history.after(conn, after, PAGE)

    return home.stores.look(found, ask)


class Logs:
    """The event logs of all stores; methods run in threads. The user store is called ''."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def stores(self) -> frozenset[str]:
        """Return what the stores are called."""
        return frozenset(row.id for row in self._home.user.read(projects.everything)) | {USER}

    def last(self, store: str) -> int | None:
        """Return the number of the newest event, 0 before the first; None if it is unreadable."""
        return self._read(store, history.last, None)

    def after(self, store: str, seq: int, limit: int) -> Sequence[Event]:
        """Return at most `limit` events after a number, oldest first; none if it is unreadable."""
        return self._read(store, lambda conn: history.after(conn, seq, limit), [])

    def _read(self, store: str, ask: Callable[[Connection], R], otherwise: R) -> R:
        try:
            if store == USER:
                return self._home.user.read(ask)
            project = self._home.user.read(projects.get, store)
            if project is None or project.removed_at is not None:
                return otherwise
            with self._home.stores.use(project) as db:
                return db.read(ask)
        except YaadError:  # `status` reports an unreadable store
            return otherwise


@dataclass(slots=True, eq=False)
class _Subscriber:
    woken: set[str] = field(default_factory=set)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def wake(self, store: str) -> None:
        self.woken.add(store)
        self.news.set()


class Stream:
    """Streams events to subscribers. Methods run on the loop."""

    def __init__(self, logs: Logs) -> None:
        self._logs = logs
        self._subscribers: set[_Subscriber] = set()

    def wake(self, store: str) -> None:
        """Take note that something was written in a store."""
        for subscriber in self._subscribers:
            subscriber.wake(store)

    async def events(self, after: str | None) -> AsyncIterator[dict[str, object]]:
        """Yield the starting cursor, then each event after it.

        `after`: a cursor; None: listen from now on. Once the first item, `{cursor}`, is there,
        no event is missed.

        A store that is not in the cursor is newer than it, and is streamed from its start; a store
        that could not be read at the start is streamed from when it can be.

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
    """Return the position in each store as one word; None: from when it can be read."""
    text = json.dumps(places, separators=(",", ":"), sort_keys=True)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(text: str) -> dict[str, int | None]:
    """Return the position in each store.

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
