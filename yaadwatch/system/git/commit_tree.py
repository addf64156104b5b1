"""The files of a commit by their names, as an index of them knows; without a list of all of them.

The index has the names of several commits. Whether one has a file is asked of its trees.
"""

from collections.abc import Iterable, Iterator
from typing import Protocol

from yaadwatch.system.git.words.protocol import Names


class Trees(Protocol):
    """The trees of a repository; a `Repository` is one."""

    def has_file(self, commit: str, path: str) -> bool: ...  # noqa: D102
    def has_folder(self, commit: str, path: str) -> bool: ...  # noqa: D102
    def paths_below(self, commit: str, folder: str) -> Iterable[str]: ...  # noqa: D102


class Named:
    """The files of one commit. Every method may raise YaadError, from git or from the index."""

    def __init__(self, names: Names, trees: Trees, commit: str) -> None:
        self._names = names
        self._trees = trees
        self._commit = commit

    def has_file(self, path: str) -> bool:
        """Return whether there is a file at `path`."""
        return self._trees.has_file(self._commit, path)

    def has_folder(self, path: str) -> bool:
        """Return whether a file is in the folder `path`."""
        return self._trees.has_folder(self._commit, path)

    def named(self, name: str) -> Iterator[str]:
        """Yield the files of a name."""
        return filter(self.has_file, self._names.files(name))

    def perhaps(self, name: str) -> list[str]:
        """Return the files of a name that this commit has, and some that only others have."""
        return self._names.files(name)

    def folders_named(self, name: str) -> Iterator[str]:
        """Yield the folders of a last name."""
        return filter(self.has_folder, self._names.folders(name))

    def below(self, folder: str) -> Iterable[str]:
        """Return the files in a folder and those below it; all of them for ''."""
        return self._trees.paths_below(self._commit, folder)

    def is_name(self, word: str) -> bool:
        """Return whether a file or folder has this name, with its suffix or without."""
        if any(self.named(word)) or any(self.folders_named(word)):
            return True
        if not word or "." in word:
            return False
        found = self._names.beginning(word)
        return any(self.has_file(path) or self.has_folder(path) for path in found)
