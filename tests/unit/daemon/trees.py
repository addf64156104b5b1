"""Work trees as `watched` in `staleness.stale` describes them, with their folders on disk."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Tree:
    """A work tree as `WatchedTree` describes one."""

    project: str
    worktree: int
    root: Path
    git_dir: Path
    common_dir: Path
    paths: frozenset[str]

    @property
    def registered(self) -> Path:
        return self.common_dir


def repository(root: Path, *paths: str, project: str = "p") -> Tree:
    """Make the folders of a repository on disk; describe it."""
    for folder in (".git/logs", ".git/refs/heads/feature"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    return Tree(
        project=project,
        worktree=1,
        root=root,
        git_dir=root / ".git",
        common_dir=root / ".git",
        paths=frozenset(paths),
    )
