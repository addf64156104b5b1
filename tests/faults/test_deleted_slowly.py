"""A project that is deleted name by name, as `rm -rf` does it, and slowly: nothing comes back.

Agents go on saying things meanwhile.
"""

import contextlib
import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import apsw
import pytest
from living_daemon import Shop
from waiting import wait_until

from yaadwatch import places
from yaadwatch.client.connection import NobodyListens
from yaadwatch.model.errors import YaadError

PAUSE_S = 0.03


@pytest.fixture
def shop(machine):
    machine.live(YAAD_WATCH_POLL_S="1")
    shop = Shop.new(machine, files=3)
    for number in range(15):
        shop.write("src/more.py", f"more = {number}\n")
        shop.commit(f"more {number}")
    for number in range(20):
        shop.write(f"data/{number}", "data\n")
    return shop


@pytest.fixture
def asked(shop):
    """Have an agent say things until the test is over."""
    done = threading.Event()

    def speak():
        number = 0
        while not done.wait(0.1):
            number += 1
            with contextlib.suppress(YaadError, NobodyListens):
                shop.ask("remember", text=f"Said while it is deleted, number {number}")

    thread = threading.Thread(target=speak)
    thread.start()
    yield
    done.set()
    thread.join()


class Deletion:
    """Deletes a repository in the order that it is told to; what came back stays, as with `rm`."""

    def __init__(self, shop):
        every = {
            Path(place) / name: None
            for place, folders, files in os.walk(shop.root, topdown=False)
            for name in sorted(files) + folders
        }
        git, ours = shop.root / ".git", shop.root / ".yaad"
        inside = [path for path in every if path.is_relative_to(git)]
        # What tells that it is a repository goes last: the longest time to go wrong in.
        inside.sort(key=lambda path: "objects" not in path.parts)
        self.repository = inside
        self.store = [path for path in every if path.is_relative_to(ours)]
        self.files = [path for path in every if path not in {*self.repository, *self.store}]
        self.root = shop.root

    def __call__(self, *parts, pause_s=PAUSE_S):
        for path in (path for part in parts for path in getattr(self, part)):
            _delete(path)
            time.sleep(pause_s)

    def ends(self):
        _delete(self.root)


class Building:
    """A build that deletes one file after the other, for as long as it is entered."""

    def __init__(self, shop):
        for number in range(1_000):
            shop.write(f"build/{number}", "")
        self._files = sorted((shop.root / "build").iterdir())
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._build)

    @property
    def went_on(self):
        """Say whether there was something to delete all the while."""
        return bool(self._files)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _build(self):
        while self._files and not self._over.wait(0.02):
            self._files.pop().unlink()


def _delete(path):
    is_folder = path.is_dir() and not path.is_symlink()
    with contextlib.suppress(OSError):
        path.rmdir() if is_folder else path.unlink()


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize(
    "order",
    [
        ("store", "repository", "files"),
        ("store", "files", "repository"),
        ("repository", "files", "store"),
        ("repository", "store", "files"),
    ],
    ids="-".join,
)
def test_nothing_of_it_is_put_back(shop, order):
    deletion = Deletion(shop)

    for part in order:
        deletion(part, pause_s=0 if part == "store" else PAUSE_S)
    deletion.ends()

    assert not shop.root.exists(), list(shop.root.rglob("*"))


def _memories(copy):
    conn = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {row[0] for row in conn.execute("SELECT id FROM nodes")}
    finally:
        conn.close()


@pytest.mark.usefixtures("asked")
def test_what_was_put_back_while_one_name_took_long_goes_to_the_backups(machine, shop):
    deletion, project = Deletion(shop), shop.ask("add")["id"]

    deletion("files", "store", pause_s=0)
    wait_until(shop.store.exists, "a store that is put back")
    deletion("repository", pause_s=0)

    wait_until(lambda: not shop.store.parent.exists(), "a store that is taken away again")
    assert list(shop.root.iterdir()) == []
    copies = sorted(places.backups(project).glob("*.db"))
    assert set(shop.said.values()) <= _memories(copies[-1])
    assert machine.logged("store.withdrawn") == 1


def test_what_git_clean_took_is_in_a_backup_when_it_stops_while_a_build_deletes(machine, shop):
    """Whether the project is being deleted cannot be told, and there is no time to wait."""
    project = shop.ask("add")["id"]
    shop.ask("backup")
    last = shop.ask("remember", text="Said since the last backup")["id"]
    builds = Building(shop)
    with builds:
        shop.git("clean", "-fdxq", "-e", "build")
        assert machine.stop() == 0

    copies = sorted(places.backups(project).glob("*.db"))
    assert builds.went_on
    assert last in _memories(shop.store if shop.store.exists() else copies[-1])


def test_who_waits_to_put_a_store_back_keeps_no_one_from_stopping(machine, shop):
    """It has the store; so nobody could copy it while it waits."""
    project = shop.ask("add")["id"]
    shop.ask("backup")
    last = shop.ask("remember", text="Said since the last backup")["id"]
    builds = Building(shop)
    with builds, ThreadPoolExecutor(1) as agent:
        shop.git("clean", "-fdxq", "-e", "build")
        saying = agent.submit(shop.ask, "remember", text="Said after cleaning")
        time.sleep(0.5)
        assert machine.stop() == 0
        with pytest.raises((YaadError, NobodyListens)):
            saying.result()

    copies = sorted(places.backups(project).glob("*.db"))
    assert builds.went_on
    assert last in _memories(shop.store if shop.store.exists() else copies[-1])


@pytest.mark.usefixtures("asked")
def test_a_repository_that_only_gets_another_place_for_a_while_keeps_what_was_put_back(shop):
    shop.git("clean", "-fdxq")
    wait_until(shop.store.exists, "a store that is put back")

    git, away = shop.root / ".git", shop.root / "git-away"
    git.rename(away)
    time.sleep(3)  # three polls
    there = shop.store.exists()
    away.rename(git)

    assert there
    assert set(shop.said.values()) <= {shop.ask("show", id=one)["id"] for one in shop.said.values()}
