"""What makes this process the daemon: its lock file, and what a service manager hands over.

systemd passes a socket as descriptor 3 (sd_listen_fds(3)) and receives notifications as datagrams
on NOTIFY_SOCKET (sd_notify(3)). Without a manager neither is used.
"""

import fcntl
import os
import shlex
import socket
import stat
import time
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.files import private_folder

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
        YaadError: BAD_REQUEST when what was handed over is not one Unix socket that listens.
    """
    said = {name: environ.pop(name, "") for name in _OURS}
    address = environ.pop("NOTIFY_SOCKET", "")
    own = str(os.getpid())
    count = _whole(said["LISTEN_FDS"]) if said["LISTEN_PID"] == own else 0
    watchdog_us = _whole(said["WATCHDOG_USEC"]) if said["WATCHDOG_PID"] in {"", own} else 0
    return Manager(
        listening=_listening(count) if count else None,
        address=address,
        watchdog_s=watchdog_us / 1e6 if watchdog_us else None,
    )


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def _listening(count: int) -> socket.socket:
    """Return the socket that was handed over, as descriptor 3."""
    if count > 1:
        raise _odd(f"there are {count}, and one is wanted")
    try:
        given = socket.socket(fileno=3)
    except OSError as error:
        raise _odd(f"descriptor 3 is no socket ({error.strerror})") from error
    given.set_inheritable(False)
    is_stream = given.family == socket.AF_UNIX and given.type == socket.SOCK_STREAM
    if not is_stream or not given.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
        raise _odd("it is no Unix stream socket that listens")
    return given


def _odd(why: str) -> YaadError:
    return YaadError(
        Code.BAD_REQUEST,
        f"The service manager handed over sockets that cannot be used: {why}."
        " The daemon did not start.",
        "Write the units again: yaadwatch install",
    )


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
            time.sleep(0.005)
        return None

    def _open(self) -> int:
        try:
            # Opening a pipe in its place would block for ever.
            flags = os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, 0o600)
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
