"""What a store holds of memories that get other words, read for all of them at once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from yaadwatch.model.edges import Edge
from yaadwatch.store import anchors, edges, nodes, provenance
from yaadwatch.store.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What stands of some living memories before they are changed.

    Args:
        nums: the numbers that the index knows them by.
        edges: see `edges.of_nodes`.
        anchored: those that rest on something.
        unsaid: those that a person's file said once, and does not say now.
    """

    nums: Mapping[str, int]
    edges: Mapping[str, Sequence[Edge]]
    anchored: Collection[str]
    unsaid: Collection[str]

    @classmethod
    def read(cls, conn: Connection, ids: Collection[str]) -> Self:
        """Return what stands of the memories `ids` inside a transaction."""
        rests_on = anchors.of_nodes(conn, ids)
        return cls(
            nums=nodes.nums(conn, ids),
            edges=edges.of_nodes(conn, ids),
            anchored=frozenset(node for node, there in rests_on.items() if there),
            unsaid=frozenset(provenance.unsaid(conn, ids)),
        )
