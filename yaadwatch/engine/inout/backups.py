"""Copies of a store to go back to, a store without slack, and a log that does not grow for ever."""

import filecmp
import shlex
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from yaadwatch import places
from yaadwatch.api.messages.store import Backup, Compact
from yaadwatch.engine import budget
from yaadwatch.engine.inout import spool
from yaadwatch.engine.inout.stores import Meant, meant, of_user, projects
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import BACKUPS_KEPT, BACKUPS_KEPT_A_DAY, TRIM_BATCH
from yaadwatch.store import events, fulltext
from yaadwatch.store.sqlite import copies


def backup(home: Home, call: Call, ask: Backup) -> dict[str, object]:
    """Make a dated copy of a store now, and keep the newest seven; the answer is BackedUp.

    Raises:
        YaadError: NOT_FOUND (no watched project here), UNAVAILABLE (it cannot be written, or what
            was written is not whole; the copies that were there are still there).
    """
    with meant(home, call, user=ask.user) as store:
        path, made = _copy(store, home.clock.now())
        kept = _kept(path.parent)
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "made": made,
        "kept": [{"path": str(one), "bytes": one.stat().st_size} for one in kept],
        "restore": None if ask.user else f"yaadwatch add --restore {shlex.quote(str(store.where))}",
    }


def compact(home: Home, call: Call, ask: Compact) -> dict[str, object]:
    """Write a store anew without the room of what was deleted; the answer is Compacted.

    Raises:
        YaadError: NOT_FOUND (no watched project here), UNAVAILABLE (no room for a second copy, or
            somebody reads for seconds); it holds what it held.
    """
    with meant(home, call, user=ask.user) as store:
        before = _on_disk(store.db.path)
        store.db.write(fulltext.compact)
        store.db.scrub()
        return {"path": str(store.db.path), "before": before, "after": _on_disk(store.db.path)}


def back_up_all(home: Home) -> None:
    """Do the daily job: a copy of every store.

    Raises:
        YaadError: UNAVAILABLE; some could not be copied, the others were.
    """

    def copy(store: Meant) -> None:
        _copy(store, home.clock.now())

    _each(home, copy, "could not be backed up")


def trim_all(home: Home) -> None:
    """Do the daily job: note how large every store is, forget what is too old to be asked for.

    Raises:
        YaadError: UNAVAILABLE; some could not be trimmed, the others were.
    """
    _each(home, lambda store: _trim(home, store), "could not be trimmed")
    spool.sweep(home.clock)


def _each(home: Home, work: Callable[[Meant], None], went_wrong: str) -> None:
    """Do something with every store; one that cannot be had keeps nobody from the others."""
    failed = []
    try:
        work(of_user(home))
    except YaadError as error:
        failed.append(f"{home.user.path} {went_wrong}: {error.message}")
    for project in projects(home):
        try:
            with home.stores.use(project) as db:
                work(Meant(id=project.id, role="project", project=project, db=db))
        except YaadError as error:
            failed.append(f"{project.root} {went_wrong}: {error.message}")
    if failed:
        raise YaadError(Code.UNAVAILABLE, " ".join(failed), hint="What is wrong: yaadwatch status")


def _copy(store: Meant, now: datetime) -> tuple[Path, bool]:
    """Copy a store to its backups unless the newest one holds the same; return which has it.

    A day without a change takes no place from a copy of another day.
    """
    folder = places.backups(store.id)
    newest = max(folder.glob("*.db"), default=None)
    target = folder / f"{now:%Y%m%dT%H%M%S%f}.db"
    if newest is not None and newest.name >= target.name:  # the clock went back
        target = newest.with_name(f"{newest.stem}1.db")
    store.db.backup(target)
    project = store.project.id if store.project is not None else ""
    try:
        copies.check(target, role=store.role, project=project)
    except YaadError:
        target.unlink(missing_ok=True)
        raise
    if newest is not None and filecmp.cmp(newest, target, shallow=False):
        target.unlink()
        return newest, False
    for old in superfluous(_kept(folder)):
        old.unlink(missing_ok=True)
    return target, True


def superfluous(kept: Sequence[Path]) -> list[Path]:
    """Return which copies are no longer kept, of those there are, the newest first.

    Whoever makes one after another on one day keeps what was copied on days before.
    """
    by_day: dict[str, list[Path]] = {}
    for copy in kept:
        by_day.setdefault(copy.name[:8], []).append(copy)
    of_a_day = [copy for copies_ in by_day.values() for copy in copies_[BACKUPS_KEPT_A_DAY:]]
    more = max(0, len(kept) - BACKUPS_KEPT)
    gone = sorted(of_a_day)[:more]
    left = [copy for copy in kept if copy not in gone]
    return [*gone, *left[BACKUPS_KEPT:]]


def _kept(folder: Path) -> list[Path]:
    """Return the copies in a folder of backups, the newest first."""
    return sorted(folder.glob("*.db"), reverse=True)


def _trim(home: Home, store: Meant) -> None:
    now = home.clock.now()
    budget.note(home, store.db)
    before = now - timedelta(days=home.settings.store.events_days)
    while store.db.write(events.trim, before, TRIM_BATCH) == TRIM_BATCH:
        continue


def _on_disk(path: Path) -> int:
    """Return the bytes of a database and its log."""
    found = (path, path.with_name(f"{path.name}-wal"))
    return sum(one.stat().st_size for one in found if one.exists())
