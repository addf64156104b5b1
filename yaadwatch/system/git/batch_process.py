"""A git command that answers one question after another: one process for a batch of reads."""

import contextlib
import os
import selectors
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import processes
from yaadwatch.system.clock import Clock

_CHUNK_BYTES = 1024 * 1024
_LINE_BYTES_MAX = 16 * 1024
WORK_MIN = 0.25
"""What works on a question uses so much of its time at least; the rest waits for somebody."""


class Ended(Exception):
    """It answers no more: it ended by itself, or was ended."""


class GitHangs(YaadError):
    """It took too long and did next to nothing all the while: the next question would, too."""


class Conversation:
    """A running command that reads lines and answers each; `GitRunner.converse` begins one.

    Whoever began it ends it. While it is not asked it waits, and takes no place of those commands
    that run at once. One thread asks at a time.

    `has_answered`: whether it ever did.

    Args:
        process: with pipes for what it reads and prints.
        command: its name, for messages.
        cwd: where it runs, likewise.
        places: of commands that may run at once.
        timeout_s: it is ended when an answer takes longer.
        clock: for that.
        end: leaves nothing of it behind.
        late: is called with the command and its folder when it took too long.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        command: str,
        cwd: Path,
        *,
        places: threading.BoundedSemaphore,
        timeout_s: float,
        clock: Clock,
        end: Callable[[subprocess.Popen[bytes]], None],
        late: Callable[[str, Path], None],
    ) -> None:
        assert process.stdin is not None  # noqa: S101  (it was started with both)
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._command = command
        self._cwd = cwd
        self._stdin, self._stdout = process.stdin.fileno(), process.stdout.fileno()
        self._places = places
        self._timeout_s = timeout_s
        self._clock = clock
        self._end = end
        self._late = late
        self._began_s = clock.monotonic_s()
        self._heard = bytearray()
        self._over = False
        self.has_answered = False

    @property
    def age_s(self) -> float:
        """Return for how many seconds it has been running."""
        return self._clock.monotonic_s() - self._began_s

    def ask(self, line: bytes) -> bytes:
        """Return the line with which it answers to a short one, both without their ends.

        Raises:
            Ended: it answers no more.
            YaadError: TIMEOUT when it took too long, and was ended.
        """
        if self._over:
            raise Ended
        try:
            # What it was asked before it has answered: so little always fits into the pipe.
            os.write(self._stdin, line + b"\n")
        except OSError as error:
            raise Ended from error
        self._hear(lambda: b"\n" in self._heard or len(self._heard) > _LINE_BYTES_MAX)
        answer, end, self._heard = self._heard.partition(b"\n")
        if not end:
            raise Ended
        self.has_answered = True
        return bytes(answer)

    def take(self, size: int) -> bytes:
        """Return so many bytes that follow an answer, and pass over the end of line after them.

        Raises:
            Ended, YaadError: as for `ask`.
        """
        self._hear(lambda: len(self._heard) > size)
        data = bytes(self._heard[:size])
        del self._heard[: size + 1]
        return data

    def end(self) -> None:
        """End it; a second time does nothing."""
        if not self._over:
            self._over = True
            with contextlib.suppress(OSError):
                self._end(self._process)

    def _hear(self, enough: Callable[[], bool]) -> None:
        with self._places, selectors.DefaultSelector() as ready:
            ready.register(self._stdout, selectors.EVENT_READ)
            until = self._clock.monotonic_s() + self._timeout_s
            before_s = processes.cpu_s(self._process.pid)
            while not enough():
                left = until - self._clock.monotonic_s()
                if left <= 0:
                    worked_s = processes.cpu_s(self._process.pid) - before_s
                    self.end()
                    self._late(self._command, self._cwd)
                    raise timed_out(self._command, self._timeout_s, self._cwd, worked_s)
                if ready.select(left):
                    chunk = os.read(self._stdout, _CHUNK_BYTES)
                    if not chunk:
                        raise Ended
                    self._heard += chunk


def timed_out(command: str, timeout_s: float, cwd: Path, worked_s: float) -> YaadError:
    """Return what is said of a command that took too long, after so much processor time."""
    kind = GitHangs if worked_s < timeout_s * WORK_MIN else YaadError
    return kind(
        Code.TIMEOUT,
        f"git {command} took longer than {timeout_s:g} s in {cwd} and was ended;"
        " what needed its answer was not done.",
        hint="If the repository is that slow by nature, raise git.timeout_ms.",
    )
