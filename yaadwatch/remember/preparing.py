"""Prepare statements before the write transaction: mask, classify, anchor."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from bridges.instructing import is_strict
from bridges.rules import Statement
from yaadwatch.anchors import facts
from yaadwatch.anchors.definitions import last_part
from yaadwatch.db import anchors, checks, edges, sessions
from yaadwatch.db.files import Connection
from yaadwatch.memory.changes import NOWHERE, Where
from yaadwatch.memory.visibility import checkout_of, view_of
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ANCHORS_PER_NODE_MAX, PROJECT, USER
from yaadwatch.model.memories import HOT, Node
from yaadwatch.model.settings import NODE_ATTRIBUTES_BYTES_MAX, SYMBOL_FILES_MAX
from yaadwatch.remember import classify
from yaadwatch.remember import drafts as remember_drafts
from yaadwatch.remember.drafts import Draft, Ready, clean, clean_attributes
from yaadwatch.remember.storing import Match, find
from yaadwatch.repo.command import NoGit
from yaadwatch.staleness import anchor_state, anchoring, assessing, file_state, uncommitted
from yaadwatch.staleness.anchor_search import Source
from yaadwatch.staleness.commits import AtHead
from yaadwatch.staleness.verdict import BY_NAME, DEFINED, Span
from yaadwatch.staleness.worktree import WorkTree, look_at
from yaadwatch.text import privacy
from yaadwatch.text.privacy import Masked
from yaadwatch.text.quoting import as_name
from yaadwatch.text.words import text_hash
from yaadwatch.workspace import large_jobs, lookup
from yaadwatch.workspace.workspace import Home, Space

DRAFTS_MAX: Final = 8
"""Of more statements about a large repository another process finds what they rest on."""


def prepare(home: Home, space: Space | None, drafts: Sequence[Draft]) -> list[Ready]:
    """Mask, classify and anchor drafts; nothing is stored yet.

    Args:
        home: the machine's state.
        space: the work tree that they are about; None for the user's own store, whose memories
            rest on no files.
        drafts: the statements.

    Raises:
        YaadError: BAD_REQUEST (an empty text; files for the user's own store), TOO_LARGE (a text;
            the store has reached its budget), NOT_FOUND (a file or definition given by the caller
            is not there).
    """
    is_small = len(drafts) < DRAFTS_MAX
    if space is not None and large_jobs.has_process(home, space, small=is_small):
        return large_jobs.run(home, space, prepare, drafts)
    masked = [draft.cleaned or clean(draft.text) for draft in drafts]
    cleaned = [_cleaned(draft, m) for draft, m in zip(drafts, masked, strict=True)]
    scope, db = (USER, home.user) if space is None else (PROJECT, space.db)
    hashes = [text_hash(draft.text) for draft in cleaned]
    known = db.read(_look, cleaned, hashes, scope)
    lookup.refuse_beyond(home, db, known.used)
    placed: list[tuple[Sequence[Anchor], Where]] = [((), NOWHERE) for _ in cleaned]
    used: Mapping[str, str] = {}
    if space is None:
        if any(draft.files or draft.symbols for draft in cleaned):
            raise YaadError(
                Code.BAD_REQUEST,
                "A memory of your own rests on no files, for it holds in every project; nothing "
                "was stored.",
                hint="Leave the files out; or remember it in the project: --scope project",
            )
    else:
        tree, head = look_at(space, (), home.clock.now_ns())
        try:
            anchored = _anchored(cleaned, known, tree, head)
            used = _packages(tree)
        except NoGit:
            raise NoGit(
                "nothing was stored: git is needed to find what a statement rests on"
            ) from None
        placed = [_placed(*one, space, tree, head) for one in zip(cleaned, anchored, strict=True)]
    view = view_of(home, space) if known.replaced and space is not None else None
    ready = []
    for given, draft, digest, text, (rests_on, where) in zip(
        drafts, cleaned, hashes, masked, placed, strict=True
    ):
        kinds = (*text.kinds, *privacy.tree_kinds((given.tags, dict(given.attributes))))
        sort = classify.classify(
            draft.text, headings=draft.headings, kind=draft.kind, tier=draft.tier
        )
        ready.append(
            Ready(
                draft=draft,
                scope=scope,
                text=" ".join(draft.text.split()) if draft.baseline else draft.text.strip(),
                text_hash=digest,
                masked=tuple(dict.fromkeys(kinds)),
                kind=sort.kind,
                tier=sort.tier,
                why=sort.why,
                anchors=tuple(rests_on),
                entities=tuple(classify.entities(draft.text, used)),
                where=where,
                view=view,
                missing=remember_drafts.missing(draft, rests_on, tree)
                if space is not None and draft.is_stated
                else (),
            )
        )
    return ready


def kind_of(statement: Statement) -> str | None:
    """Return the kind of a file's statement, if its whole text does not show it.

    Its own words decide then, without a heading or other words in front of them. What must or must
    not be done is a rule.
    """
    if not statement.stays and is_strict(statement.own):
        said = classify.classify(statement.text, headings=statement.headings, kind=statement.kind)
        if said.tier != HOT:
            return "convention"
    if statement.kind is not None or not statement.lead:
        return statement.kind
    sort = classify.classify(statement.own, headings=statement.headings)
    return sort.kind if sort.tier == HOT else None


def _cleaned(draft: Draft, masked: Masked) -> Draft:
    if masked.text is draft.text and not draft.tags and not draft.attributes:
        return draft
    return replace(
        draft,
        text=masked.text,
        tags=tuple(dict.fromkeys(privacy.kept(tag).text for tag in draft.tags)),
        attributes=clean_attributes(draft.attributes, NODE_ATTRIBUTES_BYTES_MAX),
    )


def _placed(
    draft: Draft, anchors: Sequence[Anchor], space: Space, tree: WorkTree, head: AtHead
) -> tuple[Sequence[Anchor], Where]:
    """Return the anchors of a draft, and where it is learned.

    A statement of a file from before the watch, and one with a given id, is learned nowhere.
    """
    if draft.baseline or draft.has_id:
        return anchors, NOWHERE
    anchors = uncommitted.marked(anchors, tree, head)
    commit = head.head.commit
    if uncommitted.is_provisional(anchors):
        return anchors, Where(commit=commit, checkout=checkout_of(space, head.head))
    return anchors, Where(commit="" if draft.is_in_file else commit)


class Rested(NamedTuple):
    """The anchors of a memory, and where it is learned."""

    anchors: Sequence[Anchor]
    where: Where = NOWHERE


def reanchored(
    home: Home,
    space: Space | None,
    node: Node,
    old: Sequence[Anchor],
    *,
    folder: str = "",
    keeps_changes: bool = False,
) -> Rested:
    """Return the current anchors of a memory; its paths may start in `folder`.

    Anchors of the text are searched again; anchors that the caller gave, and moved ones, stay where
    they still exist; the rest is dropped. A memory of the user's own store (`space` None) has none.
    With `keeps_changes`, a changed anchor keeps its old state at its new place, so that the change
    is still flagged.

    Raises:
        NoGit: git cannot be run, so the anchors are unknown.
    """
    if space is None:
        return Rested([])
    tree, head = look_at(space, (), home.clock.now_ns())
    source = Source(text=node.text, folder=folder)
    try:
        found = anchoring.anchor([source], tree, head.head.commit)[0]
    except NoGit:
        raise NoGit("nothing was changed: git is needed to find what a memory rests on") from None
    rests_on = _followed(old, found, tree, head)
    if keeps_changes:
        rests_on = _with_changes(old, rests_on, tree, head)
    rests_on = uncommitted.marked(rests_on, tree, head)
    loose = uncommitted.is_provisional(rests_on)
    checkout = checkout_of(space, head.head) if loose else None
    where = Where(commit=head.head.commit, checkout=checkout)
    return Rested([replace(anchor, node=node.id) for anchor in rests_on], where)


class _Known(NamedTuple):
    """What a store knows of some drafts: its size, and the memories they seem to repeat.

    `before`: the anchors of these memories, by id. `touched`: the files of the drafts' sessions, by
    session id. `replaced`: whether others supersede one of these memories.
    """

    used: int
    matches: Sequence[Match | None]
    before: Mapping[str, Sequence[Anchor]]
    touched: Mapping[str, tuple[str, ...]]
    replaced: bool


def _look(conn: Connection, drafts: Sequence[Draft], hashes: Sequence[str], scope: str) -> _Known:
    """Return what the store knows of drafts; only drafts of callers repeat its memories."""
    matches = [
        None if draft.baseline or draft.has_id else find(conn, draft, digest, scope)
        for draft, digest in zip(drafts, hashes, strict=True)
    ]
    meant = [one.node.id for one in matches if one is not None]
    before = anchors.of_nodes(conn, meant) if meant else {}
    said_in = {draft.session for draft in drafts if draft.session is not None}
    touched = {one: tuple(sessions.files(conn, one)) for one in said_in} if scope == PROJECT else {}
    replaced = any(edges.is_superseded(conn, node) for node in meant)
    return _Known(checks.bytes_used(conn), matches, before, touched, replaced)


def _anchored(
    drafts: Sequence[Draft],
    known: _Known,
    tree: WorkTree,
    head: AtHead,
) -> list[list[Anchor]]:
    """Return the anchors of drafts; a repeated memory keeps its own as well."""
    for draft in drafts:
        _require_files(draft, tree)
    sources = [
        Source(
            text=draft.text,
            folder=draft.folder,
            files=draft.files,
            symbols=draft.symbols,
            touched=known.touched.get(draft.session or "", ()),
        )
        for draft in drafts
    ]
    anchored = []
    found_all = anchoring.anchor(sources, tree, head.head.commit)
    for draft, found, match in zip(drafts, found_all, known.matches, strict=True):
        _require_symbols(draft, found, tree)
        old: Sequence[Anchor] = () if match is None else known.before[match.node.id]
        if match is not None and match.by_key:
            old = anchors_named_by(draft.text, old)
        rests_on = _followed(old, found, tree, head)
        if match is not None and not match.by_key:
            # Repeating a false sentence does not make it true: what is false stays flagged.
            said = match.node.text
            wrong = [
                one
                for one in old
                if assessing.is_false(assessing.observe(said, one, tree, head), said)
            ]
            rests_on = _with(rests_on, wrong)
        anchored.append(rests_on)
    return anchored


def _with(now: Sequence[Anchor], others: Sequence[Anchor]) -> list[Anchor]:
    """Return anchors with others in the place of those on the same path and symbol; 16 at most."""
    both = {(anchor.path, anchor.symbol): anchor for anchor in (*now, *others)}
    return list(both.values())[:ANCHORS_PER_NODE_MAX]


def _followed(
    old: Sequence[Anchor], found: Sequence[Anchor], tree: WorkTree, head: AtHead
) -> list[Anchor]:
    """Return `found`, and then the `old` anchors that still exist, as they are now.

    Anchors that the caller gave stay so. What is unknown now stays unchanged. At most 16.
    """
    both = {(anchor.path, anchor.symbol): anchor for anchor in found}
    for anchor in uncommitted.with_bases(old, head):
        seen = anchor_state.see(anchor, tree, head)
        if seen.unknown:
            both.setdefault((anchor.path, anchor.symbol), anchor)
            continue
        if anchor.method in BY_NAME and seen.span is not Span.SAME:
            continue  # its file is there, and what was found in it is not
        place = seen.place or (seen.elsewhere[0] if len(seen.elsewhere) == 1 else None)
        if place is None:
            continue
        if (place, anchor.symbol) in both:
            if anchor.trust == "given":
                named = both[place, anchor.symbol]
                both[place, anchor.symbol] = replace(named, trust=anchor.trust)
            continue
        again = anchoring.anchor_now(anchor, place, tree, head.head.commit)
        if again is not None:
            both[place, anchor.symbol] = again
    return list(both.values())[:ANCHORS_PER_NODE_MAX]


def _with_changes(
    old: Sequence[Anchor], now: Sequence[Anchor], tree: WorkTree, head: AtHead
) -> list[Anchor]:
    """Return `now` with changed `old` anchors in their old state, at their new place.

    A changed definition counts as given: a caller that keeps the change wants to hear of it.
    """
    changed = []
    for anchor in old:
        seen = anchor_state.see(anchor, tree, head)
        place = seen.place if seen.span is Span.DIFFERENT else None
        if anchor.method in DEFINED and seen.rewritten and len(seen.elsewhere) == 1:
            place = seen.elsewhere[0]
        if place is not None:
            trust = "given" if anchor.method in DEFINED else anchor.trust
            changed.append(replace(anchor, path=place, trust=trust))
    return _with(now, changed)


def _packages(tree: WorkTree) -> dict[str, str]:
    """Return the packages that a work tree's manifests list, plain name to ecosystem."""
    used: dict[str, str] = {}
    for path in tree.listing().named_any(facts.PACKAGE_FILES)[:SYMBOL_FILES_MAX]:
        said = (tree.read(path) or b"").decode("utf-8", "replace")
        used |= facts.packages(path.rpartition("/")[2], said)
    return used


def entities_named_in(home: Home, space: Space | None, said: str) -> list[str]:
    """Return the packages, addresses and ports that a masked text names."""
    packages: Mapping[str, str] = {}
    if space is not None:
        # Without git no manifest is found; a memory can be restored all the same.
        with contextlib.suppress(NoGit):
            packages = _packages(look_at(space, (), home.clock.now_ns())[0])
    return classify.entities(said, packages)


def anchors_named_by(said: str, old: Sequence[Anchor]) -> list[Anchor]:
    """Return the anchors that other words keep: given by the caller, or still named."""
    return [
        anchor
        for anchor in old
        if anchor.trust != "text"
        or (last_part(anchor.symbol) if anchor.symbol else anchor.path.rpartition("/")[2]) in said
    ]


def _require_files(draft: Draft, tree: WorkTree) -> None:
    for path in draft.files:
        found = tree.find(path)
        if found is not None and found.kind in ("file", "too_large"):
            continue
        reason = found.odd if found is not None else f"There is no file {path} in this work tree"
        nearest = remember_drafts.nearest_file(path, tree) if found is None else ""
        raise YaadError(
            Code.NOT_FOUND,
            f"{reason}; nothing was stored.",
            hint=f"Did you mean {as_name(nearest)}?"
            if nearest
            else "Give a file of this work tree; relative paths start where you are or at its top.",
        )


def _require_symbols(draft: Draft, found: Sequence[Anchor], tree: WorkTree) -> None:
    """Refuse missing definitions that the caller gave, with the reason.

    Raises:
        YaadError: NOT_FOUND; REFUSED when it is unknown.
    """
    for symbol in draft.symbols:
        if not any(anchor.symbol == symbol for anchor in found):
            named = dict.fromkeys((*draft.files, *(anchor.path for anchor in found)))
            why = (file_state.why_untold(tree, path, symbol) for path in named)
            if reason := next(filter(None, why), ""):
                raise YaadError(
                    Code.REFUSED,
                    f"{reason}; nothing was stored.",
                    hint="Without --symbol, the memory rests on the file.",
                )
            nearest = remember_drafts.nearest_definition(symbol, found, draft.files, tree)
            raise YaadError(
                Code.NOT_FOUND,
                f"No named file defines {symbol}, and in the work tree none or several files do; "
                "nothing was stored.",
                hint=f"Did you mean {nearest}?"
                if nearest
                else "Name the file that defines it, too.",
            )
