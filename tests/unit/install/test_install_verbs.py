"""Installing and removing: what is written, what is refused, and that nothing stays behind."""

import fcntl
import json
import os
import plistlib
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from refusals import refusal
from standing_in import FakeDaemon, FakeManager

from tests import answers
from yaadwatch import places
from yaadwatch.api.answers.shapes import Installed
from yaadwatch.client import presence
from yaadwatch.install import install, units
from yaadwatch.install.install import World
from yaadwatch.model.errors import Code


class Noon:
    def now(self):
        return datetime(2026, 11, 21, 12, tzinfo=UTC)


@pytest.fixture
def home(environment, monkeypatch):
    """A home in which nothing is, not even a folder for settings."""
    home = environment / "person"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.delenv("YAAD_HOME")
    return home


@pytest.fixture
def manager(home):
    return FakeManager(unit_path=f"{home}/.config/systemd/user /etc/systemd/user")


@pytest.fixture
def world(home, manager):
    return World(
        home=home,
        environ=os.environ,
        client=FakeDaemon(manager),
        clock=Noon(),
        platform="linux",
        asking=manager,
    )


@pytest.fixture
def mac(world):
    return replace(world, platform="darwin")


def tree(home):
    """All that is in `home` but our own folder: names, bytes, links."""
    found = {}
    for path in sorted(home.rglob("*")):
        if ".yaad" in path.relative_to(home).parts:
            continue
        found[str(path)] = (
            os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
        )
    return found


def unit(home):
    return home / ".config" / "systemd" / "user" / "yaadwatch.service"


@pytest.mark.parametrize("kind", ["world", "mac"])
def test_removing_leaves_the_home_as_it_was(request, home, kind):
    world = request.getfixturevalue(kind)
    (home / "Library").mkdir()
    (home / "notes").write_text("mine")
    before = tree(home)

    installed = answers.check_command(Installed, install.install(world))
    assert installed["state"] == "installed"
    assert all(Path(row["path"]).is_relative_to(home) for row in installed["files"])
    assert tree(home) != before
    removed = answers.check_command(Installed, install.uninstall(world))

    assert tree(home) == before
    assert {row["change"] for row in removed["files"]} == {"removed"}
    assert not places.receipt().exists()
    assert install.uninstall(world)["state"] == "absent"


@pytest.mark.parametrize("kind", ["world", "mac"])
def test_doing_it_twice_changes_nothing(request, home, manager, kind):
    world = request.getfixturevalue(kind)
    install.install(world)
    before = tree(home), places.receipt().read_bytes()
    manager.told.clear()

    again = install.install(world)

    assert again["state"] == "unchanged"
    assert (tree(home), places.receipt().read_bytes()) == before
    assert {what[0] for what in manager.told} <= {"start", "kickstart"}


@pytest.mark.parametrize("kind", ["world", "mac"])
def test_a_dry_run_writes_nothing_and_asks_for_nothing(request, home, manager, kind):
    world = request.getfixturevalue(kind)

    answer = install.install(world, dry_run=True)

    assert [*home.iterdir()] == []
    assert manager.told == []
    assert [row["change"] for row in answer["files"]] == ["created"] * len(answer["files"])
    assert any("daemon --supervised" in row.get("diff", "") for row in answer["files"]) or (
        "--supervised" in answer["files"][0]["diff"]
    )


def test_under_launchd_the_agent_is_loaded_and_unloaded(mac, home, manager):
    install.install(mac)
    plist = home / "Library" / "LaunchAgents" / "dev.yaadwatch.daemon.plist"
    said = plistlib.loads(plist.read_bytes())

    assert said["ProgramArguments"][-2:] == ["daemon", "--supervised"]
    assert Path(said["ProgramArguments"][0]).is_absolute()
    domain = f"gui/{os.getuid()}"
    assert manager.told == [("bootstrap", domain, str(plist))]
    install.restart(mac)
    assert manager.told[-1] == ("kickstart", "-k", f"{domain}/dev.yaadwatch.daemon")
    install.uninstall(mac)
    assert manager.told[-1] == ("bootout", f"{domain}/dev.yaadwatch.daemon")


def test_where_no_manager_runs_nothing_is_written(world, home, monkeypatch):
    started = []
    monkeypatch.setattr("yaadwatch.client.autostart.start", lambda: started.append(True))
    nobody = FakeManager(runs=True)
    world = replace(world, asking=nobody, client=FakeDaemon(nobody))

    answer = install.install(world)

    assert answer["state"] == "on_demand"
    assert "No medium found" in answer["why"]
    assert answer["daemon"]["running"]
    assert started == [True]
    assert tree(home) == {}


@pytest.mark.parametrize("what", ["file", "link", "folder"])
def test_what_is_not_ours_is_left_alone(world, home, what):
    path = unit(home)
    path.parent.mkdir(parents=True)
    if what == "file":
        path.write_text("[Service]\nExecStart=/usr/bin/other\n")
    elif what == "link":
        path.symlink_to("/elsewhere")
    else:
        path.mkdir()
    before = tree(home)

    said = refusal(install.install, world)

    assert said.code is Code.REFUSED
    assert str(path) in said.message
    assert "Move it away" in said.hint
    assert tree(home) == before


def test_a_masked_unit_is_left_alone_with_the_command_that_unmasks_it(world, home):
    path = unit(home)
    path.parent.mkdir(parents=True)
    path.symlink_to("/dev/null")
    before = tree(home)

    said = refusal(install.install, world)

    assert said.code is Code.REFUSED
    assert f"{path} is masked" in said.message
    assert said.hint.startswith("systemctl --user unmask yaadwatch.service")
    assert tree(home) == before


def test_a_unit_that_is_masked_elsewhere_is_told_with_the_command_that_unmasks_it(world, manager):
    """`systemctl --user mask --runtime` puts its link into another folder."""
    manager.masked = ("yaadwatch.socket",)

    said = refusal(install.install, world)

    assert said.code is Code.UNAVAILABLE
    assert "Unit yaadwatch.socket is masked" in said.message
    assert said.hint.startswith("systemctl --user unmask yaadwatch.socket")


def test_units_of_ours_without_a_receipt_are_taken_over(world, home):
    install.install(world)
    places.receipt().unlink()
    unit(home).write_text(unit(home).read_text() + "# of an older version\n")

    assert install.install(world)["state"] == "installed"
    install.uninstall(world)

    assert not unit(home).exists()


def test_units_of_ours_without_a_receipt_are_not_said_to_be_none(world, home):
    install.install(world)
    places.receipt().unlink()
    before = tree(home)

    for dry_run in (True, False):
        error = refusal(install.uninstall, world, dry_run=dry_run)
        assert error.code is Code.REFUSED
        assert "no receipt says so" in error.message
        assert error.hint.endswith("yaadwatch install && yaadwatch uninstall")
    assert tree(home) == before


def test_a_unit_that_a_person_changed_is_kept_before_it_is_rewritten(world, home):
    install.install(world)
    theirs = unit(home).read_text().replace("Nice=5", "Nice=0")
    unit(home).write_text(theirs)

    rows = install.install(world)["files"]

    (changed,) = [row for row in rows if row["change"] == "changed"]
    assert Path(changed["backup"]).read_text() == theirs
    assert "Nice=5" in unit(home).read_text()


def test_a_unit_that_a_person_changed_is_not_removed(world, home):
    install.install(world)
    unit(home).write_text("mine now\n")

    rows = install.uninstall(world)["files"]

    assert [row["path"] for row in rows if row["change"] == "kept"] == [str(unit(home))]
    assert unit(home).read_text() == "mine now\n"
    assert [path.name for path in unit(home).parent.iterdir()] == ["yaadwatch.service"]


def test_an_installation_that_was_cut_off_can_be_taken_back(world, home):
    """The receipt is written first; what could not be made was simply not made."""
    blocked = unit(home).parent / "default.target.wants"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")
    before = tree(home)

    said = refusal(install.install, world)
    assert said.code is Code.UNAVAILABLE
    assert unit(home).exists()
    install.uninstall(world)

    assert tree(home) == before


def test_a_manager_that_does_not_obey_is_told_with_its_words(world, manager):
    manager.broken = ("daemon-reload",)

    said = refusal(install.install, world)

    assert said.code is Code.UNAVAILABLE
    assert "`systemctl --user daemon-reload` did not succeed: See the journal" in said.message
    assert "is installed, and does not run" in said.message


def test_what_others_wrote_on_the_receipt_stays(world):
    places.data_folder().mkdir(mode=0o700)
    places.receipt().write_text('{"connections": [1]}')

    install.install(world)
    assert json.loads(places.receipt().read_bytes())["connections"] == [1]
    install.uninstall(world)

    assert json.loads(places.receipt().read_bytes()) == {"connections": [1]}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        '{"service": 1}',
        '{"service": {"manager": "x"}}',
        '{"service": {"manager": "systemd", "folder": "/x", "written": ["a"]}}',
        '{"service": {"manager": "systemd", "folder": null, "written": {}}}',
        '{"service": {"manager": "systemd", "folder": "/x", "written": {"/x/y": 3}}}',
        '{"service": {"manager": "systemd", "folder": "/x", "written": {}, "folders": 3}}',
        "\xff",
    ],
)
def test_a_receipt_that_makes_no_sense_is_told_and_nothing_is_written(world, home, text):
    places.data_folder().mkdir(mode=0o700)
    places.receipt().write_text(text, encoding="latin-1")

    for verb in (install.install, install.uninstall):
        assert "receipt.json cannot be read" in refusal(verb, world).message
    assert tree(home) == {}


def test_a_home_of_its_own_stands_in_the_unit(world, home, monkeypatch, environment):
    monkeypatch.setenv("YAAD_HOME", str(environment / "y"))

    install.install(world)

    assert f"Environment=YAAD_HOME={environment}/y\n" in unit(home).read_text()
    socket = unit(home).with_name("yaadwatch.socket").read_text()
    assert f"ListenStream={environment}/y/run/daemon.sock\n" in socket


@pytest.mark.parametrize("kind", ["world", "mac"])
def test_a_trial_in_another_home_leaves_the_service_alone(
    request, home, manager, monkeypatch, environment, kind
):
    world = request.getfixturevalue(kind)
    install.install(world)
    before = tree(home)
    manager.told.clear()
    monkeypatch.setenv("YAAD_HOME", str(environment / "trial"))

    said = refusal(install.install, world)

    assert said.code is Code.REFUSED
    assert f"for {home}/.yaad, not for {environment}/trial" in said.message
    assert "env -u YAAD_HOME yaadwatch uninstall" in said.hint
    assert install.uninstall(world)["state"] == "absent"
    assert (tree(home), manager.told) == (before, [])


@pytest.mark.parametrize("kind", ["world", "mac"])
def test_the_service_of_a_home_of_its_own_is_not_taken_by_another(
    request, home, manager, monkeypatch, environment, kind
):
    world = request.getfixturevalue(kind)
    own = environment / 'a "b" 100%'
    monkeypatch.setenv("YAAD_HOME", str(own))
    install.install(world)
    before = tree(home)
    monkeypatch.delenv("YAAD_HOME")

    said = refusal(install.install, world)

    assert str(own) in said.message
    assert f"YAAD_HOME='{own}' yaadwatch uninstall" in said.hint
    assert tree(home) == before


def test_with_a_copied_receipt_the_service_is_neither_started_nor_stopped(
    world, home, manager, monkeypatch, environment
):
    """It is the other home's; this one has a daemon of its own, or none."""
    install.install(world)
    shutil.copytree(places.data_folder(), environment / "copy")
    monkeypatch.setenv("YAAD_HOME", str(environment / "copy"))
    manager.told.clear()
    started = []
    monkeypatch.setattr(install.autostart, "start", lambda: started.append("by itself"))

    assert presence.manager() is None
    assert install.stop(world) is None
    assert install.start(world)["by"] is None

    assert (manager.told, started) == ([], ["by itself"])


def test_a_trial_with_another_home_and_the_real_folder_of_settings_takes_nothing(
    world, home, manager, monkeypatch, environment
):
    """The units would be found, and run for the home of the login."""
    manager.home = str(home)
    install.install(world)
    before = tree(home)
    manager.told.clear()
    trial = environment / "trial"
    trial.mkdir()
    monkeypatch.setenv("HOME", str(trial))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))

    monkeypatch.setattr("yaadwatch.client.autostart.start", lambda: None)
    answer = install.install(replace(world, home=trial))

    assert answer["state"] == "on_demand"
    assert f"runs services for {home}, not for {trial}" in answer["why"]
    assert install.uninstall(replace(world, home=trial))["state"] == "absent"
    assert install.stop(replace(world, home=trial)) is None
    assert (tree(home), manager.told) == (before, [])


def test_where_the_manager_does_not_look_nothing_is_written_and_nothing_stopped(
    world, home, manager, monkeypatch
):
    manager.unit_path = "/home/ada/.config/systemd/user /etc/systemd/user"

    manager.runs = True
    monkeypatch.setattr("yaadwatch.client.autostart.start", lambda: None)

    answer = install.install(world)

    assert answer["state"] == "on_demand"
    assert f"no units below {home}" in answer["why"]
    assert tree(home) == {}
    assert manager.told == []


def test_where_the_manager_is_out_of_reach_the_daemon_is_started_without_it(world, monkeypatch):
    """In a container that shares the home there is a receipt, and no manager."""
    install.install(world)
    started = []
    outside = FakeManager(runs=True)
    monkeypatch.setattr("yaadwatch.client.autostart.start", lambda: started.append(True))
    world = replace(world, asking=outside, client=Ending(outside, started))

    assert install.start(world)["by"] is None
    assert install.restart(world)["by"] is None

    assert started == [True, "shutdown", True]
    assert outside.told == []


class Ending(FakeDaemon):
    """A client of a daemon that notes that it was told to end."""

    def __init__(self, manager, noted):
        super().__init__(manager)
        self._noted = noted

    def call(self, operation, /, **fields):
        if operation == "shutdown":
            self._noted.append(operation)
            return {}
        return super().call(operation, **fields)


@pytest.mark.parametrize("ours", [False, True])
def test_removing_waits_for_the_process_of_the_service_and_for_no_other(
    world, home, manager, monkeypatch, ours
):
    monkeypatch.setattr(install, "STOP_TIME_S", 0.1)
    install.install(world)
    manager.main_pid = 4711 if ours else 0
    with open(places.lock_file(), "w") as lock:
        lock.write("4711\n/x\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        if ours:
            assert "has not ended" in refusal(install.uninstall, world).message
        else:
            assert install.uninstall(world)["state"] == "removed"

    assert unit(home).exists() is ours


def test_a_socket_that_no_kernel_takes_is_refused(world, home, monkeypatch, environment):
    monkeypatch.setenv("YAAD_HOME", str(environment / ("y" * 100)))

    assert "shorter path" in refusal(install.install, world).hint
    assert tree(home) == {}


class TestProgram:
    """Which command stands in the unit."""

    @pytest.fixture
    def tool(self, tmp_path):
        folder = tmp_path / "tools" / "bin"
        folder.mkdir(parents=True)
        for name in ("python", "yaadwatch"):
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        return folder

    def test_the_name_on_path_stays_when_the_program_is_upgraded(self, tool, tmp_path):
        link = tmp_path / "local" / "yaadwatch"
        link.parent.mkdir()
        link.symlink_to(tool / "yaadwatch")

        found = install.installed({"PATH": str(link.parent)}, python=str(tool / "python"))

        assert found == (str(link),)

    def test_another_program_of_that_name_is_not_taken(self, tool, tmp_path):
        other = tmp_path / "local" / "yaadwatch"
        other.parent.mkdir()
        other.write_text("#!/bin/sh\n")
        other.chmod(0o755)

        found = install.installed({"PATH": str(other.parent)}, python=str(tool / "python"))

        assert found == (str(tool / "yaadwatch"),)

    def test_what_lies_in_a_cache_is_refused(self, tool, tmp_path):
        for name in ("UV_CACHE_DIR", "XDG_CACHE_HOME"):
            environ = {"PATH": "", name: str(tmp_path / "tools")}
            said = refusal(install.installed, environ, python=str(tool / "python"))
            assert said.code is Code.REFUSED
            assert "uv tool install" in said.hint

    def test_git_is_found_where_this_person_has_it(self, tool):
        (tool / "git").write_text("#!/bin/sh\n")
        (tool / "git").chmod(0o755)

        assert install.folders({"PATH": str(tool)}, units.PATHS) == (str(tool), *units.PATHS)
        assert install.folders({"PATH": ""}, units.PATHS) == units.PATHS
