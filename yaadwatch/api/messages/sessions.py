"""What is asked about sessions, tasks and skills."""

import re

from yaadwatch.api.limits import ID, PATH, TOKENS, Each, Form, OneOf, Text, Within
from yaadwatch.api.message import Message, field
from yaadwatch.api.messages.memories import CHARS_MAX, WAIT_MS_MAX
from yaadwatch.model.limits import PRIORITIES, QUERY_CHARS_MAX, STATES, TEXT_CHARS_MAX, UNFINISHED

SESSION_NAME_CHARS_MAX = 200
NOTE_CHARS_MAX = 4_000
LIMIT_MAX = 1_000
PATHS_MAX = 200
DESCRIPTION_CHARS_MAX = 1_024
_NAME = Text(SESSION_NAME_CHARS_MAX, may_be_empty=True)
_LIMIT = Within(1, LIMIT_MAX)


def _skill_name(name: str, given: str) -> None:
    # It is the name of a folder, too.
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", given):
        raise ValueError(
            f"{name} must be 1 to 64 small letters, digits and '-', beginning with a letter or"
            f" digit, got {given!r}"
        )


class SessionStart(Message, answer="Started"):
    """Begin a session, or go on with the one of this name; the rest is as for `context`."""

    name: str = field(
        default="",
        limit=_NAME,
        help="for start: a name; the same name later goes on with it",
        option="--name NAME",
    )
    tokens_max: int = field(default=2000, limit=TOKENS)
    chars_max: int = field(default=8000, limit=Within(1, CHARS_MAX))
    wait_ms: int = field(default=1000, limit=Within(0, WAIT_MS_MAX))


class SessionNote(Message, answer="Noted"):
    """Note something in a session that is no memory of its own."""

    text: str = field(limit=Text(NOTE_CHARS_MAX))
    session: str | None = field(
        default=None,
        limit=ID,
        help="for note: a session other than the current one",
        option="--session ID",
    )


class SessionEnd(Message, answer="Ended"):
    """End a session: the one named, else the one of who asks."""

    session: str | None = field(default=None, limit=ID)
    name: str = field(default="", limit=_NAME)


class Sessions(Message, answer="Sessions"):
    """List the sessions, or those that a question finds; or one with its receipt."""

    id: str | None = field(default=None, limit=ID, tool="")
    query: str | None = field(default=None, limit=Text(QUERY_CHARS_MAX), tool="words in it")
    limit: int = field(
        default=20,
        limit=_LIMIT,
        help="at most so many sessions (default: {default})",
        option="--limit N",
    )

    def validate(self) -> None:
        """Raise ValueError when both a session and a question are given."""
        if self.id is not None and self.query is not None:
            raise ValueError("id and query cannot both be given")


class Handoff(Message, answer="Handoff"):
    """Ask for a prompt for whoever goes on."""

    session: str | None = field(
        default=None,
        limit=ID,
        help="from this session (default: the last one here)",
        option="--session ID",
    )
    tokens_max: int = field(
        default=2000,
        limit=TOKENS,
        help="at most so many tokens (default: {default})",
        option="--tokens N",
    )


class SessionNews(Message, answer="News"):
    """Ask what is new since this session last asked."""

    name: str = field(default="", limit=_NAME)
    tokens_max: int = field(default=400, limit=TOKENS)


class SessionTouched(Message, answer="Blast"):
    """Say which files an agent touched; hear what rests on them."""

    paths: tuple[str, ...] = field(limit=Each(PATHS_MAX, PATH))
    name: str = field(default="", limit=_NAME)
    tokens_max: int = field(default=200, limit=TOKENS)


class Tasks(Message, answer="Tasks"):
    """List the tasks in some states."""

    states: tuple[str, ...] = field(
        default=UNFINISHED,
        limit=Each(len(STATES), OneOf(STATES), "state"),
        help="only tasks in this state; may be repeated",
        option="--state",
    )
    limit: int = field(default=50, limit=_LIMIT)
    all_branches: bool = field(
        default=False,
        help="also tasks from branches that are not merged here",
        option="--all-branches",
    )


class TaskUpdate(Message, answer="Task"):
    """Change a task; without an id, add one. The text is judged where it is kept."""

    id: str | None = field(default=None, limit=ID, tool="none: a new task")
    text: str | None = field(default=None, tool="")
    state: str | None = field(default=None, limit=OneOf(STATES), tool="open, doing, done, dropped")
    priority: str | None = field(
        default=None,
        limit=OneOf(PRIORITIES),
        help="how urgent it is (default: normal)",
        option="--priority",
        tool="urgent, high, normal, low",
    )
    session: str | None = field(default=None, limit=ID)


class Skills(Message, answer="Skills"):
    """List the skills, or show one."""

    name: str | None = field(default=None, limit=Text(SESSION_NAME_CHARS_MAX))


class SkillAdd(Message, answer="Skill"):
    """Keep a skill under its name; `description` says when to use it."""

    name: str = field(limit=Form(_skill_name))
    description: str = field(limit=Text(DESCRIPTION_CHARS_MAX))
    body: str = field(limit=Text(TEXT_CHARS_MAX - DESCRIPTION_CHARS_MAX - 2))
    session: str | None = field(default=None, limit=ID)
