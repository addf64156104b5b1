"""Tell from where memories are seen: a work tree, its branch, and the commits not merged there.

`store.visibility` hides what is of other branches, and of uncommitted work elsewhere. A pinned
memory is shown, and so is one that was learned at a commit that this work tree has, or whose work
it has (squashed or rebased), and one that a person's file says here. Where git does not answer, no
branch hides anything.
"""

import contextlib
from collections.abc import Iterable, Set

from yaadwatch.core import privacy
from yaadwatch.engine.store_lookup import Shelf
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Checkout
from yaadwatch.store.recall import learned
from yaadwatch.store.visibility import View
from yaadwatch.system.git.layout import Head

Work = tuple[str | None, str, int]
"""The path of a work tree (None: in none now), a branch, and the memories about work there."""


def checkout_of(space: Space, head: Head) -> Checkout:
    """Return the checkout of a work tree; `head` is where its HEAD is."""
    branch = privacy.mask(head.branch).text if head.branch else head.commit
    return Checkout(worktree=space.worktree.id, branch=branch)


def view_of(
    home: Home, at: Space | Shelf, *, all_branches: bool = False, ask_again: bool = True
) -> View | None:
    """Return from where memories are seen; None for the user's own store, which hides none.

    Args:
        home: what may be reached.
        at: the work tree, or its store.
        all_branches: memories of other branches are seen, too.
        ask_again: else git is asked at most once about the same commits: it may be busy with a long
            check, and a caller that wants what is known must not wait for it.
    """
    space = at if isinstance(at, Space) else at.space
    if space is None:
        return None
    if not all_branches:
        with contextlib.suppress(YaadError):  # what a read needs of git is not worth failing for
            return _view(home, space, ask_again=ask_again, unsure=False)
    return View(worktree=space.worktree.id)


def require_view(home: Home, space: Space) -> View:
    """Return what `view_of` does, for a caller that must not take silence of git for an answer.

    Commits that may be on a branch whose history cannot be read count as not merged.

    Raises:
        YaadError: git does not answer.
    """
    return _view(home, space, ask_again=True, unsure=True)


def _view(home: Home, space: Space, *, ask_again: bool, unsure: bool) -> View:
    head = space.repository.head()
    others = frozenset(space.db.known(learned.commits) - {head.commit})
    if others:
        place, asked = (space.project.id, space.worktree.id), (head, others, unsure)
        known = home.unmerged_here.get(place)
        if ask_again or known is None or known[0] != asked:
            known = asked, _unmerged(home, space, head, others, unsure=unsure)
            home.unmerged_here[place] = known
        others = known[1]
    checkout = checkout_of(space, head)
    return View(worktree=space.worktree.id, branch=checkout.branch, unmerged=others)


def _unmerged(
    home: Home, space: Space, head: Head, commits: Set[str], *, unsure: bool
) -> frozenset[str]:
    """Return those of `commits` that are on a branch only, and whose work is not here otherwise.

    `unsure`: those that may be on a branch whose history cannot be read are among them.

    Raises:
        YaadError: git does not answer.
    """
    now_s = home.clock.monotonic_s()
    layout, git = space.repository.layout, space.repository.git
    beside = home.unmerged.commits(layout, git, head, commits, now_s)
    found = beside.commits.intersection(commits)
    if found:
        found -= home.landed.known(layout, git, head, found, now_s)
    if unsure and not beside.whole:
        others = frozenset(commits) - beside.commits
        found |= others - home.unmerged.held(layout, git, head, others, now_s)
    return found


def find_landed(home: Home, project: str, worktree: int) -> None:
    """Find out of which memories of other branches the work is here by other commits; takes time.

    What cannot be asked now is asked by the next look.
    """
    with contextlib.suppress(YaadError), home.tree(project, worktree) as space:
        head = space.repository.head()
        others = space.db.known(learned.commits) - {head.commit}
        if not others:
            return
        layout, monotonic_s = space.repository.layout, home.clock.monotonic_s
        git = space.repository.git
        others &= home.unmerged.commits(layout, git, head, others, monotonic_s()).commits
        if others:
            home.landed.look(layout, git, head, others, monotonic_s)


def uncommitted_rows(found: Iterable[Work]) -> list[dict[str, object]]:
    """Return the JSON of where uncommitted work is."""
    return [
        {"worktree": path, "branch": branch, "memories": count} for path, branch, count in found
    ]
