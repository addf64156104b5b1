"""Fault 12: what the daemon writes and which git it runs wakes nobody, least of all itself."""

import os
import shutil
import time

import pytest
from living_daemon import Shop
from waiting import wait_until

STILL_S = 2.0
"""Many times what it waits for quiet."""


@pytest.fixture
def runs(machine):
    """Count how often git is run by the daemon."""
    folder = machine.folder / "bin"
    folder.mkdir()
    count = machine.folder / "runs"
    count.touch()
    program = folder / "git"
    program.write_text(f'#!/bin/sh\necho "$*" >> {count}\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    machine.live(PATH=f"{folder}:{os.environ['PATH']}")
    return lambda: count.read_text().splitlines()


def still(runs):
    """Wait until git is run no more; a daemon that wakes itself never comes to rest."""

    def is_still():
        before = len(runs())
        time.sleep(STILL_S)
        return len(runs()) == before

    wait_until(is_still, lambda: f"rest; the last git of {len(runs())}: {runs()[-6:]}")
    return len(runs())


def test_after_each_write_of_its_own_it_comes_to_rest(machine, runs):
    shop = Shop.new(machine, files=3, mode="inline")
    shop.ask("remember", text="Always call ship_cart to ship a cart", kind="convention")
    wait_until(lambda: "ship_cart" in (shop.root / "CLAUDE.md").read_text(), "a block of ours")
    settled = still(runs)
    assert settled > 0

    shop.ask("recall", query="which rate is applied")
    machine.call("status")
    shop.ask("context")
    shop.ask("stale", check=False)
    still(runs)
    shop.ask("remember", text="Carts are emptied by sweep_carts after a day", kind="convention")
    wait_until(lambda: "sweep_carts" in (shop.root / "CLAUDE.md").read_text(), "a line of ours")
    still(runs)
    os.utime(shop.store)
    os.utime(shop.root / "CLAUDE.md")
    still(runs)


def test_no_git_that_it_runs_may_write_the_index(machine):
    """Each is followed by a `git status`, which writes down what it found out, where it may."""
    shop = Shop(machine.home / "code" / "shop", machine)
    shop.write("a.py", "a = 1\n")
    shop.write("CLAUDE.md", "# Rules\n\n- Prices are integers, in cents.\n")
    shop.commit("first")
    os.utime(shop.root / "a.py", (1_600_000_000, 1_600_000_000))
    index = shop.root / ".git" / "index"
    git, asked = shutil.which("git"), machine.folder / "asked"
    folder = machine.folder / "bin"
    folder.mkdir()
    program = folder / "git"
    program.write_text(
        f'#!/bin/sh\n{git} "$@"\nended=$?\n'
        f"{git} -C {shop.root} status </dev/null >/dev/null 2>&1 && echo >> {asked}\n"
        "exit $ended\n"
    )
    program.chmod(0o755)
    before = index.stat().st_mtime_ns, index.read_bytes()

    machine.live(PATH=f"{folder}:{os.environ['PATH']}")
    shop.ask("add")
    wait_until(asked.exists, "a git of ours")
    assert machine.stop() == 0

    assert (index.stat().st_mtime_ns, index.read_bytes()) == before
    shop.git("status")
    assert index.read_bytes() != before[1]
