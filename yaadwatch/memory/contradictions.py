"""Find memories that cannot both be true, and record decisions about them.

Contradictions are only reported: nothing is hidden or ranked lower. An open contradiction is not
stored but computed from the current claims, so it disappears with its cause; only decisions are
stored.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from yaadwatch.api.messages.graph import Contradictions
from yaadwatch.db import authority, claims, nodes
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory import changes, claiming, views
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import LINK, VALUES, Claimed, Clash, Node, Resolution, Stated
from yaadwatch.model.projects import Authority, of_origin
from yaadwatch.model.settings import (
    CLASHES_MAX,
    CONTRADICTIONS_MAX,
)
from yaadwatch.text.quoting import as_name, quoted
from yaadwatch.workspace.lookup import Shelf, Shelves, shelves
from yaadwatch.workspace.workspace import PERSON, Call, Home

NAMED_MAX: Final = 8
"""Most values, and memories per value, named in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A memory of a contradiction with its claims; `at`: when it was last confirmed."""

    claim: Claimed
    node: Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Claims that cannot all be true: `name` identifies it, `words` describes it in a line.

    `against`: the memory with newer evidence, if any; `at`: when the relation ended, or the time of
    the evidence.
    """

    name: str
    kind: str
    sides: tuple[Side, ...]
    words: str
    clashes: tuple[Clash, ...]
    against: Node | None = None
    at: datetime | None = None


def open_contradictions(
    db: Database, view: View | None, now: datetime, limit: int = CONTRADICTIONS_MAX
) -> list[Contradiction]:
    """Return at most `limit` contradictions of a store: two values first, then ended relations,
    then newer evidence.

    Args:
        db: the store.
        view: the point of view; see `visibility`.
        now: what holds is what holds then.
        limit: how many at most.
    """

    def look(conn: Connection) -> list[Contradiction]:
        found = [
            *_values(conn, now, CLASHES_MAX),
            *claims.contradiction_links(conn, now=now, limit=CONTRADICTIONS_MAX),
            *claims.contradiction_evidence(
                conn, now=now, after=timedelta(days=30), limit=CONTRADICTIONS_MAX
            ),
        ]
        return _grouped(conn, found)

    return db.read(seen_from, view, look)[:limit]


def of_memory(
    home: Home, shelf: Shelf, node: str, now: datetime, *, clashes_max: int = CLASHES_MAX
) -> list[Contradiction]:
    """Return the contradictions of values that a memory claims, as the current work tree sees them.

    Each has at most `clashes_max` pairs of claims.
    """

    def look(conn: Connection) -> list[Contradiction]:
        return _grouped(conn, _values(conn, now, clashes_max, node=node))

    return shelf.db.read(seen_from, view_of(home, shelf), look)


def others_of(conn: Connection, ids: Sequence[str], now: datetime) -> dict[str, list[str]]:
    """Return the memories that claim other values than each of these, by its id; [] is left out."""
    found: dict[str, list[str]] = {}
    for node in claims.claimants(conn, ids):
        pairs = [{clash.claim, clash.other} for clash in _values(conn, now, CLASHES_MAX, node=node)]
        known = claims.many(conn, set().union(*pairs))
        others = {known[one].node for pair in pairs for one in pair} - {node}
        if others:
            found[node] = sorted(others)
    return found


def stores(both: Shelves) -> list[Shelf]:
    """Return the stores that may have contradictions: the project's and the user's."""
    return [shelf for shelf in (both.project, both.own) if shelf is not None]


def contradictions(home: Home, call: Call, ask: Contradictions) -> dict[str, object]:
    """Return the open contradictions here, and with `settled` the decisions too.

    The answer is Contradictions.

    Raises:
        YaadError: from the store.
    """
    now = home.clock.now()
    rows: list[dict[str, object]] = []
    decided: list[dict[str, object]] = []
    with shelves(home, call) as both:
        for shelf in stores(both):
            found = open_contradictions(shelf.db, view_of(home, shelf), now)
            ids = {side.node.id for one in found for side in one.sides}
            ids |= {one.against.id for one in found if one.against is not None}
            whose = shelf.db.read(authority.of_nodes, ids)
            rows += [_row(one, whose) for one in found]
            if ask.settled:
                decided += shelf.db.read(_decided)
    return {"contradictions": rows, "settled": decided}


def _decided(conn: Connection) -> list[dict[str, object]]:
    """Return the decisions; each pair of claims has a row, and one decision covers several."""
    groups: dict[tuple[str, datetime], list[Resolution]] = {}
    for one in claims.decided_contradictions(conn, CONTRADICTIONS_MAX):
        groups.setdefault((one.name, one.at), []).append(one)
    numbers = [
        [number for one in group for number in (one.claim, one.other) if number]
        for group in groups.values()
    ]
    known = claims.many(conn, {number for group in numbers for number in group})
    is_strange = _strange(conn, known)
    return [
        _settled_row(group[-1], [known[number] for number in sorted(set(about))], is_strange)
        for group, about in zip(groups.values(), numbers, strict=True)
    ]


def _values(conn: Connection, now: datetime, limit: int, *, node: str | None = None) -> list[Clash]:
    """Return pairs of claims with two values for one thing, at most `limit` per thing.

    With `node`, only things with a pair of this memory, its pairs first.
    """
    torn = claims.conflicting(conn, now=now, node=node)
    if not torn:
        return []
    both = claims.both_right(conn, {one.claim for sides in torn.values() for one in sides})

    def are_both_right(one: Stated, other: Stated) -> bool:
        return (min(one.claim, other.claim), max(one.claim, other.claim)) in both

    found: list[tuple[int, int]] = []
    things = 0
    for thing, sides in torn.items():
        pairs = claiming.pairs(thing.attribute, sides, are_both_right, limit=limit, of=node or "")
        found += pairs
        things += bool(pairs)
        if things >= CONTRADICTIONS_MAX:
            break
    return [Clash(kind=VALUES, claim=one, other=other) for one, other in sorted(found)]


def _grouped(conn: Connection, clashes: Sequence[Clash]) -> list[Contradiction]:
    """Return the contradictions, each subject once."""
    if not clashes:
        return []
    numbers = {one.claim for one in clashes} | {one.other for one in clashes if one.other}
    known = claims.many(conn, numbers)
    memories = nodes.many(
        conn, {one.node for one in known.values()} | {one.against for one in clashes if one.against}
    )
    groups: dict[tuple[object, ...], list[Clash]] = {}
    for one in clashes:
        claim = known[one.claim]
        about = (claim.subject, claim.attribute, claim.place) if one.kind == VALUES else (claim.id,)
        groups.setdefault((one.kind, *about), []).append(one)
    is_strange = _strange(conn, known)
    found = []
    for key, group in groups.items():
        numbers = {number for one in group for number in (one.claim, one.other) if number}
        sides = tuple(
            Side(claim=known[number], node=memories[known[number].node])
            for number in sorted(numbers)
        )
        first = group[0]
        against = memories.get(first.against)
        found.append(
            Contradiction(
                name=hashlib.sha256("\0".join(map(str, key)).encode()).hexdigest()[:8],
                kind=first.kind,
                sides=sides,
                words=_words(first, sides, against, is_strange),
                clashes=tuple(group),
                against=against,
                at=first.at,
            )
        )
    return found


def _strange(conn: Connection, known: Mapping[int, Claimed]) -> Callable[[Claimed], bool]:
    """Return a test for claims that are no person's, by memory or by author."""
    persons = authority.approved(conn, {one.node for one in known.values()})

    def is_strange(claim: Claimed) -> bool:
        return claim.node not in persons or claim.source not in (claims.TEXT, PERSON)

    return is_strange


def _words(
    clash: Clash,
    sides: Sequence[Side],
    against: Node | None,
    is_strange: Callable[[Claimed], bool],
) -> str:
    """Return a contradiction in a line: "api port: 8080 (5c01f2e4) or 9090 (77aa01bc)"."""
    said = _claimed([side.claim for side in sides], is_strange)
    if clash.kind == VALUES or clash.at is None:
        return said
    when = f"{clash.at:%Y-%m-%d}"
    if clash.kind == LINK:
        return f"{said} rests on a relation that ended on {when}"
    what = "its evidence"
    if against is not None:
        what = f"memory {short_id(against.id)}"
    elif sides[0].claim.evidence:
        what = as_name(sides[0].claim.evidence)
    return (
        f"{said} was last confirmed on {sides[0].node.confirmed_at:%Y-%m-%d}, and {what} is newer, "
        f"of {when}"
    )


def _claimed(found: Sequence[Claimed], is_strange: Callable[[Claimed], bool]) -> str:
    """Return the values claimed for one thing in a line, each once with its memories.

    The text of a claim for which `is_strange` holds is quoted, because no person wrote it.
    """
    first = found[0]
    name = f"{first.subject} {first.attribute}"
    if any(map(is_strange, found)):
        name = quoted(name)
    name += f" in {first.place}/" if first.place else ""
    values: dict[str, list[str]] = {}
    for one in found:
        value = quoted(one.value) if is_strange(one) else one.value
        values.setdefault(value, []).append(short_id(one.node))
    said = [f"{value} ({_listed(ids, ', ')})" for value, ids in values.items()]
    return f"{name}: {_listed(said, ' or ')}"


def _listed(said: Sequence[str], between: str) -> str:
    """Return the first few texts joined, and the number of further ones."""
    more = len(said) - NAMED_MAX
    return between.join([*said[:NAMED_MAX], *([f"{more} more"] if more > 0 else [])])


def _row(one: Contradiction, whose: Mapping[str, Authority]) -> dict[str, object]:
    first = one.sides[0].claim
    against = one.against
    return {
        "id": one.name,
        "kind": one.kind,
        "words": one.words,
        "subject": first.subject,
        "attribute": first.attribute,
        "place": first.place or None,
        "sides": [
            {
                "claim": side.claim.id,
                "node": side.node.id,
                "value": side.claim.value,
                "text": side.node.text,
                "source": side.claim.source,
                "evidence": side.claim.evidence or None,
                "confirmed_at": side.node.confirmed_at,
                **views.by_row(whose.get(side.node.id)),
            }
            for side in one.sides
        ],
        "against": {
            "node": against.id,
            "text": against.text,
            **views.by_row(whose.get(against.id)),
        }
        if against is not None
        else None,
        "at": one.at,
    }


def _settled_row(
    one: Resolution, about: Sequence[Claimed], is_strange: Callable[[Claimed], bool]
) -> dict[str, object]:
    return {
        "id": one.name,
        "kind": one.kind,
        "words": _claimed(about, is_strange),
        "decision": one.decision,
        "kept": one.kept,
        "by": of_origin(one.actor, one.at).by,
        "reason": one.reason or None,
        "at": one.at,
    }


AGAINST_MAX: Final = 5
"""Most memories returned per value."""


def contradicts_row(home: Home, shelf: Shelf, node: str) -> dict[str, object]:
    """Return the part of an answer with what a memory contradicts, supersedes and is superseded by;
    empty if nothing.

    Args:
        home: the workspace.
        shelf: the store that the memory is in.
        node: its id.
    """
    found = of_memory(home, shelf, node, home.clock.now())
    against = {"contradicts": shelf.db.read(_rows, found, node)} if found else {}
    return against | changes.superseded_by(home, shelf, node, both_ways=True)


def _rows(conn: Connection, found: Sequence[Contradiction], node: str) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for one in found:
        mine = {side.claim.id: side.claim for side in one.sides if side.node.id == node}
        pairs = [{clash.claim, clash.other} for clash in one.clashes]
        torn = {number for pair in pairs if pair & mine.keys() for number in pair} - mine.keys()
        others = [
            {"id": side.node.id, "value": side.claim.value, "text": side.node.summary}
            for side in one.sides
            if side.claim.id in torn
        ]
        first = next(iter(mine.values()))
        rows.append(
            {
                "id": one.name,
                "words": one.words,
                "subject": first.subject,
                "attribute": first.attribute,
                "place": first.place or None,
                "value": first.value,
                "against": views.attributed(conn, others[:AGAINST_MAX]),
                "more": max(len(others) - AGAINST_MAX, 0) or None,
                "settle": f"yaadwatch resolve {one.name} --keep MEMORY, --both or --none",
            }
        )
    return rows
