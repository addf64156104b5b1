"""Store the result of a check, list the flagged memories, and find replacements for them.

A result is stored in one transaction. A memory that was confirmed, forgotten or re-anchored during
the check is left to that operation and to the next check. Only flags with evidence of their own are
stored; flags that spread along edges are computed on read, so they go when the source is confirmed
or the edge is removed.

Two memories are about the same thing if they rest on the same definition or share most of their
words; sharing a file is not enough. That is a reason to offer a replacement, never to make it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, NamedTuple

from yaadwatch.anchors.counts import subjects_of
from yaadwatch.anchors.definitions import last_part
from yaadwatch.db import anchors, edges, history, nodes, projects, visibility
from yaadwatch.db.files import Connection
from yaadwatch.db.fulltext import Sketch
from yaadwatch.memory import impact
from yaadwatch.memory.impact import CARRIES, Graph, Reached
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor, Flag, Sighting, Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import THINGS, Edge, Node
from yaadwatch.model.projects import Settled, Worktree
from yaadwatch.model.settings import IMPACT_HOPS_MAX, Settings
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.workspace import Home, Space


def confidences(
    conn: Connection, memories: Sequence[Node | Sketch], settings: Settings, now: datetime
) -> dict[str, float]:
    """Return the effective confidence of each memory at `now`, by id, from 0.0 to 1.0."""
    ids = [node.id for node in memories]
    degrees = edges.degrees(conn, ids)
    superseded = edges.successors(conn, ids)
    said = history.said_somewhere(conn, ids)
    return {
        node.id: impact.confidence(
            node.confidence,
            node.confirmed_at,
            now,
            half_life=settings.memory.half_life(node.kind),
            ages=not (node.pinned or node.id in said),
            hasty=not degrees.get(node.id, 0) or node.id in superseded,
            accessed_at=node.accessed_at,
        )
        for node in memories
    }


PASSED_ON = {Verdict.GONE: 1.0, Verdict.CHANGED: 1.0, Verdict.MOVED: 0.5}
"""The share of a flag that spreads: what only moved is as true as before."""


def spread_flags(conn: Connection, worktree: int) -> list[Flag]:
    """Return the flags of a work tree by node, unknown verdicts included.

    A flag that came along edges has a `via`: the ids on its path, from the memory with the evidence
    to the one before this.
    """
    direct = {flag.node: flag for flag in anchors.flags_of_worktree(conn, worktree)}
    sources = [node for node, flag in direct.items() if flag.verdict in PASSED_ON]
    reached = _reached(conn, worktree, direct, around(conn, sources))
    return sorted((*direct.values(), *reached.values()), key=lambda flag: flag.node)


def spread_flags_of(conn: Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the flags of these memories by node, as `spread_flags` does."""
    wanted = set(ids)
    linked = around(conn, wanted)
    near = wanted | {end for edge in linked for end in (edge.from_node, edge.to_node)}
    direct = anchors.flags_of_nodes(conn, worktree, near)
    found = direct | _reached(conn, worktree, direct, linked)
    return {node: found[node] for node in sorted(wanted & found.keys())}


def around(conn: Connection, start: Iterable[str]) -> list[Edge]:
    """Return the edges along which flags could spread from `start`."""
    found: dict[Edge, None] = {}
    seen: set[str] = set()
    layer = set(start)
    for _ in range(IMPACT_HOPS_MAX):
        if not layer:
            break
        seen |= layer
        rows = edges.between_memories(conn, layer, CARRIES, 5_000)
        found |= dict.fromkeys(rows)
        layer = {end for row in rows for end in (row.from_node, row.to_node)} - seen
    return list(found)


def _reached(
    conn: Connection, worktree: int, direct: Mapping[str, Flag], linked: Sequence[Edge]
) -> dict[str, Flag]:
    """Return the flags that the `direct` ones spread along edges, by node."""
    sources = {node: flag for node, flag in direct.items() if flag.verdict in PASSED_ON}
    if not linked or not sources:
        return {}
    ends = {end for edge in linked for end in (edge.from_node, edge.to_node)}
    hidden = history.hidden_by_git(conn, worktree)
    living = {
        node.id: node
        for node in nodes.many(conn, ends).values()
        if node.archived_at is None and node.kind not in THINGS and node.id not in hidden
    }
    graph = Graph(linked)
    best: dict[str, Reached] = {}
    for source, flag in sources.items():
        if source not in living:
            continue

        def halts(edge: Edge, node: str, since: datetime = flag.since) -> bool:
            """Stop at a memory that was confirmed after the flag was raised and the edge made."""
            if node not in living:
                return True
            return living[node].confirmed_at >= max(since, edge.created_at)

        spread = graph.spread({source: flag.score * PASSED_ON[flag.verdict]}, halts)
        for node, reached in spread.items():
            if node not in direct and (node not in best or reached.part > best[node].part):
                best[node] = reached
    return {
        node: _flag(reached, sources[reached.path[0]], living)
        for node, reached in best.items()
        if impact.level_of(reached.part)
    }


def _flag(reached: Reached, source: Flag, living: Mapping[str, Node]) -> Flag:
    before = reached.path[-2]
    said = f"{impact.words(reached.edges[-1], reached.node)} {_named(living[before])}"
    through = "" if before == source.node else f" through {_named(living[source.node])}"
    return replace(
        source,
        node=reached.node,
        score=round(reached.part, 4),
        level=impact.level_of(reached.part),
        reason=f"{said}, which is flagged{through}: {source.reason}",
        suggestion=None,
        via=reached.path[:-1],
    )


def _named(node: Node) -> str:
    text = node.summary
    short = text if len(text) <= 60 else f"{text[:57]}..."
    return f"{short_id(node.id)} ({quoted(short)})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The result of a check; `raised` and `cleared` count flags.

    `judged` counts the checked memories: those of changed files, and flagged ones. All other
    verdicts stay.
    """

    judged: int
    raised: int
    cleared: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """The verdicts of a work tree to store, by memory, with the anchors they were based on.

    `provisional`: changes of memories about uncommitted work. `held`: memories whose definitions
    were equal in a changed file.
    """

    branch: str
    commit: str
    full: bool
    judged: dict[str, tuple[tuple[Anchor, ...], Flag | None]]
    provisional: dict[str, Settled]
    held: frozenset[str]
    seen: tuple[Sighting, ...]


def worktree_row(conn: Connection, worktree: int) -> Worktree:
    """Return the row of a work tree.

    Raises:
        YaadError: NOT_FOUND when it is no longer watched.
    """
    for row in projects.all_worktrees(conn):
        if row.id == worktree:
            return row
    raise YaadError(
        Code.NOT_FOUND,
        "This work tree is not watched any more; nothing was checked.",
        hint="Watch it again: yaadwatch add",
    )


def write(home: Home, space: Space, gathered: Gathered) -> Checked:
    """Set the flags of the work tree in `space` to the gathered verdicts, in one transaction."""
    now = home.clock.now()
    worktree = space.worktree.id

    def commit(conn: Connection) -> Checked:
        row = worktree_row(conn, worktree)
        before = {flag.node: flag for flag in anchors.flags_of_worktree(conn, worktree)}
        own = {node_id: judged_on for node_id, (judged_on, _) in gathered.judged.items()}
        unchanged = anchors.unchanged(conn, own)
        said: list[Event] = []
        held = set()
        for node_id, (_, flag) in gathered.judged.items():
            if node_id not in unchanged:
                continue  # forgotten or confirmed meanwhile; that operation has updated its flag
            if node_id in gathered.held:
                held.add(node_id)
            _settle(conn, node_id, gathered.provisional.get(node_id), now)
            said += _set_flag(conn, worktree, node_id, before.get(node_id), flag, now=now)
        _strengthen(conn, held, now)
        _note_sightings(conn, worktree, gathered, unchanged)
        if (row.head, row.branch) != (gathered.commit, gathered.branch):
            projects.set_worktree_head(conn, worktree, gathered.commit, gathered.branch)
            body: dict[str, object] = {"worktree": worktree, "from": row.head}
            body |= {"to": gathered.commit, "branch": gathered.branch}
            said += [Event(kind=events.HEAD_MOVED, at=now, subject=str(space.root), body=body)]
        for event in said:
            history.append(conn, event)
        if gathered.full:
            projects.set_worktree_checked(conn, worktree, now)
        kinds = [event.kind for event in said]
        return Checked(
            judged=len(gathered.judged),
            raised=kinds.count(events.STALE_RAISED),
            cleared=kinds.count(events.STALE_CLEARED),
            at=now,
        )

    return space.db.write(commit)


def _set_flag(
    conn: Connection,
    worktree: int,
    node: str,
    old: Flag | None,
    new: Flag | None,
    *,
    now: datetime,
) -> list[Event]:
    """Replace a flag, None for none; return the event if people see a difference."""
    if new is not None and new != old:
        anchors.put_flag(conn, new)
    elif new is None and old is not None:
        anchors.drop_flags(conn, [node], worktree)
    body: dict[str, object] = {"worktree": worktree}
    if new is not None and new.level:
        if old is not None and old.verdict == new.verdict:
            return []
        body |= {"verdict": new.verdict.value, "score": new.score}
        return [Event(kind=events.STALE_RAISED, at=now, subject=node, body=body)]
    if old is not None and old.level:
        return [Event(kind=events.STALE_CLEARED, at=now, subject=node, body=body)]
    return []


def _settle(conn: Connection, node_id: str, found: Settled | None, now: datetime) -> None:
    """Store where uncommitted work is now, or the commit that contains it."""
    if found is None:
        return
    if found.is_stray:
        visibility.forget_learned(conn, node_id)
    if found.checkouts:
        if visibility.provisional_of_node(conn, node_id) != found.checkouts:
            visibility.put_provisional(conn, node_id, found.base, found.checkouts)
            anchors.insert(conn, ((one.node, one) for one in found.anchors))
        return
    visibility.drop_provisional(conn, node_id)
    anchors.insert(conn, ((one.node, one) for one in found.anchors))
    node = nodes.get(conn, node_id)
    of_file = node is None or node.origin.startswith("file:")  # the file determines where it holds
    if found.commit and not of_file:
        visibility.note_learned(conn, node_id, found.commit, now)


def _strengthen(conn: Connection, held: set[str], now: datetime) -> None:
    """Restart the age of memories that held while their files changed.

    At most once a day, and not where another work tree or another anchor disagrees. It is not a
    person's confirmation: no version, no cleared flag, no event.
    """
    for tree in projects.all_worktrees(conn):
        if not held:
            return
        held = held - spread_flags_of(conn, tree.id, held).keys()
    nodes.strengthen(conn, held, now=now)


def _note_sightings(
    conn: Connection, worktree: int, gathered: Gathered, unchanged: set[str]
) -> None:
    """Store the fingerprints of files whose memories were all judged with their current anchors,
    and delete those that no anchor or flag needs.

    Every other file must look changed to the next check: one of its memories was not judged,
    because it was anchored or restored meanwhile, or the file was read for another one only.
    """
    seen = [sighting.path for sighting in gathered.seen]
    pending = {path for path, node in anchors.nodes_resting_on(conn, seen) if node not in unchanged}
    judged = [sighting for sighting in gathered.seen if sighting.path not in pending]
    anchors.put_sightings(conn, worktree, judged)
    needed = set(anchors.paths(conn)) | anchors.flagged_places(conn, worktree)
    known = anchors.sightings_of_worktree(conn, worktree)
    anchors.drop_sightings(conn, known.keys() - needed, worktree)


class SaidPlace(NamedTuple):
    """A place in a person's own file; its path is absolute when in another work tree."""

    path: str
    line: int


def said_places(conn: Connection, worktree: int, ids: Iterable[str]) -> dict[str, list[SaidPlace]]:
    """Return the current places of memories by id; memories in no file are left out.

    Places in the given work tree come first.
    """
    trees = {row.id: row.path for row in projects.all_worktrees(conn)}
    found: dict[str, list[SaidPlace]] = {}
    saying = history.places_saying(conn, ids)
    for row in sorted(saying, key=lambda row: row.worktree != worktree):
        if row.line is not None:
            path = row.path if row.worktree == worktree else str(trees[row.worktree] / row.path)
            found.setdefault(row.node, []).append(SaidPlace(path, row.line))
    return found


def superseded(conn: Connection, worktree: int, ids: Collection[str]) -> frozenset[str]:
    """Return the superseded ones of `ids` in a work tree.

    Without those still in a person's own file, because agents load that file.
    """
    former = edges.successors(conn, ids).keys() if ids else frozenset()
    return frozenset(former - said_places(conn, worktree, former).keys()) if former else frozenset()


DEFINITION: Final = "definition"
FILE: Final = "file"
WORDS: Final = "words"
_RANK: Final = {DEFINITION: 0, FILE: 1, WORDS: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """A flagged memory that a statement is about; `on`: what both share."""

    node: Node
    flag: Flag
    on: str
    shared_words: int


def flagged_beside(
    conn: Connection, worktree: int, node: Node, rests_on: Sequence[Anchor]
) -> list[Overlap]:
    """Return the flagged memories that a statement is about, best match first.

    Args:
        conn: a snapshot.
        worktree: the work tree of the flags.
        node: the statement.
        rests_on: its anchors.
    """
    warned = anchors.warned_nodes(conn, worktree) - {node.id}
    if not warned:
        return []
    warned -= history.hidden_by_git(conn, worktree, warned) | visibility.among(conn, warned)
    warned -= edges.successors(conn, warned).keys()
    known = nodes.many(conn, warned)
    found = anchors.flags_of_nodes(conn, worktree, known)
    resting = anchors.of_nodes(conn, known)
    overlaps = []
    for other_id, flag in found.items():
        other = known[other_id]
        if other.archived_at is not None or other.kind in THINGS:
            continue
        on = _common(rests_on, resting[other_id], flag)
        mine, theirs = _stems(node.text), _stems(other.text)
        shared = len(mine & theirs)
        if on == DEFINITION or shared >= max(2, 0.6 * min(len(mine), len(theirs))):
            on = on or WORDS
            overlaps.append(Overlap(node=other, flag=flag, on=on, shared_words=shared))
    overlaps.sort(key=lambda one: (_RANK[one.on], -one.shared_words, -one.flag.score, one.node.id))
    return overlaps


def newer_than(
    conn: Connection, raised: Iterable[Flag], *, hidden: Collection[str]
) -> dict[str, list[Node]]:
    """Return the first three statements about flagged memories since they were flagged, by id.

    Only those that share a definition with one, or a file and a word.

    Args:
        conn: a snapshot.
        raised: the flags.
        hidden: ids of memories that are not shown.
    """
    since = {flag.node: flag for flag in raised}
    resting = anchors.of_nodes(conn, since)
    paths = {path for node, flag in since.items() for path in _paths(resting[node], flag)}
    oldest = min((flag.since for flag in since.values()), default=None)
    if not paths or oldest is None:
        return {}
    beside: dict[str, list[Anchor]] = {}
    for anchor in anchors.on_paths(conn, paths):
        beside.setdefault(anchor.node, []).append(anchor)
    others = [
        node
        for node in nodes.many(conn, beside.keys() - since.keys() - set(hidden)).values()
        if node.archived_at is None and node.kind not in THINGS and node.created_at > oldest
    ]
    flagged = nodes.many(conn, since)
    found: dict[str, list[Node]] = {}
    for flag in since.values():
        if flag.node not in flagged:
            continue
        newer = [
            (_RANK[on], -shared, other)
            for other in others
            if other.created_at > flag.since
            if (on := _common(beside[other.id], resting[flag.node], flag))
            if (shared := len(_stems(other.text) & _stems(flagged[flag.node].text)))
            or on == DEFINITION
        ]
        newer.sort(key=lambda one: (*one[:2], one[2].id))
        if newer:
            found[flag.node] = [other for _, _, other in newer[:3]]
    return found


def _common(mine: Sequence[Anchor], theirs: Sequence[Anchor], flag: Flag) -> str:
    """Return what the anchors of two statements share: DEFINITION, FILE or ''."""
    there = _paths(theirs, flag)
    here = [anchor for anchor in mine if anchor.path in there]
    names = {last_part(anchor.name) for anchor in theirs if anchor.name}
    if any(anchor.name and last_part(anchor.name) in names for anchor in here):
        return DEFINITION
    return FILE if here else ""


def _paths(rests_on: Sequence[Anchor], flag: Flag) -> set[str]:
    """Return the files of a flagged memory, at their old and new places."""
    paths = {anchor.path for anchor in rests_on} | {one.path for one in flag.evidence}
    if flag.suggestion is not None:
        paths |= {flag.suggestion.path or "", *flag.suggestion.places}
    return paths - {""}


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem for stem in subjects_of(text) if not stem.startswith("#"))
