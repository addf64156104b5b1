"""Replace a person's file without ever losing a byte: all of the new text, or all of the old.

The new text is written next to the file, with its mode, owner and extended attributes, and made
durable. The kernel then exchanges the two in one step (renameat2(2) on Linux, renameatx_np(2) on
macOS), and the old content is compared with the expected content: after a write in between they are
exchanged back, and nothing has changed. On file systems without an exchange, the comparison comes
right before the rename.

A process killed between exchange and comparison leaves the old content next to the file; `recover`
undoes such a write. A process that opened the file before the exchange may still write to the old
inode; it is kept open and watched for a while, so that such a write is not lost either.
"""

import contextlib
import ctypes
import errno
import hashlib
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Container, Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.plain_files import open_plain, read_open, read_plain


class StaleHandle:
    """The old inode of a replaced file, watched for late writes.

    Args:
        descriptor: of the old file, open for reading; closed by `close`.
        held: its content when it was replaced.
    """

    def __init__(self, descriptor: int, held: bytes) -> None:
        self._descriptor = descriptor
        self.held = held

    def written(self, bytes_max: int) -> bytes | None:
        """Return its content, at most `bytes_max`; None when it was not written since."""
        size = os.fstat(self._descriptor).st_size
        now = os.pread(self._descriptor, min(size, bytes_max), 0)
        return None if now == self.held else now

    @property
    def is_written(self) -> bool:
        """Whether it holds something else now."""
        return self.written(len(self.held) + 1) is not None

    def close(self) -> None:
        """Let it go."""
        os.close(self._descriptor)


class StaleHandles:
    """The former selves of files that were replaced lately. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Hashable, list[tuple[StaleHandle, float]]] = {}

    def add(self, place: Hashable, former: StaleHandle, *, until_s: float) -> None:
        """Keep the handle of the file at `place` until a time of the monotonic clock.

        Handles not checked for long, such as of a removed project, are closed.
        """
        with self._lock:
            for other, found in list(self._open.items()):
                if found[-1][1] < until_s - 60.0:
                    for old, _ in self._open.pop(other):
                        old.close()
            self._open.setdefault(place, []).append((former, until_s))

    @contextlib.contextmanager
    def look(self, place: Hashable, *, now_s: float) -> Iterator[list[StaleHandle]]:
        """Lend what the file at `place` was; those whose time is over go afterwards.

        When looking fails, they are kept for the next time.
        """
        with self._lock:
            found = self._open.pop(place, [])
        left = found
        try:
            yield [former for former, _ in found]
            left = [(former, until_s) for former, until_s in found if until_s > now_s]
            for former, until_s in found:
                if until_s <= now_s:
                    former.close()
        finally:
            if left:
                with self._lock:
                    self._open.setdefault(place, []).extend(left)

    def forget(self, says: Callable[[bytes], bool]) -> None:
        """Close handles whose content matches `says`, unless they were written to since.

        A late write is a person's, and kept until it is in the current file.
        """
        with self._lock:
            for place, found in list(self._open.items()):
                gone = [one for one, _ in found if says(one.held) and not one.is_written]
                left = [(one, until_s) for one, until_s in found if one not in gone]
                for one in gone:
                    one.close()
                if left:
                    self._open[place] = left
                else:
                    del self._open[place]

    def waits(self, places: Container[Hashable]) -> bool:
        """Return whether any of these has a stale handle."""
        with self._lock:
            return any(place in places for place in self._open)

    def close(self) -> None:
        """Let all of them go."""
        with self._lock:
            for found in self._open.values():
                for former, _ in found:
                    former.close()
            self._open.clear()


_LINUX: Final = sys.platform == "linux"
_EXCHANGE: Final = 2  # RENAME_EXCHANGE of renameat2(2), RENAME_SWAP of renameatx_np(2)
_ONLY_NEW: Final = 1 if _LINUX else 4  # RENAME_NOREPLACE, RENAME_EXCL
_AT_FDCWD: Final = -100 if _LINUX else -2
UNSUPPORTED: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
"""Errors of a system that lacks the call."""


def exchange(one: Path, other: Path) -> bool:
    """Have two names change places in one step; False when this system cannot.

    Raises:
        OSError: one of them is not there, or the folder cannot be written.
    """
    return _rename(one, other, _EXCHANGE)


def to_new_name(temporary: Path, path: Path) -> None:
    """Give a file a name that is not taken.

    Raises:
        FileExistsError: it is taken.
    """
    if _rename(temporary, path, _ONLY_NEW):
        return
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in (*UNSUPPORTED, errno.EPERM):
            raise
        # Neither is to be had here; what is left is the time between these two lines.
        if os.path.lexists(path):
            raise FileExistsError(str(path)) from None
        temporary.replace(path)


def _rename(one: Path, other: Path, flag: int) -> bool:
    """Rename in one system call with `flag`; False when this system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    call = getattr(library, "renameat2" if _LINUX else "renameatx_np", None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


_BESIDE: Final = re.compile(
    r"(?P<stem>\..+)\.(?P<number>\d+)(?:-(?P<digest>[0-9a-f]{16}))?\.yaad", re.DOTALL
)
"""The name of a temporary file; its inode and digest distinguish our new file from the old one."""

BYTES_MAX: Final = 64 * 1024 * 1024
"""No file is written that is larger, so a larger one is not ours; live state of agents has tens of
MB."""

Step = Callable[[str], None]
"""Told the name of each step when it is done; tests end the process in it."""


class ChangedUnderneathError(Exception):
    """The file no longer holds the expected content; another program's write is in place.

    Args:
        path: the file.
        dropped: content that a second program may have replaced without having read it; nearly
            always None.
    """

    def __init__(self, path: str, dropped: bytes | None = None) -> None:
        super().__init__(path)
        self.dropped = dropped


def replace_expected(
    path: Path,
    expected: bytes,
    new: bytes,
    *,
    step: Step = lambda _: None,
    former: Callable[[StaleHandle], None] | None = None,
) -> None:
    """Replace the content `expected` of a file by `new`, unless it changes before the exchange.

    Args:
        path: a regular file of this user; links are not followed.
        expected: its current content.
        new: its new content.
        step: called with `checked`, `written`, `compared`, `exchanged`, `settled`, `synced`.
        former: receives the handle of the old inode, and must close it.

    Raises:
        ChangedUnderneathError: another program wrote it meanwhile; its write is in place.
        YaadError: REFUSED when it is not a regular file, has other names, or must not be written;
            UNAVAILABLE when it cannot be written (disk full, read-only). Its content is unchanged.
    """
    try:
        found = require_own(path)
    except FileNotFoundError:
        raise ChangedUnderneathError(str(path)) from None
    step("checked")
    with _told(path), contextlib.ExitStack() as opened, contextlib.ExitStack() as undo:
        named = _write_temporary(path, found, new, undo)
        step("written")
        before = _open_plain(path, opened)
        ours = _open_plain(named, opened)
        if before is None or ours is None or not _holds(before, expected):
            raise ChangedUnderneathError(str(path))
        step("compared")
        try:
            exchanged = exchange(named, path)
        except FileNotFoundError:
            raise ChangedUnderneathError(str(path)) from None
        if not exchanged:
            named.replace(path)
        # From here on the temporary file holds the person's old content; it is deleted only when
        # that is the expected content.
        undo.pop_all()
        step("exchanged")
        if exchanged and not _is_still(named, before, expected):
            _restore_other_write(path, named, _Ours(ours, new), expected, former)
        if exchanged:
            named.unlink()
        step("settled")
        if former is not None:
            former(StaleHandle(os.dup(before), expected))
        try:
            _sync_folder(path.parent)
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE,
                f"{path} was written, but the disk did not say that it keeps it"
                f" ({error.strerror}).",
                hint="Look at the disk; it is tried again later.",
            ) from error
        step("synced")


def recover(path: Path, keep: Callable[[bytes], None]) -> bool:
    """Undo a write of `path` whose process was killed; return whether there was one.

    Args:
        path: the person's file.
        keep: receives the old content, when the file was written since and differs from it.

    Raises:
        YaadError: UNAVAILABLE when the folder cannot be written.
    """
    left = [
        (beside, named)
        for beside in sorted(path.parent.glob(f"{_escaped(_stem(path))}.*.yaad"))
        if (named := _BESIDE.fullmatch(beside.name)) and named["stem"] == _stem(path)
        if stat.S_ISREG((found := beside.lstat()).st_mode) and found.st_size <= BYTES_MAX
    ]
    with _told(path):
        for beside, named in left:
            if named["digest"] is not None and not _is_named(beside, named["number"]):
                _undo(path, beside, named, keep)
            beside.unlink()  # ours, or kept
    return bool(left)


def create_new(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Make a file that is not there yet, whole or not at all.

    Raises:
        ChangedUnderneathError: something is there.
        YaadError: UNAVAILABLE when it cannot be written.
    """
    with _told(path):
        temporary = _beside(path)
        try:
            _write(temporary, data, mode)
            to_new_name(temporary, path)
        except FileExistsError:
            raise ChangedUnderneathError(str(path)) from None
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def require_own(path: Path) -> os.stat_result:
    """Return the status of `path`, which must be a writable plain file of this user.

    Raises:
        YaadError: REFUSED when it is not a regular file, has other names, belongs to another user,
            or is read-only; UNAVAILABLE when that cannot be found out.
        FileNotFoundError: nothing is there.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unavailable(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        raise _refused(path, "is not a regular file")
    if found.st_nlink > 1:
        raise _refused(path, f"has {found.st_nlink} names (hard links)")
    if found.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user")
    if not found.st_mode & stat.S_IWUSR:
        raise _refused(path, "is read-only")
    return found


def _write_temporary(
    path: Path, found: os.stat_result, new: bytes, undo: contextlib.ExitStack
) -> Path:
    """Write the new file next to `path` and return its name; `undo` removes it."""
    temporary = _beside(path)
    undo.callback(temporary.unlink, missing_ok=True)
    inode = _write(temporary, new, stat.S_IMODE(found.st_mode), like=(path, found))
    named = path.with_name(f"{_stem(path)}.{inode}-{_digest(new)}.yaad")
    temporary.replace(named)
    undo.callback(named.unlink, missing_ok=True)
    return named


def _write(
    temporary: Path, data: bytes, mode: int, like: tuple[Path, os.stat_result] | None = None
) -> int:
    """Write a file, with the group and the extended attributes of another; return its number."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        if like is not None:
            path, found = like
            if os.fstat(descriptor).st_gid != found.st_gid:
                os.fchown(descriptor, -1, found.st_gid)
            _copy_attributes(path, descriptor)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        return os.fstat(descriptor).st_ino


def _copy_attributes(path: Path, descriptor: int) -> None:
    """Give a file exactly the extended attributes of another; ACLs are among them.

    A folder may have given a new file an ACL that the former one did not have.
    """
    if not hasattr(os, "listxattr"):
        return
    try:
        wanted = {
            name: os.getxattr(path, name, follow_symlinks=False)
            for name in os.listxattr(path, follow_symlinks=False)
        }
        there = {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except OSError as error:
        if error.errno in UNSUPPORTED:
            return
        raise
    for name in there.keys() - wanted.keys():
        os.removexattr(descriptor, name)
    for name, value in wanted.items():
        if there.get(name) != value:
            os.setxattr(descriptor, name, value)


def _stem(path: Path) -> str:
    """Return the prefix of the temporary names of a file."""
    name = os.fsencode(path.name)
    # A longer name leaves no room for what is added; most systems take 255 bytes.
    return f".{path.name}" if len(name) <= 200 else f".{_digest(name)}"


def _beside(path: Path) -> Path:
    temporary = path.with_name(f"{_stem(path)}.{os.getpid()}.yaad")
    temporary.unlink(missing_ok=True)
    return temporary


def _open_plain(path: Path, opened: contextlib.ExitStack) -> int | None:
    """Open a regular file, until `opened` is closed; None when it is not a regular file."""
    try:
        descriptor = open_plain(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.EINVAL):
            return None
        raise
    opened.callback(os.close, descriptor)
    return descriptor


def _holds(descriptor: int, data: bytes) -> bool:
    at = 0
    while chunk := os.pread(descriptor, len(data) + 1 - at, at):
        at += len(chunk)
        if data[at - len(chunk) : at] != chunk:
            return False
    return at == len(data)


def _is_still(beside: Path, descriptor: int, data: bytes) -> bool:
    """Return whether a name refers to the file that we opened, with exactly these bytes."""
    try:
        return os.path.samestat(beside.lstat(), os.fstat(descriptor)) and _holds(descriptor, data)
    except OSError:  # so it is nothing that may be dropped
        return False


def _content(path: Path) -> bytes | None:
    """Return the content of a regular file; None when it is not a regular file."""
    with contextlib.ExitStack() as opened:
        descriptor = _open_plain(path, opened)
        return None if descriptor is None else read_open(descriptor, BYTES_MAX, path)


def _is_named(path: Path, number: str, digest: str | None = None) -> bool:
    """Return whether a file is the one we wrote, by its inode and digest."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or int(number) != found.st_ino:
        return False
    return digest is None or _digest(_content(path) or b"") == digest


def _undo(path: Path, beside: Path, named: re.Match[str], keep: Callable[[bytes], None]) -> None:
    """Restore the old content, if the file was not written since; otherwise pass it to `keep`."""
    number, digest = named["number"], named["digest"]
    if _is_named(path, number, digest) and exchange(beside, path):
        if _is_named(beside, number, digest):
            return
        exchange(beside, path)  # another program wrote in between
    keep(read_plain(beside, BYTES_MAX))


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


@dataclass(frozen=True, slots=True)
class _Ours:
    """Our new file: a descriptor of it, and what we wrote into it."""

    descriptor: int
    held: bytes


def _restore_other_write(
    path: Path,
    named: Path,
    ours: _Ours,
    expected: bytes,
    former: Callable[[StaleHandle], None] | None,
) -> NoReturn:
    """Restore the write of another program that came in between.

    If two programs wrote, the first content goes to `former`, too: what it only added to `expected`
    can be added to the second.

    Raises:
        ChangedUnderneathError: always.
    """
    dropped = _content(named)
    try:
        exchange(named, path)
        if not _is_still(named, ours.descriptor, ours.held):
            # A second writer, since the first exchange: theirs is the newest, and goes back too.
            # What comes out now is what they replaced, without having seen it perhaps.
            exchange(named, path)
            dropped = _handed_over(named, expected, former)
        elif former is not None:  # a program that opened our file meanwhile may still write to it
            former(StaleHandle(os.dup(ours.descriptor), ours.held))
    except FileNotFoundError:  # our file was deleted by a program that did not see the old one
        dropped = _content(named)
    named.unlink()
    raise ChangedUnderneathError(str(path), dropped)


def _handed_over(
    named: Path, expected: bytes, former: Callable[[StaleHandle], None] | None
) -> bytes | None:
    """Return the content of a regular file, and pass its handle to `former`."""
    with contextlib.ExitStack() as opened:
        descriptor = _open_plain(named, opened)
        if descriptor is not None and former is not None:
            former(StaleHandle(os.dup(descriptor), expected))
    return _content(named)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unavailable(path, error) from error


def _unavailable(path: Path, error: OSError) -> YaadError:
    return YaadError(
        Code.UNAVAILABLE,
        f"{path} could not be written ({error.strerror}); it holds what it held before.",
        hint="Look at the space and the permissions there; it is tried again later.",
    )


def _refused(path: Path, what: str) -> YaadError:
    return YaadError(
        Code.REFUSED,
        f"{path} {what}; it was not written.",
        hint="Make it a plain file of your own, or release it: yaadwatch files release",
    )


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network file systems have no such thing for folders
        if error.errno not in UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
