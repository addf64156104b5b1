"""Write a person's file without ever losing a byte: all of the new text, or all of the old.

The new text is put beside the file, with its mode, owner and extended attributes, and made durable.
Then the two change places in one step of the kernel, and what came out is compared with what was
expected: if somebody wrote in between, they change places back and nothing has happened. Where the
kernel cannot exchange two names, the comparison comes right before the rename.

A process that is killed between the exchange and the comparison leaves what came out beside the
file; `recover` undoes such a write. Whoever had the file open before the exchange may still write
to what came out; `Former` keeps it for a while, so that nothing of that is lost either.
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
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError

_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_SWAP = 2  # RENAME_SWAP of renameatx_np(2)
_AT_FDCWD = -100 if sys.platform == "linux" else -2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)

_BESIDE: Final = re.compile(r"\..+\.(?P<inode>\d+)-(?P<digest>[0-9a-f]{16})\.yaad", re.DOTALL)
"""A name beside a file: it tells our new file, by its number and bytes, from what came out."""

Step = Callable[[str], None]
"""Told the name of each step when it is done; tests end the process in it."""


class ChangedUnderneathError(Exception):
    """The file no longer holds what was expected; it holds what somebody else wrote.

    Args:
        path: the file.
        dropped: what else somebody wrote, and is nowhere now but here; None nearly always.
    """

    def __init__(self, path: str, dropped: bytes | None = None) -> None:
        super().__init__(path)
        self.dropped = dropped


class Former:
    """What a file was before it was replaced, kept open for those who still write to it.

    Args:
        descriptor: of the former file, open for reading; closed by `close`.
        held: what it held when it was replaced.
    """

    def __init__(self, descriptor: int, held: bytes) -> None:
        self._descriptor = descriptor
        self.held = held

    def written(self, bytes_max: int) -> bytes | None:
        """Return what it holds now, at most `bytes_max`; None when nobody wrote since."""
        size = os.fstat(self._descriptor).st_size
        now = os.pread(self._descriptor, min(size, bytes_max), 0)
        return None if now == self.held else now

    def close(self) -> None:
        """Let it go."""
        os.close(self._descriptor)


class Formers:
    """The former selves of files that were replaced lately. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[Hashable, list[tuple[Former, float]]] = {}

    def add(self, place: Hashable, former: Former, *, until_s: float) -> None:
        """Keep what the file at `place` was until a time of the monotonic clock."""
        with self._lock:
            self._open.setdefault(place, []).append((former, until_s))

    @contextlib.contextmanager
    def look(self, place: Hashable, *, now_s: float) -> Iterator[list[Former]]:
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

    def waits(self, places: Container[Hashable]) -> bool:
        """Tell whether any of these has a former self that may still be written to."""
        with self._lock:
            return any(place in places for place in self._open)

    def close(self) -> None:
        """Let all of them go."""
        with self._lock:
            for found in self._open.values():
                for former, _ in found:
                    former.close()
            self._open.clear()


def replace_expected(
    path: Path,
    expected: bytes,
    new: bytes,
    *,
    step: Step = lambda _: None,
    former: Callable[[Former], None] | None = None,
) -> None:
    """Make the file hold `new`, provided that it holds `expected` until the very moment.

    Args:
        path: a regular file of ours; links are not followed.
        expected: what it holds now.
        new: what it shall hold.
        step: told `checked`, `written`, `compared`, `exchanged`, `settled`, `synced`.
        former: given what the file was, to be closed by whoever takes it.

    Raises:
        ChangedUnderneathError: somebody else wrote it meanwhile; it holds what they wrote.
        YaadError: REFUSED when it is no regular file, has other names, or must not be written;
            UNAVAILABLE when it cannot be written (disk full, read-only). It holds what it held.
    """
    found = require_own(path)
    step("checked")
    with _told(path), contextlib.ExitStack() as undo:
        temporary = _beside(path)
        undo.callback(temporary.unlink, missing_ok=True)
        _write_like(path, found, temporary, new)
        inode = temporary.stat().st_ino
        named = path.with_name(f".{path.name}.{inode}-{_digest(new)}.yaad")
        temporary.replace(named)
        undo.callback(named.unlink, missing_ok=True)
        step("written")
        try:
            before = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ChangedUnderneathError(str(path)) from None
        undo.callback(os.close, before)
        if path.is_symlink() or path.read_bytes() != expected:
            raise ChangedUnderneathError(str(path))
        step("compared")
        exchanged = _exchange(named, path)
        if not exchanged:
            named.replace(path)
        # From here on the file beside holds what the person's file held; it goes only when that is
        # what was expected.
        undo.pop_all()
        step("exchanged")
        try:
            if exchanged:
                _settle(path, named, expected, new)
            step("settled")
            _sync_folder(path.parent)
        except BaseException:
            os.close(before)
            raise
        old = Former(before, expected)
        if former is not None:
            former(old)
        else:
            old.close()
        step("synced")


def recover(path: Path, keep: Callable[[bytes], None]) -> bool:
    """Undo a write of `path` whose process was killed before it was done; tell if there was one.

    Args:
        path: the person's file.
        keep: given what the file held then, when it was written since and holds other words now.

    Raises:
        YaadError: UNAVAILABLE when the folder cannot be written.
    """
    found = sorted(path.parent.glob(f".{_escaped(path.name)}.*.yaad"))
    with _told(path):
        for beside in found:
            if _came_out(beside):
                if _is_ours(path, beside):
                    _exchange(beside, path)
                else:
                    keep(beside.read_bytes())
            beside.unlink()  # ours, or kept
    return bool(found)


def create_new(path: Path, data: bytes, *, mode: int = 0o644) -> None:
    """Make a file that is not there yet, whole or not at all.

    Raises:
        ChangedUnderneathError: something is there.
        YaadError: UNAVAILABLE when it cannot be written.
    """
    temporary = _beside(path)
    with _told(path):
        try:
            _write(temporary, data, mode)
            os.link(temporary, path)
        except FileExistsError:
            raise ChangedUnderneathError(str(path)) from None
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def require_own(path: Path) -> os.stat_result:
    """Return what stands at `path`: a plain file of ours that may be written.

    Raises:
        YaadError: REFUSED when it is no regular file, has other names, belongs to somebody else,
            or is read-only.
        FileNotFoundError: nothing is there.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        raise _refused(path, "is not a regular file")
    if found.st_nlink > 1:
        raise _refused(path, f"has {found.st_nlink} names (hard links)")
    if found.st_uid != os.geteuid():
        raise _refused(path, "belongs to another user")
    if not found.st_mode & stat.S_IWUSR:
        raise _refused(path, "is read-only")
    return found


def _write_like(path: Path, found: os.stat_result, temporary: Path, data: bytes) -> None:
    """Write a file with the mode, group and extended attributes (ACLs are among them) of `path`."""
    _write(temporary, data, stat.S_IMODE(found.st_mode))
    if temporary.stat().st_gid != found.st_gid:
        os.chown(temporary, -1, found.st_gid)
        temporary.chmod(stat.S_IMODE(found.st_mode))
    if hasattr(os, "listxattr"):
        for name in os.listxattr(path, follow_symlinks=False):
            os.setxattr(temporary, name, os.getxattr(path, name, follow_symlinks=False))


def _write(temporary: Path, data: bytes, mode: int) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(temporary, flags, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())


def _beside(path: Path) -> Path:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.yaad")
    temporary.unlink(missing_ok=True)
    return temporary


def _came_out(beside: Path) -> bool:
    """Tell whether a file beside is what came out of an exchange, and not what was to go in."""
    named = _BESIDE.fullmatch(beside.name)
    return named is not None and int(named["inode"]) != beside.lstat().st_ino


def _is_ours(path: Path, beside: Path) -> bool:
    """Tell whether a file is what we put in its place, and nobody has written it since."""
    named = _BESIDE.fullmatch(beside.name)
    if named is None or path.is_symlink() or not path.is_file():
        return False
    return int(named["inode"]) == path.stat().st_ino and named["digest"] == _digest(
        path.read_bytes()
    )


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


def _settle(path: Path, temporary: Path, expected: bytes, new: bytes) -> None:
    """Drop what came out, if it is what was expected; else put it back."""
    if temporary.read_bytes() == expected:
        temporary.unlink()
        return
    _exchange(temporary, path)
    dropped = None
    if temporary.read_bytes() != new:
        # A second writer, since the first exchange: theirs is the newest, and goes back too. What
        # comes out now is what they replaced, without having seen it perhaps.
        _exchange(temporary, path)
        dropped = temporary.read_bytes()
    temporary.unlink()
    raise ChangedUnderneathError(str(path), dropped)


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} could not be written ({error.strerror}); it holds what it held before.",
            hint="Look at the space and the permissions there; it is tried again later.",
        ) from error


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places in one step; False when this system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    name, flag = ("renameat2", _EXCHANGE) if sys.platform == "linux" else ("renameatx_np", _SWAP)
    call = getattr(library, name, None)
    if call is None:
        return False
    call.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    if call(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in _UNSUPPORTED:
        return False
    raise OSError(number, os.strerror(number), str(other))


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
    finally:
        os.close(descriptor)
