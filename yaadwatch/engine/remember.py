"""The one door for writes: raw text in, a masked, classified, anchored memory out.

Nothing else may use the ingest policies, so nothing enters a store unmasked.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from yaadwatch.core import privacy, text
from yaadwatch.core.ingest import classify
from yaadwatch.core.privacy import Masked
from yaadwatch.engine import telling, writing
from yaadwatch.engine.anchored import anchoring, seeing
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import WorkTree, look_at
from yaadwatch.engine.learning import current, lessons
from yaadwatch.engine.workspace import Call, Home, Space
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import HOT, THINGS, Node, canonical_kind
from yaadwatch.model.settings import ANCHORS_PER_NODE_MAX, TEXT_CHARS_MAX
from yaadwatch.store import anchors, nodes
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A statement on its way in; `folder` is where its relative paths start.

    `session` is the id of the one it is said in, if it is said in one. One that `has_id` of its own
    is never taken for a memory that says the same.
    """

    text: str
    origin: str
    kind: str | None = None
    tier: int | None = None
    headings: tuple[str, ...] = ()
    folder: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    pinned: bool = False
    baseline: bool = False
    has_id: bool = False
    session: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """What became of a draft; `decision` is 'new' or 'same'."""

    node: Node
    anchors: tuple[Anchor, ...]
    masked: tuple[str, ...]
    decision: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """A draft with everything decided that does not need the store."""

    draft: Draft
    text: str
    masked: tuple[str, ...]
    kind: str
    tier: int
    why: str
    anchors: tuple[Anchor, ...]


def remember(
    home: Home,
    call: Call,
    *,
    text: str,
    kind: str | None = None,
    tier: int | None = None,
    tags: Sequence[str] = (),
    files: Sequence[str] = (),
    symbols: Sequence[str] = (),
    pin: bool = False,
    session: str | None = None,
) -> dict[str, object]:
    """Store a memory, or confirm the one that says the same; the answer is Remembered.

    Relative paths start at the folder that the call comes from, else at the top of the work tree.
    It is learned in `session`, else in the one that the call is part of.

    Raises:
        YaadError: BAD_REQUEST (empty, or a kind that is not for memories), TOO_LARGE, NOT_FOUND (no
            watched project here, or a file or definition given by the caller is not there).
    """
    if kind is not None and canonical_kind(kind) in THINGS:
        raise YaadError(
            Code.BAD_REQUEST,
            f"The kind {canonical_kind(kind)} is kept for what memories touch; nothing was stored.",
            hint="Leave the kind out, and it is chosen from the text.",
        )
    with home.space(call) as space:
        here = folder_of(call, space)
        draft = Draft(
            text=text,
            origin=call.origin,
            kind=kind,
            tier=tier,
            folder=here,
            tags=tuple(tags),
            files=tuple(_given_file(path, here, space) for path in files),
            symbols=tuple(symbols),
            pinned=pin,
            session=current.session_of(home, call, space, session),
        )
        admitted = admit(home, space, [draft])[0]
    return {
        "id": admitted.node.id,
        "kind": admitted.node.kind,
        "tier": admitted.node.tier,
        "text": admitted.node.text,
        "why": admitted.why,
        "anchors": [telling.anchor_row(anchor) for anchor in admitted.anchors],
        "masked": list(admitted.masked),
        "decision": admitted.decision,
    }


def admit(home: Home, space: Space, drafts: Sequence[Draft]) -> list[Admitted]:
    """Store drafts, all or none, in one transaction; answers come in their order.

    A draft that says what a living node says already is that node: said by a caller it is confirmed
    (and rests on the files as they are now), read from a person's file it is left as it is.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE, NOT_FOUND, as for `remember`.
    """
    now = home.clock.now()
    ready = prepare(home, space, drafts)

    def commit(conn: Connection) -> list[Admitted]:
        return [store(conn, home, item, now) for item in ready]

    return space.db.write(commit)


def clean(raw: str) -> Masked:
    """Return a text as it may be stored.

    Raises:
        YaadError: BAD_REQUEST when it is empty, TOO_LARGE.
    """
    return privacy.mask(_checked(raw))


def anchor_again(
    home: Home, space: Space, node: Node, old: Sequence[Anchor], *, folder: str = ""
) -> list[Anchor]:
    """Return what a memory rests on as things are now; its paths may start in `folder`.

    What its text names is found afresh; what was given by the caller or followed to another place
    is kept where it still exists; what is gone is dropped.
    """
    tree, head = look_at(space, (), home.clock.now_ns())
    source = Source(text=node.text, folder=folder)
    found = anchoring.anchor([source], tree, head.head.commit)[0]
    return [replace(anchor, node=node.id) for anchor in _followed(old, found, tree, head)]


def _followed(
    old: Sequence[Anchor], found: Sequence[Anchor], tree: WorkTree, head: AtHead
) -> list[Anchor]:
    """Return `found`, and after them the `old` anchors that still are somewhere, as they are now.

    What the caller had named by itself stays so, whatever else names it.
    What cannot be told just now stays as it was. At most 16.
    """
    both = {(anchor.path, anchor.symbol): anchor for anchor in found}
    for anchor in old:
        seen = seeing.see(anchor, tree, head)
        if seen.unknown:
            both.setdefault((anchor.path, anchor.symbol), anchor)
            continue
        place = seen.place or (seen.elsewhere[0] if len(seen.elsewhere) == 1 else None)
        if place is None:
            continue
        if (place, anchor.symbol) in both:
            if anchor.trust == "given":
                named = both[place, anchor.symbol]
                both[place, anchor.symbol] = replace(named, trust=anchor.trust)
            continue
        again = anchoring.again(anchor, place, tree, head.head.commit)
        if again is not None:
            both[place, anchor.symbol] = again
    return list(both.values())[:ANCHORS_PER_NODE_MAX]


def folder_of(call: Call, space: Space) -> str:
    """Return the folder that a call comes from, relative to the top of the work tree."""
    here = call.folder.resolve()
    return here.relative_to(space.root).as_posix() if here.is_relative_to(space.root) else ""


def _given_file(given: str, here: str, space: Space) -> str:
    """Return a path that the caller gave as it is from the top of the work tree.

    Raises:
        YaadError: NOT_FOUND; it leads out of the work tree.
    """
    place = place_of(given, here, space)
    if place is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"{given} is outside of {space.root}; nothing was stored.",
            hint="A memory can rest on files of its own work tree only.",
        )
    return place


def place_of(given: str, here: str, space: Space) -> str | None:
    """Return a path as it is from the top of the work tree; None when it leads out of that.

    A relative one starts in the folder `here`, or at the top where that is what exists.
    """
    top = str(space.root)
    if given.startswith("/"):
        # The links above the file are followed, as those above the work tree were.
        folder, name = os.path.split(given)
        places = [os.path.relpath(f"{Path(folder).resolve()}/{name}", top)]
    else:
        places = [os.path.normpath(f"{start}/{given}") for start in (here or ".", ".")]
    inside = [place for place in places if place != ".." and not place.startswith("../")]
    if not inside:
        return None
    there = (place for place in inside if os.path.lexists(f"{top}/{place}"))
    return next(there, inside[-1])


def prepare(home: Home, space: Space, drafts: Sequence[Draft]) -> list[Ready]:
    """Mask, classify and anchor drafts; nothing is stored yet.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE, NOT_FOUND, as for `remember`.
    """
    masked = [clean(draft.text) for draft in drafts]
    cleaned = [
        replace(draft, text=m.text, tags=tuple(dict.fromkeys(map(_masked, draft.tags))))
        for draft, m in zip(drafts, masked, strict=True)
    ]
    tree, head = look_at(space, (), home.clock.now_ns())
    for draft in cleaned:
        _require_files(draft, tree)
    sources = [
        Source(text=draft.text, folder=draft.folder, files=draft.files, symbols=draft.symbols)
        for draft in cleaned
    ]
    anchored = anchoring.anchor(sources, tree, head.head.commit)
    ready = []
    for draft, mask, found in zip(cleaned, masked, anchored, strict=True):
        _require_symbols(draft, found)
        old = () if draft.baseline or draft.has_id else space.db.read(_anchors_of_text, draft.text)
        sort = classify.classify(
            draft.text, headings=draft.headings, kind=draft.kind, tier=draft.tier
        )
        ready.append(
            Ready(
                draft=draft,
                text=" ".join(draft.text.split()) if draft.baseline else draft.text.strip(),
                masked=mask.kinds,
                kind=sort.kind,
                tier=sort.tier,
                why=sort.why,
                anchors=tuple(_followed(old, found, tree, head)),
            )
        )
    return ready


def _checked(raw: str) -> str:
    if not raw.strip():
        raise YaadError(
            Code.BAD_REQUEST, "The text is empty; nothing was stored.", hint="Say what to remember."
        )
    if len(raw) > TEXT_CHARS_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"The text has {len(raw)} characters, more than {TEXT_CHARS_MAX}; nothing was stored.",
            hint="Put it into a file of the project, and remember in a sentence where it is.",
        )
    return raw


def _masked(tag: str) -> str:
    return privacy.mask(tag).text


def _anchors_of_text(conn: Connection, said: str) -> Sequence[Anchor]:
    """Return what the living memory that says the same rests on."""
    known = nodes.by_hash(conn, "project", text.text_hash(said), thing=False)
    return anchors.of_nodes(conn, [known.id])[known.id] if known is not None else ()


def _require_files(draft: Draft, tree: WorkTree) -> None:
    for path in draft.files:
        found = tree.find(path)
        if found is not None and found.kind in ("file", "too_large"):
            continue
        reason = found.odd if found is not None else f"There is no file {path} in this work tree"
        raise YaadError(
            Code.NOT_FOUND,
            f"{reason}; nothing was stored.",
            hint="Give a file of this work tree; relative paths start where you are, or at its "
            "top.",
        )


def _require_symbols(draft: Draft, found: Sequence[Anchor]) -> None:
    for symbol in draft.symbols:
        if not any(anchor.symbol == symbol for anchor in found):
            raise YaadError(
                Code.NOT_FOUND,
                f"{symbol} is defined in none of the files that were named, nor in exactly one "
                "file of the work tree; nothing was stored.",
                hint="Give the file that defines it too.",
            )


def store(conn: Connection, home: Home, item: Ready, now: datetime) -> Admitted:
    """Store a prepared draft inside a transaction, or confirm the memory that says the same."""
    known = nodes.by_hash(conn, "project", text.text_hash(item.text), thing=False)
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
    return Admitted(node=node, anchors=rests_on, masked=item.masked, decision="same", why=item.why)


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
        scope="project",
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
    return Admitted(node=node, anchors=rests_on, masked=item.masked, decision="new", why=item.why)


def _said_again(conn: Connection, home: Home, item: Ready, known: Node, now: datetime) -> Admitted:
    if item.draft.baseline:
        rests_on = tuple(anchors.of_nodes(conn, [known.id]).get(known.id, ()))
        return Admitted(
            node=known, anchors=rests_on, masked=item.masked, decision="same", why=item.why
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
    lessons.learned(conn, home, node, draft.session, now)
    return Admitted(
        node=node, anchors=rests_on, masked=item.masked, decision="same", why="said before"
    )
