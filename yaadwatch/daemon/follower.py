"""Follow the event logs of the stores: run `REACTIONS`, and stream events to subscribers.

Reactions run at least once and in order: the cursor moves after the handler, so handlers must be
idempotent. After five failures an event is parked, `health` reports it, and the log goes on.

A subscriber's cursor holds the position in each store and is opaque to clients. A client that keeps
the cursor of each event misses none over reconnects and gets none twice.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeVar

from yaadwatch.daemon.scheduler import Runs
from yaadwatch.daemon.supervisor import Health, attempt, error_in_words, log_crash
from yaadwatch.db import database, history, projects
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import JOB_RAN, Event
from yaadwatch.model.memories import SUPERSEDES
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import EVENT_TRIES_MAX
from yaadwatch.system import files
from yaadwatch.workspace.stores import is_there, why_missing
from yaadwatch.workspace.workspace import Home

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
    # The private rules file has the flags beside the rules.
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
        health: reports parked events.
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
            # The next write to that store, or the next start, tries again.
            log_crash("follower.stopped", error, project=project)
            self._health.degraded(
                part,
                f"The events of project {project} are not followed: {error_in_words(error)}",
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
            f"{project} after {tries} tries: {error_in_words(error)}",
            mend="yaadwatch stale",
            project=project,
        )


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


T = TypeVar("T")

USER: str = ""
"""What the user store is called among the stores."""
_SINCE = "since"


def project_ids(home: Home) -> frozenset[str]:
    """Return the ids of the projects that are watched."""
    return frozenset(where(home))


def where(home: Home) -> dict[str, Path]:
    """Return the projects that are watched, by id, and where each is."""
    return {project.id: project.common_dir for project in home.user.read(projects.everything)}


def are_in_place(home: Home, project: str | None) -> bool:
    """Return whether one project, or each (None), is where it is registered.

    Those on the network are not asked.
    """
    asked = [row for row in home.user.read(projects.everything) if project in (None, row.id)]
    near = set(files.near(row.common_dir for row in asked))
    return all(
        is_there(row) and row.gone_at is None and bool(row.root_commit)
        for row in asked
        if row.common_dir in near
    )


def journal_of(home: Home) -> Journal:
    """Return the events of the projects, and how far the reactions followed them.

    A project that is no longer watched, or not at its place, has no events.
    """

    def unread(project: str, limit: int) -> Sequence[Event]:
        found = _watched(home, project)
        if found is None or why_missing(found):
            return []
        return home.stores.look(
            found, lambda conn: history.after(conn, history.cursor_of(conn, CURSOR).seq, limit)
        )

    def advance(project: str, seq: int) -> None:
        _in_store(home, project, lambda db: db.write(history.advance_cursor, CURSOR, seq), None)

    def fail(project: str, seq: int) -> int:
        return _in_store(home, project, lambda db: db.write(history.note_failure, CURSOR, seq), 0)

    return Journal(unread=unread, advance=advance, fail=fail)


def logs_of(home: Home) -> Logs:
    """Return the events of every store, for those who subscribe."""

    def stores() -> frozenset[str]:
        return project_ids(home) | {USER}

    def last(store: str) -> int | None:
        if store == USER:
            return _if_readable(lambda: home.user.read(history.last), None)
        return _if_readable(
            lambda: _in_store(home, store, lambda db: db.read(history.last), None), None
        )

    def after(store: str, seq: int, limit: int) -> Sequence[Event]:
        if store == USER:
            return _if_readable(lambda: home.user.read(history.after, seq, limit), [])
        return _if_readable(
            lambda: _in_store(home, store, lambda db: db.read(history.after, seq, limit), []), []
        )

    return Logs(stores=stores, last=last, after=after)


def runs_of(home: Home, mask: Callable[[str], str]) -> Runs:
    """Return the memory of the jobs: in the user store, if it can be written to."""

    def since() -> datetime:
        now = home.clock.now()
        known = home.user.read(database.get_meta, _SINCE)
        begin = datetime.fromisoformat(known) if known is not None else None
        if begin is None or begin > now:  # the first start, or the clock was wrong then
            begin = now
            if not home.user.stands_in:
                home.user.write(database.put_meta, _SINCE, now.isoformat())
        return begin

    def last() -> Mapping[str, projects.JobRun]:
        return home.user.read(projects.all_jobs)

    def start(job: str, at: datetime) -> None:
        if not home.user.stands_in:
            home.user.write(projects.start_job, job, at)

    def end(job: str, at: datetime, error: str | None) -> None:
        if not home.user.stands_in:
            home.user.write(_end, job, at, None if error is None else mask(error))

    return Runs(since=since, last=last, start=start, end=end)


def _end(conn: Connection, job: str, at: datetime, error: str | None) -> None:
    projects.end_job(conn, job, at, error)
    history.append(conn, Event(kind=JOB_RAN, at=at, subject=job, body={"ok": error is None}))


def _in_store(home: Home, project: str, work: Callable[[Database], T], without: T) -> T:
    """Run `work` on a project's store; return `without` if the project is no longer watched."""
    found = _watched(home, project)
    if found is None:
        return without
    with home.stores.use(found) as db:
        return work(db)


def _watched(home: Home, project: str) -> Project | None:
    found = home.user.read(projects.get, project)
    return None if found is None or found.removed_at is not None else found


def _if_readable(work: Callable[[], T], otherwise: T) -> T:
    """Run `work`; return `otherwise` for an unreadable store, which `status` reports."""
    try:
        return work()
    except YaadError:
        return otherwise
