"""A daemon at rest holds no store of a project open, and nobody notices."""

import contextlib
import gc
import os
import resource
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from verb_world import World

from yaadwatch import places
from yaadwatch.daemon import wiring
from yaadwatch.db import anchors
from yaadwatch.model.errors import YaadError
from yaadwatch.model.settings import LONG_REST, STORE_IDLE, STORES_OPEN_MAX
from yaadwatch.sessions import ending
from yaadwatch.staleness import stale
from yaadwatch.sync import lookback

PATIENCE_S = 30.0
ROOM_MAX = 12
"""More descriptors than an open store takes."""
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
    opened = tree.home.stores.is_open(project.id)

    world.clock.wait(IDLE_S - 1)
    wiring.release_idle(tree.home)
    before = tree.home.stores.is_open(project.id)
    world.clock.wait(1)
    wiring.release_idle(tree.home)
    after = tree.home.stores.is_open(project.id)
    tree.write("src/net.py", "")

    assert (opened, before, after) == (True, True, False)
    assert [row["id"] for row in stale.stale(tree.home, tree.call)["stale"]] == [node]


def test_what_is_kept_of_a_repository_is_let_go_when_nobody_asked_for_long(world):
    tree = world.repo()
    tree.add()
    node = tree.remember("`fetch_with_retry` of src/net.py gives up after 3 tries")
    git = tree.home.git

    def let_go():
        return not git.listed._kept

    before = let_go()
    world.clock.wait(LONG_REST.total_seconds() - 1)
    wiring.release_idle(tree.home)
    soon = let_go()
    world.clock.wait(1)
    wiring.release_idle(tree.home)
    later = let_go()
    tree.write("src/net.py", "")

    assert (before, soon, later) == (False, False, True)
    assert node in [row["id"] for row in stale.stale(tree.home, tree.call)["stale"]]


def test_a_session_that_says_nothing_new_keeps_no_store_open(world):
    tree = world.repo()
    tree.add()
    tree.remember()
    project = project_of(tree)

    written = []
    for _ in range(3):
        world.clock.wait(IDLE_S)
        wiring.release_idle(tree.home)
        ending.expire(tree.home)
        written.append(tree.home.stores.is_open(project.id))
    tree.remember("Retry five times")
    tree.home.stores.close_one(project.id)
    ending.expire(tree.home)

    assert written == [True, False, False]
    assert tree.home.stores.is_open(project.id)


def rest(world):
    world.clock.wait(IDLE_S)
    wiring.release_idle(world.home)


def close(world):
    world.home.close()
    world.reopen()


def test_a_store_in_use_is_not_closed_under_its_user(world):
    tree = world.repo()
    tree.add()

    with tree.home.space(tree.call) as space:
        world.clock.wait(2 * IDLE_S)
        closed = tree.home.stores.rest(STORE_IDLE)
        still = tree.home.stores.is_open(space.project.id)

    assert (closed, still) == (0, True)
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

    opened = [tree for tree in trees if tree.home.stores.is_open(project_of(tree).id)]

    assert opened == trees[2:]


@contextlib.contextmanager
def room_for(descriptors):
    """Let this process open so many files more."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + ROOM_MAX, limits[1]))
    taken = []
    try:
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        for _ in range(descriptors):
            os.close(taken.pop())
        yield
    finally:
        for descriptor in taken:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="no /proc here")
def test_a_store_that_could_not_be_opened_all_the_way_keeps_nothing_open(world):
    tree = world.repo()
    tree.add()
    project = project_of(tree)
    rest(world)
    gc.collect()  # what earlier tests left open is no part of this
    before, refused = sorted(os.listdir("/proc/self/fd")), 0

    for room in range(ROOM_MAX):
        with room_for(room):
            try:
                with world.home.stores.use(project):
                    pass
            except (YaadError, OSError):
                refused += 1
        world.home.stores.close_one(project.id)
        gc.collect()
        assert sorted(os.listdir("/proc/self/fd")) == before, room

    assert 0 < refused < ROOM_MAX


class TestLook:
    """What is asked of many stores at a start."""

    def test_what_is_watched_is_the_same_whether_a_store_is_open_or_at_rest(self, world):
        trees = [world.repo(f"repo-{number}") for number in range(3)]
        for tree in trees:
            tree.add()
            tree.remember()
        trees[0].write("src/net.py", "")
        trees[0].check()
        opened = stale.watched(world.home)

        close(world)
        at_rest = stale.watched(world.home)

        assert [tree.paths for tree in at_rest] == [tree.paths for tree in opened]
        assert at_rest == opened
        assert not any(world.home.stores.is_open(tree.project) for tree in at_rest)

    def test_a_store_with_nothing_to_look_up_stays_at_rest(self, world):
        tree = world.repo()
        tree.add()
        tree.look_back()
        project = project_of(tree)
        rest(world)

        assert lookback.compare_next(world.home, project.id) is False
        assert not world.home.stores.is_open(project.id)

    def test_what_was_not_written_back_before_a_crash_is_watched(self, world):
        tree = world.repo()
        tree.add()
        project = project_of(tree)
        tree.remember()
        kept = world.folder / "kept"
        shutil.copytree(places.project_store(project.id).parent, kept)
        close(world)
        for file in kept.iterdir():
            shutil.copy(file, places.project_store(project.id).parent)

        assert "src/net.py" in stale.watched(world.home)[0].paths

    def test_a_store_is_opened_by_others_after_it_was_looked_into(self, world):
        tree = world.repo()
        tree.add()
        project = project_of(tree)
        rest(world)
        looking, go_on = threading.Event(), threading.Event()

        def ask(conn):
            looking.set()
            assert go_on.wait(PATIENCE_S)
            return anchors.paths(conn)

        with ThreadPoolExecutor(2) as pool:
            looked = pool.submit(world.home.stores.look, project, ask)
            assert looking.wait(PATIENCE_S)
            remembered = pool.submit(tree.remember)
            go_on.set()

            assert looked.result(PATIENCE_S) == []
            assert remembered.result(PATIENCE_S)

    def test_a_store_that_cannot_be_used_is_an_error_as_when_it_is_opened(self, world):
        tree = world.repo()
        tree.add()
        project = project_of(tree)
        rest(world)
        places.project_store(project.id).write_bytes(b"garbage" * 1000)

        with pytest.raises(YaadError, match=r"not a database|damaged"):
            world.home.stores.look(project, anchors.paths)
