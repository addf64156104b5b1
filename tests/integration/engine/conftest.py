"""A home and a watched repository for the tests of the engine."""

import pytest
from engine_world import World


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    world = World(tmp_path)
    yield world
    world.close()


@pytest.fixture
def repo(world):
    """A repository with src/net.py in its one commit, watched."""
    repo = world.repo()
    repo.add()
    return repo
