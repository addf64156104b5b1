"""What did a repository hold at a commit? Answered in this process where that is safe, else by git.

Two tools behind one door. Objects are read in this process where that is safe, see `objects`. The
git command reads those of repositories that cannot be read so (other object formats, objects
borrowed from another user's), a thousand times as slow.
"""

import os
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice

from yaadwatch.model.anchors import Commit
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import FILE_BYTES_MAX
from yaadwatch.system.git import changes as changing
from yaadwatch.system.git.changes import Change
from yaadwatch.system.git.command import GitRunner
from yaadwatch.system.git.layout import Layout
from yaadwatch.system.git.objects.store import BLOB, COMMIT, Objects, commit_of
from yaadwatch.system.git.question import Git

ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
NO_FILE = re.compile(r"\0|(?:\A|/)\.{0,2}(?:/|\Z)")


class Snapshots:
    """The commits of a repository, and the files in each; nothing of them ever changes.

    Every method may raise YaadError: TIMEOUT, REFUSED when the repository belongs to another user,
    UNAVAILABLE when git, or an object, cannot be had.
    """

    def __init__(self, layout: Layout, runner: GitRunner) -> None:
        self.layout = layout
        self._git = Git(layout, runner)
        self._objects: Objects | None = None
        self._opened = False
        self._begun: tuple[tuple[str, str], list[Change], Iterator[Change]] | None = None

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return None
        objects = self._open(commit)
        if objects is not None:
            return objects.blob_at(commit, path)
        mode, kind, blob = self._entry(commit, path)
        return blob if kind == "blob" and mode != "120000" else None

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there: false in a shallow or rewritten history."""
        if not ID.fullmatch(commit):
            return False
        objects = self._open(commit)
        if objects is not None:
            return objects.kind(commit) == COMMIT
        return self._described(commit)[0] == "commit"

    def read_blob(self, blob: str, bytes_max: int = FILE_BYTES_MAX) -> bytes | None:
        """Return a blob's bytes; None when it is not in this repository, or larger than that."""
        if not ID.fullmatch(blob):
            return None
        objects = self._open(blob)
        if objects is not None:
            return objects.blob(blob, bytes_max)
        kind, size = self._described(blob)
        if kind != "blob" or size > bytes_max:
            return None
        return self._git.ask(["cat-file", "blob", blob])

    def has_blob(self, blob: str) -> bool:
        """Return whether a blob is there: false where a partial clone left it out."""
        if not ID.fullmatch(blob):
            return False
        objects = self._open(blob)
        if objects is not None:
            return objects.kind(blob) == BLOB
        return self._described(blob)[0] == "blob"

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        if not ID.fullmatch(commit):
            return None
        objects = self._open(commit)
        if objects is not None:
            return objects.commit(commit)
        if self._described(commit)[0] != "commit":
            return None
        return commit_of(commit, self._git.ask(["cat-file", "commit", commit]))

    def has_file(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a file, a link or a submodule at `path`."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        objects = self._open(commit)
        if objects is not None:
            return objects.has_file(commit, path)
        return self._entry(commit, path)[1] in ("blob", "commit")

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a folder at `path`; false when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        objects = self._open(commit)
        if objects is not None:
            return objects.has_folder(commit, path)
        return self._entry(commit, path)[1] == "tree"

    def paths_at(self, commit: str) -> list[str]:
        """Return the paths in a commit."""
        listed = self._git.ask(
            ["ls-tree", "-r", "-z", "--name-only", "--full-tree", *valid(commit)]
        )
        return changing.paths_in(listed)

    def files_at(self, commit: str) -> list[tuple[str, str]]:
        """Return path and blob of the files in a commit; '' for the blob of no regular file."""
        listed = self._git.ask(["ls-tree", "-r", "-z", "--full-tree", *valid(commit)])
        return changing.files_in(listed)

    def paths_below(self, commit: str, folder: str) -> Iterable[str]:
        """Return the files of a commit in a folder and those below it; all of them for ''."""
        if not ID.fullmatch(commit) or (folder and NO_FILE.search(folder)):
            return ()
        objects = self._open(commit)
        if objects is not None:
            return objects.paths_below(commit, folder)
        inside = f"{folder}/" if folder else ""
        return [path for path in self.paths_at(commit) if path.startswith(inside)]

    def differing(self, old: str, new: str) -> list[Change]:
        """Return the files that differ between two commits, renamed ones as gone and as new.

        What it costs depends on what differs, not on what is the same.
        """
        found = self._found(old, new)
        if found is not None:
            return sorted(found, key=_path)
        options = ["-r", "-z", "--raw", "--no-abbrev", "--no-renames", *valid(old, new)]
        return changing.parsed(self._git.compare(options))

    def differing_little(self, old: str, new: str, most: int) -> list[Change] | None:
        """Return what `differing` does; None when more files than `most` differ."""
        found = self._found(old, new)
        few = self.differing(old, new) if found is None else list(islice(found, most + 1))
        if len(few) <= most:
            return sorted(few, key=_path)
        if found is not None:  # all of them may be asked for next: what was read is not read again
            self._begun = (old, new), few, found
        return None

    def _found(self, old: str, new: str) -> Iterator[Change] | None:
        """Return the files that differ, as they are read in this process; None: git has to look."""
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == (old, new):
            return chain(begun[1], begun[2])
        objects = self._open(old)
        return objects.differing(old, new) if objects is not None else None

    def _entry(self, commit: str, path: str) -> tuple[str, str, str]:
        """Return mode, kind and id of what git has at `path`; all '' when it is not there."""
        if self._described(commit)[0] == "commit":
            rows = self._git.ask(["ls-tree", "-z", "--full-tree", commit, "--", path])
            for row in rows.split(b"\0"):
                about, _, name = row.partition(b"\t")
                if name == os.fsencode(path):
                    mode, kind, named = about.decode().split()
                    return mode, kind, named
        return "", "", ""

    def _open(self, id: str) -> Objects | None:
        """Return the objects as they are read in this process, if one of this id can be."""
        if len(id) != 40:
            return None
        if not self._opened:
            self._opened = True
            self._objects = Objects.open(self.layout)
        return self._objects

    def _described(self, id: str) -> tuple[str, int]:
        """Return what git says of an object: kind and size; '' and 0 when it is not there."""
        answer = self._git.ask(["cat-file", "--batch-check"], given=id.encode() + b"\n")
        _, kind, size = [*answer.decode("utf-8", "replace").split(), "", ""][:3]
        return (kind, int(size)) if size.isdigit() else ("", 0)


def _path(change: Change) -> str:
    return change.old or change.new or ""


def valid(*ids: str) -> tuple[str, ...]:
    """Return the ids.

    Raises:
        YaadError: UNAVAILABLE when one of them is none.
    """
    for commit in ids:
        if not ID.fullmatch(commit):
            raise YaadError(Code.UNAVAILABLE, f"{commit!r} is no commit, so git was not asked.")
    return ids
