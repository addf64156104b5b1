"""One desk for all tests of a process: a manager takes a while to start."""

import os

import pytest
from desk import Desk, why_not

REQUIRED = "systemd" in os.environ.get("YAAD_REQUIRE", "").split(",")


@pytest.fixture(scope="session")
def shared_desk():
    reason = why_not()
    if reason and not REQUIRED:
        pytest.skip(reason)
    assert not reason
    desk = Desk()
    yield desk
    desk.close()


@pytest.fixture
def desk(shared_desk):
    """A desk on which nothing is installed, before and after."""
    yield shared_desk
    shared_desk.unset()
    shared_desk.yaadwatch("uninstall")
    shared_desk.yaadwatch("stop")


@pytest.fixture
def installed(desk):
    """A desk with the service."""
    desk.ask("install")
    return desk
