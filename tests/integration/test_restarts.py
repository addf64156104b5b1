"""A daemon whose socket a service manager keeps: who asks while it restarts gets an answer."""

import contextlib
import fcntl
import os
import stat
import sys
import textwrap
import threading
import time

import pytest
from handing import Handing
from served import client
from waiting import wait_until

from yaadwatch import places
from yaadwatch.client import connection
from yaadwatch.client.connection import Client
from yaadwatch.client.presence import daemon_holds_lock
from yaadwatch.model.errors import Code, YaadError

pytestmark = pytest.mark.usefixtures("environment")

SOON = """
    import sys
    from yaadwatch.daemon import scheduler as renewal
    renewal.LOOK_S = 0.05
    from yaadwatch.daemon.main import run
    sys.exit(run(foreground=False))
"""


def program(text):
    return ("-c", textwrap.dedent(text))


def pid():
    with contextlib.closing(client()) as asking:
        return asking.call("status")["daemon"]["pid"]


def refusal():
    with pytest.raises(YaadError) as raised, contextlib.closing(client()) as asking:
        asking.call("status")
    return raised.value


def test_the_socket_that_is_handed_over_is_served_and_stays_when_the_daemon_ends():
    with Handing() as manager:
        before = places.default_socket().stat().st_ino
        assert pid() > 0
        assert places.sockets() == (str(places.default_socket()),)
        manager.stop()

        assert manager.statuses == [0]
        assert places.default_socket().stat().st_ino == before
        manager.start()
        assert pid() > 0


def test_it_says_when_it_is_ready_and_that_it_lives(tmp_path):
    import socket

    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as hearing:
        hearing.bind(str(tmp_path / "notify"))
        hearing.settimeout(30)
        heard = []
        with Handing(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="300000") as manager:
            while heard.count("WATCHDOG=1") < 5 or "STATUS=Watches." not in heard:
                heard += hearing.recv(4096).decode().split("\n")
            manager.stop()
        hearing.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                heard += hearing.recv(4096).decode().split("\n")

    assert heard.index("READY=1") < heard.index("STATUS=Watches.") < heard.index("STOPPING=1")


@pytest.mark.timeout(240)
def test_forty_of_forty_who_ask_while_it_restarts_are_answered_and_nothing_is_lost(repo):
    repo.add("a.py", "a = 1\n")
    answers, failures = [], []
    with Handing() as manager:
        with contextlib.closing(client(cwd=str(repo.path))) as asking:
            asking.call("add")

        def ask(number):
            try:
                with contextlib.closing(Client(cwd=str(repo.path))) as asking:
                    time.sleep(number * 0.02)
                    if number % 2:
                        text = f"The {number}. queue is drained by worker{number}"
                        answers.append(asking.call("remember", text=text)["text"])
                    else:
                        answers.append(asking.call("status")["daemon"]["pid"])
            except YaadError as error:
                failures.append(f"{number}: {error.message}")

        threads = [threading.Thread(target=ask, args=[number]) for number in range(40)]
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        manager.restart()
        for thread in threads:
            thread.join(60)

        assert failures == []
        assert len(answers) == 40
        with contextlib.closing(client(cwd=str(repo.path))) as asking:
            kept = asking.call("recall", query="queue drained worker", top_k=100)["results"]
        assert {row["text"] for row in kept} >= {one for one in answers if isinstance(one, str)}
        assert manager.statuses == [0]


def test_one_connection_that_stays_is_served_by_the_next_daemon():
    with Handing() as manager, contextlib.closing(client()) as asking:
        first = asking.call("status")["daemon"]["pid"]
        manager.restart()

        assert asking.call("status")["daemon"]["pid"] != first


def test_above_its_memory_limit_it_is_started_again_once_it_has_settled():
    large = textwrap.dedent(SOON).replace(
        "renewal.LOOK_S = 0.05", "renewal.LOOK_S, renewal.LOOKS_SETTLED = 0.05, 2"
    )
    large = "ballast = b'x' * (150 * 1024 * 1024)\n" + large
    with Handing(program(large), YAAD_DAEMON_MEMORY_MIB="128") as manager:
        wait_until(lambda: len(manager.statuses) >= 1)
        assert manager.statuses[0] == 75

    log = places.log_file().read_text()
    assert '"event": "daemon.begins_again"' in log
    assert "daemon.memory_mib" in log


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    ("command", "is_busy"), [("daemon", False), ("daemon", True), ("up", False)]
)
def test_without_a_manager_it_begins_again_by_itself(environment, command, is_busy):
    """The site of the test has a distribution of its own, so that no other daemon is upgraded."""
    import subprocess

    site = environment / "site"
    site.mkdir()
    folder = site / "yaadwatch-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Version: 1.0\n")
    soon = textwrap.dedent(
        """
        import sys, threading
        sys.path.insert(0, sys.argv[1])
        if sys.argv[3] == "True":
            threading.Thread(target=threading.Event().wait).start()
        from yaadwatch.daemon import scheduler as renewal
        renewal.LOOK_S = 0.05
        from yaadwatch.cli.main import main
        sys.exit(main([sys.argv[2]]))
        """
    )
    line = [sys.executable, "-c", soon, str(site), command, str(is_busy)]
    process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
    try:
        wait_until(daemon_holds_lock)
        log = places.log_file()
        wait_until(lambda: log.exists() and "daemon.ready" in log.read_text())
        (folder / "METADATA").write_text("Version: 1.0.1\n")
        wait_until(lambda: log.read_text().count('"daemon.ready"') == 2)

        assert pid() == process.pid
    finally:
        process.terminate()
        process.wait(30)


def test_who_waits_for_a_daemon_that_cannot_start_is_told_why():
    (places.data_folder() / "config.toml").write_text("[watch\n")
    with Handing() as manager:
        told = refusal()
        again = refusal()

        assert told.code is Code.BAD_REQUEST
        assert "config.toml is not TOML" in told.message
        assert again.message == told.message
        assert not daemon_holds_lock()
        manager.stop()
        (places.data_folder() / "config.toml").unlink()
        manager.start()
        assert pid() > 0


def test_it_waits_for_a_daemon_that_is_just_ending():
    places.data_folder().mkdir(mode=0o700, exist_ok=True)
    with open(places.lock_file(), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with Handing():
            threading.Timer(0.5, fcntl.flock, [lock, fcntl.LOCK_UN]).start()

            assert pid() > 0


def test_another_daemon_that_stays_is_named(monkeypatch):
    places.data_folder().mkdir(mode=0o700, exist_ok=True)
    with open(places.lock_file(), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("4711\n/nowhere/sock\n")
        lock.flush()
        soon = """
            import sys
            from yaadwatch.daemon import main
            main.OTHER_ENDS_S = 0.1
            sys.exit(main.run(foreground=False))
        """
        with Handing(program(soon)) as manager:
            told = refusal()
            manager.stop()

    assert told.code is Code.CONFLICT
    assert "pid 4711" in told.message


def test_a_daemon_that_keeps_ending_before_it_greets_is_given_up(monkeypatch):
    monkeypatch.setattr(connection, "RESTART_TIME_S", 0.2)
    import socket

    path = places.default_socket()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with socket.socket(socket.AF_UNIX) as rude:
        rude.bind(str(path))
        rude.listen()
        over = threading.Event()

        def hang_up():
            rude.settimeout(0.05)
            while not over.is_set():
                with contextlib.suppress(TimeoutError):
                    rude.accept()[0].close()

        hanging_up = threading.Thread(target=hang_up)
        hanging_up.start()
        try:
            assert "No daemon is running" in refusal().message
        finally:
            over.set()
            hanging_up.join()


def test_the_socket_file_that_was_deleted_is_made_again_by_the_daemon():
    with Handing():
        assert pid() > 0
        places.default_socket().unlink()
        wait_until(places.default_socket().exists)

        assert pid() > 0
        assert stat.S_IMODE(os.stat(places.default_socket()).st_mode) == 0o600


def test_a_socket_that_lost_its_file_while_no_daemon_ran_is_made_anew():
    """The manager hands over a socket that nobody finds any more."""
    with Handing() as manager:
        assert pid() > 0
        manager.stop()
        places.default_socket().unlink()
        manager.start()
        wait_until(places.default_socket().exists)

        assert pid() > 0
