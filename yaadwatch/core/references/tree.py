"""The files of a repository, looked up by path, by end of path, by folder and by pattern."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

PATTERN_STARS_MAX = 8
"""Stars of a pattern; one with more matches nothing, because each may be tried everywhere."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The files of a repository, ready to be looked up by path, by end of path and by name."""

    paths: frozenset[str]
    by_name: dict[str, tuple[str, ...]] = field(repr=False)
    folders: dict[str, tuple[str, ...]] = field(repr=False)
    """The last name of each folder, to the folders of that name."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> "Tree":
        """Return the tree of `paths` (relative, '/' separators)."""
        by_name: dict[str, list[str]] = {}
        folders: dict[str, list[str]] = {}
        known: set[str] = {""}
        ordered = sorted(dict.fromkeys(paths))  # from git they come in order, which costs little
        for path in ordered:
            folder, _, name = path.rpartition("/")
            by_name.setdefault(name, []).append(path)
            while folder not in known:
                known.add(folder)
                above, _, last = folder.rpartition("/")
                folders.setdefault(last, []).append(folder)
                folder = above
        return cls(
            frozenset(ordered),
            {name: tuple(found) for name, found in by_name.items()},
            {name: tuple(sorted(found)) for name, found in folders.items()},
        )

    def match(self, mention: str, *, folder: str = "") -> str | None:
        """Return the one file that `mention` means, or None when there is none or more than one.

        In this order: relative to `folder` (where the text stands), the exact path, the only path
        that ends in the mention. A name alone must be the only file of that name.
        """
        for candidate in (_join(folder, mention), _join("", mention)):
            if candidate and candidate in self.paths:
                return candidate
        return _only(mention, self.by_name)

    def match_folder(self, mention: str, *, folder: str = "") -> str | None:
        """Return the one folder that `mention` means, found as a file is; None as for a file.

        A name alone means a folder only with a slash behind it: any word may be one's name.
        """
        if "/" not in mention.strip():
            return None
        for candidate in (_join(folder, mention), _join("", mention)):
            if candidate and self.has_folder(candidate):
                return candidate
        return _only(mention, self.folders)

    def has_folder(self, path: str) -> bool:
        """Return whether a file of the tree is in the folder `path`."""
        return path in self.folders.get(path.rpartition("/")[2], ())

    def matching(self, pattern: str) -> list[str]:
        """Return the files that a pattern with stars means, sorted.

        `*` stands for a part of a name, `**` for any folders; a pattern without a slash is one for
        names.
        """
        if pattern.count("*") > PATTERN_STARS_MAX:
            return []
        wanted = _compiled(pattern.strip("/"))
        if "/" not in pattern:
            return sorted(
                path
                for name, paths in self.by_name.items()
                if wanted.fullmatch(name)
                for path in paths
            )
        start = pattern.partition("*")[0]
        return sorted(
            path for path in self.paths if path.startswith(start) and wanted.fullmatch(path)
        )

    def names(self) -> frozenset[str]:
        """Return the names of all files and folders, with and without their suffix."""
        names = self.by_name.keys() | self.folders.keys()
        return frozenset(names | {name.split(".")[0] for name in names if name[0] != "."})


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = []
    for piece in re.split(r"(\*\*/|\*+)", pattern):
        if piece == "**/":
            parts.append("(?:.*/)?")
        elif piece.startswith("**"):
            parts.append(".*")
        elif piece == "*":
            parts.append("[^/]*")
        else:
            parts.append(re.escape(piece))
    return re.compile("".join(parts))


def _only(mention: str, by_name: dict[str, tuple[str, ...]]) -> str | None:
    """Return the only path that ends in `mention`."""
    if mention.startswith("../"):
        return None
    tail = "/".join(part for part in mention.split("/") if part not in ("", "."))
    if not tail:
        return None
    same_name = by_name.get(tail.rpartition("/")[2], ())
    ending = [path for path in same_name if path == tail or path.endswith("/" + tail)]
    return ending[0] if len(ending) == 1 else None


def _join(folder: str, mention: str) -> str | None:
    """Return `mention` seen from `folder`, without '.' and '..'; None when it leaves the tree."""
    parts: list[str] = []
    for part in [*folder.split("/"), *mention.split("/")]:
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                return None
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts) or None
