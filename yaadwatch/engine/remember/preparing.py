"""What can be decided of statements before the store is written: masked, classified, anchored."""

from collections.abc import Sequence
from dataclasses import replace

from yaadwatch.core import privacy, text
from yaadwatch.core.ingest import classify
from yaadwatch.engine import budget
from yaadwatch.engine.anchored import anchoring, seeing
from yaadwatch.engine.anchored.anchoring import Source
from yaadwatch.engine.anchored.commit import AtHead
from yaadwatch.engine.anchored.worktree import WorkTree, look_at
from yaadwatch.engine.remember.drafts import Draft, Ready, clean
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import Node
from yaadwatch.model.settings import ANCHORS_PER_NODE_MAX
from yaadwatch.store import anchors, nodes
from yaadwatch.store.connection import Connection


def prepare(home: Home, space: Space | None, drafts: Sequence[Draft]) -> list[Ready]:
    """Mask, classify and anchor drafts; nothing is stored yet.

    Args:
        home: what may be reached.
        space: the work tree that they are about; None for the user's own store, whose memories
            rest on no files.
        drafts: the statements.

    Raises:
        YaadError: BAD_REQUEST (an empty text; files for the user's own store), TOO_LARGE (a text;
            the store has reached its budget), NOT_FOUND (a file or definition given by the caller
            is not there).
    """
    budget.require_room(home, home.user if space is None else space.db)
    masked = [clean(draft.text) for draft in drafts]
    cleaned = [
        replace(
            draft,
            text=m.text,
            tags=tuple(dict.fromkeys(map(_masked, draft.tags))),
            attributes=privacy.mask_tree(draft.attributes),
        )
        for draft, m in zip(drafts, masked, strict=True)
    ]
    anchored = _no_anchors(cleaned) if space is None else _anchored(home, space, cleaned)
    ready = []
    for draft, mask, rests_on in zip(cleaned, masked, anchored, strict=True):
        sort = classify.classify(
            draft.text, headings=draft.headings, kind=draft.kind, tier=draft.tier
        )
        ready.append(
            Ready(
                draft=draft,
                scope="user" if space is None else "project",
                text=" ".join(draft.text.split()) if draft.baseline else draft.text.strip(),
                masked=mask.kinds,
                kind=sort.kind,
                tier=sort.tier,
                why=sort.why,
                anchors=tuple(rests_on),
            )
        )
    return ready


def anchor_again(
    home: Home, space: Space | None, node: Node, old: Sequence[Anchor], *, folder: str = ""
) -> list[Anchor]:
    """Return what a memory rests on as things are now; its paths may start in `folder`.

    What its text names is found afresh; what was given by the caller or followed to another place
    is kept where it still exists; what is gone is dropped. A memory of the user's own store
    (`space` None) rests on nothing.
    """
    if space is None:
        return []
    tree, head = look_at(space, (), home.clock.now_ns())
    source = Source(text=node.text, folder=folder)
    found = anchoring.anchor([source], tree, head.head.commit)[0]
    return [replace(anchor, node=node.id) for anchor in _followed(old, found, tree, head)]


def _masked(tag: str) -> str:
    return privacy.mask(tag).text


def _no_anchors(drafts: Sequence[Draft]) -> list[list[Anchor]]:
    for draft in drafts:
        if draft.files or draft.symbols:
            raise YaadError(
                Code.BAD_REQUEST,
                "A memory of your own rests on no files, for it holds in every project; nothing "
                "was stored.",
                hint="Leave the files out; or remember it in the project: --scope project",
            )
    return [[] for _ in drafts]


def _anchored(home: Home, space: Space, drafts: Sequence[Draft]) -> list[list[Anchor]]:
    """Return what drafts rest on; one that says what a memory says, on what that rests on too."""
    tree, head = look_at(space, (), home.clock.now_ns())
    for draft in drafts:
        _require_files(draft, tree)
    sources = [
        Source(text=draft.text, folder=draft.folder, files=draft.files, symbols=draft.symbols)
        for draft in drafts
    ]
    anchored = []
    found_all = anchoring.anchor(sources, tree, head.head.commit)
    for draft, found in zip(drafts, found_all, strict=True):
        _require_symbols(draft, found)
        old = () if draft.baseline or draft.has_id else space.db.read(_anchors_of_text, draft.text)
        anchored.append(_followed(old, found, tree, head))
    return anchored


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
