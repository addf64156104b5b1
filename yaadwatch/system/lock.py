"""Who is the daemon: the process that holds the lock on one file, which says where it listens."""

import fcntl
import os
import shlex
import stat
import time
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.files import private_folder

_PAUSE_S: Final = 0.005
# A pipe in its place would let whoever opens it wait for ever.
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
        """Take the lock, and write down our pid and the socket that we listen on.

        Args:
            socket: where we listen.
            patience_s: wait so long for another daemon to end, in seconds.

        Raises:
            YaadError: CONFLICT when another process holds it, or this object does; the message says
                who. REFUSED when the folder is a link or somebody else's; UNAVAILABLE when the file
                cannot be opened.
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
        """Take the lock of the file at our path, too, if the one that we hold was deleted.

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
        """Say in the file that is locked who we are."""
        self._descriptor = descriptor
        # Written first and cut after: a client that reads meanwhile finds two whole lines.
        os.pwrite(descriptor, self._text, 0)
        os.ftruncate(descriptor, len(self._text))

    def is_held(self) -> bool:
        """Return whether some process holds the lock. Nobody who wants it is disturbed."""
        try:
            descriptor = os.open(self._path, os.O_RDONLY | _FLAGS)
        except OSError:
            return False
        try:
            # Shared: two who ask do not get in each other's way, and `acquire` waits this out.
            return not _locks(descriptor, fcntl.LOCK_SH)
        finally:
            os.close(descriptor)

    def close(self) -> None:
        """Let the lock go, if we hold it. What the file says stays, and is nobody's."""
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
                # Deleted between the two calls: somebody else may lock the next of that name.
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
    """Lock a file if that can be had at once; the lock goes when the descriptor is closed."""
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
