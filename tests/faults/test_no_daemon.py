"""No daemon can be had, and git perhaps neither: what is stored is read all the same."""

import io
import json
import os
import shutil
import signal

import pytest
from living_daemon import required

from yaadwatch import places
from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import Client, DaemonUnresponsive

QUESTION = "which rate is applied"


@pytest.fixture
def alone(machine, shop):
    """A shop with a flag, after its daemon was killed, where none can start again."""
    shop.edit(0, 7)
    shop.settles()
    machine.kill()
    run = places.default_socket().parent
    shutil.rmtree(run)
    run.touch()
    return shop


def stored(shop):
    """Return the bytes of the project's store, and of the log of what was written last."""
    files = sorted(shop.store.parent.glob("yaad.db*"))
    return {file.name: file.read_bytes() for file in files if not file.name.endswith("-shm")}


def said(*line):
    """Return the status, the output and the messages of a command that is run in this process."""
    terminal = Terminal(io.StringIO(), io.StringIO())
    status = run(list(line), terminal)
    return status, terminal.out.getvalue(), terminal.err.getvalue()


def test_reads_are_answered_from_the_stores_and_change_nothing_there(machine, alone, monkeypatch):
    before = stored(alone)
    for path in (None, "/nowhere"):
        with monkeypatch.context() as patch:
            patch.chdir(alone.root)
            if path is not None:
                patch.setenv("PATH", path)
            reads = [] if path else [["list"], ["sessions"], ["tasks"], ["impact", "."]]
            for command in (["recall", QUESTION], *reads, ["stale"]):
                status, out, err = said(*command, "--json")
                assert status in {0, 1}, (command, out, err)
                assert json.loads(out)["offline"] is True
                assert "No daemon can be started" in err
            (flag,) = json.loads(out)["stale"]
            assert flag["text"] in said("show", flag["id"])[1]
        assert stored(alone) == before
    _in_a_work_tree_that_no_daemon_saw(machine, alone)
    _in_our_words(machine, alone)
    _until_it_is_mended(machine, alone)


def _in_a_work_tree_that_no_daemon_saw(machine, alone):
    """No file is compared, and no copy of a store is left."""
    temporary, further = machine.folder / "tmp", machine.folder / "further"
    temporary.mkdir()
    env = {"TMPDIR": str(temporary)}
    before = sorted(places.data_folder().rglob("*.db"))
    alone.git("worktree", "add", "-q", "--detach", str(further))
    alone.edit(1, 7)

    recalled = machine.run("recall", QUESTION, "--json", cwd=further, env=env)
    stale = machine.run("stale", "--json", cwd=alone.root, env=env)

    assert (recalled.status, recalled.json["offline"]) == (0, True)
    assert recalled.json["results"]
    assert len(stale.json["stale"]) == 1
    assert stale.json["unchecked"] == "without the daemon the files were not compared"
    assert sorted(places.data_folder().rglob("*.db")) == before
    assert not (places.data_folder() / "spool").exists()
    assert list(temporary.iterdir()) == []


def _in_our_words(machine, alone):
    secret = "ghp_" + "aB3dE5fG7h" * 4

    missing = machine.run("show", secret, cwd=alone.root)
    senseless = machine.run("recall", QUESTION, "--min-score", "7", cwd=alone.root)

    assert missing.status == 1
    assert "[masked" in missing.err
    assert secret not in missing.err
    assert senseless.status == 2
    assert "Traceback" not in senseless.err


def _until_it_is_mended(machine, alone):
    """A write is refused with the reason; once a daemon runs, it answers."""
    refused = machine.run("remember", "Prices are in cents", cwd=alone.root)
    assert refused.status == 3
    assert "daemon" in refused.err

    places.default_socket().parent.unlink()
    machine.live()

    found = machine.run("recall", QUESTION, "--json", cwd=alone.root)
    assert found.json["results"]
    assert "offline" not in found.json
    assert found.err == ""


def test_beside_a_daemon_that_hangs_reads_are_answered_from_the_stores(machine, shop, monkeypatch):
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.01)
    monkeypatch.setattr("yaadwatch.client.connection.GREETING_TIME_S", 0.05)
    terminal = Terminal(io.StringIO(), io.StringIO())
    monkeypatch.chdir(shop.root)
    monkeypatch.setattr(
        "yaadwatch.client.autostart.start",
        lambda **_: pytest.fail("a second daemon was started"),
    )
    pid = machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        for line in (["recall", QUESTION, "--json"], ["list", "--json"]):
            assert run(line, terminal) == 0
        with pytest.raises(DaemonUnresponsive):
            Client(cwd=str(shop.root)).call("remember", text="no")
        assert run(["remember", "no"], terminal) == 3
    finally:
        os.kill(pid, signal.SIGCONT)

    answers = [json.loads(line) for line in terminal.out.getvalue().splitlines()]
    assert [one["offline"] for one in answers] == [True, True]
    assert terminal.err.getvalue().count("This is what the stores hold, without the daemon.") == 2


def test_what_commands_say_of_a_daemon_that_is_suspended_ends_with_what_mends_it(machine, shop):
    """Somebody pressed Ctrl-Z; each command waited for 20 s, and said that it cannot be started."""
    pid = machine.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        told = {
            name: machine.run(*name.split(), cwd=shop.root)
            for name in ("recall prices", "remember no", "status", "stop", "start", "restart")
        }
    finally:
        os.kill(pid, signal.SIGCONT)

    said = {name: " ".join((ran.out + ran.err).split()) for name, ran in told.items()}
    go_on = f"kill -CONT {pid}"
    suspended = f"The daemon (process {pid}) is suspended; nothing was done. Have it go on: {go_on}"
    assert told["recall prices"].status == 0
    assert "No daemon can be started" not in said["recall prices"]
    assert "This is what the stores hold, without the daemon." in said["recall prices"]
    assert suspended in said["recall prices"]
    assert told["remember no"].status == 3
    assert suspended in said["remember no"]
    assert said["status"].startswith("yaadwatch does not answer")
    assert f"Process {pid} is the daemon, and is suspended" in said["status"]
    assert f"fix: {go_on}" in said["status"]
    assert told["stop"].status == 3
    assert f"To end it: kill {pid}; {go_on}" in said["stop"]
    assert told["start"].status == 3
    assert suspended in said["start"]
    assert told["restart"].status == 3
    assert "does not answer; it was left alone" in said["restart"]
    assert f"To end it: kill {pid}; {go_on}" in said["restart"]


def test_settings_that_are_no_toml_are_told_and_what_is_stored_is_read(machine, shop):
    machine.stop()
    for content in (b"[watch\nquiet_ms = 10\n", b"\xff\xfe"):
        (places.data_folder() / "config.toml").write_bytes(content)

        ran = machine.run("recall", QUESTION, "--json", cwd=shop.root)

        assert (ran.status, ran.json["offline"]) == (0, True)
        assert "config.toml is not TOML" in ran.err


@pytest.mark.parametrize("command", [("remember", "Prices are integers."), ("recall", QUESTION)])
def test_in_the_home_of_another_user_nothing_is_written(machine, shop, command):
    """As `sudo` may leave root with: what root makes there, the owner could not use any more."""
    if os.geteuid() != 0:
        required("uid", "only root can give a folder away")
    machine.stop()
    home = machine.home / "yaad"
    for path in (home, *home.rglob("*")):
        os.chown(path, 65_534, 65_534)
    before = sorted(home.rglob("*"))

    ran = machine.run(*command, cwd=shop.root)

    assert "belongs to user 65534" in ran.err
    assert ran.status == 4
    assert sorted(home.rglob("*")) == before
