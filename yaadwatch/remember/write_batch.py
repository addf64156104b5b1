"""Insert memories with their anchors and entities, for one memory as for ten thousand; change one.

Entities of the words are marked `named`, which separates them from what the memory rests on.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from yaadwatch.db import anchors, claims, edges, fulltext, history, nodes
from yaadwatch.db.codec import to_json
from yaadwatch.db.files import Connection
from yaadwatch.db.rows import NOT_INDEXED
from yaadwatch.memory import changes, visibility
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import THINGS, Claimed, Edge, Node
from yaadwatch.remember.drafts import Ready
from yaadwatch.text.words import text_hash
from yaadwatch.workspace.workspace import Home

_BY_WORDS: Final[Mapping[str, object]] = {"how": "named"}
"""The attributes of edges to what the words of a memory name, and the memory does not rest on."""


class WriteBatch:
    """Collects the rows of new memories and inserts them in one transaction on `flush()`.

    Rows keep the order in which their memories were added, so that a batch leaves the same store as
    the same memories one by one.
    """

    def __init__(self, conn: Connection, home: Home, now: datetime) -> None:
        self.conn = conn
        self._home = home
        self.now = now
        self._things: dict[str, str] = {}  # ids of files and entities, by name
        self._keys: dict[str, str] = {}
        self._nodes: list[Node] = []
        self._claims: list[Claimed] = []
        self._anchors: list[tuple[str, Anchor]] = []
        self._edges: list[Edge] = []
        self._events: list[tuple[str, str, str]] = []

    def holder(self, scope: str, key: str) -> str | None:
        """Return the id of the living memory under `key`, collected or stored."""
        stored = nodes.by_key(self.conn, scope, key)
        return self._keys.get(key, None if stored is None else stored.id)

    def add(self, node: Node, item: Ready) -> None:
        """Collect a new memory that was made of a draft. Under headings its words claim nothing."""
        self._nodes.append(node)
        claim = None if item.draft.headings else changes.claim_in_words(node, self.now)
        if claim is not None:
            self._claims.append(claim)
        if node.key is not None:
            self._keys[node.key] = node.id
        self._events.append((events.NODE_CREATED, node.id, to_json({"kind": node.kind})))
        self._anchors += [(node.id, anchor) for anchor in item.anchors]
        for thing, attributes in self.things(node, item.anchors, item.entities).items():
            self.relate(_touches(node, thing, attributes, self.now))

    def things(
        self, node: Node, rests_on: Iterable[Anchor], names: Iterable[str]
    ) -> dict[str, Mapping[str, object]]:
        """Return the ids of what a memory touches, with the attributes of each edge.

        Files and entities that are not known yet are collected.
        """
        found: dict[str, Mapping[str, object]] = {}
        for anchor in rests_on:
            # What is declared is named as the package that it is; a line or a set is no thing.
            if anchor.is_declared or anchor.is_spot or anchor.is_members:
                continue
            found[self._thing(node, *changes.thing_of(anchor))] = {}
        for name in names:
            found.setdefault(self._thing(node, name, "entity"), _BY_WORDS)
        return found

    def relate(self, edge: Edge) -> None:
        """Collect an edge; the caller knows that no such edge holds."""
        self._edges.append(edge)
        body = to_json({"to": edge.to_node, "kind": edge.kind})
        self._events.append((events.EDGE_CREATED, edge.from_node, body))

    def flush(self) -> None:
        """Write what was collected."""
        conn, now = self.conn, self.now
        first = nodes.insert_all(conn, self._nodes)
        history.add_versions(
            conn,
            (
                changes.version_of(one, now, "created", one.origin)
                for one in self._nodes
                if one.kind not in THINGS
            ),
        )
        fulltext.index(
            conn,
            (
                (num, *changes.words_of(one.text, tags=one.tags, key=one.key))
                for num, one in enumerate(self._nodes, first)
                if one.kind not in NOT_INDEXED
            ),
        )
        anchors.insert(conn, self._anchors)
        claims.insert_all(conn, self._claims)
        edges.add_all(conn, self._edges)
        history.append_all(conn, self._events, now)
        changes.recheck_files(conn, [anchor for _, anchor in self._anchors])
        self._keys.clear()
        for rows in (self._nodes, self._claims, self._anchors, self._edges, self._events):
            rows.clear()

    def _thing(self, node: Node, name: str, kind: str) -> str:
        """Return the node id of a file or an entity; create the node if necessary."""
        known = self._things.get(name)
        if known is None:
            found = nodes.by_hash(self.conn, node.scope, text_hash(name), thing=True)
            if found is None:
                made = changes.new_thing(self._home, node, name, self.now, kind=kind)
                self._nodes.append(made)
                known = made.id
            else:
                known = found.id
            self._things[name] = known
        return known


def change_one(
    conn: Connection,
    home: Home,
    node: Node,
    *,
    rests_on: Sequence[Anchor],
    names: Sequence[str] | None,
    actor: str,
    reason: str = "",
    change: str = "edited",
    stated: bool = True,
    keeps_places: bool = False,
) -> None:
    """Write the new state of one living memory, inside a transaction; its flags go.

    Args:
        conn: the transaction.
        home: the machine's state.
        node: the memory as it is to be, at its next version.
        rests_on: its anchors.
        names: what its words name; None when they stay.
        actor: who changes it.
        reason: why.
        change: what its history calls it.
        stated: the caller says that it is true, so what stands in its place does so no longer, but
            for what is hidden; else it only follows a move.
        keeps_places: files that said its old words still bring these with another branch.
    """
    now = node.updated_at
    changes.save(conn, node, change, actor=actor, reason=reason)
    changes.index(conn, node)
    changes.claim_words(conn, node, now)
    rest_on(conn, home, node, rests_on, now, names=names)
    anchors.drop_flags(conn, [node.id])
    if not keeps_places:
        changes.unhide(conn, node)
    visibility.lift_words_dismissed(conn, [node.text], actor=actor)
    if stated:
        changes.reopen_superseded(conn, node.id, now, actor=actor)


def rest_on(
    conn: Connection,
    home: Home,
    node: Node,
    rests_on: Sequence[Anchor],
    now: datetime,
    *,
    names: Sequence[str] | None = None,
) -> None:
    """Replace the anchors of a memory, and what its words name; None when the words stay.

    The memory gets no new version.
    """
    anchors.drop(conn, node.id)
    anchors.insert(conn, ((node.id, anchor) for anchor in rests_on))
    changes.recheck_files(conn, rests_on)
    writes = WriteBatch(conn, home, now)
    wanted = writes.things(node, rests_on, names or ())
    writes.flush()
    known = {
        edge.to_node: edge
        for edge in edges.of_node(conn, node.id)
        if edge.kind == "touches" and edge.from_node == node.id
    }
    for thing, attributes in wanted.items():
        if thing not in known:
            edge = _touches(node, thing, attributes, now)
            edges.begin(conn, edge)
            history.append_edge(conn, events.EDGE_CREATED, edge, now)
    for thing, edge in known.items():
        stays = names is None and edge.attributes == _BY_WORDS
        if thing not in wanted and not stays:
            edges.close(conn, [edge], now)
            history.append_edge(conn, events.EDGE_CLOSED, edge, now)


def require(conn: Connection, id: str) -> Node:
    """Return a memory that was found before the transaction began.

    Raises:
        YaadError: NOT_FOUND; it was erased meanwhile.
    """
    node = nodes.get(conn, id)
    if node is None:
        raise YaadError(
            Code.NOT_FOUND, f"Memory {short_id(id)} was erased meanwhile; nothing was changed."
        )
    return node


def require_living(conn: Connection, id: str) -> Node:
    """Return a memory that is not archived.

    Raises:
        YaadError: NOT_FOUND; it was erased meanwhile. REFUSED; it is archived.
    """
    node = require(conn, id)
    if node.archived_at is not None:
        raise YaadError(
            Code.REFUSED,
            f"Memory {short_id(id)} is archived ({node.archive_reason}); it was not changed.",
            hint=f"Bring it back first: yaadwatch restore {short_id(id)}",
        )
    return node


def _touches(node: Node, thing: str, attributes: Mapping[str, object], now: datetime) -> Edge:
    return Edge(
        from_node=node.id,
        to_node=thing,
        kind="touches",
        attributes=attributes,
        created_at=now,
        valid_from=now,
    )
