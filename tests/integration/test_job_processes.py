"""Large jobs run in processes of their own; one that is killed loses nothing."""

import os
import pickle
import signal

import pytest
from waiting import wait_until

from tests.machine import alive
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.command import NoGit
from yaadwatch.system import job_processes
from yaadwatch.system.job_processes import JobProcesses

PROGRAM = """
import os, pickle, sys
while True:
    try:
        job = pickle.load(sys.stdin.buffer)
    except EOFError:
        break
    if isinstance(job, tuple):
        with open(job[0], "a") as deaths:
            deaths.write(".")
        if os.path.getsize(job[0]) <= job[1]:
            os.abort()
    found = ("answer", os.getpid())
    if job == "wrong":
        found = ("error", ValueError("a fault of ours"))
    if job == "counts":
        pickle.dump(("note", 1), sys.stdout.buffer)
        pickle.dump(("note", 2), sys.stdout.buffer)
    pickle.dump(found, sys.stdout.buffer)
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def jobs():
    jobs = JobProcesses(PROGRAM)
    yield jobs
    jobs.close()


def test_jobs_share_a_process_and_its_notes_are_heard(jobs):
    heard = []

    pid = jobs.run("counts", heard.append)

    assert heard == [1, 2]
    assert jobs.run("again", heard.append) == pid
    assert jobs.pids == [pid]


def test_what_a_job_raises_is_raised_and_its_process_goes_on(jobs):
    with pytest.raises(ValueError, match="a fault of ours"):
        jobs.run("wrong", print)

    assert [jobs.run("next", print)] == jobs.pids


def test_a_job_whose_process_was_killed_is_taken_again_once(jobs, tmp_path):
    pid = jobs.run((str(tmp_path / "once"), 1), print)

    assert jobs.pids == [pid]
    with pytest.raises(YaadError, match="ended 2 times with status -6; nothing was changed"):
        jobs.run((str(tmp_path / "twice"), 2), print)
    assert jobs.pids == []


def test_a_process_that_was_killed_between_jobs_is_replaced(jobs):
    first = jobs.run("first", print)

    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not alive(first))

    assert jobs.run("second", print) != first


def test_a_process_without_jobs_ends(jobs, monkeypatch):
    monkeypatch.setattr(job_processes, "IDLE_S", 0.0)

    pid = jobs.run("one", print)

    wait_until(lambda: not alive(pid))
    wait_until(lambda: jobs.pids == [])


def test_no_process_outlives_the_end_and_none_is_started_after_it(jobs):
    pid = jobs.run("one", print)

    jobs.close()

    assert not alive(pid)
    with pytest.raises(YaadError, match="The daemon is stopping"):
        jobs.run("two", print)


@pytest.mark.parametrize(
    "error", [YaadError(Code.TIMEOUT, "It took long.", "Wait."), NoGit("nothing was done")]
)
def test_an_error_of_another_process_says_what_it_said_there(error):
    found = pickle.loads(pickle.dumps(error))

    assert type(found) is type(error)
    assert (found.code, found.message, found.hint) == (error.code, error.message, error.hint)
    assert str(found) == str(error)


def test_a_process_that_was_killed_while_it_rested_costs_no_try(jobs, tmp_path):
    first = jobs.run("next", print)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: not alive(first), "its end")

    second = jobs.run((str(tmp_path / "once"), 1), print)

    assert jobs.pids == [second]


def test_a_process_that_hangs_is_given_up_on(jobs, monkeypatch):
    monkeypatch.setattr(job_processes, "SILENT_S", 5.0)  # a new one begins in less
    pid = jobs.run("next", print)
    os.kill(pid, signal.SIGSTOP)

    assert jobs.run("again", print) != pid
    assert not alive(pid)
