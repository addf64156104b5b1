"""Compute which memories a work tree shows: its branch, and the commits not merged into it.

`yaadwatch.db.visibility` hides memories of other branches and of uncommitted work elsewhere. Shown
are pinned memories, memories in a person's file of this work tree, and memories learned at a commit
that this branch has, also squashed or rebased. When git does not answer, no branch hides anything.
A text that a person dismissed or forgot stays away until a person brings it back.
"""

import contextlib
from collections.abc import Iterable, Mapping, Set
from datetime import datetime
from typing import Final

from bridges.rules import STATEMENT_CHARS_MAX
from yaadwatch.db import authority, visibility
from yaadwatch.db.authority import Dismissal
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import USER, short_id
from yaadwatch.model.memories import HOT, Node
from yaadwatch.model.projects import Checkout
from yaadwatch.model.settings import BLOCK_BYTES_MAX
from yaadwatch.repo.layout import Head
from yaadwatch.text import privacy
from yaadwatch.text.quoting import day, words_hash
from yaadwatch.workspace.lookup import Shelf
from yaadwatch.workspace.workspace import PERSON, Home, Space

Work = tuple[str | None, str, int]
"""A work tree path (None without one), a branch, and the memories about work there."""


def checkout_of(space: Space, head: Head) -> Checkout:
    """Return the checkout of a work tree at `head`."""
    branch = privacy.mask(head.branch).text if head.branch else head.commit
    return Checkout(worktree=space.worktree.id, branch=branch)


def view_of(
    home: Home, at: Space | Shelf, *, all_branches: bool = False, ask_again: bool = True
) -> View | None:
    """Return the point of view of a read; None for the user store, which hides nothing.

    Args:
        home: the workspace.
        at: the work tree, or its store.
        all_branches: show memories of other branches too.
        ask_again: ask git even about commits it was asked about before. Otherwise a caller never
            waits for a git that is busy with a long check.
    """
    space = at if isinstance(at, Space) else at.space
    if space is None:
        return None
    if not all_branches:
        with contextlib.suppress(YaadError):  # a read does not fail because of git
            return _view(home, space, ask_again=ask_again)
    return View(worktree=space.worktree.id)


def require_view(home: Home, space: Space) -> View:
    """Return what `view_of` does, but fail when git does not answer.

    Raises:
        YaadError: git does not answer.
    """
    return _view(home, space, ask_again=True)


def _view(home: Home, space: Space, *, ask_again: bool) -> View:
    head = space.repository.head()
    others = frozenset(space.db.known(visibility.learned_commits) - {head.commit})
    if others:
        place, asked = (space.project.id, space.worktree.id), (head, others)
        known = home.unmerged_here.get(place)
        if ask_again or known is None or known[0] != asked:
            known = asked, _unmerged(home, space, head, others)
            home.unmerged_here[place] = known
        others = known[1]
    checkout = checkout_of(space, head)
    return View(worktree=space.worktree.id, branch=checkout.branch, unmerged=others)


def _unmerged(home: Home, space: Space, head: Head, commits: Set[str]) -> frozenset[str]:
    """Return those of `commits` only on other branches, whose work is not here in another form.

    Raises:
        YaadError: git does not answer.
    """
    now_s = home.clock.monotonic_s()
    layout, git = space.repository.layout, space.repository.git
    found = home.unmerged.commits(layout, git, head, commits, now_s).intersection(commits)
    return found - home.landed.known(layout, git, head, found, now_s) if found else found


def find_merged_elsewhere(home: Home, project: str, worktree: int) -> None:
    """Find the memories of other branches whose work is here by other commits; takes time.

    What git cannot answer now is left to the next run.
    """
    with contextlib.suppress(YaadError), home.tree(project, worktree) as space:
        head = space.repository.head()
        others = space.db.known(visibility.learned_commits) - {head.commit}
        if not others:
            return
        layout, monotonic_s = space.repository.layout, home.clock.monotonic_s
        git = space.repository.git
        others &= home.unmerged.commits(layout, git, head, others, monotonic_s())
        if others:
            home.landed.look(layout, git, head, others, monotonic_s)


def uncommitted_rows(found: Iterable[Work]) -> list[dict[str, object]]:
    """Return the JSON of the places of uncommitted work."""
    return [
        {"worktree": path, "branch": branch, "memories": count} for path, branch, count in found
    ]


Elsewhere = Mapping[str, Dismissal]
"""Dismissals of the call's other store: the user's for a project, the project's for the user."""
DISMISS: Final = "dismiss"
DISMISSED: Final = "dismissed"
FORGOT: Final = "forgot"
DELETED: Final = "deleted from "
"""Begins the archive reason of a memory whose last place in an agent file is gone."""


def note_dismissed(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str) -> None:
    """Store, as a person archives a memory, that its text is dismissed; other actors store
    nothing.
    """
    if not is_persons(actor) or node.kind in ("session", "task"):
        return
    how = reason if reason == DISMISSED or reason.startswith(DELETED) else FORGOT
    put_words_dismissed(conn, node, now, how=how)


def put_words_dismissed(
    conn: Connection, node: Node, now: datetime, *, how: str = DISMISSED
) -> None:
    """Store that a person dismissed the text of a memory."""
    authority.put_dismissal(
        conn, Dismissal(text_hash=words_hash(node.text), node=node.id, how=how, at=now)
    )


def lift_words_dismissed(conn: Connection, texts: Iterable[str], *, actor: str) -> None:
    """Lift the dismissal of texts that a person states, restores or approves; agents lift
    nothing.
    """
    if is_persons(actor):
        authority.lift_dismissal(conn, [words_hash(text) for text in texts])


def is_persons(actor: str) -> bool:
    """Return whether a person made a change, rather than an agent, an import or a job."""
    return actor == PERSON or actor.startswith("file:")


def refuse_agent(conn: Connection, node: Node, *, actor: str, change: str) -> None:
    """Refuse to let an agent or an import remove what a person said or approved.

    Args:
        conn: the transaction of the change.
        node: the memory.
        actor: the author of the change.
        change: the change as a participle, such as `deleted`.

    Raises:
        YaadError: REFUSED, with what the agent can do instead.
    """
    if is_persons(actor) or not authority.approved(conn, [node.id]):
        return
    raise YaadError(
        Code.REFUSED,
        f"A person said or approved memory {short_id(node.id)}; it was not {change}.",
        hint="If it is wrong, edit it, and the person reviews the new words; or ask the person to "
        f"run: yaadwatch forget {short_id(node.id)}",
    )


def is_rule(node: Node) -> bool:
    """Return whether agents get a memory as a rule once a person vouches for it."""
    return node.tier == HOT or node.pinned or node.scope == USER or node.kind == "skill"


def is_too_long(text: str) -> bool:
    """Return whether a rule fits into no rules file, whatever else is in it."""
    return len(text) > STATEMENT_CHARS_MAX or len(f"- {text}\n".encode()) > BLOCK_BYTES_MAX


def in_stores(stores: Iterable[Database], texts: Iterable[str], *, actor: str) -> Elsewhere:
    """Return by hash the texts that a person dismissed in other stores; none for a person."""
    if is_persons(actor):
        return {}
    hashes = [words_hash(text) for text in texts]
    found: dict[str, Dismissal] = {}
    for store in stores:
        found |= store.read(authority.dismissals_of_hashes, hashes)
    return found


def of_text(
    conn: Connection, text: str, *, actor: str, elsewhere: Elsewhere | None = None
) -> Dismissal | None:
    """Return the dismissal of a text that an agent or an import states, or None.

    Args:
        conn: the store to write the text to.
        text: the text.
        actor: its author.
        elsewhere: dismissals in the call's other store.
    """
    if is_persons(actor):
        return None
    digest = words_hash(text)
    here = authority.dismissals_of_hashes(conn, [digest]).get(digest)
    return here or (elsewhere or {}).get(digest)


def refuse(conn: Connection, text: str, *, actor: str, elsewhere: Elsewhere | None = None) -> None:
    """Refuse a dismissed or forgotten text, unless a person states it.

    Args:
        conn: the store to write the text to.
        text: the text.
        actor: its author.
        elsewhere: dismissals in the call's other store.

    Raises:
        YaadError: REFUSED, with what the person did, and when.
    """
    found = of_text(conn, text, actor=actor, elsewhere=elsewhere)
    if found is not None:
        raise YaadError(
            Code.REFUSED,
            f"{words_of(found)}; it was not stored again.",
            hint="Do not state it again. If it holds after all, the person can state it: yaadwatch "
            "remember TEXT",
        )


def words_of(found: Dismissal) -> str:
    """Return what a person did with a text, and when."""
    if found.how.startswith(DELETED):
        return f"A person deleted this from an agent file on {day(found.at)}"
    did = DISMISSED if found.how == DISMISSED else FORGOT
    return f"A person {did} this on {day(found.at)}"
