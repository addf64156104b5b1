"""Requests that only read what is known are answered while checks keep every thread busy."""

import asyncio
import json
import threading

import pytest

from yaadwatch.api.codec import Request
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import Dispatcher, Workers
from yaadwatch.places import PROTOCOL

HELLO = Hello(protocol=PROTOCOL, client="test", cwd="/srv/shop", agent=None, speaks="rpc")
AT_ONCE = 2
KNOWN = 4


def request(name, **fields):
    operation = BY_NAME[name]
    return Request(id=1, operation=operation, message=operation.request(**fields), project=None)


def play(asked):
    """Return what `asked(dispatcher)` does while checks run in all threads."""
    over = threading.Event()

    def stale(home, call, ask):
        if ask.check:
            over.wait(20)
        return {"checked": ask.check}

    async def story():
        dispatcher = Dispatcher(
            None,
            str,
            verbs={"stale": stale, "status": lambda home, call: {}, "recall": lambda *_: {}},
            workers=Workers(AT_ONCE),
        )
        checks = [
            asyncio.create_task(dispatcher.answer(HELLO, request("stale")))
            for _ in range(AT_ONCE + 1)
        ]
        await asyncio.sleep(0)
        try:
            return await asked(dispatcher)
        finally:
            over.set()
            await asyncio.gather(*checks)
            dispatcher.close()

    return asyncio.run(story())


@pytest.mark.parametrize("known", [request("stale", check=False), request("status")])
def test_what_is_known_is_answered_while_every_thread_checks(known):
    async def asked(dispatcher):
        for _ in range(KNOWN):
            line = await asyncio.wait_for(dispatcher.answer(HELLO, known), 10)
            assert "result" in json.loads(line)

    play(asked)


def test_another_folder_is_answered_while_every_thread_of_one_checks():
    other = Hello(protocol=PROTOCOL, client="test", cwd="/srv/blog", agent=None, speaks="rpc")

    async def asked(dispatcher):
        line = await asyncio.wait_for(dispatcher.answer(other, request("recall", query="x")), 10)
        return json.loads(line)["result"]

    assert play(asked) == {}


def test_other_requests_wait_for_their_turn():
    async def asked(dispatcher):
        waiting = asyncio.create_task(dispatcher.answer(HELLO, request("recall", query="x")))
        done, _ = await asyncio.wait([waiting], timeout=0.1)
        waiting.cancel()
        return done

    assert play(asked) == set()
