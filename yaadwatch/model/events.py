"""The closed list of events in the log of a store, and parsing and formatting of times.

Times are written as RFC 3339, or as a day.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

NODE_CREATED: Final = "node.created"
NODE_UPDATED: Final = "node.updated"
NODE_ARCHIVED: Final = "node.archived"
NODE_RESTORED: Final = "node.restored"
NODE_ERASED: Final = "node.erased"
EDGE_CREATED: Final = "edge.created"
EDGE_CLOSED: Final = "edge.closed"
STALE_RAISED: Final = "stale.raised"
STALE_CLEARED: Final = "stale.cleared"
AGENT_FILE_EDITED: Final = "agent_file.edited"
AGENT_FILE_SYNCED: Final = "agent_file.synced"
AGENT_FILE_PAUSED: Final = "agent_file.paused"
HEAD_MOVED: Final = "head.moved"
SESSION_STARTED: Final = "session.started"
SESSION_ENDED: Final = "session.ended"
CONTRADICTION_RESOLVED: Final = "contradiction.resolved"
GAP_APPROVED: Final = "gap.approved"
JOB_RAN: Final = "job.ran"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `seq` is 0 until the store has numbered it; `body` is JSON-able."""

    kind: str
    at: datetime
    subject: str
    body: dict[str, object] = field(default_factory=dict)
    seq: int = 0


def instant(name: str, text: str) -> datetime:
    """Return the instant that `text` names, in UTC, in whole milliseconds, as stores keep it.

    A time without a zone is UTC.

    Args:
        name: what the text is called, for the message.
        text: such as 2026-11-21T09:30:00Z, or a day: its beginning.

    Raises:
        ValueError: it is no time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        return found.replace(microsecond=found.microsecond // 1000 * 1000)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a time such as 2026-11-21T09:30:00Z, or a day, got {text!r}"
        ) from None


def time_text(at: datetime) -> str:
    """Format a time for answers and hints: UTC, with milliseconds and a Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_day(text: str) -> bool:
    """Return whether `text`, of which `instant` makes a time, names a day and no time of it."""
    return not {"T", "t", ":", " "} & set(text.strip())
