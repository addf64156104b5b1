import asyncio
import logging

import pytest

from yaadwatch.daemon.supervisor import (
    BACK_OFF_MAX_S,
    HEALTHY_AFTER_S,
    RESTARTS_MAX,
    Fatal,
    Health,
    Service,
    attempt,
    error_in_words,
    log_crash,
    supervise,
)
from yaadwatch.model.errors import Code, YaadError


class Time:
    """A clock that only moves when somebody sleeps or works."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic_s(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Crashing:
    """Works for `healthy_s` of the clock's seconds, then crashes; at most `times` times."""

    def __init__(self, time: Time, *, times: int, healthy_s: float = 0.0) -> None:
        self.time, self.times, self.healthy_s = time, times, healthy_s
        self.runs = 0
        self.settled = asyncio.Event()

    async def run(self) -> None:
        self.runs += 1
        if self.runs > self.times:
            self.settled.set()
            await asyncio.Event().wait()
        self.time.now += self.healthy_s
        raise OSError("the disk is on fire")


class Steady:
    """Runs until it is cancelled, and says that it was."""

    def __init__(self) -> None:
        self.running = asyncio.Event()
        self.ended = False

    async def run(self) -> None:
        self.running.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True


async def supervised(services, until, health, time) -> None:
    keeping = asyncio.create_task(
        supervise(services, health=health, monotonic_s=time.monotonic_s, sleep=time.sleep)
    )
    await asyncio.wait_for(until.wait(), 10)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)


def test_a_crashing_service_is_restarted_with_growing_pauses():
    async def story() -> None:
        time = Time()
        service = Crashing(time, times=4)

        await supervised([Service(name="x", run=service.run)], service.settled, Health(), time)

        assert service.runs == 5
        assert time.slept == [1.0, 2.0, 4.0, 8.0]

    asyncio.run(story())


def test_a_service_that_crashes_once_a_day_for_a_year_is_never_given_up():
    async def story() -> None:
        time, health = Time(), Health()
        service = Crashing(time, times=365, healthy_s=86_400)

        await supervised([Service(name="x", run=service.run)], service.settled, health, time)

        assert service.runs == 366
        assert set(time.slept) == {1.0}
        assert health.problems() == []

    asyncio.run(story())


def test_a_service_that_cannot_stay_up_is_given_up_loudly_and_the_others_live():
    async def story() -> None:
        time, health, steady = Time(), Health(), Steady()
        service = Crashing(time, times=10**6, healthy_s=HEALTHY_AFTER_S / 2)
        keeping = asyncio.create_task(
            supervise(
                [Service(name="bad", run=service.run), Service(name="good", run=steady.run)],
                health=health,
                monotonic_s=time.monotonic_s,
                sleep=time.sleep,
            )
        )
        while not health.problems():
            await asyncio.sleep(0)

        assert service.runs == RESTARTS_MAX + 1
        assert not steady.ended
        (problem,) = health.problems()
        assert "bad" in problem.what
        assert "the disk is on fire" in problem.what
        assert max(time.slept) <= BACK_OFF_MAX_S
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        assert steady.ended

    asyncio.run(story())


def test_a_fatal_error_ends_the_others_and_reaches_the_caller():
    async def story() -> None:
        time, steady = Time(), Steady()

        async def fatal() -> None:
            await steady.running.wait()
            raise Fatal("home is gone", 3)

        with pytest.raises(Fatal, match="home is gone") as raised:
            await supervise(
                [Service(name="a", run=steady.run), Service(name="b", run=fatal)],
                health=Health(),
                monotonic_s=time.monotonic_s,
                sleep=time.sleep,
            )

        assert raised.value.status == 3
        assert steady.ended

    asyncio.run(story())


def test_a_service_that_returns_by_itself_is_restarted():
    async def story() -> None:
        time, again = Time(), asyncio.Event()
        runs = []

        async def returns() -> None:
            runs.append(1)
            if len(runs) == 3:
                again.set()
                await asyncio.Event().wait()

        await supervised([Service(name="x", run=returns)], again, Health(), time)

        assert len(runs) == 3

    asyncio.run(story())


def test_an_attempt_returns_the_error_and_lets_the_fatal_one_pass():
    async def story() -> None:
        async def good() -> int:
            return 1

        async def bad() -> None:
            raise KeyError("x")

        async def fatal() -> None:
            raise Fatal("enough", 75)

        assert await attempt(good()) is None
        assert isinstance(await attempt(bad()), KeyError)
        with pytest.raises(Fatal):
            await attempt(fatal())

    asyncio.run(story())


def test_only_an_unexpected_error_is_logged_with_its_traceback(caplog):
    with caplog.at_level(logging.ERROR):
        log_crash("check.crashed", YaadError(Code.UNAVAILABLE, "git is not there."), project="p")
        log_crash("check.crashed", KeyError("x"))

    expected, unexpected = caplog.records
    assert expected.error == "git is not there."
    assert expected.project == "p"
    assert not hasattr(expected, "traceback")
    assert "KeyError" in unexpected.traceback


def test_an_error_without_words_is_still_named():
    assert error_in_words(TimeoutError()) == "TimeoutError"
    assert error_in_words(OSError("no space")) == "OSError: no space"
