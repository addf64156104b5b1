"""A daemon that holds its lock, listens, and does not answer: how long is it waited for?"""

import contextlib
import signal
import subprocess
import sys

import pytest
from refusals import refusal
from served import client

from yaadwatch import places
from yaadwatch.client.connection import DaemonUnresponsive
from yaadwatch.model.errors import Code

on_linux = pytest.mark.skipif(
    sys.platform != "linux", reason="what a process does is seen in /proc"
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "yaad"))
    return places.default_socket()


@contextlib.contextmanager
def mute_daemon(path, then):
    """Run what holds the daemon's lock, and listens, and greets nobody by itself."""
    path.parent.mkdir(parents=True, mode=0o700)
    lock = places.lock_file()
    lock.parent.mkdir(parents=True, exist_ok=True)
    program = (
        "import fcntl, os, socket, sys, time\n"
        "lock = open(sys.argv[1], 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "listens = socket.socket(socket.AF_UNIX)\n"
        "listens.bind(sys.argv[2])\n"
        "listens.listen()\n"
        "print(os.getpid(), sys.argv[2], sep='\\n', file=lock, flush=True)\n"
        "print('ready', flush=True)\n" + then
    )
    process = subprocess.Popen(
        [sys.executable, "-c", program, lock, path], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


SLEEPS = "time.sleep(600)"


@on_linux
def test_a_daemon_that_is_suspended_is_not_waited_for(path, monkeypatch):
    """Somebody pressed Ctrl-Z, and forgot about it."""
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.1)
    with mute_daemon(path, SLEEPS) as process, contextlib.closing(client()) as asking:
        process.send_signal(signal.SIGSTOP)

        said = refusal(asking.call, "status")

    assert isinstance(said, DaemonUnresponsive)
    assert said.message == f"The daemon (process {process.pid}) is suspended; nothing was done."
    assert said.hint.startswith(f"Have it go on: kill -CONT {process.pid} ")


@on_linux
def test_a_pid_that_is_of_another_process_here_says_nothing_of_the_daemon(path, monkeypatch):
    """The daemon runs in a container: to us its pid is that of somebody else."""
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.1)
    monkeypatch.setattr("yaadwatch.client.connection.GREETING_TIME_S", 0.5)
    with subprocess.Popen(["sleep", "600"]) as other:
        other.send_signal(signal.SIGSTOP)
        names = f"lock.seek(0)\nprint({other.pid}, sys.argv[2], sep='\\n', file=lock, flush=True)\n"
        try:
            with mute_daemon(path, names + SLEEPS), contextlib.closing(client()) as asking:
                said = refusal(asking.call, "status")
        finally:
            other.kill()

    assert said.message == "The daemon did not answer within 0.5 s; nothing was done."


@on_linux
def test_one_that_is_suspended_before_it_answers_is_not_waited_for(path, monkeypatch):
    monkeypatch.setattr("yaadwatch.client.connection._TICK_S", 0.1)
    greets = (
        "peer, _ = listens.accept()\n"
        "peer.recv(65536)\n"
        "import json, signal\n"
        f"hello = {{'server': 'yaadwatch', 'protocol': {places.PROTOCOL}, 'pid': os.getpid(),\n"
        "    'at': '2026-01-01T00:00:00.000Z'}\n"
        "peer.sendall(json.dumps(hello).encode() + b'\\n')\n"
        "peer.recv(65536)\n"
        "os.kill(os.getpid(), signal.SIGSTOP)\n"
    )
    with mute_daemon(path, greets) as process, contextlib.closing(client()) as asking:
        said = refusal(asking.call, "remember", text="x")

    assert said.code is Code.TIMEOUT
    assert said.message == (
        f"The daemon (process {process.pid}) is suspended and has not answered `remember`; it may"
        " yet be done."
    )
