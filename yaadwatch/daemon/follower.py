"""Does what the logs ask for: reads each project's events from a cursor and runs REACTIONS.

At least once and in order: the cursor moves after the handler is done, so doing it again must
change nothing. A handler that keeps failing on an event is given up after five tries; the event is
parked, health says so, and the rest goes on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from yaadwatch.daemon.health import Health
from yaadwatch.daemon.supervisor import attempt, in_words, log_crash
from yaadwatch.model import events
from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.model.events import Event
from yaadwatch.model.settings import EVENT_TRIES_MAX

CURSOR: Final = "reactions"
AGAIN_S: Final = 2.0
"""When the events of a project cannot be read, they are tried again after this, once."""
PAGE: Final = 100
"""Events read at once."""

Verb = Literal["check", "watch", "carry"]
"""`check`: look whether HEAD moved in that work tree. `watch`: other files may matter now, the
agent files may have to say something else, and a vector may be missing. `carry`: only what agent
files say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """When `event` is in the log, do `verb`.

    `of`: only when it is about an edge of this kind; about anything when it is None.
    """

    event: str
    verb: Verb
    of: str | None = None

    def is_to(self, event: Event) -> bool:
        """Return whether this is the reaction to `event`."""
        return event.kind == self.event and self.of in (None, event.body.get("kind"))


REACTIONS: Final = (
    # The check that found a moved HEAD wrote its verdicts in the same transaction. Looking again
    # finds the HEAD that moved on while it was looking.
    Reaction(event=events.HEAD_MOVED, verb="check"),
    Reaction(event=events.NODE_CREATED, verb="watch"),
    Reaction(event=events.NODE_UPDATED, verb="watch"),
    Reaction(event=events.NODE_ARCHIVED, verb="watch"),
    Reaction(event=events.NODE_RESTORED, verb="watch"),
    Reaction(event=events.NODE_ERASED, verb="watch"),
    # What supersedes a rule is announced instead of it.
    Reaction(event=events.EDGE_CREATED, verb="carry", of=SUPERSEDES),
    Reaction(event=events.EDGE_CLOSED, verb="carry", of=SUPERSEDES),
    # The private carrier has the doubts beside the rules.
    Reaction(event=events.STALE_RAISED, verb="carry"),
    Reaction(event=events.STALE_CLEARED, verb="carry"),
)

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
        while unread := await asyncio.to_thread(self._journal.unread, project, PAGE):
            for event in unread:
                row = self._reactions.get(event.kind)
                if row is not None and row.is_to(event):
                    await self._do(self._handlers[row.verb], project, event)
            await asyncio.to_thread(self._journal.advance, project, unread[-1].seq)

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
