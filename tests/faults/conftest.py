"""A machine with a daemon of its own, and a repository whose truth the test knows."""

import os
from pathlib import Path

import pytest
from living_daemon import Living, Shop

LIMIT_S = 600
"""Against what hangs: more than any of these tests takes where a busy machine has others to run."""


def pytest_collection_modifyitems(items):
    here = f"{Path(__file__).parent}{os.sep}"
    for item in items:
        if str(item.path).startswith(here) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(LIMIT_S))


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
