"""What did a repository hold at a commit? Answered in this process where that is safe, else by git.

Two tools behind one door. Objects are read in this process where that is safe, see `objects`. A
git command reads those of repositories that cannot be read so (other object formats, objects
borrowed from another user's): one for all that a job asks, which `close` ends.
"""

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
from yaadwatch.system.git.objects.cat_file import Asked
from yaadwatch.system.git.objects.store import Objects
from yaadwatch.system.git.objects.trees import BLOB, COMMIT, Trees
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
        self._trees = runner.trees
        self._objects: Objects | None = None
        self._asked: Asked | None = None
        self._opened = False
        self._begun: tuple[tuple[str, str], list[Change], Iterator[Change]] | None = None

    @property
    def git(self) -> Git:
        """Return what this job asks git by, for questions of other sorts."""
        return self._git

    def blob_at(self, commit: str, path: str) -> str | None:
        """Return the id of the file `path` in `commit`; None when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return None
        return self._reader(commit).blob_at(commit, path)

    def has_commit(self, commit: str) -> bool:
        """Return whether the commit is (still) there: false in a shallow or rewritten history."""
        if not ID.fullmatch(commit):
            return False
        return self._reader(commit).kind(commit) == COMMIT

    def read_blob(self, blob: str, bytes_max: int = FILE_BYTES_MAX) -> bytes | None:
        """Return a blob's bytes; None when it is not in this repository, or larger than that."""
        if not ID.fullmatch(blob):
            return None
        return self._reader(blob).blob(blob, bytes_max)

    def has_blob(self, blob: str) -> bool:
        """Return whether a blob is there: false where a partial clone left it out."""
        if not ID.fullmatch(blob):
            return False
        return self._reader(blob).kind(blob) == BLOB

    def commit(self, commit: str) -> Commit | None:
        """Return a commit's author date and subject, or None when it is not there."""
        if not ID.fullmatch(commit):
            return None
        return self._reader(commit).commit(commit)

    def has_file(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a file, a link or a submodule at `path`."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        return self._reader(commit).has_file(commit, path)

    def has_folder(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a folder at `path`; false when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        return self._reader(commit).has_folder(commit, path)

    def is_submodule(self, commit: str, path: str) -> bool:
        """Return whether `commit` has a submodule at `path`; false when either is not there."""
        if not ID.fullmatch(commit) or NO_FILE.search(path):
            return False
        return self._reader(commit).is_submodule(commit, path)

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

    def close(self) -> None:
        """Leave no command of git behind; what is asked later begins another one."""
        if self._asked is not None:
            self._asked.close()

    def _reader(self, id: str) -> Trees:
        """Return what reads the objects: this process if it can read one of this id, else git."""
        objects = self._open(id)
        if objects is not None:
            return objects
        if self._asked is None:
            self._asked = Asked(self._git, str(self.layout.common_dir / "objects"), self._trees)
        return self._asked

    def _open(self, id: str) -> Objects | None:
        """Return the objects as they are read in this process, if one of this id can be."""
        if len(id) != 40:
            return None
        if not self._opened:
            self._opened = True
            self._objects = Objects.open(self.layout, self._trees)
        return self._objects


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
