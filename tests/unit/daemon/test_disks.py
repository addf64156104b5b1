"""Disks that do not answer: which one is named, who is refused, and when that is over."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from yaadwatch.api.codec import Request
from yaadwatch.api.messages.store import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.daemon.dispatch import Disks, Dispatcher
from yaadwatch.places import PROTOCOL

FAR = "/mnt/far"


class Far:
    """A network disk at FAR that answers when it is told to."""

    def __init__(self):
        self.answers = threading.Event()
        self.looked = []

    def networks(self, folder):
        if folder.is_relative_to(FAR):
            return {folder}
        return {Path(FAR)} if Path(FAR).is_relative_to(folder) else set()

    def look(self, place):
        self.looked.append(place)
        self.answers.wait(20)

    def disks(self, around=lambda _: (), patience_s=0.05):
        return Disks(self.networks, around, self.look, patience_s)


@pytest.fixture
def far():
    far = Far()
    yield far
    far.answers.set()


async def until(true):
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)


def test_disk_that_hangs_is_named_until_it_answers(far):
    async def story():
        disks = far.disks()
        assert disks.hanging_at(f"{FAR}/shop") == ""

        named = await asyncio.gather(
            *(disks.hanging_around(f"{FAR}/shop") for _ in range(3)),
        )

        assert named == [FAR] * 3
        assert far.looked == [FAR]  # asked once for all
        assert [disks.hanging_at(one) for one in (FAR, f"{FAR}/x", "/mnt/farther", "/mnt")] == [
            *(FAR, FAR, "", "")
        ]
        far.answers.set()
        await until(lambda: not disks.hanging_at(f"{FAR}/shop"))
        assert await disks.hanging_around(f"{FAR}/shop") == ""

    asyncio.run(story())


@pytest.mark.parametrize(
    ("folder", "around"),
    [("/mnt", ()), ("/mnt/shop/src", ("/mnt", "/srv")), ("/srv/shop", (f"{FAR}/shop.git",))],
    ids=["below the folder", "below its work tree", "of its repository"],
)
def test_disk_that_an_operation_may_need_is_found_wherever_it_is(far, folder, around):
    async def story():
        disks = far.disks(lambda _: map(Path, around))

        assert await disks.hanging_around(folder) == FAR
        assert disks.hanging_at(folder) == ""  # what needs no such disk is begun

    asyncio.run(story())


def test_surroundings_are_looked_up_no_further_than_the_disks_answer(far):
    entered = []

    def around(folder):
        for place in (folder, Path(FAR), Path("/srv/behind")):
            yield place
            entered.append(place)

    async def story():
        assert await far.disks(around).hanging_around("/srv/shop") == FAR
        assert entered == [Path("/srv/shop")]
        far.answers.set()
        await until(lambda: len(entered) == 3)

    asyncio.run(story())


def test_disk_that_answers_with_an_error_keeps_none_beside_it_from_being_asked(far):
    def look(place):
        if place == "/mnt/near":
            raise OSError
        far.look(place)

    def networks(folder):
        return [] if folder == Path("/") else [folder]

    async def story():
        disks = Disks(networks, lambda _: [Path("/mnt/near"), Path(FAR)], look, 0.05)

        assert await disks.hanging_around("/mnt/near") == FAR

    asyncio.run(story())


def test_link_that_cannot_be_followed_is_named(far):
    def networks(folder):
        if folder == Path("/srv/link"):
            far.answers.wait(20)
        return ()

    async def story():
        disks = Disks(networks, lambda _: [Path("/srv/link")], far.look, 0.05)

        assert await disks.hanging_around("/srv/shop") == "/srv/link"

    asyncio.run(story())


def asked(far, folder, *, answers=False):
    """Ask for `status` in a folder twice, with a verb that waits for the disk; return the errors,
    and whether the dispatcher was busy then.
    """

    def verb(home, call, *ask):
        far.answers.wait(0.2 if answers else 20)
        return {}

    async def story():
        if answers:
            far.answers.set()
        dispatcher = Dispatcher(None, str, verbs={"status": verb}, disks=far.disks(), look_s=0.01)
        hello = Hello(protocol=PROTOCOL, client="test", cwd=folder, agent=None, speaks="rpc")
        operation = BY_NAME["status"]
        request = Request(id=1, operation=operation, message=operation.request(), project=None)
        said = [json.loads(await dispatcher.answer(hello, request)) for _ in range(2)]
        busy = dispatcher.busy
        far.answers.set()
        await until(lambda: not dispatcher.busy)
        dispatcher.close()
        return [one.get("error") for one in said], busy

    return asyncio.run(story())


def test_request_on_a_disk_that_hangs_is_given_up_and_the_next_is_not_begun(far):
    (first, second), busy = asked(far, f"{FAR}/shop")

    assert first["code"] == second["code"] == "unavailable"
    assert f"The disk at {FAR} does not answer; `status` seems to wait for it" in first["message"]
    assert "may still be done" in first["message"]
    assert "`status` was not begun" in second["message"]
    assert "umount" in second["hint"]
    assert busy  # the daemon does not renew itself over what may still be done


def test_request_that_takes_long_while_all_disks_answer_is_answered(far):
    assert asked(far, f"{FAR}/shop", answers=True) == ([None, None], False)
