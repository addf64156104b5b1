"""What would be in doubt if this file changed? The memories that rest on it, and on those in turn.

The same edges and the same rule as for doubts that are there already, see `core.truth.impact`; only
that here every memory of the file is taken for doubted in full.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass

from yaadwatch.api.messages.memories import Impact
from yaadwatch.core.truth import impact as spreading
from yaadwatch.core.truth.hunks import last_part
from yaadwatch.core.truth.impact import Graph, Reached
from yaadwatch.engine import json_views, stale
from yaadwatch.engine.doubts import doubting, flagging
from yaadwatch.engine.remember.named_files import folder_of, place_of
from yaadwatch.engine.visibility import view_of
from yaadwatch.engine.workspace import Call, Home, Space
from yaadwatch.model.anchors import Anchor, Flag
from yaadwatch.model.authority import Authority
from yaadwatch.model.edges import Edge
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.model.settings import IMPACT_NODES_MAX
from yaadwatch.store import anchors, flags, nodes, visibility
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority
from yaadwatch.store.visibility import seen_from


@dataclass(frozen=True, slots=True, kw_only=True)
class _Target:
    """What is asked about: one file, or all below a folder; and maybe one definition."""

    path: str
    symbol: str
    there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resting:
    """What rests on a target, strongest first; `hidden`: how much of other branches does."""

    reached: Sequence[Reached]
    more: int
    hidden: int
    known: dict[str, Node]
    on: dict[str, list[Anchor]]
    central: dict[str, float]
    doubts: dict[str, Flag]
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
        checked_at = space.db.read(flagging.row_of, space.worktree.id).checked_at
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
    """Return what is meant; a ':' divides path and symbol only where the path is known so."""
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
    """Return whether `path` is `place`, or below it; '' is the top."""
    return not place or path == place or path.startswith(f"{place}/")


def _look(conn: Connection, worktree: int, target: _Target, paths: Sequence[str]) -> _Resting:
    rows = anchors.on_paths(conn, paths)
    on: dict[str, list[Anchor]] = {}
    for anchor in rows:
        if not target.symbol or _is_meant(anchor.name, target.symbol):
            on.setdefault(anchor.node, []).append(anchor)
    if not target.symbol:
        for flag in flags.of_worktree(conn, worktree):
            place = flag.suggestion.path if flag.suggestion is not None else None
            if place is not None and _inside(place, target.path):
                on.setdefault(flag.node, [])  # what it rests on has moved here
    linked = doubting.around(conn, on)
    living = _living(conn, on, linked)
    graph = Graph(linked)
    spread = graph.spread(
        {node: 1.0 for node in on if node in living}, lambda _, node: node not in living
    )
    strong = {node: come for node, come in spread.items() if spreading.level_of(come.part)}
    away = visibility.of_other_branches(conn)
    told = {node: come for node, come in strong.items() if node not in away}
    central = graph.centrality(told)
    ordered = sorted(told.values(), key=lambda come: (-come.part, -central[come.node], come.node))
    shown = ordered[:IMPACT_NODES_MAX]
    return _Resting(
        reached=shown,
        more=len(ordered) - len(shown),
        hidden=len(strong) - len(told),
        known=living,
        on=on,
        central=central,
        doubts=doubting.of_nodes(conn, worktree, [come.node for come in shown]),
        whose=authority.of_nodes(conn, [come.node for come in shown]),
        symbols=sorted({anchor.name for anchor in rows if anchor.symbol}),
    )


def _is_meant(symbol: str, asked: str) -> bool:
    """Return whether an anchored name is the one asked for, in full or by its last part."""
    return symbol == asked or (symbol != "" and last_part(symbol) == asked)


def _living(
    conn: Connection, on: dict[str, list[Anchor]], linked: Sequence[Edge]
) -> dict[str, Node]:
    """Return the memories among these that are neither archived nor only on another branch."""
    ends = on.keys() | {end for edge in linked for end in (edge.from_node, edge.to_node)}
    hidden = visibility.hidden(conn, visibility.FILE)
    return {
        node.id: node
        for node in nodes.many(conn, ends).values()
        if node.archived_at is None and node.kind not in THINGS and node.id not in hidden
    }


def _row(reached: Reached, found: _Resting) -> dict[str, object]:
    node = found.known[reached.node]
    flag = found.doubts.get(node.id)
    return {
        "id": node.id,
        "text": node.text,
        "kind": node.kind,
        **json_views.by_row(found.whose.get(node.id)),
        "weight": round(reached.part, 4),
        "centrality": round(found.central[node.id], 4),
        "anchors": json_views.anchor_rows(found.on.get(node.id, ())),
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
