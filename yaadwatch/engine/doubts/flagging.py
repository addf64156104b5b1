"""Writes down what a check found: flags, sightings, HEAD, and the events that tell of them.

All in one transaction. What was confirmed, forgotten or anchored anew while the check looked at the
files is left to that verb and to the next check.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model import events
from yaadwatch.model.anchors import Anchor, Flag, Sighting, Verdict
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.projects import Settled, Worktree
from yaadwatch.store import anchors, flags, nodes, provenance, sightings, worktrees
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.graph import supersession
from yaadwatch.store.recall import learned, provisional


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What a check did; `raised` and `cleared` count doubts.

    `judged` counts memories: those of files that changed, and those in doubt. The verdicts of all
    others stand.
    """

    judged: int
    raised: int
    cleared: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """A work tree's verdicts, ready to be written down; by memory, with what it was judged on.

    `provisional`: what became of memories about uncommitted work, where that changed.
    `held`: memories whose definitions were the same in a file that was not.
    """

    branch: str
    commit: str
    full: bool
    judged: dict[str, tuple[tuple[Anchor, ...], Flag | None]]
    provisional: dict[str, Settled]
    held: frozenset[str]
    seen: tuple[Sighting, ...]


def row_of(conn: Connection, worktree: int) -> Worktree:
    """Return the row of a work tree.

    Raises:
        YaadError: NOT_FOUND when it is not watched any more.
    """
    for row in worktrees.everything(conn):
        if row.id == worktree:
            return row
    raise YaadError(
        Code.NOT_FOUND,
        "This work tree is not watched any more; nothing was checked.",
        hint="Watch it again: yaadwatch add",
    )


def write(home: Home, space: Space, gathered: Gathered) -> Checked:
    """Make the flags of the work tree in `space` what was found, in one transaction."""
    now = home.clock.now()
    worktree = space.worktree.id

    def commit(conn: Connection) -> Checked:
        row = row_of(conn, worktree)
        before = {flag.node: flag for flag in flags.of_worktree(conn, worktree)}
        own = {node_id: judged_on for node_id, (judged_on, _) in gathered.judged.items()}
        unchanged = anchors.unchanged(conn, own)
        raised = cleared = 0
        held = set()
        for node_id, (_, flag) in gathered.judged.items():
            if node_id not in unchanged:
                continue  # forgotten or confirmed meanwhile; that verb has dealt with its flag
            if node_id in gathered.held:
                held.add(node_id)
            _settle(conn, node_id, gathered.provisional.get(node_id), now)
            old = before.get(node_id)
            if flag is not None and flag != old:
                flags.put(conn, flag)
            elif flag is None and old is not None:
                flags.drop(conn, worktree, [node_id])
            if _shown(flag) and (old is None or old.verdict != _verdict(flag)):
                raised += 1
                log.append(conn, _raised(flag, now))
            elif _shown(old) and not _shown(flag):
                cleared += 1
                body: dict[str, object] = {"worktree": worktree}
                log.append(
                    conn, Event(kind=events.STALE_CLEARED, at=now, subject=node_id, body=body)
                )
        _strengthen(conn, held, now)
        sightings.put(conn, worktree, _vouched(conn, gathered, unchanged))
        _forget_sightings(conn, worktree)
        if (row.head, row.branch) != (gathered.commit, gathered.branch):
            worktrees.set_head(conn, worktree, gathered.commit, gathered.branch)
            log.append(
                conn,
                Event(
                    kind=events.HEAD_MOVED,
                    at=now,
                    subject=str(space.root),
                    body={
                        "worktree": worktree,
                        "from": row.head,
                        "to": gathered.commit,
                        "branch": gathered.branch,
                    },
                ),
            )
        if gathered.full:
            worktrees.set_checked(conn, worktree, now)
        return Checked(judged=len(gathered.judged), raised=raised, cleared=cleared, at=now)

    return space.db.write(commit)


def _settle(conn: Connection, node_id: str, found: Settled | None, now: datetime) -> None:
    """Write down where uncommitted work is now, or the commit that holds it."""
    if found is None:
        return
    if found.is_stray:
        learned.forget(conn, node_id)
    if found.checkouts:
        if provisional.of_node(conn, node_id) != found.checkouts:
            provisional.put(conn, node_id, found.base, found.checkouts)
            anchors.insert(conn, found.anchors)
        return
    provisional.drop(conn, node_id)
    anchors.insert(conn, found.anchors)
    node = nodes.get(conn, node_id)
    of_file = node is None or node.origin.startswith("file:")  # the file says where it holds
    if found.commit and not of_file:
        learned.note(conn, node_id, found.commit, now)


def _strengthen(conn: Connection, held: set[str], now: datetime) -> None:
    """Let the age of memories start anew that held while their files were changed around them.

    Once a day at most, and not where another work tree, or what they rest on, says otherwise. It
    is no word of a person: no version is made, no doubt goes, and no event tells of it.
    """
    for tree in worktrees.everything(conn):
        if not held:
            return
        held = held - doubting.of_nodes(conn, tree.id, held).keys()
    nodes.strengthen(conn, held, now=now)


def _vouched(conn: Connection, gathered: Gathered, unchanged: set[str]) -> list[Sighting]:
    """Return the sightings of files of which every memory was judged, as it is anchored now.

    Any other file must look changed to the next check: a memory of it was not judged, because it
    was anchored or restored meanwhile, or because the file was only read for another one.
    """
    seen = [sighting.path for sighting in gathered.seen]
    pending = {path for path, node in anchors.resting(conn, seen) if node not in unchanged}
    return [sighting for sighting in gathered.seen if sighting.path not in pending]


def _forget_sightings(conn: Connection, worktree: int) -> None:
    """Drop the sightings that no anchor and no doubt needs any more."""
    needed = set(anchors.paths(conn))
    for flag in flags.of_worktree(conn, worktree):
        needed |= {evidence.path for evidence in flag.evidence}
    known = sightings.of_worktree(conn, worktree)
    sightings.drop(conn, worktree, known.keys() - needed)


def _raised(flag: Flag | None, now: datetime) -> Event:
    if flag is None:
        raise ValueError("only a flag can be raised")
    return Event(
        kind=events.STALE_RAISED,
        at=now,
        subject=flag.node,
        body={"worktree": flag.worktree, "verdict": flag.verdict.value, "score": flag.score},
    )


def _shown(flag: Flag | None) -> bool:
    return flag is not None and bool(flag.level)


def _verdict(flag: Flag | None) -> Verdict | None:
    return flag.verdict if flag is not None else None


class Said(NamedTuple):
    """A place in a person's own file; the path is absolute where that is in another work tree."""

    path: str
    line: int


def said_in(conn: Connection, worktree: int, ids: Iterable[str]) -> dict[str, list[Said]]:
    """Return where memories are said now, by their ids; those that no file says are left out.

    What stands in the work tree that was asked about comes first.
    """
    trees = {row.id: row for row in worktrees.everything(conn)}
    found: dict[str, list[Said]] = {}
    saying = provenance.saying(conn, ids)
    for row in sorted(saying, key=lambda row: row.worktree != worktree):
        if row.line is not None:
            path = row.path if row.worktree == worktree else _in_full(trees[row.worktree], row.path)
            found.setdefault(row.node, []).append(Said(path, row.line))
    return found


def superseded(conn: Connection, worktree: int, ids: Collection[str]) -> frozenset[str]:
    """Return those of `ids` that others supersede in a work tree: agents read those instead.

    What a person's own file still says is none of them: agents load that file.
    """
    former = supersession.successors(conn, ids).keys() if ids else frozenset()
    return frozenset(former - said_in(conn, worktree, former).keys()) if former else frozenset()


def _in_full(tree: Worktree, path: str) -> str:
    return str(tree.path / path)
