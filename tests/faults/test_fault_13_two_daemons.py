"""Fault 13: several daemons are started at once, and a lock file tells of somebody who is gone."""

import shutil
import signal
import subprocess
import sys

from living_daemon import SOAK, Shop
from machine import alive
from waiting import wait_until

AT_ONCE = 12 if SOAK else 5
HELD = 4


def test_of_many_started_at_once_one_serves_and_the_others_name_it(machine):
    started = [machine.live(wait=False) for _ in range(AT_ONCE)]
    wait_until(lambda: sum(one.poll() is None for one in started) == 1, "one that is left")
    (serves,) = [one for one in started if one.poll() is None]
    machine.process = serves
    wait_until(machine.answers, "an answer")

    assert machine.call("status")["daemon"]["pid"] == serves.pid
    for one in started:
        if one is not serves:
            said = one.communicate(timeout=60)[0]
            assert one.returncode == HELD
            assert f"pid {serves.pid}" in said
    shop = Shop.new(machine, files=1)
    shop.edit(0, 7)
    shop.settles()


def test_many_commands_at_once_start_one_daemon_and_are_all_answered(machine):
    asking = [machine.start("list", "--json") for _ in range(AT_ONCE)]
    said = [one.communicate(timeout=100) for one in asking]

    assert [one.returncode for one in asking] == [0] * AT_ONCE, said
    pid = machine.pid()
    assert alive(pid)
    machine.run("stop")
    wait_until(lambda: not alive(pid), "its end")


def test_the_pid_in_a_lock_file_that_nobody_holds_is_sent_no_signal(machine):
    """It may be anybody's by now."""
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        home = machine.home / "yaad"
        home.mkdir(mode=0o700)
        text = f"{stranger.pid}\n{home / 'run' / 'daemon.sock'}\n"
        (home / "daemon.lock").write_text(text)

        stopped = machine.run("stop")
        doctor = machine.run("doctor")
        machine.run("list")
        machine.run("restart")

        assert stopped.status == 0
        assert "No daemon is running" in stopped.out
        assert str(stranger.pid) not in doctor.out
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


def test_one_whose_home_was_deleted_makes_room_for_the_next_one(machine):
    """Else it stayed for ever, where nobody finds it."""
    first = machine.live()
    first.send_signal(signal.SIGSTOP)  # or it might look before the other one is there
    shutil.rmtree(machine.home / "yaad")
    second = machine.live()

    first.send_signal(signal.SIGCONT)

    assert first.wait(60) == HELD
    assert machine.call("status")["daemon"]["pid"] == second.pid
    assert alive(second.pid)


def test_one_whose_lock_was_deleted_takes_it_again(machine):
    serves = machine.live()
    lock = machine.home / "yaad/daemon.lock"
    said = lock.read_bytes()
    lock.unlink()

    wait_until(lock.exists, "the file of the lock")
    wait_until(lambda: lock.read_bytes() == said, "what it says")
    machine.run("stop")

    assert serves.wait(60) == 0
