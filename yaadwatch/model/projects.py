"""Projects and their work trees: what is watched."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A git common directory that is watched; of a bare repository, `root` is that directory."""

    id: str
    root: Path
    common_dir: Path
    device: int
    inode: int
    store: Path
    excluded: str
    added_at: datetime
    removed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A work tree of a project, and the HEAD that its verdicts were computed for."""

    id: int
    path: Path
    head: str
    branch: str
    checked_at: datetime | None
