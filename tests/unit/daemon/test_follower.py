import asyncio
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from yaadwatch.daemon.follower import PAGE, REACTIONS, Follower, Journal, Reaction
from yaadwatch.daemon.supervisor import Health
from yaadwatch.model.events import EDGE_CREATED, EVENTS, HEAD_MOVED, JOB_RAN, NODE_CREATED, Event
from yaadwatch.model.settings import EVENT_TRIES_MAX

AT = datetime(2026, 11, 21, tzinfo=UTC)


class PaperJournal:
    """Keeps events and cursors in memory, as the stores do on disk."""

    def __init__(self, *projects: str) -> None:
        self.logs: dict[str, list[Event]] = {project: [] for project in projects}
        self.cursors: dict[str, int] = {}
        self.tries: dict[tuple[str, int], int] = {}
        self.broken: set[str] = set()

    def append(self, project: str, kind: str, subject: str = "x") -> Event:
        log = self.logs[project]
        event = Event(kind=kind, at=AT, subject=subject, seq=len(log) + 1)
        log.append(event)
        return event

    def unread(self, project: str, limit: int) -> list[Event]:
        if project in self.broken:
            raise OSError("the store is gone")
        seen = self.cursors.get(project, 0)
        return self.logs[project][seen : seen + limit]

    def fail(self, project: str, seq: int) -> int:
        self.tries[project, seq] = self.tries.get((project, seq), 0) + 1
        return self.tries[project, seq]

    def as_journal(self) -> Journal:
        return Journal(
            unread=self.unread,
            advance=self.cursors.__setitem__,
            fail=self.fail,
        )


class Hands:
    """Writes down what it was asked to do; fails on the given subjects, so often."""

    def __init__(self, failing: dict[str, int] | None = None) -> None:
        self.done: list[tuple[str, int]] = []
        self.failing = failing or {}

    async def handle(self, project: str, event: Event) -> None:
        if self.failing.get(event.subject, 0) > 0:
            self.failing[event.subject] -= 1
            raise OSError("not today")
        self.done.append((project, event.seq))


class Following:
    def __init__(self, journal: PaperJournal, hands: Hands) -> None:
        self.journal, self.hands, self.health = journal, hands, Health()
        self.slept: list[float] = []
        self.follower = Follower(
            journal.as_journal(),
            dict.fromkeys(("check", "watch", "carry"), hands.handle),
            self.health,
            sleep=self.sleep,
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    async def until(self, true: Callable[[], bool]) -> None:
        for project in self.journal.logs:
            self.follower.wake(project)
        running = asyncio.create_task(self.follower.run())
        async with asyncio.timeout(60):
            while not true():
                assert not running.done()
                await asyncio.sleep(0.001)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def test_events_written_while_nobody_followed_are_done_in_order():
    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands()
        for _ in range(3 * PAGE + 7):
            journal.append("p", HEAD_MOVED)

        await Following(journal, hands).until(lambda: journal.cursors.get("p") == 3 * PAGE + 7)

        assert hands.done == [("p", seq) for seq in range(1, 3 * PAGE + 8)]

    asyncio.run(story())


def test_an_event_is_done_when_its_store_wakes_the_follower_and_only_once():
    async def story() -> None:
        journal, hands = PaperJournal("p", "q"), Hands()
        following = Following(journal, hands)

        def write_later() -> bool:
            if journal.cursors.get("p") == 1 and len(journal.logs["q"]) == 0:
                journal.append("q", HEAD_MOVED)
                following.follower.wake("q")
                following.follower.wake("q")
            return journal.cursors.get("q") == 1

        journal.append("p", HEAD_MOVED)
        await following.until(write_later)

        assert hands.done == [("p", 1), ("q", 1)]

    asyncio.run(story())


def test_events_without_a_reaction_are_passed_over():
    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands()
        journal.append("p", JOB_RAN)
        journal.append("p", HEAD_MOVED)

        await Following(journal, hands).until(lambda: journal.cursors.get("p") == 2)

        assert hands.done == [("p", 2)]

    asyncio.run(story())


def test_a_follower_that_was_cut_off_goes_on_where_its_cursor_is():
    """Done again is allowed, left out is not."""

    async def story() -> None:
        journal = PaperJournal("p")
        for _ in range(PAGE + 10):
            journal.append("p", HEAD_MOVED)
        first = Hands()
        await Following(journal, first).until(lambda: len(first.done) > PAGE)
        journal.cursors["p"] = PAGE  # as if the crash came before the second page was noted
        second = Hands()
        await Following(journal, second).until(lambda: journal.cursors["p"] == PAGE + 10)

        assert {seq for _, seq in first.done + second.done} == set(range(1, PAGE + 11))
        assert second.done[0] == ("p", PAGE + 1)

    asyncio.run(story())


def test_a_handler_that_fails_a_few_times_is_tried_again_with_growing_pauses():
    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands({"stubborn": EVENT_TRIES_MAX - 1})
        journal.append("p", HEAD_MOVED, "stubborn")
        following = Following(journal, hands)

        await following.until(lambda: journal.cursors.get("p") == 1)

        assert hands.done == [("p", 1)]
        assert following.slept == [1.0, 2.0, 4.0, 8.0]
        assert following.health.problems() == []

    asyncio.run(story())


def test_an_event_nobody_can_digest_is_parked_told_and_passed():
    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands({"poison": 10**6})
        journal.append("p", HEAD_MOVED, "poison")
        journal.append("p", NODE_CREATED, "fine")
        following = Following(journal, hands)

        await following.until(lambda: journal.cursors.get("p") == 2)

        assert journal.tries["p", 1] == EVENT_TRIES_MAX
        assert hands.done == [("p", 2)]
        (problem,) = following.health.problems()
        assert "event 1 (head.moved poison)" in problem.what
        assert "not today" in problem.what
        journal.append("p", HEAD_MOVED, "fine")
        following.follower.wake("p")
        await following.until(lambda: journal.cursors.get("p") == 3)
        assert following.health.problems() == []

    asyncio.run(story())


def test_a_stuck_project_does_not_hold_up_another():
    async def story() -> None:
        journal, hands = PaperJournal("p", "q"), Hands()
        never = asyncio.Event()

        async def stuck(project: str, event: Event) -> None:
            if project == "p":
                await never.wait()
            await hands.handle(project, event)

        journal.append("p", HEAD_MOVED)
        journal.append("q", HEAD_MOVED)
        following = Following(journal, hands)
        following.follower = Follower(
            journal.as_journal(),
            dict.fromkeys(("check", "watch", "carry"), stuck),
            following.health,
        )

        await following.until(lambda: journal.cursors.get("q") == 1)

        assert hands.done == [("q", 1)]

    asyncio.run(story())


def test_a_store_that_cannot_be_read_is_told_and_followed_again_when_it_can():
    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands()
        journal.broken.add("p")
        journal.append("p", HEAD_MOVED)
        following = Following(journal, hands)
        await following.until(lambda: bool(following.health.problems()))
        assert "the store is gone" in following.health.problems()[0].what

        journal.broken.clear()
        await following.until(lambda: not following.health.problems())

        assert journal.cursors.get("p") == 1

    asyncio.run(story())


def test_a_store_that_cannot_be_read_for_a_moment_is_read_again_and_not_told():
    """As when a project is being removed: its store goes first."""

    async def story() -> None:
        journal, hands = PaperJournal("p"), Hands()
        journal.append("p", HEAD_MOVED)
        journal.broken.add("p")
        following = Following(journal, hands)

        async def sleep(_: float) -> None:
            journal.broken.clear()

        following.follower = Follower(
            journal.as_journal(),
            dict.fromkeys(("check", "watch", "carry"), hands.handle),
            following.health,
            sleep=sleep,
        )
        await following.until(lambda: journal.cursors.get("p") == 1)

        assert following.health.problems() == []

    asyncio.run(story())


@pytest.mark.parametrize("row", REACTIONS, ids=lambda row: row.event)
def test_each_reaction_is_to_an_event_that_exists(row: Reaction):
    assert row.event in EVENTS


def test_a_reaction_to_edges_is_to_those_of_its_kind_alone():
    row = next(row for row in REACTIONS if row.event == EDGE_CREATED)

    kinds = [row.is_to(edge_created(kind)) for kind in ("supersedes", "touches")]

    assert kinds == [True, False]


def edge_created(kind):
    return Event(kind=EDGE_CREATED, at=AT, subject="x", body={"to": "y", "kind": kind})


def test_no_event_has_two_reactions():
    assert len({row.event for row in REACTIONS}) == len(REACTIONS)
