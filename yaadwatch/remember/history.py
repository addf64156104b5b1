"""Return the history of a memory, restore an older version, and find what a file change would flag.

The impact of a file follows the same edges and rule as existing flags do, see `memory.impact`;
every memory of the file counts as flagged in full.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from yaadwatch.anchors.definitions import last_part
from yaadwatch.api.messages.memories import History, Impact, Restore, Update
from yaadwatch.db import anchors, authority, nodes, visibility
from yaadwatch.db import history as db_history
from yaadwatch.db.erasing import INSTEAD
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import changes, contradictions, flags, views
from yaadwatch.memory import impact as memory_impact
from yaadwatch.memory import visibility as memory_visibility
from yaadwatch.memory.impact import Graph, Reached
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.anchors import Anchor, Flag
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import THINGS, Edge, Node, Version
from yaadwatch.model.projects import Authority
from yaadwatch.model.settings import HISTORY_CHARS_MAX, HISTORY_SHOWN_MAX, IMPACT_NODES_MAX
from yaadwatch.remember import curate, edit, preparing, proposing
from yaadwatch.remember.drafts import folder_of, place_of
from yaadwatch.remember.write_batch import change_one
from yaadwatch.staleness import stale
from yaadwatch.text import words
from yaadwatch.workspace.lookup import shelves
from yaadwatch.workspace.workspace import Call, Home, Space


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
        **views.by_row(whose),
    }


def restore(home: Home, call: Call, ask: Restore) -> dict[str, object]:
    """Restore a forgotten memory; or its words, kind and tier of one version.

    With `version` that is a new version, and the answer is Updated; else Changed. It rests on what
    the words name, as that is now.

    Raises:
        YaadError: NOT_FOUND (no such version, too), BAD_REQUEST, CONFLICT as for `show`; CONFLICT
            when another living memory says the same, or it was changed meanwhile; REFUSED when
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
    """Restore a version as `restore` does, or let an agent propose it; the answer is Updated.

    Args:
        home: the machine's state.
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
        held.db.read(changes.require_not_in_file, node, past.text)
        if held.db.read(proposing.is_needed, node.id, actor=call.origin):
            return edit.update(home, call, Update(id=node.id, text=past.text))
        unwanted = memory_visibility.in_stores(both.beside(held), [past.text], actor=call.origin)
        old = held.db.read(_anchors, node.id)
        now = home.clock.now()
        back = replace(
            node,
            kind=past.kind,
            tier=past.tier,
            text=past.text,
            text_hash=words.text_hash(past.text),
            summary=words.summarise(past.text),
            confidence=1.0,
            confirmed_at=now,
            updated_at=now,
            archived_at=None,
            archive_reason=None,
            version=node.version + 1,
        )
        kept = [anchor for anchor in old if anchor.trust != "text"]
        rested = preparing.reanchored(home, held.shelf.space, back, kept)
        rests_on = rested.anchors
        named = preparing.entities_named_in(home, held.shelf.space, back.text)
        view = view_of(home, held.shelf)

        def commit(conn: Connection) -> None:
            memory_visibility.refuse(conn, back.text, actor=call.origin, elsewhere=unwanted)
            changes.refuse_twin(conn, back)
            changes.require_not_in_file(conn, node, back.text)
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
            changes.settle(conn, back, rested.where, now, reworded=True)
            also(conn)

        held.db.write(seen_from, view, commit)
        against = contradictions.contradicts_row(home, held.shelf, back.id)
        row = edit.updated(edit.Edited(before=node, after=back, anchors=rests_on, masked=()))
        answer = held.db.read(views.attributed, [row])[0]
    undo = f"yaadwatch restore {short_id(node.id)} --version {node.version}"
    return answer | against | {"undo": undo}


def _named(node: Node, every: list[Version], number: int) -> Version:
    """Return the version with this number.

    Raises:
        YaadError: NOT_FOUND, with those that there are; REFUSED when its words were erased.
    """
    short = short_id(node.id)
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
    return _there(conn, node_id), db_history.versions_of_node(conn, node_id)


def _with_latest(conn: Connection, node_id: str) -> tuple[Node, tuple[list[Version], int]]:
    found = db_history.latest_version(
        conn, node_id, limit=HISTORY_SHOWN_MAX, chars=HISTORY_CHARS_MAX
    )
    return _there(conn, node_id), found


def _there(conn: Connection, node_id: str) -> Node:
    node = nodes.get(conn, node_id)
    if node is None:
        raise YaadError(Code.NOT_FOUND, f"Memory {short_id(node_id)} was erased meanwhile.")
    return node


def _anchors(conn: Connection, node_id: str) -> list[Anchor]:
    return list(anchors.of_nodes(conn, [node_id]).get(node_id, ()))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """The subject of an impact query: a file, or a folder; and maybe a definition."""

    path: str
    symbol: str
    there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resting:
    """The memories that rest on a target, strongest first; `hidden`: how many of other branches."""

    reached: Sequence[Reached]
    more: int
    hidden: int
    known: dict[str, Node]
    on: dict[str, list[Anchor]]
    central: dict[str, float]
    flagged: dict[str, Flag]
    whose: dict[str, Authority]
    symbols: Sequence[str]


def impact(home: Home, call: Call, ask: Impact) -> dict[str, object]:
    """Return the memories that rest on a file, directly and along edges; the answer is Impact.

    Those of branches that are not merged here are counted only, as `stale` does it.

    Raises:
        YaadError: NOT_FOUND when no watched project is here, or `file` is not in the work tree and
            no memory rests on it.
    """
    with home.space(call) as space:
        if ask.check:
            stale.check_space(home, space, None)
        anchored = space.db.read(anchors.paths)
        target = _target(ask.file, folder_of(call, space), space, anchored)
        paths = [path for path in anchored if _inside(path, target.path)]
        view = view_of(home, space, all_branches=ask.all_branches)
        found = space.db.read(seen_from, view, _look, space.worktree.id, target, paths)
        checked_at = space.db.read(flags.row_of, space.worktree.id).checked_at
    return {
        "path": target.path or ".",
        "symbol": target.symbol or None,
        "there": target.there,
        "symbols": list(found.symbols),
        "memories": [_row(reached, found) for reached in found.reached],
        "more": found.more,
        "hidden": found.hidden,
        "checked_at": checked_at,
    }


def _target(given: str, here: str, space: Space, anchored: Sequence[str]) -> _Target:
    """Return the target; a ':' separates path and symbol only where that path is known."""
    outside = False
    for path, symbol in _readings(given):
        place = place_of(path, here, space)
        if place is None:
            outside = outside or not symbol
            continue
        place = "" if place == "." else place
        there = os.path.lexists(f"{space.root}/{place}")
        if there or any(_inside(known, place) for known in anchored):
            return _Target(path=place, symbol=symbol, there=there)
    if outside:
        raise YaadError(
            Code.NOT_FOUND,
            f"{given} is outside of {space.root}; nothing here can rest on it.",
            hint="Name a file of this work tree, or another project with --project DIR",
        )
    raise YaadError(
        Code.NOT_FOUND,
        f"There is no {given} in {space.root}, and no memory rests on a file of that name.",
        hint="Relative paths start where you are, or at the top of the work tree.",
    )


def _readings(given: str) -> list[tuple[str, str]]:
    """Return path and symbol as `given` can be read: as a path alone first."""
    cuts = [at for at, letter in enumerate(given) if letter == ":" and 0 < at < len(given) - 1]
    return [(given, ""), *((given[:at], given[at + 1 :].lstrip(":")) for at in cuts)]


def _inside(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(f"{place}/")


def _look(conn: Connection, worktree: int, target: _Target, paths: Sequence[str]) -> _Resting:
    rows = anchors.on_paths(conn, paths)
    on: dict[str, list[Anchor]] = {}
    for anchor in rows:
        if not target.symbol or _is_meant(anchor.name, target.symbol):
            on.setdefault(anchor.node, []).append(anchor)
    if not target.symbol:
        for flag in anchors.flags_of_worktree(conn, worktree):
            place = flag.suggestion.path if flag.suggestion is not None else None
            if place is not None and _inside(place, target.path):
                on.setdefault(flag.node, [])  # what it rests on has moved here
    linked = flags.around(conn, on)
    living = _living(conn, on, linked)
    graph = Graph(linked)
    spread = graph.spread(
        {node: 1.0 for node in on if node in living}, lambda _, node: node not in living
    )
    strong = {node: come for node, come in spread.items() if memory_impact.level_of(come.part)}
    hidden_ids = visibility.of_other_branches(conn)
    visible = {node: come for node, come in strong.items() if node not in hidden_ids}
    central = graph.centrality(visible)
    ordered = sorted(
        visible.values(), key=lambda come: (-come.part, -central[come.node], come.node)
    )
    shown = ordered[:IMPACT_NODES_MAX]
    return _Resting(
        reached=shown,
        more=len(ordered) - len(shown),
        hidden=len(strong) - len(visible),
        known=living,
        on=on,
        central=central,
        flagged=flags.spread_flags_of(conn, worktree, [come.node for come in shown]),
        whose=authority.of_nodes(conn, [come.node for come in shown]),
        symbols=sorted({anchor.name for anchor in rows if anchor.symbol}),
    )


def _is_meant(symbol: str, asked: str) -> bool:
    """Return whether an anchored name is the given one, in full or by its last part."""
    return symbol == asked or (symbol != "" and last_part(symbol) == asked)


def _living(
    conn: Connection, on: dict[str, list[Anchor]], linked: Sequence[Edge]
) -> dict[str, Node]:
    """Return the memories that are neither archived nor only on another branch."""
    ends = on.keys() | {end for edge in linked for end in (edge.from_node, edge.to_node)}
    hidden = visibility.hidden(conn, visibility.FILE)
    return {
        node.id: node
        for node in nodes.many(conn, ends).values()
        if node.archived_at is None and node.kind not in THINGS and node.id not in hidden
    }


def _row(reached: Reached, found: _Resting) -> dict[str, object]:
    node = found.known[reached.node]
    flag = found.flagged.get(node.id)
    return {
        "id": node.id,
        "text": node.text,
        "kind": node.kind,
        **views.by_row(found.whose.get(node.id)),
        "weight": round(reached.part, 4),
        "centrality": round(found.central[node.id], 4),
        "anchors": views.anchor_rows(found.on.get(node.id, ())),
        "via": list(reached.path[:-1]),
        "along": [
            {"id": edge.from_node, "kind": edge.kind, "to": edge.to_node, "weight": edge.weight}
            for edge in reached.edges
        ],
        "stale": _doubt(flag),
    }


def _doubt(flag: Flag | None) -> dict[str, object] | None:
    if flag is None:
        return None
    return {
        "verdict": flag.verdict.value,
        "score": flag.score,
        "level": flag.level,
        "reason": flag.reason,
    }
