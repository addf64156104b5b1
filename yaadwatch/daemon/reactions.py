"""REACTIONS: what happens by itself when an event is in the log of a project.

A reaction is done at least once, in the order of the events, so doing it again must change nothing.
"""

from dataclasses import dataclass
from typing import Final, Literal

from yaadwatch.model import events
from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.model.events import Event

Verb = Literal["check", "watch", "carry"]
"""`check`: look whether HEAD moved in that work tree. `watch`: other files may matter now, the
agent files may have to say something else, and a vector may be missing. `carry`: only what agent
files say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """When `event` is in the log, do `verb`.

    `of`: only when it is about an edge of this kind; about anything when it is None.
    """

    event: str
    verb: Verb
    of: str | None = None

    def is_to(self, event: Event) -> bool:
        """Return whether this is the reaction to `event`."""
        return event.kind == self.event and self.of in (None, event.body.get("kind"))


REACTIONS: Final = (
    # The check that found a moved HEAD wrote its verdicts in the same transaction. Looking again
    # finds the HEAD that moved on while it was looking.
    Reaction(event=events.HEAD_MOVED, verb="check"),
    Reaction(event=events.NODE_CREATED, verb="watch"),
    Reaction(event=events.NODE_UPDATED, verb="watch"),
    Reaction(event=events.NODE_ARCHIVED, verb="watch"),
    Reaction(event=events.NODE_RESTORED, verb="watch"),
    Reaction(event=events.NODE_ERASED, verb="watch"),
    # What stands in the place of a rule is told instead of it.
    Reaction(event=events.EDGE_CREATED, verb="carry", of=SUPERSEDES),
    Reaction(event=events.EDGE_CLOSED, verb="carry", of=SUPERSEDES),
    # The private carrier has the doubts beside the rules.
    Reaction(event=events.STALE_RAISED, verb="carry"),
    Reaction(event=events.STALE_CLEARED, verb="carry"),
)
