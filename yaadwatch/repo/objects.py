"""Read commits, trees and blobs in this process, a thousand times as fast as with a git command.

libgit2 blocks for ever on a named pipe, and the whole process with it. So only its object store is
opened, never a repository with its configuration, and only where everything it would open is a
plain file. Any other repository is left to the git command, which runs under a limit.

A loose object is read with zlib, in a fifth of the time; pygit2 is imported for the first pack,
because it costs the daemon 13 MiB.
"""

import errno
import os
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from yaadwatch.model.anchors import Commit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FILE_BYTES_MAX
from yaadwatch.plain_files import open_plain
from yaadwatch.repo.changes import REGULAR, Cache, Change
from yaadwatch.repo.command import Git, GitRunner
from yaadwatch.repo.layout import Layout

if TYPE_CHECKING:
    import pygit2


LOOSE_BYTES_MAX: Final = 1024 * 1024
"""A larger file is left to libgit2, which unpacks it piece by piece."""
WINDOW_BYTES: Final = 1024 * 1024
"""Of a pack, as libgit2 maps it."""
WINDOWS_BYTES_MAX: Final = 16 * 1024 * 1024
"""Of all packs, unless a text is larger."""
_HEAD: Final = re.compile(rb"(commit|tree|blob|tag) (\d{1,18})\0")
COMMIT, TREE, BLOB = 1, 2, 3
"""Kinds of objects, as git numbers them."""
_KINDS: Final = {b"commit": COMMIT, b"tree": TREE, b"blob": BLOB, b"tag": 4}
ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
NO_FILE: Final = re.compile(r"\0|(?:\A|/)\.{0,2}(?:/|\Z)")
"""What cannot be the path of a file in a tree."""
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
    """The objects of one repository that names them by SHA-1; `folder`: where they are."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._packs: _Looks | None = None
        self._packed = False
        self._store: pygit2.Odb | None = None

    @classmethod
    def open(cls, layout: Layout) -> "ObjectFiles | None":
        """Return the objects, or None when only the git command may read them.

        These are objects of another user's repository, objects that are partly borrowed from
        another repository (`objects/info/alternates`), and what is no plain file.
        """
        folder = str(layout.common_dir / "objects")
        objects = cls(folder)
        try:
            if layout.git_dir.stat().st_uid != os.geteuid():
                return None
            if os.stat(folder).st_uid not in (os.geteuid(), 0):  # noqa: PTH116  (each job)
                return None
            if os.path.lexists(f"{folder}/info/alternates"):
                return None
            objects._check_packs("")
            if objects._packed:
                objects._opened()
        except (OSError, YaadError):
            return None
        return objects

    def look(self, id: str) -> int | None:
        """Return the kind of an object; None when it is not there."""
        own = self._loose(id, 0)
        return own.kind if own is not None else self._header(self._packs_of(id), id)[0]

    def read(self, id: str, kind: int, bytes_max: int) -> bytes | None:
        """Return an object; None when it is not there, of another kind, or larger than that."""
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
            if os.path.lexists(f"{self._folder}/info/alternates"):
                raise YaadError(
                    Code.UNAVAILABLE,
                    f"What {self._folder} borrows objects from changed meanwhile; none was read.",
                )
            import pygit2

            # Git does not hash again what it reads, either: it would take twice as long, and each
            # packed text carries a checksum that is looked at anyhow.
            pygit2.settings.enable_strict_hash_verification(False)
            # It maps windows of 1 GiB and keeps up to 256 MiB of objects, of which nothing here is
            # read twice.
            pygit2.settings.mwindow_size = WINDOW_BYTES
            pygit2.settings.mwindow_mapped_limit = WINDOWS_BYTES_MAX
            pygit2.settings.enable_caching(False)
            try:
                self._store = pygit2.Odb(self._folder)
            except (pygit2.GitError, ValueError) as error:
                raise YaadError(
                    Code.UNAVAILABLE, f"The objects in {self._folder} cannot be read: {error}."
                ) from error
        return self._store

    def _check_packs(self, id: str) -> None:
        """Refresh after the folder of packs changed: libgit2 opens new packs in it.

        Raises:
            YaadError: something that libgit2 would open by itself is no plain file.
        """
        try:
            found = os.stat(f"{self._folder}/pack")  # noqa: PTH116  (asked before each object)
            packs: _Looks = (found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
            if packs == self._packs:
                return
            with os.scandir(f"{self._folder}/pack") as entries:
                plain = [entry.is_file(follow_symlinks=False) for entry in entries]
        except FileNotFoundError:
            packs, plain = (), []
        except OSError as error:
            raise self._unreadable(id, error) from error
        if not all(plain):
            raise self._unreadable(id, "something among the packs is no plain file")
        self._packs, self._packed = packs, bool(plain)

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
        descriptor = open_plain(path)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ELOOP):
            raise NotPlain from None
        return None
    stream = zlib.decompressobj()
    try:
        size = os.fstat(descriptor).st_size
        if size > LOOSE_BYTES_MAX:
            return None
        begin = stream.decompress(os.read(descriptor, size), 64)
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
    except (OSError, zlib.error):
        return None
    finally:
        os.close(descriptor)


TREE_BYTES_KEPT: Final = 2 * 1024 * 1024
"""Several commits are compared with one; 5,000 files have .4 MiB of trees."""
ENTRIES_MAX: Final = 300_000
"""Of trees that hold one another over and over, a few kilobytes are any number of files."""
OBJECT_BYTES_MAX: Final = 64 * 1024 * 1024
_FOLDER: Final = b"40000"
_LINK: Final = b"120000"
LINK_BYTES_MAX: Final = 4096
_SAME_MODE: Final = {b"100664": b"100644"}
"""What very old trees have, and what git takes it for."""
_ENTRY: Final = {
    40: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL),
    64: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{32})", re.DOTALL),
}
"""What a tree holds, by the length of the ids."""

Entry = tuple[bytes, str]
"""Mode and id, as a tree has them; both empty for nothing."""
Entries = dict[bytes, Entry]
_NOTHING: Entry = (b"", "")
_Row = tuple[bytes, bytes]
"""Mode, and the id in 20 bytes, as a tree has them; both empty for nothing."""
_NO_ROW: _Row = (b"", b"")


class Objects:
    """The objects of one repository, and the git command that runs in it.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self.layout = layout
        self.git = Git(layout, runner)
        self._runner = runner
        self._folder = str(layout.common_dir / "objects")
        self._trees: dict[str, Entries] = {}
        self._raw_trees: Cache[str, bytes] = Cache(TREE_BYTES_KEPT, lambda _, data: len(data))
        self._files: ObjectFiles | None = None
        self._opened = False

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there: false in a shallow or rewritten history."""
        return self._look(commit) == COMMIT

    def has_blob(self, blob: str) -> bool:
        """Return whether a blob is there: false where a partial clone left it out."""
        return self._look(blob) == BLOB

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        data = self._read(commit, COMMIT)
        return commit_of(commit, data) if data is not None else None

    def read_blob(self, blob: str, bytes_max: int = FILE_BYTES_MAX) -> bytes | None:
        """Return a blob's bytes; None when it is not in this repository, or larger than that."""
        return self._read(blob, BLOB, bytes_max)

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the regular file `path` in a commit; None when either is not there."""
        mode, blob = self._entry(commit, path)
        return blob if mode in REGULAR else None

    def link_at(self, commit: str, path: str) -> str:
        """Return where the link `path` of a commit leads; '' when there is no such link."""
        mode, blob = self._entry(commit, path)
        data = self._read(blob, BLOB, LINK_BYTES_MAX) if mode == _LINK else None
        return os.fsdecode(data or b"")

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether a commit has a folder at `path`; false when either is not there."""
        return self._entry(commit, path)[0] == _FOLDER

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether a commit has a submodule at `path`; false when either is not there."""
        return self._entry(commit, path)[0] == b"160000"

    def _differing(self, old: str, new: str) -> Iterator[Change] | None:
        """Return the files that differ between two commits, in any order; None: git has to look.

        `old` may be '', which has no files. A renamed file counts as a deleted and an added file.
        Folders that are the same are not looked into, and no other before it is its turn.

        Raises:
            YaadError: TOO_LARGE after 300,000 files and folders that differ.
        """
        if not all(map(self.reads_here, filter(None, (old, new)))):
            return None
        before, after = (self._read(one, COMMIT) if one else b"" for one in (old, new))
        if before is None or after is None:
            return None
        return self._between(_tree_of(before), _tree_of(after))

    def reads_here(self, id: str) -> bool:
        """Return whether an object is read in this process; git takes a process for each."""
        return self._files_for(id) is not None

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
            if seen > ENTRIES_MAX:
                raise YaadError(
                    Code.TOO_LARGE,
                    f"More than {ENTRIES_MAX:,} files of a commit in {self._folder} would have to"
                    " be looked at; what needed them was not done.",
                )
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
        rows = rb"(?s)[0-7]{5,6} [^\0]+\0.{20}"
        return set(re.findall(rows, self._bytes(tree))) if tree else set()

    def _entry(self, commit: str, path: str) -> Entry:
        """Return the entry at `path` of a commit; nothing when either is missing."""
        tree = self._root(commit) if not NO_FILE.search(path) else ""
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
        return found if found is not None else self._runner.trees.get((self._folder, key))

    def _keep(self, key: str, entries: Entries) -> Entries:
        self._trees[key] = entries
        self._runner.trees.put((self._folder, key), entries)
        return entries

    def _bytes(self, tree: str) -> bytes:
        """Return a tree.

        Raises:
            YaadError: UNAVAILABLE when it is not there.
        """
        data = self._raw_trees.get(tree) or self._read(tree, TREE)
        if data is None:
            raise YaadError(
                Code.UNAVAILABLE,
                f"Tree {tree} is missing from {self._folder}; git did not fetch it, or lost it.",
            )
        self._raw_trees.put(tree, data)
        return data

    def _look(self, id: str) -> int | None:
        """Return the kind of an object; None when it is not there."""
        files = self._files_for(id)
        if files is not None:
            return files.look(id)
        if not ID.fullmatch(id):
            return None
        output = self.git.ask(["cat-file", "--batch-check"], given=f"{id}\n".encode())
        return _kind_and_size(output)[0]

    def _read(self, id: str, kind: int, bytes_max: int = OBJECT_BYTES_MAX) -> bytes | None:
        """Return an object; None when it is not there, of another kind, or larger than that."""
        files = self._files_for(id)
        if files is not None:
            return files.read(id, kind, bytes_max)
        if not ID.fullmatch(id):
            return None
        most = bytes_max + 128  # what stands around an object: id, kind and size, two ends of lines
        given = f"{id}\n".encode()
        try:
            output = self.git.ask(["cat-file", "--batch"], given=given, bytes_max=most)
        except YaadError as error:
            if error.code is not Code.TOO_LARGE:
                raise
            return None
        head, _, data = output.partition(b"\n")
        found, size = _kind_and_size(head)
        return data[:size] if found == kind and size <= bytes_max else None

    def _files_for(self, id: str) -> ObjectFiles | None:
        """Return the in-process reader of objects, if it can read this id."""
        if len(id) != 40 or not ID.fullmatch(id):
            return None
        if not self._opened:
            self._opened = True
            self._files = ObjectFiles.open(self.layout)
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
    written = re.search(rb"(?m)^author [^\n]*> (-?\d{1,18}) [+-]\d+$", head)
    encoding = re.search(rb"(?m)^encoding ([\w.:-]{1,40})$", head)
    line = message.strip().partition(b"\n")[0]
    try:
        at = datetime.fromtimestamp(int(written.group(1)) if written else 0, UTC)
    except (OverflowError, ValueError, OSError):
        at = datetime.fromtimestamp(0, UTC)
    try:
        subject = line.decode(encoding.group(1).decode() if encoding else "utf-8", "replace")
    except (LookupError, UnicodeError):
        subject = line.decode("utf-8", "replace")
    plain = "".join(char if char.isprintable() else " " for char in subject).strip()
    return Commit(id=id, at=at, subject=plain[:200])


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
