"""Read paths without following links, and replace or append to files exactly.

Also detects network file systems, which do not report changes made elsewhere, and holds the key of
the data folder: 32 random bytes, so that hashes of people's lines reveal nothing.
"""

import errno
import functools
import hashlib
import hmac
import itertools
import os
import re
import secrets
import stat
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.plain_files import open_plain, read_open, read_plain, walk

Kind = Literal["file", "absent", "link", "other", "too_large", "unreadable"]

ABSENT: Final = "-"
UNBELIEVED: Final = ""
"""The signature of what may change without its signature changing; it equals no other one."""

_NOT_PLAIN: Final = re.compile(r"\0|(?:\A|/)(?:\.{0,2}|\.git)(?:/|\Z)", re.IGNORECASE)
_SECOND_NS: Final = 1_000_000_000
_FOLDER_FLAGS: Final = (
    getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
)
LINES_BYTES_MAX: Final = 1024 * 1024
"""The most that a file of settings may hold to which lines of ours are added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The state of a path. `data` is None unless `kind` is 'file'.

    `signature` is `size:mtime_ns:ctime_ns:inode` from before the data was read, '-' when nothing is
    there, and '' when it is not reliable.
    """

    kind: Kind
    signature: str
    data: bytes | None = None


def observe(root: Path, relative: str, *, bytes_max: int, now_ns: int) -> Observation:
    """Read a regular file below `root` without following links; never block, never raise.

    Args:
        root: a folder we trust; links in its own path are followed.
        relative: the path from there, with '/' separators, without '.', '..' or '.git' in it.
        bytes_max: a larger file is not read.
        now_ns: Unix nanoseconds, read before the call; a file changed since gets no signature.
    """
    if _NOT_PLAIN.search(relative):
        return Observation(kind="other", signature=UNBELIEVED)
    try:
        with _folder_of(root, relative) as (folder, name):
            return _observe(folder, name, bytes_max, now_ns)
    except _Elsewhere as found:
        return found.observation
    except UnicodeEncodeError:  # no file has such a name
        return Observation(kind="other", signature=UNBELIEVED)


def spelled(root: Path, relative: str) -> str | None:
    """Return a path as the disk spells it; None when nothing there looks like it.

    The same letter may be one character or two (an accent behind its letter, as a Mac writes it).
    """
    here, parts = str(root), []
    for part in relative.split("/"):
        name = part
        if not os.path.lexists(f"{here}/{part}"):
            form = unicodedata.normalize("NFC", part)
            try:
                found = [one for one in os.listdir(here) if not one.isascii()]  # noqa: PTH208
            except OSError:
                return None
            alike = [one for one in found if unicodedata.normalize("NFC", one) == form]
            if len(alike) != 1:
                return None
            name = alike[0]
        parts.append(name)
        here = f"{here}/{name}"
    return "/".join(parts)


def signature_of(root: Path, relative: str, now_ns: int) -> str:
    """Return the signature that `observe` would give a file, without opening it.

    It follows links above the file, which `observe` does not; what is behind one was never given a
    signature to compare with.
    """
    if _NOT_PLAIN.search(relative):
        return UNBELIEVED
    try:
        return _signature(os.lstat(f"{root}/{relative}"), now_ns)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, UnicodeEncodeError):
        return UNBELIEVED


def replace_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Make `path` a file of `data`: readers and crashes find the old one or the new one, whole.

    A link at `path` is replaced, not followed.

    Raises:
        OSError: it could not be written; what was there is still there.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(stream.fileno(), mode)
            os.fsync(stream.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def keep_reserve(path: Path, size: int) -> None:
    """Make a file of at least `size` bytes, to be deleted when the disk is full.

    None where the disk has less than ten times as much room, or the file cannot be written.
    """
    try:
        if path.exists() and path.stat().st_size >= size:
            return
        room = os.statvfs(path.parent)
        if room.f_bavail * room.f_frsize >= 10 * size:
            replace_atomically(path, secrets.token_bytes(size))  # some disks store no zeros
    except OSError:
        return


def free_name(path: str) -> str:
    """Return the first of `path`, `path`2, `path`3 ... at which nothing is."""
    names = (f"{path}{number if number > 1 else ''}" for number in itertools.count(1))
    return next(name for name in names if not os.path.lexists(name))


def private_folder(path: Path) -> None:
    """Make sure that `path` is a folder with mode 0700, creating it if missing.

    Raises:
        YaadError: REFUSED when it is a link, not a folder, or another user's; UNAVAILABLE when it
            cannot be created.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
    except FileExistsError:
        found = path.lstat()
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be made ({error.strerror}).",
            "Look at the permissions of the folder above it.",
        ) from error
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISDIR(found.st_mode):
        what = "a link" if stat.S_ISLNK(found.st_mode) else "no folder"
        raise _refused(f"{path} is {what}; it was not used.", "Move it away, then try again.")
    if found.st_uid != os.geteuid():
        raise _refused(
            f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}; it was not used.",
            "Use a folder of your own.",
        )
    if stat.S_IMODE(found.st_mode) != 0o700:
        path.chmod(0o700)


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files in a folder and its folders, sorted; links are not followed."""
    for here, _, names in walk(str(folder)):
        for name in names:
            path = Path(here, name)
            if path.is_file() and not path.is_symlink():
                yield path


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of a file of settings, links followed; a pipe or device is not waited for.

    Raises:
        OSError: it is not there (FileNotFoundError), no regular file (EINVAL), larger than 1 MiB
            (EFBIG), or cannot be read.
    """
    return read_plain(path, LINES_BYTES_MAX, links=True).splitlines()


def append_line_exact(path: Path, text: str) -> str:
    """Append a line to a file and return the exact bytes appended, for `remove_exact`.

    The file, and the last folder of its path, are created if missing. A last line without a line
    end gets one first; so does an empty file, to distinguish it from a file that we created.

    Raises:
        YaadError: REFUSED when the file or its folder is a link.
        OSError: it is not a regular file, larger than 1 MiB, or could not be written; its content
            is unchanged. Or the parent of its folder is missing, and nothing is created.
    """
    path.parent.mkdir(exist_ok=True)
    _refuse_links(path)
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        os.close(open_plain(path))
        descriptor = os.open(path, flags)
        made = False
    except FileNotFoundError:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
        made = True
    with os.fdopen(descriptor, "r+b", buffering=0) as stream:
        before = read_open(descriptor, LINES_BYTES_MAX, path)
        first = "" if made or before.endswith(b"\n") else "\n"
        appended = f"{first}{text}\n"
        written = stream.write(appended.encode())
        if written < len(appended.encode()):
            if os.fstat(descriptor).st_size == len(before) + written:
                os.ftruncate(descriptor, len(before))
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    return appended


def remove_exact(path: Path, appended: str) -> bool:
    """Remove what `append_line_exact` appended, leaving every other byte unchanged.

    A file that we created is deleted when nothing else is in it.

    Returns:
        False when the bytes are not there any more; the file is then unchanged.

    Raises:
        YaadError: REFUSED when the file or its folder is a link.
        OSError: it is not a regular file, larger than 1 MiB, or could not be read or written.
    """
    _refuse_links(path)
    try:
        before = read_plain(path, LINES_BYTES_MAX)
    except FileNotFoundError:
        return False
    left = _without(before, appended.encode())
    if left is None:
        return False
    if left or appended.startswith("\n"):
        replace_atomically(path, left, stat.S_IMODE(path.stat().st_mode))
    else:
        path.unlink()
    return True


class _Elsewhere(Exception):
    """The folder does not exist; `observation` is what was found instead."""

    def __init__(self, observation: Observation) -> None:
        super().__init__(observation.kind)
        self.observation = observation


@contextmanager
def _folder_of(root: Path, relative: str) -> Iterator[tuple[int, str]]:
    """Walk down to the folder of `relative`, one component at a time, through no link."""
    *folders, name = relative.split("/")
    try:
        here = os.open(root, _FOLDER_FLAGS & ~os.O_NOFOLLOW)
    except OSError as error:
        raise _Elsewhere(_nothing(error)) from None
    try:
        for folder in folders:
            try:
                below = os.open(folder, _FOLDER_FLAGS, dir_fd=here)
            except OSError as error:
                raise _Elsewhere(_in_the_way(here, folder, error)) from None
            os.close(here)
            here = below
        yield here, name
    finally:
        os.close(here)


def _in_the_way(here: int, folder: str, error: OSError) -> Observation:
    try:
        found = os.stat(folder, dir_fd=here, follow_symlinks=False)
    except OSError as missing:
        return _nothing(missing)
    if stat.S_ISLNK(found.st_mode):
        return Observation(kind="link", signature=UNBELIEVED)
    return _nothing(error)


def _nothing(error: OSError) -> Observation:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return Observation(kind="absent", signature=ABSENT)
    return Observation(kind="unreadable", signature=UNBELIEVED)


def _observe(folder: int, name: str, bytes_max: int, now_ns: int) -> Observation:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        return _nothing(error)
    signature = _signature(found, now_ns)
    if stat.S_ISLNK(found.st_mode):
        return Observation(kind="link", signature=signature)
    if not stat.S_ISREG(found.st_mode):
        return Observation(kind="other", signature=signature)
    if found.st_size > bytes_max:
        return Observation(kind="too_large", signature=signature)
    try:
        descriptor = open_plain(name, folder=folder)
    except FileNotFoundError:
        return Observation(kind="absent", signature=ABSENT)
    except OSError as error:
        if error.errno == errno.EINVAL:  # exchanged since it was looked at
            return Observation(kind="other", signature=UNBELIEVED)
        return Observation(kind="unreadable", signature=signature)
    try:
        found = os.fstat(descriptor)
        signature = _signature(found, now_ns)
        data = read_open(descriptor, bytes_max)
    except OSError as error:
        if error.errno == errno.EFBIG:
            return Observation(kind="too_large", signature=signature)
        return Observation(kind="unreadable", signature=UNBELIEVED)
    finally:
        os.close(descriptor)
    return Observation(kind="file", signature=signature, data=data)


def is_settled(mtime_ns: int, ctime_ns: int, now_ns: int) -> bool:
    """Return whether a file with these times that changes from now on will look otherwise."""
    # A file system that keeps whole seconds cannot tell two changes within one of them apart.
    coarse = not (mtime_ns % _SECOND_NS or ctime_ns % _SECOND_NS)
    return max(mtime_ns, ctime_ns) <= now_ns - (2_000_000_000 if coarse else 50_000_000)


def _signature(found: os.stat_result, now_ns: int) -> str:
    if not is_settled(found.st_mtime_ns, found.st_ctime_ns, now_ns):
        return UNBELIEVED
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}"


def _without(before: bytes, appended: bytes) -> bytes | None:
    """Return `before` without the last line equal to `appended`; None if there is none."""
    if before.endswith(appended):
        start = len(before) - len(appended)
        if start == 0 or appended.startswith(b"\n") or before[start - 1 : start] == b"\n":
            return before[:start]
    # Others have added to it since: the line end that we gave their last line is theirs now.
    line = appended.removeprefix(b"\n")
    at = before.rfind(b"\n" + line)
    if at >= 0:
        return before[: at + 1] + before[at + 1 + len(line) :]
    return before[len(line) :] if before.startswith(line) else None


def _refuse_links(path: Path) -> None:
    for place in (path.parent, path):
        if place.is_symlink():
            raise _refused(
                f"{place} is a link; nothing was written through it.", "Put the real one there."
            )


def _refused(message: str, hint: str) -> YaadError:
    return YaadError(Code.REFUSED, message, hint)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# fmt: off
_NETWORK_FILE_SYSTEMS: Final = frozenset({
    "9p", "afpfs", "afs", "beegfs", "ceph", "ceph-fuse", "cifs", "coda", "curlftpfs", "davfs",
    "davfs2", "drvfs", "gcsfuse", "gfs2", "glusterfs", "goofys", "gpfs", "gvfsd-fuse",
    "juicefs", "lustre", "moosefs", "ncpfs", "nfs", "nfs4", "ocfs2", "orangefs", "panfs",
    "prl_fs", "rclone", "s3fs", "smb", "smb2", "smb3", "smbfs", "smbnetfs", "sshfs", "v9fs",
    "vboxsf", "virtiofs", "vmhgfs", "vmhgfs-fuse", "webdav",
})
# fmt: on
"""Kinds that other machines may write to, or a host around this one; 'fuse.' is cut off first."""

_ESCAPE: Final = re.compile(rb"\\([0-7]{3})")

_Mounts = tuple[tuple[str, str], ...]
"""Where each is mounted, without a slash at the end, and its kind; in the order of mounting."""


def _kind(real: str, mounts: _Mounts) -> str:
    """Return the kind of file system that a path without links is on; '' if unknown."""
    best, kind = -1, ""
    for mounted, of_kind in mounts:
        # Of two mounts on one place the last is visible.
        if len(mounted) >= best and (real == mounted or real.startswith(f"{mounted}/")):
            best, kind = len(mounted), of_kind
    return kind


def networks(folder: Path) -> frozenset[Path]:
    """Return the mount points at or below `folder`, and itself, that are network file systems.

    A local disk mounted below such a place counts as part of it.
    """
    mounts = _mounts()
    # First by its name: to ask a disk that does not answer for links would take for ever.
    if _is_network_kind(_kind(str(folder), mounts)):
        return frozenset({folder})
    real = os.path.realpath(folder)
    if _is_network_kind(_kind(real, mounts)):
        return frozenset({folder})
    below = f"{real.rstrip('/')}/"
    return frozenset(
        folder / mounted[len(below) :]
        for mounted, kind in mounts
        if mounted.startswith(below) and _is_network_kind(kind)
    )


def near(places: Iterable[Path]) -> list[Path]:
    """Return those of `places` that are not below a network file system, to go by their names.

    To look at the others may take for ever. All of them, where the whole machine is on one.
    """
    root = Path("/")
    afar = networks(root) - {root}
    return [place for place in places if not any(place.is_relative_to(one) for one in afar)]


def takes_nothing(path: Path) -> str:
    """Return why nothing can be stored at `path`: "full", "read-only"; '' if it can, or unknown.

    Blocks while the disk does not answer.
    """
    try:
        found = os.statvfs(path)
    except OSError:
        return ""
    if found.f_flag & os.ST_RDONLY:
        return "read-only"
    # With less room than this, a change of some memories may not fit.
    is_full = found.f_blocks > 0 and found.f_bavail * found.f_frsize < 256 * 1024
    return "full" if is_full else ""


def _is_network_kind(kind: str) -> bool:
    return kind.lower().rpartition(".")[2] in _NETWORK_FILE_SYSTEMS


def _mounts() -> _Mounts:
    if sys.platform == "linux":
        try:
            return _parsed(Path("/proc/self/mounts").read_bytes())
        except OSError:  # no /proc here
            return ()
    import psutil

    found = psutil.disk_partitions(all=True)
    return tuple((each.mountpoint.rstrip("/"), each.fstype) for each in found)


@functools.lru_cache(maxsize=1)
def _parsed(table: bytes) -> _Mounts:
    """Parse a table of mounts; cached, because it is needed often and rarely changes."""
    rows = (line.split(b" ") for line in table.splitlines())
    return tuple((_place(row[1]), os.fsdecode(row[2])) for row in rows if len(row) > 2)


def _place(written: bytes) -> str:
    """Return a decoded path; the table writes spaces and the like as `\\040`."""
    plain = _ESCAPE.sub(lambda found: bytes([int(found[1], 8) & 255]), written)
    return os.fsdecode(plain).rstrip("/")


KEY_BYTES: Final = 32


def load_key(path: Path) -> bytes:
    """Return the key, made if there is none yet; the file is 0600.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read or made, or is not 32 bytes long.
    """
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        if not path.exists():
            descriptor = os.open(temporary, flags, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(secrets.token_bytes(KEY_BYTES))
                stream.flush()
                os.fsync(stream.fileno())
            try:
                os.link(temporary, path)
            except FileExistsError:
                pass  # another process was faster; its key is used
            finally:
                temporary.unlink()
        key = path.read_bytes()
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The key {path} cannot be read or made ({error.strerror}).",
            hint="Look at its permissions.",
        ) from error
    if len(key) != KEY_BYTES:
        raise YaadError(
            Code.UNAVAILABLE,
            f"The key {path} has {len(key)} bytes instead of {KEY_BYTES}; it was not used.",
            hint="Move it away: agreements are then made again, and nothing is deleted meanwhile.",
        )
    return key


def keyed(key: bytes, data: bytes) -> str:
    """Return the keyed hash of `data`, hex."""
    return hmac.new(key, data, hashlib.sha256).hexdigest()
