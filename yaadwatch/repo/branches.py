"""Find commits on branches that a work tree has not merged, and branches merged by other commits.

The second search runs in the background, in small steps. A branch was squashed if one commit of the
trunk changes the same lines of the same files as the whole branch; it was rebased if each of its
commits has an equivalent in the trunk. Work merged in another way (with conflicts, in parts) is not
recognised. One commit that reverts all of it ends the match; several that do so together do not.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.repo.changes import Cache
from yaadwatch.repo.command import Git
from yaadwatch.repo.layout import Head, Layout

COMMITS_MAX: Final = 20_000
"""Commits of branches that are known, the newest; an older one counts as merged."""
KEPT_S: Final = 30.0
"""How long an answer holds while HEAD stays where it is."""
_TREES_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """An answer of git; `asked`: the commits it was asked about then, or before."""

    head: Head
    at_s: float
    asked: frozenset[str]
    beside: frozenset[str] | YaadError


class Unmerged:
    """Remembers, for each work tree, the commits of other branches that it does not have."""

    def __init__(self) -> None:
        self._known: Cache[Path, _Known] = Cache(_TREES_MAX)

    def commits(
        self, layout: Layout, git: Git, head: Head, about: Collection[str], now_s: float
    ) -> frozenset[str]:
        """Return the commits that are on a branch, and neither in HEAD nor in the main branch.

        Commits that are on no branch any more (rebased, squashed, beyond a shallow clone) are not
        included. A failure of git counts as an answer for as long as one.

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
        known = self._known.get(layout.git_dir)
        if known is not None and known.head != head:
            known = None
        asked = frozenset(about) | (known.asked if known is not None else frozenset())
        is_answered = known is not None and (
            isinstance(known.beside, YaadError) or asked == known.asked
        )
        if known is None or not is_answered or now_s - known.at_s >= KEPT_S:
            beside: frozenset[str] | YaadError
            try:
                beside = unmerged(git) if head.commit else frozenset()
            except YaadError as error:
                beside = error
            known = _Known(head=head, at_s=now_s, asked=asked, beside=beside)
            self._known.put(layout.git_dir, known)
        if isinstance(known.beside, YaadError):
            raise known.beside.with_traceback(None)
        return known.beside


def trunks(git: Git) -> list[str]:
    """Return the names of what a branch is merged into: HEAD, and the main branches.

    Raises:
        YaadError: as every method of `Repository`.
    """
    main = ("refs/heads/main", "refs/heads/master", "refs/heads/trunk")
    asked = ["for-each-ref", "--format=%(refname)", "refs/remotes/origin/HEAD", *main]
    return ["HEAD", *git.ask(asked).decode("utf-8", "surrogateescape").split()]


def unmerged(git: Git) -> frozenset[str]:
    """Return the newest commits of branches that neither HEAD nor a main branch has.

    A branch that leads to a commit that is lost has none.

    Raises:
        YaadError: as every method of `Repository`; a history is broken further down.
    """
    asked = ["rev-list", "--ignore-missing", f"--max-count={COMMITS_MAX}", "--branches"]
    return frozenset(git.ask([*asked, "--not", *trunks(git)]).decode().split())


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


@dataclass(slots=True, kw_only=True)
class _Found:
    """Of which commits it is known whether the trunk holds their work, and since when.

    `trunks`, `tips`: the ends of the trunk and of unmerged branches, as hex. `compared`: the ends
    of the trunk that a commit was compared with last, maybe before it grew.
    """

    head: Head
    at_s: float
    trunks: tuple[str, ...]
    tips: tuple[str, ...]
    known: dict[str, bool] = field(default_factory=dict)
    compared: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def is_settled(self, commit: str) -> bool:
        """Return whether it is known of a commit, as the trunk is now."""
        return commit in self.known and self.compared.get(commit) == self.trunks


class PatchIdCache:
    """Finds branches whose patches are upstream (squash or rebase). Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: Cache[Path, _Found] = Cache(_TREES_MAX)

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
        asked = sorted(one for one in commits if not found.is_settled(one))[:ASKED_MAX]
        if not asked:
            return
        for commit in (*_tips_above(git, found.tips, asked), *asked):
            if monotonic_s() > end_s:
                return
            if not found.is_settled(commit):
                answers = _works(git, commit, found)
                with self._lock:
                    found.compared |= dict.fromkeys(answers, found.trunks)
                    found.known |= answers

    def _current(self, layout: Layout, git: Git, head: Head, now_s: float) -> _Found:
        """Return what is known while the branches are unchanged, or the trunk only grew."""
        before = self._found.get(layout.git_dir)
        if before is not None and before.head == head and now_s - before.at_s < KEPT_S:
            return before
        named = (f"{name}^{{commit}}" for name in trunks(git))
        ends = tuple(dict.fromkeys(git.ask(["rev-parse", *named]).decode().split()))
        options = ["--format=%(objectname)", f"--count={TIPS_MAX}"]
        every = git.ask(["for-each-ref", *options, "refs/heads"]).decode().split()
        tips = tuple(tip for tip in every if tip not in ends)
        found = _Found(head=head, at_s=now_s, trunks=ends, tips=tips)
        if before is not None and (before.trunks, before.tips) == (ends, tips):
            found.known, found.compared = before.known, before.compared
        elif before is not None and _is_grown(git, before.trunks, ends):
            with self._lock:
                found.known = {commit: True for commit, answer in before.known.items() if answer}
                found.compared = dict(before.compared)
        self._found.put(layout.git_dir, found)
        return found


def _is_grown(git: Git, before: Sequence[str], now: Sequence[str]) -> bool:
    """Return whether a trunk still has all commits that it had, and so holds what it held."""
    try:
        return not git.ask(["rev-list", "--max-count=1", *before, "--not", *now]).strip()
    except YaadError:  # what it held is not even there any more
        return False


def _tips_above(git: Git, tips: Iterable[str], commits: Sequence[str]) -> list[str]:
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
    return [tip for tip in tips if tip in above]


def _works(git: Git, commit: str, found: _Found) -> dict[str, bool]:
    """Return whether the trunk holds the work up to a commit; once it did, of those before, too."""
    held, compared = found.known.get(commit, False), found.compared.get(commit, ())
    try:
        holds = _is_held(git, commit, found.trunks, compared, held=held)
        if holds is None and not held:
            return {commit: False}
        walk = ["rev-list", f"--max-count={WALK_MAX}", commit, "--not", *found.trunks]
        before = git.ask(walk)
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
    if any(line.startswith(b"Binary files ") for line in work):
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
    return [line for line in lines if not line.startswith((b"@@", b"index "))]
