"""Changes to a memory inside a transaction: each leaves a version, and an event in the log."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from yaadwatch.core import cjk, text
from yaadwatch.core.quoting import quoted
from yaadwatch.core.truth.claiming import statements as claiming
from yaadwatch.engine import succession
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.claims import Claimed
from yaadwatch.model.edges import SUPERSEDES, Edge
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import COLD, HOT, THINGS, Node, Version
from yaadwatch.model.projects import Checkout
from yaadwatch.store import (
    anchors,
    edges,
    flags,
    fulltext,
    hot,
    nodes,
    provenance,
    sightings,
)
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph.supersession import TAKEN_BACK
from yaadwatch.store.recall import learned, provisional
from yaadwatch.store.truth import claims, versions
from yaadwatch.store.whole import rows

_TELLING: Final = frozenset({"task", "session", "bug", "fix", "skill", *THINGS})
"""Kinds that report what happened, or what is to be done and how; none of them becomes a rule."""
_VOUCHED: Final = "confirmed"
_IN_PLACE: Final = "in the place of "
"""What the reason begins with of a change that `stand_in` makes."""


def supersede(conn: Connection, node_id: str, old: Node, now: datetime, *, actor: str) -> None:
    """Put a memory in the place of another, inside a transaction.

    Raises:
        YaadError: REFUSED; the other one stands in its place, directly or not.
    """
    edge = Edge(from_node=node_id, to_node=old.id, kind=SUPERSEDES, created_at=now, valid_from=now)
    if edges.begin(conn, edge):
        log.append_edge(conn, events.EDGE_CREATED, edge, now)
    stand_in(conn, node_id, old, now, actor=actor)


def stand_in(
    conn: Connection,
    node_id: str,
    old: Node,
    now: datetime,
    *,
    actor: str,
    keeps_tier: bool = False,
) -> None:
    """Note that a memory stands in the place of another, inside the transaction that relates them.

    A person who puts it there vouches for it, and in the place of a rule it is one. What an agent
    puts in the place of what a person said gets neither. With `keeps_tier`, somebody just said
    which tier it has.
    """
    new = nodes.get(conn, node_id)
    if new is None:
        return
    by_person = succession.is_person(actor)
    vouched = by_person and not hot.is_persons(conn, new.id)
    is_rule = (
        not keeps_tier
        and (old.tier == HOT or old.pinned)
        and new.kind not in _TELLING
        and (by_person or not hot.is_persons(conn, old.id))
    )
    done = replace(new, tier=min(new.tier, HOT) if is_rule else new.tier)
    if vouched:
        done = replace(done, confidence=1.0, confirmed_at=now)
    if done == new:
        return
    done = replace(done, updated_at=now, version=new.version + 1)
    change = _VOUCHED if vouched else "promoted"
    save(conn, done, change, actor=actor, reason=f"{_IN_PLACE}{called(old.id)}")


def stand_back(conn: Connection, node_id: str, now: datetime, *, actor: str) -> None:
    """Take back, inside the transaction that ends the last such relation, what `stand_in` gave a
    memory: that it is a rule by it, and that a person vouches for it.

    What was done with the memory since then stays, and so does what stands in other places.
    """
    new = nodes.get(conn, node_id)
    past = versions.of_node(conn, node_id)[-2:]
    if new is None or new.archived_at is not None or past[1:] == []:
        return
    before, last = past
    ours = last.change in (_VOUCHED, "promoted") and last.reason.startswith(_IN_PLACE)
    stands = any(
        edge.kind == SUPERSEDES and edge.from_node == node_id
        for edge in edges.of_node(conn, node_id)
    )
    if not ours or stands or new.version != last.version:
        return
    done = replace(new, tier=before.tier, updated_at=now, version=new.version + 1)
    save(conn, done, TAKEN_BACK, actor=actor, reason=f"no longer {last.reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Where a memory is learned.

    Args:
        commit: HEAD; '' for what holds whatever is checked out.
        checkout: the one whose uncommitted work the memory rests on; None when HEAD holds it all.
    """

    commit: str = ""
    checkout: Checkout | None = None


NOWHERE: Final = Where()


def learn(
    conn: Connection,
    node: Node,
    where: Where,
    now: datetime,
    *,
    fresh: bool = False,
    reworded: bool = False,
) -> None:
    """Note where a memory is learned, or said again.

    What is about uncommitted work is learned in the commit that will hold it. With other words
    (`reworded`), the commits at which it was learned before do not vouch for it.
    """
    if where.checkout is not None:
        if reworded:
            learned.forget(conn, node.id)
        provisional.put(conn, node.id, where.commit, [where.checkout])
        return
    if not fresh:
        provisional.drop(conn, node.id)
    if where.commit:
        learned.note(conn, node.id, where.commit, now, fresh=fresh)


def settle(
    conn: Connection, node: Node, where: Where, now: datetime, *, reworded: bool = False
) -> None:
    """Note where a memory rests that was mended, when that was or is uncommitted work."""
    if where.checkout is not None or provisional.of_node(conn, node.id):
        learn(conn, node, where, now, reworded=reworded)


def save(
    conn: Connection,
    node: Node,
    change: str,
    *,
    actor: str,
    reason: str = "",
    event: str = events.NODE_UPDATED,
) -> None:
    """Write the next version of a memory, what its history says of it, and the event.

    Args:
        conn: in a transaction.
        node: the memory as it is to be, one version on.
        change: what its history calls it.
        actor: who changes it.
        reason: why.
        event: what happens by it.

    Raises:
        YaadError: CONFLICT; the memory is at another version than the one before.
    """
    at = node.updated_at
    nodes.replace(conn, node, expected_version=node.version - 1)
    versions.add(conn, version_of(node, at, change, actor, reason))
    said: dict[str, dict[str, object]] = {
        events.NODE_UPDATED: {"change": change},
        events.NODE_ARCHIVED: {"reason": reason},
    }
    log.append(conn, Event(kind=event, at=at, subject=node.id, body=said.get(event, {})))


def archive(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str) -> Node:
    """Archive a living memory inside a transaction: out of the index, its doubts gone."""
    archived = replace(
        node, archived_at=now, archive_reason=reason, updated_at=now, version=node.version + 1
    )
    save(conn, archived, "archived", actor=actor, reason=reason, event=events.NODE_ARCHIVED)
    dismissing.note(conn, node, now, actor=actor, reason=reason)
    fulltext.remove(conn, nodes.num(conn, node.id))
    flags.drop_node(conn, node.id)
    return archived


def unarchive(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str = "") -> Node:
    """Bring an archived memory back inside a transaction: stated anew, findable, to be checked."""
    back = replace(
        node,
        archived_at=None,
        archive_reason=None,
        confidence=1.0,
        confirmed_at=now,
        updated_at=now,
        version=node.version + 1,
    )
    save(conn, back, "restored", actor=actor, reason=reason, event=events.NODE_RESTORED)
    dismissing.lift(conn, [back.text], actor=actor)
    index(conn, back)
    unhide(conn, back)
    look_again(conn, anchors.of_nodes(conn, [node.id]).get(node.id, ()))
    return back


def refuse_said(conn: Connection, node: Node, said: str) -> None:
    """Refuse to reword what a person's own file says, and a session.

    Raises:
        YaadError: REFUSED, with the place and the words that belong there.
    """
    if node.kind == "session":
        raise YaadError(
            Code.REFUSED,
            f"{called(node.id)} is a session: its words are made of what happened in it, so "
            "nothing was changed.",
            hint=f"Say it beside them: yaadwatch sessions note --session {called(node.id)} TEXT",
        )
    for place in provenance.of_node(conn, node.id):
        if place.line is not None:
            raise YaadError(
                Code.REFUSED,
                f"{place.path} (line {place.line}) says memory {called(node.id)}; only you change "
                "that file, so nothing was changed.",
                hint=f"Write there: {said}",
            )


def refuse_twin(conn: Connection, node: Node) -> None:
    """Refuse words, or a key, that another living memory has already.

    Raises:
        YaadError: CONFLICT, with the other one.
    """
    twin = nodes.by_hash(conn, node.scope, node.text_hash, thing=False)
    if twin is not None and twin.id != node.id:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {called(twin.id)} says the same already: {quoted(twin.text)}; nothing was "
            "changed.",
            hint=f"Keep that one: yaadwatch forget {called(node.id)}",
        )
    holder = nodes.by_key(conn, node.scope, node.key) if node.key is not None else None
    if holder is not None and holder.id != node.id:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {called(holder.id)} is kept under the key {node.key} already: "
            f"{quoted(holder.text)}; nothing was changed.",
            hint=f"Keep that one; or forget it first: yaadwatch forget {called(holder.id)}",
        )


def unhide(conn: Connection, node: Node) -> None:
    """Forget the places that said a memory once: somebody says it now, file or no file."""
    for place in provenance.of_node(conn, node.id):
        if place.line is None:
            others = provenance.on_path(conn, place.worktree, place.path)
            kept = [row for row in others if row.node != node.id]
            provenance.put_path(conn, place.worktree, place.path, kept)


def version_of(node: Node, at: datetime, change: str, actor: str, reason: str = "") -> Version:
    """Return the history row for a change that made `node` what it is."""
    return Version(
        node=node.id,
        version=node.version,
        at=at,
        change=change,
        actor=actor,
        reason=reason,
        kind=node.kind,
        tier=node.tier,
        text=node.text,
    )


def look_again(conn: Connection, rests_on: Sequence[Anchor]) -> None:
    """Have the next check read these files again, in every work tree.

    They may have changed between being read for the anchors and this transaction, and a check in
    between may have taken note of that already.
    """
    if rests_on:
        sightings.drop_everywhere(conn, {anchor.path for anchor in rests_on})


def index(conn: Connection, node: Node) -> None:
    """Make the words of a living memory findable, and those it had before not any more.

    Things have none, and those of a session are in an index of their own.
    """
    num = nodes.num(conn, node.id)
    if node.kind in rows.NOT_INDEXED:
        fulltext.remove(conn, num)
        return
    said, sub, tags = words_of(node.text, tags=node.tags, key=node.key)
    fulltext.index(conn, num, text=said, sub=sub, tags=tags)


def said_claim(node: Node, now: datetime) -> Claimed | None:
    """Return what the words of a memory claim; None for statements of agent files.

    A line of a file often means more than it says: its heading may name an environment.
    """
    found = claiming.of_text(node.text)
    if found is None or node.kind in _TELLING or node.origin.startswith("file:"):
        return None
    return Claimed(
        node=node.id,
        subject=found.subject,
        attribute=found.attribute,
        value=found.value,
        sense=found.sense,
        place=claiming.holds_in(node),
        source=claims.TEXT,
        evidence=found.evidence,
        valid_from=now,
    )


def claim_words(conn: Connection, node: Node, now: datetime) -> None:
    """Let a memory claim what its words say now, and no longer what they said before."""
    new = said_claim(node, now)
    before = [
        one
        for one in claims.of_node(conn, node.id)
        if one.source == claims.TEXT and one.valid_until is None
    ]
    if new is not None and [one.evidence for one in before] == [new.evidence]:
        return
    if before:
        claims.end(conn, [one.id for one in before], now)
    if new is not None:
        claims.insert(conn, replace(new, supersedes=before[-1].id if before else None))


def words_of(said: str, *, tags: Sequence[str], key: str | None) -> tuple[str, str, str]:
    """Return what is findable of a memory: its text, parts of identifiers, and its tags."""
    said = cjk.spaced(said)
    return said, text.subtokens(said), cjk.spaced(" ".join((*tags, key or "")))


def thing_of(anchor: Anchor) -> tuple[str, str]:
    """Return name and kind of the node that stands for what a memory rests on."""
    return (f"{anchor.name} ({anchor.path})", "entity") if anchor.symbol else (anchor.path, "file")


def new_thing(home: Home, node: Node, name: str, now: datetime, *, kind: str) -> Node:
    """Return a node for a file or an entity that a memory touches; it is not written down."""
    return Node(
        id=home.new_id(),
        kind=kind,
        tier=COLD,
        scope=node.scope,
        text=name,
        text_hash=text.text_hash(name),
        summary=name,
        origin=node.origin,
        confidence=1.0,
        confirmed_at=now,
        created_at=now,
        updated_at=now,
    )
