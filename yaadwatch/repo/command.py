"""Run git on an untrusted repository: no hooks, no pager, no network, hard limits.

The repository's own configuration could name programs (file system monitor, hooks, signature
checkers, diff drivers, filters) or another work tree. Everything that can be switched off is
switched off here; commands that would read work-tree files through a filter are never used. A
failure of git becomes an error that a person can read.
"""

import contextlib
import functools
import math
import os
import re
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import Cache, IndexKey, SkippedPaths
from yaadwatch.repo.layout import Layout
from yaadwatch.system import processes
from yaadwatch.system.clock import Clock

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
    *("-c", "maintenance.auto=false"),
    *("-c", "gc.auto=0"),
)
NO_TEXT = Path(__file__).with_name("no_text.attributes")
"""Names the formats in which no word is looked for: a search need not unpack such files."""
WORDS_KEPT = 100_000
"""Words and paths kept of searches of commits: some MiB until the daemon rests."""
COMPARED_BYTES_KEPT = 1024 * 1024
"""Packed: about a tenth of what git prints."""
TREE_ENTRIES_KEPT = 8_000
"""2 MiB."""
INDEXES_KEPT = 4
WORK_MIN = 0.25
"""Least share of processor time of a working command; below that it is waiting."""
OUTPUT_BYTES_MAX = 64 * 1024 * 1024
MEMORY_BYTES_MAX = 4 * 1024 * 1024 * 1024
"""Memory limit of a git process, where the system has one; mapped packs do not count."""
NO_GIT = "git is not installed, or not on the PATH"
INSTALL_GIT = "Install git; nothing that is stored was lost."
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")
"""Before a command where the system has that: it does not outlive a daemon that is killed."""


class NoGit(YaadError):
    """Git is not installed, or not on the PATH: nothing but the repository's files can be asked.

    Args:
        effect: what was not done for that, as a clause.
    """

    def __init__(self, effect: str = "") -> None:
        message = f"{NO_GIT}; {effect}." if effect else f"{NO_GIT}."
        super().__init__(Code.UNAVAILABLE, message, INSTALL_GIT)


class GitHangs(YaadError):
    """It took too long and did next to nothing all the while: the next command would, too."""


class GitFailed(Exception):
    """Git answered with an error; `message` is the line of `errors` that names the reason."""

    def __init__(self, command: str, status: int, message: str, errors: Sequence[str] = ()) -> None:
        super().__init__(f"git {command} ended with {status}: {message}")
        self.status = status
        self.message = message
        self.errors = tuple(errors)


@dataclass(frozen=True, slots=True)
class TimedOut:
    """A git command that was ended because it took too long."""

    command: str
    cwd: Path
    at: datetime


class GitRunner:
    """Runs git commands, at most two at once, and ends those that take too long.

    One that hangs does not count, so that the others wait for none but their own.

    If the daemon is killed during a command on Linux, the command ends, too. In other processes the
    command goes on until it has used its limit of processor time.

    `has_perl`: whether this git supports Perl expressions; cleared when a search fails.
    `timed_out`: the last commands that took too long; `answered`: when git last answered in each
    folder; `silent_since`: folders where git hung and has not answered since, with the start of the
    first such command. Caches of all jobs:
    `found` (which files of a commit hold a word), `searched` (which commits were searched last),
    `compared` (what differs between commits), `trees`; `listed`, `attributes`, `left_out` (what an
    index holds).

    Args:
        timeout: a command is ended after this.
        passing: the process is short-lived; commands are not started through the wrapper that ends
            them with us, which costs as much as a short command.
    """

    def __init__(self, timeout: timedelta, *, passing: bool = False) -> None:
        self._timeout_s = timeout.total_seconds()
        self._passing = passing
        self._clock = Clock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(2)
        self._closed = False
        self.timed_out: deque[TimedOut] = deque(maxlen=1000)
        self.answered: dict[Path, datetime] = {}
        self.silent_since: dict[Path, datetime] = {}
        self.has_perl = True
        self.found: Cache[tuple[str, str, str], tuple[str, ...]] = Cache(
            WORDS_KEPT, lambda _, paths: 1 + len(paths)
        )
        self.searched: Cache[str, tuple[str, ...]] = Cache(64)
        self.compared: Cache[tuple[str, ...], bytes] = Cache(
            COMPARED_BYTES_KEPT,
            lambda question, packed: len(packed) + sum(map(len, question)),
            largest=COMPARED_BYTES_KEPT // 4,
        )
        self.trees: Cache[tuple[str, str], dict[bytes, tuple[bytes, str]]] = Cache(
            TREE_ENTRIES_KEPT, lambda _, tree: 1 + len(tree), largest=TREE_ENTRIES_KEPT // 4
        )
        self.listed: Cache[IndexKey, tuple[str, ...]] = Cache(INDEXES_KEPT)
        self.attributes: Cache[IndexKey, tuple[str, ...]] = Cache(INDEXES_KEPT)
        self.left_out: Cache[IndexKey, SkippedPaths] = Cache(INDEXES_KEPT)

    def run(
        self,
        arguments: Sequence[str],
        *,
        cwd: Path,
        given: bytes | None = None,
        allowed: Sequence[int] = (0,),
        strict: bool = False,
        isolated: bool = False,
        work_tree: Path | None = None,
        index: Path | None = None,
        bytes_max: int | None = None,
    ) -> bytes:
        """Return the output of `git ARGUMENTS`, run in `cwd`; only there it may find a repository.

        Args:
            arguments: command and options, no shell.
            cwd: an existing folder.
            given: its standard input; nothing when None.
            allowed: exit statuses that are answers.
            strict: an error message of git is a failure, whatever the exit status.
            isolated: without any configuration of system, user or repository.
            work_tree: where the files are, whatever the repository's configuration says.
            index: an index file to use instead of the repository's own.
            bytes_max: the command is ended when it prints more; default OUTPUT_BYTES_MAX.

        Raises:
            GitFailed: another exit status, or an error when `strict`.
            YaadError: TIMEOUT when it took too long (GitHangs when it did nothing meanwhile),
                UNAVAILABLE when git is not installed or the runner is closed, TOO_LARGE when it
                prints more than `bytes_max`.
        """
        command = arguments[0]
        bytes_max = OUTPUT_BYTES_MAX if bytes_max is None else bytes_max
        environment = _environment(cwd, isolated=isolated, work_tree=work_tree)
        if index is not None:
            environment["GIT_INDEX_FILE"] = str(index)
        # A file as its input, so that no thread has to feed a pipe.
        nothing = contextlib.nullcontext(subprocess.DEVNULL)
        feeding: contextlib.AbstractContextManager[int | IO[bytes]]
        feeding = nothing if given is None else processes.holding(given)
        with contextlib.ExitStack() as place, feeding as stdin:
            place.enter_context(self._places)
            since = self._clock.now()
            process = self._start(arguments, cwd, environment, stdin)
            until = self._clock.monotonic_s() + self._timeout_s
            try:
                output, errors = self._listen(process, bytes_max, place.close)
                process.wait(max(until - self._clock.monotonic_s(), 0.1))
            except (subprocess.TimeoutExpired, TimeoutError):
                is_idle = processes.cpu_s(process.pid) < self._timeout_s * WORK_MIN
                error = (GitHangs if is_idle else YaadError)(
                    Code.TIMEOUT,
                    f"git {command} took longer than {self._timeout_s:g} s in {cwd} and was ended;"
                    " what needed its answer was not done.",
                    hint="If the repository is that slow by nature, raise git.timeout_ms.",
                )
                self.timed_out.append(TimedOut(command, cwd, self._clock.now()))
                last = self.answered.get(cwd)
                if is_idle and (last is None or last < since):
                    self.silent_since.setdefault(cwd, since)
                raise error from None
            except _TooMuch:
                self._note_answer(cwd)
                raise YaadError(
                    Code.TOO_LARGE,
                    f"git {command} in {cwd} printed more than {bytes_max} bytes and was ended.",
                ) from None
            finally:
                # Without the lock: a thread that is collecting garbage may hold it.
                self._running.discard(process)
                _end(process)
        if self._closed:
            raise _closed_error(command)
        self._note_answer(cwd)
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        marked = [line for line in lines if line.startswith(("fatal:", "error:"))]
        if process.returncode not in allowed or (strict and marked):
            reason = (marked or lines or ["no message"])[0]
            raise GitFailed(command, process.returncode, reason, marked)
        return output

    def _note_answer(self, cwd: Path) -> None:
        self.answered[cwd] = self._clock.now()
        self.silent_since.pop(cwd, None)

    def rest(self) -> None:
        """Drop caches that are quickly rebuilt, and take megabytes in a large repository."""
        self.trees.clear()
        self.found.clear()
        for kept in (self.listed, self.attributes, self.left_out):
            kept.clear()

    def close(self) -> None:
        """End the running commands and start no more."""
        with self._lock:
            self._closed = True
            for process in list(self._running):
                _kill(process)

    def _start(
        self,
        arguments: Sequence[str],
        cwd: Path,
        environment: dict[str, str],
        stdin: int | IO[bytes],
    ) -> subprocess.Popen[bytes]:
        if self._closed:
            raise _closed_error(arguments[0])
        searches = arguments[0] in ("grep", "check-attr")
        no_text = ("-c", f"core.attributesFile={NO_TEXT}") if searches else ()
        try:
            process = subprocess.Popen(
                [*self._git(environment["PATH"]), *no_text, *arguments],
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            if not cwd.is_dir():
                raise YaadError(
                    Code.UNAVAILABLE, f"{cwd} does not exist, so git cannot be asked about it."
                ) from error
            raise NoGit from error
        except ValueError as error:
            raise YaadError(
                Code.BAD_REQUEST,
                "A name with a zero character, or half of one, cannot be passed to git; it was "
                "not asked.",
                hint="Give the name without that character.",
            ) from error
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE, f"git could not be started in {cwd}: {error.strerror}."
            ) from error
        with self._lock:  # not held before, because `cwd` may be on a disk that hangs
            self._running.add(process)
            if self._closed:
                _kill(process)
        _limit(process.pid, math.ceil(self._timeout_s) * (os.cpu_count() or 1))
        return process

    @property
    def closed(self) -> bool:
        """Return whether no command is run any more: the process ends."""
        return self._closed

    def is_there(self) -> bool:
        """Return whether there is a git to be run."""
        return shutil.which("git", path=_path()) is not None

    def _git(self, path: str) -> list[str]:
        """Return what every command begins with: git, and before it what has it die with us.

        Raises:
            FileNotFoundError: there is no git on `path`.
        """
        found = shutil.which("git", path=path)
        if found is None:
            raise FileNotFoundError(path)
        return [*(() if self._passing else _dying_with_us()), found, *_SAFE]

    def _listen(
        self, process: subprocess.Popen[bytes], bytes_max: int, hangs: Callable[[], None]
    ) -> tuple[bytes, bytes]:
        """Return what a process prints and its messages, until it has closed both.

        Time in which this process was itself stopped does not count. `hangs` is called when the
        other one did next to nothing for a step of that time.

        Raises:
            TimeoutError: it took too long.
            _TooMuch: it prints more than is kept.
        """
        output, errors = bytearray(), bytearray()
        left_s, step_s = self._timeout_s, min(self._timeout_s / 10, 1.0)
        with selectors.DefaultSelector() as ready:
            for stream, kept in ((process.stdout, output), (process.stderr, errors)):
                if stream is not None:
                    ready.register(stream.fileno(), selectors.EVENT_READ, kept)
            while ready.get_map():
                if left_s <= 0:
                    raise TimeoutError
                began_s = self._clock.monotonic_s()
                heard = ready.select(step_s)
                left_s -= min(self._clock.monotonic_s() - began_s, step_s)
                spent_s = self._timeout_s - left_s
                if spent_s >= step_s and processes.cpu_s(process.pid) < spent_s * WORK_MIN:
                    hangs()
                for key, _ in heard:
                    chunk = os.read(key.fd, 1024 * 1024)
                    if not chunk:
                        ready.unregister(key.fd)
                    elif key.data is output:
                        output += chunk
                    elif len(errors) < 16 * 1024:
                        errors += chunk
                if len(output) > bytes_max:
                    raise _TooMuch
        return bytes(output), bytes(errors)


class _TooMuch(Exception):
    """A command prints more than is kept."""


def _environment(cwd: Path, *, isolated: bool, work_tree: Path | None) -> dict[str, str]:
    passed_on = ("HOME", "USER", "LOGNAME", "XDG_CONFIG_HOME", "TMPDIR", "SystemRoot")
    environment = {name: os.environ[name] for name in passed_on if name in os.environ}
    environment |= {
        "PATH": _path(),
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_GRAFT_FILE": os.devnull,
        "GIT_CEILING_DIRECTORIES": str(cwd.parent),
    }
    if work_tree is not None:
        environment["GIT_WORK_TREE"] = str(work_tree)
    if isolated:
        environment |= {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
        }
    return environment


def _path() -> str:
    """Return the search path for programs, without relative entries.

    A relative entry could find a program of the repository.
    """
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(place for place in places if place.startswith(os.sep))


@functools.cache
def _dying_with_us() -> tuple[str, ...]:
    """Return the program that has another one die with its parent; empty where there is none.

    The signal comes when the thread that started the command ends; that one waits for it.
    """
    if sys.platform != "linux":
        return ()
    program = shutil.which(DIES_WITH_US[0], path="/usr/bin:/bin")
    if program is None:
        return ()
    command = (program, *DIES_WITH_US[1:])
    tried = subprocess.run([*command, "true"], capture_output=True, check=False)
    return command if tried.returncode == 0 else ()


def _limit(pid: int, seconds: int) -> None:
    if sys.platform == "linux":
        import resource

        limits = {resource.RLIMIT_DATA: MEMORY_BYTES_MAX, resource.RLIMIT_CPU: seconds}
        for kind, most in limits.items():
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(pid, kind, (most, most))


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the command and all that it has started, as far as they stayed in its group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command with all its children, also when it has ended before them."""
    _kill(process)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _closed_error(command: str) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"The daemon is stopping; git {command} was not finished.",
        hint="Ask again when the daemon is back; the next check starts from what is stored.",
    )


_BINARY_NOTICE = re.compile(
    r"""
    ^error:[ ]'[^'\n]*
    (?: /(?:min|dist|vendor|node_modules)/[^'\n]* | \.min\.\w+
    | \.(?:pdf|png|jpe?g|gif|webp|ico|mp[34]|mov|webm|avi|wav|zip|gz|tgz|bz2|xz|7z|jar|war|whl|exe
         |dll|so|dylib|a|bin|dat|woff2?|ttf|otf|eot|db|sqlite3?|parquet|onnx|pt|pkl|npy|psd) )
    ':[ ]unable[ ]to[ ]read[ ][0-9a-f]+$
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Errors of git about missing blobs (a partial clone) that are binary by their names."""


class Git:
    """The git command, run for one repository by one job.

    Once it hangs it is not asked again: the job would wait for it as many times as it asks.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self._layout = layout
        self._runner = runner
        self._cwd = layout.root or layout.git_dir
        self._hangs: GitHangs | None = None

    @property
    def has_perl(self) -> bool:
        """Return whether git supports Perl expressions; true until a search fails."""
        return self._runner.has_perl

    @has_perl.setter
    def has_perl(self, known: bool) -> None:
        self._runner.has_perl = known

    def ask(
        self,
        arguments: list[str],
        *,
        given: bytes | None = None,
        allowed: Sequence[int] = (0,),
        strict: bool = False,
        index: Path | None = None,
        inside: bool = False,
        bytes_max: int | None = None,
    ) -> bytes:
        """Return what git prints; `inside`: where it sees no file of the work tree.

        Raises:
            YaadError: as every method of `Repository`.
        """
        if self._hangs is not None:
            raise self._hangs
        try:
            return self._runner.run(
                arguments,
                cwd=self._layout.git_dir if inside else self._cwd,
                given=given,
                allowed=allowed,
                strict=strict,
                work_tree=None if inside else self._layout.root,
                index=index,
                bytes_max=bytes_max,
            )
        except GitHangs as error:
            self._hangs = error
            raise
        except GitFailed as failure:
            if strict and failure.errors and all(map(_BINARY_NOTICE.search, failure.errors)):
                return self.ask(arguments, given=given, allowed=allowed)
            if re.search("dubious ownership|unsafe repository", failure.message):
                raise YaadError(
                    Code.REFUSED,
                    f"{self._cwd} belongs to another user; git did not read it, and nothing in it "
                    "was read.",
                    hint="If you trust it: git config --global --add safe.directory "
                    f"{shlex.quote(str(self._cwd))}",
                ) from failure
            fetch = f"git -C {shlex.quote(str(self._cwd))} fetch --refetch --no-filter"
            is_partial = "promisor remote" in failure.message
            raise YaadError(
                Code.UNAVAILABLE,
                f"git could not answer for {self._cwd}: {failure}.",
                hint=f"This clone lacks contents of older commits. To fetch them: {fetch}"
                if is_partial
                else "",
            ) from failure

    def compare(self, arguments: list[str], *, given: bytes | None = None) -> bytes:
        """Return what `git diff-tree ARGUMENTS` prints of trees.

        Git would read the whole index first, of which two trees need nothing: it is given a name
        that no index has. Only attributes that are tracked and not in the work tree are in none.

        Raises:
            YaadError: as every method of `Repository`.
        """
        nowhere = self._layout.git_dir / "yaad.no-index"
        return self.ask(["diff-tree", *arguments], given=given, index=nowhere)
