"""Change memories in a transaction: each change writes a version and an event.

A memory stays superseded until its text is stored again, which reports what it contradicts. An
agent cannot restore a memory that a person superseded.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from yaadwatch.db import anchors, claims, edges, fulltext, history, nodes, rows, visibility
from yaadwatch.db.edges import TAKEN_BACK
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import claiming, views
from yaadwatch.memory import visibility as memory_visibility
from yaadwatch.memory.visibility import view_of
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import COLD, HOT, SUPERSEDES, THINGS, Claimed, Edge, Node, Version
from yaadwatch.model.projects import Checkout
from yaadwatch.text import words
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.lookup import Shelf
from yaadwatch.workspace.workspace import Home


def reopen_superseded(conn: Connection, node: str, now: datetime, *, actor: str) -> None:
    """End, inside a transaction, the `supersedes` edges into a memory that is stated again.

    An edge from a hidden memory stays when nothing of this branch supersedes through it: on its own
    branch the memory was not stated again.

    Args:
        conn: the transaction.
        node: the memory.
        now: the time of the statement.
        actor: its author. An agent or an import ends nothing when a person's memory is among
            those that supersede it.
    """
    if not edges.is_superseded(conn, node):
        return
    away = visibility.hidden(conn)
    if not memory_visibility.is_persons(actor):
        later = edges.successors(conn, [node]).get(node, set())
        if fulltext.persons(conn, later):
            return
    for edge in edges.of_node(conn, node):
        if edge.kind == SUPERSEDES and edge.to_node == node:
            new = edge.from_node
            if new in away and not edges.successors(conn, [new]):
                continue
            edges.close(conn, [edge], now)
            history.append_edge(conn, events.EDGE_CLOSED, edge, now)


def may_supersede(conn: Connection, new: str, old: str, *, actor: str) -> bool:
    """Return whether an actor may let one memory supersede another.

    An agent does not choose between two statements of a person, and its own memory supersedes a
    person's only after a person states it.
    """
    return memory_visibility.is_persons(actor) or len(fulltext.persons(conn, [new, old])) < 2


def here(
    home: Home, shelf: Shelf, ids: Collection[str], *, everywhere: bool = False
) -> dict[str, list[str]]:
    """Return the superseded ones of `ids`, each with the ids that supersede it.

    Args:
        home: the workspace.
        shelf: their store.
        ids: ids of memories.
        everywhere: count memories of other branches too.
    """
    later = shelf.db.read(edges.successors, ids)
    if later and not everywhere:
        later = shelf.db.read(seen_from, view_of(home, shelf), edges.successors, ids)
    return {old: sorted(new) for old, new in later.items()}


def superseded_by(
    home: Home, shelf: Shelf, node: str, *, both_ways: bool = False
) -> dict[str, object]:
    """Return the part of an answer that names what supersedes a memory; mostly empty.

    `both_ways`: also what it supersedes. Confirming an agent's memory may let it supersede a
    person's.
    """

    def attributed(conn: Connection, ids: Collection[str]) -> list[dict[str, object]]:
        found = nodes.many(conn, ids).values()
        return views.attributed(conn, [{"id": one.id, "text": one.summary} for one in found])

    former = shelf.db.read(edges.predecessors, node) if both_ways else []
    if former:
        former = shelf.db.read(seen_from, view_of(home, shelf), edges.predecessors, node)
    later = here(home, shelf, [node]).get(node)
    rows: dict[str, object] = {}
    if later:
        rows["superseded_by"] = shelf.db.read(attributed, later)
    if former:
        rows["stands_for"] = shelf.db.read(attributed, former)
    return rows


_TELLING: Final = frozenset({"task", "session", "bug", "fix", "skill", *THINGS})
"""Kinds that describe events, tasks or procedures; none of them becomes a rule."""
_IN_PLACE: Final = "in the place of "
"""Prefix of the reason of a change made by `note_superseded`."""


def supersede(conn: Connection, node_id: str, old: Node, now: datetime, *, actor: str) -> None:
    """Let a memory supersede another, inside a transaction.

    Raises:
        YaadError: REFUSED; the other memory supersedes it, directly or not.
    """
    edge = Edge(from_node=node_id, to_node=old.id, kind=SUPERSEDES, created_at=now, valid_from=now)
    if edges.begin(conn, edge):
        history.append_edge(conn, events.EDGE_CREATED, edge, now)
    note_superseded(conn, node_id, old, now, actor=actor)


def note_superseded(
    conn: Connection,
    node_id: str,
    old: Node,
    now: datetime,
    *,
    actor: str,
    keeps_tier: bool = False,
) -> None:
    """Apply the effects of a `supersedes` edge, inside the transaction that creates it.

    A person who creates it vouches for the memory, which becomes a rule if the superseded one was.
    An agent that supersedes a person's memory has neither effect. With `keeps_tier`, the caller has
    just set the tier.
    """
    new = nodes.get(conn, node_id)
    if new is None:
        return
    by_person = memory_visibility.is_persons(actor)
    vouched = by_person and not fulltext.persons(conn, [new.id])
    is_rule = (
        not keeps_tier
        and (old.tier == HOT or old.pinned)
        and new.kind not in _TELLING
        and (by_person or not fulltext.persons(conn, [old.id]))
    )
    done = replace(new, tier=min(new.tier, HOT) if is_rule else new.tier)
    if vouched:
        done = replace(done, confidence=1.0, confirmed_at=now)
    if done == new:
        return
    done = replace(done, updated_at=now, version=new.version + 1)
    change = "confirmed" if vouched else "promoted"
    save(conn, done, change, actor=actor, reason=f"{_IN_PLACE}{short_id(old.id)}")


def undo_superseded(conn: Connection, node_id: str, now: datetime, *, actor: str) -> None:
    """Undo the effects of the last `supersedes` edge of a memory, inside the transaction that ends
    it.

    Later changes to the memory stay, and so do its other edges.
    """
    new = nodes.get(conn, node_id)
    past = history.versions_of_node(conn, node_id)[-2:]
    if new is None or new.archived_at is not None or past[1:] == []:
        return
    before, last = past
    ours = last.change in ("confirmed", "promoted") and last.reason.startswith(_IN_PLACE)
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
    """The place where a memory is learned.

    Args:
        commit: HEAD; '' when it holds on every branch.
        checkout: the checkout whose uncommitted work the memory rests on; None when HEAD has it.
    """

    commit: str = ""
    checkout: Checkout | None = None


NOWHERE: Final = Where()


def learn(
    conn: Connection, node: Node, where: Where, now: datetime, *, reworded: bool = False
) -> None:
    """Store where a memory is learned, or stated again.

    A memory about uncommitted work is learned in the commit that will contain it. After a change of
    text (`reworded`), earlier commits do not count.
    """
    if where.checkout is not None:
        if reworded:
            visibility.forget_learned(conn, node.id)
        visibility.put_provisional(conn, node.id, where.commit, [where.checkout])
        return
    visibility.drop_provisional(conn, node.id)
    if where.commit:
        visibility.note_learned(conn, node.id, where.commit, now)


def settle(
    conn: Connection, node: Node, where: Where, now: datetime, *, reworded: bool = False
) -> None:
    """Store the place of an updated memory, when that was or is uncommitted work."""
    if where.checkout is not None or visibility.provisional_of_node(conn, node.id):
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
    """Store the next version of a memory, its history row and the event.

    Args:
        conn: in a transaction.
        node: the memory with its new content and version.
        change: the name of the change in the history.
        actor: the author of the change.
        reason: the reason.
        event: the event to append.

    Raises:
        YaadError: CONFLICT; the stored version is not the previous one.
    """
    at = node.updated_at
    nodes.replace(conn, node)
    history.add_versions(conn, [version_of(node, at, change, actor, reason)])
    body: dict[str, object] = {}
    if event == events.NODE_UPDATED:
        body = {"change": change}
    elif event == events.NODE_ARCHIVED:
        body = {"reason": reason}
    history.append(conn, Event(kind=event, at=at, subject=node.id, body=body))


def archive(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str) -> Node:
    """Archive a living memory inside a transaction: drop it from the index, and its flags."""
    archived = replace(
        node, archived_at=now, archive_reason=reason, updated_at=now, version=node.version + 1
    )
    save(conn, archived, "archived", actor=actor, reason=reason, event=events.NODE_ARCHIVED)
    memory_visibility.note_dismissed(conn, node, now, actor=actor, reason=reason)
    fulltext.remove(conn, nodes.nums(conn, [node.id])[node.id])
    anchors.drop_flags(conn, [node.id])
    return archived


def unarchive(conn: Connection, node: Node, now: datetime, *, actor: str, reason: str = "") -> Node:
    """Restore an archived memory inside a transaction: stated again, indexed, and due for a
    check.
    """
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
    memory_visibility.lift_words_dismissed(conn, [back.text], actor=actor)
    index(conn, back)
    unhide(conn, back)
    recheck_files(conn, anchors.of_nodes(conn, [node.id]).get(node.id, ()))
    return back


def require_not_in_file(conn: Connection, node: Node, said: str) -> None:
    """Refuse to change the text of a session, or of a memory in a person's own file.

    Raises:
        YaadError: REFUSED, with the place and the text to write there.
    """
    if node.kind == "session":
        raise YaadError(
            Code.REFUSED,
            f"{short_id(node.id)} is a session: its words are made of what happened in it, so "
            "nothing was changed.",
            hint=f"Say it beside them: yaadwatch sessions note --session {short_id(node.id)} TEXT",
        )
    for place in history.provenance_of_node(conn, node.id):
        if place.line is not None:
            raise YaadError(
                Code.REFUSED,
                f"{place.path} (line {place.line}) says memory {short_id(node.id)}; only you "
                "change that file, so nothing was changed.",
                hint=f"Write there: {said}",
            )


def refuse_twin(conn: Connection, node: Node) -> None:
    """Refuse a text or key that another living memory has.

    Raises:
        YaadError: CONFLICT, with the other memory.
    """
    twin = nodes.by_hash(conn, node.scope, node.text_hash, thing=False)
    if twin is not None and twin.id != node.id:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short_id(twin.id)} says the same already: {quoted(twin.text)}; nothing was "
            "changed.",
            hint=f"Keep that one: yaadwatch forget {short_id(node.id)}"
            if node.archived_at is None
            else f"Keep that one; or forget it first: yaadwatch forget {short_id(twin.id)}",
        )
    holder = nodes.by_key(conn, node.scope, node.key) if node.key is not None else None
    if holder is not None and holder.id != node.id:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short_id(holder.id)} is kept under the key {node.key} already: "
            f"{quoted(holder.text)}; nothing was changed.",
            hint=f"Keep that one; or forget it first: yaadwatch forget {short_id(holder.id)}",
        )


def unhide(conn: Connection, node: Node) -> None:
    """Delete the former places of a memory: it now holds without a file."""
    for place in history.provenance_of_node(conn, node.id):
        if place.line is None:
            others = history.provenance_on_path(conn, place.worktree, place.path)
            kept = [row for row in others if row.node != node.id]
            history.put_provenance(conn, place.worktree, place.path, kept)


def version_of(node: Node, at: datetime, change: str, actor: str, reason: str = "") -> Version:
    """Return the history row of the change that led to `node`."""
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


def recheck_files(conn: Connection, rests_on: Sequence[Anchor]) -> None:
    """Have the next check read these files again, in every work tree.

    They may have changed between the read for the anchors and this transaction, and a check in
    between may have stored their fingerprints.
    """
    if rests_on:
        anchors.drop_sightings(conn, {anchor.path for anchor in rests_on})


def index(conn: Connection, node: Node) -> None:
    """Index the current words of a living memory, replacing earlier ones.

    Files and entities are not indexed; sessions have their own index.
    """
    num = nodes.nums(conn, [node.id])[node.id]
    if node.kind in rows.NOT_INDEXED:
        fulltext.remove(conn, num)
        return
    fulltext.index(conn, [(num, *words_of(node.text, tags=node.tags, key=node.key))])


def claim_in_words(node: Node, now: datetime) -> Claimed | None:
    """Return the claim in a memory's text; None for statements of agent files.

    A line of a file often means more than it says: its heading may name an environment.
    """
    found = claiming.of_text(node.text)
    if found is None or node.kind in _TELLING or node.origin.startswith("file:"):
        return None
    place = claiming.folder_of_claim(node)
    return replace(found, node=node.id, place=place, source=claims.TEXT, valid_from=now)


def claim_words(conn: Connection, node: Node, now: datetime) -> None:
    """Store the claim in a memory's current text, and end the one of its former text."""
    new = claim_in_words(node, now)
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
    """Return the searchable words of a memory: text, parts of identifiers, and tags."""
    said = words.spaced(said)
    return said, words.subtokens(said), words.spaced(" ".join((*tags, key or "")))


def thing_of(anchor: Anchor) -> tuple[str, str]:
    """Return name and kind of the node for an anchor's target."""
    return (f"{anchor.name} ({anchor.path})", "entity") if anchor.symbol else (anchor.path, "file")


def new_thing(home: Home, node: Node, name: str, now: datetime, *, kind: str) -> Node:
    """Return a new node for a file or an entity that a memory touches, not yet stored."""
    return Node(
        id=home.new_id(),
        kind=kind,
        tier=COLD,
        scope=node.scope,
        text=name,
        text_hash=words.text_hash(name),
        summary=name,
        origin=node.origin,
        confidence=1.0,
        confirmed_at=now,
        created_at=now,
        updated_at=now,
    )
