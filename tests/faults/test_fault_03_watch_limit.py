"""Fault 3: the system watches no more folders for us."""

import shutil
import subprocess

import pytest
from living_daemon import SOAK, Shop, required
from waiting import wait_until

LIMIT = 300 if SOAK else 24
LIMITED = (
    *("unshare", "-Ur", "sh", "-c"),
    f'echo {LIMIT} > /proc/sys/user/max_inotify_watches && exec "$0" "$@"',
)


@pytest.fixture
def limited():
    if shutil.which("unshare") is None:
        required("namespaces", "there is no unshare")
    tried = subprocess.run([*LIMITED, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        required("namespaces", f"no namespace of its own is to be had: {tried.stderr.strip()}")


def test_past_the_limit_it_polls_says_so_and_finds_all_that_changes(machine, limited):
    """No crash, nothing missed; what is not watched is looked at every `watch.poll_s`."""
    machine.live(*LIMITED, YAAD_WATCH_POLL_S="1")
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
