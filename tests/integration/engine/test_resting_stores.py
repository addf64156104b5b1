"""A daemon at rest holds no store of a project open, and nobody notices."""

import shutil
from datetime import timedelta

import pytest
from engine_world import World

from yaadwatch import places
from yaadwatch.daemon import wiring
from yaadwatch.engine import stale
from yaadwatch.engine.sessions import ending
from yaadwatch.model.settings import STORE_IDLE, STORES_OPEN_MAX

IDLE_S = STORE_IDLE.total_seconds()


@pytest.fixture
def world(environment, tmp_path):
    world = World(tmp_path / "work")
    yield world
    world.close()


def project_of(tree):
    return tree.home.project_at(tree.path)[0]


def test_a_store_that_nobody_used_for_a_while_is_closed_and_opened_again_when_asked(world):
    tree = world.repo()
    tree.add()
    node = tree.remember()
    project = project_of(tree)
    opened = tree.home.stores.opened(project.id)

    world.clock.wait(IDLE_S - 1)
    wiring.rest(tree.home)
    before = tree.home.stores.opened(project.id)
    world.clock.wait(1)
    wiring.rest(tree.home)
    after = tree.home.stores.opened(project.id)
    tree.write("src/net.py", "")

    assert opened is not None
    assert before is opened
    assert after is None
    assert [row["id"] for row in stale.stale(tree.home, tree.call)["stale"]] == [node]


def rest(world):
    world.clock.wait(IDLE_S)
    wiring.rest(world.home)


def close(world):
    world.home.close()
    world.reopen()


@pytest.mark.parametrize("end", [rest, close])
@pytest.mark.parametrize("first", ["closed", "cloned"])
def test_the_memories_of_a_repository_that_is_cloned_again_can_be_had_back(world, first, end):
    """The open store was the last that had them."""
    tree = world.repo()
    source = tree.copy("source")
    tree.add()
    tree.remember("Retry five times")
    shutil.rmtree(tree.path)
    if first == "closed":
        end(world)
    tree.path.mkdir()
    tree.git("clone", "-q", f"file://{source.path}", ".")
    if first == "cloned":
        end(world)

    tree.add(restore=True)

    assert tree.memories() == ["Retry five times"]


def test_a_deleted_store_of_which_no_copy_can_be_made_stays_open_until_one_can(world):
    tree = world.repo()
    tree.add()
    tree.remember("Retry five times")
    project = project_of(tree)
    backups = places.backups(project.id)
    shutil.rmtree(backups, ignore_errors=True)
    backups.parent.mkdir(parents=True, exist_ok=True)
    backups.write_text("no folder")
    shutil.rmtree(tree.path)

    rest(world)
    opened = world.home.stores.opened(project.id)
    assert opened is not None

    backups.unlink()
    rest(world)
    assert world.home.stores.opened(project.id) is None
    assert [path.suffix for path in backups.iterdir()] == [".db"]


def test_a_store_in_use_is_not_closed_under_its_user(world):
    tree = world.repo()
    tree.add()

    with tree.home.space(tree.call) as space:
        world.clock.wait(2 * IDLE_S)
        closed = tree.home.stores.rest(STORE_IDLE)
        still = tree.home.stores.opened(space.project.id)

    assert (closed, still) == (0, space.db)
    assert tree.home.stores.rest(timedelta(0)) == 1


def test_to_look_for_idle_sessions_every_minute_keeps_no_store_open(world):
    tree = world.repo()
    tree.add()

    world.clock.wait(IDLE_S)
    ending.expire(tree.home)

    assert tree.home.stores.rest(STORE_IDLE) == 1


def test_never_more_stores_are_open_than_there_may_be(world):
    trees = [world.repo(f"r{number}") for number in range(STORES_OPEN_MAX + 2)]
    for tree in trees:
        tree.add()

    opened = [tree for tree in trees if tree.home.stores.opened(project_of(tree).id) is not None]

    assert opened == trees[2:]
