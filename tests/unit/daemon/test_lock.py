"""One process at a time is the daemon, and everybody can tell who."""

import os
import stat
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch import places
from yaadwatch.client import presence
from yaadwatch.daemon.process import DaemonLock
from yaadwatch.model.errors import Code

ROOT = Path(__file__).parents[3]
SOCKET = Path("/run/user/1000/yaadwatch/daemon.sock")
HOLDER = """
import sys
from pathlib import Path
from yaadwatch.daemon.process import DaemonLock
lock = DaemonLock(Path(sys.argv[1]))
lock.acquire(Path("/run/theirs.sock"))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path, monkeypatch):
    path = tmp_path / "home" / "daemon.lock"
    monkeypatch.setattr(places, "lock_file", lambda: path)
    return path


@pytest.fixture
def holder(path):
    """Another process that holds the lock."""
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    with child:
        assert child.stdout.readline() == "held\n"
        yield child
        child.kill()


def test_the_holder_writes_down_who_it_is_and_where_it_listens(path):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)

        assert path.read_text() == f"{os.getpid()}\n{SOCKET}\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_it_is_the_file_that_clients_look_for(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path / "home"))
    with closing(DaemonLock()) as lock:
        lock.acquire(SOCKET)

        assert places.sockets()[0] == str(SOCKET)


def test_a_shorter_text_leaves_nothing_of_a_longer_one(path):
    path.parent.mkdir()
    path.write_text("123456789\n/a/much/longer/path/to/some/other/daemon.sock\nand more\n" * 9)

    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)

        assert path.read_text() == f"{os.getpid()}\n{SOCKET}\n"


def test_a_second_daemon_is_told_who_holds_the_lock_and_changes_nothing(path, holder):
    before = path.read_text()

    error = refusal(DaemonLock(path).acquire, SOCKET)

    assert error.code is Code.CONFLICT
    assert f"pid {holder.pid}" in error.message
    assert "/run/theirs.sock" in error.message
    assert path.read_text() == before


def test_one_object_takes_the_lock_once(path):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)

        assert refusal(lock.acquire, SOCKET).code is Code.CONFLICT


def test_the_lock_of_a_process_that_was_killed_is_free(path, holder):
    assert presence.daemon_holds_lock()

    holder.kill()
    holder.wait()

    assert not presence.daemon_holds_lock()
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)


def test_a_closed_lock_is_free_and_may_be_taken_again(path):
    lock = DaemonLock(path)
    for _ in range(2):
        lock.acquire(SOCKET)
        assert presence.daemon_holds_lock()
        lock.close()
        assert not presence.daemon_holds_lock()
    lock.close()


def test_asking_makes_no_file(path):
    assert not presence.daemon_holds_lock()
    assert not path.parent.exists()


def test_asking_all_the_time_keeps_nobody_from_taking_the_lock(path):
    path.parent.mkdir()
    path.touch()
    done = threading.Event()

    def ask():
        while not done.is_set():
            presence.daemon_holds_lock()

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    try:
        for _ in range(50):
            with closing(DaemonLock(path)) as lock:
                lock.acquire(SOCKET)
    finally:
        done.set()
        for asker in askers:
            asker.join()


def test_text_that_nobody_understands_is_no_obstacle(path):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)
        path.write_bytes(b"\xff")

        assert refusal(DaemonLock(path).acquire, SOCKET).message.startswith("Another daemon runs; ")


def test_a_lock_that_is_a_link_is_not_followed(path, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    path.parent.mkdir()
    path.symlink_to(theirs)

    assert refusal(DaemonLock(path).acquire, SOCKET).code is Code.UNAVAILABLE
    assert theirs.read_text() == "theirs"
    assert not presence.daemon_holds_lock()


def test_a_pipe_in_its_place_is_told_and_nobody_waits_for_it(path, monkeypatch):
    path.parent.mkdir()
    os.mkfifo(path)
    monkeypatch.setenv("YAAD_HOME", str(path.parent))

    assert places.lock_file() == path
    assert places.announced_pid() is None
    assert not presence.daemon_holds_lock()
    assert not presence.daemon_holds_lock()
    error = refusal(DaemonLock(path).acquire, SOCKET)
    assert error.message == f"{path} is no plain file; the daemon did not start."


def test_a_home_that_is_a_link_is_refused(path, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    path.parent.symlink_to(tmp_path / "elsewhere")

    assert refusal(DaemonLock(path).acquire, SOCKET).code is Code.REFUSED


def test_programs_that_the_daemon_starts_do_not_hold_its_lock(path):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; print('runs', flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            close_fds=False,
        )
        assert child.stdout.readline() == "runs\n"
    with child:
        assert not presence.daemon_holds_lock()
        child.stdin.close()


def test_a_lock_whose_file_was_deleted_is_taken_anew(path):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)
        said = path.read_bytes()
        assert lock.renew()
        path.unlink()
        path.parent.rmdir()

        assert lock.renew()

        assert path.read_bytes() == said
        assert presence.daemon_holds_lock()
        assert lock.renew()


def test_a_lock_that_another_process_took_after_its_file_was_deleted_is_not_ours(path, request):
    with closing(DaemonLock(path)) as lock:
        lock.acquire(SOCKET)
        path.unlink()
        theirs = request.getfixturevalue("holder")

        assert not lock.renew()

        assert path.read_text().startswith(f"{theirs.pid}\n")


def test_without_a_lock_there_is_nothing_to_renew(path):
    assert DaemonLock(path).renew()
    assert not path.exists()
