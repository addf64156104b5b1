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
    _uninstall(desk)
    desk.close()


@pytest.fixture
def desk(shared_desk):
    """A desk on which nothing is installed."""
    _uninstall(shared_desk)
    return shared_desk


@pytest.fixture
def installed(shared_desk):
    """A desk with the service, as the test before left it where that was installed, too."""
    shared_desk.unset()
    shared_desk.ask("install")
    return shared_desk


@pytest.fixture
def fresh(desk):
    """A desk with the service, which nothing has ended yet: systemd counts the starts."""
    desk.ask("install")
    return desk


def _uninstall(desk):
    desk.unset()
    desk.yaadwatch("uninstall")
    desk.yaadwatch("stop")
