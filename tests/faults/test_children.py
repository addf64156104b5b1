"""No process that the daemon started is left behind, however the daemon ends.

They are found by their environment, which goes along to whatever they start, in any session or
group. Workers that embed: `tests/integration/test_embedding_worker.py` and
`tests/e2e/test_embedding_story.py`.
"""

import shutil
import signal
import subprocess
import sys

import psutil
import pytest
from living_daemon import Shop, carrying, required
from waiting import wait_until

from yaadwatch.repo.command import DIES_WITH_US

MARK = "YAAD_TEST_MARK"


@pytest.fixture
def hanging(machine):
    """A daemon whose git hangs, in the middle of a check; return the mark of what it runs."""
    folder = machine.folder / "bin"
    folder.mkdir()
    program = folder / "git"
    real, mark = shutil.which("git"), f"mark-{machine.folder}"
    program.write_text(f'#!/bin/sh\nexec {real} "$@"\n')
    program.chmod(0o755)
    machine.live(PATH=f"{folder}:/usr/bin:/bin", YAAD_GIT_TIMEOUT_MS="600000")
    shop = Shop.new(machine, files=2)
    sleep = shutil.which("sleep")
    program.write_text(f"#!/bin/sh\n{MARK}='{mark}' exec {sleep} 1000\n")
    shop.edit(0, 7)
    shop.commit("unseen")
    wait_until(lambda: carrying(MARK, mark), "a git that hangs")
    return mark


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends the children of who died")
def test_when_it_is_killed_in_the_middle_of_git_that_git_is_gone_at_once(machine, hanging):
    if shutil.which(DIES_WITH_US[0]) is None:
        required("setpriv", "there is no setpriv, of util-linux")
    machine.kill()

    wait_until(lambda: not carrying(MARK, hanging), "the end of git")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_when_it_is_told_to_stop_in_the_middle_of_git_that_git_is_gone_before_it(
    machine, hanging, number
):
    machine.process.send_signal(number)

    assert machine.process.wait(100) == 0
    assert carrying(MARK, hanging) == []


def test_a_client_that_is_told_to_stop_it_sees_it_end_with_all_it_had_started(machine, hanging):
    machine.run("stop")

    assert machine.process.wait(100) == 0
    assert carrying(MARK, hanging) == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_compared_a_large_repository_ends_with_the_daemon(machine, number):
    machine.live()
    shop = Shop.new(machine, files=2)
    blob = shop.git("rev-parse", f"HEAD:{shop.path(0)}")
    rows = "".join(f"100644 {blob}\tlib/{name:0100}.py\n" for name in range(2000))
    shop.edit(1, 7)
    shop.git("add", "-A")
    subprocess.run(
        ["git", "update-index", "--index-info"], cwd=shop.root, env=machine.env, input=rows.encode()
    )
    shop.git("commit", "-q", "-m", "large")
    daemon = psutil.Process(machine.process.pid)
    comparing = wait_until(lambda: list(filter(_compares, daemon.children())), "the process")

    daemon.send_signal(number)

    machine.process.wait(100)
    wait_until(lambda: not any(map(_compares, comparing)), "the end of the process")


def _compares(process):
    """Return whether a process runs, and runs large jobs."""
    try:
        return any("large_jobs" in word for word in process.cmdline())
    except psutil.Error:
        return False
