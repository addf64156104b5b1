"""What the parts of the daemon read and write in the stores: the plain functions they ask for."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from yaadwatch.daemon.follower import CURSOR, Journal
from yaadwatch.daemon.scheduler import Runs
from yaadwatch.daemon.stream import Logs
from yaadwatch.engine.stores.open_stores import is_there, why_missing
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import JOB_RAN, Event
from yaadwatch.model.projects import Project
from yaadwatch.store import events, jobs, meta, projects
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system import mounts

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
    near = set(mounts.near(row.common_dir for row in asked))
    return all(
        is_there(row) and row.gone_at is None and bool(row.root_commit)
        for row in asked
        if row.common_dir in near
    )


def journal_of(home: Home) -> Journal:
    """Return the events of the projects, and how far the reactions followed them.

    A project that is watched no longer has no events, nor has one that is not at its place.
    """

    def unread(project: str, limit: int) -> Sequence[Event]:
        found = _watched(home, project)
        if found is None or why_missing(found):
            return []
        return home.stores.look(found, lambda conn: _unread(conn, limit))

    def advance(project: str, seq: int) -> None:
        _in_store(home, project, lambda db: db.write(events.advance_cursor, CURSOR, seq), None)

    def fail(project: str, seq: int) -> int:
        return _in_store(home, project, lambda db: db.write(events.note_failure, CURSOR, seq), 0)

    return Journal(unread=unread, advance=advance, fail=fail)


def logs_of(home: Home) -> Logs:
    """Return the events of every store, for those who subscribe."""

    def stores() -> frozenset[str]:
        return project_ids(home) | {USER}

    def last(store: str) -> int | None:
        if store == USER:
            return _if_readable(lambda: home.user.read(events.last), None)
        return _if_readable(
            lambda: _in_store(home, store, lambda db: db.read(events.last), None), None
        )

    def after(store: str, seq: int, limit: int) -> Sequence[Event]:
        if store == USER:
            return _if_readable(lambda: home.user.read(events.after, seq, limit), [])
        return _if_readable(
            lambda: _in_store(home, store, lambda db: db.read(events.after, seq, limit), []), []
        )

    return Logs(stores=stores, last=last, after=after)


def runs_of(home: Home, mask: Callable[[str], str]) -> Runs:
    """Return the memory of the jobs: in the user store, if it can be written to."""

    def since() -> datetime:
        now = home.clock.now()
        known = home.user.read(meta.get, _SINCE)
        begin = datetime.fromisoformat(known) if known is not None else None
        if begin is None or begin > now:  # the first start, or the clock was wrong then
            begin = now
            if not home.user.stands_in:
                home.user.write(meta.put, _SINCE, now.isoformat())
        return begin

    def last() -> Mapping[str, jobs.JobRun]:
        return home.user.read(jobs.everything)

    def start(job: str, at: datetime) -> None:
        if not home.user.stands_in:
            home.user.write(jobs.start, job, at)

    def end(job: str, at: datetime, error: str | None) -> None:
        if not home.user.stands_in:
            home.user.write(_end, job, at, None if error is None else mask(error))

    return Runs(since=since, last=last, start=start, end=end)


def _unread(conn: Connection, limit: int) -> list[Event]:
    return events.after(conn, events.cursor_of(conn, CURSOR).seq, limit)


def _end(conn: Connection, job: str, at: datetime, error: str | None) -> None:
    jobs.end(conn, job, at, error)
    events.append(conn, Event(kind=JOB_RAN, at=at, subject=job, body={"ok": error is None}))


def _in_store(home: Home, project: str, work: Callable[[Database], T], without: T) -> T:
    """Do `work` in a project's store; return `without` when the project is watched no longer."""
    found = _watched(home, project)
    if found is None:
        return without
    with home.stores.use(found) as db:
        return work(db)


def _watched(home: Home, project: str) -> Project | None:
    found = home.user.read(projects.get, project)
    return None if found is None or found.removed_at is not None else found


def _if_readable(work: Callable[[], T], otherwise: T) -> T:
    """Return what `work` returns; a store that cannot be had tells nothing, `status` names it."""
    try:
        return work()
    except YaadError:
        return otherwise
