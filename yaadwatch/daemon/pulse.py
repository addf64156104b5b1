"""What the running daemon knows of itself, as `status` asks for it."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from yaadwatch import places
from yaadwatch.client.hooks import log as hook_log
from yaadwatch.core import privacy
from yaadwatch.daemon.health import Health
from yaadwatch.daemon.scheduler import Scheduler
from yaadwatch.daemon.watching.intake import Intake
from yaadwatch.model import times
from yaadwatch.servers.dispatch import MEND


class Pulse:
    """What the running daemon knows of itself; see `engine.workspace.Pulse`. Any thread."""

    def __init__(
        self,
        *,
        intake: Intake,
        scheduler: Scheduler,
        health: Health,
        started_at: datetime,
        socket: Path,
        now: Callable[[], datetime],
    ) -> None:
        self._intake = intake
        self._scheduler = scheduler
        self._health = health
        self._since = times.told(started_at)  # made once: `health` is asked often
        self._socket = socket
        self._now = now

    def watch(self, project: str) -> tuple[str, int | None]:
        """Return how the project is watched, and the time the last check took to come, in ms."""
        return self._intake.mode(project), self._intake.lag_ms(project)

    def hangs(self, project: str) -> bool:
        """Return whether a disk that the project is on does not answer."""
        return self._intake.hangs(project)

    def problems(self) -> list[dict[str, str]]:
        """Return what is degraded, and how many hooks sent their agent nothing."""
        found = [
            {"what": one.what, "mend": one.mend, "project": one.project}
            for one in self._health.problems()
        ]
        found += [
            {"what": what, "mend": MEND, "project": project}
            for what, project in self._intake.stuck()
        ]
        hooks = privacy.mask(hook_log.count(places.hook_log(), self._now()).in_words()).text
        return [*found, {"what": hooks, "mend": "yaadwatch doctor"}] if hooks else found

    def next_runs(self) -> dict[str, datetime]:
        """Return when each job runs next."""
        return self._scheduler.next_runs()

    def since(self) -> str:
        """Return when the daemon was started, as answers tell it."""
        return self._since

    def socket(self) -> str:
        """Return the path that the daemon listens on."""
        return str(self._socket)
