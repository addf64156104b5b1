"""Archive faded memories, erase what was archived long ago, and tidy the rest of a store.

Everything follows from what is stored and the time, so two runs equal one, and a run that was cut
off goes on where it stopped.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from yaadwatch import places
from yaadwatch.api.messages.memories import Upkeep
from yaadwatch.db import authority, edges, fulltext, history, nodes
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.memory import changes, flags, gaps, impact, views
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.memories import NOT_GIVEN, THINGS, Node
from yaadwatch.model.settings import UPKEEP_BATCH, Settings
from yaadwatch.projects.row_import import NamedStore, for_each_store, raise_failures
from yaadwatch.system import files
from yaadwatch.workspace.workspace import Call, Home

RESERVE_BYTES_MIN: Final = 1024 * 1024
RESERVE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Erasing writes a store once more, and its log."""


@dataclass(slots=True, kw_only=True)
class UpkeepResult:
    """What an upkeep did, or would do; `held` lists changes that were too many at once."""

    archived: list[dict[str, object]] = field(default_factory=list)
    pruned: list[dict[str, object]] = field(default_factory=list)
    held: list[dict[str, object]] = field(default_factory=list)
    orphans: int = 0
    checked: int = 0
    skipped: list[str] = field(default_factory=list)


def upkeep(home: Home, call: Call, ask: Upkeep) -> dict[str, object]:  # noqa: ARG001
    """Run the daily job now, for every store; the answer is Upkept."""
    done = run(home, dry_run=ask.dry_run, accept=ask.accept)
    return {
        "dry_run": ask.dry_run,
        "archived": done.archived,
        "pruned": done.pruned,
        "held": done.held,
        "orphans": done.orphans,
        "checked": done.checked,
        "skipped": done.skipped,
    }


def run(
    home: Home, *, dry_run: bool = False, accept: bool = False, unused: bool = True
) -> UpkeepResult:
    """Archive, prune and tidy every store; an unavailable store is skipped and named.

    With `unused` False, a store without use in the year before yesterday is left alone.

    Where more than half of all memories and more than 20 would go at once, none goes unless that is
    accepted: a wrong clock or lost times are more likely.
    """
    done = UpkeepResult()
    sizes = [RESERVE_BYTES_MIN]

    def keep(store: NamedStore) -> None:
        if not dry_run:
            _write_down(home, store)
            sizes.append(2 * store.db.path.stat().st_size)
        if unused or _is_used(store.db, home.clock.now()):
            _upkeep_store(home, store, done, dry_run=dry_run, accept=accept)

    done.skipped += for_each_store(home, keep)
    if not dry_run:
        files.keep_reserve(places.reserve(), min(max(sizes), RESERVE_BYTES_MAX))
    return done


def run_daily(home: Home) -> None:
    """Do the daily job.

    A clock that jumps by decades makes every memory look faded. So does a year away.

    Raises:
        YaadError: REFUSED when changes were too many at once, UNAVAILABLE when a store could not be
            opened or written; the rest was done.
    """
    done = run(home, unused=False)
    left = f" Not looked after: {'; '.join(done.skipped)}" if done.skipped else ""
    if done.held:
        counts = "; ".join(
            f"{row['where']}: {row['count']} of {row['of']} would be {row['what']}"
            for row in done.held
        )
        raise YaadError(
            Code.REFUSED,
            f"Too many memories at once, so none of these: {counts}. Is the clock right?{left}",
            hint="To see them: yaadwatch upkeep --dry-run. If that is right: yaadwatch upkeep "
            "--accept",
        )
    raise_failures(done.skipped, "not looked after, the other stores were")


def flush(home: Home) -> None:
    """Store which memories were recalled since the last flush, and which questions had no answer.

    Raises:
        YaadError: UNAVAILABLE; some stores could not be opened or written, and their data is kept
            for the next flush. The others were written.
    """

    def write(store: NamedStore) -> None:
        _note_accessed(home, store)
        gaps.write_down(home, store.id, store.db)

    def has_news(id: str) -> bool:
        return home.recalled.has(id) or home.unanswered.has(id)

    failed = for_each_store(home, write, only=has_news)
    raise_failures(failed, "what was recalled there is not counted yet")


def _note_accessed(home: Home, store: NamedStore) -> None:
    with home.recalled.taken(store.id) as ids:
        if ids:
            store.db.write(_boost, home.settings_of(store.db.path), ids, home.clock.now())


def _boost(conn: Connection, settings: Settings, ids: Iterable[str], now: datetime) -> int:
    """Raise the confidence of recalled memories, once a UTC day; return how many were."""
    living = [node for node in nodes.many(conn, ids).values() if node.archived_at is None]
    left = flags.confidences(conn, living, settings, now)
    raised = {id_: impact.boosted(one, 0.2) for id_, one in left.items()}
    return nodes.boost(conn, raised, now=now)


def _write_down(home: Home, store: NamedStore) -> None:
    gaps.scrub(store.db)
    gaps.write_down(home, store.id, store.db)
    store.db.write(gaps.forget_old, home.clock.now())
    _note_accessed(home, store)


def _upkeep_store(
    home: Home, store: NamedStore, done: UpkeepResult, *, dry_run: bool, accept: bool
) -> None:
    now, db = home.clock.now(), store.db
    settings = home.settings_of(db.path)
    fading: list[tuple[Node, float]] = []
    living = 0
    for batch in _batches(db, archived=False):
        living += len(batch)
        done.checked += sum(node.kind not in NOT_GIVEN for node in batch)
        fading += db.read(_faded, batch, settings, now)
    if impact.too_many(len(fading), living) and not accept:
        done.held.append(_held(store, "archived", [node for node, _ in fading], living))
        fading = []
    if not dry_run:
        ids = [node.id for node, _ in fading]
        fading = [one for some in _chunks(ids) for one in db.write(_archive, some, settings, now)]
    rows = [
        {"id": node.id, "text": node.text, "confidence": round(left, 3), "project": store.shown}
        for node, left in fading
    ]
    done.archived += db.read(views.attributed, rows)
    old, before, archived = list[Node](), _prune_before(home, now), 0
    for batch in _batches(db, archived=True):
        archived += len(batch)
        old += db.read(_prunable, batch, before)
    if impact.too_many(len(old), archived) and not accept:
        done.held.append(_held(store, "erased", old, archived))
        old = []
    whose = db.read(authority.of_nodes, [node.id for node in old])
    if not dry_run:
        ids = [node.id for node in old]
        old = [one for some in _chunks(ids) for one in db.write(_prune, some, before, now)]
    done.pruned += [
        {
            "id": node.id,
            "text": node.text,
            "project": store.shown,
            **views.by_row(whose.get(node.id)),
        }
        for node in old
    ]
    gone = [node.id for node in old]
    done.orphans += db.read(_lonely_without, gone) if dry_run else _tidy(db, now)


def _is_used(db: Database, now: datetime) -> bool:
    day = timedelta(days=1)
    return db.read(nodes.used_between, now - 366 * day, now - day)


def _prune_before(home: Home, now: datetime) -> datetime:
    return now - timedelta(days=home.settings.memory.prune_after_days)


def _held(store: NamedStore, what: str, found: Sequence[Node], total: int) -> dict[str, object]:
    return {
        "where": store.shown,
        "what": what,
        "count": len(found),
        "of": total,
        "memories": store.db.read(
            views.attributed,
            [{"id": node.id, "text": node.text} for node in found[:10]],
        ),
    }


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for at in range(0, len(ids), UPKEEP_BATCH):
        yield ids[at : at + UPKEEP_BATCH]


def _batches(db: Database, *, archived: bool) -> Iterator[list[Node]]:
    after = ""
    while batch := db.read(nodes.batch, after=after, limit=UPKEEP_BATCH, archived=archived):
        yield batch
        after = batch[-1].id


def _faded(
    conn: Connection, batch: list[Node], settings: Settings, now: datetime
) -> list[tuple[Node, float]]:
    """Return the memories of a batch below the minimum confidence, with their confidence.

    A session stays while any memory learned in it is stored.
    """
    least = settings.memory.min_confidence
    left = flags.confidences(conn, batch, settings, now)
    faded = [node for node in batch if left[node.id] < least]
    kept = edges.pointed_at(conn, [node.id for node in faded if node.kind == "session"])
    return [(node, left[node.id]) for node in faded if node.id not in kept]


def _archive(
    conn: Connection, ids: Sequence[str], settings: Settings, now: datetime
) -> list[tuple[Node, float]]:
    """Archive the memories that are still faded: one may have been confirmed since."""
    living = [node for node in nodes.many(conn, ids).values() if node.archived_at is None]
    faded = _faded(conn, living, settings, now)
    for node, left in faded:
        changes.archive(conn, node, now, actor="upkeep", reason=f"faded to {left:.2f}")
    return faded


def _prunable(conn: Connection, batch: list[Node], before: datetime) -> list[Node]:
    """Return the archived memories that are old enough and have no incoming edge or place."""
    old = [
        node
        for node in batch
        if node.archived_at is not None and impact.SANE_FROM <= node.archived_at < before
    ]
    needed = edges.pointed_at(conn, [node.id for node in old])
    needed |= history.said_somewhere(conn, [node.id for node in old])
    return [node for node in old if node.id not in needed]


def _prune(conn: Connection, ids: Sequence[str], before: datetime, now: datetime) -> list[Node]:
    old = _prunable(conn, list(nodes.many(conn, ids).values()), before)
    for node in old:
        nodes.erase(conn, [node.id])
        history.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node.id))
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
            break  # they got relations meanwhile
    db.write(fulltext.compact)
    return erased


def _erase_things(conn: Connection, ids: list[str], now: datetime) -> int:
    still = set(edges.lonely_things(conn, len(ids) * 2)) & set(ids)
    nodes.erase(conn, sorted(still))
    for node_id in sorted(still):
        history.append(conn, Event(kind=events.NODE_ERASED, at=now, subject=node_id))
    return len(still)
