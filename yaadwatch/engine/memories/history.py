"""What became of a memory, change by change; and an older version of it brought back."""

from collections.abc import Callable
from dataclasses import replace

from yaadwatch.api.messages.memories import History, Restore, Update
from yaadwatch.core import text
from yaadwatch.engine import json_views, node_changes
from yaadwatch.engine.authority import dismissing
from yaadwatch.engine.memories import curate, mend, proposing
from yaadwatch.engine.remember import preparing
from yaadwatch.engine.remember.write_batch import change_one
from yaadwatch.engine.store_lookup import shelves
from yaadwatch.engine.truth import contradicting
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.anchors import Anchor
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import Node, Version
from yaadwatch.model.settings import HISTORY_CHARS_MAX, HISTORY_SHOWN_MAX
from yaadwatch.store import anchors, nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority, versions
from yaadwatch.store.truth.erasing import INSTEAD
from yaadwatch.store.visibility import seen_from


def history(home: Home, call: Call, ask: History) -> dict[str, object]:
    """Return the versions of a memory with who made each and why, oldest first.

    The answer is History; of very many, or very long ones, the newest.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when `id` does not name exactly one.
    """
    with shelves(home, call) as both:
        held = both.find(ask.id)
        node, (past, more) = held.db.read(_with_latest, held.id)
        whose = held.db.read(authority.of_nodes, [held.id]).get(held.id)
    return {
        "id": node.id,
        "version": node.version,
        "archived_at": node.archived_at,
        "versions": [
            {
                "version": one.version,
                "at": one.at,
                "change": one.change,
                "by": authority.author_of(one),
                "reason": one.reason or None,
                "kind": one.kind,
                "tier": one.tier,
                "text": one.text,
            }
            for one in past
        ],
        "more": more,
        **json_views.by_row(whose),
    }


def restore(home: Home, call: Call, ask: Restore) -> dict[str, object]:
    """Bring a forgotten memory back; or its words, kind and tier as they were in one version.

    With `version` that is a new version, and the answer is Updated; else Changed. It rests on what
    the words name, as that is now.

    Raises:
        YaadError: NOT_FOUND (no such version, too), BAD_REQUEST, CONFLICT as for `show`; CONFLICT
            when another living memory says the same, or somebody changed it meanwhile; REFUSED when
            a person's own file says it, or the words of that version were erased.
    """
    if ask.version is None:
        return curate.restore(home, call, id=ask.id)
    return bring_back(home, call, id=ask.id, version=ask.version)


def bring_back(
    home: Home,
    call: Call,
    *,
    id: str,
    version: int,
    change: str = "restored",
    also: Callable[[Connection], None] = lambda _conn: None,
) -> dict[str, object]:
    """Do what `restore` does with a version, for an agent to propose it; the answer is Updated.

    Args:
        home: what may be reached.
        call: whose project.
        id: of the memory, archived or not.
        version: the number of the version that it shall read like.
        change: what the new version calls this.
        also: what to do in the same transaction, afterwards.

    Raises:
        YaadError: as for `restore`.
    """
    with shelves(home, call) as both:
        held = both.find(id)
        node, every = held.db.read(_with_versions, held.id)
        past = _named(node, every, version)
        held.db.read(node_changes.refuse_said, node, past.text)
        if held.db.read(proposing.is_needed, node.id, actor=call.origin):
            return mend.update(home, call, Update(id=node.id, text=past.text))
        unwanted = dismissing.in_stores(both.beside(held), [past.text], actor=call.origin)
        old = held.db.read(_anchors, node.id)
        now = home.clock.now()
        back = replace(
            node,
            kind=past.kind,
            tier=past.tier,
            text=past.text,
            text_hash=text.text_hash(past.text),
            summary=text.summarise(past.text),
            confidence=1.0,
            confirmed_at=now,
            updated_at=now,
            archived_at=None,
            archive_reason=None,
            version=node.version + 1,
        )
        kept = [anchor for anchor in old if anchor.trust != "text"]
        rested = preparing.anchor_again(home, held.shelf.space, back, kept)
        rests_on = rested.anchors
        named = preparing.named_in(home, held.shelf.space, back.text)
        view = view_of(home, held.shelf)

        def commit(conn: Connection) -> None:
            dismissing.refuse(conn, back.text, actor=call.origin, elsewhere=unwanted)
            node_changes.refuse_twin(conn, back)
            node_changes.refuse_said(conn, node, back.text)
            change_one(
                conn,
                home,
                back,
                node,
                rests_on=rests_on,
                names=named,
                actor=call.origin,
                reason=f"as in version {version}",
                change=change,
            )
            node_changes.settle(conn, back, rested.where, now, reworded=True)
            also(conn)

        held.db.write(seen_from, view, commit)
        against = contradicting.told(home, held.shelf, back.id)
        row = mend.updated(mend.Mended(before=node, after=back, anchors=rests_on, masked=()))
        told = held.db.read(json_views.attributed, [row])[0]
    undo = f"yaadwatch restore {called(node.id)} --version {node.version}"
    return told | against | {"undo": undo}


def _named(node: Node, every: list[Version], number: int) -> Version:
    """Return the version with this number.

    Raises:
        YaadError: NOT_FOUND, with those that there are; REFUSED when its words were erased.
    """
    short = called(node.id)
    past = next((one for one in every if one.version == number), None)
    if past is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"Memory {short} has no version {number}; it has {every[0].version} to "
            f"{every[-1].version}. Nothing was restored."
            if every
            else f"Memory {short} has no versions; nothing was restored.",
            hint=f"What each of them says: yaadwatch history {short}",
        )
    if past.text == INSTEAD:
        raise YaadError(
            Code.REFUSED,
            f"The words of version {number} of memory {short} were erased; nothing was restored.",
            hint=f"The others: yaadwatch history {short}",
        )
    return past


def _with_versions(conn: Connection, node_id: str) -> tuple[Node, list[Version]]:
    return _there(conn, node_id), versions.of_node(conn, node_id)


def _with_latest(conn: Connection, node_id: str) -> tuple[Node, tuple[list[Version], int]]:
    found = versions.latest(conn, node_id, limit=HISTORY_SHOWN_MAX, chars=HISTORY_CHARS_MAX)
    return _there(conn, node_id), found


def _there(conn: Connection, node_id: str) -> Node:
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {called(node_id)} was erased meanwhile.")
    return node


def _anchors(conn: Connection, node_id: str) -> list[Anchor]:
    return list(anchors.of_nodes(conn, [node_id]).get(node_id, ()))
