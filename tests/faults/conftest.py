"""A machine with a daemon of its own, and a repository whose truth the test knows."""

import pytest
from living_daemon import Living, Shop


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine on which no daemon runs yet; the clients of this process find its home."""
    machine = Living(tmp_path, monkeypatch)
    yield machine
    machine.end()
    print(machine.log())


@pytest.fixture
def shop(machine):
    """A watched repository of eight files with a memory of each."""
    machine.live()
    return Shop.new(machine)
