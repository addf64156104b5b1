"""What a repository holds, whoever reads its objects: commits, and the files in them."""

import re
from abc import ABC, abstractmethod
from datetime import UTC, datetime

from yaadwatch.model.anchors import Commit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.tree_cache import Entry, TreeCache

COMMIT, TREE, BLOB = 1, 2, 3
"""Kinds of objects, as git numbers them."""
SUBJECT_CHARS_MAX = 200
OBJECT_BYTES_MAX = 64 * 1024 * 1024
FILES, FOLDER = frozenset({b"100644", b"100755", b"100664"}), b"40000"
SUBMODULE = b"160000"
SAME_MODE = {b"100664": b"100644"}
"""What very old trees have, and what git takes it for."""
_AUTHOR = re.compile(rb"^author [^\n]*> (-?\d{1,18}) [+-]\d+$", re.MULTILINE)
_ENCODING = re.compile(rb"^encoding ([\w.:-]{1,40})$", re.MULTILINE)
_ENTRY = {
    40: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{20})", re.DOTALL),
    64: re.compile(rb"([0-7]{5,6}) ([^\0]+)\0(.{32})", re.DOTALL),
}
"""What a tree holds, by the length of the ids."""
_NOTHING: Entry = (b"", "")


class Trees(ABC):
    """The commits, trees and blobs of one repository, by their ids.

    Every method may raise YaadError UNAVAILABLE when an object cannot be read.

    Args:
        folder: where they are.
        cache: trees that other jobs read.
    """

    def __init__(self, folder: str, cache: TreeCache) -> None:
        self._folder = folder
        self._cache = cache
        self._trees: dict[str, dict[bytes, Entry]] = {}

    @abstractmethod
    def _look(self, id: str) -> tuple[int | None, int]:
        """Return kind and size of an object; None and 0 when it is not there."""

    @abstractmethod
    def _read(self, id: str, kind: int, bytes_max: int = OBJECT_BYTES_MAX) -> bytes | None:
        """Return an object; None when it is not there, of another kind, or larger than that."""

    def kind(self, id: str) -> int | None:
        """Return COMMIT, TREE, BLOB or another number of git's; None when it is not there."""
        return self._look(id)[0]

    def commit(self, id: str) -> Commit | None:
        """Return a commit, or None when there is none of this id."""
        data = self._read(id, COMMIT)
        return commit_of(id, data) if data is not None else None

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the regular file `path` in a commit; None when either is not there."""
        mode, blob = self._entry(commit, path)
        return blob if mode in FILES else None

    def has_file(self, commit: str, path: str) -> bool:
        """Return whether a commit has a file, a link or a submodule at `path`."""
        return self._entry(commit, path)[0] not in (b"", FOLDER)

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether a commit has a folder at `path`; false when there is no such commit."""
        return self._entry(commit, path)[0] == FOLDER

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether a commit has a submodule at `path`."""
        return self._entry(commit, path)[0] == SUBMODULE

    def blob(self, id: str, bytes_max: int) -> bytes | None:
        """Return a blob's bytes; None when it is not there or larger than `bytes_max`."""
        return self._read(id, BLOB, bytes_max)

    def _entry(self, commit: str, path: str) -> Entry:
        """Return what a commit has at `path`; nothing when either is not there."""
        tree = self._root(commit)
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        for folder in folders:
            mode, tree = self._tree(tree).get(folder, _NOTHING)
            if mode != FOLDER:
                return _NOTHING
        return self._tree(tree).get(name, _NOTHING)

    def _root(self, commit: str) -> str:
        """Return the tree of a commit; '' when there is no such commit."""
        key = f"{commit}^{{tree}}"
        if key not in self._trees:
            kept = self._cache.get(self._folder, key)
            if kept is None:
                data = self._read(commit, COMMIT)
                if data is None:
                    return ""
                kept = {b"": (FOLDER, tree_of(data))}
                self._cache.put(self._folder, key, kept)
            self._trees[key] = kept
        return self._trees[key][b""][1]

    def _tree(self, id: str) -> dict[bytes, Entry]:
        if not id:
            return {}
        if id not in self._trees:
            tree = self._cache.get(self._folder, id)
            if tree is None:
                tree = _entries(self._listed(id), len(id))
                self._cache.put(self._folder, id, tree)
            self._trees[id] = tree
        return self._trees[id]

    def _listed(self, id: str) -> bytes:
        """Return a tree.

        Raises:
            YaadError: UNAVAILABLE when it is not there.
        """
        data = self._read(id, TREE)
        if data is None:
            raise YaadError(
                Code.UNAVAILABLE,
                f"Tree {id} is missing from {self._folder}; git did not fetch it, or lost it.",
            )
        return data


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


def tree_of(commit: bytes) -> str:
    """Return the id of the tree that a raw commit names."""
    return commit[5:].partition(b"\n")[0].decode("ascii", "replace")


def _entries(tree: bytes, digits: int) -> dict[bytes, Entry]:
    """Return mode and id of what a tree holds, by name."""
    rows = _ENTRY[digits].findall(tree)
    return {name: (SAME_MODE.get(mode, mode), blob.hex()) for mode, name, blob in rows}
