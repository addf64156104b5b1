"""Is it any use to go on waiting for the daemon? Told by its process, as far as that is seen.

Only Linux shows what another process does; elsewhere waiting ends when its time is over.
"""

from yaadwatch import places
from yaadwatch.client.presence import SUSPENDED, daemon_holds_lock, is_suspended, standing

_SLEEPS = "S"
"""The state of a process that waits for somebody to wake it."""
_LOOKS_MIN = 2
"""One look may fall into the moment in which a debugger attaches to it."""


def suspended_now() -> int | None:
    """Return the pid of the daemon when it is suspended at this moment, else None."""
    pid = places.announced_pid() if daemon_holds_lock() else None
    return pid if pid is not None and is_suspended(pid) else None


class Patience:
    """Looks at the daemon's process from time to time, while somebody waits for it."""

    def __init__(self) -> None:
        self._suspended = 0
        self._ran: int | None = None
        self._age_s = 0.0
        self._ran_at_s = 0.0

    def look(self, waited_s: float) -> None:
        """Take note of what the process does, after so many seconds of waiting."""
        pid = places.announced_pid() if daemon_holds_lock() else None
        self.note(*(("", None, 0.0) if pid is None else standing(pid)), waited_s)

    def note(self, state: str, ran: int | None, age_s: float, waited_s: float) -> None:
        """Take note of a look; the first three are as `standing` gives them.

        One that waits for the processor, or for a disk, is at work: the machine has much to do.
        """
        is_still = self._ran is None or ran == self._ran
        self._suspended = self._suspended + 1 if is_still and state in SUSPENDED else 0
        if ran is None or state != _SLEEPS or not is_still:
            self._ran_at_s = waited_s
        self._ran, self._age_s = ran, age_s

    @property
    def is_suspended(self) -> bool:
        """Return whether it is stopped for longer than a debugger takes to attach to it."""
        return self._suspended >= _LOOKS_MIN

    def suspended(self) -> int | None:
        """Return the pid of the daemon when it is suspended, else None."""
        return places.announced_pid() if self.is_suspended else None

    def is_idle(self, waited_s: float, idle_s: float, start_s: float) -> bool:
        """Return whether it did nothing at all for `idle_s` while it had somebody to answer.

        Args:
            waited_s: for how long it has been waited for.
            idle_s: the least time in which one that works would have done something.
            start_s: one that is younger than this may wait for something before it can answer.
        """
        is_still = self._ran is not None and waited_s - self._ran_at_s >= idle_s
        return is_still and self._age_s >= start_s
