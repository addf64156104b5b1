"""Processes: our own cost, children, the daemon's lock file, service manager, live sessions.

systemd passes a socket as descriptor 3 (sd_listen_fds(3)) and receives notifications as datagrams
on NOTIFY_SOCKET (sd_notify(3)). Without a manager neither is used.

Live sessions are kept in memory, so that reading writes nothing; after a restart, the next request
continues the open session of the store.
"""

import contextlib
import fcntl
import os
import shlex
import socket
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO, Final, cast

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Session
from yaadwatch.system.files import private_folder

_SCHEDULED: Final = 2
"""The clock of what a process ran; the kernel makes clocks of processes of this and their ids."""


def own_rss_bytes() -> int:
    """Return the resident memory of this process in bytes; cheap enough to ask all the time."""
    if sys.platform != "linux":
        return rss_bytes()
    import resource

    descriptor = os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return int(os.read(descriptor, 256).split()[1]) * resource.getpagesize()
    finally:
        os.close(descriptor)


def rss_bytes(pid: int | None = None) -> int:
    """Return the resident memory of a process, by default this one, in bytes; 0 when it is gone."""
    import psutil  # 1.5 MB, needed only here

    try:
        return int(psutil.Process(pid).memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def give_back() -> bool:
    """Return free memory of this process to the system; False if the C library cannot.

    The C libraries of macOS and musl cannot.
    """
    if sys.platform != "linux":
        return False
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


def is_running_below(name: str, folders: Sequence[Path]) -> bool | None:
    """Return whether a process whose name begins so runs in one of some folders or below it.

    None when that cannot be known: on other systems than Linux, or where such a process belongs to
    another user.
    """
    if sys.platform != "linux":
        return None
    known: bool | None = False
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if not (process / "comm").read_text(errors="replace").startswith(name):
                continue
            place = (process / "cwd").readlink()
        except PermissionError:
            known = None
            continue
        except OSError:  # it has just ended
            continue
        if any(place.is_relative_to(folder) for folder in folders):
            return True
    return known


def cpu_s(pid: int) -> float:
    """Return the processor time of a process so far, of all its threads, in seconds.

    On Linux in nanoseconds, elsewhere in the ticks of the system; 0 when it is gone.
    """
    if sys.platform == "linux":
        try:
            return time.clock_gettime(~pid << 3 | _SCHEDULED)
        except OSError:
            return 0.0
    import psutil

    try:
        spent = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(spent.user + spent.system)


_FIRST_DESCRIPTOR: Final = 3
_OURS: Final = ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES", "WATCHDOG_PID", "WATCHDOG_USEC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """The service manager that started this process.

    Args:
        listening: the socket that it keeps open for us over restarts; None: we create our own.
        address: destination of notifications; empty: none are wanted.
        watchdog_s: it ends us after this many seconds without a notification; None: never.
    """

    listening: socket.socket | None = None
    address: str = ""
    watchdog_s: float | None = None

    @property
    def path(self) -> Path | None:
        """Return the path of the socket that we were given; None without one."""
        return None if self.listening is None else Path(str(self.listening.getsockname()))

    def tell(self, **news: object) -> bool:
        """Send a notification such as READY=1; return success. Never blocks, never raises."""
        if not self.address:
            return False
        # An address that begins with '@' is none in the file system.
        address = "\0" + self.address[1:] if self.address[0] == "@" else self.address
        text = "\n".join(f"{name}={value}" for name, value in news.items())
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sending:
            sending.setblocking(False)
            try:
                sending.sendto(text.encode("utf-8", "replace"), address)
            except OSError:
                return False
        return True


def take_over(environ: MutableMapping[str, str]) -> Manager:
    """Return what the manager handed over; nothing of it is left for children to find.

    Raises:
        YaadError: BAD_REQUEST when what was handed over is no Unix socket that listens.
    """
    said = {name: environ.pop(name, "") for name in _OURS}
    address = environ.pop("NOTIFY_SOCKET", "")
    own = str(os.getpid())
    listening = None
    if said["LISTEN_PID"] == own:
        listening = _listening(_whole(said["LISTEN_FDS"], 64))
    watchdog_us = _whole(said["WATCHDOG_USEC"], None) if said["WATCHDOG_PID"] in {"", own} else 0
    return Manager(
        listening=listening,
        address=address,
        watchdog_s=watchdog_us / 1e6 if watchdog_us else None,
    )


def _whole(text: str, most: int | None) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0
    return number if most is None else min(number, most)


def _listening(count: int) -> socket.socket | None:
    """Return the one socket among those handed over that we can listen on; close the others."""
    found: socket.socket | None = None
    for descriptor in range(_FIRST_DESCRIPTOR, _FIRST_DESCRIPTOR + count):
        try:
            given = socket.socket(fileno=descriptor)
        except OSError as error:
            raise _odd(f"descriptor {descriptor} is no socket ({error.strerror})") from error
        given.set_inheritable(False)
        if found is None and _listens(given):
            found = given
        else:
            given.close()
    if count and found is None:
        raise _odd("none of them is a Unix stream socket that listens")
    return found


def _listens(given: socket.socket) -> bool:
    return (
        given.family == socket.AF_UNIX
        and given.type == socket.SOCK_STREAM
        and bool(given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    )


def _odd(why: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        f"The service manager handed over sockets that cannot be used: {why}."
        " The daemon did not start.",
        "Write the units again: yaadwatch install",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Who:
    """An agent in a work tree; `session` '' where its end is not reported, as in a hook."""

    root: Path
    agent: str
    session: str


class AtWork:
    """The live sessions. Thread-safe; times are monotonic, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lasts: dict[_Who, float] = {}

    def seen(self, root: Path, agent: str, session: str, now_s: float) -> None:
        """Note that an agent is at work in a work tree."""
        with self._lock:
            self._lasts[_Who(root=root, agent=agent, session=session)] = now_s

    def stirred(self, root: Path, now_s: float, idle_s: float) -> None:
        """Note that files of a work tree changed: any agent at work there may have done it."""
        with self._lock:
            for who, last_s in self._lasts.items():
                if who.root == root and now_s - last_s < idle_s:
                    self._lasts[who] = now_s

    def left(self, folder: Path, agent: str, session: str) -> None:
        """Note that a session of an agent that works in `folder` has ended.

        What the agent did outside of any session ends with its last one.
        """
        with self._lock:
            own = [
                who for who in self._lasts if who.agent == agent and folder.is_relative_to(who.root)
            ]
            others = {who.root for who in own if who.session not in ("", session)}
            for who in own:
                if who.session == session or (not who.session and who.root not in others):
                    del self._lasts[who]

    def quiet_in_s(self, root: Path, now_s: float, idle_s: float) -> float:
        """Return in how many seconds everybody in a work tree was idle for `idle_s`; 0.0: now."""
        with self._lock:
            self._lasts = {
                who: last_s for who, last_s in self._lasts.items() if now_s - last_s < idle_s
            }
            lasts = [last_s for who, last_s in self._lasts.items() if who.root == root]
        return max((last_s + idle_s - now_s for last_s in lasts), default=0.0)


@dataclass(slots=True, kw_only=True)
class Live:
    """A session that goes on.

    `connections`: of its agent, by name, while they are open; `left_at`: when the last one of a
    session ended that its agent may end by name; `failed_at`: when it first could not be ended, and
    was not written down since; `shown`: tokens by node, not yet written down; `written`: the
    session as it was when it was last written down with what it was shown.
    """

    project: str
    session: Session
    connections: set[str] = field(default_factory=set)
    left_at: datetime | None = None
    failed_at: datetime | None = None
    shown: dict[str, int] = field(default_factory=dict)
    written: Session | None = None

    @property
    def id(self) -> str:
        """Return the id of the session."""
        return self.session.id

    @property
    def is_written(self) -> bool:
        """Return whether there is nothing of it that is not written down; `lock` is held."""
        return not self.shown and self.failed_at is None and self.written == self.session

    def is_of(self, project: str, worktree: int, agent: str) -> bool:
        """Return whether it is a session of an agent in a work tree."""
        mine = (self.project, self.session.worktree, self.session.agent)
        return mine == (project, worktree, agent)


class LiveSessions:
    """Knows the sessions that go on. Any thread may call it, `lock` held."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._lives: dict[str, Live] = {}

    def enter(self, live: Live) -> None:
        """Have a session go on."""
        self._lives[live.id] = live

    def get(self, id: str) -> Live | None:
        """Return the session of this id, if it is live."""
        return self._lives.get(id)

    def of(self, project: str, worktree: int, agent: str) -> list[Live]:
        """Return the sessions of an agent in a work tree, most recently active first."""
        found = [live for live in self._lives.values() if live.is_of(project, worktree, agent)]
        return sorted(found, key=lambda live: live.session.last_at, reverse=True)

    def with_connection(self, name: str) -> list[Live]:
        """Return the sessions that a connection takes part in, one for each work tree."""
        return [live for live in self._lives.values() if name in live.connections]

    def everything(self) -> list[Live]:
        """Return the sessions that go on, in the order in which they came up."""
        return list(self._lives.values())

    def leave(self, id: str) -> Live | None:
        """Return the session of this id, and know it no more."""
        return self._lives.pop(id, None)


_PAUSE_S: Final = 0.005
# Opening a pipe in its place would block for ever.
_FLAGS: Final = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class DaemonLock:
    """The lock of the daemon. It is held until `close`, or until the process ends in any way.

    Args:
        path: the file; None for the one in our home.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or places.lock_file()
        self._descriptor: int | None = None
        self._text = b""

    def acquire(self, socket: Path, *, patience_s: float = 0.0) -> None:
        """Take the lock, and record our pid and the socket that we listen on.

        Args:
            socket: where we listen.
            patience_s: how long to wait for another daemon to end, in seconds.

        Raises:
            YaadError: CONFLICT when another process holds it, or this object does; the message
                names the holder. REFUSED when the folder is a link or another user's; UNAVAILABLE
                when the file cannot be opened.
        """
        private_folder(self._path.parent)
        until = time.monotonic() + patience_s
        while (descriptor := self._take() if self._descriptor is None else None) is None:
            if time.monotonic() >= until:
                raise self._held()
            time.sleep(0.05)
        self._text = f"{os.getpid()}\n{socket}\n".encode()
        self._write(descriptor)

    def renew(self) -> bool:
        """Lock the file that is now at our path, if our locked file was deleted.

        Returns:
            False: another process holds it, and is the daemon now.

        Raises:
            YaadError: as for `acquire`, but CONFLICT.
        """
        former = self._descriptor
        if former is None or self._is_at_path(former):
            return True
        private_folder(self._path.parent)
        descriptor = self._take()
        if descriptor is None:
            return False
        self._write(descriptor)
        os.close(former)
        return True

    def _write(self, descriptor: int) -> None:
        """Write our pid and socket into the locked file."""
        self._descriptor = descriptor
        # Written first and cut after: a client that reads meanwhile finds two whole lines.
        os.pwrite(descriptor, self._text, 0)
        os.ftruncate(descriptor, len(self._text))

    def is_held(self) -> bool:
        """Return whether some process holds the lock, without disturbing others that want it."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | _FLAGS)
        except OSError:
            return False
        try:
            # Shared: two callers do not conflict, and `acquire` waits this out.
            return not _locks(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Release the lock, if we hold it. The content of the file stays."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _take(self) -> int | None:
        """Return the locked file; None when another process holds it for good."""
        # Clients that only ask hold the lock for microseconds, so hundreds of tries fit in.
        until = time.monotonic() + 5.0
        while time.monotonic() < until:
            descriptor = self._open()
            if _locks(descriptor, fcntl.LOCK_EX):
                if self._is_at_path(descriptor):
                    return descriptor
                # Deleted between the two calls: another process may lock the next of that name.
                os.close(descriptor)
                continue
            asked_only = _locks(descriptor, fcntl.LOCK_SH)
            os.close(descriptor)
            if not asked_only:
                return None
            time.sleep(_PAUSE_S)
        return None

    def _open(self) -> int:
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | _FLAGS, 0o600)
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE,
                f"{self._path} cannot be opened ({error.strerror}); the daemon did not start.",
                "Look at the permissions of the file and of its folder.",
            ) from error
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise YaadError(
                Code.UNAVAILABLE,
                f"{self._path} is no plain file; the daemon did not start.",
                f"Remove it: rm {shlex.quote(str(self._path))}",
            )
        return descriptor

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), os.lstat(self._path))
        except FileNotFoundError:
            return False

    def _held(self) -> YaadError:
        try:
            pid, socket = self._path.read_text(encoding="utf-8").splitlines()[:2]
        except (OSError, ValueError):
            who = "Another daemon runs"
        else:
            who = f"Another daemon runs: pid {pid}, socket {socket}"
        return YaadError(
            Code.CONFLICT, f"{who}; this one did not start.", "End it first: yaadwatch stop"
        )


def _locks(descriptor: int, how: int) -> bool:
    """Try to lock a file; the lock ends when the descriptor is closed."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_MEMORY: Final = Path("/dev/shm")  # noqa: S108  (below it each folder is of its own, and private)
_PREFIX: Final = "yaadwatch-"


@contextlib.contextmanager
def holding(data: bytes) -> Iterator[IO[bytes]]:
    """Lend an open file that holds `data`, at its beginning: in memory, where the system can.

    Raises:
        YaadError: UNAVAILABLE when there is no room for it.
    """
    with contextlib.ExitStack() as stack:
        try:
            stream = stack.enter_context(_opened())
            stream.write(data)
            stream.seek(0)
        except OSError as error:
            raise _no_room(error) from error
        yield stream


@contextlib.contextmanager
def folder(fill: Callable[[Path], object]) -> Iterator[Path]:
    """Lend a private folder that `fill` has put something into; it is gone afterwards.

    It is where temporary files belong, or in memory when there is no room there.

    Raises:
        YaadError: UNAVAILABLE when there is room nowhere.
    """
    with contextlib.ExitStack() as stack:
        try:
            place = _filled(stack, fill, None)
        except OSError as error:
            if not _MEMORY.is_dir():
                raise _no_room(error) from error
            try:
                place = _filled(stack, fill, _MEMORY)
            except OSError:
                raise _no_room(error) from error
        yield place


def _opened() -> IO[bytes]:
    if sys.platform == "linux" and hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # where a sandbox does not know it
            return os.fdopen(os.memfd_create(_PREFIX, os.MFD_CLOEXEC), "w+b")
    return cast("IO[bytes]", tempfile.TemporaryFile())


def _filled(
    stack: contextlib.ExitStack, fill: Callable[[Path], object], where: Path | None
) -> Path:
    with contextlib.ExitStack() as own:
        made = tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where, ignore_cleanup_errors=True)
        place = Path(own.enter_context(made))
        fill(place)
        stack.push(own.pop_all())
    return place


def _no_room(error: OSError) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"What git is to compare found no room for a moment ({error.strerror}).",
        hint="Free some space in the folder of temporary files (TMPDIR, else /tmp).",
    )
