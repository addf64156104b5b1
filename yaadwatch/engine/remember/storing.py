"""Statements written down, inside a transaction: a new memory, or one that is said again."""

from dataclasses import replace
from datetime import datetime

from yaadwatch.core import text
from yaadwatch.engine import writing
from yaadwatch.engine.learning import lessons
from yaadwatch.engine.remember.drafts import NEW, SAME, Admitted, Ready
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import HOT, Node
from yaadwatch.store import anchors, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection


def store(conn: Connection, home: Home, item: Ready, now: datetime) -> Admitted:
    """Store a prepared draft inside a transaction, or confirm the memory that says the same."""
    known = nodes.by_hash(conn, item.scope, text.text_hash(item.text), thing=False)
    if known is not None:
        return _said_again(conn, home, item, known, now)
    tier = max(item.tier, HOT + 1) if item.draft.baseline else item.tier
    node = _made(item, now, id=home.new_id(), created_at=now, tier=tier)
    return _keep(conn, home, item, node, now)


def store_as(
    conn: Connection, home: Home, item: Ready, now: datetime, *, id: str, created_at: datetime
) -> Admitted:
    """Store a prepared draft inside a transaction under an id of its own."""
    node = _made(item, now, id=id, created_at=created_at, tier=item.tier)
    return _keep(conn, home, item, _apart(conn, node), now)


def store_over(conn: Connection, home: Home, item: Ready, known: Node, now: datetime) -> Admitted:
    """Give a memory what a prepared draft says, inside a transaction; it is what it was else."""
    draft = item.draft
    node = replace(
        known,
        kind=item.kind if draft.kind else known.kind,
        tier=item.tier if draft.kind or draft.tier else known.tier,
        text=item.text,
        text_hash=text.text_hash(item.text),
        summary=text.summarise(item.text),
        tags=tuple(dict.fromkeys((*known.tags, *draft.tags))),
        confidence=1.0,
        confirmed_at=now,
        updated_at=now,
        pinned=known.pinned or draft.pinned,
        version=known.version + 1,
    )
    node = _apart(conn, node)
    writing.index(conn, node)
    rests_on = tuple(replace(anchor, node=node.id) for anchor in item.anchors)
    writing.confirm(conn, home, node, rests_on, now, actor=draft.origin, change="edited")
    return Admitted(node=node, anchors=rests_on, masked=item.masked, decision=SAME, why=item.why)


def _apart(conn: Connection, node: Node) -> Node:
    """Return a node whose id keeps it apart from a living one that says the same.

    Its hash is then one that no words have: whoever says them means the other one.
    """
    twin = nodes.by_hash(conn, node.scope, node.text_hash, thing=False)
    if twin is None or twin.id == node.id:
        return node
    return replace(node, text_hash=text.text_hash(f"{node.id}\0{node.text}"))


def _made(item: Ready, now: datetime, *, id: str, created_at: datetime, tier: int) -> Node:
    return Node(
        id=id,
        kind=item.kind,
        tier=tier,
        scope=item.scope,
        text=item.text,
        text_hash=text.text_hash(item.text),
        summary=text.summarise(item.text),
        tags=item.draft.tags,
        origin=item.draft.origin,
        session=item.draft.session,
        confidence=1.0,
        confirmed_at=now,
        created_at=created_at,
        updated_at=now,
        pinned=item.draft.pinned,
    )


def _keep(conn: Connection, home: Home, item: Ready, node: Node, now: datetime) -> Admitted:
    nodes.insert(conn, node)
    writing.index(conn, node)
    nodes.add_version(conn, writing.version_of(node, now, "created", node.origin))
    rests_on = tuple(replace(anchor, node=node.id) for anchor in item.anchors)
    if rests_on:  # a new node rested on nothing before
        writing.rest_on(conn, home, node, rests_on, now)
    writing.learn(conn, node, item.commit, now)
    log.append(
        conn,
        Event(
            kind=events.NODE_CREATED,
            at=now,
            subject=node.id,
            body={"kind": node.kind, "tier": node.tier, "origin": node.origin},
        ),
    )
    lessons.learned(conn, home, node, item.draft.session, now)
    return Admitted(node=node, anchors=rests_on, masked=item.masked, decision=NEW, why=item.why)


def _said_again(conn: Connection, home: Home, item: Ready, known: Node, now: datetime) -> Admitted:
    if item.draft.baseline:
        rests_on = tuple(anchors.of_nodes(conn, [known.id]).get(known.id, ()))
        return Admitted(
            node=known, anchors=rests_on, masked=item.masked, decision=SAME, why=item.why
        )
    draft = item.draft
    node = replace(
        known,
        kind=item.kind if draft.kind else known.kind,
        tier=item.tier if draft.kind or draft.tier else known.tier,
        tags=tuple(dict.fromkeys((*known.tags, *draft.tags))),
        confidence=1.0,
        confirmed_at=now,
        updated_at=now,
        pinned=known.pinned or draft.pinned,
        version=known.version + 1,
    )
    writing.index(conn, node)
    rests_on = tuple(replace(anchor, node=node.id) for anchor in item.anchors)
    writing.confirm(conn, home, node, rests_on, now, actor=draft.origin, reason="said again")
    writing.learn(conn, node, item.commit, now)
    lessons.learned(conn, home, node, draft.session, now)
    return Admitted(
        node=node, anchors=rests_on, masked=item.masked, decision=SAME, why="said before"
    )
