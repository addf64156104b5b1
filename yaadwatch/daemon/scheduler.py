"""Run `JOBS` on a timer, and decide when the process must be replaced.

APScheduler keeps the time in memory; the user store keeps when each job last ran, so no job is
forgotten over a restart, and a week of sleep is one run. The clock is watched: after a suspend or a
changed clock, due jobs run at once.

The process is replaced after an upgrade, when the user store was replaced or damaged, when another
daemon took its place, and when it rests with much more memory than a new one needs. It finishes
open answers and ends with status 75, "start me again", for its supervisor; clients wait in the
queue of the socket.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, Literal

from yaadwatch.daemon.supervisor import Fatal, Health, attempt, error_in_words, log_crash
from yaadwatch.db import database, history, projects
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.db.projects import JobRun
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import JOB_RAN, Event
from yaadwatch.model.settings import Watch
from yaadwatch.system.clock import Clock
from yaadwatch.text import privacy
from yaadwatch.workspace.workspace import Home

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler


Name = Literal["upkeep", "sweep", "poll", "backup", "trim", "sessions"]

LOOK_S: Final = 5.0
"""Time between two looks at the clock, and at what may replace the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A row of JOBS.

    Args:
        name: of the job, and of the verb that does it.
        every: the time between two starts; None: `watch.poll_s`.
        kept: whether its runs are written down; those of a job that runs every minute are not.
        mend: the command that does by hand what the job does.
    """

    name: Name
    every: timedelta | None
    kept: bool
    mend: str


JOBS: Final = (
    Job(name="upkeep", every=timedelta(days=1), kept=True, mend="yaadwatch upkeep"),
    Job(name="backup", every=timedelta(days=1), kept=True, mend="yaadwatch backup"),
    Job(name="trim", every=timedelta(days=1), kept=True, mend="yaadwatch compact"),
    Job(name="sweep", every=timedelta(hours=1), kept=True, mend="yaadwatch stale"),
    Job(name="poll", every=None, kept=False, mend="yaadwatch stale"),
    Job(name="sessions", every=timedelta(minutes=1), kept=False, mend="yaadwatch sessions"),
)


class Runs:
    """The memory of the jobs that are kept, in the user store. Methods run in threads."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def since(self) -> datetime:
        """Return when the first daemon of this data folder started."""
        now = self._home.clock.now()
        known = self._home.user.read(database.get_meta, "since")
        begin = datetime.fromisoformat(known) if known is not None else None
        if begin is None or begin > now:  # the first start, or the clock was wrong then
            self._home.user.write(database.put_meta, "since", now.isoformat())
            return now
        return begin

    def last(self) -> Mapping[str, JobRun]:
        """Return the last run of each job that ever ran."""
        return self._home.user.read(projects.all_jobs)

    def start(self, job: str, at: datetime) -> None:
        """Note that a job starts."""
        self._home.user.write(projects.start_job, job, at)

    def end(self, job: str, at: datetime, error: str | None) -> None:
        """Note that a job ended: badly, with an error in words, or well (None)."""
        masked = None if error is None else privacy.mask(error).text

        def commit(conn: Connection) -> None:
            projects.end_job(conn, job, at, masked)
            history.append(
                conn, Event(kind=JOB_RAN, at=at, subject=job, body={"ok": error is None})
            )

        self._home.user.write(commit)


def first_run(every: timedelta, last: JobRun | None, *, since: datetime, now: datetime) -> datetime:
    """Return when a job should run first after a start: from `now` to `now + every`.

    A job that never ran is due one period after `since`; one that was interrupted or went wrong, at
    once. Clocks may have gone back since the last run.
    """
    if last is None:
        due = since + every
    elif last.ended_at is None or last.error is not None:
        due = now
    else:
        due = last.started_at + every
    return min(max(due, now), now + every)


class Scheduler:
    """Runs the jobs. Methods run on the loop.

    Args:
        handlers: what does each job.
        runs: remembers when jobs ran.
        clock: the wall clock.
        settings: how often files are polled.
        health: reports failed jobs.
        on_jump: called when the clock jumped: the machine may have slept.
        jobs: the table.
        sleep: waits between two looks at the clock.
    """

    def __init__(
        self,
        handlers: Mapping[Name, Callable[[], Awaitable[None]]],
        runs: Runs,
        *,
        clock: Clock,
        settings: Watch,
        health: Health,
        on_jump: Callable[[], Awaitable[None]],
        jobs: Sequence[Job] = JOBS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._handlers = handlers
        self._runs = runs
        self._clock = clock
        self._poll_every = timedelta(seconds=settings.poll_s)
        self._health = health
        self._on_jump = on_jump
        self._jobs = jobs
        self._sleep = sleep
        self._scheduler: AsyncIOScheduler | None = None
        self._logged: dict[str, str] = {}
        """What last went wrong with each job, in words; the same is logged once."""

    async def run(self) -> None:
        """Run the jobs until cancelled."""
        # An eighth of all that is imported at a start, and nothing is due before all is watched.
        from apscheduler.schedulers.asyncio import AsyncIOScheduler
        from apscheduler.triggers.interval import IntervalTrigger

        class Interval(IntervalTrigger):  # type: ignore[misc]  # it comes without types
            """Skips missed runs. APScheduler would list each one: ten million after 20 years."""

            def get_next_fire_time(
                self, previous_fire_time: datetime | None, now: datetime
            ) -> datetime | None:
                found: datetime | None = super().get_next_fire_time(previous_fire_time, now)
                if found is not None and found <= now:
                    found = super().get_next_fire_time(now, now)
                return found

        since = await asyncio.to_thread(self._runs.since)
        last = await asyncio.to_thread(self._runs.last)
        now = self._clock.now()
        scheduler = AsyncIOScheduler(
            timezone=UTC,
            # Default limits drop a job that is a second late, and make up for each one missed.
            job_defaults={"coalesce": True, "misfire_grace_time": None, "max_instances": 1},
        )
        for job in self._jobs:
            every = self._every(job)
            begin = since if job.kept else now
            scheduler.add_job(
                self._do,
                Interval(
                    seconds=every.total_seconds(),
                    # So that many machines do not beat in time.
                    jitter=None if job.kept else every.total_seconds() * 0.1,
                    timezone=UTC,
                ),
                args=[job],
                id=job.name,
                next_run_time=first_run(every, last.get(job.name), since=begin, now=now),
            )
        scheduler.start()
        self._scheduler = scheduler
        try:
            await self._watch_clock(scheduler)
        finally:
            self._scheduler = None
            scheduler.shutdown(wait=False)

    def next_runs(self) -> dict[str, datetime]:
        """Return when each job that is kept runs next; empty at first. Any thread."""
        if self._scheduler is None:
            return {}
        kept = {job.name for job in self._jobs if job.kept}
        jobs = self._scheduler.get_jobs()
        return {job.id: job.next_run_time for job in jobs if job.id in kept}

    async def _do(self, job: Job) -> None:
        error = await attempt(self._run_kept(job) if job.kept else self._handlers[job.name]())
        part = f"job {job.name}"
        if error is None:
            self._health.well(part)
            self._logged.pop(job.name, None)
            return
        words = error_in_words(error)
        if words != self._logged.get(job.name):
            log_crash("job.failed", error, job=job.name)
            self._logged[job.name] = words
        self._health.degraded(part, f"The job `{job.name}` went wrong: {words}", mend=job.mend)
        if self._scheduler is not None:  # a day is long, when its cause may have been removed
            self._run_within(self._scheduler, job, timedelta(hours=1))

    async def _run_kept(self, job: Job) -> None:
        await asyncio.to_thread(self._runs.start, job.name, self._clock.now())
        error = await attempt(self._handlers[job.name]())
        words = None if error is None else error_in_words(error)
        await asyncio.to_thread(self._runs.end, job.name, self._clock.now(), words)
        if error is not None:
            raise error

    async def _watch_clock(self, scheduler: "AsyncIOScheduler") -> None:
        wall, monotonic_s = self._clock.now(), self._clock.monotonic_s()
        while True:
            await self._sleep(LOOK_S)
            wall_now, monotonic_now_s = self._clock.now(), self._clock.monotonic_s()
            jump_s = (wall_now - wall).total_seconds() - (monotonic_now_s - monotonic_s)
            wall, monotonic_s = wall_now, monotonic_now_s
            # More than the two clocks differ by themselves between two looks.
            if abs(jump_s) <= 2.0:
                continue
            for job in self._jobs:  # none waits longer than its period by the new clock
                self._run_within(scheduler, job, self._every(job))
            scheduler.wakeup()
            await self._on_jump()

    def _run_within(self, scheduler: "AsyncIOScheduler", job: Job, limit: timedelta) -> None:
        """Run a job no later than after `limit`."""
        scheduled, latest = scheduler.get_job(job.name), self._clock.now() + limit
        if scheduled is not None and scheduled.next_run_time > latest:
            scheduled.modify(next_run_time=latest)

    def _every(self, job: Job) -> timedelta:
        return job.every or self._poll_every


AGAIN: Final = 75
"""Exit status; sysexits.h calls it "temporary failure"."""
DISPLACED: Final = 4
"""Exit status: another daemon runs, and this one has nothing left to do."""
LOOKS_DISPLACED: Final = 2
"""So many looks in a row: one that starts beside us holds the lock until it has seen that we
answer, and then ends."""
BUSY_S: Final = 60.0
"""We wait so long for a moment in which nothing is being done; a disk may keep it from ending."""


REST_MIB: Final = 64
"""A daemon at rest that takes more begins again: with a large repository a new one takes 56."""
RESTS_APART: Final = timedelta(hours=1)
"""A daemon that needs so much by itself begins again no more often."""


class Rest:
    """Knows whether a daemon at rest should begin again, for what it took stays partly taken.

    Args:
        user: the user store, which keeps when one did.
        now: returns the time.
        memory_mib: returns the resident memory of this process.
        clients: returns how many clients are connected.
    """

    def __init__(
        self,
        user: Database,
        *,
        now: Callable[[], datetime],
        memory_mib: Callable[[], float],
        clients: Callable[[], int],
    ) -> None:
        self._user = user
        self._now = now
        self._memory_mib = memory_mib
        self._clients = clients
        self.reason = ""

    def begin(self) -> None:
        """Note that the daemon rests: set `reason` if a new process would take less memory."""
        memory_mib, now = self._memory_mib(), self._now()
        if memory_mib <= REST_MIB or self._clients():
            return
        last = self._user.read(database.get_meta, "rested_at")
        if last is None or not timedelta(0) <= now - datetime.fromisoformat(last) < RESTS_APART:
            self._user.write(database.put_meta, "rested_at", now.isoformat())
            self.reason = f"it rests with {memory_mib:.0f} MiB, of which a new one needs a part"


class Renewal:
    """Ends the process when it has to be replaced.

    Args:
        replaced: returns whether another program is installed than the running one.
        holds_lock: says whether this is still the daemon: the file of its lock may be deleted, and
            another one made.
        other_reason: returns why else it should begin again; '' when it need not.
        memory_mib: returns the memory of this process, without pages of files.
        limit_mib: above it, the process is replaced once it is ten minutes old; 0: no limit.
        busy: returns whether a request is in progress.
        health: reports when the lock file cannot be made again.
        sleep: waits between two looks.
    """

    def __init__(
        self,
        *,
        replaced: Callable[[], bool],
        holds_lock: Callable[[], bool],
        other_reason: Callable[[], str],
        memory_mib: Callable[[], float],
        limit_mib: int,
        busy: Callable[[], bool],
        health: Health,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._replaced = replaced
        self._holds_lock = holds_lock
        self._other_reason = other_reason
        self._memory_mib = memory_mib
        self._limit_mib = limit_mib
        self._busy = busy
        self._health = health
        self._sleep = sleep

    async def run(self) -> None:
        """Look until there is a reason to begin again.

        Raises:
            Fatal: with AGAIN as its status, when there is one; with DISPLACED, when another process
                is the daemon now.
        """
        displaced = looks = 0
        why = ""
        while not why:
            await self._sleep(LOOK_S)
            looks += 1
            displaced = 0 if await self._is_the_daemon() else displaced + 1
            if displaced == LOOKS_DISPLACED:
                raise Fatal("its lock was deleted, and another daemon runs now", DISPLACED)
            if self._replaced():
                why = "another version of the program was installed"
            # Before ten minutes, memory is no reason: to begin again would hardly help.
            elif looks >= 120 and 0 < self._limit_mib < (memory_mib := self._memory_mib()):
                limit = f"{self._limit_mib} MiB (daemon.memory_mib)"
                why = f"it takes {memory_mib:.0f} MiB, and its limit is {limit}"
            else:
                why = await asyncio.to_thread(self._other_reason)
        for _ in range(int(BUSY_S)):
            if not self._busy():
                break
            await self._sleep(1.0)
        raise Fatal(why, AGAIN)

    async def _is_the_daemon(self) -> bool:
        part = "lock"
        try:
            is_held = await asyncio.to_thread(self._holds_lock)
        except YaadError as error:
            what = "The file of the daemon's lock is gone and cannot be made again: "
            self._health.degraded(part, what + error.message, mend=error.hint)
            return True
        self._health.well(part)
        return is_held
