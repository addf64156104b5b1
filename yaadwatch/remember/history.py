"""Return the history of a memory, restore an older version, and find what a file change would flag.

The impact of a file follows the same edges and rule as existing flags do, see `memory.impact`;
every memory of the file counts as flagged in full.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace

from yaadwatch.anchors.definitions import last_part
from yaadwatch.api.messages.memories import History, Impact, Restore, Update
from yaadwatch.db import anchors, authority, nodes, visibility
from yaadwatch.db import history as db_history
from yaadwatch.db.erasing import INSTEAD
from yaadwatch.db.files import Connection
from yaadwatch.db.visibility import seen_from
from yaadwatch.memory import changes, flags, views
from yaadwatch.memory import impact as memory_impact
from yaadwatch.memory import visibility as memory_visibility
from yaadwatch.memory.impact import Graph
from yaadwatch.memory.visibility import view_of
from yaadwatch.model.anchors import Anchor, Flag
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import THINGS, Node, Version
from yaadwatch.model.settings import IMPACT_NODES_MAX
from yaadwatch.remember import curate, edit, preparing, proposing
from yaadwatch.remember.drafts import folder_of, place_of
from yaadwatch.remember.write_batch import require
from yaadwatch.staleness import stale
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
        old = held.db.read(anchors.of_nodes, [node.id])[node.id]
        back = replace(
            edit.with_words(home, node, past.text),
            kind=past.kind,
            tier=past.tier,
            archived_at=None,
            archive_reason=None,
        )
        kept = [anchor for anchor in old if anchor.trust != "text"]
        rests_on = preparing.reanchored(home, held.shelf.space, back, kept)
        done = edit.Edited(
            before=node,
            after=back,
            anchors=rests_on.anchors,
            entities=preparing.entities_named_in(home, held.shelf.space, back.text),
            view=view_of(home, held.shelf),
            where=rests_on.where,
            reason=f"as in version {version}",
            elsewhere=unwanted,
        )

        def commit(conn: Connection) -> None:
            edit.write(conn, home, done, change, call.origin)
            also(conn)

        held.db.write(seen_from, done.view, commit)
        answer = edit.answer(home, held, done)
    return answer | {"undo": f"yaadwatch restore {short_id(node.id)} --version {node.version}"}


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
    return require(conn, node_id), db_history.versions_of_node(conn, node_id)


def _with_latest(conn: Connection, node_id: str) -> tuple[Node, tuple[list[Version], int]]:
    found = db_history.latest_version(conn, node_id, limit=5_000, chars=500_000)
    return require(conn, node_id), found


def impact(home: Home, call: Call, ask: Impact) -> dict[str, object]:
    """Return the memories that rest on a file, directly and along edges; the answer is Impact.

    Those of branches that are not merged here are counted only, as `stale` does it.

    Raises:
        YaadError: NOT_FOUND when no watched project is here, or `file` is not in the work tree and
            no memory rests on it.
    """
    with home.space(call) as space:
        unchecked = stale.check_if_writable(home, space) if ask.check else None
        anchored = space.db.read(anchors.paths)
        path, symbol = _target(ask.file, folder_of(call, space), space, anchored)
        view = view_of(home, space, all_branches=ask.all_branches)
        resting = space.db.read(
            seen_from, view, _resting, space.worktree.id, path, symbol, anchored
        )
        checked_at = space.db.read(flags.worktree_row, space.worktree.id).checked_at
    return {
        "path": path or ".",
        "symbol": symbol or None,
        "there": os.path.lexists(f"{space.root}/{path}"),
        **resting,
        "checked_at": checked_at,
        "unchecked": unchecked,
    }


def _target(given: str, here: str, space: Space, anchored: Sequence[str]) -> tuple[str, str]:
    """Return path and symbol; a ':' separates the two only where that path is known."""
    outside = False
    cuts = [at for at, letter in enumerate(given) if letter == ":" and 0 < at < len(given) - 1]
    for at in (len(given), *cuts):  # as a path alone first
        place, symbol = place_of(given[:at], here, space), given[at + 1 :].lstrip(":")
        if place is None:
            outside = outside or not symbol
            continue
        place = "" if place == "." else place
        if os.path.lexists(f"{space.root}/{place}") or any(_inside(one, place) for one in anchored):
            return place, symbol
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


def _inside(path: str, place: str) -> bool:
    return not place or path == place or path.startswith(f"{place}/")


def _resting(
    conn: Connection, worktree: int, target: str, symbol: str, anchored: Sequence[str]
) -> dict[str, object]:
    """Return the part of the answer that lists the memories, strongest first."""
    rows = anchors.on_paths(conn, [path for path in anchored if _inside(path, target)])
    on: dict[str, list[Anchor]] = {}
    for anchor in rows:
        if not symbol or symbol in (anchor.name, last_part(anchor.name) if anchor.name else ""):
            on.setdefault(anchor.node, []).append(anchor)
    for flag in () if symbol else anchors.flags_of_worktree(conn, worktree):
        place = flag.suggestion.path if flag.suggestion is not None else None
        if place is not None and _inside(place, target):
            on.setdefault(flag.node, [])  # what it rests on has moved here
    linked = flags.around(conn, on)
    ends = on.keys() | {end for edge in linked for end in (edge.from_node, edge.to_node)}
    hidden = visibility.hidden(conn, visibility.FILE)
    known = {
        node.id: node
        for node in nodes.many(conn, ends).values()
        if node.archived_at is None and node.kind not in THINGS and node.id not in hidden
    }
    graph = Graph(linked)
    spread = graph.spread(
        {node: 1.0 for node in on if node in known}, lambda _, node: node not in known
    )
    strong = {node: come for node, come in spread.items() if memory_impact.level_of(come.part)}
    hidden_ids = visibility.of_other_branches(conn)
    visible = {node: come for node, come in strong.items() if node not in hidden_ids}
    central = graph.centrality(visible)
    ordered = sorted(
        visible.values(), key=lambda come: (-come.part, -central[come.node], come.node)
    )
    shown = ordered[:IMPACT_NODES_MAX]
    ids = [come.node for come in shown]
    flagged = flags.spread_flags_of(conn, worktree, ids)
    whose = authority.of_nodes(conn, ids)
    return {
        "symbols": sorted({anchor.name for anchor in rows if anchor.symbol}),
        "memories": [
            {
                "id": come.node,
                "text": known[come.node].text,
                "kind": known[come.node].kind,
                **views.by_row(whose.get(come.node)),
                "weight": round(come.part, 4),
                "centrality": round(central[come.node], 4),
                "anchors": views.anchor_rows(on.get(come.node, ())),
                "via": list(come.path[:-1]),
                "along": [
                    {"id": one.from_node, "kind": one.kind, "to": one.to_node, "weight": one.weight}
                    for one in come.edges
                ],
                "stale": _flag_row(flagged.get(come.node)),
            }
            for come in shown
        ],
        "more": len(ordered) - len(shown),
        "hidden": len(strong) - len(visible),
    }


def _flag_row(flag: Flag | None) -> dict[str, object] | None:
    if flag is None:
        return None
    return {
        "verdict": flag.verdict.value,
        "score": flag.score,
        "level": flag.level,
        "reason": flag.reason,
    }
