"""Which agents are at work in which folder just now, as far as they let us know?

An agent shows by what it asks that it is at work, and by files that change meanwhile that it still
is. It is kept in memory: after a restart whoever is at work shows it anew.
"""

import threading
from dataclasses import dataclass
from pathlib import Path


@dataclass(slots=True)
class _Session:
    root: Path
    agent: str
    last_s: float


class AtWork:
    """Knows who is at work. Any thread may call it; times are of a monotonic clock, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[Path, str], _Session] = {}

    def seen(self, root: Path, agent: str, now_s: float) -> None:
        """Note that an agent is at work in a work tree."""
        with self._lock:
            self._sessions[root, agent] = _Session(root, agent, now_s)

    def stirred(self, root: Path, now_s: float, idle_s: float) -> None:
        """Note that files of a work tree changed: whoever is at work there may have done it."""
        with self._lock:
            for session in self._sessions.values():
                if session.root == root and now_s - session.last_s < idle_s:
                    session.last_s = now_s

    def left(self, folder: Path, agent: str) -> None:
        """Note that the session of an agent that works in `folder` has ended."""
        with self._lock:
            ended = [
                key for key in self._sessions if key[1] == agent and folder.is_relative_to(key[0])
            ]
            for key in ended:
                del self._sessions[key]

    def quiet_in_s(self, root: Path, now_s: float, idle_s: float) -> float:
        """Return in how many seconds everybody in a work tree was idle for `idle_s`; 0.0: now."""
        with self._lock:
            for key, session in list(self._sessions.items()):
                if now_s - session.last_s >= idle_s:
                    del self._sessions[key]
            lasts = [session.last_s for session in self._sessions.values() if session.root == root]
        return max((last + idle_s - now_s for last in lasts), default=0.0)
