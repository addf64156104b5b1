"""Which commits are on branches that a work tree has not merged? Asked of git now and then."""

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.git.layout import Head, Layout
from yaadwatch.system.git.question import Git

MAIN: Final = (
    "refs/remotes/origin/HEAD",
    "refs/heads/main",
    "refs/heads/master",
    "refs/heads/trunk",
)
"""What the main branch is called; each that is there counts."""
BRANCHES_MAX: Final = 200
"""Branches that are asked for one by one, when they cannot be all at once."""
COMMITS_MAX: Final = 20_000
"""Commits of such branches that are known, the newest; an older one counts as merged."""
KEPT_S: Final = 30.0
"""How long an answer holds while HEAD stays where it is."""
_TREES_MAX = 64


@dataclass(frozen=True, slots=True)
class Beside:
    """Commits of branches that neither HEAD nor a main branch has.

    `whole`: every branch could be asked; else some may have others, too.
    """

    commits: frozenset[str]
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """What git said; `asked`: the commits that it was asked about then, or before."""

    head: Head
    at_s: float
    asked: frozenset[str]
    beside: Beside | YaadError
    held: dict[str, bool] = field(default_factory=dict)


class Unmerged:
    """Remembers, for each work tree, the commits of other branches that it does not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def commits(
        self, layout: Layout, git: Git, head: Head, about: Collection[str], now_s: float
    ) -> Beside:
        """Return the commits that are on a branch, and neither in HEAD nor in the main branch.

        A commit that is on no branch any more (rebased, squashed, out of a shallow clone) is not
        among them.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            about: the commits that matter; git is asked at once about one that is new, which may
                have been made since it answered last.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        beside = self._known_of(layout, git, head, about, now_s).beside
        if isinstance(beside, YaadError):
            raise beside.with_traceback(None)
        return beside

    def held(
        self, layout: Layout, git: Git, head: Head, commits: Collection[str], now_s: float
    ) -> frozenset[str]:
        """Return those of `commits` that HEAD or a main branch has.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            commits: those that are asked for.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        known = self._known_of(layout, git, head, commits, now_s).held
        asked = frozenset(commits) - known.keys()
        if asked:
            found = held(git, asked)
            known |= {commit: commit in found for commit in asked}
        return frozenset(commit for commit in commits if known[commit])

    def _known_of(
        self, layout: Layout, git: Git, head: Head, about: Collection[str], now_s: float
    ) -> _Known:
        """Return what git said a while ago at most; that it could not answer is an answer, too."""
        place = layout.git_dir
        with self._lock:
            known = self._known.get(place)
        asked = frozenset(about)
        if known is not None and known.head == head:
            is_told = isinstance(known.beside, YaadError) or asked <= known.asked
            if is_told and now_s - known.at_s < KEPT_S:
                return known
            asked |= known.asked
        beside: Beside | YaadError
        try:
            beside = unmerged(git, COMMITS_MAX) if head.commit else Beside(frozenset())
        except YaadError as error:
            beside = error
        known = _Known(head=head, at_s=now_s, asked=asked, beside=beside)
        with self._lock:
            self._known[place] = known
            self._known.move_to_end(place)
            while len(self._known) > _TREES_MAX:
                self._known.popitem(last=False)
        return known


def trunks(git: Git) -> list[str]:
    """Return the names of what a branch is merged into: HEAD, and the main branches.

    Raises:
        YaadError: as every method of `Repository`.
    """
    named = git.ask(["for-each-ref", "--format=%(refname)", *MAIN])
    return ["HEAD", *named.decode("utf-8", "surrogateescape").split()]


def unmerged(git: Git, limit: int) -> Beside:
    """Return the newest commits of branches that neither HEAD nor a main branch has.

    A branch that leads to a commit that is lost has none. Where a history is broken further down,
    each branch is asked by itself.

    Raises:
        YaadError: as every method of `Repository`; no branch could be asked.
    """
    into = trunks(git)
    asked = ["rev-list", "--ignore-missing", f"--max-count={limit}"]
    try:
        found = git.ask([*asked, "--branches", "--not", *into])
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return _one_by_one(git, [*asked, "--not", *into, "--not"], error)
    return Beside(frozenset(found.decode().split()))


def _one_by_one(git: Git, asked: list[str], error: YaadError) -> Beside:
    """Return the same of those branches whose history can be read."""
    options = ["--format=%(refname)", f"--count={BRANCHES_MAX}"]
    named = git.ask(["for-each-ref", *options, "refs/heads"])
    found: set[str] = set()
    answered = False
    for name in named.decode("utf-8", "surrogateescape").split():
        try:
            found.update(git.ask([*asked, name]).decode().split())
            answered = True
        except YaadError as other:
            if other.code is not Code.UNAVAILABLE:
                raise
    if not answered:
        raise error
    return Beside(frozenset(found), whole=False)


def held(git: Git, commits: Collection[str]) -> frozenset[str]:
    """Return those of `commits` that HEAD or a main branch has.

    Raises:
        YaadError: as every method of `Repository`.
    """
    if not commits:
        return frozenset()
    return frozenset(git.ask(["rev-list", *trunks(git)]).decode().split()).intersection(commits)
