"""Agent files as they are known: how one takes part, how it is, and the copies kept of it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from yaadwatch.model.limits import INLINE, MODES, PRIVATE, READ

__all__ = ("INLINE", "MODES", "PRIVATE", "READ")
"""Defined in `limits`, which imports nothing; the other names here are public, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreed:
    """One rule of a block as it was agreed; each side in its own words.

    Both sides may agree that only one of them has the rule: git brings a block as its branch has
    it.

    Args:
        position: its place among the rules of the block, from 0; rules without a line come last.
        node: the memory it stands for.
        graph: the memory's text then, masked; '' when it was no rule.
        file: keyed hash of the line then: a secret may stand in it; '' when there was no line.
    """

    position: int
    node: str
    graph: str
    file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """What a block of one file said when both sides last agreed; `digest` is of its text."""

    digest: str
    items: tuple[Agreed, ...]


SYNCED: Final = "synced"
PENDING: Final = "pending"
PAUSED: Final = "paused"
ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFileRow:
    """What is known of an agent file; hashes are keyed, `digest` '' means never agreed on.

    `adopted` is the committed version of a tracked file in which a person asked for a block; ''
    for none. `logged`: the bytes of git's log of HEAD when both sides last agreed. `personal`:
    whether git does not share the file.
    """

    worktree: int
    path: str
    mode: str
    state: str
    reason: str = ""
    digest: str = ""
    block: str = ""
    head: str = ""
    branch: str = ""
    written: tuple[datetime, ...] = ()
    adopted: str = ""
    logged: int = 0
    personal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A copy of a person's file before a write of ours; its bytes are in the file `name`."""

    id: int
    worktree: int
    path: str
    name: str
    size: int
    digest: str
    at: datetime
