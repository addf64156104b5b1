"""Starting the daemon in the background, with a stand-in that keeps the same manners."""

import contextlib
import fcntl
import os
import stat
import sys
import threading
import time
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch import places
from yaadwatch.client import autostart
from yaadwatch.client.connection import Client, DaemonNotRunning
from yaadwatch.client.presence import daemon_holds_lock, wait_for_exit
from yaadwatch.model.errors import Code, YaadError

SMALL_DAEMON = (sys.executable, str(Path(__file__).with_name("small_daemon.py")))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "yaad"))
    yield tmp_path / "yaad"
    with contextlib.suppress(DaemonNotRunning), contextlib.closing(Client(cwd="/")) as client:
        client.call("shutdown")
    assert wait_for_exit(20)


def starting_client(**options):
    return Client(cwd="/", start=lambda: autostart.start(SMALL_DAEMON, **options))


def test_a_client_that_finds_no_daemon_starts_one_and_gets_its_answer(home):
    with contextlib.closing(starting_client()) as client:
        answer = client.call("status")

        assert answer["daemon"]["pid"] == client.pid != os.getpid()
    assert daemon_holds_lock()
    assert places.announced_pid() == client.pid


def test_the_daemon_has_a_session_a_folder_and_an_environment_of_its_own(home, monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "not its business")
    monkeypatch.setenv("PYTHONPATH", "/nowhere")
    monkeypatch.setenv("LC_TIME", "C")

    with contextlib.closing(starting_client()) as client:
        answer = client.call("status")

    assert answer["folder"] == "/"
    assert answer["leads_session"]
    assert {"YAAD_HOME", "LC_TIME"} <= set(answer["environment"])
    assert not {"AWS_SECRET_ACCESS_KEY", "PYTHONPATH"} & set(answer["environment"])


def test_a_home_that_is_named_relative_to_our_folder_is_the_daemons_too(home, monkeypatch):
    """It works in another folder, and would make a home of its own there."""
    monkeypatch.chdir(home.parent)
    monkeypatch.setenv("YAAD_HOME", "yaad")

    with contextlib.closing(starting_client()) as client:
        assert client.call("status")["daemon"]["pid"] == client.pid

    assert places.lock_file() == home / "daemon.lock"
    assert daemon_holds_lock()


def test_the_log_and_every_folder_are_for_their_owner_alone(home):
    with contextlib.closing(starting_client()) as client:
        client.call("status")

    assert stat.S_IMODE(places.start_log().stat().st_mode) == 0o600
    for folder in (home, places.start_log().parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_daemon_that_is_just_ending_is_followed_by_a_new_one(home):
    """The lock is still held, nobody answers: the one started now ends at once, the next stays."""
    home.mkdir(mode=0o700)
    ended = "another daemon holds the lock"

    def let_go():
        deadline = time.monotonic() + 30
        while ended not in _said_at_start() and time.monotonic() < deadline:
            time.sleep(0.01)
        fcntl.flock(lock, fcntl.LOCK_UN)

    with open(places.lock_file(), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ending = threading.Thread(target=let_go)
        ending.start()

        with contextlib.closing(starting_client()) as client:
            assert client.call("status")["daemon"]["running"]
        ending.join()

    assert ended in _said_at_start()


def _said_at_start():
    path = places.start_log()
    return path.read_text() if path.exists() else ""


def test_a_daemon_that_ends_at_once_is_told_with_its_last_words(home):
    broken = (*SMALL_DAEMON, "the store is newer", "than the program")

    error = refusal(autostart.start, broken)

    assert error.code is Code.UNAVAILABLE
    assert "ended with status 1" in error.message
    assert error.message.endswith("\n    the store is newer\n    than the program")
    assert str(places.start_log()) in error.hint


def test_only_the_words_of_this_start_are_told(home):
    with pytest.raises(YaadError):
        autostart.start((*SMALL_DAEMON, "yesterday"))
    error = refusal(autostart.start, (*SMALL_DAEMON, "today"))

    assert "today" in error.message
    assert "yesterday" not in error.message


def test_a_daemon_that_never_answers_is_given_up(home):
    waiting = (sys.executable, "-c", "import sys; sys.stdin.read(); import time; time.sleep(2)")
    told = []

    with pytest.raises(YaadError, match=r"did not answer within 1\.1 s"):
        autostart.start(waiting, time_s=1.1, on_wait=told.append)

    assert told == [1]


def test_service_that_never_answers_is_named_as_one(home, monkeypatch):
    monkeypatch.setattr(autostart, "ask_to_start", lambda: True)

    error = refusal(autostart.start, time_s=0.1)

    text = "The daemon was started as a service and did not answer within 0.1 s."
    assert error.message == text


def test_a_program_that_is_not_there_is_told(home):
    with pytest.raises(YaadError, match="could not be started: No such file"):
        autostart.start(("/nowhere/python",))


def test_a_log_that_cannot_be_written_is_told(home):
    places.start_log().mkdir(parents=True)

    with pytest.raises(YaadError, match="cannot be written: Is a directory") as raised:
        autostart.start()

    assert raised.value.code is Code.UNAVAILABLE


def test_a_long_log_begins_anew(home):
    log = places.start_log()
    log.parent.mkdir(parents=True, mode=0o700)
    log.write_bytes(b"x" * (autostart.LOG_BYTES_MAX + 1))

    with contextlib.closing(starting_client()) as client:
        client.call("status")

    assert log.stat().st_size < 1000


def test_nobody_holds_a_lock_that_is_not_there_or_not_held(home):
    assert not daemon_holds_lock()
    home.mkdir()
    places.lock_file().write_text("12\n/x\n")
    assert not daemon_holds_lock()


def test_waiting_for_a_lock_that_stays_ends(home):
    home.mkdir()
    with open(places.lock_file(), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert daemon_holds_lock()
        assert not wait_for_exit(0.05)
    assert wait_for_exit(0.05)
