"""Write a person's file without ever losing a byte: all of the new text, or all of the old.

The new text is put beside the file, with its mode, owner and extended attributes, and made durable.
Then the two change places in one step of the kernel, and what came out is compared with what was
expected: if somebody wrote in between, they change places back and nothing has happened. Where the
kernel cannot exchange two names, the comparison comes right before the rename.

A process that is killed between the exchange and the comparison leaves what came out beside the
file; `recover` puts it back if it is not what was expected.
"""

import contextlib
import ctypes
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from yaadwatch.model.errors import Code, YaadError

_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_SWAP = 2  # RENAME_SWAP of renameatx_np(2)
_AT_FDCWD = -100 if sys.platform == "linux" else -2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)

Step = Callable[[str], None]
"""Told the name of each step when it is done; tests end the process in it."""


class ChangedUnderneathError(Exception):
    """The file no longer holds what was expected; it was left as it is."""


def replace_expected(
    path: Path, expected: bytes, new: bytes, *, step: Step = lambda _: None
) -> None:
    """Make the file hold `new`, provided that it holds `expected` until the very moment.

    Args:
        path: a regular file of ours; links are not followed.
        expected: what it holds now.
        new: what it shall hold.
        step: told `checked`, `written`, `exchanged`, `settled`, `synced`.

    Raises:
        ChangedUnderneathError: somebody else wrote it meanwhile; it holds what they wrote.
        YaadError: REFUSED when it is no regular file, has other names, or must not be written;
            UNAVAILABLE when it cannot be written (disk full, read-only). It holds what it held.
    """
    found = require_own(path)
    step("checked")
    temporary = _beside(path)
    with _told(path):
        try:
            _write_like(path, found, temporary, new)
            step("written")
            exchanged = _exchange(temporary, path)
            if not exchanged:
                if path.is_symlink() or path.read_bytes() != expected:
                    raise ChangedUnderneathError(str(path))
                temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        # From here on the file beside holds what the person's file held; it goes only when that is
        # what was expected.
        step("exchanged")
        if exchanged:
            _settle(path, temporary, expected, new)
        step("settled")
        _sync_folder(path.parent)
        step("synced")


def recover(path: Path, expected: bytes | None) -> bool:
    """Clear up after a process that was killed while it wrote `path`; return whether it was needed.

    Args:
        path: the person's file.
        expected: what it held before that write, from the snapshot; None when that is not known.

    What was left beside the file is dropped when it is `expected`, or never took the file's place;
    else it is what somebody wrote in between, and gets its place back.
    """
    needed = False
    for temporary in sorted(path.parent.glob(f".{path.name}.*.yaad")):
        needed = True
        left = temporary.read_bytes()
        if left == expected or expected is None or path.read_bytes() == expected:
            temporary.unlink()
        else:
            _exchange(temporary, path)
            temporary.unlink()
    return needed


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


def _settle(path: Path, temporary: Path, expected: bytes, new: bytes) -> None:
    """Drop what came out, if it is what was expected; else put it back."""
    if temporary.read_bytes() == expected:
        temporary.unlink()
        return
    _exchange(temporary, path)
    if temporary.read_bytes() != new:
        # A second writer, since the first exchange: theirs is the newest, and goes back too. What
        # comes out now is what they had replaced themselves.
        _exchange(temporary, path)
    temporary.unlink()
    raise ChangedUnderneathError(str(path))


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
