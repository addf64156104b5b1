"""Embeddings: a text as a vector, and the models that make them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

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
