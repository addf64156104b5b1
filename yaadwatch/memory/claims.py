"""List, add and end the claims of memories.

To settle a contradiction is to end the claims of the memory that was wrong.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from yaadwatch.api.messages.graph import AddClaim, Claims, EndClaim, Resolve
from yaadwatch.db import claims as db_claims
from yaadwatch.db import edges, fulltext, history, nodes
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory import changes, claiming, contradictions, views
from yaadwatch.memory.claiming import differ
from yaadwatch.memory.contradictions import (
    Contradiction,
    Side,
    of_memory,
    open_contradictions,
    stores,
)
from yaadwatch.memory.flags import said_places
from yaadwatch.memory.visibility import is_persons, view_of
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event, instant
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import (
    BOTH,
    EVIDENCE,
    HOT,
    KEPT,
    LINK,
    NONE,
    VALUES,
    Claimed,
    Edge,
    Node,
    Resolution,
)
from yaadwatch.model.settings import CLAIMS_TOLD_MAX
from yaadwatch.text import privacy
from yaadwatch.workspace.lookup import Shelf, Shelves, shelves
from yaadwatch.workspace.workspace import Call, Home, find_node


def claims(home: Home, call: Call, ask: Claims) -> dict[str, object]:
    """Return the claims, by subject; the answer is Claims.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when `id` does not name exactly one.
    """
    now = home.clock.now()
    about = claiming.as_noun(ask.subject) if ask.subject is not None else None
    rows: list[dict[str, object]] = []
    with shelves(home, call) as both:
        held = both.find(ask.id) if ask.id is not None else None
        wanted = [held.shelf] if held is not None else stores(both)
        for shelf in wanted:
            found = shelf.db.read(
                seen_from,
                view_of(home, shelf),
                db_claims.found,
                node=held.id if held is not None else None,
                subject=about,
                ended=ask.all,
                now=now,
                limit=CLAIMS_TOLD_MAX + 1,
            )
            gone = changes.here(home, shelf, {one.node for one in found})
            told = [
                claim_row(one, now) | ({"holds": False} if one.node in gone else {})
                for one in found
            ]
            rows += shelf.db.read(views.attributed, told, key="node")
    return {"claims": rows[:CLAIMS_TOLD_MAX], "more": len(rows) > CLAIMS_TOLD_MAX}


def add_claim(home: Home, call: Call, ask: AddClaim) -> dict[str, object]:
    """Add a claim to a memory; the answer is Claim.

    Its earlier claim of the same subject and attribute ends now.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT when `id` does not name exactly one; REFUSED
            when it is archived; NOT_FOUND when the memory has no such relation.
    """
    words = [privacy.kept(one) for one in (ask.subject, ask.attribute, ask.value, ask.evidence)]
    masked = sorted({kind for one in words for kind in one.kinds})
    try:
        given = claiming.given_claim(
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
                f"Memory {short_id(held.id)} is archived; what it claims does not count.",
                hint=f"Bring it back first: yaadwatch restore {short_id(held.id)}",
            )
        bound = _edge(conn, held.id, ask.edge) if ask.edge is not None else None
        former = [
            one
            for one in db_claims.of_node(conn, held.id)
            if (one.subject, one.attribute) == (given.subject, given.attribute) and _holds(one, now)
        ]
        db_claims.end(conn, [one.id for one in former], now)
        number = db_claims.insert(
            conn,
            replace(
                given,
                node=held.id,
                place=claiming.folder_of_claim(node),
                source=call.origin,
                evidence_at=at,
                edge=bound.id if bound is not None else None,
                supersedes=former[-1].id if former else None,
                valid_from=now,
            ),
        )
        return db_claims.many(conn, [number])[number]

    with shelves(home, call) as both:
        held = both.find(ask.id)
        done = held.db.write(commit)
        against = contradictions.contradicts_row(home, held.shelf, held.id)
        row = held.db.read(views.attributed, [claim_row(done, now)], key="node")[0]
    return (
        row
        | against
        | {
            "masked": masked,
            "undo": f"yaadwatch claims end {done.id}",
        }
    )


def end_claim(home: Home, call: Call, ask: EndClaim) -> dict[str, object]:
    """End a claim; the answer is Claim.

    Raises:
        YaadError: NOT_FOUND when there is no such claim.
    """
    now = home.clock.now()

    def commit(conn: Connection) -> Claimed:
        db_claims.end(conn, [ask.claim], now)
        return db_claims.many(conn, [ask.claim])[ask.claim]

    with shelves(home, call) as both:
        for shelf in stores(both):
            if ask.claim in shelf.db.read(db_claims.many, [ask.claim]):
                row = claim_row(shelf.db.write(commit), now)
                return shelf.db.read(views.attributed, [row], key="node")[0]
    raise YaadError(
        Code.NOT_FOUND,
        f"There is no claim {ask.claim} here; nothing was ended.",
        hint="Their numbers: yaadwatch claims --all",
    )


def claim_row(claim: Claimed, now: datetime) -> dict[str, object]:
    """Return the JSON of a claim."""
    given = {name: getattr(claim, name) for name in _AS_IT_IS}
    return given | {
        "claim": claim.id,
        "place": claim.place or None,
        "evidence": claim.evidence or None,
        "since": claim.valid_from,
        "until": claim.valid_until,
        "holds": _holds(claim, now),
    }


_AS_IT_IS: Final = (
    *("node", "subject", "attribute", "value", "source", "evidence_at", "edge", "supersedes"),
)


def _holds(claim: Claimed, now: datetime) -> bool:
    return claim.valid_from <= now and (claim.valid_until is None or claim.valid_until > now)


def _edge(conn: Connection, node: str, number: int) -> Edge:
    """Return a relation of a memory by number.

    Raises:
        YaadError: NOT_FOUND when it has no relation with that number.
    """
    found = edges.get(conn, number)
    if found is None or node not in (found.from_node, found.to_node):
        raise YaadError(
            Code.NOT_FOUND,
            f"Memory {short_id(node)} has no relation {number}; nothing was stored.",
            hint=f"Its relations with their numbers: yaadwatch show {short_id(node)} --view all",
        )
    return found


def resolve(home: Home, call: Call, ask: Resolve) -> dict[str, object]:
    """Settle a contradiction; the answer is Resolved.

    A memory with only losing claims is superseded by the memory that wins, and with `forget` it is
    archived; the losing claims of other memories end.

    Raises:
        YaadError: BAD_REQUEST unless exactly one of `keep`, `both` and `none` is given, or when
            `forget` has nothing to forget; NOT_FOUND when it is not open, or `keep` is no side
            of it; REFUSED when a person's own file states what shall be forgotten, or an agent
            would end a person's claim in favour of an agent's or an import's.
    """
    if (ask.keep is not None) + ask.both + ask.none != 1 or (ask.forget and ask.both):
        raise YaadError(
            Code.BAD_REQUEST,
            "A contradiction is settled by one of three: keep a memory, both, or none; nothing was "
            "changed.",
            hint="yaadwatch resolve ID --keep MEMORY, or --both, or --none",
        )
    now = home.clock.now()
    why = privacy.kept(ask.reason.strip()).text
    with shelves(home, call) as found:
        shelf, open_one = _named(home, found, ask.id, now)
        kept = _side(shelf.db, open_one, ask.keep) if ask.keep is not None else None
        decided = _Decision(
            kind=BOTH if ask.both else NONE if ask.none else KEPT,
            kept=kept,
            forget=ask.forget,
            reason=why,
            actor=call.origin,
            at=now,
            view=view_of(home, shelf),
        )
        done, losing = shelf.db.write(seen_from, decided.view, _settle, open_one, decided)
        return done | shelf.db.read(_still, shelf.worktree, losing, done)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Decision:
    """A decision; `kept` is the memory that is right, if any; `view` is the point of view."""

    kind: str
    kept: Node | None
    forget: bool
    reason: str
    actor: str
    at: datetime
    view: View | None


def _named(home: Home, both: Shelves, name: str, now: datetime) -> tuple[Shelf, Contradiction]:
    """Return the open contradiction named `name`, or starting with it, and its store.

    Raises:
        YaadError: NOT_FOUND, CONFLICT.
    """
    found = [
        (shelf, one)
        for shelf in stores(both)
        for one in open_contradictions(shelf.db, view_of(home, shelf), now)
        if one.name.startswith(name.lower())
    ]
    if not found:
        raise YaadError(
            Code.NOT_FOUND,
            f"No contradiction {name} is open here; nothing was changed.",
            hint="Those that are: yaadwatch contradictions",
        )
    if len(found) > 1:
        raise YaadError(
            Code.CONFLICT,
            f"{name} fits {len(found)} contradictions; nothing was changed.",
            hint="Give all of its eight characters.",
        )
    ((shelf, one),) = found
    if one.kind == VALUES:  # with all pairs of claims to settle, not only the first
        node = one.sides[0].node.id
        for whole in of_memory(home, shelf, node, now, clashes_max=20_000):
            one = whole if whole.name == one.name else one
    return shelf, one


def _side(db: Database, one: Contradiction, keep: str) -> Node:
    """Return the memory to keep, which must be a side of the contradiction.

    Raises:
        YaadError: NOT_FOUND when it is no side; as for `find_node`.
    """
    wanted = find_node(db, keep)
    for side in one.sides:
        if side.node.id == wanted:
            return side.node
    raise YaadError(
        Code.NOT_FOUND,
        f"Memory {short_id(wanted)} is no side of contradiction {one.name}; nothing was changed.",
        hint="Its sides: " + ", ".join(dict.fromkeys(short_id(side.node.id) for side in one.sides)),
    )


def _settle(
    conn: Connection, one: Contradiction, decided: _Decision
) -> tuple[dict[str, object], list[str]]:
    """Store the decision; return its JSON and the memories that are not kept."""
    kept = decided.kept.id if decided.kept is not None else None
    right = {side.claim.sense for side in one.sides if side.node.id == kept}
    losing = [
        side
        for side in one.sides
        if decided.kind != BOTH
        and all(differ(side.claim.attribute, side.claim.sense, sense) for sense in right)
    ]
    _refuse_persons(conn, one, losing, decided)
    settled = [
        Resolution(
            name=one.name,
            kind=one.kind,
            claim=clash.claim,
            other=clash.other or None,
            decision=decided.kind,
            kept=kept,
            actor=decided.actor,
            reason=decided.reason,
            at=decided.at,
        )
        for clash in one.clashes
    ]
    db_claims.settle_contradiction(conn, settled)
    superseded = _supersede(conn, losing, decided)
    # A superseded memory keeps its claims: they count again once it is not superseded.
    ended = [side.claim.id for side in losing if side.node.id not in superseded]
    db_claims.end(conn, ended, decided.at)
    if decided.kind != NONE and one.kind == LINK:
        db_claims.let_go(conn, one.sides[0].claim.id)
    if decided.kind == KEPT and one.kind == EVIDENCE:
        nodes.strengthen(conn, [one.sides[0].node.id], now=decided.at)
    forgotten = _forget(conn, one, losing, decided) if decided.forget else []
    outcome: dict[str, object] = {"decision": decided.kind, "kept": kept, "ended": ended}
    event = Event(kind=events.CONTRADICTION_RESOLVED, at=decided.at, subject=one.name, body=outcome)
    history.append(conn, event)
    done = outcome | {
        "id": one.name,
        "words": one.words,
        "superseded": superseded,
        "forgotten": forgotten,
    }
    return done, list(dict.fromkeys(side.node.id for side in losing))


def _refuse_persons(
    conn: Connection, one: Contradiction, losing: Sequence[Side], decided: _Decision
) -> None:
    """Refuse an agent that would end a person's claim in favour of an agent's or an import's.

    Raises:
        YaadError: REFUSED.
    """
    if is_persons(decided.actor):
        return
    persons = fulltext.persons(conn, [side.node.id for side in one.sides])
    if decided.kept is not None and decided.kept.id in persons:
        return
    for side in losing:
        source = side.claim.source
        if side.node.id in persons if source == db_claims.TEXT else is_persons(source):
            raise YaadError(
                Code.REFUSED,
                f'A person said "{side.node.summary}" ({short_id(side.node.id)}), and only a '
                "person "
                "can reject it; nothing was changed.",
                hint=f"Ask the person to run: yaadwatch resolve {one.name} --keep MEMORY",
            )


def _supersede(conn: Connection, losing: Sequence[Side], decided: _Decision) -> list[str]:
    """Let the kept memory supersede those with only losing claims.

    Keeping it states it, so what superseded it no longer does.
    """
    if decided.kept is None or not losing:
        return []
    kept, now = decided.kept.id, decided.at
    changes.reopen_superseded(conn, kept, now, actor=decided.actor)
    lost = {side.claim.id for side in losing}
    done = []
    for old in {side.node.id: side.node for side in losing}.values():
        rest = db_claims.found(
            conn, node=old.id, subject=None, ended=False, now=now, limit=len(lost) + 1
        )
        if all(claim.id in lost for claim in rest):
            changes.supersede(conn, kept, old, now, actor=decided.actor)
            done.append(old.id)
    return done


def _still(
    conn: Connection, worktree: int, losing: Sequence[str], done: Mapping[str, Any]
) -> dict[str, object]:
    """Return where losing statements remain: in a person's own files, which only the person edits,
    and in rules that say more or were not superseded.
    """
    said = said_places(conn, worktree, losing)
    others = [one for one in losing if one not in said and one not in done["superseded"]]
    rules = [
        node
        for node in nodes.many(conn, others).values()
        if node.archived_at is None and (node.tier == HOT or node.pinned)
    ]
    return {
        "still_said": [
            {"id": node, "path": path, "line": line}
            for node, places in said.items()
            for path, line in places
        ],
        "still_rules": views.attributed(
            conn, [{"id": node.id, "text": node.summary} for node in rules]
        ),
    }


def _forget(
    conn: Connection, one: Contradiction, losing: Iterable[Side], decided: _Decision
) -> list[str]:
    """Archive the memories that are not kept.

    Raises:
        YaadError: REFUSED when a person's own file states one.
    """
    why = decided.reason or f"contradicted: {one.words}"
    done = []
    for node_id in dict.fromkeys(side.node.id for side in losing):
        for place in history.provenance_of_node(conn, node_id):
            if place.line is not None:
                raise YaadError(
                    Code.REFUSED,
                    f"{place.path} (line {place.line}) still says what shall be forgotten; nothing "
                    "was changed.",
                    hint="Delete it there; or leave --forget out.",
                )
        node = nodes.get(conn, node_id)
        if node is not None and node.archived_at is None:
            changes.archive(conn, node, decided.at, actor=decided.actor, reason=why)
            done.append(node_id)
    return done
