"""What is asked about sessions, tasks and skills."""

import re
from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.checks import (
    NAME_CHARS_MAX,
    TOKENS_MAX,
    check_id,
    check_length,
    check_text,
    check_texts,
    check_within,
)
from yaadwatch.api.messages.memories import CHARS_MAX, WAIT_MS_MAX
from yaadwatch.model.sessions import STATES, UNFINISHED, check_priority, check_state
from yaadwatch.model.settings import QUERY_CHARS_MAX, TEXT_CHARS_MAX

SESSION_NAME_CHARS_MAX: Final = 200
NOTE_CHARS_MAX: Final = 4_000
LIMIT_MAX: Final = 1_000
PATHS_MAX: Final = 200
DESCRIPTION_CHARS_MAX: Final = 1_024

SKILL_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
"""How the name of a skill looks: it is the name of a folder, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionStart:
    """Begin a session, or go on with the one of this name; the rest is as for `context`."""

    name: str = ""
    tokens_max: int = 2000
    chars_max: int = 8000
    wait_ms: int = 1000

    def __post_init__(self) -> None:
        check_length("name", self.name, SESSION_NAME_CHARS_MAX)
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)
        check_within("chars_max", self.chars_max, 1, CHARS_MAX)
        check_within("wait_ms", self.wait_ms, 0, WAIT_MS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNote:
    """Note something in a session that is no memory of its own."""

    text: str
    session: str | None = None

    def __post_init__(self) -> None:
        check_text("text", self.text, NOTE_CHARS_MAX)
        if self.session is not None:
            check_id(self.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """End a session: the one named, else the one of who asks."""

    session: str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.session is not None:
            check_id(self.session)
        check_length("name", self.name, SESSION_NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """List the sessions, or those that a question finds; or one with its receipt."""

    id: str | None = None
    query: str | None = None
    limit: int = 20

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)
        if self.query is not None:
            check_text("query", self.query, QUERY_CHARS_MAX)
        if self.id is not None and self.query is not None:
            raise ValueError("id and query cannot both be given")
        check_within("limit", self.limit, 1, LIMIT_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Handoff:
    """Ask for a prompt for whoever goes on."""

    session: str | None = None
    tokens_max: int = 2000

    def __post_init__(self) -> None:
        if self.session is not None:
            check_id(self.session)
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionNews:
    """Ask what is new since this session last asked."""

    name: str = ""
    tokens_max: int = 400

    def __post_init__(self) -> None:
        check_length("name", self.name, SESSION_NAME_CHARS_MAX)
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTouched:
    """Say which files an agent touched; hear what rests on them."""

    paths: tuple[str, ...]
    name: str = ""
    tokens_max: int = 200

    def __post_init__(self) -> None:
        check_texts("paths", self.paths, PATHS_MAX, NAME_CHARS_MAX)
        check_length("name", self.name, SESSION_NAME_CHARS_MAX)
        check_within("tokens_max", self.tokens_max, 1, TOKENS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """List the tasks in some states."""

    states: tuple[str, ...] = UNFINISHED
    limit: int = 50
    all_branches: bool = False

    def __post_init__(self) -> None:
        check_texts("states", self.states, len(STATES), NAME_CHARS_MAX)
        for state in self.states:
            check_state(state)
        check_within("limit", self.limit, 1, LIMIT_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskUpdate:
    """Change a task; without an id, add one. The text is judged where it is kept."""

    id: str | None = None
    text: str | None = None
    state: str | None = None
    priority: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        if self.id is not None:
            check_id(self.id)
        if self.state is not None:
            check_state(self.state)
        if self.priority is not None:
            check_priority(self.priority)
        if self.session is not None:
            check_id(self.session)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skills:
    """List the skills, or show one."""

    name: str | None = None

    def __post_init__(self) -> None:
        if self.name is not None:
            check_text("name", self.name, SESSION_NAME_CHARS_MAX)


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillAdd:
    """Keep a skill under its name; `description` says when to use it."""

    name: str
    description: str
    body: str
    session: str | None = None

    def __post_init__(self) -> None:
        if not SKILL_NAME.fullmatch(self.name):
            raise ValueError(
                "name must be 1 to 64 small letters, digits and '-', beginning with a letter or"
                f" digit, got {self.name!r}"
            )
        check_text("description", self.description, DESCRIPTION_CHARS_MAX)
        check_text("body", self.body, TEXT_CHARS_MAX - DESCRIPTION_CHARS_MAX - 2)
        if self.session is not None:
            check_id(self.session)
