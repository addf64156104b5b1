"""How sure are these memories still? The facts of the graph, brought to the rule of decay."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from yaadwatch.core.truth import decay
from yaadwatch.model.settings import Settings
from yaadwatch.store import edges, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession


class Ageing(Protocol):
    """What the age of a memory is told by; a node has it."""

    @property
    def id(self) -> str:
        """Return its id."""

    @property
    def kind(self) -> str:
        """Return its kind."""

    @property
    def confidence(self) -> float:
        """Return how sure it was, 0.0 to 1.0."""

    @property
    def confirmed_at(self) -> datetime:
        """Return since when it ages."""

    @property
    def accessed_at(self) -> datetime | None:
        """Return when it was recalled last."""

    @property
    def pinned(self) -> bool:
        """Return whether it does not age."""


def confidences(
    conn: Connection, memories: Sequence[Ageing], settings: Settings, now: datetime
) -> dict[str, float]:
    """Return what is left of each memory's confidence at `now`, by id, from 0.0 to 1.0."""
    ids = [node.id for node in memories]
    degrees = edges.degrees(conn, ids)
    superseded = supersession.successors(conn, ids)
    said = provenance.said(conn, ids)
    return {
        node.id: decay.confidence(
            node.confidence,
            node.confirmed_at,
            now,
            half_life=settings.memory.half_life(node.kind),
            facts=decay.Facts(
                orphan=not degrees.get(node.id, 0),
                superseded=node.id in superseded,
                pinned=node.pinned,
                said=node.id in said,
            ),
            accessed_at=node.accessed_at,
        )
        for node in memories
    }
