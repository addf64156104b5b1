"""A world with one watched repository for the tests of verbs."""

import shutil

import pytest
from verb_world import World, prepared

from yaadwatch.repo import command


@pytest.fixture(scope="session", autouse=True)
def _git_alone():
    """Run git without the program that has it die with us, which costs as much as a short command.

    No test here ends in the middle of one; `tests/faults/test_children.py` does.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_dying_with_us", tuple)
        yield


@pytest.fixture(scope="session")
def _place(tmp_path_factory):
    return tmp_path_factory.mktemp("world") / "of" / "test"


@pytest.fixture
def tmp_path(_place):
    """An empty folder, at the same path for each test, so that a prepared world fits into it."""
    if _place.parent.exists():
        shutil.rmtree(_place.parent)
    _place.mkdir(mode=0o700, parents=True)
    return _place


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world = World(tmp_path)
    yield world
    world.close()


@prepared
def repo(world):
    """A repository with src/net.py in its one commit, watched."""
    return world.watched()
