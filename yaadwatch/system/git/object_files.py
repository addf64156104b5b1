"""Read objects of git in this process, a thousand times as fast as by a git command.

libgit2 waits for ever at a named pipe, and the whole process with it. So only its object store is
opened, never a repository with its configuration, and only where everything it would open is a
plain file. Any other repository is left to the git command, which runs under a limit.

An object with a file of its own is read with zlib, in a fifth of the time; pygit2 is imported for
the first pack, because it costs the daemon 13 MiB.
"""

import os
import re
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.layout import Layout

if TYPE_CHECKING:
    import pygit2

FILE_BYTES_MAX: Final = 1024 * 1024
"""A larger file is left to libgit2, which unpacks it piece by piece."""
_HEAD_BYTES: Final = 64
_HEAD: Final = re.compile(rb"(commit|tree|blob|tag) (\d{1,18})\0")
_KINDS: Final = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_ID: Final = re.compile(r"[0-9a-f]{40}")
_Looks = tuple[int, ...]


class NotPlain(Exception):
    """A pipe, a link, a folder or a device is in the place of a file of git's."""


@dataclass(frozen=True, slots=True)
class Loose:
    """An object: its kind as git numbers it, its size, and its bytes if they were wanted."""

    kind: int
    size: int
    data: bytes | None


class ObjectFiles:
    """The objects of one repository that names them by SHA-1.

    Args:
        folder: where they are.
        packs: how the folder of the packs looked when all in it were seen to be plain files.
        packed: whether there is anything in that folder.
    """

    def __init__(self, folder: str, packs: _Looks, *, packed: bool) -> None:
        self._folder = folder
        self._packs = packs
        self._packed = packed
        self._store: pygit2.Odb | None = None

    @classmethod
    def open(cls, layout: Layout) -> "ObjectFiles | None":
        """Return the objects, or None when only the git command may read them.

        These are objects of another user's repository, objects that are partly borrowed from
        another repository (`objects/info/alternates`), and what is no plain file.
        """
        folder = str(layout.common_dir / "objects")
        try:
            if layout.git_dir.stat().st_uid != os.geteuid():
                return None
            if os.stat(folder).st_uid not in (os.geteuid(), 0):  # noqa: PTH116  (each job)
                return None
            if _borrows(folder):
                return None
            packs = _looks(f"{folder}/pack")
            packed = _packed(f"{folder}/pack")
        except OSError:
            return None
        if packed is None:
            return None
        objects = cls(folder, packs, packed=packed)
        try:
            if packed:
                objects._opened()
        except YaadError:
            return None
        return objects

    def look(self, id: str) -> tuple[int | None, int]:
        """Return kind and size of an object; None and 0 when it is not there."""
        if not _ID.fullmatch(id):
            return None, 0
        own = self._loose(id, 0)
        if own is not None:
            return own.kind, own.size
        return self._header(self._packs_of(id), id)

    def read(self, id: str, kind: int, bytes_max: int) -> bytes | None:
        """Return an object; None when it is not there, of another kind, or larger than that."""
        if not _ID.fullmatch(id):
            return None
        own = self._loose(id, bytes_max)
        if own is not None:
            return own.data if own.kind == kind else None
        store = self._packs_of(id)
        if store is None:
            return None
        found, size = self._header(store, id)
        if found != kind or size > bytes_max:
            return None
        import pygit2

        try:
            return store.read(id)[1]
        except (pygit2.GitError, KeyError, ValueError) as error:
            raise self._unreadable(id, error) from error

    def _loose(self, id: str, bytes_max: int) -> Loose | None:
        try:
            return read_loose(self._folder, id, bytes_max)
        except NotPlain:
            raise self._unreadable(id, "it is not a plain file") from None

    def _header(self, store: "pygit2.Odb | None", id: str) -> tuple[int | None, int]:
        if store is None:
            return None, 0
        import pygit2

        try:
            kind, size = store.read_header(id)
        except KeyError:
            return None, 0
        except (pygit2.GitError, ValueError) as error:
            raise self._unreadable(id, error) from error
        return int(kind), size

    def _packs_of(self, id: str) -> "pygit2.Odb | None":
        """Return libgit2's view of all objects; None when there is nothing for it to find."""
        self._check_packs(id)
        if self._packed or os.path.lexists(f"{self._folder}/{id[:2]}/{id[2:]}"):
            return self._opened()
        return None

    def _opened(self) -> "pygit2.Odb":
        """Return libgit2's view of all objects."""
        if self._store is None:
            if _borrows(self._folder):
                raise YaadError(
                    Code.UNAVAILABLE,
                    f"What {self._folder} borrows objects from changed meanwhile; none was read.",
                )
            import pygit2

            # Git does not hash again what it reads, either: it would take twice as long, and each
            # packed text carries a checksum that is looked at anyhow.
            pygit2.settings.enable_strict_hash_verification(False)
            try:
                self._store = pygit2.Odb(self._folder)
            except (pygit2.GitError, ValueError) as error:
                raise YaadError(
                    Code.UNAVAILABLE, f"The objects in {self._folder} cannot be read: {error}."
                ) from error
        return self._store

    def _check_packs(self, id: str) -> None:
        """Look again at the folder of packs when it changed: libgit2 opens what is new in it."""
        try:
            packs = _looks(f"{self._folder}/pack")
            if packs == self._packs:
                return
            packed = _packed(f"{self._folder}/pack")
        except OSError as error:
            raise self._unreadable(id, error) from error
        if packed is None:
            raise self._unreadable(id, "something among the packs is no plain file")
        self._packs, self._packed = packs, packed

    def _unreadable(self, id: str, why: object) -> YaadError:
        return YaadError(
            Code.UNAVAILABLE,
            f"Object {id} of {self._folder} cannot be read: {why}.",
            hint="See what git fsck says about this repository.",
        )


def read_loose(folder: str, id: str, bytes_max: int) -> Loose | None:
    """Return an object that has a file of its own.

    Args:
        folder: where a repository keeps its objects.
        id: 40 or 64 hexadecimal digits.
        bytes_max: the bytes of a larger object are left out; 0: only its head is read.

    Returns:
        None when there is no such file, or its content is left to git.

    Raises:
        NotPlain: a pipe, a link, a folder or a device is in its place.
    """
    path = f"{folder}/{id[:2]}/{id[2:]}"
    try:
        found = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotPlain
    if found.st_size > FILE_BYTES_MAX:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        return _unpacked(os.read(descriptor, found.st_size), bytes_max)
    except (OSError, zlib.error):
        return None
    finally:
        os.close(descriptor)


def _unpacked(packed: bytes, bytes_max: int) -> Loose | None:
    """Return what is compressed in `packed`; no more than `bytes_max` of it is ever unpacked."""
    stream = zlib.decompressobj()
    begin = stream.decompress(packed, _HEAD_BYTES)
    head = _HEAD.match(begin)
    if head is None:
        return None
    kind, size = _KINDS[head[1]], int(head[2])
    if size > bytes_max:
        return Loose(kind, size, None)
    data = begin[head.end() :]
    if len(data) > size:
        return None
    # One byte more than there should be, so that the end, with its checksum, is reached.
    data += stream.decompress(stream.unconsumed_tail, size + 1 - len(data))
    return Loose(kind, size, data) if stream.eof and len(data) == size else None


def _borrows(folder: str) -> bool:
    """Return whether objects may be in other folders, too."""
    return os.path.lexists(f"{folder}/info/alternates")


def _looks(folder: str) -> _Looks:
    """Return what changes when something comes into the folder of the packs; () without one."""
    try:
        found = os.stat(folder)  # noqa: PTH116  (asked before each object: a third of the time)
    except FileNotFoundError:
        return ()
    return (found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


def _packed(folder: str) -> bool | None:
    """Return whether there is anything in the folder of the packs.

    None: not all that libgit2 opens by itself when it opens a store are plain files.
    """
    try:
        with os.scandir(folder) as entries:
            plain = [entry.is_file(follow_symlinks=False) for entry in entries]
    except FileNotFoundError:
        return False
    return bool(plain) if all(plain) else None
