"""The commits, trees and blobs of one repository.

They are read in this process where that is safe, see `object_files`. Where it is not, each question
is a git command.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from yaadwatch.model.anchors import Commit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.caches import Cache
from yaadwatch.system.git.changes import REGULAR, Change
from yaadwatch.system.git.layout import Layout
from yaadwatch.system.git.object_files import ObjectFiles
from yaadwatch.system.git.question import Git

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
        """Return what a commit has at `path`; nothing when either is not there."""
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
        """Return what reads objects in this process, if it can read one of this id."""
        if len(id) != 40:
            return None
        if not self._opened:
            self._opened = True
            self._files = ObjectFiles.open(self._layout)
        return self._files


def _kind_and_size(head: bytes) -> tuple[int | None, int]:
    """Return what `git cat-file --batch` says of an object first; None and 0: it is not there."""
    _, kind, size = [*head.split(), b"", b""][:3]
    return (_KINDS.get(kind), int(size)) if size.isdigit() else (None, 0)


def commit_of(id: str, data: bytes) -> Commit:
    """Return what a raw commit says: author date and the first line of its message.

    A date that no calendar holds (a hostile history) becomes the epoch; characters that move a
    terminal's cursor become spaces.
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
    """Return the id of the tree that a raw commit names."""
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
