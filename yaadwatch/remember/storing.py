"""Store prepared statements in a transaction: as a new memory, a repetition, or new words."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from yaadwatch.db import anchors, fulltext, nodes, projects
from yaadwatch.db.authority import FROM_GIT
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, lessons, visibility
from yaadwatch.memory.claiming import HOLDS_IN, place_of
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import HOT, Node
from yaadwatch.model.settings import NODE_ATTRIBUTES_BYTES_MAX, TAGS_MAX
from yaadwatch.remember import drafts, likeness
from yaadwatch.remember.drafts import (
    NEW,
    REFINES,
    SAME,
    Admitted,
    Draft,
    Match,
    Ready,
    clean_attributes,
    merged,
)
from yaadwatch.remember.write_batch import WriteBatch, change_one, relate_others
from yaadwatch.text import words
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.workspace import Home

OF_ITS_OWN: Final = frozenset(("task", "skill"))
"""Kinds that are more than a word about a memory: it has a state, or is shown elsewhere."""


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
    if item.draft.expected_version is not None:
        _require_version(conn, item)
    match = likeness.find(conn, item.draft, item.text_hash, item.scope)
    if match is not None and _rests_elsewhere(conn, item, match.node):
        item = replace(item, text_hash=_hash_in_folder(item))
        twin = nodes.by_hash(conn, item.scope, item.text_hash, thing=False)
        match = Match(twin, likeness.SAME) if twin is not None else None
    if match is None or match.how == likeness.KEYED:
        visibility.refuse(conn, item.text, actor=item.draft.origin, elsewhere=elsewhere)
        visibility.lift_words_dismissed(conn, [item.text], actor=item.draft.origin)
    if match is not None:
        known = match.node
        if match.how == likeness.KEYED:
            return _reworded(conn, home, item, known, now)
        _refuse_other_key(item.draft, known)
        _refuse_other_sort(conn, item, known)
        return _repeat(conn, home, item, known, now)
    is_cool = item.draft.baseline or item.draft.stays
    tier = max(item.tier, HOT + 1) if is_cool else item.tier
    node = _made(item, now, id=home.new_id(), created_at=now, tier=tier)
    return _keep(conn, home, item, node, now)


def store_as(
    writes: WriteBatch,
    item: Ready,
    now: datetime,
    *,
    id: str,
    created_at: datetime,
    apart: bool,
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
        node = replace(node, text_hash=_hash_apart(node))
    _add(writes, item, node)
    return node


def store_over(
    conn: Connection, home: Home, item: Ready, known: Node, now: datetime, *, reason: str = ""
) -> Admitted:
    """Update a memory with a prepared draft, inside a transaction; its id and links stay."""
    twin = nodes.by_hash(conn, known.scope, item.text_hash, thing=False)
    node = merged_memory(
        item,
        known,
        now,
        apart=twin is not None and twin.id != known.id,
        kept=is_protected_from(conn, item.draft.origin, known.id),
    )
    change_one(
        conn,
        home,
        node,
        known,
        rests_on=item.anchors,
        names=item.entities,
        actor=item.draft.origin,
        reason=reason,
        related=not item.draft.has_id,
    )
    changes.learn(conn, node, item.where, now, reworded=True)
    lessons.learned(conn, home, node, item.draft.session, now)
    return Admitted(
        node=node,
        anchors=tuple(replace(anchor, node=node.id) for anchor in item.anchors),
        masked=item.masked,
        decision=REFINES,
        why=item.why,
        before=known,
        missing=item.missing,
    )


def merged_memory(item: Ready, known: Node, now: datetime, *, apart: bool, kept: bool) -> Node:
    """Return a memory merged with a prepared draft.

    Args:
        item: the draft.
        known: the memory.
        now: when it comes.
        apart: another living memory says the same.
        kept: the memory is protected from the caller; see `is_protected_from`.

    Raises:
        YaadError: TOO_LARGE; it would have too many tags.
    """
    node = replace(
        _given(item, known, now, kept=kept),
        text=item.text,
        text_hash=item.text_hash,
        summary=words.summarise(item.text),
    )
    return replace(node, text_hash=_hash_apart(node)) if apart else node


def _reworded(conn: Connection, home: Home, item: Ready, holder: Node, now: datetime) -> Admitted:
    """Give the memory under a key the draft's words."""
    changes.require_not_in_file(conn, holder, item.text)
    if is_protected_from(conn, item.draft.origin, holder.id):
        raise YaadError(
            Code.REFUSED,
            f"A person said what is kept under the key {holder.key}: {quoted(holder.text)}; "
            "nothing was stored.",
            hint="Remember it without the key, or under another one; a person can change it: "
            f"yaadwatch edit {short_id(holder.id)}",
        )
    changes.refuse_twin(conn, replace(holder, text_hash=item.text_hash))
    done = store_over(conn, home, item, holder, now, reason=f"said under the key {holder.key}")
    return replace(done, why=f"the key {holder.key} was known")


def _refuse_other_key(draft: Draft, known: Node) -> None:
    if draft.key is not None and known.key not in (None, draft.key):
        raise YaadError(
            Code.CONFLICT,
            f"Memory {short_id(known.id)} says the same already, under the key {known.key}; "
            "nothing was stored.",
            hint=f"Keep that one; or forget it first: yaadwatch forget {short_id(known.id)}",
        )


def _refuse_other_sort(conn: Connection, item: Ready, known: Node) -> None:
    """Refuse to turn a task into a rule, or a rule into a task, by repeating it."""
    draft = item.draft
    if not draft.kind or item.kind == known.kind or draft.origin.startswith(likeness.FILE):
        return
    if not {item.kind, known.kind} & OF_ITS_OWN or is_protected_from(conn, draft.origin, known.id):
        return
    raise YaadError(
        Code.CONFLICT,
        f"Memory {short_id(known.id)} says the same already, and is a {known.kind}, no "
        f"{item.kind}; nothing was stored.",
        hint=f"Say it in other words; or forget that one first: yaadwatch forget "
        f"{short_id(known.id)}",
    )


def _require_version(conn: Connection, item: Ready) -> None:
    draft = item.draft
    holder = nodes.by_key(conn, item.scope, draft.key) if draft.key is not None else None
    if holder is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"No memory is kept under the key {draft.key}, so none is at version "
            f"{draft.expected_version}; nothing was stored.",
            hint="Leave the version out, and it becomes a new memory.",
        )
    nodes.require_version(conn, holder.id, draft.expected_version or 0)


def _rests_elsewhere(conn: Connection, item: Ready, known: Node) -> bool:
    """Return whether a file of one folder repeats the words of another on other files.

    "The config is in src/index.ts" is another statement in each package.
    """
    if not item.draft.origin.startswith(likeness.FILE) or not item.anchors:
        return False
    if place_of(item.draft.origin) == place_of(known.origin):
        return False
    rests_on = anchors.of_nodes(conn, [known.id]).get(known.id, ())
    return {(one.path, one.symbol) for one in item.anchors} != {
        (one.path, one.symbol) for one in rests_on
    }


def _hash_in_folder(item: Ready) -> str:
    """Return the hash of a statement that holds for one folder and repeats words of another."""
    return words.text_hash(f"{place_of(item.draft.origin)}\0{item.text}")


def _hash_apart(node: Node) -> str:
    """Return a hash that no words have: a later statement of the words means another memory."""
    return words.text_hash(f"{node.id}\0{node.text}")


def _made(item: Ready, now: datetime, *, id: str, created_at: datetime, tier: int) -> Node:
    return Node(
        id=id,
        kind=item.kind,
        tier=tier,
        scope=item.scope,
        text=item.text,
        text_hash=item.text_hash,
        summary=words.summarise(item.text),
        key=item.draft.key,
        tags=item.draft.tags,
        attributes=merged({}, item.draft.attributes),
        origin=item.draft.origin,
        session=item.draft.session,
        confidence=1.0,
        confirmed_at=now,
        created_at=created_at,
        updated_at=now,
        pinned=item.draft.pinned,
        from_git=item.draft.from_git,
    )


def is_protected_from(conn: Connection, origin: str, id: str) -> bool:
    """Return whether a memory is a person's, and `origin` an agent or an import."""
    return bool(protected_from(conn, origin, [id]))


def protected_from(conn: Connection, origin: str, ids: Iterable[str]) -> Collection[str]:
    """Return the `ids` that are a person's, if `origin` is an agent or an import."""
    return () if changes.is_person(origin) else fulltext.persons(conn, ids)


def _given(item: Ready, known: Node, now: datetime, *, kept: bool) -> Node:
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
        attributes = clean_attributes(
            merged(known.attributes, draft.attributes), NODE_ATTRIBUTES_BYTES_MAX
        )
    if not draft.has_id:
        package = draft.attributes.get(HOLDS_IN)
        attributes = merged(attributes, drafts.widened(known, package))
    return replace(
        stated,
        kind=item.kind if draft.kind else known.kind,
        tier=item.tier if draft.kind or draft.tier else known.tier,
        key=draft.key or known.key,
        attributes=attributes,
        pinned=known.pinned or draft.pinned,
    )


def _keep(conn: Connection, home: Home, item: Ready, node: Node, now: datetime) -> Admitted:
    writes = WriteBatch(conn, home, now)
    shared = _add(writes, item, node)
    writes.flush()
    if shared and not item.draft.has_id and not item.draft.baseline:
        relate_others(conn, node, shared, (), now)
    changes.learn(conn, node, item.where, now, fresh=True)
    lessons.learned(conn, home, node, item.draft.session, now, fresh=True)
    rests_on = tuple(replace(anchor, node=node.id) for anchor in item.anchors)
    return Admitted(
        node=node,
        anchors=rests_on,
        masked=item.masked,
        decision=NEW,
        why=item.why,
        missing=item.missing,
    )


def _add(writes: WriteBatch, item: Ready, node: Node) -> set[str]:
    return writes.add(
        node,
        rests_on=item.anchors,
        names=item.entities,
        has_headings=bool(item.draft.headings),
    )


def _repeat(conn: Connection, home: Home, item: Ready, known: Node, now: datetime) -> Admitted:
    if item.draft.baseline:
        rests_on = tuple(anchors.of_nodes(conn, [known.id]).get(known.id, ()))
        return Admitted(
            node=known, anchors=rests_on, masked=item.masked, decision=SAME, why=item.why
        )
    node = _given(item, known, now, kept=is_protected_from(conn, item.draft.origin, known.id))
    rests_on = tuple(replace(anchor, node=node.id) for anchor in item.anchors)
    change_one(
        conn,
        home,
        node,
        known,
        rests_on=rests_on,
        names=item.entities,
        actor=item.draft.origin,
        reason=f"said again, {FROM_GIT}" if item.draft.from_git else "said again",
        change="confirmed",
    )
    projects.offer_rules(conn, [node.id])
    changes.learn(conn, node, item.where, now)
    lessons.learned(conn, home, node, item.draft.session, now)
    return Admitted(
        node=node,
        anchors=rests_on,
        masked=item.masked,
        decision=SAME,
        why="said before",
        missing=item.missing,
    )
