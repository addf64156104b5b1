"""What subscribers are told while one of the stores cannot be read: what happens in the others."""

import asyncio
from contextlib import aclosing

import pytest

from yaadwatch.daemon.follower import USER, Logs, Stream
from yaadwatch.model.errors import YaadError

PATIENCE_S = 60.0


@pytest.fixture
def broken(world):
    """The id of a watched repository whose store holds something else than a database."""
    tree = world.repo("broken")
    project = tree.add()["id"]
    world.home.close()
    for path in tree.store.parent.glob("yaad.db*"):
        path.unlink()
    tree.store.write_bytes(b"no database at all " * 400)
    tree.store.chmod(0o600)
    world.reopen()
    with pytest.raises(YaadError):
        tree.stale()
    return project


def test_a_store_that_cannot_be_read_tells_nothing(world, broken):
    logs = Logs(world.home)

    assert logs.stores() == {USER, broken}
    assert logs.last(broken) is None
    assert logs.after(broken, 0, 10) == []


def test_a_user_store_that_cannot_be_read_tells_nothing(world):
    logs = Logs(world.home)
    world.home.user.close()

    assert logs.last(USER) is None
    assert logs.after(USER, 0, 10) == []


def test_beside_a_store_that_cannot_be_read_the_others_are_followed(world, broken):
    sound = world.repo("sound")
    project = sound.add()["id"]

    async def first():
        stream = Stream(Logs(world.home))
        async with asyncio.timeout(PATIENCE_S), aclosing(stream.events(None)) as events:
            await anext(events)
            sound.remember()
            stream.wake(broken)
            stream.wake(project)
            return await anext(events)

    assert asyncio.run(first())["project"] == project
