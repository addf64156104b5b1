"""Which sessions go on just now, whose are they, and what were they shown that is not yet written?

It is kept in memory, so that reading writes nothing. After a restart whoever asks next goes on with
the open session that the store has.
"""

import threading
from dataclasses import dataclass, field
from datetime import datetime

from yaadwatch.model.sessions import Session


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
        """Tell whether it is a session of an agent in a work tree."""
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
        """Return the session of this id, if it goes on."""
        return self._lives.get(id)

    def of(self, project: str, worktree: int, agent: str) -> list[Live]:
        """Return the sessions of an agent in a work tree, the one that asked last first."""
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
