"""Which commits are on branches that a work tree has not merged? Asked of git now and then."""

import threading
from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from yaadwatch.system.git import landed as landing
from yaadwatch.system.git.landed import Refs
from yaadwatch.system.git.layout import Head
from yaadwatch.system.git.question import Git
from yaadwatch.system.git.repository import Repository

COMMITS_MAX: Final = 20_000
"""Commits of such branches that are known, the newest; an older one counts as merged."""
KEPT_S: Final = 30.0
"""How long an answer holds while HEAD stays where it is."""
_TREES_MAX = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    head: Head
    at_s: float
    commits: frozenset[str]


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

    def commits(self, repository: Repository, head: Head, now_s: float) -> frozenset[str]:
        """Return the commits that are on a branch, and neither in HEAD nor in the main branch.

        A commit that is on no branch any more (rebased, squashed, out of a shallow clone) is not
        among them.

        Args:
            repository: of the work tree.
            head: where its HEAD is.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        place = repository.layout.git_dir
        with self._lock:
            known = self._known.get(place)
        if known is not None and known.head == head and now_s - known.at_s < KEPT_S:
            return known.commits
        commits = repository.unmerged(COMMITS_MAX)
        with self._lock:
            self._known[place] = _Known(head=head, at_s=now_s, commits=commits)
            self._known.move_to_end(place)
            while len(self._known) > _TREES_MAX:
                self._known.popitem(last=False)
        return commits

    def landed(
        self,
        repository: Repository,
        git: Git,
        head: Head,
        commits: Collection[str],
        now_s: float,
    ) -> frozenset[str]:
        """Return those of `commits` of unmerged branches whose work HEAD or a main branch holds.

        Args:
            repository: of the work tree.
            git: of the same.
            head: where its HEAD is.
            commits: what `commits` named.
            now_s: a monotonic clock.

        Raises:
            YaadError: from git.
        """
        place = repository.layout.git_dir
        with self._lock:
            there = self._landed.get(place)
        if there is None or there.head != head or now_s - there.at_s >= KEPT_S:
            refs = landing.refs(git, repository.trunks())
            known = there.known if there is not None and there.refs == refs else {}
            there = _Landed(head, now_s, refs, known)
        asked = frozenset(commits) - there.known.keys()
        found = landing.landed(git, there.refs, asked) if asked else frozenset[str]()
        with self._lock:
            there.known |= {commit: commit in found for commit in asked}
            self._landed[place] = there
            self._landed.move_to_end(place)
            while len(self._landed) > _TREES_MAX:
                self._landed.popitem(last=False)
            return frozenset(commit for commit in commits if there.known.get(commit))
