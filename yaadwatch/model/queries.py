"""Options of a search, and the input graph of `inject`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from yaadwatch.model.events import instant
from yaadwatch.model.limits import (
    ID_CHARS_MAX,
    TAGS_MAX,
)
from yaadwatch.model.memories import NOT_GIVEN, canonical_key, canonical_kind, canonical_relation

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
    """A live memory without a vector; `num` is its key in the indexes."""

    num: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a query is about; None or empty means no restriction.

    Args:
        kinds: one of these.
        scope: 'user' or 'project'.
        path: memories anchored or stated in this file, or below this folder; relative to the top of
            the work tree, without a '/' at either end.
        tags: all of these.
        agent: remembered by this agent.
        session: remembered in this session.
        at: live and not superseded at this time; found by the current words.
    """

    kinds: tuple[str, ...] = ()
    scope: str | None = None
    path: str | None = None
    tags: tuple[str, ...] = ()
    agent: str | None = None
    session: str | None = None
    at: datetime | None = None


EVERYTHING: Final = Filter()


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenNode:
    """A memory that keeps the id it is given; `created_at`: when it was, if not now.

    `key` is a slug, unique in the project; an attribute that is null is taken away.
    """

    id: str
    text: str
    kind: str | None = None
    tier: int | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    attributes: dict[str, object] | None = None
    pin: bool = False
    created_at: str | None = None

    def __post_init__(self) -> None:
        _id("id", self.id)
        kept_for = NOT_GIVEN.get(canonical_kind(self.kind)) if self.kind is not None else None
        if kept_for is not None:
            raise ValueError(f"the kind {self.kind} is kept for {kept_for}")
        if self.tier is not None and self.tier not in (1, 2, 3):
            raise ValueError(f"tier must be 1, 2 or 3, got {self.tier}")
        if len(self.tags) > TAGS_MAX:
            raise ValueError(f"there must be at most {TAGS_MAX} tags, got {len(self.tags)}")
        if self.key is not None:
            canonical_key(self.key)
        if self.created_at is not None:
            instant("created_at", self.created_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenEdge:
    """`from_` (on the wire: `from`) relates to `to`, from `valid_from` until `valid_until`."""

    from_: str
    kind: str
    to: str
    weight: float = 1.0
    attributes: dict[str, object] | None = None
    created_at: str | None = None
    valid_from: str | None = None
    valid_until: str | None = None

    def __post_init__(self) -> None:
        _id("from", self.from_)
        _id("to", self.to)
        canonical_relation(self.kind)
        if self.from_ == self.to:
            raise ValueError(f"from and to must be two different nodes, got {self.to!r} twice")
        if not 0.0 < self.weight <= 1.0:
            raise ValueError(f"weight must be above 0 and at most 1, got {self.weight:g}")
        begun = self.valid_from or self.created_at
        if begun is not None:
            instant("valid_from", begun)
        if self.created_at is not None:
            instant("created_at", self.created_at)
        if self.valid_until is not None:
            if begun is None:
                raise ValueError("an edge that has ended needs valid_from, or created_at, too")
            if instant("valid_until", self.valid_until) < instant("valid_from", begun):
                raise ValueError(f"valid_until must not be before {begun}, got {self.valid_until}")


def _id(name: str, given: str) -> None:
    if not 1 <= len(given) <= ID_CHARS_MAX or given != given.strip() or not given.isprintable():
        raise ValueError(
            f"{name} must be 1 to {ID_CHARS_MAX} characters that can be seen, without white space"
            f" around them, got {given[:ID_CHARS_MAX]!r}"
        )
