"""Tasks: the states one can be in, and what comes first."""

from typing import Final

OPEN: Final = "open"
DOING: Final = "doing"
DONE: Final = "done"
DROPPED: Final = "dropped"

STATES: Final = (OPEN, DOING, DONE, DROPPED)
UNFINISHED: Final = (OPEN, DOING)
"""The states in which a task is told of when work begins."""

NORMAL: Final = "normal"
PRIORITIES: Final = ("urgent", "high", NORMAL, "low")
"""What comes first, first."""


def check_state(given: str) -> None:
    """Raise ValueError unless a task can be in this state."""
    if given not in STATES:
        raise ValueError(f"state must be one of {', '.join(STATES)}, got {given!r}")


def check_priority(given: str) -> None:
    """Raise ValueError unless a task can have this priority."""
    if given not in PRIORITIES:
        raise ValueError(f"priority must be one of {', '.join(PRIORITIES)}, got {given!r}")
