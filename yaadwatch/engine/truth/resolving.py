"""A contradiction is settled by whoever knows: what is not kept claims it no longer."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from yaadwatch.api.messages.truth import Resolve
from yaadwatch.core import privacy
from yaadwatch.core.truth.claiming.parts import differ
from yaadwatch.engine import json_views, node_changes, succession
from yaadwatch.engine.doubts.flagging import said_in
from yaadwatch.engine.store_lookup import Shelf, Shelves, shelves
from yaadwatch.engine.truth.contradictions import Contradiction, Side, in_store, stores, whole
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home, find_node
from yaadwatch.model import events
from yaadwatch.model.claims import BOTH, EVIDENCE, KEPT, LINK, NONE, Settled
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import HOT, Node
from yaadwatch.store import events as log
from yaadwatch.store import hot, nodes, provenance
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.truth import claims
from yaadwatch.store.truth import contradictions as table
from yaadwatch.store.visibility import View, seen_from


def resolve(home: Home, call: Call, ask: Resolve) -> dict[str, object]:
    """Settle a contradiction; the answer is Resolved.

    A memory that claims nothing but what is not kept is superseded by the one that is kept, and
    with `forget` it is archived; what others claim of it ends.

    Raises:
        YaadError: BAD_REQUEST unless exactly one of `keep`, `both` and `none` is given, or when
            `forget` has nothing to forget; NOT_FOUND when it is not open, or what is kept is no
            side of it; REFUSED when a person's own file says what shall be forgotten, or an agent
            would end what a person said for what no person did.
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
    """What somebody decided; `kept` is the memory that is right, if one is. `view`: from
    where the contradiction is seen.
    """

    kind: str
    kept: Node | None
    forget: bool
    reason: str
    actor: str
    at: datetime
    view: View | None


def _named(home: Home, both: Shelves, name: str, now: datetime) -> tuple[Shelf, Contradiction]:
    """Return the open contradiction that `name`, or its beginning, names, and its store.

    Raises:
        YaadError: NOT_FOUND, CONFLICT.
    """
    found = [
        (shelf, one)
        for shelf in stores(both)
        for one in in_store(home, shelf, now)
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
    return shelf, whole(home, shelf, one, now)


def _side(db: Database, one: Contradiction, keep: str) -> Node:
    """Return the memory to keep, which is a side of the contradiction.

    Raises:
        YaadError: NOT_FOUND when it is none; as for `find_node`.
    """
    wanted = find_node(db, keep)
    for side in one.sides:
        if side.node.id == wanted:
            return side.node
    raise YaadError(
        Code.NOT_FOUND,
        f"Memory {called(wanted)} is no side of contradiction {one.name}; nothing was changed.",
        hint="Its sides: " + ", ".join(dict.fromkeys(called(side.node.id) for side in one.sides)),
    )


def _settle(
    conn: Connection, one: Contradiction, decided: _Decision
) -> tuple[dict[str, object], list[str]]:
    """Return the JSON of what was done, and the memories that are not kept."""
    losing = [] if decided.kind == BOTH else _losing(one, decided)
    _refuse_persons(conn, one, losing, decided)
    for clash in one.clashes:
        table.settle(
            conn,
            Settled(
                name=one.name,
                kind=one.kind,
                claim=clash.claim,
                other=clash.other or None,
                decision=decided.kind,
                kept=decided.kept.id if decided.kept is not None else None,
                actor=decided.actor,
                reason=decided.reason,
                at=decided.at,
            ),
        )
    superseded = _supersede(conn, losing, decided)
    # What is superseded keeps its claims: they count again when nothing stands in its place.
    ended = [side.claim.id for side in losing if side.node.id not in superseded]
    claims.end(conn, ended, decided.at)
    stands = decided.kind != NONE
    if stands and one.kind == LINK:
        claims.let_go(conn, one.sides[0].claim.id)
    if decided.kind == KEPT and one.kind == EVIDENCE:
        nodes.strengthen(conn, [one.sides[0].node.id], now=decided.at)
    forgotten = _forget(conn, one, losing, decided) if decided.forget else []
    log.append(
        conn,
        Event(
            kind=events.CONTRADICTION_RESOLVED,
            at=decided.at,
            subject=one.name,
            body={
                "decision": decided.kind,
                "kept": decided.kept.id if decided.kept is not None else None,
                "ended": ended,
            },
        ),
    )
    done: dict[str, object] = {
        "id": one.name,
        "decision": decided.kind,
        "words": one.words,
        "kept": decided.kept.id if decided.kept is not None else None,
        "ended": ended,
        "superseded": superseded,
        "forgotten": forgotten,
    }
    return done, list(dict.fromkeys(side.node.id for side in losing))


def _refuse_persons(
    conn: Connection, one: Contradiction, losing: Sequence[Side], decided: _Decision
) -> None:
    """Refuse an agent to end what a person said for what no person said.

    Raises:
        YaadError: REFUSED.
    """
    if succession.is_person(decided.actor):
        return
    persons = hot.persons(conn, [side.node.id for side in one.sides])
    if decided.kept is not None and decided.kept.id in persons:
        return
    for side in losing:
        source = side.claim.source
        if side.node.id in persons if source == claims.TEXT else succession.is_person(source):
            raise YaadError(
                Code.REFUSED,
                f'A person said "{side.node.summary}" ({called(side.node.id)}), and only a person '
                "can reject it; nothing was changed.",
                hint=f"Ask the person to run: yaadwatch resolve {one.name} --keep MEMORY",
            )


def _losing(one: Contradiction, decided: _Decision) -> list[Side]:
    """Return the sides that hold no longer: those with another value than the one that is kept."""
    if decided.kept is None:
        return list(one.sides)
    kept = {side.claim.sense for side in one.sides if side.node.id == decided.kept.id}
    return [
        side
        for side in one.sides
        if all(differ(side.claim.attribute, side.claim.sense, sense) for sense in kept)
    ]


def _supersede(conn: Connection, losing: Sequence[Side], decided: _Decision) -> list[str]:
    """Let the memory that is kept supersede those that claim nothing but what is not kept.

    Whoever keeps it means it: what stood in its own place does so no longer.
    """
    if decided.kept is None or not losing:
        return []
    kept, now = decided.kept.id, decided.at
    succession.stated_anew(conn, kept, now, actor=decided.actor)
    lost = {side.claim.id for side in losing}
    done = []
    for old in {side.node.id: side.node for side in losing}.values():
        rest = claims.found(
            conn, node=old.id, subject=None, ended=False, now=now, limit=len(lost) + 1
        )
        if all(claim.id in lost for claim in rest):
            node_changes.supersede(conn, kept, old, now, actor=decided.actor)
            done.append(old.id)
    return done


def _still(
    conn: Connection, worktree: int, losing: Sequence[str], done: Mapping[str, Any]
) -> dict[str, object]:
    """Return where what is not kept is said still: in a person's own files, which nobody else
    changes, and by rules that say more, or in whose place nothing was put.
    """
    said = said_in(conn, worktree, losing)
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
        "still_rules": json_views.attributed(
            conn, [{"id": node.id, "text": node.summary} for node in rules]
        ),
    }


def _forget(
    conn: Connection, one: Contradiction, losing: Iterable[Side], decided: _Decision
) -> list[str]:
    """Archive the memories that are not kept.

    Raises:
        YaadError: REFUSED when a person's own file says one.
    """
    why = decided.reason or f"contradicted: {one.words}"
    done = []
    for node_id in dict.fromkeys(side.node.id for side in losing):
        for place in provenance.of_node(conn, node_id):
            if place.line is not None:
                raise YaadError(
                    Code.REFUSED,
                    f"{place.path} (line {place.line}) still says what shall be forgotten; nothing "
                    "was changed.",
                    hint="Delete it there; or leave --forget out.",
                )
        node = nodes.get(conn, node_id)
        if node is not None and node.archived_at is None:
            node_changes.archive(conn, node, decided.at, actor=decided.actor, reason=why)
            done.append(node_id)
    return done
