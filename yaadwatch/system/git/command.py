"""Run git on a repository that nobody has to trust: no hooks, no pager, no network, a time limit.

The repository's own configuration could name programs (file system monitor, hooks, signature
checkers, diff drivers, filters). What can be switched off is switched off here; commands that
would read work-tree files through a filter are not used at all, see `repository`.
"""

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError

_SAFE = (
    "--no-pager",
    "--literal-pathspecs",
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.hooksPath=/dev/null"),
    *("-c", "core.quotePath=false"),
    *("-c", "core.pager=cat"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "submodule.recurse=false"),
)
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SystemRoot")
AT_ONCE_MAX = 2
OUTPUT_BYTES_MAX = 64 * 1024 * 1024


class GitFailed(Exception):
    """Git answered with an error; `message` is its own first line."""

    def __init__(self, command: str, status: int, message: str) -> None:
        super().__init__(f"git {command} ended with {status}: {message}")
        self.status = status
        self.message = message


class GitRunner:
    """Runs git commands, at most two at once, and ends those that take too long.

    Args:
        timeout: a command is ended after this.
    """

    def __init__(self, timeout: timedelta) -> None:
        self._timeout_s = timeout.total_seconds()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(AT_ONCE_MAX)
        self._closed = False

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        given: bytes | None = None,
        allowed: Sequence[int] = (0,),
        isolated: bool = False,
    ) -> bytes:
        """Return what `git ARGUMENTS` prints, run in `cwd`.

        Args:
            arguments: command and options, no shell.
            cwd: an existing folder.
            given: its standard input; nothing when None.
            allowed: exit statuses that are answers.
            isolated: without any configuration of system, user or repository.

        Raises:
            GitFailed: another exit status.
            YaadError: TIMEOUT when it took too long, UNAVAILABLE when git is not installed or the
                runner is closed, TOO_LARGE when it prints more than 64 MiB.
        """
        command = arguments[0]
        with self._places:
            process = self._start(arguments, cwd, given is not None, isolated)
            try:
                output, errors = process.communicate(given, timeout=self._timeout_s)
            except subprocess.TimeoutExpired:
                raise YaadError(
                    Code.TIMEOUT,
                    f"git {command} took longer than {self._timeout_s:g} s in {cwd} and was ended.",
                    hint="If the repository is that slow by nature, raise git.timeout_ms.",
                ) from None
            finally:
                _end(process)
                with self._lock:
                    self._running.discard(process)
        if self._closed:
            raise _closed_error(command)
        if process.returncode not in allowed:
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            raise GitFailed(command, process.returncode, lines[0] if lines else "no message")
        if len(output) > OUTPUT_BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"git {command} printed {len(output)} bytes, more than {OUTPUT_BYTES_MAX}.",
            )
        return output

    def close(self) -> None:
        """End the running commands and start no more."""
        with self._lock:
            self._closed = True
            running = tuple(self._running)
        for process in running:
            _end(process)

    def _start(
        self, arguments: Sequence[str], cwd: Path, has_input: bool, isolated: bool
    ) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._closed:
                raise _closed_error(arguments[0])
            try:
                process = subprocess.Popen(
                    ["git", *_SAFE, *arguments],
                    cwd=cwd,
                    env=_environment(isolated, cwd),
                    stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            except FileNotFoundError as error:
                if not cwd.is_dir():
                    raise YaadError(
                        Code.UNAVAILABLE, f"{cwd} does not exist, so git cannot be asked about it."
                    ) from error
                raise YaadError(
                    Code.UNAVAILABLE,
                    "git is not installed, or not on the PATH of the daemon.",
                    hint="Install git; nothing that is stored was lost.",
                ) from error
            except OSError as error:
                raise YaadError(
                    Code.UNAVAILABLE, f"git could not be started in {cwd}: {error.strerror}."
                ) from error
            self._running.add(process)
            return process


def _environment(isolated: bool, cwd: Path) -> dict[str, str]:
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    environment |= {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_REPLACE_OBJECTS": "1",
    }
    if isolated:
        environment |= {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(cwd.parent),
        }
    return environment


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the command's process group and collect it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _closed_error(command: str) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"The daemon is stopping; git {command} was not finished.",
        hint="Ask again when the daemon is back; the next check starts from what is stored.",
    )
