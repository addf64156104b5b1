"""Which memories were learned on another branch that is not merged here? They are not told.

A pinned one is, one that was learned or said again at a commit that this work tree has, or whose
work it has (squashed or rebased), and one that a file of a person's says here. What cannot be told
(no commit, a history that was cut or rewritten, git that does not answer) is shown.
"""

import contextlib
from collections.abc import Collection, Mapping, Set

from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.errors import YaadError
from yaadwatch.store import provenance
from yaadwatch.store.recall import learned as table
from yaadwatch.system.git.layout import Head


def elsewhere(home: Home, space: Space, learned: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return those that were learned at commits of branches only that are not merged here.

    Args:
        home: what may be reached.
        space: the work tree.
        learned: the commits at which memories were learned, by their ids.
    """
    if not learned:
        return frozenset()
    try:
        head = space.repository.head()
        strange = {node: commits for node, commits in learned.items() if head.commit not in commits}
        if not strange:
            return frozenset()
        unmerged = _unmerged(home, space, head, frozenset().union(*strange.values()))
    except YaadError:  # what a search needs of git is not worth failing for
        return frozenset()
    return frozenset(node for node, commits in strange.items() if unmerged.issuperset(commits))


def away(home: Home, space: Space) -> frozenset[str]:
    """Return every memory of a project that is not told in this work tree; see above.

    Those that are pinned, or archived, are not among them.
    """
    try:
        return require_away(home, space)
    except YaadError:  # what a brief needs of git is not worth failing for
        return frozenset()


def require_away(home: Home, space: Space) -> frozenset[str]:
    """Return what `away` does, for whoever must not take what git cannot tell for an answer.

    What may be of a branch whose history cannot be read is among them.

    Raises:
        YaadError: git does not answer.
    """
    head = space.repository.head()
    strange = frozenset(space.db.read(table.commits) - {head.commit})
    if not strange:
        return frozenset()
    strange = _unmerged(home, space, head, strange, unsure=True)
    if not strange:
        return frozenset()
    found = space.db.read(table.only_at, strange)
    return frozenset(found) - space.db.read(provenance.spoken, space.worktree.id)


def look(home: Home, project: str, worktree: int) -> None:
    """Find out of which memories of other branches the work is here by other commits; takes time.

    What cannot be asked now is asked by the next look.
    """
    with contextlib.suppress(YaadError), home.tree(project, worktree) as space:
        head = space.repository.head()
        strange = space.db.read(table.commits) - {head.commit}
        if not strange:
            return
        layout, monotonic_s = space.repository.layout, home.clock.monotonic_s
        git = space.repository.git
        strange &= home.unmerged.commits(layout, git, head, strange, monotonic_s()).commits
        if strange:
            home.landed.look(layout, git, head, strange, monotonic_s)


def _unmerged(
    home: Home, space: Space, head: Head, commits: Set[str], *, unsure: bool = False
) -> frozenset[str]:
    """Return those of `commits` that are on a branch only, and whose work is not here otherwise.

    `unsure`: those that may be on a branch whose history cannot be read are among them.

    Raises:
        YaadError: git does not answer.
    """
    now_s = home.clock.monotonic_s()
    layout = space.repository.layout
    git = space.repository.git
    beside = home.unmerged.commits(layout, git, head, commits, now_s)
    strange = beside.commits.intersection(commits)
    if strange:
        strange -= home.landed.known(layout, git, head, strange, now_s)
    if unsure and not beside.whole:
        others = frozenset(commits) - beside.commits
        strange |= others - home.unmerged.held(layout, git, head, others, now_s)
    return strange
