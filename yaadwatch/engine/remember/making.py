"""New memories, inside a transaction: gathered first, then written table by table.

What is written of a memory that was not there before is the same for one and for ten thousand; a
batch asks for each thing that its memories share once, and gives each table its rows in one go.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from yaadwatch.core.ingest import likeness
from yaadwatch.core.text import text_hash
from yaadwatch.engine import claiming, writing
from yaadwatch.engine.remember import relating
from yaadwatch.engine.workspace import Home
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.claims import Claimed
from yaadwatch.model.edges import Edge
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.store import anchors, edges, fulltext, nodes, sightings
from yaadwatch.store import events as log
from yaadwatch.store.codec import to_json
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import claims
from yaadwatch.store.whole.derived import NOT_INDEXED


class Making:
    """Memories on their way into one store. Nothing that reads the store sees them before `write`.

    What stands in the store before is written first where the order counts: rows keep the order in
    which their memories were added, so that a batch leaves what the same memories leave that come
    one by one.
    """

    def __init__(self, conn: Connection, home: Home, now: datetime) -> None:
        self._conn = conn
        self._home = home
        self._now = now
        self._things: dict[str, str] = {}  # ids of files and entities, by name
        self._shared: set[str] = set()  # of the entities that were there before
        self._bodies: dict[tuple[object, ...], str] = {}
        self._nodes: list[Node] = []
        self._begins: dict[str, int] = {}
        self._claims: list[Claimed] = []
        self._anchors: list[tuple[str, Anchor]] = []
        self._edges: list[Edge] = []
        self._events: list[tuple[str, str, str]] = []
        self._keys: dict[str, str] = {}

    def holder(self, key: str) -> str | None:
        """Return the id of the memory among those gathered that is kept under `key`."""
        return self._keys.get(key)

    def add(
        self,
        node: Node,
        *,
        rests_on: Sequence[Anchor],
        names: Sequence[str],
        headings: Sequence[str],
    ) -> set[str]:
        """Gather a memory; return the ids of the entities that it and others may touch.

        Args:
            node: the memory; its id is new.
            rests_on: its anchors, whatever node they name.
            names: packages, addresses and ports that its words name.
            headings: those that it stands under.
        """
        self._nodes.append(node)
        self._begins[node.id] = likeness.number_of(likeness.beginning(node.text))
        if node.key is not None:
            self._keys[node.key] = node.id
        self._claims += claiming.said(node, self._now, headings=headings)
        body = self._body(("kind", node.kind))
        self._events.append((events.NODE_CREATED, node.id, body))
        touched: dict[str, None] = {}
        for anchor in rests_on:
            self._anchors.append((node.id, anchor))
            name, kind = writing.thing_of(anchor)
            self._touch(node, self._thing(node, name, kind), {}, touched)
        for name in names:
            self._touch(node, self._thing(node, name, "entity"), relating.BY_WORDS, touched)
        return {one for one in touched if one in self._shared}

    def write(self) -> None:
        """Write what was gathered."""
        conn, now = self._conn, self._now
        first = nodes.insert_all(conn, self._nodes, self._begins)
        nodes.add_first_versions(conn, (one for one in self._nodes if one.kind not in THINGS), now)
        fulltext.index_new(
            conn,
            (
                (num, *writing.words_of(one.text, tags=one.tags, key=one.key))
                for num, one in enumerate(self._nodes, first)
                if one.kind not in NOT_INDEXED
            ),
        )
        claims.insert_all(conn, self._claims)
        anchors.insert_of(conn, self._anchors)
        edges.add_all(conn, self._edges)
        log.append_all(conn, self._events, now)
        if self._anchors:
            sightings.drop_everywhere(conn, {anchor.path for _, anchor in self._anchors})
        for gathered in (self._nodes, self._claims, self._anchors, self._edges, self._events):
            gathered.clear()
        self._begins.clear()
        self._keys.clear()

    def _touch(
        self, node: Node, thing: str, attributes: Mapping[str, object], touched: dict[str, None]
    ) -> None:
        """Relate a memory to a file or an entity, once."""
        if thing in touched:
            return
        touched[thing] = None
        edge = Edge(
            from_node=node.id,
            to_node=thing,
            kind="touches",
            attributes=attributes,
            created_at=self._now,
            valid_from=self._now,
        )
        self._edges.append(edge)
        body = self._body(("to", thing), ("kind", "touches"))
        self._events.append((events.EDGE_CREATED, node.id, body))

    def _thing(self, node: Node, name: str, kind: str) -> str:
        """Return the id of the node of a file or an entity; it is made when it is not there."""
        known = self._things.get(name)
        if known is None:
            found = nodes.thing(self._conn, node.scope, text_hash(name))
            if found is None:
                made = writing.new_thing(self._home, node, name, self._now, kind=kind)
                self._nodes.append(made)
                known = made.id
            else:
                known, found_kind = found
                if found_kind == "entity":
                    self._shared.add(known)
            self._things[name] = known
        return known

    def _body(self, *said: tuple[str, object]) -> str:
        """Return what an event says, as JSON; events of a batch say the same again and again."""
        known = self._bodies.get(said)
        if known is None:
            known = self._bodies[said] = to_json(dict(said))
        return known
