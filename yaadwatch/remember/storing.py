"""Store prepared statements in a transaction: as a new memory, a repetition, or new words.

A statement is the same as a living memory when their normal forms are equal. What only reads alike
is named in the answer, and never merged.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from yaadwatch.db import anchors, fulltext, nodes, projects
from yaadwatch.db.authority import FROM_GIT
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, lessons, visibility
from yaadwatch.memory.claiming import HOLDS_IN, place_of
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import TAGS_MAX, short_id
from yaadwatch.model.memories import HOT, Node
from yaadwatch.model.settings import NODE_ATTRIBUTES_BYTES_MAX
from yaadwatch.remember.drafts import (
    NEW,
    REFINES,
    SAME,
    Admitted,
    Draft,
    Ready,
    clean_attributes,
    merged,
)
from yaadwatch.remember.write_batch import WriteBatch, change_one
from yaadwatch.text import words
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.workspace import Home


class Match(NamedTuple):
    """A living memory that a statement is about.

    Either it says the same, or it has the key of the statement and other words (`by_key`).
    """

    node: Node
    by_key: bool


def find(conn: Connection, draft: Draft, text_hash: str, scope: str) -> Match | None:
    """Return the living memory of `scope` that a masked draft repeats or rewords, or None."""
    known = nodes.by_hash(conn, scope, text_hash, thing=False)
    if draft.key is not None:
        holder = nodes.by_key(conn, scope, draft.key)
        if holder is not None and (known is None or known.id != holder.id):
            return Match(holder, by_key=True)
    return None if known is None else Match(known, by_key=False)


def are_alike(one: str, other: str) -> bool:
    """Return whether two statements have at least nine of ten words in common."""
    mine, theirs = (
        {word.strip("(),;:.!?…") for word in words.normalise(text).lower().split()}
        for text in (one, other)
    )
    return len(mine & theirs) >= 0.9 * len(mine | theirs) > 0 and mine != {""}


def alike(conn: Connection, node: Node, rests_on: Sequence[Anchor]) -> list[Node]:
    """Return living memories with the same anchors (one at least), in nearly the same words."""
    if not rests_on:
        return []
    beside = anchors.nodes_on(conn, rests_on[-1].path, rests_on[-1].symbol, 16)
    said = nodes.texts(conn, set(beside) - {node.id})
    near = [other for other, text in said.items() if are_alike(node.text, text)]
    mine = {(one.path, one.symbol) for one in rests_on}
    same = [
        other
        for other, theirs in anchors.of_nodes(conn, near).items()
        if {(one.path, one.symbol) for one in theirs} == mine
    ]
    return list(nodes.many(conn, same).values())


def store(
    conn: Connection,
    home: Home,
    item: Ready,
    now: datetime,
    *,
    elsewhere: visibility.Elsewhere | None = None,
) -> Admitted:
    """Store a prepared draft inside a transaction, or confirm the memory that says the same.

    The memory under its key gets the words as a new version.

    Args:
        conn: in a transaction.
        home: the machine's state.
        item: the draft.
        now: when it comes.
        elsewhere: what a person dismissed in another store, and an agent states again.

    Raises:
        YaadError: CONFLICT when the memory under the key is not at the version expected, or another
            one says the same; NOT_FOUND when a version is expected and there is no such memory;
            REFUSED when a person's own file says it, a person does and an agent has other words, or
            a person dismissed or forgot these words and an agent says them again.
    """
    draft = item.draft
    _require_version(conn, item)
    match = find(conn, draft, item.text_hash, item.scope)
    if match is not None and _rests_elsewhere(conn, item, match.node):
        # The hash of a statement that holds for one folder and repeats words of another.
        digest = words.text_hash(f"{place_of(draft.origin)}\0{item.text}")
        item = replace(item, text_hash=digest)
        twin = nodes.by_hash(conn, item.scope, digest, thing=False)
        match = Match(twin, by_key=False) if twin is not None else None
    if match is None or match.by_key:
        visibility.refuse(conn, item.text, actor=draft.origin, elsewhere=elsewhere)
        visibility.lift_words_dismissed(conn, [item.text], actor=draft.origin)
    if match is not None:
        if match.by_key:
            return _reworded(conn, home, item, match.node, now)
        return _repeated(conn, home, item, match.node, now)
    node = _made(item, now, id=home.new_id(), created_at=now, tier=tier_of_new(item))
    writes = WriteBatch(conn, home, now)
    writes.add(node, item)
    writes.flush()
    changes.learn(conn, node, item.where, now)
    lessons.learned(conn, home, node, draft.session, now, fresh=True)
    return _admitted(item, node, NEW, item.why)


def tier_of_new(item: Ready) -> int:
    """Return the tier of a new memory: what is no rule for other agents is not hot."""
    is_cool = item.draft.baseline or item.draft.stays
    return max(item.tier, HOT + 1) if is_cool else item.tier


def store_as(
    writes: WriteBatch, item: Ready, now: datetime, *, id: str, created_at: datetime, apart: bool
) -> Node:
    """Collect a prepared draft under a given id; return the memory it becomes.

    Args:
        writes: where memories of the transaction are gathered.
        item: the draft.
        now: when it comes.
        id: of the memory, which is new.
        created_at: when it was created.
        apart: another living memory may say the same.
    """
    node = _made(item, now, id=id, created_at=created_at, tier=item.tier)
    if apart:
        node = _apart(node)
    writes.add(node, item)
    return node


def merged_memory(item: Ready, known: Node, now: datetime, *, apart: bool, kept: bool) -> Node:
    """Return a memory with the words and properties of a prepared draft.

    Args:
        item: the draft.
        known: the memory.
        now: when it comes.
        apart: another living memory says the same.
        kept: the memory is protected from the caller; see `protected_from`.

    Raises:
        YaadError: TOO_LARGE; it would have too many tags.
    """
    node = replace(
        _confirmed(item, known, now, kept=kept),
        text=item.text,
        text_hash=item.text_hash,
        summary=words.summarise(item.text),
    )
    return _apart(node) if apart else node


def protected_from(conn: Connection, origin: str, ids: Iterable[str]) -> Collection[str]:
    """Return the `ids` that are a person's, if `origin` is an agent or an import."""
    return () if visibility.is_persons(origin) else fulltext.persons(conn, ids)


def _reworded(conn: Connection, home: Home, item: Ready, holder: Node, now: datetime) -> Admitted:
    """Give the memory under a key the draft's words; its id and links stay."""
    draft = item.draft
    changes.require_not_in_file(conn, holder, item.text)
    if protected_from(conn, draft.origin, [holder.id]):
        raise YaadError(
            Code.REFUSED,
            f"A person said what is kept under the key {holder.key}: {quoted(holder.text)}; "
            "nothing was stored.",
            hint="Remember it without the key, or under another one; a person can change it: "
            f"yaadwatch edit {short_id(holder.id)}",
        )
    changes.refuse_twin(conn, replace(holder, text_hash=item.text_hash))
    node = merged_memory(item, holder, now, apart=False, kept=False)
    change_one(
        conn,
        home,
        node,
        rests_on=item.anchors,
        names=item.entities,
        actor=draft.origin,
        reason=f"said under the key {holder.key}",
    )
    changes.learn(conn, node, item.where, now, reworded=True)
    lessons.learned(conn, home, node, draft.session, now)
    return _admitted(item, node, REFINES, f"the key {holder.key} was known", before=holder)


def _repeated(conn: Connection, home: Home, item: Ready, known: Node, now: datetime) -> Admitted:
    """Confirm the memory that says the same."""
    draft, short = item.draft, short_id(known.id)
    if draft.key is not None and known.key not in (None, draft.key):
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short} says the same already, under the key {known.key}; nothing was stored.",
            hint=f"Keep that one; or forget it first: yaadwatch forget {short}",
        )
    kept = bool(protected_from(conn, draft.origin, [known.id]))
    is_other_sort = item.kind != known.kind and {item.kind, known.kind} & {"task", "skill"}
    if draft.kind and is_other_sort and not kept and not draft.is_in_file:
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short} says the same already, and is a {known.kind}, no {item.kind}; nothing "
            "was stored.",
            hint=f"Say it in other words; or forget that one first: yaadwatch forget {short}",
        )
    if draft.baseline:
        rests_on = tuple(anchors.of_nodes(conn, [known.id]).get(known.id, ()))
        return replace(_admitted(item, known, SAME, item.why), anchors=rests_on, missing=())
    node = _confirmed(item, known, now, kept=kept)
    change_one(
        conn,
        home,
        node,
        rests_on=item.anchors,
        names=item.entities,
        actor=draft.origin,
        reason=f"said again, {FROM_GIT}" if draft.from_git else "said again",
        change="confirmed",
    )
    projects.offer_rules(conn, [node.id])
    changes.learn(conn, node, item.where, now)
    lessons.learned(conn, home, node, draft.session, now)
    return _admitted(item, node, SAME, "said before")


def _admitted(
    item: Ready, node: Node, decision: str, why: str, before: Node | None = None
) -> Admitted:
    return Admitted(
        node=node,
        anchors=tuple(replace(anchor, node=node.id) for anchor in item.anchors),
        masked=item.masked,
        decision=decision,
        why=why,
        before=before,
        missing=item.missing,
    )


def _require_version(conn: Connection, item: Ready) -> None:
    expected, key = item.draft.expected_version, item.draft.key
    if expected is None:
        return
    holder = nodes.by_key(conn, item.scope, key) if key is not None else None
    if holder is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"No memory is kept under the key {key}, so none is at version {expected}; nothing was "
            "stored.",
            hint="Leave the version out, and it becomes a new memory.",
        )
    nodes.require_version(conn, holder.id, expected)


def _rests_elsewhere(conn: Connection, item: Ready, known: Node) -> bool:
    """Return whether a file of one folder repeats the words of another on other files.

    "The config is in src/index.ts" is another statement in each package.
    """
    draft = item.draft
    if not draft.is_in_file or not item.anchors or place_of(draft.origin) == place_of(known.origin):
        return False
    rests_on = anchors.of_nodes(conn, [known.id]).get(known.id, ())
    mine, theirs = (
        {(one.path, one.symbol) for one in places} for places in (item.anchors, rests_on)
    )
    return mine != theirs


def _apart(node: Node) -> Node:
    """Return a memory with a hash that no words have: the words stated again are another memory."""
    return replace(node, text_hash=words.text_hash(f"{node.id}\0{node.text}"))


def _made(item: Ready, now: datetime, *, id: str, created_at: datetime, tier: int) -> Node:
    draft = item.draft
    return Node(
        id=id,
        kind=item.kind,
        tier=tier,
        scope=item.scope,
        text=item.text,
        text_hash=item.text_hash,
        summary=words.summarise(item.text),
        key=draft.key,
        tags=draft.tags,
        attributes=merged({}, draft.attributes),
        origin=draft.origin,
        session=draft.session,
        confidence=1.0,
        confirmed_at=now,
        created_at=created_at,
        updated_at=now,
        pinned=draft.pinned,
        from_git=draft.from_git,
    )


def _confirmed(item: Ready, known: Node, now: datetime, *, kept: bool) -> Node:
    """Return a memory with a draft's properties besides its words, stated now.

    A person's memory (`kept`) keeps its properties when an agent or an import repeats it: that
    confirms it, and may add tags.

    Raises:
        YaadError: TOO_LARGE; it would have too many tags.
    """
    draft = item.draft
    tags = tuple(dict.fromkeys((*known.tags, *draft.tags)))
    if len(tags) > max(TAGS_MAX, len(known.tags)):
        raise YaadError(
            Code.TOO_LARGE,
            f"Memory {short_id(known.id)} would have {len(tags)} tags, more than {TAGS_MAX}; "
            "nothing was stored.",
            hint=f"Take some off first: yaadwatch tag {short_id(known.id)} --remove TAG",
        )
    stated = replace(
        known,
        tags=tags,
        confidence=1.0,
        confirmed_at=now,
        updated_at=now,
        version=known.version + 1,
    )
    if kept:
        return stated
    attributes = known.attributes
    if draft.attributes:
        both = merged(attributes, draft.attributes)
        attributes = clean_attributes(both, NODE_ATTRIBUTES_BYTES_MAX)
    package = draft.attributes.get(HOLDS_IN)
    if not draft.has_id and known.attributes.get(HOLDS_IN) != package:
        attributes = merged(attributes, {HOLDS_IN: None})  # stated in two packages, it holds in all
    return replace(
        stated,
        kind=item.kind if draft.kind else known.kind,
        tier=item.tier if draft.kind or draft.tier else known.tier,
        key=draft.key or known.key,
        attributes=attributes,
        pinned=known.pinned or draft.pinned,
    )
