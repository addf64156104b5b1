import asyncio
from contextlib import aclosing
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal

from yaadwatch.daemon.follower import PAGE, Stream, decode_cursor, encode_cursor
from yaadwatch.model.errors import Code
from yaadwatch.model.events import NODE_CREATED, Event

AT = datetime(2026, 11, 21, tzinfo=UTC)


class PaperLogs:
    """The logs of some stores, in memory."""

    def __init__(self, *stores: str) -> None:
        self.logs: dict[str, list[Event]] = {store: [] for store in stores}
        self.unreadable: set[str] = set()

    def append(self, store: str, times: int = 1) -> None:
        log = self.logs.setdefault(store, [])
        for _ in range(times):
            log.append(Event(kind=NODE_CREATED, at=AT, subject=f"n{len(log)}", seq=len(log) + 1))

    def stores(self) -> frozenset[str]:
        return frozenset(self.logs)

    def last(self, store: str) -> int | None:
        return None if store in self.unreadable else len(self.logs[store])

    def after(self, store: str, seq: int, limit: int) -> list[Event]:
        return [] if store in self.unreadable else self.logs.get(store, [])[seq : seq + limit]


async def taken(stream: Stream, after: str | None, count: int, *, then=lambda: None) -> list[dict]:
    """Subscribe, do `then`, and return the next `count` events."""
    found: list[dict] = []
    async with asyncio.timeout(60), aclosing(stream.events(after)) as events:
        position = await anext(events)
        assert set(position) == {"cursor"}
        then()
        while len(found) < count:
            found.append(await anext(events))
    assert not stream._subscribers
    return found


def told(events: list[dict]) -> list[tuple[str, str]]:
    return [(event["project"], event["subject"]) for event in events]


def test_without_a_cursor_only_what_comes_now_is_told():
    async def story() -> None:
        logs = PaperLogs("p", "")
        logs.append("p", 3)
        stream = Stream(logs)

        def then() -> None:
            logs.append("p")
            stream.wake("p")

        (event,) = await taken(stream, None, 1, then=then)

        assert event == {
            "cursor": encode_cursor({"p": 4, "": 0}),
            "project": "p",
            "kind": NODE_CREATED,
            "at": AT,
            "subject": "n3",
            "body": {},
        }

    asyncio.run(story())


def test_from_the_cursor_of_any_event_the_rest_is_told_once_and_in_order():
    async def story() -> None:
        logs = PaperLogs("p", "q")
        start = encode_cursor({"p": 0, "q": 0})
        logs.append("p", 2 * PAGE + 3)
        logs.append("q", 5)
        total = 2 * PAGE + 8
        everything = await taken(Stream(logs), start, total)
        for cut in (0, 1, PAGE - 1, PAGE, total - 2):
            rest = await taken(Stream(logs), everything[cut]["cursor"], total - cut - 1)

            assert told(rest) == told(everything[cut + 1 :])
        assert len(set(told(everything))) == total

    asyncio.run(story())


def test_a_project_younger_than_the_cursor_is_told_from_its_beginning():
    async def story() -> None:
        logs = PaperLogs("p")
        logs.append("p", 2)
        logs.append("new", 2)

        events = await taken(Stream(logs), encode_cursor({"p": 2, "gone": 7}), 2)

        assert told(events) == [("new", "n0"), ("new", "n1")]

    asyncio.run(story())


def test_a_project_that_is_added_while_somebody_listens_is_told():
    async def story() -> None:
        logs = PaperLogs("p")
        stream = Stream(logs)

        def then() -> None:
            logs.append("new")
            stream.wake("new")

        assert told(await taken(stream, None, 1, then=then)) == [("new", "n0")]

    asyncio.run(story())


def test_a_store_that_could_not_be_read_is_told_from_when_it_can_be():
    async def story() -> None:
        logs = PaperLogs("p", "q")
        logs.append("p", 3)
        logs.unreadable = {"p"}
        stream = Stream(logs)
        found = []
        async with asyncio.timeout(60), aclosing(stream.events(None)) as events:
            await anext(events)
            logs.append("q")
            stream.wake("q")
            found.append(await anext(events))
            logs.unreadable = set()
            stream.wake("p")
            logs.append("q")
            stream.wake("q")  # it is told after p was looked at
            found.append(await anext(events))
            logs.append("p")
            stream.wake("p")
            found.append(await anext(events))

        assert told(found) == [("q", "n0"), ("q", "n1"), ("p", "n3")]

    asyncio.run(story())


@given(st.dictionaries(st.text(), st.none() | st.integers(min_value=0), max_size=5))
def test_a_cursor_comes_back_as_it_was(places):
    assert decode_cursor(encode_cursor(places)) == places


@pytest.mark.parametrize("text", ["x", "é", "W10", "eyJwIjotMX0", "eyJwIjp0cnVlfQ", "eyJwIjoiMSJ9"])
def test_what_is_no_cursor_is_refused(text):
    assert refusal(decode_cursor, text).code is Code.BAD_REQUEST
