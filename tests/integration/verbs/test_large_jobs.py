"""What is found in another process, in a large repository, is what is found here."""

import os
import signal
from dataclasses import replace

import pytest

from yaadwatch.daemon import wiring
from yaadwatch.db import anchors
from yaadwatch.system.job_processes import JobProcesses
from yaadwatch.workspace import large_jobs

RULES = "".join(
    f"- `function_{number}` in src/module{number}.py takes number {number}\n"
    for number in range(12)
)


def _module(number, *, name="function", body="return given"):
    return f"def {name}_{number}(given):\n    {body}\n"


def _play(world, *, kill=False):
    """Return the flags after commits, a jump back and a lookback, by the text of their memories."""
    tree = world.repo()
    for number in range(12):
        tree.write(f"src/module{number}.py", _module(number))
    first = tree.commit("first", {"CLAUDE.md": RULES})
    tree.write("src/module1.py", _module(1, name="other"))
    tree.commit("renamed")
    tree.add()
    tree.look_back()
    for pid in world.home.job_processes.pids if kill else ():
        os.kill(pid, signal.SIGKILL)
    tree.write("src/module2.py", _module(2, body="return 7"))
    tree.git("rm", "-q", "src/module3.py")
    tree.commit("changed")
    found = [_flags(tree)]
    tree.git("checkout", "-q", first)
    return [*found, _flags(tree)]


def _flags(tree):
    tree.check()
    with tree.home.space(tree.call) as space:
        flags = space.db.read(anchors.flags_of_worktree, space.worktree.id)
    moved = {flag.node: replace(flag, node="", since=None) for flag in flags}
    rows = {tree.show(node)["text"]: flag for node, flag in moved.items()}
    return {
        text: replace(flag, evidence=tuple(replace(row, commit=None) for row in flag.evidence))
        for text, flag in rows.items()
    }


@pytest.mark.parametrize("kill", [False, True])
def test_another_process_finds_the_flags_that_are_found_here(world, monkeypatch, tmp_path, kill):
    ran = []

    class Counting(JobProcesses):
        def run(self, job, hear):
            ran.append(job[1].__name__)
            return super().run(job, hear)

    monkeypatch.setattr(large_jobs, "INDEX_BYTES", 0)
    world.home.job_processes = Counting(wiring.JOBS)
    there = _play(world, kill=kill)
    jobs = set(ran)
    world.home.job_processes.close()
    world.home.job_processes = None
    (tmp_path / "repo").rename(tmp_path / "before")

    here = _play(world)

    assert there == here
    assert [len(found) for found in here] == [3, 0]
    assert jobs == {"prepare", "_compare", "_gather"}
