"""Insert memories with their anchors and entities, for one memory as for ten thousand.

A batch looks up each shared row once, and inserts the rows of each table together. Entities of the
words are marked `named`, which separates them from what the memory rests on.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Self

from yaadwatch.db import anchors, claims, edges, fulltext, history, nodes
from yaadwatch.db.codec import to_json
from yaadwatch.db.files import Connection
from yaadwatch.db.rows import NOT_INDEXED
from yaadwatch.memory import changes, visibility
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.memories import THINGS, Claimed, Edge, Node, Version, free_from
from yaadwatch.remember import likeness
from yaadwatch.text.words import text_hash
from yaadwatch.workspace.workspace import Home

NAMED: Final = "named"
"""`how` of edges to what the words of a memory name, and the memory does not rest on."""
RARE_MAX: Final = 4
"""A thing that more living memories touch says little of what they have in common."""
RELATED_MAX: Final = 5
"""Other memories that one is related to for a thing they share, at most."""
_BY_WORDS: Final[Mapping[str, object]] = {"how": NAMED}


@dataclass(frozen=True, slots=True, kw_only=True)
class ExistingRows:
    """What the store holds of living memories before they are changed.

    Args:
        nums: the numbers that the index knows them by.
        edges: see `edges.of_nodes`.
        anchored: those that rest on something.
        unsaid: those that a person's file said before, and does not say now.
    """

    nums: Mapping[str, int]
    edges: Mapping[str, Sequence[Edge]]
    anchored: Collection[str]
    unsaid: Collection[str]

    @classmethod
    def read(cls, conn: Connection, ids: Collection[str]) -> Self:
        """Return the rows of the memories `ids`, inside a transaction."""
        rests_on = anchors.of_nodes(conn, ids)
        return cls(
            nums=nodes.nums(conn, ids),
            edges=edges.of_nodes(conn, ids),
            anchored=frozenset(node for node, there in rests_on.items() if there),
            unsaid=frozenset(history.no_longer_said(conn, ids)),
        )


@dataclass(slots=True)
class _Edges:
    """The edges of a memory while it is changed.

    `touching`: edges to files and entities, closed ones too; `known`: edges from and to it that
    held until now.
    """

    touching: list[Edge]
    known: list[Edge]


class WriteBatch:
    """Collects the rows of memories and inserts them in one transaction on `flush()`.

    Rows keep the order in which their memories were added or changed, so that a batch leaves the
    same store as the same memories one by one.
    """

    def __init__(self, conn: Connection, home: Home, now: datetime) -> None:
        self.conn = conn
        self._home = home
        self.now = now
        self._things: dict[str, str] = {}  # ids of files and entities, by name
        self._shared: set[str] = set()  # of the entities that were there before
        self._bodies: dict[tuple[object, ...], str] = {}
        self._nodes: list[Node] = []
        self._folded: dict[str, int] = {}
        self._claims: list[Claimed] = []
        self._anchors: list[tuple[str, Anchor]] = []
        self._edges: list[Edge] = []
        self._events: list[tuple[str, str, str]] = []
        self._keys: dict[str, str] = {}
        self._changed: list[Node] = []
        self._versions: list[Version] = []
        self._words: list[tuple[int, str, str, str]] = []
        self._wordless: list[int] = []
        self._loose: list[tuple[int, str]] = []  # anchors gathered before, whose go then
        self._closed: dict[int, Edge] = {}
        self._unhidden: list[Node] = []
        self._let_go: dict[str, str] = {}  # keys, and their former memories

    def holder(self, scope: str, key: str) -> str | None:
        """Return the id of the living memory under `key`, collected or stored."""
        gathered = self._keys.get(key)
        if gathered is not None:
            return gathered
        stored = nodes.by_key(self.conn, scope, key)
        return None if stored is None or self._let_go.get(key) == stored.id else stored.id

    def add(
        self,
        node: Node,
        *,
        rests_on: Sequence[Anchor],
        names: Sequence[str],
        has_headings: bool = False,
    ) -> set[str]:
        """Collect a new memory; return the ids of the entities that it and others may touch.

        Args:
            node: the memory; its id is new.
            rests_on: its anchors, whatever node they name.
            names: packages, addresses and ports that its words name.
            has_headings: it was stated under headings, so its words alone claim nothing.
        """
        self._nodes.append(node)
        claim = None if has_headings else changes.claim_in_words(node, self.now)
        if claim is not None:
            self._claims.append(claim)
        self._folded[node.id] = likeness.numbered(node.text)
        if node.key is not None:
            self._keys[node.key] = node.id
        self._log(events.NODE_CREATED, node, ("kind", node.kind))
        touched: dict[str, None] = {}
        for anchor in rests_on:
            self._anchors.append((node.id, anchor))
            name, kind = changes.thing_of(anchor)
            self._touch(node, self._thing(node, name, kind), {}, touched)
        for name in names:
            self._touch(node, self._thing(node, name, "entity"), _BY_WORDS, touched)
        return {one for one in touched if one in self._shared}

    def change(
        self,
        node: Node,
        before: Node,
        existing: ExistingRows,
        *,
        rests_on: Sequence[Anchor],
        names: Sequence[str] | None,
        actor: str,
        reason: str,
        change: str = "edited",
    ) -> tuple[set[str], Sequence[Edge]]:
        """Collect the new state of a living memory; its flags go.

        Args:
            node: the memory as it is to be: the version after `before`.
            before: as it is.
            existing: its rows, and perhaps those of others.
            rests_on: its anchors, whatever node they name; it has no others any more.
            names: packages, addresses and ports that its words name, and no others any more; None
                when its words stay.
            actor: the author of the change.
            reason: why, '' when that goes without saying.
            change: what its history calls it.

        Returns:
            The ids of what it touches, and the edges that it had or has.
        """
        self._changed.append(node)
        self._versions.append(changes.version_of(node, self.now, change, actor, reason))
        if before.key is not None and before.key != node.key:
            self._keys.pop(before.key, None)
            self._let_go[before.key] = node.id
        if node.key is not None:
            self._keys[node.key] = node.id
        if node.kind in NOT_INDEXED:
            self._wordless.append(existing.nums[node.id])
        else:
            said = changes.words_of(node.text, tags=node.tags, key=node.key)
            self._words.append((existing.nums[node.id], *said))
        if node.id in existing.unsaid:
            self._unhidden.append(node)
        mine = self.rest(node, existing, rests_on)
        self._log(events.NODE_UPDATED, node, ("change", change))
        known = list(mine.known)
        if names is None:
            return _rested_on(known), known
        named = [self._thing(node, name, "entity") for name in names]
        for thing in named:
            self._begin(node, thing, _BY_WORDS, mine)
        touched = {*named} | _rested_on(known)
        for edge in _lost(node, known, named, touched):
            self._close(edge, mine)
            body = self._body(("to", edge.to_node), ("kind", edge.kind))
            self._events.append((events.EDGE_CLOSED, edge.from_node, body))
        return touched, known

    def rest(self, node: Node, existing: ExistingRows, rests_on: Sequence[Anchor]) -> _Edges:
        """Collect the anchors of a memory in place of all others; return its edges."""
        if node.id in existing.anchored:
            self._loose.append((len(self._anchors), node.id))
        self._anchors += [(node.id, anchor) for anchor in rests_on]
        there = [self._closed.get(one.id, one) for one in existing.edges[node.id]]
        mine = _Edges(
            touching=[one for one in there if one.kind == "touches" and one.from_node == node.id],
            known=[one for one in there if one.valid_until is None],
        )
        rests = [self._thing(node, *changes.thing_of(anchor)) for anchor in rests_on]
        for thing in rests:
            self._begin(node, thing, {}, mine)
        for edge in list(mine.known):
            ours = edge.kind == "touches" and edge.attributes.get("how") != NAMED
            if ours and edge.from_node == node.id and edge.to_node not in rests:
                self._close(edge, mine)
        return mine

    def relate(self, edge: Edge) -> None:
        """Collect an edge between two memories; the caller knows that no such edge holds."""
        self._edges.append(edge)
        body = self._body(("to", edge.to_node), ("kind", edge.kind))
        self._events.append((events.EDGE_CREATED, edge.from_node, body))

    def flush(self) -> None:
        """Write what was collected."""
        conn, now = self.conn, self.now
        # What is changed first: its words and its key may have become free for what is new, and
        # never the other way round, because what is new has been gathered with both.
        for node in self._changed:
            nodes.replace(conn, node, expected_version=node.version - 1)
        history.add_versions(conn, self._versions)
        first = nodes.insert_all(conn, self._nodes, self._folded)
        history.add_first_versions(
            conn, (one for one in self._nodes if one.kind not in THINGS), now
        )
        for num in self._wordless:
            fulltext.remove(conn, num)
        fulltext.reindex(conn, self._words)
        fulltext.index_new(
            conn,
            (
                (num, *changes.words_of(one.text, tags=one.tags, key=one.key))
                for num, one in enumerate(self._nodes, first)
                if one.kind not in NOT_INDEXED
            ),
        )
        self._write_anchors()
        claims.insert_all(conn, self._claims)
        for node in self._changed:
            changes.claim_words(conn, node, now)
        edges.close_all(conn, self._closed.values(), now)
        edges.add_all(conn, self._edges)
        if self._changed:
            anchors.drop_flags_of_nodes(conn, [node.id for node in self._changed])
        for node in self._unhidden:
            changes.unhide(conn, node)
        history.append_all(conn, self._events, now)
        if self._anchors:
            anchors.drop_sightings_everywhere(conn, {anchor.path for _, anchor in self._anchors})
        for gathered in (
            *(self._nodes, self._claims, self._anchors, self._edges, self._events, self._folded),
            *(self._keys, self._let_go, self._changed, self._versions, self._words),
            *(self._wordless, self._loose, self._closed, self._unhidden),
        ):
            gathered.clear()

    def _write_anchors(self) -> None:
        """Write the anchors in the order of their memories, so that their numbers ascend."""
        start = 0
        for end, node in self._loose:
            anchors.insert_of(self.conn, self._anchors[start:end])
            anchors.drop(self.conn, node)
            start = end
        anchors.insert_of(self.conn, self._anchors[start:])

    def _touch(
        self, node: Node, thing: str, attributes: Mapping[str, object], touched: dict[str, None]
    ) -> None:
        """Relate a new memory to a file or an entity, once."""
        if thing in touched:
            return
        touched[thing] = None
        self.relate(self._edge(node, thing, attributes))

    def _begin(
        self, node: Node, thing: str, attributes: Mapping[str, object], mine: _Edges
    ) -> None:
        """Relate a memory to a file or an entity, unless it is."""
        others = [one for one in mine.touching if one.to_node == thing]
        if any(one.valid_until is None for one in others):
            return
        edge = self._edge(node, thing, attributes)
        start = free_from(edge.valid_from, [one.interval for one in others])
        edge = replace(edge, valid_from=start)
        mine.touching.append(edge)
        mine.known.append(edge)
        self.relate(edge)

    def _close(self, edge: Edge, mine: _Edges) -> None:
        ended = replace(edge, valid_until=max(edge.valid_from, self.now))
        self._closed[edge.id] = ended
        mine.known.remove(edge)
        if edge in mine.touching:
            mine.touching[mine.touching.index(edge)] = ended

    def _edge(self, node: Node, thing: str, attributes: Mapping[str, object]) -> Edge:
        return Edge(
            from_node=node.id,
            to_node=thing,
            kind="touches",
            attributes=attributes,
            created_at=self.now,
            valid_from=self.now,
        )

    def _thing(self, node: Node, name: str, kind: str) -> str:
        """Return the node id of a file or an entity; create the node if necessary."""
        known = self._things.get(name)
        if known is None:
            found = nodes.thing(self.conn, node.scope, text_hash(name))
            if found is None:
                made = changes.new_thing(self._home, node, name, self.now, kind=kind)
                self._nodes.append(made)
                known = made.id
            else:
                known, found_kind = found
                if found_kind == "entity":
                    self._shared.add(known)
            self._things[name] = known
        return known

    def _log(self, kind: str, node: Node, *said: tuple[str, object]) -> None:
        self._events.append((kind, node.id, self._body(*said)))

    def _body(self, *said: tuple[str, object]) -> str:
        """Return the JSON body of an event; cached, since events of a batch repeat it."""
        known = self._bodies.get(said)
        if known is None:
            known = self._bodies[said] = to_json(dict(said))
        return known


def change_one(
    conn: Connection,
    home: Home,
    node: Node,
    before: Node,
    *,
    rests_on: Sequence[Anchor],
    names: Sequence[str] | None,
    actor: str,
    reason: str = "",
    change: str = "edited",
    stated: bool = True,
    related: bool = True,
    keeps_places: bool = False,
) -> None:
    """Write the new state of one living memory, inside a transaction; its flags go.

    Args:
        conn: the transaction.
        home: the machine's state.
        node: the memory as it is to be: the version after `before`.
        before: as it is.
        rests_on: its anchors.
        names: what its words name; None when they stay.
        actor: who changes it.
        reason: why.
        change: what its history calls it.
        stated: the caller says that it is true, so what stands in its place does so no longer, but
            for what is hidden; else it only follows a move.
        related: memories that name the same rare things are related to it.
        keeps_places: files that said its old words still bring these with another branch.
    """
    now = node.updated_at
    existing = ExistingRows.read(conn, [node.id])
    if keeps_places:
        existing = replace(existing, unsaid=())
    writes = WriteBatch(conn, home, now)
    touched, known = writes.change(
        node,
        before,
        existing,
        rests_on=rests_on,
        names=names,
        actor=actor,
        reason=reason,
        change=change,
    )
    writes.flush()
    visibility.lift_words_dismissed(conn, [node.text], actor=actor)
    if stated:
        changes.reopen_superseded(conn, node.id, now, actor=actor)
    if names is not None and related:
        relate_others(conn, node, touched, known, now)


def rest_on(
    conn: Connection, home: Home, node: Node, rests_on: Sequence[Anchor], now: datetime
) -> None:
    """Replace the anchors of a memory; it gets no new version."""
    writes = WriteBatch(conn, home, now)
    writes.rest(node, ExistingRows.read(conn, [node.id]), rests_on)
    writes.flush()


def relate_others(
    conn: Connection, node: Node, touched: Iterable[str], known: Sequence[Edge], now: datetime
) -> None:
    """Relate a memory to others that touch the same rare things; files are touched by many.

    Args:
        conn: the transaction.
        node: the memory.
        touched: the ids of what it touches.
        known: the edges that it has to and from others.
        now: the time.
    """
    related = {edge.from_node for edge in known} | {edge.to_node for edge in known}
    room = RELATED_MAX
    for thing in nodes.many(conn, touched).values():
        sharing = edges.touching(conn, thing.id, RARE_MAX + 1) if thing.kind == "entity" else []
        if len(sharing) > RARE_MAX:
            continue
        for other in sharing:
            if not room or other in related or other == node.id:
                continue
            edge = Edge(
                from_node=node.id,
                to_node=other,
                kind="relates_to",
                weight=0.5,
                attributes={"how": NAMED, "thing": thing.id, "shared": thing.text},
                created_at=now,
                valid_from=now,
            )
            if edges.begin(conn, edge):
                history.append_edge(conn, events.EDGE_CREATED, edge, now)
            related.add(other)
            room -= 1


def _rested_on(known: Iterable[Edge]) -> set[str]:
    """Return the ids at the ends of these edges that are more than named."""
    return {
        edge.to_node
        for edge in known
        if edge.kind == "touches" and edge.attributes.get("how") != NAMED
    }


def _lost(
    node: Node, known: Iterable[Edge], named: Collection[str], touched: Collection[str]
) -> list[Edge]:
    """Return the edges of a memory for words that it no longer has.

    Args:
        node: the memory.
        known: the edges that begin or end in it.
        named: the ids of what its words name.
        touched: the ids of that and of what it rests on.
    """
    return [
        edge
        for edge in known
        if edge.attributes.get("how") == NAMED
        and (
            (edge.kind == "touches" and edge.from_node == node.id and edge.to_node not in named)
            or (edge.kind == "relates_to" and edge.attributes.get("thing") not in touched)
        )
    ]
