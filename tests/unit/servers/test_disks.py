"""Disks that do not answer: who is refused, who is told, and when that is over."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from yaadwatch.api.codec import Request
from yaadwatch.api.messages.wire import Hello
from yaadwatch.api.operations import BY_NAME
from yaadwatch.model.errors import Code
from yaadwatch.places import PROTOCOL
from yaadwatch.servers.disks import Disks
from yaadwatch.servers.dispatch import Dispatcher

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

    def disks(self, patience_s):
        return Disks(self.networks, look=self.look, patience_s=patience_s)


@pytest.fixture
def far():
    far = Far()
    yield far
    far.answers.set()


async def told_of(disks, *suspects):
    """Return what is said of operations that a disk keeps from ending."""
    told = asyncio.Queue()
    for operation, folder in suspects:
        disks.suspect(operation, folder, told.put_nowait)
    return [await asyncio.wait_for(told.get(), 20) for _ in suspects]


async def until(true):
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.005)


def test_what_is_on_a_disk_that_hangs_is_refused_until_it_answers(far):
    async def story():
        disks = far.disks(0.01)
        assert disks.refusal("recall", f"{FAR}/shop") is None

        told, again = await told_of(disks, ("recall", f"{FAR}/shop"), ("stale", f"{FAR}/shop"))

        assert told.code is Code.UNAVAILABLE
        assert told.message.startswith(f"The disk at {FAR} does not answer; `recall` seems to wait")
        assert "`stale` seems to wait" in again.message
        assert far.looked == [FAR]
        for folder in (FAR, f"{FAR}/shop", f"{FAR}/other"):
            assert "`show` was not begun" in disks.refusal("show", folder).message
        assert disks.refusal("show", "/mnt/farther") is None
        far.answers.set()
        await until(lambda: disks.refusal("recall", f"{FAR}/shop") is None)

    asyncio.run(story())


def test_above_a_disk_that_hangs_only_what_it_kept_from_ending_is_refused(far):
    async def story():
        disks = far.disks(0.01)

        await told_of(disks, ("stale", "/mnt"))

        assert disks.refusal("stale", "/mnt") is not None
        assert disks.refusal("recall", "/mnt") is None
        assert disks.refusal("stale", "/srv") is None

    asyncio.run(story())


def test_a_disk_beside_the_folder_is_asked_where_what_is_around_has_it(far):
    async def story():
        disks = Disks(far.networks, lambda _: (Path("/mnt"), Path("/srv")), far.look, 0.01)

        (told,) = await told_of(disks, ("stale", "/mnt/shop/src"))

        assert told.message.startswith(f"The disk at {FAR} does not answer; `stale` seems")
        assert disks.refusal("stale", "/mnt/shop/src") is not None
        assert disks.refusal("recall", "/mnt/shop/src") is None
        assert far.looked == [FAR]

    asyncio.run(story())


def test_what_is_around_a_folder_on_a_disk_that_hangs_is_not_looked_for(far):
    async def story():
        looked = []
        disks = Disks(far.networks, lambda folder: looked.append(folder) or (), far.look, 0.01)

        await told_of(disks, ("stale", f"{FAR}/shop"))
        assert looked == []
        far.answers.set()
        await until(lambda: looked == [Path(FAR) / "shop"])

    asyncio.run(story())


def test_what_did_end_is_begun_again_though_the_disk_still_hangs(far):
    async def story():
        disks = far.disks(0.01)
        await told_of(disks, ("add", "/mnt"), ("stale", "/mnt"))

        disks.ended("add", "/mnt")
        disks.ended("add", "/nowhere")

        assert disks.refusal("add", "/mnt") is None
        assert disks.refusal("stale", "/mnt") is not None

    asyncio.run(story())


def test_what_ended_by_itself_was_kept_by_no_disk(far):
    async def story():
        disks = far.disks(0.01)
        told = []

        def ended(why):
            told.append(why)
            return False

        disks.suspect("remember", "/mnt", ended)
        await until(lambda: told)

        assert disks.refusal("remember", "/mnt") is None

    asyncio.run(story())


def test_what_takes_long_while_all_disks_answer_is_left_alone(far):
    async def story():
        disks = far.disks(20)
        told = []
        far.answers.set()

        disks.suspect("add", f"{FAR}/shop", told.append)
        await until(lambda: far.looked and not disks._asked)

        assert told == []
        assert disks.refusal("add", f"{FAR}/shop") is None

    asyncio.run(story())


def test_what_may_still_be_done_is_not_said_to_be_refused(far):
    async def story():
        (told,) = await told_of(far.disks(0.01), ("remember", "/mnt"))

        assert "`remember` seems to wait for it, and may still be done" in told.message

    asyncio.run(story())


def test_what_is_around_is_found_out_no_further_than_the_disks_answer(far):
    entered = []

    def around(folder):
        for place in (folder, Path(FAR), Path("/srv/behind")):
            yield place
            entered.append(place)

    async def story():
        disks = Disks(far.networks, around, far.look, 0.01)

        await told_of(disks, ("recall", "/srv/shop"))

        assert entered == [Path("/srv/shop")]
        far.answers.set()
        await until(lambda: len(entered) == 3)

    asyncio.run(story())


def test_a_disk_that_answers_with_an_error_keeps_none_beside_it_from_being_asked(far):
    def look(place):
        if place == "/mnt/near":
            raise OSError
        far.look(place)

    async def story():
        disks = Disks(
            lambda folder: [] if folder == Path("/") else [folder],
            lambda _: [Path("/mnt/near"), Path(FAR)],
            look,
            0.01,
        )

        (told,) = await told_of(disks, ("recall", "/mnt/near"))

        assert told.message.startswith(f"The disk at {FAR} does not answer")

    asyncio.run(story())


def test_where_a_link_cannot_be_followed_the_place_with_it_is_named(far):
    def networks(folder):
        if folder == Path("/srv/link"):
            far.answers.wait(20)
        return ()

    async def story():
        disks = Disks(networks, lambda _: [Path("/srv/link")], far.look, 0.01)

        (told,) = await told_of(disks, ("recall", "/srv/shop"))

        assert told.message.startswith("The disk at /srv/link does not answer")

    asyncio.run(story())


def test_what_was_answered_in_its_place_is_still_being_done(far):
    """The daemon does not begin anew over it: who asked was told that it may still be done."""

    def verb(home, call, **fields):
        far.answers.wait(20)
        return {}

    async def story():
        dispatcher = Dispatcher(
            None, str, verbs={"status": verb}, disks=far.disks(0.01), look_s=0.01
        )
        hello = Hello(protocol=PROTOCOL, client="test", cwd=f"{FAR}/shop", agent=None, speaks="rpc")
        operation = BY_NAME["status"]
        asked = Request(id=1, operation=operation, message=operation.request(), project=None)

        told = json.loads(await dispatcher.answer(hello, asked))
        busy = dispatcher.busy
        far.answers.set()
        await until(lambda: not dispatcher.busy)
        dispatcher.close()

        assert told["error"]["code"] == "unavailable"
        assert busy

    asyncio.run(story())
