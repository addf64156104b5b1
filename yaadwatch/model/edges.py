"""Edges: how one node relates to another, from when until when."""

from dataclasses import dataclass
from datetime import datetime

ACYCLIC = frozenset({"caused_by", "led_to", "supersedes", "learned_in", "part_of"})
"""Kinds that must stay acyclic. Order in time is a column, never an edge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """`from_node` relates to `to_node`, in the half-open interval [valid_from, valid_until)."""

    from_node: str
    to_node: str
    kind: str
    created_at: datetime
    valid_from: datetime
    weight: float = 1.0
    valid_until: datetime | None = None
