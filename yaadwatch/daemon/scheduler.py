"""Run `JOBS` on a timer, and decide when the process must be replaced.

APScheduler keeps the time in memory; the user store keeps when each job last ran, so no job is
forgotten over a restart, and a week of sleep is one run. The clock is watched: after a suspend or a
changed clock, due jobs run at once.

The process is replaced after an upgrade, above its memory limit, when the user store was replaced,
and when another daemon took its place. It finishes open answers and ends with status 75, "start me
again", for its supervisor; clients wait in the queue of the socket.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from yaadwatch.daemon.supervisor import Fatal, Health, attempt, error_in_words, log_crash
from yaadwatch.db.projects import JobRun
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import Watch
from yaadwatch.system.clock import Clock

if TYPE_CHECKING:
    from apscheduler.schedulers.asyncio import AsyncIOScheduler


Name = Literal["upkeep", "sweep", "poll", "backup", "trim", "sessions"]

CLOCK_LOOK_S: Final = 5.0
JUMP_S: Final = 2.0
"""The clock jumped when it and the monotonic one differ by more than this between two looks."""
LOG_AGAIN_AFTER_S: Final = 3600.0
"""What goes wrong each minute in the same words is logged once an hour; `status` says it always."""
JITTER: Final = 0.1
"""Of the period of a job that is not kept, so that many machines do not beat in time."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The memory of the jobs that are kept; plain functions, run in threads.

    Args:
        since: when the first daemon of this data folder started.
        last: the last run of each job that ever ran.
        start: note that a job starts.
        end: note that it ended: badly, with an error in words, or well (None).
    """

    since: Callable[[], datetime]
    last: Callable[[], Mapping[str, JobRun]]
    start: Callable[[str, datetime], None]
    end: Callable[[str, datetime, str | None], None]


def first_run(every: timedelta, last: JobRun | None, *, since: datetime, now: datetime) -> datetime:
    """Return when a job should run first after a start: from `now` to `now + every`.

    A job that never ran is due one period after `since`; an interrupted job, at once. Clocks may
    have gone back since the last run.
    """
    if last is None:
        due = since + every
    elif last.ended_at is None:
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
        self._logged: dict[str, tuple[str, float]] = {}
        """What last went wrong with each job, and when that was logged, by the monotonic clock."""

    async def run(self) -> None:
        """Run the jobs until cancelled."""
        # An eighth of all that is imported at a start, and nothing is due before all is watched.
        from apscheduler.schedulers.asyncio import AsyncIOScheduler
        from apscheduler.triggers.interval import IntervalTrigger

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
                IntervalTrigger(
                    seconds=every.total_seconds(),
                    jitter=None if job.kept else every.total_seconds() * JITTER,
                    timezone=UTC,
                ),
                args=[job],
                id=job.name,
                next_run_time=first_run(every, last.get(job.name), since=begin, now=now),
            )
        scheduler.start()
        self._scheduler = scheduler
        try:
            await self._watch_clock()
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
        self._log(job, error, words)
        self._health.degraded(part, f"The job `{job.name}` went wrong: {words}", mend=job.mend)

    def _log(self, job: Job, error: Exception, words: str) -> None:
        now_s = self._clock.monotonic_s()
        before, logged_s = self._logged.get(job.name, ("", now_s))
        if words != before or now_s - logged_s >= LOG_AGAIN_AFTER_S:
            log_crash("job.failed", error, job=job.name)
            self._logged[job.name] = (words, now_s)

    async def _run_kept(self, job: Job) -> None:
        await asyncio.to_thread(self._runs.start, job.name, self._clock.now())
        error = await attempt(self._handlers[job.name]())
        words = None if error is None else error_in_words(error)
        await asyncio.to_thread(self._runs.end, job.name, self._clock.now(), words)
        if error is not None:
            raise error

    async def _watch_clock(self) -> None:
        wall, monotonic_s = self._clock.now(), self._clock.monotonic_s()
        while True:
            await self._sleep(CLOCK_LOOK_S)
            wall_now, monotonic_now_s = self._clock.now(), self._clock.monotonic_s()
            jump_s = (wall_now - wall).total_seconds() - (monotonic_now_s - monotonic_s)
            wall, monotonic_s = wall_now, monotonic_now_s
            if abs(jump_s) > JUMP_S:
                self._realign(wall_now)
                await self._on_jump()

    def _realign(self, now: datetime) -> None:
        """Run what is due by the new clock; no job waits longer than its period."""
        if self._scheduler is None:
            return
        for job in self._jobs:
            scheduled = self._scheduler.get_job(job.name)
            latest = now + self._every(job)
            if scheduled is not None and scheduled.next_run_time > latest:
                scheduled.modify(next_run_time=latest)
        self._scheduler.wakeup()

    def _every(self, job: Job) -> timedelta:
        return job.every or self._poll_every


AGAIN: Final = 75
"""Exit status; sysexits.h calls it "temporary failure"."""
DISPLACED: Final = 4
"""Exit status: another daemon runs, and this one has nothing left to do."""
LOOKS_DISPLACED: Final = 2
"""So many looks in a row: one that starts beside us holds the lock until it has seen that we
answer, and then ends."""
PART: Final = "memory"
LOCK: Final = "lock"
"""Names of the parts in `status`."""
LOOK_S: Final = 5.0
LOOKS_ABOVE: Final = 3
"""So many looks in a row above the limit: what one large question takes is given back by then."""
BUSY_S: Final = 60.0
"""We wait so long for a moment in which nothing is being done; a disk may keep it from ending."""
SPACING_S: Final = 600.0
"""After it began again because of its memory, it does not do so for that reason for so long."""
MIB: Final = 1024 * 1024


class Renewal:
    """Looks at the program on disk and at the memory of this process.

    Args:
        replaced: returns whether another program is installed than the running one.
        holds_lock: says whether this is still the daemon: the file of its lock may be deleted, and
            another one made.
        stale_store: returns why the user store should be reopened; '' when it need not.
        rss_bytes: what this process takes.
        memory_mib: its limit; 0: none.
        busy: returns whether a request is in progress.
        health: reports when a restart does not help.
        now: the present time.
        mark: the file whose time is when a process last ended because of its memory.
        sleep: waits between two looks.
    """

    def __init__(
        self,
        *,
        replaced: Callable[[], bool],
        holds_lock: Callable[[], bool],
        stale_store: Callable[[], str],
        rss_bytes: Callable[[], int],
        memory_mib: int,
        busy: Callable[[], bool],
        health: Health,
        mark: Path,
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._replaced = replaced
        self._holds_lock = holds_lock
        self._stale_store = stale_store
        self._rss_bytes = rss_bytes
        self._memory_mib = memory_mib
        self._busy = busy
        self._health = health
        self._mark = mark
        self._now = now
        self._sleep = sleep

    async def run(self) -> None:
        """Look until there is a reason to begin again.

        Raises:
            Fatal: with AGAIN as its status, when there is one; with DISPLACED, when another process
                is the daemon now.
        """
        above = displaced = 0
        while True:
            await self._sleep(LOOK_S)
            if self._replaced():
                await self._quiet()
                raise Fatal("another version of the program was installed", AGAIN)
            displaced = 0 if await self._is_the_daemon() else displaced + 1
            if displaced == LOOKS_DISPLACED:
                raise Fatal("its lock was deleted, and another daemon runs now", DISPLACED)
            if why := await asyncio.to_thread(self._stale_store):
                await self._quiet()
                raise Fatal(why, AGAIN)
            rss_mib = self._rss_bytes() / MIB if self._memory_mib else 0.0
            above = above + 1 if rss_mib > self._memory_mib else 0
            if above == 0:
                self._health.well(PART)
            if above < LOOKS_ABOVE:
                continue
            limit = f"{self._memory_mib} MiB (daemon.memory_mib)"
            if self._has_just_renewed():
                if above == LOOKS_ABOVE:
                    self._complain(rss_mib, limit)
            else:
                await self._quiet()
                self._mark.touch(mode=0o600)
                raise Fatal(f"it takes {rss_mib:.0f} MiB, and its limit is {limit}", AGAIN)

    async def _is_the_daemon(self) -> bool:
        try:
            is_held = await asyncio.to_thread(self._holds_lock)
        except YaadError as error:
            what = (
                f"The file of the daemon's lock is gone and cannot be made again: {error.message}"
            )
            self._health.degraded(LOCK, what, mend=error.hint)
            return True
        self._health.well(LOCK)
        return is_held

    def _has_just_renewed(self) -> bool:
        try:
            age_s = self._now().timestamp() - self._mark.stat().st_mtime
        except FileNotFoundError:
            return False
        return 0.0 <= age_s < SPACING_S

    def _complain(self, rss_mib: float, limit: str) -> None:
        self._health.degraded(
            PART,
            f"The daemon takes {rss_mib:.0f} MiB soon after it began again; its limit is {limit}",
            mend=f"yaadwatch config set daemon.memory_mib {2 * math.ceil(rss_mib)} && yaadwatch"
            " restart",
        )

    async def _quiet(self) -> None:
        """Wait, for a limited time, until no request is being answered."""
        for _ in range(int(BUSY_S)):
            if not self._busy():
                return
            await self._sleep(1.0)
