"""What `doctor` says of the service: as it was installed, gone, changed, stopped, out of reach."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from standing_in import FakeDaemon, FakeManager

from yaadwatch import places
from yaadwatch.install import install
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


def test_units_that_no_receipt_knows_are_told(home, manager):
    places.receipt().unlink()

    found = told(home, manager)

    unit = home / ".config/systemd/user/yaadwatch.service"
    assert found.unlisted == str(unit.with_suffix(".socket"))
    unit.with_suffix(".socket").write_text("mine")
    assert told(home, manager).unlisted == str(unit)
    unit.write_text("mine, too")
    assert told(home, manager) is None


def test_what_is_gone_or_changed_is_told(home, manager):
    folder = home / ".config" / "systemd" / "user"
    (folder / "yaadwatch.service").write_text("mine")
    (folder / "yaadwatch.socket").unlink()

    assert [Path(path).name for path in told(home, manager).altered] == [
        "yaadwatch.socket",
        "yaadwatch.service",
    ]


def test_a_masked_unit_is_told_as_one(home, manager):
    unit = home / ".config/systemd/user/yaadwatch.service"
    unit.unlink()
    unit.symlink_to("/dev/null")

    found = told(home, manager)

    assert (found.altered, found.masked) == ((), (str(unit),))


def test_a_service_that_was_stopped_or_cannot_be_reached_is_told(home, manager):
    manager.runs = False
    assert not told(home, manager).runs

    away = told(home, FakeManager())
    assert (away.is_reached, away.runs) == (False, False)


def test_a_program_that_is_gone_is_told(home, manager):
    from yaadwatch.install import plans

    plans.save(replace(plans.load(), program="/nowhere/yaadwatch"))

    assert told(home, manager).program == "/nowhere/yaadwatch"


@pytest.mark.parametrize(
    ("service", "daemon", "said"),
    [
        (None, "answers", []),
        (ServiceFacts(), "answers", []),
        (ServiceFacts(is_reached=False, runs=False), "answers", []),
        (ServiceFacts(program="/x"), "answers", [("problem", "/x", "yaadwatch install")]),
        (ServiceFacts(altered=("/u",)), "answers", [("todo", "/u", "yaadwatch install")]),
        (
            ServiceFacts(masked=("/u/yaadwatch.service",)),
            "answers",
            [("problem", "is masked", "systemctl --user unmask yaadwatch.service")],
        ),
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
