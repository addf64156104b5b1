import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.daemon.scheduler import JOBS, Job, Scheduler, first_run
from yaadwatch.daemon.supervisor import Health
from yaadwatch.model.settings import Watch
from yaadwatch.system.clock import Clock

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
DAILY = [job.name for job in JOBS if job.every == DAY]


@dataclass(frozen=True, kw_only=True)
class Ran:
    started_at: datetime
    ended_at: datetime | None
    error: str | None = None


class PaperRuns:
    """Remembers the runs of jobs, as the user store does."""

    def __init__(self, since: datetime, **last: Ran) -> None:
        self.begin = since
        self.ran: dict[str, Ran] = dict(last)

    def since(self) -> datetime:
        return self.begin

    def last(self) -> dict[str, Ran]:
        return self.ran

    def start(self, job: str, at: datetime) -> None:
        self.ran[job] = Ran(started_at=at, ended_at=None)

    def end(self, job: str, at: datetime, error: str | None) -> None:
        started = self.ran[job].started_at
        self.ran[job] = Ran(started_at=started, ended_at=at, error=error)


class World:
    """A scheduler whose jobs only count how often they ran."""

    def __init__(
        self, runs: PaperRuns, clock: Clock | None = None, poll_s: int = 60, jobs=JOBS
    ) -> None:
        self.ran: list[str] = []
        self.failing: set[str] = set()
        self.words = "no space left"
        self.jumps = 0
        self.looks: list[Callable[[], None]] = []
        self.runs, self.health = runs, Health()
        self.scheduler = Scheduler(
            {job.name: lambda name=job.name: self.work(name) for job in JOBS},
            runs,
            clock=clock or Clock(),
            settings=Watch(poll_s=poll_s),
            health=self.health,
            on_jump=self.jumped,
            jobs=jobs,
            sleep=self.sleep,
        )

    async def work(self, name: str) -> None:
        self.ran.append(name)
        if name in self.failing:
            raise OSError(self.words)

    def has_run(self, job: str) -> bool:
        """Return whether the job ran here, to its end."""
        return job in self.ran and self.runs.ran[job].ended_at is not None

    def next_runs_now(self, job: str) -> datetime:
        """Return when a job that ran to its end here runs next."""
        return (
            self.scheduler.next_runs()[job]
            if self.has_run(job)
            else datetime.max.replace(tzinfo=UTC)
        )

    async def jumped(self) -> None:
        self.jumps += 1

    async def sleep(self, seconds: float) -> None:
        """Do what the test wants to happen between two looks at the clock, then sleep for good."""
        if not self.looks:
            await asyncio.Event().wait()
        self.looks.pop(0)()
        await asyncio.sleep(0)

    async def until(self, true: Callable[[], bool]) -> None:
        running = asyncio.create_task(self.scheduler.run())
        try:
            async with asyncio.timeout(60):
                while not (self.scheduler.next_runs() and true()):
                    assert not running.done(), running.exception()
                    await asyncio.sleep(0.005)
                self.next_runs = self.scheduler.next_runs()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await asyncio.sleep(0)


def now() -> datetime:
    return datetime.now(UTC)


def well(at: datetime) -> Ran:
    return Ran(started_at=at, ended_at=at)


def test_a_job_that_is_three_days_late_runs_exactly_once():
    async def story() -> None:
        others = dict.fromkeys(("backup", "trim", "sweep"), well(now()))
        world = World(PaperRuns(now() - 9 * DAY, upkeep=well(now() - 3 * DAY), **others))

        await world.until(lambda: world.has_run("upkeep"))

        assert world.ran == ["upkeep"]
        assert world.next_runs["upkeep"] > now() + 23 * HOUR
        assert world.runs.ran["upkeep"].ended_at is not None
        again = World(world.runs)
        await again.until(lambda: True)
        assert again.ran == []

    asyncio.run(story())


def test_nothing_runs_at_the_very_first_start():
    async def story() -> None:
        begin = Clock().now()
        world = World(PaperRuns(begin))

        await world.until(lambda: True)

        assert world.ran == []
        assert world.next_runs["upkeep"] == begin + DAY
        assert world.next_runs["sweep"] == begin + HOUR

    asyncio.run(story())


def test_a_daemon_that_never_runs_for_a_whole_day_still_does_its_daily_job():
    async def story() -> None:
        world = World(PaperRuns(now() - 25 * HOUR, sweep=well(now())))

        await world.until(lambda: all(world.has_run(name) for name in DAILY))

        assert sorted(world.ran) == sorted(DAILY)

    asyncio.run(story())


def test_a_job_that_was_cut_off_runs_again():
    async def story() -> None:
        cut_off = Ran(started_at=now() - timedelta(minutes=1), ended_at=None)
        world = World(PaperRuns(now(), upkeep=cut_off))

        await world.until(lambda: world.has_run("upkeep"))

        assert world.ran == ["upkeep"]

    asyncio.run(story())


def test_a_job_that_fails_is_written_down_and_told_until_it_goes_well():
    async def story() -> None:
        runs = PaperRuns(now(), upkeep=well(now() - 3 * DAY))
        world = World(runs)
        world.failing.add("upkeep")

        await world.until(lambda: bool(world.health.problems()))

        assert runs.ran["upkeep"].error == "OSError: no space left"
        assert world.health.problems()[0].mend == "yaadwatch upkeep"
        world.failing.clear()
        runs.ran["upkeep"] = well(now() - 3 * DAY)
        await world.until(lambda: not world.health.problems())
        assert runs.ran["upkeep"].error is None

    asyncio.run(story())


@pytest.mark.parametrize("name", ["upkeep", "backup", "trim"])
def test_a_daily_job_that_fails_is_run_again_within_an_hour_and_at_the_next_start(name):
    async def story() -> None:
        others = {one: well(now()) for one in (*DAILY, "sweep") if one != name}
        world = World(PaperRuns(now() - 9 * DAY, **{name: well(now() - 3 * DAY)}, **others))
        world.failing.add(name)

        await world.until(lambda: world.next_runs_now(name) <= now() + HOUR)

        assert [problem.what for problem in world.health.problems()]
        again = World(world.runs)
        await again.until(lambda: again.has_run(name))
        assert again.ran == [name]
        assert again.next_runs[name] > now() + 22 * HOUR

    asyncio.run(story())


def test_the_runs_of_the_poll_are_not_written_down():
    async def story() -> None:
        world = World(PaperRuns(now()), poll_s=1)

        await world.until(lambda: world.ran.count("poll") >= 2)

        assert "poll" not in world.runs.ran
        assert "poll" not in world.next_runs

    asyncio.run(story())


class SetClock(Clock):
    """A clock that somebody sets."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


def test_a_job_that_fails_again_in_the_same_words_is_logged_once_and_reported_always(caplog):
    often = Job(name="upkeep", every=timedelta(milliseconds=5), kept=True, mend="yaadwatch upkeep")
    world = World(PaperRuns(now()), jobs=[often])
    world.failing.add("upkeep")

    async def logged_after_more() -> int:
        enough = len(world.ran) + 4
        await world.until(lambda: len(world.ran) >= enough)
        return len([one for one in caplog.records if one.msg == "job.failed"])

    async def story() -> None:
        assert await logged_after_more() == 1
        assert [one.mend for one in world.health.problems()] == ["yaadwatch upkeep"]
        world.words = "no such file"
        assert await logged_after_more() == 2
        world.failing.clear()
        assert await logged_after_more() == 2
        world.failing.add("upkeep")
        assert await logged_after_more() == 3

    asyncio.run(story())


@pytest.mark.parametrize("jump", [-3 * DAY, timedelta(seconds=-10), HOUR, 3 * DAY])
def test_a_jump_of_the_clock_is_noticed_once(jump):
    async def story() -> None:
        clock = SetClock()
        world = World(PaperRuns(clock.now()), clock)
        world.looks = [lambda: None, lambda: setattr(clock, "ahead", jump), lambda: None]

        await world.until(lambda: not world.looks and world.jumps > 0)

        assert world.jumps == 1

    asyncio.run(story())


def test_a_jump_from_1970_runs_each_job_once_and_lists_no_missed_run():
    """A machine that boots without a clock, and then hears the time."""

    async def story() -> None:
        clock = SetClock()
        clock.ahead = -56 * 365 * DAY
        world = World(PaperRuns(clock.now()), clock)
        world.looks = [lambda: setattr(clock, "ahead", timedelta())]
        began = time.process_time()

        await world.until(lambda: len(world.ran) == len(JOBS))

        assert time.process_time() - began < 2  # 25 s, when each minute since then was listed
        assert sorted(world.ran) == sorted(job.name for job in JOBS)
        assert min(world.next_runs.values()) > now()

    asyncio.run(story())


def test_a_clock_that_runs_as_it_should_is_no_jump():
    async def story() -> None:
        world = World(PaperRuns(now()))
        world.looks = [lambda: None] * 5

        await world.until(lambda: not world.looks)

        assert world.jumps == 0

    asyncio.run(story())


def test_a_clock_set_back_makes_no_job_wait_longer_than_its_period():
    async def story() -> None:
        clock = SetClock()
        clock.ahead = 30 * DAY
        world = World(PaperRuns(clock.now()), clock)
        world.looks = [lambda: setattr(clock, "ahead", timedelta())]

        await world.until(lambda: world.jumps == 1)

        assert world.next_runs["upkeep"] <= now() + DAY
        assert world.next_runs["sweep"] <= now() + HOUR

    asyncio.run(story())


moments = st.datetimes(
    min_value=datetime(2020, 1, 1),  # noqa: DTZ001  (Hypothesis adds the zone)
    max_value=datetime(2030, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
runs = st.none() | st.builds(Ran, started_at=moments, ended_at=st.none() | moments)
periods = st.timedeltas(min_value=timedelta(seconds=1), max_value=DAY)


@given(periods, runs, moments, moments)
def test_the_first_run_is_never_in_the_past_and_never_more_than_a_period_away(
    every, last, since, at
):
    due = first_run(every, last, since=since, now=at)

    assert at <= due <= at + every


@given(periods, moments, st.timedeltas(min_value=timedelta(0), max_value=9 * DAY))
def test_a_restart_never_puts_off_a_run(every, since, later):
    """Starting the daemon often must not keep the daily job from ever running."""
    at = since + later
    due = first_run(every, None, since=since, now=at)

    assert first_run(every, None, since=since, now=max(at, due)) == max(at, due)
