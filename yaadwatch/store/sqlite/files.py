"""The file of a store: opened without following a link, and whether it still is where it was."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from yaadwatch.store.sqlite.faults import damaged, refused, unavailable

_WRITE_AHEAD = "-wal"
_SHARED_MEMORY = "-shm"


class StoreFile:
    """The file of an open store, held by a descriptor.

    Closing any descriptor of a file drops every lock that the process has on it: so there is one
    for each store, and `close` comes after the last connection is closed.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        """Hold the file at `path`, an absolute path without links in its folders.

        If it is `read_only`, its permissions stay as they are, and another process may add a log.

        Raises:
            YaadError: UNAVAILABLE when there is no file, or none that can be opened; REFUSED when
                it is a link or belongs to somebody else.
        """
        self.path = path
        self._places = str(path), f"{path}{_WRITE_AHEAD}"  # asked with each write
        self._descriptor = _open_own_file(path, read_only=read_only)
        self._main = _identity(os.fstat(self._descriptor))
        self._write_ahead: tuple[int, int] | None = None
        self._read_only = read_only
        self.closed = False

    def note_write_ahead(self) -> None:
        """Remember which write-ahead log the first connection made or found."""
        self._write_ahead = _find(self._places[1])

    def is_in_place(self) -> bool:
        """Return whether database and write-ahead log are where they were opened."""
        is_log_ours = self._read_only or _find(self._places[1]) == self._write_ahead
        return is_log_ours and _find(self._places[0]) == self._main

    def drop_logs_if_replaced(self) -> None:
        """Delete our logs from beside another file: whoever opens that would read them as its own.

        Raises:
            OSError: they could not be deleted.
        """
        main, log = _find(self._places[0]), _find(self._places[1])
        if log is not None and log == self._write_ahead and main not in (None, self._main):
            drop_logs(self.path)

    def close(self) -> None:
        """Let the file go."""
        self.closed = True
        os.close(self._descriptor)


def make_folder(folder: Path, outcome: str) -> None:
    """Make a folder, 0700, and what is missing above it; one that is there stays as it is.

    Raises:
        YaadError: UNAVAILABLE when it cannot be made; the message ends with `outcome`.
    """
    if not folder.is_dir():
        make_folder(folder.parent, outcome)
        with _telling(folder, outcome):
            folder.mkdir(mode=0o700, exist_ok=True)


def drop_logs(path: Path) -> None:
    """Delete what a database that is gone left beside it; its successor must not read it."""
    for ending in (_WRITE_AHEAD, _SHARED_MEMORY):
        _beside(path, ending).unlink(missing_ok=True)


@contextmanager
def put_in_place(path: Path, outcome: str, content: bytes = b"") -> Iterator[Path]:
    """Give a file beside `path`, 0600; it takes the place of `path` when all went well.

    What was written to it is on the disk before it is seen under its name.

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
        _check_own_file(path, found)
        if not read_only and stat.S_IMODE(found.st_mode) != 0o600:
            with _telling(path, "it was not opened"):
                os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _check_own_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise unavailable(f"{path} is no file; nothing was changed.", "Move it away.")
    if found.st_uid != os.geteuid():
        raise refused(
            f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}; it was not read.",
            "Use a store of your own.",
        )
    if found.st_size == 0:
        raise damaged(path, "it is empty")


@contextmanager
def _telling(path: Path, outcome: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unavailable(
            f"{path} could not be written ({error.strerror}); {outcome}.",
            "Look at the space on its disk and at the permissions of its folder.",
        ) from error


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


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
