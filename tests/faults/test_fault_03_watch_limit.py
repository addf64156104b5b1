"""Fault 3: the system watches no more folders for us."""

import shutil
import subprocess
import sys

import pytest
from living_daemon import SOAK, Shop, required
from waiting import wait_until

LIMIT = 300 if SOAK else 24


def behind(limit):
    """Return what runs a command where a user may watch `limit` folders."""
    line = f'echo {limit} > /proc/sys/user/max_inotify_watches && exec "$0" "$@"'
    return "unshare", "-Ur", "sh", "-c", line


LIMIT_SHARED = 300
"""Ours is an eighth of it at most: more than one project needs."""
LEFT = 12
"""What others leave of it: less than one project needs."""
OTHERS = """
import ctypes, os, sys
folder, count, *command = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
held = libc.inotify_init()
for number in range(int(count)):
    os.mkdir(f"{folder}/{number}")
    if libc.inotify_add_watch(held, f"{folder}/{number}".encode(), 0x100) < 0:
        sys.exit(f"no watch: {os.strerror(ctypes.get_errno())}")
os.execvp(command[0], command)
"""
"""Holds as many watches as it is told, in the process that it then becomes."""


@pytest.fixture
def limited():
    if shutil.which("unshare") is None:
        required("namespaces", "there is no unshare")
    tried = subprocess.run([*behind(LIMIT), "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        required("namespaces", f"no namespace of its own is to be had: {tried.stderr.strip()}")


def test_past_the_limit_it_polls_says_so_and_finds_all_that_changes(machine, limited):
    """No crash, nothing missed; what is not watched is looked at every `watch.poll_s`."""
    machine.live(*behind(LIMIT), YAAD_WATCH_POLL_S="1")
    shop = Shop.new(machine, files=LIMIT + 6, place="src/d{0}/m{0}.py")
    small = Shop.new(machine, "small", files=1)

    def modes():
        return {row["path"]: row["watch"] for row in machine.call("status")["projects"]}

    wait_until(lambda: modes()[str(shop.root)] == "poll", "a project that is polled")
    told = "\n".join(problem["what"] for problem in machine.call("status")["problems"])
    assert "watch" in told

    for number in (0, LIMIT // 2, LIMIT + 5):
        shop.edit(number, 7)
    small.edit(0, 7)
    shop.settles()
    small.settles()
    shop.commit("all that")
    shop.edit(0, 0)
    shop.settles()
    assert shop.false == {LIMIT // 2, LIMIT + 5}
    assert machine.logged("service.crashed") == 0


def test_what_the_system_refuses_because_others_hold_it_is_polled_and_said(machine, limited):
    """Within our budget, and refused all the same: such a folder does not count as watched."""
    folder = machine.folder / "held"
    folder.mkdir()
    others = (sys.executable, "-c", OTHERS, str(folder), str(LIMIT_SHARED - LEFT))
    machine.live(*behind(LIMIT_SHARED), *others, YAAD_WATCH_POLL_S="1")
    shop = Shop.new(machine, files=LEFT, place="src/d{0}/m{0}.py")

    def told():
        status = machine.call("status")
        modes = {row["path"]: row["watch"] for row in status["projects"]}
        return modes[str(shop.root)], [problem["what"] for problem in status["problems"]]

    def is_said():
        mode, problems = told()
        return mode == "poll" and any("refuses to watch" in what for what in problems)

    wait_until(is_said, lambda: f"a project that is polled because of the system: {told()}")
    for number in (0, LEFT // 2, LEFT - 1):
        shop.edit(number, 7)
    shop.settles()
    assert machine.logged("service.crashed") == 0
