"""Which commits are on branches that a work tree has not merged? Asked of git now and then.

A work may be in the trunk by other commits. One commit of the trunk that changes the same lines of
the same files as a branch did in all is that branch, squashed; every commit of a branch has its
like in the trunk when it was rebased. A work that was taken in otherwise (with conflicts, in parts)
is not known again.
"""

import threading
from collections import OrderedDict
from collections.abc import Collection, Sequence
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
TIPS_MAX: Final = 200
"""Ends of branches that are known."""
LOOKED_AT_MAX: Final = 48
"""Ends of branches beside the trunk, and other commits, that are looked at in one go."""
PATHS_MAX: Final = 200
"""Files that a work may change; a larger one is not looked for."""
TRUNK_MAX: Final = 200
"""Commits of the trunk that touched those files and are compared, the newest."""

_DIFF: Final = ("-p", "-U0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
_NOT_COMPARED: Final = (b"@@", b"index ")
_NO_TEXT: Final = b"Binary files "


KEPT_S: Final = 30.0
"""How long an answer holds while HEAD stays where it is."""
_TREES_MAX = 64


@dataclass(frozen=True, slots=True)
class Refs:
    """What the answers hang on, as hex: the ends of the trunk, and of branches beside it."""

    trunks: tuple[str, ...]
    tips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Commits of branches that neither HEAD nor a main branch has.

    `whole`: every branch could be asked; else some may have others, too.
    """

    commits: frozenset[str]
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    head: Head
    at_s: float
    beside: Beside


@dataclass(slots=True)
class _Landed:
    """Of which commits it is known whether the trunk holds their work, and since when."""

    head: Head
    at_s: float
    refs: Refs
    known: dict[str, bool] = field(default_factory=dict)


class Unmerged:
    """Remembers, for each work tree, the commits of other branches that it does not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Known] = OrderedDict()
        self._landed: OrderedDict[Path, _Landed] = OrderedDict()

    def commits(self, layout: Layout, git: Git, head: Head, now_s: float) -> Beside:
        """Return the commits that are on a branch, and neither in HEAD nor in the main branch.

        A commit that is on no branch any more (rebased, squashed, out of a shallow clone) is not
        among them.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        place = layout.git_dir
        with self._lock:
            known = self._known.get(place)
        if known is not None and known.head == head and now_s - known.at_s < KEPT_S:
            return known.beside
        beside = unmerged(git, COMMITS_MAX) if head.commit else Beside(frozenset())
        with self._lock:
            self._known[place] = _Known(head=head, at_s=now_s, beside=beside)
            self._known.move_to_end(place)
            while len(self._known) > _TREES_MAX:
                self._known.popitem(last=False)
        return beside

    def landed(
        self,
        layout: Layout,
        git: Git,
        head: Head,
        commits: Collection[str],
        now_s: float,
    ) -> frozenset[str]:
        """Return those of `commits` of unmerged branches whose work HEAD or a main branch holds.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            commits: some of those that `commits` returned.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        place = layout.git_dir
        with self._lock:
            there = self._landed.get(place)
        if there is None or there.head != head or now_s - there.at_s >= KEPT_S:
            refs = refs_of(git, trunks(git), self.commits(layout, git, head, now_s).commits)
            known = there.known if there is not None and there.refs == refs else {}
            there = _Landed(head, now_s, refs, known)
        asked = frozenset(commits) - there.known.keys()
        found = landed_of(git, there.refs, asked) if asked else frozenset[str]()
        with self._lock:
            there.known |= {commit: commit in found for commit in asked}
            self._landed[place] = there
            self._landed.move_to_end(place)
            while len(self._landed) > _TREES_MAX:
                self._landed.popitem(last=False)
            return frozenset(commit for commit in commits if there.known.get(commit))


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


def refs_of(git: Git, trunks: Sequence[str], beside: Collection[str]) -> Refs:
    """Return where the trunk, which has these names, and branches are that end `beside` it.

    Raises:
        YaadError: as every method of `Repository`.
    """
    ends = git.ask(["rev-parse", *(f"{name}^{{commit}}" for name in trunks)]).decode().split()
    options = ["--format=%(objectname)", f"--count={TIPS_MAX}"]
    tips = git.ask(["for-each-ref", *options, "refs/heads"]).decode().split()
    return Refs(tuple(dict.fromkeys(ends)), tuple(tip for tip in tips if tip in beside))


def landed_of(git: Git, there: Refs, commits: Collection[str]) -> frozenset[str]:
    """Return those of `commits`, which no trunk has, whose work a trunk holds.

    Raises:
        YaadError: as every method of `Repository`.
    """
    found: set[str] = set()
    for commit in list(dict.fromkeys((*there.tips, *sorted(commits))))[:LOOKED_AT_MAX]:
        if commit not in found and _is_held(git, commit, there.trunks):
            beside = ["rev-list", commit, "--not", *there.trunks]
            found.update(git.ask(beside).decode().split())
    return frozenset(found.intersection(commits))


def _is_held(git: Git, commit: str, trunks: Sequence[str]) -> bool:
    """Return whether the trunk holds all that was done up to a commit since it left the trunk."""
    base = git.ask(["merge-base", commit, *trunks], allowed=(0, 1)).decode().strip()
    if not base:
        return False
    names = git.ask(["diff-tree", "-r", "-z", "--name-only", "--no-renames", base, commit])
    paths = [name.decode("utf-8", "surrogateescape") for name in names.split(b"\0") if name]
    if not 1 <= len(paths) <= PATHS_MAX:
        return False
    work = _lines(git.ask(["diff-tree", "-r", *_DIFF, base, commit]))
    if any(line.startswith(_NO_TEXT) for line in work):
        return False
    log = ["log", "--first-parent", "-m", *_DIFF, f"--max-count={TRUNK_MAX}", "--format=%x00"]
    others = git.ask([*log, *trunks, f"^{commit}", "--", *paths]).split(b"\0")
    if any(_lines(other) == work for other in others):
        return True
    return any(_is_rebased(git, commit, trunk) for trunk in trunks)


def _is_rebased(git: Git, commit: str, trunk: str) -> bool:
    """Return whether the trunk has the like of each commit that it does not have itself."""
    alone = ["rev-list", "--max-count=1", "--cherry-pick", "--right-only", f"{trunk}...{commit}"]
    return not git.ask(alone).strip()


def _lines(diff: bytes) -> list[bytes]:
    """Return what a diff changes, wherever that stood."""
    lines = diff.strip(b"\n").split(b"\n")
    return [line for line in lines if not line.startswith(_NOT_COMPARED)]
