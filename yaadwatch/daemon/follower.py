"""Does what the logs ask for: reads each project's events from a cursor and runs the reactions.

At least once and in order: the cursor moves after the handler is done. A handler that keeps failing
on an event is given up after five tries; the event is parked, health says so, and the rest goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from yaadwatch.daemon.health import Health
from yaadwatch.daemon.reactions import REACTIONS, Reaction
from yaadwatch.daemon.supervisor import attempt, in_words, log_crash
from yaadwatch.model.events import Event
from yaadwatch.model.settings import EVENT_TRIES_MAX

CURSOR: Final = "reactions"
AGAIN_S: Final = 2.0
"""When the events of a project cannot be read, they are tried again after this, once."""
PAGE: Final = 100
"""Events read at once."""

Handler = Callable[[str, Event], Awaitable[None]]
"""Given a project and one of its events; must be idempotent."""
Sleep = Callable[[float], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """The events of all projects, and how far they were followed; plain functions, run in threads.

    Args:
        unread: the events of a project that were not dealt with, oldest first, at most so many.
        advance: note that everything up to a number was dealt with.
        fail: note that an event could not be dealt with; returns how often so far.
    """

    unread: Callable[[str, int], Sequence[Event]]
    advance: Callable[[str, int], None]
    fail: Callable[[str, int], int]


class Follower:
    """Follows the logs of the projects it is woken for. Methods run on the loop.

    Args:
        journal: the events.
        handlers: what does each verb of the reactions.
        health: is told what is parked.
        reactions: the table.
        sleep: waits between two tries.
    """

    def __init__(
        self,
        journal: Journal,
        handlers: Mapping[str, Handler],
        health: Health,
        *,
        reactions: Sequence[Reaction] = REACTIONS,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._journal = journal
        self._handlers = handlers
        self._reactions = {row.event: row for row in reactions}
        self._health = health
        self._sleep = sleep
        self._woken: set[str] = set()
        self._following: dict[str, asyncio.Task[None]] = {}
        self._news = asyncio.Event()

    def wake(self, project: str) -> None:
        """Take note that there may be events in a project's store."""
        self._woken.add(project)
        self._news.set()

    async def run(self) -> None:
        """Follow until cancelled. A project is first looked at when it is first woken."""
        try:
            while True:
                for project in [one for one in self._woken if one not in self._following]:
                    self._woken.discard(project)
                    self._following[project] = asyncio.create_task(self._follow(project))
                self._news.clear()
                await self._news.wait()
        finally:
            for task in self._following.values():
                task.cancel()

    async def _follow(self, project: str) -> None:
        part = f"follower {project}"
        try:
            error = await attempt(self._catch_up(project))
            if error is not None:
                # Of a project that is just being removed the store goes first, then its name.
                await self._sleep(AGAIN_S)
                error = await attempt(self._catch_up(project))
            if error is None:
                self._health.well(part)
                return
            # Told again by the next thing that is written there, or by the next start.
            log_crash("follower.stopped", error, project=project)
            self._health.degraded(
                part,
                f"The events of project {project} are not followed: {in_words(error)}",
                mend="yaadwatch restart",
                project=project,
            )
        finally:
            self._following.pop(project, None)
            self._news.set()

    async def _catch_up(self, project: str) -> None:
        while events := await asyncio.to_thread(self._journal.unread, project, PAGE):
            for event in events:
                row = self._reactions.get(event.kind)
                if row is not None and row.is_to(event):
                    await self._do(self._handlers[row.verb], project, event)
            await asyncio.to_thread(self._journal.advance, project, events[-1].seq)

    async def _do(self, handler: Handler, project: str, event: Event) -> None:
        part = f"reaction {project} {event.kind}"
        while True:
            error = await attempt(handler(project, event))
            if error is None:
                self._health.well(part)
                return
            tries = await asyncio.to_thread(self._journal.fail, project, event.seq)
            if tries >= EVENT_TRIES_MAX:
                break
            await self._sleep(2.0 ** (tries - 1))
        log_crash("follower.parked_event", error, project=project, sequence=event.seq, tries=tries)
        self._health.degraded(
            part,
            f"Nothing came of event {event.seq} ({event.kind} {event.subject}) of project "
            f"{project} after {tries} tries: {in_words(error)}",
            mend="yaadwatch stale",
            project=project,
        )
