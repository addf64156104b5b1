"""How a question may be asked: what is searched, how findings are merged, what is left out."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from yaadwatch.model.limits import (
    AUTO,
    BLEND,
    BM25,
    DEPTHS,
    FULL,
    HYBRID,
    MERGES,
    RRF,
    SECTION,
    SET_UNION,
    STRATEGIES,
    SUMMARY,
)

__all__ = (
    "AUTO",
    "BLEND",
    "BM25",
    "DEPTHS",
    "FULL",
    "HYBRID",
    "MERGES",
    "RRF",
    "SECTION",
    "SET_UNION",
    "STRATEGIES",
    "SUMMARY",
)
"""Defined in `limits`, which imports nothing; the other names here are public, too."""

State = Literal["active", "filling", "kept"]
"""`active`: questions are answered with its vectors. `filling`: they are being made, and it takes
over when all are there. `kept`: it was active, and one can go back to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model that was enabled.

    Args:
        space: names what its vectors can be compared with; two models may share one.
        name: what a person enabled: a known name, or the folder it is in.
        dimensions: of its vectors, 8 to 1024.
        state: see `State`.
        enabled_at: when it was enabled.
        active_at: when it was last made active; None: never.
    """

    space: str
    name: str
    dimensions: int
    state: State
    enabled_at: datetime
    active_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unembedded:
    """A living memory without a vector; `num` is what the indexes know it by."""

    num: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a question is about; what is None or empty leaves nothing out.

    Args:
        kinds: one of these.
        scope: 'user' or 'project'.
        path: what rests on, or is said in, this file or something below this folder; from the top
            of the work tree, without a '/' at either end.
        tags: all of these.
        agent: what this agent remembered.
        session: what was remembered in this session.
        at: what existed at this time and was not superseded then, found by its words of today.
    """

    kinds: tuple[str, ...] = ()
    scope: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    at: datetime | None = None


EVERYTHING: Final = Filter()
