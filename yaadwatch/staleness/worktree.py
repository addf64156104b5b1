"""Read the files of a work tree as they are now, committed or not.

Opens only files that memories rest on or texts name, each at most once per job.
"""

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Protocol

from yaadwatch.anchors.tree import Tree
from yaadwatch.model.anchors import Anchor, Method, Sighting
from yaadwatch.model.settings import FILE_BYTES_MAX, MOVE_CANDIDATES_MAX
from yaadwatch.repo import layout
from yaadwatch.repo.repository import Repository, blob_id
from yaadwatch.staleness.commits import FOLDER_FILES_MAX, AtHead, FileInView
from yaadwatch.staleness.git_queries import History
from yaadwatch.system import files
from yaadwatch.text import privacy
from yaadwatch.text.quoting import as_name
from yaadwatch.text.words import cached

MOVED_INSIDE_MAX = 32
"""Files of a missing folder that are searched elsewhere, one by one."""
_ODD = {
    "link": "{path} is a link now; links are not followed",
    "other": "{path} is not a regular file",
    "too_large": "{path} is larger than 2 MiB; it is not read",
    "unreadable": "{path} cannot be read by this user",
}


class SpaceLike(Protocol):
    """What is needed of a `Space` to read its files."""

    @property
    def root(self) -> Path:
        """Return the folder that paths are relative to."""

    @property
    def repository(self) -> Repository:
        """Return its repository."""


@dataclass(slots=True, kw_only=True)
class WorkTree:
    """The files of a work tree as they are now, committed or not.

    Args:
        space: the work tree.
        known: sightings of earlier checks, by path; a file with the same signature is not
            read again.
        now_ns: now, in nanoseconds, to recognise signatures that are too fresh to trust.
    """

    space: SpaceLike
    known: dict[str, Sighting]
    now_ns: int
    object_format: str
    head: AtHead
    seen: dict[str, Sighting] = field(default_factory=dict)
    _found: dict[str, FileInView | None] = field(default_factory=dict)
    _untracked: dict[str, list[str]] = field(default_factory=dict)
    _listing: Tree | None = None
    _new_files: Tree | None = None

    def find(self, path: str) -> FileInView | None:
        """Return the file at `path`, or None; its bytes only when they were needed.

        Raises:
            YaadError: REFUSED when the repository belongs to another user by now.
        """
        if path.partition("/")[0] == ".yaad":
            return None  # our own: each check writes there, and would be the cause of the next
        if path not in self._found:
            self.space.repository.require_ours()
            signature = files.signature_of(self.space.root, path, self.now_ns)
            known = self.known.get(path)
            if known is not None and known.blob and signature and known.signature == signature:
                self.seen[path] = known
                self._found[path] = FileInView(blob=known.blob)
            else:
                self._found[path] = self._look(path)
        return self._found[path]

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None when it is missing or unreadable."""
        found = self.find(path)
        if found is not None and found.data is None and not found.odd:
            found = self._found[path] = self._look(path)
        return found.data if found is not None else None

    def moved_to(self, start: str, blobs: Collection[str]) -> str | None:
        """Return where the file `start` went without a commit: staged, or moved by hand.

        A move by hand is recognised by an untracked file with the last bytes of the file: one of
        `blobs`.
        """
        return self.head.history.once("moved_to", self._where_to, start, frozenset(blobs))

    def moved_inside(self, folder: str) -> tuple[dict[str, str], list[str]]:
        """Return where files of a folder went without a commit, and the missing ones.

        Of a large folder only the first tracked files are looked up.
        """
        inside = folder + "/"
        staged = {old: new for old, new in self._staged().items() if old.startswith(inside)}
        tracked = (one for one in self.head.history.tracked(folder) if one.startswith(inside))
        moved, lost = {}, []
        for path in (*staged, *islice(tracked, MOVED_INSIDE_MAX)):
            found = self.head.find(path)
            place = self.moved_to(path, {found.blob} if found is not None else ())
            if place is not None:
                moved[path] = place
            else:
                lost.append(path)
        return moved, lost

    def _where_to(self, start: str, blobs: Collection[str]) -> str | None:
        staged = self._staged().get(start)
        if staged and self.find(staged) is not None:
            return staged
        wanted = {blob for blob in blobs if blob}
        name, nothing = start.rpartition("/")[2], blob_id(b"", self.object_format)
        for path in self._alike(start):
            if path.rpartition("/")[2] != name:
                wanted.discard(nothing)  # one empty file is like any other
            found = self.find(path)
            if found is not None and found.blob in wanted:
                return path
            self._found[path] = replace(found, data=None) if found is not None else None
        return None

    def listing(self) -> Tree:
        """Return the tracked files, existing or not."""
        if self._listing is None:
            self._listing = _tree_of(self.head.history.tracked())
        return self._listing

    def has_file(self, path: str) -> bool:
        """Return whether a tracked file exists, or is only not checked out."""
        return self._is_there(path)

    def files_in(self, folder: str) -> list[str]:
        """Return the files in a folder, tracked or new; [] for more than FOLDER_FILES_MAX."""
        return self.head.history.once("files_in_here", self._files_in, folder)

    def _files_in(self, folder: str) -> list[str]:
        inside = f"{folder}/"
        tracked = [one for one in self.head.history.tracked(folder) if one.startswith(inside)]
        if len(tracked) > FOLDER_FILES_MAX:
            return []
        new = (one for one in self.head.history.untracked() if one.startswith(inside))
        return [*filter(self._is_there, tracked), *new]

    def has_folder(self, path: str) -> bool:
        """Return whether a file that git does not ignore, or a submodule, is at `path`."""
        return self.head.history.once("has_folder_here", self._has_folder, path)

    def _has_folder(self, path: str) -> bool:
        inside = path + "/"
        if path in self.head.history.left_out().modules and self.space.root.joinpath(path).is_dir():
            return True
        tracked = (one for one in self.head.history.tracked(path) if one.startswith(inside))
        if any(self._is_there(one) for one in tracked):
            return True
        return any(one.startswith(inside) for one in self.head.history.untracked())

    def matching(self, pattern: str) -> bool:
        """Return whether a file that git does not ignore matches the pattern."""
        return self.head.history.once("matching_here", self._matching, pattern)

    def stands(self, anchor: Anchor) -> bool:
        """Return whether any file is in the anchored folder, or matches the anchored pattern."""
        if anchor.is_members:
            return False  # what is in it counts, so it is always judged again
        if anchor.method is Method.GLOB:
            return self.matching(anchor.symbol)
        return self.has_folder(anchor.path)

    def _matching(self, pattern: str) -> bool:
        if any(self._is_there(path) for path in self.listing().matching(pattern)):
            return True
        return any(True for _ in Tree.of(self.head.history.untracked()).matching(pattern))

    def files_by_word(self, words: Sequence[str]) -> dict[str, Sequence[str]]:
        """Return the text files that hold each word: tracked ones, or else new ones."""
        found = self.head.history.files_by_word(words, at=None)
        known = self.listing().paths
        tracked = {word: [path for path in found[word] if path in known] for word in words}
        return {word: tracked[word] or found[word] for word in words}

    def new_files(self) -> Tree:
        """Return the files that git neither tracks nor ignores."""
        if self._new_files is None:
            self._new_files = Tree.of(self.head.history.untracked())
        return self._new_files

    def _is_there(self, path: str) -> bool:
        """Return whether a tracked file exists, or is only not checked out."""
        if files.signature_of(self.space.root, path, self.now_ns) != files.ABSENT:
            return True
        return path in self.head.history.left_out().sparse

    def holding(self, word: str) -> Sequence[str]:
        """Return the files that hold `word`, tracked or not (without ignored ones), sorted."""
        return self.head.history.holding(word, at=None)

    using = holding

    def _alike(self, start: str) -> list[str]:
        """Return untracked files that `start` may be now.

        Those of its name first, then those with another suffix, then of its kind, then any.
        """
        if not self._untracked:
            for path in self.head.history.untracked():
                for key in (*_looks_of(path), _ANY):
                    self._untracked.setdefault(key, []).append(path)
        keys = (*_looks_of(start), _ANY)
        found = (path for key in keys for path in self._untracked.get(key, ()))
        some = islice(found, len(keys) * MOVE_CANDIDATES_MAX)  # one may have all of these
        return list(dict.fromkeys(some))[:MOVE_CANDIDATES_MAX]

    def _look(self, path: str) -> FileInView | None:
        observed = files.observe(
            self.space.root, path, bytes_max=FILE_BYTES_MAX, now_ns=self.now_ns
        )
        if observed.kind == "absent":
            left_out = self._left_out(path)
            # What git may put there, or have otherwise, any time shows in no signature.
            signature = observed.signature if left_out is None else ""
            self.seen[path] = Sighting(path=path, signature=signature, blob="")
            return left_out
        if observed.data is None:
            self.seen[path] = Sighting(path=path, signature="", blob="")
            if observed.kind == "other" and self.space.root.joinpath(path).is_dir():
                return None  # a folder of that name: the file is gone
            reason = _ODD.get(observed.kind, f"{path} could not be read").format(path=as_name(path))
            return FileInView(blob="", odd=reason, kind=observed.kind)
        blob = blob_id(observed.data, self.object_format)
        self.seen[path] = Sighting(path=path, signature=observed.signature, blob=blob)
        return FileInView(blob=blob, data=observed.data)

    def _left_out(self, path: str) -> FileInView | None:
        """Return an absent file that is only not checked out; None: it is missing."""
        left_out = self.head.history.left_out()
        blob = left_out.sparse.get(path)
        if blob is not None:
            return FileInView(blob=blob, data=self.head.history.read_blob(blob))
        for at in (at for at, letter in enumerate(path) if letter == "/"):
            module = path[:at]
            if module in left_out.modules and not os.path.lexists(
                self.space.root / module / ".git"
            ):
                odd = f"{as_name(module)} is a submodule that is not checked out here"
                return FileInView(blob="", odd=odd, kind="other")
        return None

    def _staged(self) -> dict[str, str]:
        return self.head.history.staged_renames() if self.head.head.commit else {}


_ANY = "*"


def _looks_of(path: str) -> tuple[str, str, str]:
    """Return what a path shares with what it may be renamed to, most distinctive first."""
    name = path.rpartition("/")[2]
    return (f"/{name}", f"{name.rpartition('.')[0] or name}.", f".{name.rpartition('.')[2]}")


View = WorkTree | AtHead

TREE_PATHS_KEPT = 20_000
"""The index of a larger tree is not cached."""


def _tree_of(paths: Sequence[str]) -> Tree:
    """Return the tree of `paths`, cached: jobs mostly have the same paths as the last one."""
    return Tree.of(paths) if len(paths) > TREE_PATHS_KEPT else _kept_tree(tuple(paths))


@lru_cache(maxsize=2)
def _kept_tree(paths: tuple[str, ...]) -> Tree:
    return Tree.of(paths)


@cached(16)
def _masked(branch: str) -> str:
    return privacy.mask(branch).text


def head_of(space: SpaceLike) -> layout.Head:
    """Return HEAD, with the name of its branch masked."""
    found = space.repository.head()
    return replace(found, branch=_masked(found.branch))


def look_at(space: SpaceLike, known: Iterable[Sighting], now_ns: int) -> tuple[WorkTree, AtHead]:
    """Return both views of a work tree, for one job; the branch's name is masked.

    Args:
        space: whose files.
        known: what was read earlier.
        now_ns: now, in nanoseconds.
    """
    found = head_of(space)
    head = AtHead(history=History(space.repository), head=found)
    tree = WorkTree(
        space=space,
        known={sighting.path: sighting for sighting in known},
        now_ns=now_ns,
        object_format=layout.object_format(space.repository.layout, found),
        head=head,
    )
    return tree, head
