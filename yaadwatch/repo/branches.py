"""Find commits on branches that a work tree has not merged, and branches merged by other commits.

The second search runs in the background, in small steps. A branch was squashed if one commit of the
trunk changes the same lines of the same files as the whole branch; it was rebased if each of its
commits has an equivalent in the trunk. Work merged in another way (with conflicts, in parts) is not
recognised. One commit that reverts all of it ends the match; several that do so together do not.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.command import Git
from yaadwatch.repo.layout import Head, Layout

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
class UnmergedCommits:
    """Commits of branches that neither HEAD nor a main branch has.

    `whole`: every branch could be asked; else some may have others, too.
    """

    commits: frozenset[str]
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """An answer of git; `asked`: the commits it was asked about then, or before."""

    head: Head
    at_s: float
    asked: frozenset[str]
    beside: UnmergedCommits | YaadError
    held: dict[str, bool] = field(default_factory=dict)


class Unmerged:
    """Remembers, for each work tree, the commits of other branches that it does not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Known] = OrderedDict()

    def commits(
        self, layout: Layout, git: Git, head: Head, about: Collection[str], now_s: float
    ) -> UnmergedCommits:
        """Return the commits that are on a branch, and neither in HEAD nor in the main branch.

        Commits that are on no branch any more (rebased, squashed, beyond a shallow clone) are not
        included.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            about: the relevant commits; a new one, which may be younger than the last answer, makes
                git run at once.
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
            found = merged_among(git, asked)
            known |= {commit: commit in found for commit in asked}
        return frozenset(commit for commit in commits if known[commit])

    def _known_of(
        self, layout: Layout, git: Git, head: Head, about: Collection[str], now_s: float
    ) -> _Known:
        """Return a recent answer of git; a failure counts as an answer, too."""
        place = layout.git_dir
        with self._lock:
            known = self._known.get(place)
        asked = frozenset(about)
        if known is not None and known.head == head:
            is_told = isinstance(known.beside, YaadError) or asked <= known.asked
            if is_told and now_s - known.at_s < KEPT_S:
                return known
            asked |= known.asked
        beside: UnmergedCommits | YaadError
        try:
            beside = unmerged(git, COMMITS_MAX) if head.commit else UnmergedCommits(frozenset())
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


def unmerged(git: Git, limit: int) -> UnmergedCommits:
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
    return UnmergedCommits(frozenset(found.decode().split()))


def _one_by_one(git: Git, asked: list[str], error: YaadError) -> UnmergedCommits:
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
    return UnmergedCommits(frozenset(found), whole=False)


def merged_among(git: Git, commits: Collection[str]) -> frozenset[str]:
    """Return those of `commits` that HEAD or a main branch has.

    Raises:
        YaadError: as every method of `Repository`.
    """
    if not commits:
        return frozenset()
    return frozenset(git.ask(["rev-list", *trunks(git)]).decode().split()).intersection(commits)


TIPS_MAX: Final = 200
"""Ends of branches that are known."""
ASKED_MAX: Final = 200
"""Commits that are looked for at once."""
PATHS_MAX: Final = 200
"""Files that a work may change; a larger one is not looked for."""
TRUNK_MAX: Final = 200
"""Commits of the trunk that touched those files and are compared, the newest."""
WALK_MAX: Final = 2_000
"""Commits of the trunk since a work began that are gone through, the newest."""
LOOK_S: Final = 2.0
"""A look that took longer begins with no other commit; the next look goes on."""

_DIFF: Final = ("-p", "-U0", "--no-renames", "--no-color", "--no-ext-diff", "--no-textconv")
_NOT_COMPARED: Final = (b"@@", b"index ")
_NO_TEXT: Final = b"Binary files "
_PATCHES_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class Refs:
    """What the answers depend on, as hex: the tips of the trunk and of unmerged branches."""

    trunks: tuple[str, ...]
    tips: tuple[str, ...]


@dataclass(slots=True)
class _Found:
    """Of which commits it is known whether the trunk holds their work, and since when.

    `compared`: the ends of the trunk that a commit was compared with last, maybe before it grew.
    """

    head: Head
    at_s: float
    refs: Refs
    known: dict[str, bool] = field(default_factory=dict)
    compared: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_settled(self, commit: str) -> bool:
        """Return whether it is known of a commit, as the trunk is now."""
        return commit in self.known and self.compared.get(commit) == self.refs.trunks


class PatchIdCache:
    """Finds branches whose patches are upstream (squash or rebase). Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: OrderedDict[Path, _Found] = OrderedDict()

    def known(
        self, layout: Layout, git: Git, head: Head, commits: Collection[str], now_s: float
    ) -> frozenset[str]:
        """Return those of `commits` whose work a trunk holds, as far as `look` has found out.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            commits: of branches, not in the trunk.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        found = self._current(layout, git, head, now_s)
        with self._lock:
            return frozenset(commit for commit in commits if found.known.get(commit))

    def look(
        self,
        layout: Layout,
        git: Git,
        head: Head,
        commits: Collection[str],
        monotonic_s: Callable[[], float],
    ) -> None:
        """Find out whether HEAD or a main branch holds the work of `commits`, for `LOOK_S`.

        Args:
            layout: of the work tree.
            git: of the same.
            head: where its HEAD is.
            commits: of branches, not in the trunk.
            monotonic_s: a clock.

        Raises:
            YaadError: from git.
        """
        end_s = monotonic_s() + LOOK_S
        found = self._current(layout, git, head, monotonic_s())
        trunks = found.refs.trunks
        asked = sorted(one for one in commits if not found.is_settled(one))[:ASKED_MAX]
        if not asked:
            return
        for commit in (*_tips_above(git, found.refs, asked), *asked):
            if monotonic_s() > end_s:
                return
            if not found.is_settled(commit):
                held = found.known.get(commit, False)
                compared = found.compared.get(commit, ())
                answers = _works(git, commit, trunks, compared, held=held)
                self._note(found, answers)

    def _current(self, layout: Layout, git: Git, head: Head, now_s: float) -> _Found:
        """Return the cached result while the branches are unchanged."""
        with self._lock:
            found = self._found.get(layout.git_dir)
        if found is not None and found.head == head and now_s - found.at_s < KEPT_S:
            return found
        refs = refs_of(git, trunks(git))
        found = _Found(head, now_s, refs, *self._kept(git, found, refs))
        with self._lock:
            self._found[layout.git_dir] = found
            self._found.move_to_end(layout.git_dir)
            while len(self._found) > _PATCHES_MAX:
                self._found.popitem(last=False)
        return found

    def _kept(
        self, git: Git, found: _Found | None, refs: Refs
    ) -> tuple[dict[str, bool], dict[str, tuple[str, ...]]]:
        """Return the results that remain valid: a trunk that only grew holds what it held."""
        if found is None:
            return {}, {}
        if found.refs == refs:
            return found.known, found.compared
        try:
            left = git.ask(["rev-list", "--max-count=1", *found.refs.trunks, "--not", *refs.trunks])
        except YaadError:  # what it held is not even there any more
            return {}, {}
        if left.strip():
            return {}, {}
        with self._lock:
            landed = {commit: True for commit, answer in found.known.items() if answer}
            return landed, dict(found.compared)

    def _note(self, found: _Found, answers: dict[str, bool]) -> None:
        with self._lock:
            found.compared |= dict.fromkeys(answers, found.refs.trunks)
            found.known |= answers


def refs_of(git: Git, trunks: Sequence[str]) -> Refs:
    """Return where the trunk, which has these names, and branches end.

    Raises:
        YaadError: as every method of `Repository`.
    """
    ends = git.ask(["rev-parse", *(f"{name}^{{commit}}" for name in trunks)]).decode().split()
    options = ["--format=%(objectname)", f"--count={TIPS_MAX}"]
    tips = git.ask(["for-each-ref", *options, "refs/heads"]).decode().split()
    return Refs(tuple(dict.fromkeys(ends)), tuple(tip for tip in tips if tip not in ends))


def _tips_above(git: Git, refs: Refs, commits: Sequence[str]) -> list[str]:
    """Return the tips of branches that hold any of `commits`: later work lands with it.

    None where git cannot find out, such as for a branch with a missing commit.
    """
    holding = [f"--contains={commit}" for commit in commits]
    try:
        found = git.ask(["for-each-ref", "--format=%(objectname)", *holding, "refs/heads"])
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return []
    above = frozenset(found.decode().split())
    return [tip for tip in refs.tips if tip in above]


def _works(
    git: Git, commit: str, trunks: Sequence[str], compared: Sequence[str], *, held: bool
) -> dict[str, bool]:
    """Return whether the trunk holds the work up to a commit; if it ever did, of those before, too.

    `held`: whether it did where it ended at `compared`.
    """
    try:
        holds = _is_held(git, commit, trunks, compared, held=held)
        if holds is None and not held:
            return {commit: False}
        before = git.ask(["rev-list", f"--max-count={WALK_MAX}", commit, "--not", *trunks])
    except YaadError as error:
        if error.code not in (Code.UNAVAILABLE, Code.TIMEOUT):
            raise
        return {commit: held}  # too large, or broken: not repeated while the branches are unchanged
    now = held if holds is None else holds  # what it held, and did not take back, it holds
    return {commit: now} | dict.fromkeys(before.decode().split(), now)


def _is_held(
    git: Git, commit: str, trunks: Sequence[str], compared: Sequence[str], *, held: bool
) -> bool | None:
    """Return whether the trunk holds all work up to a commit since it left the trunk.

    False: it did, and reverted it; None: it never did, as far as is known.

    `held`: whether it did when its tip was `compared`, if set.
    """
    base = git.ask(["merge-base", commit, *trunks], allowed=(0, 1)).decode().strip()
    if not base:
        return None
    names = git.compare(["-r", "-z", "--name-only", "--no-renames", base, commit])
    paths = [name.decode("utf-8", "surrogateescape") for name in names.split(b"\0") if name]
    if not 1 <= len(paths) <= PATHS_MAX:
        return None
    if compared:
        newer = ["rev-list", "--max-count=1", *trunks, "--not", commit, *compared, "--", *paths]
        if not git.ask(newer).strip():
            return held or None
    work = _lines(git.compare(["-r", *_DIFF, base, commit]))
    if any(line.startswith(_NO_TEXT) for line in work):
        return None
    undone = _lines(git.compare(["-r", *_DIFF, commit, base]))
    found = [_taken(git, [trunk, f"^{commit}"], paths, work, undone) for trunk in trunks]
    if True in found or any(
        _is_rebased(git, commit, trunk)
        for trunk, taken in zip(trunks, found, strict=True)
        if taken is None
    ):
        return True
    return False if False in found else None


def _taken(
    git: Git,
    since: Sequence[str],
    paths: Sequence[str],
    work: Sequence[bytes],
    undone: Sequence[bytes],
) -> bool | None:
    """Return whether a commit of a trunk is a work, and none after it that work undone.

    False: the later one of the two undoes it; None: there is neither.
    """
    old = _too_old(git, since)
    log = ["log", "--first-parent", "-m", *_DIFF, f"--max-count={TRUNK_MAX}", "--format=%x00"]
    for other in git.ask([*log, *since, *old, "--", *paths]).split(b"\0"):
        lines = _lines(other)
        if lines in (work, undone):
            return lines == work
    return None


def _too_old(git: Git, since: Sequence[str]) -> list[str]:
    """Return the argument that excludes commits of the trunk that are not searched."""
    skip = ["--first-parent", f"--skip={WALK_MAX}", "--max-count=1"]
    oldest = git.ask(["rev-list", *skip, *since]).decode().strip()
    return [f"^{oldest}"] if oldest else []


def _is_rebased(git: Git, commit: str, trunk: str) -> bool:
    """Return whether the trunk has an equivalent of each commit that it lacks."""
    alone = ["rev-list", "--max-count=1", "--cherry-pick", "--right-only"]
    since = [f"{trunk}...{commit}", *_too_old(git, [trunk, f"^{commit}"])]
    return not git.ask([*alone, *since]).strip()


def _lines(diff: bytes) -> list[bytes]:
    """Return the changed lines of a diff, without their positions."""
    lines = diff.strip(b"\n").split(b"\n")
    return [line for line in lines if not line.startswith(_NOT_COMPARED)]
