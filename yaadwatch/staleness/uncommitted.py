"""Find which anchors rest on uncommitted work, and the commit that later holds it.

A memory is *provisional* while no commit holds what it rests on. It is bound to the checkouts (work
tree and branch) that have that work. It is learned in the first commit that holds it, whether the
work was committed, amended, squashed, rebased, or went through a stash.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from yaadwatch.model.anchors import Anchor, Method, Verdict
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import ANCHORS_PER_NODE_MAX
from yaadwatch.model.projects import Checkout, Settled
from yaadwatch.repo.layout import Head
from yaadwatch.repo.objects import ID
from yaadwatch.repo.repository import blob_id
from yaadwatch.staleness import anchor_state, anchoring, verdict
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead, FileInView
from yaadwatch.staleness.git_queries import History
from yaadwatch.staleness.worktree import View, WorkTree


def with_bases(anchors: Sequence[Anchor], head: AtHead) -> tuple[Anchor, ...]:
    """Return anchors; where a commit is missing here, the commit that replaced it."""
    return tuple(_based(anchor, head) for anchor in anchors)


def _based(anchor: Anchor, head: AtHead) -> Anchor:
    try:
        if not head.is_of_another_history(anchor):
            return anchor
        return head.history.once("base", lambda one: _in_history(one, head), anchor)
    except YaadError:  # then nothing is known of its history, as before
        return anchor


def _in_history(anchor: Anchor, head: AtHead) -> Anchor:
    for commit in (head.head.commit, *head.history.commits_of(anchor.path, head.head.commit)):
        at = head if commit == head.head.commit else at_commit(head.history, commit)
        if is_committed_anchor(anchor, at):
            found = anchoring.anchor_now(anchor, anchor.path, at, commit)
            return anchor if found is None else replace(found, node=anchor.node)
    return anchor


COMMITS_MAX = 64
"""Commits since the memory was made that are searched for the work; then only the newest is."""
_HOLDS = (Verdict.FRESH, Verdict.TOUCHED)


def marked(anchors: Sequence[Anchor], tree: WorkTree, head: AtHead) -> list[Anchor]:
    """Return anchors, without a commit where `tree` holds what HEAD does not.

    Raises:
        YaadError: git does not answer.
    """
    finer = _finer(anchors)
    return [
        anchor
        if _is_at_head(anchor, tree, head, finer) or not _is_in_tree(anchor, tree, head, finer)
        else replace(anchor, commit="")
        for anchor in anchors
    ]


def is_provisional(anchors: Sequence[Anchor]) -> bool:
    """Return whether some of the anchors rest on uncommitted work."""
    return any(not anchor.commit for anchor in anchors)


def is_committed_anchor(anchor: Anchor, at: AtHead) -> bool:
    """Return whether a commit holds what is anchored; for a whole file, whether it exists."""
    if anchor.method is Method.FILE:
        return at.find(anchor.path) is not None
    return _is_in_commit(anchor, at, None, ())


@dataclass(slots=True, kw_only=True)
class Settler:
    """Settles the state of uncommitted work; one per check of a work tree.

    Args:
        tree: the work tree.
        head: the commit that is checked out in it.
        here: the same, as a checkout.
    """

    tree: WorkTree
    head: AtHead
    here: Checkout
    _views: dict[str, AtHead] = field(default_factory=dict)

    def settle(
        self, anchors: Sequence[Anchor], base: str, checkouts: Sequence[Checkout]
    ) -> Settled:
        """Return the state of the uncommitted work that a memory rests on.

        An unknown state changes nothing, and raises nothing in other checkouts.

        Args:
            anchors: what the memory rests on; without a commit where that is uncommitted.
            base: HEAD when the memory was made; '' before the first commit.
            checkouts: where the work was at the last check.
        """
        based = tuple(
            anchor if anchor.commit else replace(anchor, commit=base) for anchor in anchors
        )
        stays = Settled(
            base=base,
            anchors=tuple(anchors),
            judged=based,
            checkouts=tuple(checkouts),
            is_here=self.here in checkouts,
        )
        try:
            return self._settle(stays)
        except YaadError:
            return stays

    def settle_stray(self, anchors: Sequence[Anchor], commit: str) -> Settled | None:
        """Return the state of a memory that was learned at a commit which is on no branch now.

        The commit was amended or rebased, or made on a detached HEAD: its work may be in other
        commits, or in none. None when git does not know.
        """
        history, head = self.head.history, self.head.head.commit
        try:
            base = history.merge_base(commit, head) if head else ""
            ours = {anchor.commit for anchor in anchors if history.is_merged(anchor.commit, base)}
        except YaadError:
            return None
        loose = [
            anchor if anchor.commit in ours else replace(anchor, commit="") for anchor in anchors
        ]
        found = self.settle(loose, base, [Checkout(worktree=None, branch="")])
        return replace(found, is_stray=True)

    def _settle(self, stays: Settled) -> Settled:
        finer = _finer(stays.anchors)
        loose = [
            one
            for one, stored in zip(stays.judged, stays.anchors, strict=True)
            if not stored.commit
        ]
        commit = self._holding(loose, stays, finer) if loose else stays.base
        if commit or not loose:
            return self._learned(loose, stays, commit)
        others = tuple(
            one for one in stays.checkouts if one.worktree not in (None, self.here.worktree)
        )
        if all(_is_in_tree(anchor, self.tree, self.head, finer) for anchor in loose):
            return replace(stays, checkouts=_sorted((*others, self.here)), is_here=True)
        if stays.is_here and self._is_put_away(loose, others, finer):
            nowhere = Checkout(worktree=None, branch=self.here.branch)
            return replace(stays, checkouts=others or (nowhere,), is_here=False)
        commit = self._on_new_branch(loose, stays, finer) if stays.is_here else ""
        return self._learned(loose, stays, commit) if commit else stays

    def _learned(self, loose: Sequence[Anchor], stays: Settled, commit: str) -> Settled:
        learned = tuple(
            self._as_in(commit, anchor) if anchor in loose else anchor for anchor in stays.judged
        )
        return replace(
            stays, anchors=learned, judged=learned, checkouts=(), commit=commit, is_here=True
        )

    def _on_new_branch(
        self, loose: Sequence[Anchor], stays: Settled, finer: Collection[str]
    ) -> str:
        """Return the first commit with the work on a branch that no check saw; '' for none.

        People create a branch, commit, and switch back before the next check.
        """
        if not stays.base or not self.head.history.has_commit(stays.base):
            return ""
        for tip in self.head.history.tips_above(stays.base):
            if tip not in (stays.base, self.head.head.commit):
                found = self._first_holding(loose, stays.base, tip, finer, is_own=False)
                if found:
                    return found
        return ""

    def _is_put_away(
        self, loose: Sequence[Anchor], others: Sequence[Checkout], finer: Collection[str]
    ) -> bool:
        """Return whether the work is in the stash, or in another work tree."""
        if self._is_stashed(loose, finer):
            return True
        return bool(others) and not any(
            _is_edited(anchor, self.tree, self.head) for anchor in loose
        )

    def _holding(self, loose: Sequence[Anchor], stays: Settled, finer: Collection[str]) -> str:
        """Return the first commit that holds the work; '' for none.

        Searches the branches on which the work was, and HEAD.
        """
        branches = dict.fromkeys(one.branch for one in stays.checkouts if one.branch)
        head = self.head.head.commit
        tips = {head: self.here.branch in branches}
        for branch in branches:
            if branch == self.here.branch or ID.fullmatch(branch):
                continue
            tip = self.head.history.commit_named(f"refs/heads/{branch}")
            # Of a branch that is gone the work went into another one, or nowhere.
            tips[head if tip is None else tip] = True
        for tip, is_own in tips.items():
            if tip and tip != stays.base:
                found = self._first_holding(loose, stays.base, tip, finer, is_own=is_own)
                if found:
                    return found
        return ""

    def _first_holding(
        self, loose: Sequence[Anchor], base: str, tip: str, finer: Collection[str], *, is_own: bool
    ) -> str:
        history = self.head.history
        commits: list[str] = []
        then = None
        if base and history.has_commit(base):
            then = self._at(base)
            paths = sorted({anchor.path or "." for anchor in loose})
            commits += history.changes(paths, base, tip)[:COMMITS_MAX]
        elif not base:  # the newest that has it: what changed it since is the evidence
            paths = sorted({anchor.path for anchor in loose})
            commits += [tip, *(one for path in paths for one in history.commits_of(path, tip))]
        for commit in dict.fromkeys((*commits, tip)):
            at = self._at(commit)
            if all(_is_in_commit(one, at, then if is_own else None, finer) for one in loose):
                return commit
        return ""

    def _as_in(self, commit: str, anchor: Anchor) -> Anchor:
        """Return an anchor as a commit holds it."""
        found = anchoring.anchor_now(anchor, anchor.path, self._at(commit), commit)
        return anchor if found is None else replace(found, node=anchor.node)

    def _is_stashed(self, loose: Sequence[Anchor], finer: Collection[str]) -> bool:
        """Return whether the stash has the work, in tracked or untracked files."""
        for commit in self.head.history.stashes():
            views = [self._at(commit)]
            new = self.head.history.commit_named(f"{commit}^3")
            views += [self._at(new)] if new is not None else []
            if all(any(_is_in_commit(one, at, None, finer) for at in views) for one in loose):
                return True
        return False

    def _at(self, commit: str) -> AtHead:
        if commit == self.head.head.commit:
            return self.head
        if commit not in self._views:
            self._views[commit] = at_commit(self.head.history, commit)
        return self._views[commit]


def _sorted(checkouts: Sequence[Checkout]) -> tuple[Checkout, ...]:
    return tuple(sorted(checkouts, key=lambda one: one.worktree or 0))


def _finer(anchors: Sequence[Anchor]) -> set[str]:
    """Return the files in which something finer than the whole file is anchored."""
    return {anchor.path for anchor in anchors if anchor.symbol}


def _by_bytes(anchor: Anchor, finer: Collection[str]) -> bool:
    """Return whether only the file's bytes can show that what is anchored was edited."""
    return anchor.method is Method.FILE and anchor.path not in finer


def _is_at_head(anchor: Anchor, tree: WorkTree, head: AtHead, finer: Collection[str]) -> bool:
    """Return whether HEAD holds what is anchored in a work tree."""
    if not head.head.commit:
        return False
    if _by_bytes(anchor, finer):
        return head.find(anchor.path) is not None and not _is_edited(anchor, tree, head)
    return _shows(anchor, head, head)


def _is_in_tree(anchor: Anchor, tree: WorkTree, head: AtHead, finer: Collection[str]) -> bool:
    """Return whether a work tree still has the uncommitted work that is anchored."""
    if not _by_bytes(anchor, finer):
        return _shows(anchor, tree, head)
    found = tree.find(anchor.path)
    if found is None:
        return False
    return found.blob == anchor.blob or _is_edited(anchor, tree, head)


def _is_in_commit(anchor: Anchor, at: AtHead, then: AtHead | None, finer: Collection[str]) -> bool:
    """Return whether a commit holds the uncommitted work that was anchored.

    A whole file must have the same bytes; on the branch of the work any bytes that differ from
    before it, because people edit on until they commit (`then`: the commit before the work).
    """
    if not _by_bytes(anchor, finer):
        return _shows(anchor, at, at)
    found = at.find(anchor.path)
    if found is None or found.blob == anchor.blob:
        return found is not None
    if then is None:
        return False
    before = then.find(anchor.path)
    return before is None or before.blob != found.blob


def _shows(anchor: Anchor, view: View, head: AtHead) -> bool:
    """Return whether a view has what is anchored, at its path."""
    seen = anchor_state.see(replace(anchor, commit=head.head.commit), view, head)
    return verdict.judge_anchor(anchor, seen).verdict in _HOLDS


def _is_edited(anchor: Anchor, tree: WorkTree, head: AtHead) -> bool:
    """Return whether a tracked file differs from HEAD by more than git's own conversions."""
    here, committed = tree.find(anchor.path), head.find(anchor.path)
    if here is None or committed is None:
        return here is not committed
    if here.blob == committed.blob or _has_other_line_ends(anchor.path, tree, committed):
        return False
    return not head.history.is_as_indexed(anchor.path, committed.blob)


def _has_other_line_ends(path: str, tree: WorkTree, committed: FileInView) -> bool:
    data = tree.read(path) or b""
    if b"\r\n" not in data:
        return False
    return blob_id(data.replace(b"\r\n", b"\n"), tree.object_format) == committed.blob


def anchors_as_written(
    written: Sequence[tuple[str, Source]], history: History
) -> Iterator[tuple[int, list[Anchor]]]:
    """Yield the anchors of statements at the commits that last worded them, with their index.

    Args:
        written: the commit of each, and the statement.
        history: the repository's.

    Raises:
        YaadError: from git.
    """
    groups: dict[str, list[int]] = {}
    for at, (commit, _) in enumerate(written):
        groups.setdefault(commit, []).append(at)
    begun = []
    for commit, places in groups.items():
        view = at_commit(history, commit)
        begun.append(
            (view, places, anchoring.begin_search([written[at][1] for at in places], view))
        )
    history.expect(word for _, _, sought in begun for word in anchoring.words_of(sought))
    for view, places, sought in begun:
        yield from zip(places, anchoring.anchors_of(sought, view, view.head.commit), strict=True)


def at_commit(history: History, commit: str) -> AtHead:
    """Return the files of a commit, whatever is checked out."""
    return AtHead(history=history, head=Head(commit=commit, branch=""))


def and_since(
    then: Sequence[Anchor], now: Sequence[Anchor], view: View, head: AtHead
) -> list[Anchor]:
    """Return the anchors of a statement as of its writing, and those that it gained later.

    A name that merely moved is not gained.

    Args:
        then: its anchors when it was written.
        now: its anchors when it was read.
        view: the files when it was read.
        head: the commit that was checked out then.
    """
    later = {(one.path, one.symbol): one for one in now}
    for anchor in then:
        later.pop((anchor.path, anchor.symbol), None)
    for anchor in then if later else ():
        seen = anchor_state.see(anchor, view, head)
        for place in (seen.place or anchor.path, *seen.elsewhere):
            later.pop((place, anchor.symbol), None)
    return [*then, *later.values()][:ANCHORS_PER_NODE_MAX]
