"""Decay and collection: archive what has faded, erase what was archived long ago, tidy the rest.

Everything is computed from what is stored and from the time, so two runs equal one, and a run that
was cut off goes on where it stopped.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from yaadwatch.engine import writing
from yaadwatch.engine.doubts import ageing
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model import events
from yaadwatch.model.errors import YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import THINGS, Node
from yaadwatch.model.projects import Project
from yaadwatch.model.settings import ACCESS_BOOST, UPKEEP_BATCH
from yaadwatch.store import edges, fulltext, nodes, projects, provenance
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database


@dataclass(slots=True, kw_only=True)
class Upkept:
    """What an upkeep did, or would do."""

    archived: list[dict[str, object]] = field(default_factory=list)
    pruned: list[dict[str, object]] = field(default_factory=list)
    orphans: int = 0
    checked: int = 0
    skipped: list[str] = field(default_factory=list)


def upkeep(home: Home, call: Call, *, dry_run: bool = False) -> dict[str, object]:  # noqa: ARG001
    """Do now what the daily job does, for every project; the answer is Upkept."""
    done = run(home, dry_run=dry_run)
    return {
        "dry_run": dry_run,
        "archived": done.archived,
        "pruned": done.pruned,
        "orphans": done.orphans,
        "checked": done.checked,
        "skipped": done.skipped,
    }


def run(home: Home, *, dry_run: bool = False) -> Upkept:
    """Archive, prune and tidy every project; a store that cannot be had is skipped and named."""
    done = Upkept()
    for project in home.user.read(projects.everything):
        try:
            with home.stores.use(project) as db:
                _keep(home, project, db, done, dry_run=dry_run)
        except YaadError as error:
            done.skipped.append(f"{project.root}: {error.message}")
    return done


def flush(home: Home) -> None:
    """Write down which memories were recalled since the last time."""
    for project in home.user.read(projects.everything):
        ids = home.take_accessed(project.id)
        if ids:
            with home.stores.use(project) as db:
                db.write(nodes.boost, sorted(ids), now=home.clock.now(), amount=ACCESS_BOOST)


def _keep(home: Home, project: Project, db: Database, done: Upkept, *, dry_run: bool) -> None:
    now = home.clock.now()
    if not dry_run:
        ids = home.take_accessed(project.id)
        if ids:
            db.write(nodes.boost, sorted(ids), now=now, amount=ACCESS_BOOST)
    where = str(project.root)
    for batch in _batches(db, archived=False):
        done.checked += len(batch)
        faded = db.read(_faded, batch, home, now)
        if faded and not dry_run:
            faded = db.write(_archive, [node.id for node, _ in faded], home, now)
        done.archived += [
            {"id": node.id, "text": node.text, "confidence": round(left, 3), "project": where}
            for node, left in faded
        ]
    pruned: list[str] = []
    before = now - timedelta(days=home.settings.memory.prune_after_days)
    for batch in _batches(db, archived=True):
        old = db.read(_prunable, batch, before)
        if old and not dry_run:
            old = db.write(_prune, [node.id for node in old], before, now)
        done.pruned += [{"id": node.id, "text": node.text, "project": where} for node in old]
        pruned += [node.id for node in old]
    done.orphans += db.read(_lonely_without, pruned) if dry_run else _tidy(db, now)


def _batches(db: Database, *, archived: bool) -> Iterator[list[Node]]:
    after = ""
    while batch := db.read(nodes.batch, after=after, limit=UPKEEP_BATCH, archived=archived):
        yield batch
        after = batch[-1].id


def _faded(
    conn: Connection, batch: list[Node], home: Home, now: datetime
) -> list[tuple[Node, float]]:
    """Return the memories of a batch that are below the limit, with what is left of them.

    A session stays while anything that was learned in it is stored.
    """
    least = home.settings.memory.min_confidence
    left = ageing.confidences(conn, batch, home.settings, now)
    faded = [node for node in batch if left[node.id] < least]
    kept = edges.pointed_at(conn, [node.id for node in faded if node.kind == "session"])
    return [(node, left[node.id]) for node in faded if node.id not in kept]


def _archive(
    conn: Connection, ids: list[str], home: Home, now: datetime
) -> list[tuple[Node, float]]:
    """Archive those that are still faded: somebody may have confirmed one since they were read."""
    living = [node for node in nodes.many(conn, ids).values() if node.archived_at is None]
    faded = _faded(conn, living, home, now)
    for node, left in faded:
        writing.archive(conn, node, now, actor="upkeep", reason=f"faded to {left:.2f}")
    return faded


def _prunable(conn: Connection, batch: list[Node], before: datetime) -> list[Node]:
    """Return the archived memories that are old enough and that nothing points at."""
    old = [node for node in batch if node.archived_at is not None and node.archived_at < before]
    needed = edges.pointed_at(conn, [node.id for node in old])
    needed |= provenance.said(conn, [node.id for node in old])
    return [node for node in old if node.id not in needed]


def _prune(conn: Connection, ids: list[str], before: datetime, now: datetime) -> list[Node]:
    old = _prunable(conn, list(nodes.many(conn, ids).values()), before)
    for node in old:
        nodes.erase(conn, [node.id])
        log.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node.id))
    return old


def _lonely_without(conn: Connection, ids: list[str]) -> int:
    """Return how many file and symbol nodes no memory touches, `ids` left out."""
    gone = set(ids)
    touched = {edge.to_node for node in ids for edge in edges.of_node(conn, node)} - gone
    lonely = {
        node.id
        for node in nodes.many(conn, touched).values()
        if node.kind in THINGS
        and all(edge.from_node in gone for edge in edges.of_node(conn, node.id))
    }
    return len(lonely.union(edges.lonely_things(conn, sys.maxsize)))


def _tidy(db: Database, now: datetime) -> int:
    """Erase file and symbol nodes that no memory touches any more; compact the index."""
    erased = 0
    while lonely := db.read(edges.lonely_things, UPKEEP_BATCH):
        done = db.write(_erase_things, lonely, now)
        erased += done
        if not done:
            break  # somebody relates to them since they were read
    db.write(fulltext.compact)
    return erased


def _erase_things(conn: Connection, ids: list[str], now: datetime) -> int:
    still = set(edges.lonely_things(conn, len(ids) * 2)) & set(ids)
    nodes.erase(conn, sorted(still))
    for node_id in sorted(still):
        log.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node_id))
    return len(still)
