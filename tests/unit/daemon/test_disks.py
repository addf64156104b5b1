"""A request that waits for a disk that does not answer is given up; others are not."""

import asyncio
import json
import threading
import time

import pytest

from yaadwatch.api.codec import Request
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import Dispatcher
from yaadwatch.places import PROTOCOL

FAR = "/mnt/far/shop"


def failing(folder):
    raise OSError


@pytest.mark.parametrize("answers", [str, failing, None], ids=["well", "failing", "never"])
def test_request_on_a_disk_that_hangs_is_given_up_and_no_other(answers):
    """With None, neither the verb nor the disk answers."""
    goes_on, looks = threading.Event(), []

    def look(folder):
        looks.append(folder)
        if answers is None:
            return goes_on.wait(20)
        goes_on.set()
        return answers(folder)

    def verb(home, call, *ask):
        goes_on.wait(20)
        return {}

    async def story():
        look_s = 0.05 if answers is None else 0.5  # in which a disk answers on a busy machine, too
        dispatcher = Dispatcher(None, str, verbs={"status": verb}, look=look, look_s=look_s)
        hello = Hello(protocol=PROTOCOL, client="test", cwd=FAR, agent=None, speaks="rpc")
        operation = BY_NAME["status"]
        request = Request(id=1, operation=operation, message=operation.request(), project=None)
        found = await asyncio.gather(*(dispatcher.answer(hello, request) for _ in range(2)))
        busy = dispatcher.busy
        goes_on.set()
        async with asyncio.timeout(20):
            while dispatcher.busy:
                await asyncio.sleep(0.005)
        dispatcher.close()
        return [json.loads(line).get("error") for line in found], busy

    errors, busy = asyncio.run(story())

    assert set(looks) == {FAR}
    if answers is not None:
        assert errors == [None, None]
        return
    assert len(looks) == 1  # asked once for both
    assert busy  # the daemon does not renew itself over what may still be done
    for error in errors:
        assert error["code"] == "unavailable"
        assert f"The disk at {FAR} does not answer; `status` may still be done" in error["message"]
        assert "umount" not in error["hint"]  # it is on no network disk


def test_a_daemon_that_is_held_up_takes_no_disk_for_one_that_hangs():
    """The loop stands still, and no other thread gets on: as when a library keeps Python's lock."""
    ended, goes_on = threading.Event(), threading.Event()

    def verb(home, call, *ask):
        ended.wait(20)
        return {}

    async def story():
        dispatcher = Dispatcher(
            None, str, verbs={"status": verb}, look=lambda _: goes_on.wait(20), look_s=0.3
        )
        hello = Hello(protocol=PROTOCOL, client="test", cwd=FAR, agent=None, speaks="rpc")
        operation = BY_NAME["status"]
        request = Request(id=1, operation=operation, message=operation.request(), project=None)
        answer = asyncio.ensure_future(dispatcher.answer(hello, request))
        while not dispatcher._looking:
            await asyncio.sleep(0.005)
        time.sleep(1)
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, goes_on.set)
        loop.call_later(0.04, ended.set)
        line = await answer
        dispatcher.close()
        return json.loads(line)

    assert "error" not in asyncio.run(story())
