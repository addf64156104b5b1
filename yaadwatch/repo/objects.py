"""Read commits, trees and blobs in this process, a thousand times as fast as with a git command.

libgit2 blocks for ever on a named pipe, and the whole process with it. So only its object store is
opened, never a repository with its configuration, and only where everything it would open is a
plain file. Any other repository is left to the git command, which runs under a limit.

A loose object is read with zlib, in a fifth of the time; pygit2 is imported for the first pack,
because it costs the daemon 13 MiB.
"""

import os
import re
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from yaadwatch.model.anchors import Commit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import REGULAR, Cache, Change
from yaadwatch.repo.command import Git
from yaadwatch.repo.layout import Layout

if TYPE_CHECKING:
    import pygit2


FILE_BYTES_MAX: Final = 1024 * 1024
"""A larger file is left to libgit2, which unpacks it piece by piece."""
_HEAD_BYTES: Final = 64
_HEAD: Final = re.compile(rb"(commit|tree|blob|tag) (\d{1,18})\0")
_KIND_BY_NUMBER: Final = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_ID: Final = re.compile(r"[0-9a-f]{40}")
_Looks = tuple[int, ...]


class NotPlain(Exception):
    """A pipe, a link, a folder or a device stands where git has a file."""


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
        """Return libgit2's view of all objects; None when it has none."""
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
        """Refresh after the folder of packs changed: libgit2 opens new packs in it."""
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
    kind, size = _KIND_BY_NUMBER[head[1]], int(head[2])
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
    """Return a signature of the folder of packs that changes with its content; () without one."""
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


ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
COMMIT, TREE, BLOB = 1, 2, 3
"""Kinds of objects, as git numbers them."""
ENTRIES_MAX: Final = 300_000
"""Of trees that hold one another over and over, a few kilobytes are any number of files."""
OBJECT_BYTES_MAX: Final = 64 * 1024 * 1024
SUBJECT_CHARS_MAX: Final = 200
_HEAD_BYTES_MAX: Final = 128
"""What `git cat-file --batch` prints around an object: id, kind and size, two ends of lines."""
_KINDS: Final = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": 4}
_FOLDER: Final = b"40000"
_SUBMODULE: Final = b"160000"
_SAME_MODE: Final = {b"100664": b"100644"}
"""What very old trees have, and what git takes it for."""
_AUTHOR: Final = re.compile(rb"^author [^\n]*> (-?\d{1,18}) [+-]\d+$", re.MULTILINE)
_ENCODING: Final = re.compile(rb"^encoding ([\w.:-]{1,40})$", re.MULTILINE)
_ENTRY: Final = {
    40: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL),
    64: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{32})", re.DOTALL),
}
"""What a tree holds, by the length of the ids."""
_ROW: Final = re.compile(rb"[0-7]{5,6} [^\0]+\0.{20}", re.DOTALL)

Entry = tuple[bytes, str]
"""Mode and id, as a tree has them; both empty for nothing."""
Entries = dict[bytes, Entry]
_NOTHING: Entry = (b"", "")
_Row = tuple[bytes, bytes]
"""Mode, and the id in 20 bytes, as a tree has them; both empty for nothing."""
_NO_ROW: _Row = (b"", b"")


class Objects:
    """Reads the objects of one repository.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.

    Args:
        layout: of the repository.
        git: its git command.
        cache: trees that other jobs read, by folder of objects and id.
    """

    def __init__(self, layout: Layout, git: Git, cache: Cache[tuple[str, str], Entries]) -> None:
        self._layout = layout
        self._git = git
        self._cache = cache
        self._folder = str(layout.common_dir / "objects")
        self._trees: dict[str, Entries] = {}
        self._files: ObjectFiles | None = None
        self._opened = False

    def kind(self, id: str) -> int | None:
        """Return COMMIT, TREE, BLOB or another number of git's; None when it is not there."""
        return self._look(id)[0]

    def commit(self, id: str) -> Commit | None:
        """Return a commit, or None when there is none of this id."""
        data = self._read(id, COMMIT)
        return commit_of(id, data) if data is not None else None

    def blob(self, id: str, bytes_max: int) -> bytes | None:
        """Return a blob's bytes; None when it is not there or larger than `bytes_max`."""
        return self._read(id, BLOB, bytes_max)

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the regular file `path` in a commit; None when either is not there."""
        mode, blob = self._entry(commit, path)
        return blob if mode in REGULAR else None

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether a commit has a folder at `path`; false when there is no such commit."""
        return self._entry(commit, path)[0] == _FOLDER

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether a commit has a submodule at `path`."""
        return self._entry(commit, path)[0] == _SUBMODULE

    def differing(self, old: str, new: str) -> Iterator[Change] | None:
        """Return the files that differ between two commits, in any order; None: git has to look.

        A renamed file counts as a deleted and an added file. Folders that are the same are not
        looked into, and no other before it is its turn.

        Raises:
            YaadError: TOO_LARGE after 300,000 files and folders that differ.
        """
        files = self._files_for(old)
        if files is None or self._files_for(new) is None:
            return None
        before, after = (files.read(one, COMMIT, OBJECT_BYTES_MAX) for one in (old, new))
        if before is None or after is None:
            return None
        return self._between(_tree_of(before), _tree_of(after))

    def _between(self, old: str, new: str) -> Iterator[Change]:
        """Yield the files that differ between two trees."""
        pending = [(b"", old, new)]
        seen = 0
        while pending:
            folder, one, other = pending.pop()
            if one == other:
                continue
            before, after = self._rows(one), self._rows(other)
            then, now = _by_name(before - after), _by_name(after - before)
            names = then.keys() | now.keys()
            seen += len(names)
            self._refuse_beyond(seen)
            for name in names:
                was, is_now = then.get(name, _NO_ROW), now.get(name, _NO_ROW)
                if _FOLDER in (was[0], is_now[0]):
                    trees = [row[1].hex() if row[0] == _FOLDER else "" for row in (was, is_now)]
                    pending.append((folder + name + b"/", trees[0], trees[1]))
                    was, is_now = (_NO_ROW if row[0] == _FOLDER else row for row in (was, is_now))
                change = _change(folder + name, was, is_now)
                if change is not None:
                    yield change

    def _rows(self, tree: str) -> set[bytes]:
        """Return what a tree holds, each as the tree has it; nothing for ''."""
        return set(_ROW.findall(self._bytes(tree))) if tree else set()

    def _refuse_beyond(self, seen: int) -> None:
        if seen > ENTRIES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"More than {ENTRIES_MAX:,} files of a commit in {self._folder} would have to be"
                " looked at; what needed them was not done.",
            )

    def _entry(self, commit: str, path: str) -> Entry:
        """Return the entry at `path` of a commit; None when either is missing."""
        tree = self._root(commit)
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        for folder in folders:
            mode, tree = self._tree(tree).get(folder, _NOTHING)
            if mode != _FOLDER:
                return _NOTHING
        return self._tree(tree).get(name, _NOTHING)

    def _root(self, commit: str) -> str:
        """Return the tree of a commit; '' when there is no such commit."""
        # Kept as the only entry of a tree, under a name that no tree has.
        key = f"{commit}^{{tree}}"
        root = self._kept(key)
        if root is None:
            data = self._read(commit, COMMIT)
            if data is None:
                return ""
            root = self._keep(key, {b"": (_FOLDER, _tree_of(data))})
        return root[b""][1]

    def _tree(self, id: str) -> Entries:
        """Return what a tree holds; nothing for ''."""
        if not id:
            return {}
        found = self._kept(id)
        if found is None:
            data = self._bytes(id)
            rows = _ENTRY[len(id)].findall(data)
            entries = {name: (_SAME_MODE.get(mode, mode), blob.hex()) for mode, name, blob in rows}
            found = self._keep(id, entries)
        return found

    def _kept(self, key: str) -> Entries | None:
        found = self._trees.get(key)
        return found if found is not None else self._cache.get((self._folder, key))

    def _keep(self, key: str, entries: Entries) -> Entries:
        self._trees[key] = entries
        self._cache.put((self._folder, key), entries)
        return entries

    def _bytes(self, tree: str) -> bytes:
        """Return a tree.

        Raises:
            YaadError: UNAVAILABLE when it is not there.
        """
        data = self._read(tree, TREE)
        if data is None:
            raise YaadError(
                Code.UNAVAILABLE,
                f"Tree {tree} is missing from {self._folder}; git did not fetch it, or lost it.",
            )
        return data

    def _look(self, id: str) -> tuple[int | None, int]:
        """Return kind and size of an object; None and 0 when it is not there."""
        files = self._files_for(id)
        if files is not None:
            return files.look(id)
        if not ID.fullmatch(id):
            return None, 0
        return _kind_and_size(
            self._git.ask(["cat-file", "--batch-check"], given=f"{id}\n".encode())
        )

    def _read(self, id: str, kind: int, bytes_max: int = OBJECT_BYTES_MAX) -> bytes | None:
        """Return an object; None when it is not there, of another kind, or larger than that."""
        files = self._files_for(id)
        if files is not None:
            return files.read(id, kind, bytes_max)
        if not ID.fullmatch(id):
            return None
        given, most = f"{id}\n".encode(), bytes_max + _HEAD_BYTES_MAX
        try:
            told = self._git.ask(["cat-file", "--batch"], given=given, bytes_max=most)
        except YaadError as error:
            if error.code is not Code.TOO_LARGE:
                raise
            return None
        head, _, data = told.partition(b"\n")
        found, size = _kind_and_size(head)
        return data[:size] if found == kind and size <= bytes_max else None

    def _files_for(self, id: str) -> ObjectFiles | None:
        """Return the in-process reader of objects, if it can read this id."""
        if len(id) != 40:
            return None
        if not self._opened:
            self._opened = True
            self._files = ObjectFiles.open(self._layout)
        return self._files


def _kind_and_size(head: bytes) -> tuple[int | None, int]:
    """Return the header that `git cat-file --batch` prints; None and 0 for a missing object."""
    _, kind, size = [*head.split(), b"", b""][:3]
    return (_KINDS.get(kind), int(size)) if size.isdigit() else (None, 0)


def commit_of(id: str, data: bytes) -> Commit:
    """Parse a raw commit: author date and first line of the message.

    An impossible date (a hostile history) becomes the epoch; characters that move a terminal's
    cursor become spaces.
    """
    head, _, message = data.partition(b"\n\n")
    written = _AUTHOR.search(head)
    encoding = _ENCODING.search(head)
    line = message.strip().partition(b"\n")[0]
    try:
        subject = line.decode(encoding.group(1).decode() if encoding else "utf-8", "replace")
    except (LookupError, UnicodeError):
        subject = line.decode("utf-8", "replace")
    plain = "".join(char if char.isprintable() else " " for char in subject).strip()
    return Commit(
        id=id,
        at=_instant(int(written.group(1)) if written else 0),
        subject=plain[:SUBJECT_CHARS_MAX],
    )


def _instant(seconds: int) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return datetime.fromtimestamp(0, UTC)


def _tree_of(commit: bytes) -> str:
    return commit[5:].partition(b"\n")[0].decode("ascii", "replace")


def _by_name(rows: Iterable[bytes]) -> dict[bytes, _Row]:
    """Return mode and id of rows of a tree, by name."""
    found: dict[bytes, _Row] = {}
    for row in rows:
        mode, _, name = row[:-21].partition(b" ")
        found[name] = (mode, row[-20:])
    return found


def _change(path: bytes, was: _Row, is_now: _Row) -> Change | None:
    """Return what became of a file; None when nothing did.

    None, too, when its name is not UTF-8 and cannot be named here.
    """
    (mode, blob), (mode_now, blob_now) = was, is_now
    if blob == blob_now and _SAME_MODE.get(mode, mode) == _SAME_MODE.get(mode_now, mode_now):
        return None
    try:
        name = path.decode()
    except UnicodeDecodeError:
        return None
    return Change(
        name if mode else None,
        name if mode_now else None,
        blob.hex() if mode in REGULAR else "",
        blob_now.hex() if mode_now in REGULAR else "",
    )
