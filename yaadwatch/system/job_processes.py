"""Run large jobs in processes that end: the memory that a job fragments goes with its process.

A process reads jobs from its standard input and writes notes and one answer for each to its
standard output, all pickled. It ends with us, because its standard input closes.
"""

import contextlib
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from yaadwatch.model.errors import Code, YaadError

AT_ONCE: Final = 2
"""Processes; a further job waits."""
IDLE_S: Final = 30.0
"""After this long without a job a process ends: bursts of commits share one."""
END_S: Final = 5.0
"""A process has so long to end by itself, and as long to end when it is killed."""
SILENT_S: Final = 600.0
"""A process that neither notes nor answers anything for so long is killed."""
TRIES: Final = 2
"""Processes that a job may lose before it fails."""


class JobProcesses:
    """Runs each job in a process that another job left, or in a new one. Thread-safe.

    Args:
        program: the Python that a process runs.
    """

    def __init__(self, program: str) -> None:
        self._command = (sys.executable, "-I", "-c", program)
        self._room = threading.BoundedSemaphore(AT_ONCE)
        self._lock = threading.Lock()
        self._closed = False
        self._running: set[subprocess.Popen[bytes]] = set()
        self._idle: list[tuple[subprocess.Popen[bytes], threading.Timer]] = []

    def run(self, job: object, hear: Callable[[Any], object]) -> Any:
        """Return the answer to a job; `hear` is called with each note of its process.

        Raises:
            YaadError: UNAVAILABLE when the processes ended before they answered.
            Exception: what the job raised.
        """
        data = pickle.dumps(job)
        with self._room:
            for _ in range(TRIES):
                process = self._take()
                try:
                    answer, error = _ask(process, data, hear)
                except (OSError, EOFError, pickle.UnpicklingError):
                    status = self._end(process)
                    continue
                except BaseException:
                    self._end(process)
                    raise
                self._leave(process)
                if error is not None:
                    raise error
                return answer
        raise YaadError(
            Code.UNAVAILABLE,
            f"The process for large jobs ended {TRIES} times with status {status}; nothing was "
            "changed.",
            hint="If the machine is short of memory, free some, then: yaadwatch stale",
        )

    @property
    def pids(self) -> list[int]:
        """Return the ids of the processes."""
        return [process.pid for process in tuple(self._running)]

    def close(self) -> None:
        """End every process and start none any more."""
        with self._lock:
            self._closed = True
            processes = tuple(self._running)
        for process in processes:
            process.kill()
            self._end(process)

    def _take(self) -> "subprocess.Popen[bytes]":
        with self._lock:
            if self._closed:
                raise YaadError(
                    Code.UNAVAILABLE, "The daemon is stopping; nothing was changed.", "Ask again."
                )
            while self._idle:
                process, timer = self._idle.pop()
                timer.cancel()
                if process.poll() is None:
                    return process
                self._running.discard(process)  # killed while it rested: no job was lost with it
            process = subprocess.Popen(
                self._command,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._running.add(process)
            return process

    def _leave(self, process: "subprocess.Popen[bytes]") -> None:
        """Keep a process for the next job, for a while."""
        timer = threading.Timer(IDLE_S, self._end_idle, [process])
        timer.daemon = True
        with self._lock:
            self._idle.append((process, timer))
        timer.start()

    def _end_idle(self, process: "subprocess.Popen[bytes]") -> None:
        with self._lock:
            left = [one for one in self._idle if one[0] is not process]
            was_idle = len(left) < len(self._idle)
            self._idle = left
        if was_idle:
            self._end(process)

    def _end(self, process: "subprocess.Popen[bytes]") -> int:
        """Close the pipes of a process and return its exit status, once it has ended.

        One that waits for a dead disk may not even be killed; then it is left.
        """
        for pipe in filter(None, (process.stdin, process.stdout)):
            with contextlib.suppress(OSError):
                pipe.close()
        with self._lock:
            self._running.discard(process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(END_S)
        process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(END_S)
        return -signal.SIGKILL


def _ask(
    process: "subprocess.Popen[bytes]", data: bytes, hear: Callable[[Any], object]
) -> tuple[Any, Exception | None]:
    assert process.stdin is not None  # noqa: S101  (both are pipes)
    assert process.stdout is not None  # noqa: S101
    with _killed_when_silent(process):
        process.stdin.write(data)
        process.stdin.flush()
    while True:
        with _killed_when_silent(process):
            what, found = pickle.load(process.stdout)  # noqa: S301  (written by our own process)
        if what == "note":
            hear(found)
        else:
            return (found, None) if what == "answer" else (None, found)


@contextlib.contextmanager
def _killed_when_silent(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    timer = threading.Timer(SILENT_S, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
