"""Write a person's file without ever losing a byte: all of the new text, or all of the old.

The new text is put beside the file, with its mode, owner and extended attributes, and made durable.
Then the two change places in one step of the kernel, and what came out is compared with what was
expected: if somebody wrote in between, they change places back and nothing has happened. Where the
kernel cannot exchange two names, the comparison comes right before the rename.

A process that is killed between the exchange and the comparison leaves what came out beside the
file; `recover` undoes such a write. Whoever had the file open before the exchange may still write
to what came out; a `Former` keeps it for a while, so that nothing of that is lost either.
"""

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.safe_write import kernel_rename
from yaadwatch.system.safe_write.former_files import Former

_PLAIN_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

_BESIDE: Final = re.compile(
    r"(?P<stem>\..+)\.(?P<number>\d+)(?:-(?P<digest>[0-9a-f]{16}))?\.yaad", re.DOTALL
)
"""A name beside a file: it tells our new file, by its number and bytes, from what came out."""
_NAME_BYTES_MAX: Final = 200
"""A longer name leaves no room for what is added to it; most systems take 255 bytes."""

Step = Callable[[str], None]
"""Told the name of each step when it is done; tests end the process in it."""


class ChangedUnderneathError(Exception):
    """The file no longer holds what was expected; it holds what somebody else wrote.

    Args:
        path: the file.
        dropped: what somebody wrote, and another one may have replaced without having seen it;
            None nearly always.
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
    try:
        found = require_own(path)
    except FileNotFoundError:
        raise ChangedUnderneathError(str(path)) from None
    step("checked")
    with _told(path), contextlib.ExitStack() as opened, contextlib.ExitStack() as undo:
        named = _put_beside(path, found, new, undo)
        step("written")
        before = _open_plain(path, opened)
        ours = _open_plain(named, opened)
        if before is None or ours is None or not _holds(before, expected):
            raise ChangedUnderneathError(str(path))
        step("compared")
        try:
            exchanged = kernel_rename.exchange(named, path)
        except FileNotFoundError:
            raise ChangedUnderneathError(str(path)) from None
        if not exchanged:
            named.replace(path)
        # From here on the file beside holds what the person's file held; it goes only when that is
        # what was expected.
        undo.pop_all()
        step("exchanged")
        if exchanged and not _is_still(named, before, expected):
            _put_back(path, named, _Ours(ours, new), expected, former)
        if exchanged:
            named.unlink()
        step("settled")
        if former is not None:
            former(Former(os.dup(before), expected))
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
    """Undo a write of `path` whose process was killed before it was done; tell if there was one.

    Args:
        path: the person's file.
        keep: given what the file held then, when it was written since and holds other words now.

    Raises:
        YaadError: UNAVAILABLE when the folder cannot be written.
    """
    found = [
        (beside, named)
        for beside in sorted(path.parent.glob(f"{_escaped(_stem(path))}.*.yaad"))
        if (named := _BESIDE.fullmatch(beside.name)) and named["stem"] == _stem(path)
        if stat.S_ISREG(beside.lstat().st_mode)
    ]
    with _told(path):
        for beside, named in found:
            if named["digest"] is not None and not _is_named(beside, named["number"]):
                _undo(path, beside, named, keep)
            beside.unlink()  # ours, or kept
    return bool(found)


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
            kernel_rename.to_new_name(temporary, path)
        except FileExistsError:
            raise ChangedUnderneathError(str(path)) from None
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)


def require_own(path: Path) -> os.stat_result:
    """Return what stands at `path`: a plain file of ours that may be written.

    Raises:
        YaadError: REFUSED when it is no regular file, has other names, belongs to somebody else,
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


def _put_beside(path: Path, found: os.stat_result, new: bytes, undo: contextlib.ExitStack) -> Path:
    """Write the new file beside `path` and return its name; `undo` takes it away again."""
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
        if error.errno in kernel_rename.UNSUPPORTED:
            return
        raise
    for name in there.keys() - wanted.keys():
        os.removexattr(descriptor, name)
    for name, value in wanted.items():
        if there.get(name) != value:
            os.setxattr(descriptor, name, value)


def _stem(path: Path) -> str:
    """Return how the names beside a file begin."""
    name = os.fsencode(path.name)
    return f".{path.name}" if len(name) <= _NAME_BYTES_MAX else f".{_digest(name)}"


def _beside(path: Path) -> Path:
    temporary = path.with_name(f"{_stem(path)}.{os.getpid()}.yaad")
    temporary.unlink(missing_ok=True)
    return temporary


def _open_plain(path: Path, opened: contextlib.ExitStack) -> int | None:
    """Open a regular file, until `opened` is over; None when something else stands there."""
    try:
        descriptor = os.open(path, _PLAIN_FLAGS)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENXIO):
            return None
        raise
    opened.callback(os.close, descriptor)
    return descriptor if stat.S_ISREG(os.fstat(descriptor).st_mode) else None


def _holds(descriptor: int, data: bytes) -> bool:
    """Tell whether a file holds just these bytes."""
    at = 0
    while chunk := os.pread(descriptor, len(data) + 1 - at, at):
        at += len(chunk)
        if data[at - len(chunk) : at] != chunk:
            return False
    return at == len(data)


def _is_still(beside: Path, descriptor: int, data: bytes) -> bool:
    """Tell whether a name stands for the file that we opened, and that holds just these bytes."""
    try:
        return os.path.samestat(beside.lstat(), os.fstat(descriptor)) and _holds(descriptor, data)
    except OSError:  # so it is nothing that may be dropped
        return False


def _held(path: Path) -> bytes | None:
    """Return what a regular file holds; None when something else stands there."""
    with contextlib.ExitStack() as opened:
        descriptor = _open_plain(path, opened)
        if descriptor is None:
            return None
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return stream.read()


def _is_named(path: Path, number: str, digest: str | None = None) -> bool:
    """Tell whether a file of ours is what was put there, by its number and what it holds."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(found.st_mode) or int(number) != found.st_ino:
        return False
    return digest is None or _digest(_held(path) or b"") == digest


def _undo(path: Path, beside: Path, named: re.Match[str], keep: Callable[[bytes], None]) -> None:
    """Put back what came out, if nobody has written the file since; else have it kept."""
    number, digest = named["number"], named["digest"]
    if _is_named(path, number, digest) and kernel_rename.exchange(beside, path):
        if _is_named(beside, number, digest):
            return
        kernel_rename.exchange(beside, path)  # somebody wrote in between
    keep(beside.read_bytes())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _escaped(name: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", name)


@dataclass(frozen=True, slots=True)
class _Ours:
    """Our new file: a descriptor of it, and what we wrote into it."""

    descriptor: int
    held: bytes


def _put_back(
    path: Path,
    named: Path,
    ours: _Ours,
    expected: bytes,
    former: Callable[[Former], None] | None,
) -> NoReturn:
    """Give the file back to whoever wrote it since we looked.

    What two wrote at once goes to `former` too: what the first of them only added to `expected` can
    be added to what the second left.

    Raises:
        ChangedUnderneathError: always.
    """
    dropped = _held(named)
    try:
        kernel_rename.exchange(named, path)
        if not _is_still(named, ours.descriptor, ours.held):
            # A second writer, since the first exchange: theirs is the newest, and goes back too.
            # What comes out now is what they replaced, without having seen it perhaps.
            kernel_rename.exchange(named, path)
            dropped = _handed_over(named, expected, former)
        elif former is not None:  # whoever opened ours meanwhile still writes to it
            former(Former(os.dup(ours.descriptor), ours.held))
    except FileNotFoundError:  # whoever deleted ours did not see what came out
        dropped = _held(named)
    named.unlink()
    raise ChangedUnderneathError(str(path), dropped)


def _handed_over(
    named: Path, expected: bytes, former: Callable[[Former], None] | None
) -> bytes | None:
    """Return what a regular file holds, and give it to `former`, as having held `expected`."""
    with contextlib.ExitStack() as opened:
        descriptor = _open_plain(named, opened)
        if descriptor is not None and former is not None:
            former(Former(os.dup(descriptor), expected))
    return _held(named)


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
        if error.errno not in kernel_rename.UNSUPPORTED:
            raise
    finally:
        os.close(descriptor)
