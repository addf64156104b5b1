"""Show, forget, restore, confirm, pin and delete single memories.

Forgetting can be undone. Deleting removes a memory for good, with everything that depends on it.
"""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from yaadwatch.api.messages.graph import DeleteNode
from yaadwatch.api.messages.memories import Confirm, Forget, Pin, Show, Tag, Unpin
from yaadwatch.db import anchors, authority, edges, history, nodes, projects
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory import changes, contradictions, flags, lessons, views, visibility
from yaadwatch.memory.flags import said_places
from yaadwatch.memory.visibility import view_of
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.limits import ALL, TAGS_MAX, short_id
from yaadwatch.model.memories import HOT, Node
from yaadwatch.remember import preparing, proposing
from yaadwatch.remember.write_batch import change_one, require, require_living
from yaadwatch.staleness import assessing
from yaadwatch.staleness.worktree import look_at
from yaadwatch.text import privacy, words
from yaadwatch.workspace.lookup import LocatedMemory, shelves
from yaadwatch.workspace.workspace import Call, Home


def refuse_false(
    home: Home, held: LocatedMemory, node: Node, anchors: Sequence[Anchor], *, anyway: bool
) -> None:
    """Refuse to confirm what is false for certain.

    Args:
        home: the machine's state.
        held: where the memory is.
        node: the memory.
        anchors: what it rests on.
        anyway: the caller knows, and confirms it all the same. What `yaadwatch check` finds
            false in a person's own file is refused even so, because it would go on finding it.

    Raises:
        YaadError: REFUSED, with what is false and what to do.
    """
    space = held.shelf.space
    if space is None or not anchors:
        return
    tree, head = look_at(space, (), home.clock.now_ns())
    assessing.expect_anchors(anchors, head)
    found = assessing.assess(node.text, anchors, tree, head)
    reasons = [one.reason for one in found.observations if assessing.is_false(one, node.text)]
    if not reasons:
        return
    why = "; ".join(dict.fromkeys(reasons[:3]))
    short = short_id(node.id)
    said = held.db.read(said_places, space.worktree.id, [node.id]).get(node.id, ())
    if said and found.level:
        place = f"{said[0].path} (line {said[0].line})"
        raise YaadError(
            Code.REFUSED,
            f"What memory {short} says is false: {why}. It was not confirmed, because "
            f"`yaadwatch check` finds it false in {place}, too.",
            hint=f"Correct or delete it there: {place}",
        )
    if anyway:
        return
    offer = found.suggestion
    correct = f"yaadwatch {'reanchor' if offer is not None and offer.text else 'edit'} {short}"
    raise YaadError(
        Code.REFUSED,
        f"What memory {short} says is false: {why}. It was not confirmed.",
        hint=f"Correct it: {correct}. If it is true all the same: yaadwatch confirm {short} --yes"
        " (in a request: anyway true)",
    )


_Change = Callable[[Connection, Node, datetime], Node]


def show(home: Home, call: Call, ask: Show) -> dict[str, object]:
    """Return everything known about one memory; the answer is Shown.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when `id` does not name exactly one.
    """
    with shelves(home, call) as both:
        held = both.find(ask.id)
        shown = held.db.read(_show, held.id, held.shelf.worktree, home, ask.view)
        later = changes.superseded_by(home, held.shelf, held.id)
    return shown | {"superseded_by": None} | later


def forget(home: Home, call: Call, ask: Forget) -> dict[str, object]:
    """Archive a memory: it is not recalled or flagged any more; the answer is Changed.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; REFUSED when a person's own file
            still says it, or an agent forgets a person's rule.
    """
    why = privacy.kept(ask.reason.strip()).text

    def change(conn: Connection, node: Node, now: datetime) -> Node:
        if node.archived_at is not None:
            return node
        if visibility.is_rule(node):
            visibility.refuse_agent(conn, node, actor=call.origin, change="forgotten")
        for place in history.provenance_of_node(conn, node.id):
            if place.line is not None:
                tree = next(row for row in projects.all_worktrees(conn) if row.id == place.worktree)
                there = shlex.quote(str(tree.path / place.path))
                raise YaadError(
                    Code.REFUSED,
                    f"{place.path} (line {place.line}) still says this; it was not forgotten.",
                    hint=f"Delete it there, and it is forgotten here by itself: {there}",
                )
        return changes.archive(conn, node, now, actor=call.origin, reason=why or "forgotten")

    return _change(home, call, ask.id, change, undo="restore")


def restore(home: Home, call: Call, *, id: str) -> dict[str, object]:
    """Restore a forgotten memory with the anchors it had.

    Changes in its files since then show at the next check. The answer is Changed.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; CONFLICT too when a living memory
            says the same, or has its key.
    """

    with shelves(home, call) as both:
        held = both.find(id)
        said = held.db.read(require, held.id).text
        elsewhere = visibility.in_stores(both.beside(held), [said], actor=call.origin)

    def change(conn: Connection, node: Node, now: datetime) -> Node:
        if node.archived_at is None:
            return node
        visibility.refuse(conn, node.text, actor=call.origin, elsewhere=elsewhere)
        changes.refuse_twin(conn, node)
        return changes.unarchive(conn, node, now, actor=call.origin)

    return _change(
        home,
        call,
        held.id,
        change,
        undo="forget",
        restates=lambda node: node.archived_at is not None,
    )


def confirm(home: Home, call: Call, ask: Confirm) -> dict[str, object]:
    """Confirm that a memory is true now: its flags go, its age starts again.

    It is anchored again: anchors that moved are followed, anchors that are gone are dropped.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; REFUSED when it is archived, and
            as for `refuse_false`; CONFLICT when another caller changed it meanwhile, or an
            agent reworded a note of its own since it was stated.
    """
    with shelves(home, call) as both:
        held = both.find(ask.id)
        node = held.db.read(require_living, held.id)
        old = held.db.read(anchors.of_nodes, [node.id])[node.id]
        held.db.read(proposing.require_shown, node, actor=call.origin)
        refuse_false(home, held, node, old, anyway=ask.anyway)
        rests_on = preparing.reanchored(home, held.shelf.space, node, old)
        now = home.clock.now()
        confirmed = replace(
            node, confidence=1.0, confirmed_at=now, updated_at=now, version=node.version + 1
        )
        view = view_of(home, held.shelf)

        def change(conn: Connection) -> None:
            change_one(
                conn,
                home,
                confirmed,
                rests_on=rests_on.anchors,
                names=None,
                actor=call.origin,
                change="confirmed",
            )
            changes.learn(conn, confirmed, rests_on.where, now)

        held.db.write(seen_from, view, change)
        against = contradictions.contradicts_row(home, held.shelf, node.id)
        answer = held.db.read(views.attributed, [views.changed_row(confirmed)])[0]
        return answer | against


def pin(home: Home, call: Call, ask: Pin) -> dict[str, object]:
    """Keep a memory from ageing, and rank it a little higher; the answer is Changed.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; REFUSED when it is archived;
            CONFLICT when an agent gave a note of its own other words since it was stated.
    """
    return _set_pin(home, call, ask.id, pinned=True)


def unpin(home: Home, call: Call, ask: Unpin) -> dict[str, object]:
    """Let a memory age again; the answer is Changed.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; REFUSED when it is archived.
    """
    return _set_pin(home, call, ask.id, pinned=False)


def tag(home: Home, call: Call, ask: Tag) -> dict[str, object]:
    """Put tags on a memory and take others off; the answer is Changed, with its tags.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST, CONFLICT as for `show`; CONFLICT, with its words, when it
            is at another version; REFUSED when it is archived; TOO_LARGE when it would have more
            tags than 32.
    """
    masked = [privacy.kept(one.strip()) for one in ask.add]
    new = [one.text for one in masked]
    gone = {form(one.strip()).text for one in ask.remove for form in (privacy.mask, privacy.kept)}

    def change(conn: Connection, node: Node, now: datetime) -> Node:
        require_living(conn, node.id)
        if ask.expected_version is not None:
            nodes.require_version(conn, node.id, ask.expected_version)
        kept = tuple(one for one in dict.fromkeys((*node.tags, *new)) if one not in gone)
        if kept == node.tags:
            return node
        if len(kept) > TAGS_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"Memory {short_id(node.id)} would have {len(kept)} tags, more than {TAGS_MAX}; "
                "nothing was changed.",
                hint="Take some off: yaadwatch tag ID --remove TAG",
            )
        done = replace(node, tags=kept, updated_at=now, version=node.version + 1)
        changes.save(conn, done, "tagged", actor=call.origin)
        changes.index(conn, done)
        return done

    with shelves(home, call) as both:
        held = both.find(ask.id)
        before, after = _changed(home, held, change)
        options = [f"--remove {shlex.quote(one)}" for one in after.tags if one not in before.tags]
        options += [f"--add {shlex.quote(one)}" for one in before.tags if one not in after.tags]
        undo = " ".join(["yaadwatch tag", short_id(after.id), *options]) if options else ""
        answer = held.db.read(views.attributed, [views.changed_row(after, undo=undo)])[0]
    return answer | {
        "version": after.version,
        "tags": list(after.tags),
        "masked": list(dict.fromkeys(kind for one in masked for kind in one.kinds)),
    }


def _set_pin(home: Home, call: Call, fragment: str, *, pinned: bool) -> dict[str, object]:
    def change(conn: Connection, node: Node, now: datetime) -> Node:
        require_living(conn, node.id)
        if pinned:
            proposing.require_shown(conn, node, actor=call.origin)
            projects.offer_rules(conn, [node.id])
        if node.pinned == pinned:
            return node
        if not pinned and node.tier != HOT:
            # What is a person's rule by its pin stays so for an agent.
            past = history.versions_of_node(conn, node.id)
            pins = [one.actor for one in past if one.change == "pinned"]
            if not pins or visibility.is_persons(pins[-1]):
                visibility.refuse_agent(conn, node, actor=call.origin, change="unpinned")
        done = replace(node, pinned=pinned, updated_at=now, version=node.version + 1)
        changes.save(conn, done, "pinned" if pinned else "unpinned", actor=call.origin)
        return done

    undo = "unpin" if pinned else "pin"
    restates = (lambda node: node.archived_at is None) if pinned else None
    return _change(home, call, fragment, change, undo=undo, restates=restates)


def _change(
    home: Home,
    call: Call,
    fragment: str,
    change: _Change,
    *,
    undo: str,
    restates: Callable[[Node], bool] | None = None,
) -> dict[str, object]:
    """Change one memory in a transaction.

    `undo` is the command that reverses it; `restates`: whether the change states the memory, as it
    was before, again. The answer names contradictions of such a statement.
    """
    with shelves(home, call) as both:
        held = both.find(fragment)
        view = view_of(home, held.shelf) if restates is not None else None

        def also(conn: Connection, node: Node, now: datetime) -> Node:
            done = change(conn, node, now)
            if restates is not None and restates(node):
                changes.reopen_superseded(conn, node.id, now, actor=call.origin)
            return done

        before, after = _changed(home, held, also, view)
        against = (
            contradictions.contradicts_row(home, held.shelf, after.id)
            if restates is not None
            else {}
        )
        back = f"yaadwatch {undo} {short_id(after.id)}" if before.version != after.version else ""
        row = views.changed_row(after, undo=back)
        return held.db.read(views.attributed, [row])[0] | against


def _changed(
    home: Home, held: LocatedMemory, change: _Change, view: View | None = None
) -> tuple[Node, Node]:
    """Change one memory in a transaction; return it before and after."""
    now = home.clock.now()

    def commit(conn: Connection) -> tuple[Node, Node]:
        node = require(conn, held.id)
        done = change(conn, node, now)
        if done.version != node.version:
            lessons.around(conn, node.id, now)
        return node, done

    return held.db.write(seen_from, view, commit)


def _show(
    conn: Connection, node_id: str, worktree: int, home: Home, view: str
) -> dict[str, object]:
    node = require(conn, node_id)
    flag = flags.spread_flags_of(conn, worktree, [node_id]).get(node_id)
    places = history.provenance_of_node(conn, node_id)
    own = said_places(conn, worktree, [node_id]).get(node_id, ())
    trees = {row.id: str(row.path) for row in projects.all_worktrees(conn)}
    related, more_edges = edges.some_of_node(conn, node_id, view, 200)
    past, more_versions = history.latest_version(conn, node_id, limit=100, chars=200_000)
    ends = [edge.to_node if edge.from_node == node_id else edge.from_node for edge in related]
    others = nodes.many(conn, ends)
    whose = authority.of_nodes(conn, ends)
    left = flags.confidences(conn, [node], home.settings, home.clock.now())[node_id]
    return {
        "id": node.id,
        "kind": node.kind,
        "tier": node.tier,
        "scope": node.scope,
        "text": node.text,
        "key": node.key,
        "tags": list(node.tags),
        "attributes": dict(node.attributes),
        "origin": node.origin,
        **views.by_row(authority.of_nodes(conn, [node_id]).get(node_id)),
        "pinned": node.pinned,
        "version": node.version,
        "confidence": round(left, 3),
        "created_at": node.created_at,
        "updated_at": node.updated_at,
        "confirmed_at": node.confirmed_at,
        "archived_at": node.archived_at,
        "archive_reason": node.archive_reason,
        "anchors": [
            views.anchor_row(anchor) | {"commit": anchor.commit or None}
            for anchor in anchors.of_nodes(conn, [node_id]).get(node_id, ())
        ],
        "provenance": [
            {"worktree": trees.get(place.worktree), "path": place.path, "line": place.line}
            for place in places
        ],
        "edges": [
            views.edge_row(edge)
            | {
                "text": others[end].text if len(others[end].text) <= 1_000 else others[end].summary,
                "archived": others[end].archived_at is not None,
            }
            | views.by_row(whose.get(end))
            for edge, end in zip(related, ends, strict=True)
        ],
        "edges_more": more_edges,
        "versions": [
            {
                "version": version.version,
                "at": version.at,
                "change": version.change,
                "by": authority.author_of(version),
                "text": version.text,
            }
            for version in past
        ],
        "versions_more": more_versions,
        "stale": views.flag_row(flag, node, own) if flag is not None else None,
    }


def delete_node(home: Home, call: Call, ask: DeleteNode) -> dict[str, object]:
    """Delete a memory, its history and its edges, if it exists; the answer is DeletedNode.

    Raises:
        YaadError: CONFLICT when `id` names several; REFUSED when a person's own file says it, or
            it stands in the block of an agent file, or an agent deletes a person's.
    """
    with shelves(home, call) as both:
        held = both.there(ask.id)
        if held is None:
            return {"deleted": False, "edges": 0}
        return held.db.write(_delete, held.id, home.clock.now(), call.origin)


def _delete(conn: Connection, node_id: str, now: datetime, actor: str) -> dict[str, object]:
    node = nodes.get(conn, node_id)
    if node is None:
        return {"deleted": False, "edges": 0}
    visibility.refuse_agent(conn, node, actor=actor, change="deleted")
    for place in history.provenance_of_node(conn, node_id):
        if place.line is not None:
            raise YaadError(
                Code.REFUSED,
                f"{place.path} (line {place.line}) still says this; it was not deleted.",
                hint=f"Delete it there, then: yaadwatch graph delete {short_id(node_id)}",
            )
    # What was agreed goes with the node, and then its line in a block would be taken for one that
    # somebody has typed; in a block that git brings back, a tombstone keeps it from that.
    if files := projects.agreed_files(conn, node_id):
        raise YaadError(
            Code.REFUSED,
            f"Memory {short_id(node_id)} stands in the block of {' and '.join(files)}; it was not "
            "deleted.",
            hint=f"Forget it first, and delete it then: yaadwatch forget {short_id(node_id)}",
        )
    related = edges.of_node(conn, node_id, ALL)
    whose = authority.of_nodes(conn, [node_id]).get(node_id)
    for worktree, path in projects.agreed_places(conn, node_id):
        projects.note_taken_out(conn, worktree, path, [words.text_hash(node.text)], now)
    visibility.note_dismissed(conn, node, now, actor=actor, reason="")
    lessons.drop_note(conn, node.text, now)
    lessons.without(conn, node_id, now)
    nodes.erase(conn, [node_id])
    history.redact_events(conn, node_id)
    history.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node_id))
    return {
        "deleted": True,
        "id": node_id,
        "text": node.text,
        "edges": len(related),
        "at": now,
        **views.by_row(whose),
    }
