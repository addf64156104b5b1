"""Events become reactions, once and in order; missed ones become one reaction to everything."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from yaadwatch.daemon.follower import PAGE, REACTIONS, Follower, reaction_to
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import EDGE_CREATED, HEAD_MOVED, JOB_RAN, Event

AT = datetime(2026, 11, 21, tzinfo=UTC)
MISSED = ("p", None)


class Following:
    """A follower of logs on paper; `done` has its reactions: a project, and an event's number."""

    def __init__(self) -> None:
        self.logs: dict[str, list[Event]] = {"p": [], "q": []}
        self.errors: list[Exception] = []
        self.done: list[tuple[str, int | None]] = []
        self.follower = Follower(self.unread, self.react)

    def append(self, project: str, kind: str, times: int = 1) -> None:
        log = self.logs[project]
        for _ in range(times):
            log.append(Event(kind=kind, at=AT, subject="x", seq=len(log) + 1))

    def unread(self, project: str, seen: int | None) -> list[Event]:
        if self.errors:
            raise self.errors.pop()
        log = self.logs[project]
        return log[-1:] if seen is None or len(log) < seen else log[seen : seen + PAGE]

    def react(self, project: str, event: Event | None) -> None:
        self.done.append((project, None if event is None else event.seq))

    async def woken(self, project: str = "p") -> None:
        self.follower.wake(project)
        while self.follower._following:
            await asyncio.sleep(0.001)


def story(told: Callable) -> Callable:
    def test() -> None:
        asyncio.run(asyncio.wait_for(told(Following()), 60))

    test.__name__ = told.__name__
    return test


@story
async def test_what_was_written_before_is_one_reaction_to_everything(following):
    following.append("p", HEAD_MOVED, 3)

    await following.woken()
    await following.woken()

    assert following.done == [MISSED]


@story
async def test_each_later_event_is_reacted_to_once_and_in_order(following):
    await following.woken()
    following.append("p", HEAD_MOVED, 2 * PAGE + 7)

    following.follower.wake("p")
    await following.woken()

    assert following.done == [MISSED, *(("p", seq) for seq in range(1, 2 * PAGE + 8))]


@story
async def test_an_event_without_a_reaction_is_passed_over(following):
    await following.woken()
    following.append("p", JOB_RAN)
    following.append("p", HEAD_MOVED)

    await following.woken()

    assert following.done == [MISSED, ("p", 2)]


@pytest.mark.parametrize("error", [YaadError(Code.UNAVAILABLE, "It is gone."), OSError("a fault")])
def test_after_a_log_that_cannot_be_read_everything_may_have_been_missed(error):
    @story
    async def run(following):
        await following.woken()
        following.append("p", HEAD_MOVED)
        following.errors = [error]
        await following.woken()
        assert following.done == [MISSED]

        await following.woken()
        await following.woken("q")

        assert following.done == [MISSED, MISSED, ("q", None)]

    run()


@story
async def test_a_log_that_could_be_read_before_is_read_again_soon(following):
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    loop.call_later = lambda _, *rest: call_later(0, *rest)
    await following.woken()
    following.append("p", HEAD_MOVED)
    following.errors = [YaadError(Code.UNAVAILABLE, "It is locked.")]

    await following.woken()
    while len(following.done) < 2:
        await asyncio.sleep(0.001)

    assert following.done == [MISSED, MISSED]


@pytest.mark.parametrize("kind", REACTIONS)
def test_each_reaction_is_to_an_event_that_exists(kind):
    assert kind in vars(events).values()


def test_of_edges_only_those_that_supersede_have_a_reaction():
    kinds = ("supersedes", "touches")
    made = [Event(kind=EDGE_CREATED, at=AT, subject="x", body={"kind": kind}) for kind in kinds]

    assert [reaction_to(event) for event in made] == ["rules", None]
