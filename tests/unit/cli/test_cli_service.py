"""What a person sees of the service: install, uninstall, start, restart, logs."""

import json
import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest
from recording import command

from yaadwatch import places
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.install import install
from yaadwatch.system.clock import Clock

sys.path.append(str(Path(__file__).parents[1] / "install"))
from standing_in import FakeDaemon, FakeManager


@pytest.fixture
def manager(environment, monkeypatch):
    """A machine whose manager obeys; nothing on it is real but the files."""
    home = environment / "home"
    manager = FakeManager(unit_path=f"{home}/.config/systemd/user")
    monkeypatch.delenv("YAAD_HOME")

    def world(client):
        return install.World(
            home=home,
            environ=os.environ,
            client=FakeDaemon(manager),
            clock=Clock(),
            platform="linux",
            asking=manager,
        )

    monkeypatch.setattr(install, "this_machine", world)
    return manager


def test_install_says_what_was_written_that_it_runs_and_how_to_undo_it(manager):
    ran = command("install")

    assert ran.status == 0
    assert ran.lines[0] == "The service is installed (systemd)"
    assert "  created  ~/.config/systemd/user/yaadwatch.service" in ran.lines
    assert ran.lines[-2:] == [
        "The daemon answers (pid 4711, version 0.1.0).",
        "See: yaadwatch status, yaadwatch logs    Undo: yaadwatch uninstall",
    ]
    assert command("install").lines[0] == "The service is installed already (systemd)"


def test_uninstall_says_what_went_and_what_stays(manager):
    command("install")
    dry = command("uninstall", "--dry-run")
    ran = command("uninstall")

    assert dry.lines[0] == "The service would be removed (systemd)"
    assert dry.lines[-1] == "Nothing was removed."
    assert "  removed  ~/.config/systemd/user/yaadwatch.socket" in ran.lines
    assert ran.lines[-1].startswith("Your memories and settings stay.")
    assert command("uninstall").lines == ["No service is installed; nothing was done."]


def test_without_a_manager_it_is_said_what_happens_instead(manager, monkeypatch):
    monkeypatch.setattr("yaadwatch.client.autostart.start", lambda: None)
    manager.unit_path, manager.runs = "", True

    ran = command("install")

    assert ran.status == 0
    assert ran.lines[0].startswith("No service manager runs here: no systemd runs for this user")
    assert ran.lines[1].startswith("Nothing was written. Commands and agents start the daemon")


def test_stop_asks_the_manager_also_when_no_daemon_has_come_up(manager):
    """A service that cannot start holds no lock, and is started again and again."""
    command("install")
    manager.told.clear()

    ran = command("stop", answers={"shutdown": DaemonNotRunning()})

    assert manager.told == [("stop", "yaadwatch.socket", "yaadwatch.service")]
    assert ran.lines == ["No daemon is running. Its service was stopped, too."]


class TestLogs:
    """The log, read without a daemon."""

    @pytest.fixture(autouse=True)
    def home(self, environment):
        places.log_file().parent.mkdir(parents=True, exist_ok=True)

    def entry(self, event, level="info", **fields):
        at = datetime(2026, 11, 21, 12, tzinfo=UTC).isoformat().replace("+00:00", "Z")
        line = {"at": at, "level": level, "event": event, "where": "yaadwatch.x"} | fields
        return json.dumps(line) + "\n"

    def write(self, *entries, number=0):
        path = places.log_file()
        path = path.with_name(f"{path.name}.{number}") if number else path
        path.write_text("".join(entries))

    def test_the_last_lines_are_told_with_their_fields(self):
        self.write(*(self.entry(f"event.{number}", number=number) for number in range(60)))

        ran = command("logs")

        assert len(ran.lines) == 50
        assert ran.lines[-1].endswith("info    event.59  number: 59")
        assert "where" not in ran.out
        assert command("logs", "--lines", "2").lines == ran.lines[-2:]

    def test_lines_before_the_log_began_anew_are_told_too(self):
        self.write(self.entry("older"), number=1)
        self.write(self.entry("newer"))

        assert [line.split()[-1] for line in command("logs").lines] == ["older", "newer"]
        assert len(command("logs", "-n", "1").lines) == 1

    @pytest.mark.parametrize(
        "odd",
        [
            '{"at": "2026-11-23T20:37:04.000Z", "event": "half',
            '{"at": "yesterday", "event": "x"}',
            '{"at": 3, "event": null}',
            '{"event": "x"}',
            "[1]",
            "\N{PILE OF POO}",
        ],
    )
    def test_a_line_that_is_none_of_ours_is_shown_as_it_is(self, odd):
        self.write(self.entry("fine"), odd + "\n", self.entry("good"))

        lines = command("logs").lines

        assert lines[0].endswith("fine")
        assert odd in lines[1]
        assert lines[-1].endswith("good")

    @pytest.mark.parametrize("make", [Path.mkdir, lambda path: path.symlink_to("/etc/passwd")])
    def test_what_is_no_file_is_not_read_and_told(self, make):
        places.log_file().parent.mkdir(parents=True, exist_ok=True)
        make(places.log_file())

        for more in ([], ["--follow"]):
            ran = command("logs", *more)
            assert (ran.status, ran.out) == (3, "")
            said = " ".join(ran.err.split())
            assert "it is no plain file" in said
            assert said.endswith(": yaadwatch restart")

    def test_what_matters_less_is_left_out(self):
        self.write(self.entry("fine"), self.entry("odd", "warning"), self.entry("bad", "error"))

        assert [line.split()[-1] for line in command("logs", "--level", "warning").lines] == [
            "odd",
            "bad",
        ]

    def test_what_a_start_complained_of_is_told(self):
        places.start_log().write_text("yaadwatch: config.toml: watch.quiet_ms must be less\n")

        ran = command("logs")

        assert ran.lines[0].startswith("The log has no such lines")
        assert ran.lines[-1] == "  yaadwatch: config.toml: watch.quiet_ms must be less"

    def test_what_comes_is_told_also_when_the_log_begins_anew(self, monkeypatch):
        from yaadwatch.cli import logs

        path = places.log_file()
        monkeypatch.setattr(logs, "_PAUSE_S", 0.01)
        self.write(self.entry("before"))
        found = []
        seen = threading.Event()

        def follow():
            for line in logs._following(path):
                found.append(json.loads(line)["event"])
                seen.set()
                if len(found) == 3:
                    return

        following = threading.Thread(target=follow)
        following.start()

        def add(event):
            seen.clear()
            while not seen.wait(0.2):
                with path.open("a") as stream:
                    if not found or found[-1] != event:
                        stream.write(self.entry(event))

        add("first")
        path.rename(path.with_name("daemon.log.1"))
        add("second")
        while following.is_alive():
            with path.open("a") as stream:
                stream.write(self.entry("second"))
            following.join(0.05)
        assert found[0] == "first"
        assert found[-1] == "second"
