"""Name the memories that a statement may replace or repeat, as part of the answer."""

from collections.abc import Mapping, Sequence
from typing import Final

from yaadwatch.core.recall.brief import said_where
from yaadwatch.engine import json_views
from yaadwatch.engine.doubts.overlapping import Overlap
from yaadwatch.engine.doubts.places import Said, said_in
from yaadwatch.engine.remember.drafts import Admitted
from yaadwatch.engine.store_lookup import Shelf
from yaadwatch.engine.workspace import AGENT, Call
from yaadwatch.model.authority import Authority
from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.model.ids import called
from yaadwatch.store import hot
from yaadwatch.store.truth import authority

OFFERS_MAX: Final = 3
"""Flagged memories, and alike ones, that one answer names."""


def offers(shelf: Shelf, call: Call, admitted: Admitted) -> dict[str, object]:
    """Return the part of an answer that names flagged and alike memories; mostly nothing.

    Args:
        shelf: the store of the statement.
        call: who states it.
        admitted: the statement.
    """
    if shelf.space is None or not (admitted.flagged or admitted.alike):
        return {}
    others = admitted.alike[:OFFERS_MAX]
    said_by = shelf.db.read(authority.of_nodes, [one.id for one in others])
    alike: dict[str, object] = {
        "alike": [
            {"id": one.id, "text": one.summary, **json_views.by_row(said_by.get(one.id))}
            for one in others
        ]
        or None
    }
    if not admitted.flagged:
        return alike
    shown = admitted.flagged[:OFFERS_MAX]
    ids = [one.node.id for one in shown]
    persons = shelf.db.read(hot.persons, [admitted.node.id, *ids])
    whose = shelf.db.read(authority.of_nodes, ids)
    places = shelf.db.read(said_in, shelf.space.worktree.id, ids)
    return alike | {
        "flagged": [
            _row(
                one,
                admitted,
                call,
                is_persons=one.node.id in persons,
                whose=whose.get(one.node.id),
                places=places,
            )
            for one in shown
        ],
        "flagged_more": len(admitted.flagged) - len(shown) or None,
    }


def _row(
    one: Overlap,
    admitted: Admitted,
    call: Call,
    *,
    is_persons: bool,
    whose: Authority | None,
    places: Mapping[str, Sequence[Said]],
) -> dict[str, object]:
    said = places.get(one.node.id, ())
    where = said_where(said)
    link = f"yaadwatch link {called(admitted.node.id)} {SUPERSEDES} {called(one.node.id)}"
    is_agents = call.origin.startswith(AGENT)
    row: dict[str, object] = {
        "id": one.node.id,
        "text": one.node.summary,
        "verdict": one.flag.verdict.value,
        "reason": one.flag.reason,
        "on": one.on,
        "replace": f"edit the line {where}" if where else link,
        "replaced_by": "person" if is_agents and is_persons else "you",
        **json_views.by_row(whose),
    }
    return row | ({"said_in": [place._asdict() for place in said]} if said else {})
