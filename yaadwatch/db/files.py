"""Hold the file of a store safely, and turn SQLite and system errors into error messages.

The file is opened without following a link, and checked to be in place before each write.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import apsw
from apsw import Connection, ConstraintError

from yaadwatch.model.errors import Code, YaadError

__all__ = (
    "Connection",
    "ConstraintError",
)


UNTOUCHED = "nothing was changed"
DAMAGED = "damaged"
"""The folder beside a store for stores as they were when damaged; later ones in subfolders."""


class translated_errors:  # noqa: N801  (used like a function; a generator costs three times as much)
    """Turn errors on a store's file inside a `with` block into a YaadError.

    Args:
        path: the store, for the message.
        outcome: what then was or was not done, as a clause without a full stop.

    Raises:
        YaadError: UNAVAILABLE; no space, no permission, a damaged file, another program's lock.
    """

    __slots__ = ("_outcome", "_path")

    def __init__(self, path: Path, outcome: str = UNTOUCHED) -> None:
        self._path = path
        self._outcome = outcome

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise the YaadError for `error`; other errors pass."""
        if error is not None:
            _translate(self._path, self._outcome, error)


def _translate(path: Path, outcome: str, error: BaseException) -> None:
    if isinstance(error, apsw.FullError):
        raise unavailable(
            f"There is no space left for {path}; {outcome}.", "Free some space, then try again."
        ) from error
    if isinstance(error, apsw.NoMemError | MemoryError):
        raise unavailable(
            f"There is not enough memory for {path}; {outcome}.", "End a program, then try again."
        ) from error
    if _is_damage(error):
        raise damaged(path, str(error), outcome) from error
    if isinstance(error, apsw.BusyError):
        raise unavailable(
            f"Another program holds {path} locked; {outcome}.", "End that program, then try again."
        ) from error
    if isinstance(error, apsw.ReadOnlyError | apsw.PermissionsError | apsw.AuthError):
        raise unavailable(
            f"{path} may not be written to ({error}); {outcome}.",
            "Look at the permissions of the file and of its folder.",
        ) from error
    if isinstance(error, apsw.IOError | apsw.CantOpenError):
        raise unavailable(
            f"{path} could not be read or written ({error}); {outcome}.",
            "Look at its disk and its permissions, then try again.",
        ) from error


def is_damage(error: YaadError) -> bool:
    """Return whether `error` means a file that is no database, or a damaged one."""
    return _is_damage(error.__cause__)


def _is_damage(error: BaseException | None) -> bool:
    if isinstance(error, apsw.SQLError):  # the file was altered by hand
        return str(error).startswith(("no such table: ", "no such column: "))
    return isinstance(error, apsw.CorruptError | apsw.NotADBError)


def is_unwritable(error: YaadError) -> bool:
    """Return whether `error` means a file that is readable but not writable."""
    return isinstance(error.__cause__, apsw.FullError | apsw.ReadOnlyError)


def is_no_room(error: YaadError) -> bool:
    """Return whether `error` means a full disk."""
    cause = error.__cause__
    return isinstance(cause, apsw.FullError) or getattr(cause, "errno", 0) == errno.ENOSPC


def unavailable(message: str, hint: str = "") -> YaadError:
    """Return the error for a store that cannot be used now."""
    return YaadError(Code.UNAVAILABLE, message, hint)


def refused(message: str, hint: str = "") -> YaadError:
    """Return the error for a store that is left alone on purpose."""
    return YaadError(Code.REFUSED, message, hint)


def damaged(path: Path, why: str, outcome: str = UNTOUCHED) -> YaadError:
    """Return the error for a file that is no database, or a damaged one."""
    return unavailable(
        f"{path} is damaged or is no database ({why}); {outcome}.",
        "Move it away, then put a backup in its place or let an empty one be made. The commands:"
        " yaadwatch doctor",
    )


def not_in_place(path: Path) -> YaadError:
    """Return the error for a store whose file was deleted, moved or replaced while it was open."""
    return unavailable(
        f"{path} was deleted, moved or replaced while it was open; nothing was changed.",
        "Put the file back, or restore a backup: yaadwatch add --restore",
    )


class StoreFile:
    """The file of an open store, held by a descriptor.

    Closing any descriptor of a file drops every lock that the process has on it, so each store has
    exactly one, and `close` comes after the last connection is closed.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Hold the file at `path`, an absolute path without links in its folders.

        If it is `read_only`, its permissions stay as they are, and another process may add a log.

        Raises:
            YaadError: UNAVAILABLE when the file is missing or cannot be opened; REFUSED when
                it is a link or belongs to another user.
        """
        self.path = path
        self._places = str(path), f"{path}-wal"  # asked with each write
        self._descriptor = _open_own_file(path, read_only=read_only)
        self._main = _identity(os.fstat(self._descriptor))
        self._write_ahead: tuple[int, int] | None = None
        self._read_only = read_only
        self.closed = False

    def note_write_ahead(self) -> None:
        """Store the identity of the write-ahead log that the first connection opened."""
        self._write_ahead = _find(self._places[1])

    def is_in_place(self) -> bool:
        """Return whether database and write-ahead log are where they were opened."""
        is_log_ours = self._read_only or _find(self._places[1]) == self._write_ahead
        return is_log_ours and _find(self._places[0]) == self._main

    def drop_logs_if_replaced(self) -> None:
        """Delete our logs beside a replaced file: its next reader would take them for its own.

        Raises:
            OSError: they could not be deleted.
        """
        main, log = _find(self._places[0]), _find(self._places[1])
        if log is not None and log == self._write_ahead and main not in (None, self._main):
            drop_logs(self.path)

    def close(self) -> None:
        """Close the descriptor."""
        self.closed = True
        os.close(self._descriptor)


def make_folder(folder: Path, outcome: str) -> None:
    """Create a folder, 0700, and its missing parents; an existing folder is unchanged.

    Raises:
        YaadError: UNAVAILABLE when it cannot be made; the message ends with `outcome`.
    """
    if not folder.is_dir():
        make_folder(folder.parent, outcome)
        with _telling(folder, outcome):
            folder.mkdir(mode=0o700, exist_ok=True)


def drop_logs(path: Path) -> None:
    """Delete the logs of a removed database, which its successor must not read."""
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


@contextmanager
def replacing(path: Path, outcome: str, content: bytes = b"") -> Iterator[Path]:
    """Yield a temporary file beside `path`, 0600, that replaces `path` after a block without
    errors.

    Its content is on disk before it gets the name.

    Raises:
        YaadError: UNAVAILABLE when the folder cannot be written to; the message ends with
            `outcome`.
    """
    temporary = path.with_name(f"{path.name}.new")
    with _telling(path, outcome):
        temporary.unlink(missing_ok=True)
        temporary.touch(mode=0o600, exist_ok=False)
    try:
        with _telling(path, outcome):
            temporary.write_bytes(content)
        yield temporary
        with _telling(path, outcome):
            _sync(temporary, os.O_RDWR)
            temporary.replace(path)
            # Without this, a power cut could bring the old name back.
            _sync(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _open_own_file(path: Path, *, read_only: bool) -> int:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise unavailable(f"There is no store at {path}.", "yaadwatch add makes one.") from None
    except OSError as error:
        if path.is_symlink():
            raise refused(
                f"{path} is a link; it was not followed.", "Put the file itself there."
            ) from None
        raise unavailable(
            f"{path} could not be opened ({error.strerror}); nothing was changed.",
            "Look at the permissions of the file and of its folder.",
        ) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise unavailable(f"{path} is no file; nothing was changed.", "Move it away.")
        if found.st_uid != os.geteuid():
            raise refused(
                f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}; it was not read.",
                "Use a store of your own.",
            )
        if found.st_size == 0:
            raise damaged(path, "it is empty")
        if not read_only and stat.S_IMODE(found.st_mode) != 0o600:
            with _telling(path, "it was not opened"):
                os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextmanager
def _telling(path: Path, outcome: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(
            f"{path} could not be written ({error.strerror}); {outcome}.",
            "Look at the space on its disk and at the permissions of its folder.",
        ) from error


def _find(path: str) -> tuple[int, int] | None:
    try:
        return _identity(os.lstat(path))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
