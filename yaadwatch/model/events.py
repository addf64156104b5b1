"""Events: the closed list of what can happen, as it stands in the log of a store."""

from dataclasses import dataclass, field
from datetime import datetime
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

EVENTS: Final = (
    NODE_CREATED,
    NODE_UPDATED,
    NODE_ARCHIVED,
    NODE_RESTORED,
    NODE_ERASED,
    EDGE_CREATED,
    EDGE_CLOSED,
    SESSION_ENDED,
    CONTRADICTION_RESOLVED,
    GAP_APPROVED,
    STALE_RAISED,
    STALE_CLEARED,
    AGENT_FILE_EDITED,
    AGENT_FILE_SYNCED,
    AGENT_FILE_PAUSED,
    HEAD_MOVED,
    SESSION_STARTED,
    JOB_RAN,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened. `seq` is 0 until the store has numbered it; `body` is JSON-able."""

    kind: str
    at: datetime
    subject: str
    body: dict[str, object] = field(default_factory=dict)
    seq: int = 0
