"""Link memories and remove links; flags propagate along them.

An edge that ended stays with its time of validity. Deleting is for an edge that never held.
"""

import json
import shlex
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from yaadwatch.api.messages.graph import CloseLink, DeleteEdge, Link, Unlink
from yaadwatch.db import authority, edges, history
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, views, visibility
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import instant
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import SUPERSEDES, Edge, Node, canonical_relation
from yaadwatch.model.projects import Authority
from yaadwatch.model.settings import EDGE_ATTRIBUTES_BYTES_MAX
from yaadwatch.remember.drafts import clean_attributes, refuse_secret
from yaadwatch.remember.write_batch import require, require_living
from yaadwatch.text import privacy
from yaadwatch.workspace.lookup import shelves
from yaadwatch.workspace.workspace import Call, Home

OURS = {
    "touches": "Name the file when you remember: yaadwatch remember --file PATH",
    "learned_in": "It is made when something is remembered in a session.",
}
"""Kinds that follow from what a memory rests on, and where it was learned; and what to do then."""


def link(home: Home, call: Call, ask: Link) -> dict[str, object]:
    """Add an edge between two memories; the answer is Linked.

    Said again it changes nothing but the weight, and the attributes when there are any.

    Raises:
        YaadError: NOT_FOUND, BAD_REQUEST or CONFLICT when an id does not name exactly one;
            BAD_REQUEST too for a memory and itself, and a future time; CONFLICT when it held at
            that time already; TOO_LARGE for the attributes; REFUSED when one of them is archived,
            the kind is not for callers, it would close a circle that its kind must not have, or an
            agent would have one memory of a person supersede another.
    """
    kind = given_kind(ask.kind)
    with shelves(home, call) as both:
        held, other = both.pair(ask.id, ask.to)
        start, end = held.id, other.id
        if start == end:
            raise YaadError(
                Code.BAD_REQUEST,
                f"{ask.id} and {ask.to} are the same memory; nothing was linked.",
                hint="Name two different ones.",
            )
        now = home.clock.now()
        edge = Edge(
            from_node=start,
            to_node=end,
            kind=kind,
            weight=1.0 if ask.weight is None else ask.weight,
            attributes=clean_attributes(ask.attributes or {}, EDGE_ATTRIBUTES_BYTES_MAX),
            created_at=now,
            valid_from=now if ask.since is None else past("since", ask.since, now),
        )
        before, after, ends = held.db.write(_link, edge, now, ask, actor=call.origin)
        whose = held.db.read(authority.of_nodes, ends)
    changed = before is not None and after != before
    undo = "" if before else f"yaadwatch unlink {short_id(start)} {kind} {short_id(end)}"
    if before is not None and changed:
        undo = _again(before, whole=True)
    return _row(after, ends, whose, undo) | {
        "made": before is None,
        "changed": changed,
        "masked": list(privacy.tree_kinds(ask.attributes or {})),
    }


def unlink(home: Home, call: Call, ask: Unlink) -> dict[str, object]:
    """End the edge between two memories, if it exists; the answer is Unlinked.

    Raises:
        YaadError: as for `link`; archived memories may be unlinked, and circles are no matter.
    """
    kind = given_kind(ask.kind)
    with shelves(home, call) as both:
        held, other = both.pair(ask.id, ask.to)
        start, end = held.id, other.id
        now = home.clock.now()
        edge = Edge(from_node=start, to_node=end, kind=kind, created_at=now, valid_from=now)
        ends, ended = held.db.write(_unlink, edge, now, actor=call.origin)
        whose = held.db.read(authority.of_nodes, ends)
    if ended is None:
        return _row(edge, ends, whose, "") | {"ended": False}
    return _row(ended, ends, whose, _again(ended)) | {"ended": True}


def close_link(home: Home, call: Call, ask: CloseLink) -> dict[str, object]:
    """End one edge, by its number, now or at an earlier time; the answer is Unlinked.

    Numbers are those of the project's store; where no project is watched, of the user's own.

    Raises:
        YaadError: NOT_FOUND when there is no such edge; BAD_REQUEST when it begins after `at`, or
            is in the future; CONFLICT when it ended at another time; REFUSED when its kind is not
            for callers.
    """
    with shelves(home, call) as both:
        now = home.clock.now()
        ending = now if ask.at is None else past("at", ask.at, now)
        ended, ends, before = both.nearest.db.write(
            _close, ask.edge, ending, now, dated=ask.at is not None, actor=call.origin
        )
        whose = both.nearest.db.read(authority.of_nodes, ends)
    undo = "" if before else _again(ended, since=ended.valid_until)
    return _row(ended, ends, whose, undo) | {"ended": not before}


def delete_edge(home: Home, call: Call, ask: DeleteEdge) -> dict[str, object]:
    """Delete an edge as if it had never been, if it exists; the answer is DeletedEdge.

    Raises:
        YaadError: BAD_REQUEST unless `edge`, or the three others, are given; CONFLICT when an id
            names several; REFUSED when its kind is not for callers.
    """
    now = home.clock.now()
    with shelves(home, call) as both:
        if ask.edge is not None and (ask.id, ask.kind, ask.to) == (None, None, None):
            gone = both.nearest.db.write(_delete, ask.edge, now, actor=call.origin)
        elif (
            ask.edge is None and ask.id is not None and ask.kind is not None and ask.to is not None
        ):
            wanted = given_kind(ask.kind)
            ends = both.pair_there(ask.id, ask.to)
            if ends is None:
                return {"deleted": 0, "edges": [], "undo": None}
            held, other = ends
            like = Edge(
                from_node=held.id, to_node=other.id, kind=wanted, created_at=now, valid_from=now
            )
            gone = held.db.write(_delete, like, now, actor=call.origin)
        else:
            raise YaadError(
                Code.BAD_REQUEST,
                "A relation is named by its number, or by both memories and the kind; nothing was "
                "deleted.",
                hint="The numbers: yaadwatch show ID --view all",
            )
    single = len(gone) == 1 and gone[0].valid_until is None
    return {
        "deleted": len(gone),
        "edges": [views.edge_row(one) for one in gone],
        "undo": _again(gone[0], since=gone[0].valid_from) if single else None,
    }


@lru_cache(maxsize=64)
def given_kind(given: str) -> str:
    """Return a kind of edge that a caller gave, in its stored form.

    Raises:
        YaadError: BAD_REQUEST when it looks like a secret; REFUSED when edges of this kind are
            made by yaadwatch alone.
    """
    kind = canonical_relation(given)
    refuse_secret(
        "kind", given, hint="Say in a word what the one is to the other: supports, fixes ..."
    )
    if kind in OURS:
        raise YaadError(
            Code.REFUSED,
            f"Edges of the kind {kind} are made by yaadwatch alone; nothing was changed.",
            hint=OURS[kind],
        )
    return kind


def past(name: str, given: str, now: datetime) -> datetime:
    """Return a time that a caller gave.

    Raises:
        YaadError: BAD_REQUEST when it is in the future.
    """
    at = instant(name, given)
    if at > now:
        raise YaadError(
            Code.BAD_REQUEST,
            f"{name} is {given}, which is still to come; nothing was changed.",
            hint="Say it when it is so.",
        )
    return at


def _link(
    conn: Connection, edge: Edge, now: datetime, ask: Link, *, actor: str
) -> tuple[Edge | None, Edge, dict[str, Node]]:
    """Add or change an edge; return it before and after, and the memories at its ends."""
    ends = {end: require_living(conn, end) for end in (edge.from_node, edge.to_node)}
    before = _open(conn, edge)
    if before is not None:
        if ask.since is not None and before.valid_from != edge.valid_from:
            raise YaadError(
                Code.CONFLICT,
                f"They are linked since {events.time_text(before.valid_from)} already (edge "
                f"{before.id}); nothing was changed.",
                hint=f"Delete that one first: yaadwatch graph delete-link {before.id}",
            )
        attributes = None if ask.attributes is None else edge.attributes
        edges.update(conn, edge, now, weight=ask.weight, attributes=attributes)
        return before, _open(conn, edge) or edge, ends
    old = ends[edge.to_node]
    supersedes = edge.kind == SUPERSEDES
    if supersedes and not changes.may_supersede(conn, edge.from_node, old.id, actor=actor):
        raise YaadError(
            Code.REFUSED,
            f'A person said "{old.summary}" ({short_id(old.id)}), and only a person can supersede '
            "it with another of theirs; nothing was linked.",
            hint="Ask the person to run: yaadwatch link "
            f"{short_id(edge.from_node)} {SUPERSEDES} {short_id(old.id)}",
        )
    (edges.begin if ask.since is None else edges.insert)(conn, edge)
    history.append_edge(conn, events.EDGE_CREATED, edge, now)
    if supersedes:
        changes.note_superseded(conn, edge.from_node, old, now, actor=actor)
    return None, _open(conn, edge) or edge, ends


def _refuse_to_end(conn: Connection, edge: Edge, ends: dict[str, Node], *, actor: str) -> None:
    """Refuse to let an agent end an edge by which a person's memory supersedes another.

    Ending it could make the other memory a rule.

    Raises:
        YaadError: REFUSED.
    """
    if edge.kind == SUPERSEDES:
        visibility.refuse_agent(conn, ends[edge.from_node], actor=actor, change="unlinked")


def _open(conn: Connection, edge: Edge) -> Edge | None:
    """Return the stored open edge that equals `edge`."""
    return next((one for one in edges.equal(conn, edge) if one.valid_until is None), None)


def _unlink(
    conn: Connection, edge: Edge, now: datetime, *, actor: str
) -> tuple[dict[str, Node], Edge | None]:
    """Return both ends, and the edge that existed."""
    ends = _ends(conn, edge)
    there = _open(conn, edge)
    if there is None:
        return ends, None
    return ends, _end(conn, there, ends, now, now, actor=actor)


def _close(
    conn: Connection, number: int, at: datetime, now: datetime, *, dated: bool, actor: str
) -> tuple[Edge, dict[str, Node], bool]:
    """Return the edge after the change, its ends, and whether it had ended before."""
    there = edges.get(conn, number)
    if there is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no edge {number}; nothing was changed.",
            hint="The numbers of a memory's edges: yaadwatch show ID --view all",
        )
    given_kind(there.kind)
    ends = _ends(conn, there)
    if there.valid_until is not None:
        if dated and there.valid_until != at:
            raise YaadError(
                Code.CONFLICT,
                f"Edge {number} ended at {events.time_text(there.valid_until)} already; "
                "nothing was changed.",
                hint="If that is wrong, delete it and link again: yaadwatch graph delete-link "
                f"{number}",
            )
        return there, ends, True
    if dated and at < there.valid_from:
        raise YaadError(
            Code.BAD_REQUEST,
            f"Edge {number} holds since {events.time_text(there.valid_from)} and cannot end before "
            "that; nothing was changed.",
            hint=f"If it never held: yaadwatch graph delete-link {number}",
        )
    return _end(conn, there, ends, at, now, actor=actor), ends, False


def _end(
    conn: Connection,
    edge: Edge,
    ends: dict[str, Node],
    at: datetime,
    now: datetime,
    *,
    actor: str,
) -> Edge:
    """End an open edge at a time; return the ended edge."""
    _refuse_to_end(conn, edge, ends, actor=actor)
    edges.close(conn, [edge], at)
    history.append_edge(conn, events.EDGE_CLOSED, edge, now)
    if edge.kind == SUPERSEDES:
        changes.undo_superseded(conn, edge.from_node, now, actor=actor)
    return edges.get(conn, edge.id) or edge


def _delete(conn: Connection, which: int | Edge, now: datetime, *, actor: str) -> list[Edge]:
    """Delete one edge by its number, or all that equal another; return them."""
    one = edges.get(conn, which) if isinstance(which, int) else None
    gone = edges.equal(conn, which) if isinstance(which, Edge) else [one] if one else []
    for edge in gone:
        given_kind(edge.kind)
        if edge.valid_until is None:
            _refuse_to_end(conn, edge, _ends(conn, edge), actor=actor)
        history.append_edge(conn, events.EDGE_CLOSED, edge, now, deleted=True)
    edges.erase(conn, [edge.id for edge in gone])
    for edge in gone:
        if edge.valid_until is None and edge.kind == SUPERSEDES:
            changes.undo_superseded(conn, edge.from_node, now, actor=actor)
    return gone


def _again(edge: Edge, *, since: datetime | None = None, whole: bool = False) -> str:
    """Return the command that makes an edge again; `whole`: with all of its properties."""
    said = f"yaadwatch link {short_id(edge.from_node)} {edge.kind} {short_id(edge.to_node)}"
    if edge.weight != 1.0 or whole:
        said += f" --weight {edge.weight!r}"
    if since is not None:
        said += f" --since {events.time_text(since)}"
    if edge.attributes or whole:
        attributes = json.dumps(dict(edge.attributes), ensure_ascii=False, separators=(",", ":"))
        said += f" --attributes {shlex.quote(attributes)}"
    return said


def _ends(conn: Connection, edge: Edge) -> dict[str, Node]:
    return {end: require(conn, end) for end in (edge.from_node, edge.to_node)}


def _row(
    edge: Edge, ends: dict[str, Node], whose: Mapping[str, Authority], undo: str
) -> dict[str, object]:
    of_end = views.by_row(whose.get(edge.to_node))
    return (
        views.edge_row(edge)
        | {
            "id": edge.from_node,
            "text": ends[edge.from_node].text,
            "to_text": ends[edge.to_node].text,
            "undo": undo or None,
        }
        | views.by_row(whose.get(edge.from_node))
        | {f"to_{name}": of_end[name] for name in ("by", "unverified", "reach")}
    )
