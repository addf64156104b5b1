"""Which agents are at work in which folder just now, as far as they let us know?

An agent shows by what it asks that it is at work, and by files that change meanwhile that it still
is. It is kept in memory: after a restart whoever is at work shows it anew.
"""

import threading
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class _Who:
    """An agent in a work tree; `session` '' where nobody says when it ends, as in a hook."""

    root: Path
    agent: str
    session: str


class AtWork:
    """Knows who is at work. Any thread may call it; times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lasts: dict[_Who, float] = {}

    def seen(self, root: Path, agent: str, session: str, now_s: float) -> None:
        """Note that an agent is at work in a work tree."""
        with self._lock:
            self._lasts[_Who(root=root, agent=agent, session=session)] = now_s

    def stirred(self, root: Path, now_s: float, idle_s: float) -> None:
        """Note that files of a work tree changed: whoever is at work there may have done it."""
        with self._lock:
            for who, last_s in self._lasts.items():
                if who.root == root and now_s - last_s < idle_s:
                    self._lasts[who] = now_s

    def left(self, folder: Path, agent: str, session: str) -> None:
        """Note that a session of an agent that works in `folder` has ended.

        What the agent did outside of any session ends with its last one.
        """
        with self._lock:
            own = [
                who for who in self._lasts if who.agent == agent and folder.is_relative_to(who.root)
            ]
            others = {who.root for who in own if who.session not in ("", session)}
            for who in own:
                if who.session == session or (not who.session and who.root not in others):
                    del self._lasts[who]

    def quiet_in_s(self, root: Path, now_s: float, idle_s: float) -> float:
        """Return in how many seconds everybody in a work tree was idle for `idle_s`; 0.0: now."""
        with self._lock:
            self._lasts = {
                who: last_s for who, last_s in self._lasts.items() if now_s - last_s < idle_s
            }
            lasts = [last_s for who, last_s in self._lasts.items() if who.root == root]
        return max((last_s + idle_s - now_s for last_s in lasts), default=0.0)
