"""Remember a statement: prepare it outside of a transaction, then store it in one.

`preparing.prepare` masks, classifies and anchors it. Agent files and `inject` bring theirs through
it, too, and no other package may classify a text, so none enters a store unmasked.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Final

from yaadwatch.api.messages.memories import Remember
from yaadwatch.db import authority, claims, edges, fulltext
from yaadwatch.db.authority import Dismissal
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import contradictions, flags, lessons, views, visibility
from yaadwatch.memory.claiming import HOLDS_IN
from yaadwatch.memory.flags import said_places
from yaadwatch.model.limits import USER, short_id
from yaadwatch.model.memories import HOT, SUPERSEDES
from yaadwatch.model.projects import of_origin
from yaadwatch.remember import drafts, preparing, storing
from yaadwatch.remember.drafts import NEW, Admitted, Draft, Ready, clean_key, clean_kind
from yaadwatch.text.quoting import places_in_words
from yaadwatch.workspace.lookup import Shelf, shelves
from yaadwatch.workspace.workspace import AGENT, PERSON, Call, Home, Space, with_more_hint

OFFERS_MAX: Final = 3
"""Flagged memories, and alike ones, that one answer names."""


def remember(home: Home, call: Call, ask: Remember) -> dict[str, object]:
    """Store a memory, or confirm the one that says the same; the answer is Remembered.

    Relative paths start at the folder that the call comes from, else at the top of the work tree.

    Raises:
        YaadError: BAD_REQUEST (empty, a kind that is not for memories, or files with the scope
            `user`), TOO_LARGE, NOT_FOUND (no watched project here, a file or definition given by
            the caller is not there, or a version is expected where there is no memory); CONFLICT
            (another version, with the words it has; or another memory says the same) and REFUSED
            (a person said it, and an agent has other words) for what is under the key.
    """
    draft = Draft(
        text=ask.text,
        origin=call.origin,
        kind=None if ask.kind is None else clean_kind(ask.kind),
        tier=ask.tier,
        key=None if ask.key is None else clean_key(ask.key),
        expected_version=ask.expected_version,
        tags=tuple(ask.tags),
        attributes=ask.attributes or {},
        files=tuple(ask.files),
        symbols=tuple(ask.symbols),
        pinned=ask.pin,
    )
    if ask.scope == USER:
        with shelves(home, call) as both:
            beside = () if both.project is None else (both.project.db,)
            admitted = admit(home, None, [draft], beside=beside)[0]
        return _answer(home, call, admitted, Shelf(db=home.user, space=None))
    of_a_project = bool(ask.files or ask.symbols) or ask.kind == "task"
    own = "" if of_a_project else "For all your projects: yaadwatch remember --scope user TEXT."
    with contextlib.ExitStack() as stack:
        with with_more_hint(own):
            space = stack.enter_context(home.space(call))
        linked = drafts.linked_tree(call, space, ask.text, ask.files)
        if linked is not None:
            call = replace(call, folder=linked / drafts.folder_of(call, space))
            space = stack.enter_context(home.space(call))
        learned = lessons.session_of(home, call, space, ask.session)
        placed = _placed(draft, call, space, learned)
        admitted = admit(home, space, [placed], beside=(home.user,))[0]
        return _answer(home, call, admitted, Shelf(db=space.db, space=space))


def _answer(home: Home, call: Call, admitted: Admitted, shelf: Shelf) -> dict[str, object]:
    before, why = admitted.before, admitted.why
    is_rule = admitted.node.tier == HOT or admitted.node.pinned
    if is_rule and visibility.is_too_long(admitted.node.text):
        why += "; too long for a rules file (2,000 characters, 4 kB): agents get its first sentence"
    answer: dict[str, object] = {
        "id": admitted.node.id,
        "kind": admitted.node.kind,
        "tier": admitted.node.tier,
        "scope": admitted.node.scope,
        "key": admitted.node.key,
        "version": admitted.node.version,
        "text": admitted.node.text,
        "why": why,
        "anchors": views.anchor_rows(admitted.anchors),
        "masked": list(admitted.masked),
        "decision": admitted.decision,
        "holds_in": admitted.node.attributes.get(HOLDS_IN),
        "missing": [asdict(one) for one in admitted.missing] or None,
        "supersedes": None,
    }
    if admitted.node.origin != PERSON:  # a person's own needs no look
        answer |= shelf.db.read(_whose, admitted.node.id)
    else:
        whose = replace(
            of_origin(admitted.node.origin, admitted.node.created_at), scope=admitted.node.scope
        )
        answer |= views.by_row(whose) | {"waits": False}
    if before is not None:
        answer["supersedes"] = {
            "id": before.id,
            "version": before.version,
            "text": before.text,
            **{
                name: answer[name]
                for name in ("by", "said_at", "approved_at", "unverified", "reach")
            },
        }
    against = (
        contradictions.contradicts_row(home, shelf, admitted.node.id)
        if admitted.has_conflict
        else {}
    )
    return answer | against | _offers(shelf, call, admitted)


def _offers(shelf: Shelf, call: Call, admitted: Admitted) -> dict[str, object]:
    """Return the part of an answer that names flagged and similar memories; mostly empty."""
    if shelf.space is None or not (admitted.flagged or admitted.alike):
        return {}
    others, shown = admitted.alike[:OFFERS_MAX], admitted.flagged[:OFFERS_MAX]
    ids = [one.node.id for one in shown]
    whose = shelf.db.read(authority.of_nodes, [*ids, *(one.id for one in others)])
    persons = shelf.db.read(fulltext.persons, ids)
    places = shelf.db.read(said_places, shelf.space.worktree.id, ids)
    flagged = []
    for one in shown:
        old, said = one.node.id, places.get(one.node.id, ())
        where = places_in_words(said)
        link = f"yaadwatch link {short_id(admitted.node.id)} {SUPERSEDES} {short_id(old)}"
        only_person = call.origin.startswith(AGENT) and old in persons
        row: dict[str, object] = {
            "id": old,
            "text": one.node.summary,
            "verdict": one.flag.verdict.value,
            "reason": one.flag.reason,
            "on": one.on,
            "replace": f"edit the line {where}" if where else link,
            "replaced_by": "person" if only_person else "you",
            **views.by_row(whose.get(old)),
        }
        flagged.append(row | ({"said_in": [place._asdict() for place in said]} if said else {}))
    alike = [
        {"id": one.id, "text": one.summary, **views.by_row(whose.get(one.id))} for one in others
    ]
    found: dict[str, object] = {"alike": alike or None}
    if flagged:
        found |= {"flagged": flagged, "flagged_more": len(admitted.flagged) - len(shown) or None}
    return found


def _whose(conn: Connection, node: str) -> dict[str, object]:
    """Return the authority of a memory, and whether it waits for a person's approval."""
    whose = views.by_row(authority.of_nodes(conn, [node]).get(node))
    return whose | {"waits": authority.is_waiting(conn, node)}


def admit(
    home: Home, space: Space | None, drafts: Sequence[Draft], *, beside: Sequence[Database] = ()
) -> list[Admitted]:
    """Store drafts, all or none, in one transaction; results in their order.

    A draft that repeats a living memory confirms it with its current anchors when a caller states
    it, and leaves it unchanged when a person's file does.

    Args:
        home: the machine's state.
        space: the work tree that they are about; None for the user's own store.
        drafts: the statements.
        beside: other stores in which a person may have dismissed what agents and imports state.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE, NOT_FOUND, as for `remember`.
    """
    now = home.clock.now()
    ready = preparing.prepare(home, space, drafts)
    db = home.user if space is None else space.db

    elsewhere: dict[str, Dismissal] = {}
    for item in ready if beside else ():
        elsewhere |= visibility.in_stores(beside, [item.text], actor=item.draft.origin)

    def commit(conn: Connection) -> list[Admitted]:
        stored = [storing.store(conn, home, item, now, elsewhere=elsewhere) for item in ready]
        # Read here: another connection would have to read the new pages again.
        return [
            _with_others(conn, space, item, one) for item, one in zip(ready, stored, strict=True)
        ]

    view = next((item.view for item in ready), None)
    return db.write(seen_from, view, commit)


def _with_others(conn: Connection, space: Space | None, item: Ready, one: Admitted) -> Admitted:
    """Add to the outcome of a draft the memories that it may contradict, replace or repeat."""
    node = one.node
    conflict = bool(claims.of_node(conn, node.id)) or (
        one.decision != NEW
        and bool(edges.successors(conn, [node.id]) or edges.predecessors(conn, node.id))
    )
    one = replace(one, has_conflict=conflict)
    if space is None or not item.draft.is_stated:
        return one
    flagged = flags.flagged_beside(conn, space.worktree.id, node, one.anchors)
    alike = storing.alike(conn, node, one.anchors) if one.decision == NEW else ()
    return replace(one, flagged=tuple(flagged), alike=tuple(alike))


def _placed(draft: Draft, call: Call, space: Space, session: str) -> Draft:
    """Return a session's draft with its files relative to the top of the work tree."""
    here = drafts.folder_of(call, space)
    files = tuple(drafts.file_of(path, here, space) for path in draft.files)
    package = drafts.package_of(space.root, here)
    if package and draft.kind != "task":
        attributes = {HOLDS_IN: package, **draft.attributes}
        draft = replace(draft, attributes=attributes)
    return replace(draft, folder=here, files=files, session=session)
