"""What do a repository's objects say? Read in this process, a thousand times as fast as by git.

libgit2 waits for ever at a named pipe, and the whole process with it. So only its object store is
opened here, never a repository with its configuration, and only where everything it would open is
a plain file. The rest is git's, which runs under a limit. What has a file of its own is read
without libgit2; pygit2 is imported for the first pack, because it costs the daemon 13 MiB.
"""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.changes import Change
from yaadwatch.system.git.layout import Layout
from yaadwatch.system.git.objects import alternates, loose
from yaadwatch.system.git.objects.trees import (
    COMMIT,
    FILES,
    FOLDER,
    OBJECT_BYTES_MAX,
    SAME_MODE,
    Trees,
    tree_of,
)
from yaadwatch.system.git.tree_cache import TreeCache

if TYPE_CHECKING:
    import pygit2

_ID = re.compile(r"[0-9a-f]{40}")
_ROW = re.compile(rb"[0-7]{5,6} [^\0]+\0.{20}", re.DOTALL)
_Mine = tuple[bytes, bytes]
"""Mode, and the id in 20 bytes, as a tree has them; both empty for nothing."""
_ABSENT: _Mine = (b"", b"")


ENTRIES_MAX = 300_000
"""Of trees that hold one another over and over, a few kilobytes are any number of files."""


class Objects(Trees):
    """The commits, trees and blobs of one repository, by SHA-1, read in this process."""

    def __init__(self, places: "Sequence[_Place]", cache: TreeCache) -> None:
        super().__init__(places[0].folder, cache)
        self._places = places
        self._store: pygit2.Odb | None = None

    @classmethod
    def open(cls, layout: Layout, cache: TreeCache) -> "Objects | None":
        """Return the objects, or None when only git may read them: not ours, or odd.

        Those that a repository borrows from another one count, where that one is ours, too.
        """
        try:
            ours = layout.git_dir.stat().st_uid == os.geteuid()
            places = _places(str(layout.common_dir / "objects")) if ours else None
        except OSError:
            return None
        if not places:
            return None
        objects = cls(places, cache)
        try:
            if any(place.packed for place in places):
                objects._opened()
        except YaadError:
            return None
        return objects

    def paths_below(self, commit: str, folder: str) -> Iterator[str]:
        """Yield the files of a commit in a folder and those below it; all of them for ''.

        Those whose names are not UTF-8 are left out.

        Raises:
            YaadError: TOO_LARGE after 300,000 files and folders.
        """
        mode, tree = self._entry(commit, folder) if folder else (FOLDER, self._root(commit))
        pending = [(f"{folder}/" if folder else "", tree)] if mode == FOLDER and tree else []
        seen = 0
        while pending:
            above, tree = pending.pop()
            entries = self._tree(tree)
            seen += len(entries)
            self._refuse_beyond(seen)
            for name, (mode, below) in entries.items():
                try:
                    path = above + name.decode("utf-8")
                except UnicodeDecodeError:
                    continue
                if mode == FOLDER:
                    pending.append((f"{path}/", below))
                else:
                    yield path

    def differing(self, old: str, new: str) -> Iterator[Change] | None:
        """Return the files that differ between two commits, in any order; None: one is not there.

        A renamed file is one that is gone and one that is new. Folders that are the same are not
        looked into, and no other before it is its turn.

        Raises:
            YaadError: TOO_LARGE after 300,000 files and folders that differ.
        """
        before, after = self._read(old, COMMIT), self._read(new, COMMIT)
        if before is None or after is None:
            return None
        return self._between(tree_of(before), tree_of(after))

    def _between(self, old: str, new: str) -> Iterator[Change]:
        """Yield the files that differ between two trees."""
        pending = [(b"", old, new)]
        seen = 0
        while pending:
            folder, one, other = pending.pop()
            if one == other:
                continue
            before, after = set(self._rows(one)), set(self._rows(other))
            then, now = _by_name(before - after), _by_name(after - before)
            seen += len(then.keys() | now.keys())
            self._refuse_beyond(seen)
            for name in then.keys() | now.keys():
                was, is_now = then.get(name, _ABSENT), now.get(name, _ABSENT)
                if FOLDER in (was[0], is_now[0]):
                    trees = [row[1].hex() if row[0] == FOLDER else "" for row in (was, is_now)]
                    pending.append((folder + name + b"/", trees[0], trees[1]))
                    was, is_now = (_ABSENT if row[0] == FOLDER else row for row in (was, is_now))
                change = _change(folder + name, was, is_now)
                if change is not None:
                    yield change

    def _refuse_beyond(self, seen: int) -> None:
        if seen > ENTRIES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"More than {ENTRIES_MAX:,} files of a commit in {self._folder} would have to be"
                " looked at; what needed them was not done.",
            )

    def _rows(self, id: str) -> list[bytes]:
        """Return what a tree holds, each as the tree has it; nothing when the id is ''."""
        return _ROW.findall(self._listed(id)) if id else []

    def _read(self, id: str, kind: int, bytes_max: int = OBJECT_BYTES_MAX) -> bytes | None:
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

    def _look(self, id: str) -> tuple[int | None, int]:
        """Return kind and size of an object; None and 0 when it is not there."""
        if not _ID.fullmatch(id):
            return None, 0
        own = self._loose(id, 0)
        if own is not None:
            return own.kind, own.size
        return self._header(self._packs_of(id), id)

    def _loose(self, id: str, bytes_max: int) -> loose.Loose | None:
        try:
            for place in self._places:
                found = loose.read(place.folder, id, bytes_max)
                if found is not None:
                    return found
        except loose.Odd:
            raise self._unreadable(id, "it is not a plain file") from None
        return None

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
        """Return libgit2's view of all objects, or None when there is none for it to find."""
        self._check_places(id)
        for place in self._places:
            if place.packed or os.path.lexists(f"{place.folder}/{id[:2]}/{id[2:]}"):
                return self._opened()
        return None

    def _opened(self) -> "pygit2.Odb":
        """Return libgit2's view of all objects."""
        if self._store is None:
            self._check_folders()
            import pygit2

            # What is read is not hashed again: git does not do so either, it would take twice as
            # long, and the checksum that each packed text carries is looked at anyhow.
            pygit2.settings.enable_strict_hash_verification(False)
            try:
                self._store = pygit2.Odb(self._folder)
            except (pygit2.GitError, ValueError) as error:
                raise YaadError(
                    Code.UNAVAILABLE, f"The objects in {self._folder} cannot be read: {error}."
                ) from error
        return self._store

    def _check_folders(self) -> None:
        """See that libgit2 would still open what was looked at, and nothing else."""
        try:
            folders = alternates.folders(self._folder)
        except OSError:
            folders = None
        if folders != tuple(place.folder for place in self._places):
            raise YaadError(
                Code.UNAVAILABLE,
                f"What {self._folder} borrows objects from changed meanwhile; none was read.",
            )

    def _check_places(self, id: str) -> None:
        """Look again at a folder of packs that changed: libgit2 opens what is new in it."""
        try:
            for place in self._places:
                folder = place.folder
                packs = _looks(f"{folder}/pack")
                if packs != place.packs:
                    packed = _packed(f"{folder}/pack")
                    if packed is None:
                        raise self._unreadable(id, "something among the packs is no plain file")
                    place.packs, place.packed = packs, packed
        except OSError as error:
            raise self._unreadable(id, error) from error

    def _unreadable(self, id: str, why: object) -> YaadError:
        return YaadError(
            Code.UNAVAILABLE,
            f"Object {id} of {self._folder} cannot be read: {why}.",
            hint="See what git fsck says about this repository.",
        )


class _Place:
    """A folder of objects, and how its packs looked when they were last seen to be plain files.

    `packed`: whether there is anything among them.
    """

    __slots__ = ("folder", "packed", "packs")

    def __init__(self, folder: str, packs: tuple[int, ...], *, packed: bool) -> None:
        self.folder = folder
        self.packs = packs
        self.packed = packed


def _places(own: str) -> list[_Place] | None:
    """Return the folders whose objects are read; None where something in one is no plain file.

    Raises:
        OSError: one cannot be looked at.
    """
    found = []
    for folder in alternates.folders(own) or ():
        packs = _looks(f"{folder}/pack")
        packed = _packed(f"{folder}/pack")
        if packed is None:
            return None
        found.append(_Place(folder, packs, packed=packed))
    return found


def _change(path: bytes, was: _Mine, is_now: _Mine) -> Change | None:
    """Return what became of a file; None when nothing did.

    None, too, when its name is not UTF-8 and cannot be named here.
    """
    mode, blob = was
    mode_now, blob_now = is_now
    if blob == blob_now and SAME_MODE.get(mode, mode) == SAME_MODE.get(mode_now, mode_now):
        return None
    try:
        name = path.decode()
    except UnicodeDecodeError:
        return None
    return Change(
        name if mode else None,
        name if mode_now else None,
        blob.hex() if mode in FILES else "",
        blob_now.hex() if mode_now in FILES else "",
    )


def _by_name(rows: Iterable[bytes]) -> dict[bytes, _Mine]:
    """Return mode and id of rows of a tree, by name."""
    found: dict[bytes, _Mine] = {}
    for row in rows:
        mode, _, name = row[:-21].partition(b" ")
        found[name] = (mode, row[-20:])
    return found


def _looks(folder: str) -> tuple[int, ...]:
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
