"""What does a memory contradict that was just stored, and which stands in the place of which?

It is told in the answer, and nothing else. What it contradicts is what `contradictions`
lists, seen from one memory: the same query, kept to what that claims.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from yaadwatch.engine import json_views, succession
from yaadwatch.engine.store_lookup import Shelf
from yaadwatch.engine.truth import contradictions
from yaadwatch.engine.truth.contradictions import Contradiction, Side
from yaadwatch.engine.workspace import Home
from yaadwatch.store.connection import Connection

AGAINST_MAX: Final = 5
"""Memories that are told for each value, at most."""


def told(home: Home, shelf: Shelf, node: str) -> dict[str, object]:
    """Return the part of an answer that says what a memory contradicts, what stands in its place,
    and in whose place it stands; none if that is nothing.

    Args:
        home: what may be reached.
        shelf: the store that the memory is in.
        node: its id.
    """
    found = contradictions.of_memory(home, shelf, node, home.clock.now())
    against = {"contradicts": shelf.db.read(_rows, found, node)} if found else {}
    return against | succession.told_of_both(home, shelf, node)


def _rows(
    conn: Connection, found: Sequence[Contradiction], node: str
) -> list[Mapping[str, object]]:
    return [_row(conn, one, node) for one in found]


def _row(conn: Connection, one: Contradiction, node: str) -> Mapping[str, object]:
    mine = [side for side in one.sides if side.node.id == node]
    others = _against(one, mine)
    more = len(others) - AGAINST_MAX
    first = mine[0].claim
    return {
        "id": one.name,
        "words": one.words,
        "subject": first.subject,
        "attribute": first.attribute,
        "place": first.place or None,
        "value": first.value,
        "against": json_views.attributed(conn, [_side(side) for side in others[:AGAINST_MAX]]),
        "more": more if more > 0 else None,
        "settle": f"yaadwatch resolve {one.name} --keep MEMORY, --both or --none",
    }


def _side(side: Side) -> Mapping[str, object]:
    return {"id": side.node.id, "value": side.claim.value, "text": side.node.summary}


def _against(one: Contradiction, mine: Sequence[Side]) -> Sequence[Side]:
    """Return the sides with values that cannot be right where these are."""
    numbers = {side.claim.id for side in mine}
    torn = {
        number
        for clash in one.clashes
        if clash.claim in numbers or clash.other in numbers
        for number in (clash.claim, clash.other)
    }
    return [side for side in one.sides if side.claim.id in torn - numbers]
