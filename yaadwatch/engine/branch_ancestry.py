"""Find the memories of other branches, and of uncommitted work elsewhere; they are hidden here.

A pinned memory is shown, and so is one that was learned at a commit that this work tree has, or
whose work it has (squashed or rebased), and one that a person's file says here. What git cannot
tell (no commit, a history that was cut or rewritten, no answer) is shown. A memory about
uncommitted work is shown in the checkout that has the work.
"""

import contextlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Set

from yaadwatch.core import privacy
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.errors import YaadError
from yaadwatch.model.projects import Checkout
from yaadwatch.store import provenance, worktrees
from yaadwatch.store.connection import Connection
from yaadwatch.store.recall import learned as table
from yaadwatch.store.recall import provisional
from yaadwatch.system.git.layout import Head


def checkout_of(space: Space, head: Head) -> Checkout:
    """Return the checkout of a work tree; `head` is where its HEAD is."""
    branch = privacy.mask(head.branch).text if head.branch else head.commit
    return Checkout(worktree=space.worktree.id, branch=branch)


def elsewhere(home: Home, space: Space, conn: Connection, ids: Collection[str]) -> frozenset[str]:
    """Return those of `ids` that are of other branches, or of uncommitted work elsewhere.

    Args:
        home: what may be reached.
        space: the work tree.
        conn: a snapshot of its store.
        ids: of memories.
    """
    try:
        head = space.repository.head()
    except YaadError:  # what a search needs of git is not worth failing for
        return frozenset()
    checkout = checkout_of(space, head)
    unmerged = _on_branches(home, space, head, table.of_nodes(conn, ids))
    found = unmerged - provisional.here(conn, checkout) if unmerged else unmerged
    return found | provisional.hidden(conn, checkout).keys() & frozenset(ids)


def _on_branches(
    home: Home, space: Space, head: Head, learned: Mapping[str, Collection[str]]
) -> frozenset[str]:
    """Return those that were learned at commits of branches only that are not merged here."""
    if not learned:
        return frozenset()
    try:
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


def last_away(home: Home, space: Space) -> frozenset[str]:
    """Return what `away` does, by what git said last of the same commits; it is asked at most once.

    Git may be busy with a long check, and whoever wants what is known must not wait for it.
    """
    try:
        return _away(home, space, ask_again=False)
    except YaadError:  # as for `away`
        return frozenset()


def require_away(home: Home, space: Space) -> frozenset[str]:
    """Return what `away` does, for whoever must not take what git cannot tell for an answer.

    What may be of a branch whose history cannot be read is among them.

    Raises:
        YaadError: git does not answer.
    """
    return _away(home, space, ask_again=True)


def _away(home: Home, space: Space, *, ask_again: bool) -> frozenset[str]:
    head = space.repository.head()
    checkout = checkout_of(space, head)
    found: Set[str] = space.db.read(provisional.hidden, checkout).keys()
    strange = frozenset(space.db.read(table.commits) - {head.commit})
    if strange:
        place, asked = (space.project.id, space.worktree.id), (head, strange)
        known = home.unmerged_here.get(place)
        if ask_again or known is None or known[0] != asked:
            known = asked, _unmerged(home, space, head, strange, unsure=True)
            home.unmerged_here[place] = known
        strange = known[1]
    if strange:
        unmerged = space.db.read(table.only_at, strange)
        found = (found | frozenset(unmerged)) - space.db.read(provisional.here, checkout)
    if not found:
        return frozenset()
    return frozenset(found) - space.db.read(provenance.spoken, space.worktree.id)


Work = tuple[str | None, str, int]
"""The path of a work tree (None: in none now), a branch, and the memories about work there."""


def uncommitted_elsewhere(space: Space, among: Collection[str] | None = None) -> list[Work]:
    """Return where the uncommitted work is that memories hidden here are about.

    `among`: only these memories count; all when None.
    """
    try:
        checkout = checkout_of(space, space.repository.head())
    except YaadError:  # what an answer needs of git is not worth failing for
        return []
    found = space.db.read(provisional.hidden, checkout)
    counts = Counter(one for node, one in found.items() if among is None or node in among)
    paths = {row.id: str(row.path) for row in space.db.read(worktrees.everything)} if counts else {}
    rows = [(paths.get(one.worktree or 0), one.branch, count) for one, count in counts.items()]
    return sorted(rows, key=lambda row: (row[0] is None, row[0] or "", row[1]))


def uncommitted_rows(found: Iterable[Work]) -> list[dict[str, object]]:
    """Return the JSON of where uncommitted work is."""
    return [
        {"worktree": path, "branch": branch, "memories": count} for path, branch, count in found
    ]


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
