"""Run what compares much of a large repository in a process of its own, which only reads.

The caller stores the answer, so a process that is killed leaves nothing half done. Only the daemon
has such processes; elsewhere each job runs where it is.
"""

import os
import pickle
import queue
import threading
import traceback
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import Any, BinaryIO, Concatenate, Final, ParamSpec, TypeVar

from yaadwatch.repo.command import GitRunner, TimedOut
from yaadwatch.system import processes
from yaadwatch.workspace import lookup
from yaadwatch.workspace.workspace import Home, Space

INDEX_BYTES: Final = 256 * 1024
"""A repository is large whose index is: some 2,500 files."""
HUGE_INDEX_BYTES: Final = 8 * 1024 * 1024
"""With some 80,000 files even one statement is a large job: their names take 25 MiB."""

P = ParamSpec("P")
R = TypeVar("R")


def has_process(home: Home, space: Space, *, small: bool = False) -> bool:
    """Return whether large jobs about this work tree run in a process of their own.

    `small`: the job is large only because all names in the index are listed.
    """
    if home.job_processes is None:
        return False
    least = HUGE_INDEX_BYTES if small else INDEX_BYTES
    try:
        return os.stat(space.repository.layout.git_dir / "index").st_size >= least  # noqa: PTH116
    except OSError:
        return False


def run(
    home: Home,
    space: Space,
    job: Callable[Concatenate[Home, Space, P], R],
    *args: P.args,
    **kw: P.kwargs,
) -> R:
    """Return `job(home, space, ...)`, where the repository is large from a process of its own.

    Args:
        home: the daemon's.
        space: the work tree.
        job: a function of a module; it stores nothing, and its arguments and result are values.
        args: its further arguments.
        kw: likewise.

    Raises:
        YaadError: what the job raises; UNAVAILABLE when its process is killed twice.
    """
    if home.job_processes is None or not has_process(home, space):
        return job(home, space, *args, **kw)
    where = (home.settings, space.project.id, space.worktree.id)
    timed_out: list[TimedOut]
    answer, timed_out = home.job_processes.run((where, job, args, kw), home.count_compared)
    home.git.timed_out.extend(timed_out)
    found: R = answer
    return found


def answer_jobs() -> None:
    """Answer the jobs of standard input until it closes: the program of a `JobProcesses`."""
    processes.allocate_from_one_heap()
    given, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDWR), 1)  # whatever else is printed is no answer
    jobs: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(given, jobs), daemon=True).start()
    runner: GitRunner | None = None
    while True:
        (settings, *where), job, args, kw = jobs.get()
        runner = runner or GitRunner(timedelta(milliseconds=settings.git.timeout_ms))
        try:
            home = lookup.open_home(settings, read_only=True)
            home.git = runner
            home.count_compared = lambda key: _send(answers, ("note", key))
            with closing(home.user), closing(home.stores), home.tree(*where) as space:
                answer = job(home, space, *args, **kw)
            _send(answers, ("answer", (answer, list(runner.timed_out))))
        except Exception as error:  # noqa: BLE001  (the daemon raises and logs it)
            error.add_note(traceback.format_exc())
            _send(answers, ("error", error))
        runner.timed_out.clear()


def _read(given: BinaryIO, jobs: "queue.SimpleQueue[Any]") -> None:
    """Queue the jobs; the end of the daemon is the end of this process, whatever it does."""
    try:
        while True:
            jobs.put(pickle.load(given))  # noqa: S301  (written by the daemon that started us)
    finally:
        os._exit(0)


def _send(answers: BinaryIO, found: object) -> None:
    pickle.dump(found, answers)
    answers.flush()
