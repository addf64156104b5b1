"""The doctor on a machine where things went wrong: what it says mends it is done, by a shell."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from machine import wait_until
from npm_agents import CODEX, needs_agents

from tests import answers
from yaadwatch.api.answers.shapes import Examined

RULE = "Always use jose for tokens"


@pytest.fixture
def watched(machine, checkout):
    machine.ask("add", checkout.root, "--mode", "read")
    machine.ask("remember", RULE, cwd=checkout.root)
    return checkout


def doctor(machine, **more):
    """Return what it finds, and its exit status."""
    ran = machine.run("doctor", "--json", **more)
    return answers.check_command(Examined, ran.json), ran.status


def problems(machine):
    return [one for one in doctor(machine)[0]["findings"] if one["level"] == "problem"]


def mend(machine, checkout, command):
    """Type what the doctor says, as a person would."""
    folder = machine.home / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "yaadwatch"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m yaadwatch "$@"\n')
    program.chmod(0o700)
    env = machine.env | {"PATH": f"{folder}:{machine.env['PATH']}"}
    done = subprocess.run(
        command, shell=True, env=env, cwd=checkout.root, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, (command, done)


def empty(path):
    """Leave nothing of a store but its name, as a disk that was full may."""
    for file in path.parent.glob(f"{path.name}*"):
        file.unlink()
    path.touch(0o600)


def damage(path):
    """Write nonsense over the middle of a database."""
    size = path.stat().st_size
    with path.open("r+b") as stream:
        stream.seek(4096)
        stream.write(b"\x5a" * (size - 4096))


def files(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_daemon_that_runs_is_well_or_suspended_or_its_hook_told_nothing(machine, watched):
    answer, status = doctor(machine)
    assert (answer["sound"], answer["findings"], status) == (True, [], 0)
    assert "No problems found." in machine.run("doctor").out

    pid = machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        wait_until(lambda: "T" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2])
        (found,) = problems(machine)
    finally:
        os.kill(pid, signal.SIGCONT)
    assert found["check"] == "daemon"
    assert f"Process {pid} is the daemon, and is suspended" in found["what"]
    assert found["mend"] == f"kill -CONT {pid}"

    wrong = ("hook", "session-start", "--agent", "claude")
    wait_until(lambda: "not JSON" in machine.run(*wrong, given="nonsense").err)
    (found,) = problems(machine)
    assert found["check"] == "hooks"
    assert "1 failed, the last: " in found["what"]
    assert "the payload is not JSON" in found["what"]


def test_a_daemon_that_does_not_run_is_started_by_what_it_says_and_by_nothing_else(
    machine, watched, monkeypatch
):
    for end in (lambda: machine.run("stop"), machine.kill):
        end()
        before = files(machine.home)
        (found,) = problems(machine)
        assert (found["check"], doctor(machine)[1]) == ("daemon", 1)
        # The index of a log that was left behind is a cache of SQLite's, and no data.
        after = {path: data for path, data in files(machine.home).items() if not is_index(path)}
        assert after == {path: data for path, data in before.items() if not is_index(path)}
        with held_by_a_manager(machine, monkeypatch) as held:
            assert [one["check"] for one in problems(machine)] == ["daemon"]
            with pytest.raises(BlockingIOError):
                held.accept()
        assert machine.pid() is None

        mend(machine, watched, found["mend"])

        assert problems(machine) == []


def is_index(path):
    return path.suffix == ".db-shm"


@contextlib.contextmanager
def held_by_a_manager(machine, monkeypatch):
    """Have the socket listen, as a service manager does: a connection starts a daemon."""
    folder = Path(machine.env["YAAD_HOME"]) / "run"
    folder.mkdir(mode=0o700, exist_ok=True)
    (folder / "daemon.sock").unlink(missing_ok=True)
    with monkeypatch.context() as patch, socket.socket(socket.AF_UNIX) as held:
        patch.chdir(folder)  # the path of the folder may be longer than an address can be
        held.bind("daemon.sock")
        held.listen()
        held.setblocking(False)
        yield held
    (folder / "daemon.sock").unlink()


def test_where_nothing_was_ever_done_it_writes_nothing(machine):
    before = files(machine.home)

    answer, status = doctor(machine)

    assert (answer["sound"], status) == (True, 0)
    assert [one["mend"] for one in answer["findings"]] == ["yaadwatch add ."]
    assert files(machine.home) == before


def store_of(machine, checkout):
    named = checkout.git("config", "--local", "yaad.project").strip()
    return Path(machine.env["YAAD_HOME"]) / "projects" / named / "yaad.db"


def test_a_damaged_store_of_a_project_comes_back_from_its_copy(machine, watched):
    machine.ask("backup", cwd=watched.root)
    machine.run("stop")
    damage(store_of(machine, watched))

    found = problems(machine)
    assert [one["check"] for one in found] == ["stores", "daemon"]
    assert "is damaged" in found[0]["what"]
    mend(machine, watched, found[0]["mend"])

    assert problems(machine) == []
    answer = machine.ask("recall", "jose", cwd=watched.root)
    assert RULE in [one["text"] for one in answer["results"]]


@pytest.mark.parametrize(("harm", "with_copy"), [(damage, True), (empty, False)])
def test_a_damaged_list_of_projects_comes_back(machine, watched, with_copy, harm):
    """From its copy, or by adding each repository again: what it remembers is in its own store."""
    if with_copy:
        machine.ask("backup", "--user")
    machine.run("stop")
    home = Path(machine.env["YAAD_HOME"])
    harm(home / "yaad.db")
    if not with_copy:
        shutil.rmtree(home / "backups" / "user")  # it was made when the daemon stopped

    found = problems(machine)
    assert [one["check"] for one in found] == ["stores", "daemon", "doctor"][: 3 - with_copy]
    assert ("yaadwatch add --adopt" in (found[0]["advice"] or "")) is not with_copy
    mend(machine, watched, found[0]["mend"])
    if not with_copy:
        mend(machine, watched, "yaadwatch add --adopt")
    else:
        (told,) = problems(machine)
        assert "was restored from the copy" in told["what"]
        mend(machine, watched, told["advice"].partition(",")[0])

    assert problems(machine) == []
    answer = machine.ask("recall", "jose", cwd=watched.root)
    assert RULE in [one["text"] for one in answer["results"]]


def test_what_cannot_be_read_and_a_repository_that_is_gone_are_all_told(machine, watched):
    machine.run("stop")
    watched.root.rename(watched.root.with_name("elsewhere"))

    found = problems(machine)
    assert found[0]["what"] == f"{watched.root} is not there any more."
    assert f"yaadwatch remove {watched.root}" in found[0]["mend"]

    watched.root.with_name("elsewhere").rename(watched.root)
    store = store_of(machine, watched)
    store.write_bytes(b"nonsense" * 1000)
    home = Path(machine.env["YAAD_HOME"])
    (home / "config.toml").write_text("nonsense")
    ran = machine.run("doctor")
    said = " ".join(ran.out.split())
    assert ran.status == 1
    assert "3 problems found" in said
    assert f"{home}/config.toml is not TOML" in said
    assert f"{store} is damaged: file is not a database" in said


def test_what_is_written_for_an_agent_and_is_so_no_more_is_written_again(machine, watched):
    (machine.home / ".claude").mkdir()
    assert doctor(machine)[0]["agents"][0]["state"] == "unconnected"
    machine.ask("connect", "claude")
    assert doctor(machine)[0]["agents"][0]["state"] == "connected"
    settings = machine.home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("session-start", "session-stop"))

    (found,) = problems(machine)
    assert str(settings) in found["what"]
    mend(machine, watched, found["mend"])

    assert problems(machine) == []


@pytest.mark.timeout(300)
@pytest.mark.xdist_group("agents")
def test_what_stands_where_a_log_should_be_is_told_and_not_read(machine, watched):
    machine.run("stop")
    logs = machine.home / "yaad" / "log"
    for name in ("daemon.log", "hook.log", "start.log"):
        (logs / name).unlink(missing_ok=True)
    (logs / "daemon.log").mkdir()
    os.mkfifo(logs / "hook.log")
    (logs / "start.log").symlink_to("daemon.log")

    told = [one for one in problems(machine) if one["check"] == "logs"]
    for one in told:
        mend(machine, watched, one["mend"])

    assert [one["what"].partition(" is ")[0] for one in told] == [
        str(logs / name) for name in ("daemon.log", "start.log", "hook.log")
    ]
    assert [one for one in problems(machine) if one["check"] == "logs"] == []


@needs_agents
def test_whether_codex_trusts_our_hooks_is_what_codex_says(machine, watched):
    """A person's answer is put where Codex puts it, with the hash that Codex itself tells."""
    program = CODEX.path()
    machine.ask("connect", "codex")
    home = machine.home / ".codex"
    settings, hooks = home / "config.toml", home / "hooks.json"
    connected = settings.read_text()

    def by_codex():
        listed = _hooks(program, machine, watched)
        return {one["key"].split(":")[1]: one["trustStatus"] for one in listed}

    def todo():
        return doctor(machine)[0]["agents"][0]["todo"]

    assert set(by_codex().values()) == {"untrusted"}
    assert "SessionStart, UserPromptSubmit, PostToolUse, SessionEnd" in todo()
    approved = "".join(
        f'\n[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n'
        for one in _hooks(program, machine, watched)
    )
    settings.write_text(connected + approved)
    assert set(by_codex().values()) == {"trusted"}
    assert todo() is None
    assert "todo" not in machine.ask("connect", "codex")["agents"][0]
    assert tomllib.loads(settings.read_text())["hooks"]["state"].keys() == {
        one["key"] for one in _hooks(program, machine, watched)
    }

    hooks.write_text(hooks.read_text().replace('"timeout": 5', '"timeout": 6', 1))
    assert by_codex() == dict.fromkeys(by_codex(), "trusted") | {"session_start": "modified"}
    assert doctor(machine)[0]["agents"][0]["state"] == "outdated"
    machine.ask("connect", "codex")
    assert todo() is None


def _hooks(program, machine, checkout):
    """Ask Codex which hooks it knows of, and whether it trusts them."""
    asked = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "t", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(checkout.root)]}},
    ]
    with subprocess.Popen(
        [program, "app-server"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={"HOME": str(machine.home), "PATH": machine.env["PATH"]},
    ) as codex:
        try:
            codex.stdin.write("".join(json.dumps(one) + "\n" for one in asked).encode())
            codex.stdin.flush()
            answers = map(json.loads, codex.stdout)
            found = next(one for one in answers if one.get("id") == 2)
        finally:
            codex.kill()
    return found["result"]["data"][0]["hooks"]


def test_it_needs_no_home_to_say_what_is_missing(machine):
    ran = machine.run("doctor", env={"YAAD_HOME": "~nobody-of-that-name/yaad"})

    assert ran.status == 5
    assert "YAAD_HOME" in ran.err


@pytest.mark.parametrize("above", ["file", "closed"])
def test_a_home_that_cannot_be_made_is_told(machine, tmp_path, above):
    """No problems were found where no command could do anything."""
    place = tmp_path / "above"
    if above == "file":
        place.touch()
    elif os.geteuid() == 0:
        pytest.skip("nothing is closed to root")
    else:
        place.mkdir(0o500)

    found, status = doctor(machine, env={"YAAD_HOME": f"{place}/deep/yaad"})

    (told,) = [one for one in found["findings"] if one["check"] == "home"]
    assert (status, told["level"], told["mend"]) == (1, "problem", None)
    assert told["what"] == f"{place}/deep/yaad is not there, and cannot be made in {place}."
    assert "YAAD_HOME" in told["advice"]


def test_a_git_that_does_not_answer_is_told_as_one(machine):
    """It was said to be missing, and that git be installed."""
    folder = machine.home / "slow"
    folder.mkdir()
    git = folder / "git"
    git.write_text("#!/bin/sh\nexec sleep 600\n")
    git.chmod(0o700)

    found, _ = doctor(machine, env={"PATH": f"{folder}:{machine.env['PATH']}"})

    (told,) = [one for one in found["findings"] if one["check"] == "git"]
    assert told["what"].startswith(f"{git} does not answer")
    assert "Install" not in told["advice"]
