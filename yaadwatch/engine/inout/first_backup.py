"""The first copy of a project's store: made soon after its first memories, not a day later.

Until then `git clean -fdx` would take all of them while no daemon runs.
"""

import threading
from typing import Final

from yaadwatch import places
from yaadwatch.engine.inout.stores import projects
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import nodes

_OUTCOME: Final = "has no backup yet, and none could be made"
AGAIN_AFTER_S: Final = 600.0
"""To copy a large store each minute would keep a disk busy that has no room for it."""


class FirstCopies:
    """Sees to it that each project with memories that no agent file says has a copy.

    A project is asked once, and again after its store was written, until it has one; a store at
    rest stays so. Any thread, but `keep` in one at a time does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keeping = threading.Lock()
        self._done: set[str] = set()
        self._asked: set[str] = set()
        self._failed: dict[str, tuple[float, str]] = {}
        """When to try again, by the monotonic clock, and what went wrong, by project."""

    def written(self, store: str) -> None:
        """Note that a store was written: it may have its first memories now."""
        with self._lock:
            self._asked.discard(store)

    def keep(self, home: Home) -> None:
        """Make the first copies that are to be made.

        Raises:
            YaadError: UNAVAILABLE; some could not be made, the others were. What went wrong is said
                each time, and tried again after ten minutes.
        """
        now_s = home.clock.monotonic_s()
        with self._keeping:
            watched = {project.id: project for project in projects(home)}
            self._failed = {one: seen for one, seen in self._failed.items() if one in watched}
            for project in watched.values():
                again_s, _ = self._failed.get(project.id, (now_s, ""))
                if again_s > now_s or not self._is_to_be_asked(project.id):
                    continue
                self._failed.pop(project.id, None)
                try:
                    self._keep(home, project)
                except YaadError as error:
                    self.written(project.id)
                    words = f"{project.root} {_OUTCOME}: {error.message}"
                    self._failed[project.id] = (now_s + AGAIN_AFTER_S, words)
            failed = [words for _, words in self._failed.values()]
        if failed:
            raise YaadError(
                Code.UNAVAILABLE, " ".join(failed), hint="What is wrong: yaadwatch status"
            )

    def _is_to_be_asked(self, project: str) -> bool:
        """Return whether to ask a project now; noted first, so a write meanwhile counts."""
        with self._lock:
            if project in self._done or project in self._asked:
                return False
            self._asked.add(project)
            return True

    def _keep(self, home: Home, project: Project) -> None:
        if next(places.backups(project.id).glob("*.db"), None) is None:
            try:
                told = home.stores.look(project, nodes.told)
            except YaadError:  # a store that cannot be had tells nothing, `status` names it
                self.written(project.id)
                return
            if not told:
                return
            # Most daemons start without anything to copy, and go without what copies.
            from yaadwatch.engine.inout import backups

            backups.back_up(home, project)
        with self._lock:
            self._done.add(project.id)
