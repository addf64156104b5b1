"""What memories claim: told, given by a caller, and ended."""

from datetime import datetime

from yaadwatch.api.messages.truth import AddClaim, Claims, EndClaim
from yaadwatch.core import privacy
from yaadwatch.core.truth.claiming import statements as claiming
from yaadwatch.engine import json_views, succession
from yaadwatch.engine.store_lookup import Shelf, shelves
from yaadwatch.engine.truth import contradicting
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.claims import Claimed
from yaadwatch.model.edges import Edge
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.settings import CLAIMS_TOLD_MAX
from yaadwatch.model.times import instant
from yaadwatch.store import edges, nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import claims as table
from yaadwatch.store.visibility import seen_from


def claims(home: Home, call: Call, ask: Claims) -> dict[str, object]:
    """Return what is claimed, by subject; the answer is Claims.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when `id` does not name exactly one.
    """
    now = home.clock.now()
    about = claiming.subject_of(ask.subject) if ask.subject is not None else None
    rows: list[dict[str, object]] = []
    with shelves(home, call) as both:
        held = both.find(ask.id) if ask.id is not None else None
        wanted = [held.shelf] if held is not None else _both(both.project, both.own)
        for shelf in wanted:
            found = shelf.db.read(
                seen_from,
                view_of(home, shelf),
                table.found,
                node=held.id if held is not None else None,
                subject=about,
                ended=ask.all,
                now=now,
                limit=CLAIMS_TOLD_MAX + 1,
            )
            gone = succession.here(home, shelf, {one.node for one in found})
            told = [
                claim_row(one, now) | ({"holds": False} if one.node in gone else {})
                for one in found
            ]
            rows += shelf.db.read(json_views.attributed, told, key="node")
    return {"claims": rows[:CLAIMS_TOLD_MAX], "more": len(rows) > CLAIMS_TOLD_MAX}


def add_claim(home: Home, call: Call, ask: AddClaim) -> dict[str, object]:
    """Say what a memory claims; the answer is Claim.

    What it claimed of the same subject and attribute ends now.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name exactly one; REFUSED
            when it is archived; NOT_FOUND when the memory has no such relation.
    """
    words = [privacy.kept(one) for one in (ask.subject, ask.attribute, ask.value, ask.evidence)]
    masked = sorted({kind for one in words for kind in one.kinds})
    try:
        given = claiming.given(
            subject=words[0].text,
            attribute=words[1].text,
            value=words[2].text,
            evidence=" ".join(words[3].text.split()),
        )
    except ValueError as error:
        raise YaadError(Code.BAD_REQUEST, f"{error}; nothing was stored.") from error
    at = instant("evidence_at", ask.evidence_at) if ask.evidence_at is not None else None
    if at is not None and at > home.clock.now():
        raise YaadError(
            Code.BAD_REQUEST,
            f"evidence_at is {ask.evidence_at}, which is still to come; nothing was stored.",
            hint="Name a day or a time that has been.",
        )
    now = home.clock.now()

    def commit(conn: Connection) -> Claimed:
        node = nodes.get(conn, held.id)
        if node is None or node.archived_at is not None:
            raise YaadError(
                Code.REFUSED,
                f"Memory {called(held.id)} is archived; what it claims does not count.",
                hint=f"Bring it back first: yaadwatch restore {called(held.id)}",
            )
        bound = _edge(conn, held.id, ask.edge) if ask.edge is not None else None
        former = [
            one
            for one in table.of_node(conn, held.id)
            if (one.subject, one.attribute) == (given.subject, given.attribute) and _holds(one, now)
        ]
        table.end(conn, [one.id for one in former], now)
        number = table.insert(
            conn,
            Claimed(
                node=held.id,
                subject=given.subject,
                attribute=given.attribute,
                value=given.value,
                sense=given.sense,
                place=claiming.holds_in(node),
                source=call.origin,
                evidence=given.evidence,
                evidence_at=at,
                edge=bound.id if bound is not None else None,
                supersedes=former[-1].id if former else None,
                valid_from=now,
            ),
        )
        return table.many(conn, [number])[number]

    with shelves(home, call) as both:
        held = both.find(ask.id)
        done = held.db.write(commit)
        against = contradicting.told(home, held.shelf, held.id)
        row = held.db.read(json_views.attributed, [claim_row(done, now)], key="node")[0]
    return (
        row
        | against
        | {
            "masked": masked,
            "undo": f"yaadwatch claims end {done.id}",
        }
    )


def end_claim(home: Home, call: Call, ask: EndClaim) -> dict[str, object]:
    """Say that a claim no longer holds; the answer is Claim.

    Raises:
        YaadError: NOT_FOUND when there is no such claim.
    """
    now = home.clock.now()

    def commit(conn: Connection) -> Claimed | None:
        table.end(conn, [ask.claim], now)
        return table.many(conn, [ask.claim]).get(ask.claim)

    with shelves(home, call) as both:
        for shelf in _both(both.project, both.own):
            if ask.claim in shelf.db.read(table.many, [ask.claim]):
                done = shelf.db.write(commit)
                if done is not None:
                    row = claim_row(done, now)
                    return shelf.db.read(json_views.attributed, [row], key="node")[0]
    raise YaadError(
        Code.NOT_FOUND,
        f"There is no claim {ask.claim} here; nothing was ended.",
        hint="Their numbers: yaadwatch claims --all",
    )


def claim_row(claim: Claimed, now: datetime) -> dict[str, object]:
    """Return the JSON of a claim."""
    return {
        "claim": claim.id,
        "node": claim.node,
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "place": claim.place or None,
        "source": claim.source,
        "evidence": claim.evidence or None,
        "evidence_at": claim.evidence_at,
        "edge": claim.edge,
        "supersedes": claim.supersedes,
        "since": claim.valid_from,
        "until": claim.valid_until,
        "holds": _holds(claim, now),
    }


def _holds(claim: Claimed, now: datetime) -> bool:
    return claim.valid_from <= now and (claim.valid_until is None or claim.valid_until > now)


def _edge(conn: Connection, node: str, number: int) -> Edge:
    """Return a relation of a memory by its number.

    Raises:
        YaadError: NOT_FOUND when it has none of that number.
    """
    found = edges.get(conn, number)
    if found is None or node not in (found.from_node, found.to_node):
        raise YaadError(
            Code.NOT_FOUND,
            f"Memory {called(node)} has no relation {number}; nothing was stored.",
            hint=f"Its relations with their numbers: yaadwatch show {called(node)} --view all",
        )
    return found


def _both(project: Shelf | None, own: Shelf) -> list[Shelf]:
    return [shelf for shelf in (project, own) if shelf is not None]
