"""A small world to try the merge in: a graph, a few files, people who edit both, and git."""

import hashlib
import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from bridges.block import Absent, Block, find, put
from bridges.registry import for_path
from yaadwatch.model.memories import Provenance
from yaadwatch.model.projects import Agreement
from yaadwatch.sync.inventory import Paused, take_stock
from yaadwatch.sync.plan import Plan, plan
from yaadwatch.sync.reconcile import File, Graph, Known, Terms, read
from yaadwatch.text.words import text_hash

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def as_stored(text):
    first, *body = re.sub(r"s3cret\w*", "[masked:token]", text).strip().split("\n")
    return "\n".join((" ".join(first.split()), *map(str.rstrip, body)))


def hashed(line):
    return hashlib.sha256(b"key" + line.encode()).hexdigest()


TERMS = Terms(as_stored=as_stored, hashed=hashed)


@dataclass
class Node:
    text: str
    hot: bool = True
    archived: bool = False
    said: list[str] = field(default_factory=list)  # what it said before

    @property
    def key(self):
        return text_hash(self.text)


@dataclass
class Synced:
    """What one sync of one file did."""

    plan: Plan | Paused | None
    wrote: bool = False
    changed: bool = False


class World:
    """Does what `sync` has to do with a plan; `remembers` every agreement, or the last ones."""

    def __init__(self, files, *, remembers=True):
        self.files = dict(files)
        self.nodes: dict[str, Node] = {}
        self.tombstones: set[str] = set()
        self.last: dict[str, Agreement] = {}
        self.by_digest: dict[tuple[str, str], Agreement] = {}
        self.rows: dict[str, tuple[Provenance, ...]] = dict.fromkeys(files, ())
        self.from_git: set[str] = set()
        self.remembers = remembers
        self.commits: list[dict[str, bytes]] = []

    # The graph.

    def living(self):
        return {node_id: node for node_id, node in self.nodes.items() if not node.archived}

    def by_key(self, key):
        return next((node_id for node_id, node in self.living().items() if node.key == key), None)

    def remember(self, text, *, hot=True):
        text = as_stored(text)
        key = text_hash(text)
        node_id = self.by_key(key)
        if node_id is None:
            # What git brings back is the memory that it was before.
            old = (id_ for id_, node in self.nodes.items() if node.archived and node.key == key)
            node_id = None if hot else next(old, None)
            if node_id is not None:
                self.nodes[node_id].archived = False
        if node_id is None:
            node_id = f"n{len(self.nodes)}"
            self.nodes[node_id] = Node(text, hot)
        elif hot:
            self.nodes[node_id].hot = True
        if hot:
            self.tombstones.discard(text_hash(text))
        return node_id

    def change(self, node_id, text):
        """New words for a memory, unless a person's file says it, or another one says them."""
        node = self.nodes[node_id]
        other = self.by_key(text_hash(as_stored(text)))
        if other in (None, node_id) and not self.is_said(node_id):
            node.said.append(node.text)
            node.text = as_stored(text)

    def forget(self, node_id):
        """Archive, unless a person's file still says it."""
        if not self.is_said(node_id):
            self.nodes[node_id].archived = True

    def is_said(self, node_id):
        return any(row.node == node_id for rows in self.rows.values() for row in rows)

    def hidden(self):
        rows = [row for rows in self.rows.values() for row in rows]
        shown = {row.node for row in rows if row.line is not None}
        return {row.node for row in rows} - shown

    def graph(self):
        living = self.living()
        hidden = self.hidden()
        return Graph(
            memories=tuple(
                Known(
                    node=node_id,
                    text=node.text,
                    hot=node.hot and node_id not in hidden,
                    is_said=self.is_said(node_id),
                )
                for node_id, node in living.items()
            ),
            buried=self.tombstones
            | {node.key for node in self.nodes.values() if node.archived}
            - {node.key for node in living.values()},
            former={
                text_hash(text): node_id for node_id, node in living.items() for text in node.said
            },
        )

    # One sync, in the beats of a verb.

    def sync(self, name, *, accept_deletions=False, record=True):
        data = self.files[name]
        found = find(data)
        if not isinstance(found, Absent | Block):
            return Synced(None)
        from_git = name in self.from_git
        before = self.state()
        paused = self._take_stock(name, data, found, from_git, accept_deletions)
        if paused is not None:
            return Synced(paused)
        agreement = self.last.get(name)
        if from_git:
            digest = hashed(found.text) if isinstance(found, Block) else ""
            agreement = self.by_digest.get((name, digest)) if self.remembers else None
        made = self.plan(name, agreement, accept_deletions=accept_deletions)
        if isinstance(made, Paused):
            return Synced(made, changed=self.state() != before)
        written = put(data, made.lines) if made.writes else data
        if not isinstance(written, bytes):
            return Synced(None, changed=self.state() != before)
        admitted = self._commit(made)
        self.files[name] = written
        if record:
            self._record(name, made, admitted)
        return Synced(made, wrote=written != data, changed=self.state() != before)

    def plan(self, name, agreement, *, accept_deletions=False):
        found = find(self.files[name])
        says = [text_hash(as_stored(s.text)) for s in self.says(name)]
        file = File(
            lines=found.lines if isinstance(found, Block) else None,
            outside=frozenset(says),
            from_git=name in self.from_git,
        )
        return plan(agreement, self.graph(), file, TERMS, accept_deletions=accept_deletions)

    def _take_stock(self, name, data, found, from_git, accept_deletions):
        then = self.rows[name]
        lines = found.lines if isinstance(found, Block) else ()
        stock = take_stock(
            then,
            self.says(name),
            {row.node: self.nodes[row.node].text for row in then},
            as_stored,
            inside={said.key for said in read(lines, TERMS)},
            from_git=from_git,
            accept_deletions=accept_deletions,
        )
        if isinstance(stock, Paused):
            return stock
        self.rows[name] = tuple(
            Provenance(
                node=place.node or self.remember(place.statement.text, hot=not from_git),
                worktree=1,
                path=name,
                position=place.position,
                line=place.line,
                since=place.since or NOW,
            )
            for place in stock.places
        )
        for node_id in stock.gone:
            self.forget(node_id)
        return None

    def _commit(self, made):
        for change in made.superseded:
            node = self.nodes[change.node]
            node.said += [node.text] if change.over is None else [node.text, change.over]
            node.text, node.hot = change.text, True
        for node_id in made.demoted:
            self.nodes[node_id].hot = False
        self.tombstones |= set(made.tombstones)
        self.tombstones -= set(made.lifted)
        admitted = [self.remember(new.text) for new in made.new]
        keys = [node.key for node in self.living().values()]
        assert len(keys) == len(set(keys)), "two living memories say the same"
        return admitted

    def _record(self, name, made, admitted):
        found = find(self.files[name])
        digest = hashed(found.text) if isinstance(found, Block) else ""
        self.last[name] = made.agreement(admitted, digest)
        self.by_digest[name, digest] = self.last[name]
        self.from_git.discard(name)

    # People and git.

    def round(self, **options):
        return {name: self.sync(name, **options) for name in self.files}

    def state(self):
        return {node_id: replace(node, said=[*node.said]) for node_id, node in self.nodes.items()}

    def commit(self):
        self.commits.append(dict(self.files))

    def checkout(self, number):
        for name, data in self.commits[number].items():
            if data != self.files[name]:
                self.files[name] = data
                self.from_git.add(name)

    def says(self, name):
        """What a file says outside its block, read in its own format."""
        return for_path(name).parse(self.files[name]).statements

    def inner(self, name):
        """The lines of the block of a file that are no notice; None if there is no block."""
        found = find(self.files[name])
        return [*found.lines] if isinstance(found, Block) else None

    def words(self):
        """Everything that anybody says or said: in the graph, in its versions, in the files."""
        graph = {text for node in self.nodes.values() for text in (node.text, *node.said)}
        files = set()
        for name, data in self.files.items():
            found = find(data)
            if isinstance(found, Block):
                files |= {said.text for said in read(found.lines, TERMS)}
            files |= {as_stored(s.text) for s in self.says(name)}
        return {text_hash(text) for text in graph | files}
