"""Which commits are on branches that a work tree has not merged? Asked of git now and then."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch.system.git.layout import Head
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


class Unmerged:
    """Remembers, for each work tree, the commits of other branches that it does not have."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Known] = OrderedDict()

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
