"""Projects and their work trees: what is watched."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A repository that is watched, and where it was last seen.

    Attributes:
        id: of the project; git's configuration of the repository holds it, too.
        root: the main work tree; of a bare repository `common_dir`.
        common_dir: the git common directory.
        remote: the address of `origin` in a form that can be compared; '' if there is none.
        root_commit: the first commit of its history, hex; '' before there is one.
        by_path: known by its path alone, because git's configuration could not be written.
        gone_at: when it was first seen to be gone; None while it is at its place.
        removed_at: when it was removed from the watched ones; its memories are kept.
    """

    id: str
    root: Path
    common_dir: Path
    remote: str = ""
    root_commit: str = ""
    by_path: bool = False
    added_at: datetime
    gone_at: datetime | None = None
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A work tree of a project, and the HEAD that its verdicts were computed for."""

    id: int
    path: Path
    head: str
    branch: str
    checked_at: datetime | None
