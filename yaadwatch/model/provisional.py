"""Memories about uncommitted work: where that work is, and what a check found of it."""

from dataclasses import dataclass

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
