"""What is degraded right now, and which command mends it; `status` shows it."""

import logging
import threading
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Something that does not work as it should: what, in words, and the command that mends it.

    `project`: of which project alone; '' when it is of none.
    """

    what: str
    mend: str
    project: str = ""


class Health:
    """The present problems, one for each part of the daemon. Any thread may call it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._problems: dict[str, Problem] = {}

    def degraded(self, part: str, what: str, *, mend: str, project: str = "") -> None:
        """Note that `part` is degraded; logged when it is news."""
        problem = Problem(what=what, mend=mend, project=project)
        with self._lock:
            known = self._problems.get(part)
            self._problems[part] = problem
        if known != problem:
            _log.warning("health.degraded", extra={"part": part, "what": what, "mend": mend})

    def well(self, part: str) -> None:
        """Note that `part` works; logged when it did not before."""
        with self._lock:
            known = self._problems.pop(part, None)
        if known is not None:
            _log.info("health.restored", extra={"part": part})

    def keep_only(self, projects: Collection[str]) -> None:
        """Forget what is wrong with projects that are not among `projects`: nobody can mend it."""
        with self._lock:
            gone = [
                part
                for part, problem in self._problems.items()
                if problem.project and problem.project not in projects
            ]
            for part in gone:
                del self._problems[part]
        for part in gone:
            _log.info("health.forgotten", extra={"part": part})

    def problems(self) -> list[Problem]:
        """Return what is degraded now, in the order of the parts' names."""
        if not self._problems:  # mostly
            return []
        with self._lock:
            return [problem for _, problem in sorted(self._problems.items())]
