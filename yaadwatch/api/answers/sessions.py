"""Answers about tasks, skills and sessions."""

from typing import Literal, NotRequired, TypedDict

from yaadwatch.api.answers.memories import Context
from yaadwatch.api.answers.shapes import Budget, By, ShortFlag, Time


class Task(By):
    """Something that is to be done."""

    id: str
    text: str
    state: Literal["open", "doing", "done", "dropped"]
    priority: Literal["urgent", "high", "normal", "low"]
    waits_for: list[str]
    """tasks at the end of its `depends_on` edges that are not done"""
    version: int
    created_at: Time
    updated_at: Time
    made: NotRequired[bool]
    """the task is new"""


class Tasks(TypedDict):
    """Those in progress first, then by priority, then those that wait for no other, the oldest
    first."""

    tasks: list[Task]
    counts: dict[str, int]
    """by state"""
    hidden: int
    """as in Stale"""


class Skill(By):
    """A way of working that is kept under a name."""

    id: str
    name: str
    """the key of the memory"""
    description: str
    version: int
    updated_at: Time
    stale: bool
    body: NotRequired[str]
    """when one is asked for"""


class Skills(TypedDict):
    """By name."""

    skills: list[Skill]


class Session(TypedDict):
    """A stretch of work."""

    id: str
    agent: str
    name: str | None
    branch: str | None
    started_at: Time
    last_at: Time
    ended_at: Time | None
    ended_by: Literal["asked", "left", "idle"] | None
    summary: str
    learned: int
    shown: int
    used: int
    """memories shown whose files were changed, or whose names turned up in what was written"""
    tokens: int
    """spent on what was shown"""
    commits: int
    files: int


class _Words(TypedDict):
    id: str
    words: str


class _Learned(By):
    id: str
    kind: str
    text: str
    archived: bool
    stale: ShortFlag | None
    contradicted: list[_Words]
    """by which open contradictions"""
    superseded: bool
    at: Time


class _Seen(_Learned):
    tokens: int
    used: bool


class _Note(TypedDict):
    at: Time
    text: str


class _Made(TypedDict):
    id: str
    subject: str


class _Touched(TypedDict):
    path: str
    how: Literal["added", "changed", "removed"]
    committed: bool


class Receipt(Session):
    """A session that is asked for by its id. Memories are as they are now."""

    shown_memories: list[_Seen]
    learned_memories: list[_Learned]
    notes: list[_Note]
    made: list[_Made]
    """commits"""
    changed: list[_Touched]
    touched: list[str]


class Sessions(TypedDict):
    """Newest first, or best first for a query."""

    sessions: list[Receipt | Session]


class Started(Context):
    """The brief, and the session."""

    session: str
    again: bool
    """a session of this name goes on"""


class Noted(TypedDict):
    """A note in a session."""

    session: str
    text: str
    masked: list[str]
    notes: int


class Ended(TypedDict):
    """A session in which nothing happened is not kept."""

    kept: bool
    session: Session | None


class Handoff(TypedDict):
    """A prompt for the next session. The numbers say how many of each it has."""

    prompt: str
    session: str | None
    open: int
    flags: int
    budget: Budget


class News(TypedDict):
    """What is new since this session last asked."""

    news: str
    """the text; empty when nothing is new"""
    stale: int
    memories: int
    session: str


class _Backed(TypedDict):
    path: str
    rules: int
    memories: int


class Blast(TypedDict):
    """What rests on files that an agent touched."""

    text: str
    """empty when nothing rests on them"""
    session: str
    files: list[_Backed]
    """those that the session has not had yet"""
