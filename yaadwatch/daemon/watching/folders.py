"""Did an agent file come up somewhere in a work tree that nobody is told about?

The time of a folder says that something came or went in it, so at rest a look is one `stat` for
each folder. Whether git ignores what came up is for others to say: it is a hint like any other.
"""

import os
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

FOLDERS_MAX: Final = 2_048
"""Folders of one work tree that are looked at, those near its top first."""

Passed = Callable[[str], bool]
"""Tells of the name of a folder that it is not looked into."""


@dataclass(slots=True)
class Folders:
    """Remembers when the folders of one work tree were changed.

    Args:
        root: the work tree.
        is_rule: whether a file at a path, relative, with '/', would be an agent file.
        is_passed: which folders are not looked into, nor what is below them.
    """

    root: str
    is_rule: Callable[[str], bool]
    is_passed: Passed
    _changed_ns: dict[str, int] = field(default_factory=dict)

    def look(self, known: Collection[str]) -> frozenset[str]:
        """Return the agent files in folders that changed since the last look, `known` left out.

        The first look finds what there is.
        """
        found: set[str] = set()
        waiting = deque(self._changed_ns or [""])
        while waiting:
            folder = waiting.popleft()
            now_ns = _changed_ns(f"{self.root}/{folder}")
            if now_ns is None:
                self._changed_ns.pop(folder, None)
            elif self._changed_ns.get(folder) != now_ns:
                self._changed_ns[folder] = now_ns
                waiting += self._scan(folder, found)
        return frozenset(found.difference(known))

    def _scan(self, folder: str, found: set[str]) -> list[str]:
        """Add the agent files of a folder to `found`; return the folders in it that are new."""
        inner: list[str] = []
        try:
            with os.scandir(f"{self.root}/{folder}") as entries:
                for entry in entries:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if entry.is_dir(follow_symlinks=False):
                        if self._is_new(path, entry.name):
                            self._changed_ns[path] = -1
                            inner.append(path)
                    elif folder and self.is_rule(path):
                        found.add(path)
        except OSError:
            return inner  # it went meanwhile, or may not be looked into
        return sorted(inner)

    def _is_new(self, path: str, name: str) -> bool:
        """Tell whether a folder is to be looked into from now on: not another repository."""
        return (
            path not in self._changed_ns
            and len(self._changed_ns) < FOLDERS_MAX
            and not self.is_passed(name)
            and not os.path.lexists(f"{self.root}/{path}/.git")
        )


def _changed_ns(folder: str) -> int | None:
    """Return when something came or went in a folder; None when it is none."""
    try:
        return os.lstat(folder).st_mtime_ns
    except OSError:
        return None
