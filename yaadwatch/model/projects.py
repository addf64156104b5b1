"""Projects and their work trees: what is watched."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from yaadwatch.model.anchors import Anchor


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """A work tree with the branch that is checked out in it, or the commit when HEAD is detached.

    `worktree`: its id; None when what was in it is in no work tree now.
    """

    worktree: int | None
    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a check of a work tree found of a memory about uncommitted work.

    Args:
        base: HEAD when the memory was made; '' before the first commit.
        anchors: what it rests on, to be stored: without a commit while none holds it.
        judged: the same, to be judged: with `base` in place of no commit.
        checkouts: where its work is now; none when a commit holds it.
        commit: the commit that holds it, else ''.
        is_here: whether the memory may be flagged in the work tree that is checked.
        is_stray: whether the commits at which it was learned are on no branch now.
    """

    base: str
    anchors: tuple[Anchor, ...]
    judged: tuple[Anchor, ...]
    checkouts: tuple[Checkout, ...]
    commit: str = ""
    is_here: bool = True
    is_stray: bool = False


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
