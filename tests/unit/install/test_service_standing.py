"""What `doctor` says of the service: as it was installed, gone, stopped, out of reach."""

import os
import sys

import pytest
from standing_in import FakeDaemon, FakeManager

from yaadwatch.install import install, units
from yaadwatch.install.plans import service_state
from yaadwatch.projects import diagnosis
from yaadwatch.projects.diagnosis import (
    DaemonFacts,
    Facts,
    HomeFacts,
    HookFacts,
    ServiceFacts,
    SettingsFacts,
)
from yaadwatch.system.clock import Clock

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the units of systemd")


@pytest.fixture
def home(environment, monkeypatch):
    monkeypatch.delenv("YAAD_HOME")
    return environment / "home"


@pytest.fixture
def manager(home):
    manager = FakeManager(unit_path=f"{home}/.config/systemd/user")
    install.install(
        install.World(
            home=home,
            environ=os.environ,
            client=FakeDaemon(manager),
            clock=Clock(),
            platform="linux",
            asking=manager,
        )
    )
    return manager


def told(home, manager):
    return service_state(home, os.environ, asking=manager)


def test_without_a_service_there_is_nothing_to_tell(home):
    assert told(home, FakeManager()) is None


def test_as_it_was_installed_it_stands(home, manager):
    assert told(home, manager) == ServiceFacts()


def test_a_unit_that_is_missing_is_told(home, manager):
    socket = home / ".config/systemd/user/yaadwatch.socket"
    socket.unlink()

    assert told(home, manager).missing == (str(socket),)


def test_a_service_of_another_data_folder_is_none_of_ours(home, manager, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(home / "other"))

    assert told(home, manager) is None


def test_a_service_that_was_stopped_or_cannot_be_reached_is_told(home, manager):
    manager.runs = False
    assert not told(home, manager).runs

    away = told(home, FakeManager())
    assert (away.is_reached, away.runs) == (False, False)


@pytest.mark.parametrize("program", ["/nowhere/yaadwatch", "/no where/it's \\ 100%/yaadwatch"])
def test_a_program_that_is_gone_is_told(home, manager, program):
    unit = home / ".config/systemd/user/yaadwatch.service"
    service = units.Service(program=(program,), socket="/s")
    unit.write_text(units.service_unit(service))

    assert told(home, manager).program == program


@pytest.mark.parametrize(
    ("service", "daemon", "said"),
    [
        (None, "answers", []),
        (ServiceFacts(), "answers", []),
        (ServiceFacts(is_reached=False, runs=False), "answers", []),
        (ServiceFacts(program="/x"), "answers", [("problem", "/x", "yaadwatch install")]),
        (ServiceFacts(missing=("/u",)), "answers", [("todo", "/u", "yaadwatch install")]),
        (ServiceFacts(runs=False), "absent", [("todo", "was stopped", "yaadwatch start")]),
        (ServiceFacts(runs=False), "answers", [("todo", "by itself", "yaadwatch restart")]),
    ],
)
def test_each_has_a_command_that_mends_it(service, daemon, said):
    facts = Facts(
        home=HomeFacts(path="/h", state="ok"),
        settings=SettingsFacts(path="/h/config.toml"),
        daemon=DaemonFacts(state=daemon),
        git="git version 2",
        hooks=HookFacts(path="/h/log"),
        service=service,
    )

    found = [one for one in diagnosis.diagnose(facts) if one.check == "service"]

    assert [(one.level, one.mend) for one in found] == [(level, mend) for level, _, mend in said]
    assert all(words in one.what for one, (_, words, _) in zip(found, said, strict=True))
