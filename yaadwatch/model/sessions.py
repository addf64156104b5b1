"""Sessions: a stretch of work of one agent, or of a person at the command line, in a work tree."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

Role = Literal["shown", "used", "learned"]
SHOWN: Final[Role] = "shown"
USED: Final[Role] = "used"
LEARNED: Final[Role] = "learned"

Ending = Literal["", "asked", "left", "idle"]
"""Why a session is over: somebody said so, its agent went away, nothing was asked for long."""

IDLE: Final = timedelta(minutes=30)
"""A session in which nothing was asked for so long is over; asked again, it goes on."""
DAY: Final = "day "
"""What the name of a session begins with that a day at the command line is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A commit that was made in a session; `id` is hex, `subject` masked."""

    id: str
    subject: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Touched:
    """A file that a session changed; `path` masked, `how`: added, changed, removed."""

    path: str
    how: str
    committed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What git says of a session; `more`: files that were left out. `reason`: why git said less."""

    commits: tuple[Made, ...] = ()
    files: tuple[Touched, ...] = ()
    more: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as it is stored; everything in words is masked.

    `agent` is an origin ('agent:NAME', 'cli'). `ended_at` is None while it goes on.
    """

    id: str
    worktree: int | None
    agent: str
    started_at: datetime
    last_at: datetime
    name: str = ""
    ended_at: datetime | None = None
    ended_by: Ending = ""
    branch: str = ""
    start_commit: str = ""
    told_seq: int = 0
    facts: Facts = field(default_factory=Facts)
    summary: str = ""

    @property
    def is_day(self) -> bool:
        """Tell whether it is what a person said at the command line on one day."""
        return self.name.startswith(DAY)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNode:
    """A node that a session was shown, used or learned; `tokens`: what showing it took."""

    session: str
    node: str
    role: Role
    at: datetime
    tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """What somebody noted in a session, masked."""

    at: datetime
    text: str
