"""Edges: how one node relates to another, from when until when."""

import re
from dataclasses import dataclass
from datetime import datetime

ACYCLIC = frozenset({"caused_by", "led_to", "supersedes", "learned_in", "part_of"})
"""Kinds that must stay acyclic. Order in time is a column, never an edge."""

_KIND_FORM = re.compile(r"[a-z][a-z0-9_]{0,31}")


def canonical_kind(kind: str) -> str:
    """Return `kind` in its stored form: lower case, words separated by '_'.

    Raises:
        ValueError: what is left does not look like `[a-z][a-z0-9_]{0,31}`.
    """
    canonical = re.sub(r"[\s_.-]+", "_", kind.strip().lower()).strip("_")
    if not _KIND_FORM.fullmatch(canonical):
        raise ValueError(
            f"a kind of edge is a word of 1 to 32 letters, digits and '_', got {kind!r}"
        )
    return canonical


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
