"""Which agents are at work now, and the sessions that go on.

They are kept in memory, so that reading writes nothing; after a restart, the next request continues
the open session of the store.
"""

import threading
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from yaadwatch.model.projects import Session


@dataclass(frozen=True, slots=True, kw_only=True)
class _Who:
    """An agent in a work tree; `session` '' where its end is not reported, as in a hook."""

    root: Path
    agent: str
    session: str


class AtWork:
    """The live sessions. Thread-safe; times are monotonic, in seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lasts: dict[_Who, float] = {}

    def seen(self, root: Path, agent: str, session: str, now_s: float) -> None:
        """Note that an agent is at work in a work tree."""
        with self._lock:
            self._lasts[_Who(root=root, agent=agent, session=session)] = now_s

    def stirred(self, root: Path, now_s: float, idle_s: float) -> None:
        """Note that files of a work tree changed: any agent at work there may have done it."""
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


@dataclass(slots=True, kw_only=True)
class Live:
    """A session that goes on.

    `connections`: of its agent, by name, while they are open; `left_at`: when the last one of a
    session ended that its agent may end by name; `failed_at`: when it first could not be ended, and
    was not written down since; `shown`: tokens by node, not yet written down; `written`: the
    session as it was when it was last written down with what it was shown.
    """

    project: str
    session: Session
    connections: set[str] = field(default_factory=set)
    left_at: datetime | None = None
    failed_at: datetime | None = None
    shown: dict[str, int] = field(default_factory=dict)
    written: Session | None = None

    @property
    def id(self) -> str:
        """Return the id of the session."""
        return self.session.id

    @property
    def is_written(self) -> bool:
        """Return whether there is nothing of it that is not written down; `lock` is held."""
        return not self.shown and self.failed_at is None and self.written == self.session

    def is_of(self, project: str, worktree: int, agent: str) -> bool:
        """Return whether it is a session of an agent in a work tree."""
        mine = (self.project, self.session.worktree, self.session.agent)
        return mine == (project, worktree, agent)


class LiveSessions:
    """Knows the sessions that go on. Any thread may call it, `lock` held."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._lives: dict[str, Live] = {}

    def enter(self, live: Live) -> None:
        """Have a session go on."""
        self._lives[live.id] = live

    def get(self, id: str) -> Live | None:
        """Return the session of this id, if it is live."""
        return self._lives.get(id)

    def of(self, project: str, worktree: int, agent: str) -> list[Live]:
        """Return the sessions of an agent in a work tree, most recently active first."""
        found = [live for live in self._lives.values() if live.is_of(project, worktree, agent)]
        return sorted(found, key=lambda live: live.session.last_at, reverse=True)

    def with_connection(self, name: str) -> list[Live]:
        """Return the sessions that a connection takes part in, one for each work tree."""
        return [live for live in self._lives.values() if name in live.connections]

    def everything(self) -> list[Live]:
        """Return the sessions that go on, in the order in which they came up."""
        return list(self._lives.values())

    def leave(self, id: str) -> Live | None:
        """Return the session of this id, and know it no more."""
        return self._lives.pop(id, None)
