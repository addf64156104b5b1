"""The last copy of a store: made when the daemon stops, of what was said since the newest one.

Else `git clean -fdx` would take all that was remembered since the daily copy while no daemon runs.
"""

import threading

from yaadwatch import places
from yaadwatch.engine.inout.stores import projects
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store.sqlite import copies
from yaadwatch.store.whole import said


class LastCopies:
    """Knows which stores were written, and copies those of them that say more than their copies.

    A project without a copy is left to `FirstCopies`. Any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written: set[str] = set()

    def written(self, store: str) -> None:
        """Note that a store was written."""
        with self._lock:
            self._written.add(store)

    def keep(self, home: Home) -> None:
        """Copy each store in which something was said that its newest copy does not have.

        Raises:
            YaadError: UNAVAILABLE; some could not be copied, the others were.
        """
        with self._lock:
            written, self._written = self._written, set()
        failed = []
        for project in projects(home) if written else ():
            if project.id not in written:
                continue
            try:
                self._keep(home, project)
            except YaadError as error:
                failed.append(f"{project.root} could not be copied: {error.message}")
        if failed:
            raise YaadError(
                Code.UNAVAILABLE, " ".join(failed), hint="What is wrong: yaadwatch status"
            )

    def _keep(self, home: Home, project: Project) -> None:
        newest = max(places.backups(project.id).glob("*.db"), default=None)
        if newest is None:
            return
        try:
            copied = copies.ask(newest, said.marks)
        except YaadError:  # a copy that cannot be read keeps nothing
            copied = None
        # Not "later": a store that was restored counts on from where its copy was made.
        if home.stores.look(project, said.marks) != copied:
            from yaadwatch.engine.inout import backups  # most daemons stop with nothing to copy

            backups.back_up(home, project)
