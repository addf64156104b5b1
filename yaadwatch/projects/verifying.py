"""Verify a store and name the commands that mend it; open the user store, or what replaces it.

Without the list of projects nothing is watched. So at a start a user store that is gone is restored
from its newest copy, and one that cannot be used is left as it is: a copy of it is read in its
place, to which nothing is written.
"""

import logging
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.api.messages.store import Verify
from yaadwatch.db import checks, migrations, nodes, projects, rows, vectors
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection, drop_logs, is_damage, replacing
from yaadwatch.memory import changes
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Node, circle_in_words
from yaadwatch.model.projects import Project
from yaadwatch.projects.row_import import USER, NamedStore, named_store
from yaadwatch.system import files
from yaadwatch.workspace.workspace import Call, Home

BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong in a store. `derived`: `verify --repair` rebuilds it."""

    check: str
    what: str
    mend: str
    derived: bool = False


def verify(home: Home, call: Call, ask: Verify) -> dict[str, object]:
    """Check everything in a store that can be wrong; the answer is StoreVerified.

    Raises:
        YaadError: NOT_FOUND (no watched project here); UNAVAILABLE when the store is too damaged to
            be opened.
    """
    with named_store(home, call, user=ask.user) as store:
        found = list(_findings(store))
        repaired = []
        wrong = {one.check for one in found if one.derived}
        if ask.repair and "index" in wrong:
            indexed = store.db.write(_rebuild_index)
            repaired.append(f"the full-text index, of {indexed} memories")
        if ask.repair and "vectors" in wrong:
            dropped = store.db.write(_drop_vectors)
            repaired.append(f"the vectors of {dropped} memories, which are filled in later")
        if repaired:
            found = list(_findings(store))
    return {
        "path": str(store.db.path),
        "sound": not found,
        "checks": [name for name, _ in CHECKS],
        "findings": [{"check": one.check, "what": one.what, "mend": one.mend} for one in found],
        "repaired": repaired,
    }


def _findings(store: NamedStore) -> Iterator[Finding]:
    for name, look in CHECKS:
        try:
            yield from list(look(name, store))
        except YaadError as error:  # a damaged store cannot be checked further
            yield Finding(check=name, what=error.message, mend=_from_backup(store))


def _integrity(name: str, store: NamedStore) -> Iterator[Finding]:
    for what in store.db.examine(checks.integrity):
        yield Finding(check=name, what=f"The file is damaged: {what}", mend=_from_backup(store))


def _references(name: str, store: NamedStore) -> Iterator[Finding]:
    for table, parent, count in store.db.read(checks.dangling):
        what = f"{count} rows of {table} refer to rows of {parent} that are not there"
        yield Finding(check=name, what=what, mend=_from_backup(store))


def _circles(name: str, store: NamedStore) -> Iterator[Finding]:
    for kind, circle in store.db.read(checks.circles):
        start, end = circle[0], circle[1] if len(circle) > 1 else circle[0]
        yield Finding(
            check=name,
            what=f"Relations of the kind {kind} run in a circle: {circle_in_words(circle, ())}",
            mend=f"yaadwatch unlink {start} {kind} {end} (the one of them that is not true)",
        )


def _intervals(name: str, store: NamedStore) -> Iterator[Finding]:
    for before, edge in store.db.read(checks.overlaps):
        yield Finding(
            check=name,
            what=f"Relations {before} and {edge} say the same of the same time",
            mend=f"yaadwatch graph delete-link {edge}",
        )


def _anchors(name: str, store: NamedStore) -> Iterator[Finding]:
    for node, path, odd in store.db.read(checks.odd_anchors):
        yield Finding(
            check=name,
            what=f"Memory {short_id(node)} rests on {path}: {odd}",
            mend=f"yaadwatch confirm {short_id(node)}",
        )


def _history(name: str, store: NamedStore) -> Iterator[Finding]:
    for node in store.db.read(checks.odd_versions):
        yield Finding(
            check=name,
            what=f"The history of memory {short_id(node)} ends with another version than it has",
            mend=f"yaadwatch confirm {short_id(node)}",
        )


def _index(name: str, store: NamedStore) -> Iterator[Finding]:
    mend = f"yaadwatch verify --repair{_store_option(store)}"
    missing, left = store.db.read(checks.unindexed), store.db.read(checks.left_in_index)
    if missing:
        what = f"{len(missing)} memories are not in the full-text index, and are not found"
        yield Finding(check=name, what=what, mend=mend, derived=True)
    if left:
        what = f"{len(left)} entries of the full-text index are of no living memory"
        yield Finding(check=name, what=what, mend=mend, derived=True)
    if not missing and not left and store.db.read(_index_differs):
        what = "The full-text index holds other words than the memories do"
        yield Finding(check=name, what=what, mend=mend, derived=True)


def _vectors(name: str, store: NamedStore) -> Iterator[Finding]:
    outdated = store.db.read(vectors.outdated)
    if outdated:
        what = f"The vectors of {len(outdated)} memories are of other words than these have"
        mend = f"yaadwatch verify --repair{_store_option(store)}"
        yield Finding(check=name, what=what, mend=mend, derived=True)


def _copies(name: str, store: NamedStore) -> Iterator[Finding]:
    for what, folder, file, size in store.db.read(checks.copies):
        found = store.db.path.parent / folder / file
        if found.is_symlink() or not found.is_file():
            said = f"The copy of {what} is not at {found}"
        elif found.stat().st_size != size:
            said = f"The copy of {what} at {found} has {found.stat().st_size} bytes, not {size}"
        else:
            continue
        mend = "It cannot be brought back; it goes by itself as newer copies are made."
        yield Finding(check=name, what=said, mend=mend)


def _cursors(name: str, store: NamedStore) -> Iterator[Finding]:
    for cursor, seq, last in store.db.read(checks.cursors):
        what = f"The follower {cursor} has read up to event {seq}, and the last one is {last}"
        yield Finding(check=name, what=what, mend=_from_backup(store))


def _permissions(name: str, store: NamedStore) -> Iterator[Finding]:
    for place, wanted in ((store.db.path, 0o600), (store.db.path.parent, 0o700)):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077:
            what = f"{place} can be read by others (its mode is {mode:o})"
            yield Finding(check=name, what=what, mend=f"chmod {wanted:o} {shlex.quote(str(place))}")


Check = Callable[[str, NamedStore], Iterator[Finding]]

CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("integrity", _integrity),
    ("references", _references),
    ("circles", _circles),
    ("intervals", _intervals),
    ("anchors", _anchors),
    ("history", _history),
    ("index", _index),
    ("vectors", _vectors),
    ("copies", _copies),
    ("cursors", _cursors),
    ("permissions", _permissions),
)
"""The checks, in this order."""


def _index_differs(conn: Connection) -> bool:
    """Return whether a rebuilt index would differ in words or their counts."""
    fresh = rows.scratch()
    try:
        for node in _living(conn):
            nodes.insert(fresh, node)
            changes.index(fresh, node)
        return checks.words(fresh) != checks.words(conn)
    finally:
        fresh.close()


def _rebuild_index(conn: Connection) -> int:
    """Rebuild the full-text index; return how many memories are in it."""
    rows.empty_index(conn)
    indexed = 0
    for node in _living(conn):
        changes.index(conn, node)
        indexed += 1
    return indexed


def _drop_vectors(conn: Connection) -> int:
    """Delete outdated vectors; the daemon computes them again."""
    outdated = vectors.outdated(conn)
    rows.drop_vectors(conn, outdated)
    return len(outdated)


def _living(conn: Connection) -> Iterator[Node]:
    after = ""
    while batch := nodes.batch(conn, after=after, limit=BATCH, archived=False):
        yield from (node for node in batch if node.kind not in rows.NOT_INDEXED)
        after = batch[-1].id


def _from_backup(store: NamedStore) -> str:
    if store.project is None:
        return f"Stop the daemon, and put the newest of {store.id} in the backups in its place."
    where = shlex.quote(str(store.where))
    return f"yaadwatch remove {where}, then yaadwatch add --restore {where}"


def _store_option(store: NamedStore) -> str:
    return " --user" if store.project is None else f" --project {shlex.quote(str(store.where))}"


_log: Final = logging.getLogger(__name__)

_OF_LIST: Final = "-projects.db"
"""Suffix of a copy that was made because the list of projects changed."""
LOOK_AGAIN: Final = timedelta(minutes=10)
"""An unusable user store that did not change is checked again after this."""
READ_AGAIN: Final = timedelta(minutes=1)
"""A usable user store that did not change is read again after this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The opened user store, or its replacement.

    Args:
        db: the database.
        notice: what the person must know about it; '' when it is unchanged.
        mend: the command that mends it, or what is left to do.
        stands_in: whether the user store cannot be used; then `db` is a replacement that refuses
            every write.
    """

    db: Database
    notice: str = ""
    mend: str = ""
    stands_in: bool = False


def open_own(on_commit: Callable[[], None] | None = None) -> Opened:
    """Open the user store, or a replacement. An existing file is never replaced.

    Raises:
        YaadError: UNAVAILABLE when neither can be opened; REFUSED when the data folder belongs to
            another user.
    """
    path = places.user_store()
    shutil.rmtree(_folder(), ignore_errors=True)
    notice = mend = ""
    if not path.exists() and not path.is_symlink():
        copy = migrations.newest_sound_copy(places.backups(USER), role="user")
        if copy is not None:
            _copy_whole(copy, path)
            notice = (
                f"{path} was gone, and was restored from the copy of {_date_of(copy)}. What was "
                "remembered for all projects since then, and projects added since, are not in it."
            )
            mend = "yaadwatch restart, when you have read this"
            _log.warning("store.restored", extra={"path": str(path), "copy": str(copy)})
    try:
        db = Database.open(path, role="user", create=True, on_commit=on_commit)
        try:
            db.read(_read_essentials)
        except BaseException:
            db.close()
            raise
    except YaadError as error:
        return _open_replacement(error)
    return Opened(db=db, notice=notice, mend=mend)


class UserStoreHealth:
    """Decides when the daemon should restart because of the user store.

    Args:
        opened: the user store, or its replacement.
        now: returns the current time.
    """

    def __init__(self, opened: Opened, now: Callable[[], datetime]) -> None:
        self._opened = opened
        self._now = now
        self._seen = _signature()
        self._looked_at = now()

    def restart_reason(self) -> str:
        """Return why the daemon should restart; '' when that would not help."""
        if self._opened.stands_in:
            return "the user store can be used again" if self._is_back() else ""
        if not self._opened.db.is_in_place():
            return "the file of the user store was deleted or replaced"
        if not self._is_due(READ_AGAIN):
            return ""
        try:
            self._opened.db.read(_read_essentials)
        except YaadError as error:
            return "the user store is damaged" if is_damage(error) else ""
        return ""

    def _is_due(self, after: timedelta) -> bool:
        """Return whether the file changed since the last look, or that is `after` ago."""
        now, seen = self._now(), _signature()
        if seen == self._seen and abs(now - self._looked_at) < after:
            return False
        self._seen, self._looked_at = seen, now
        return True

    def _is_back(self) -> bool:
        if not self._is_due(LOOK_AGAIN):
            return False
        return checks.inspect_store(places.user_store(), "user").state in {"absent", "ok", "older"}


class ProjectListKeeper:
    """Keeps a copy of the user store that has the current list of projects.

    The daily copy does not have a project that was added today.
    """

    def __init__(self) -> None:
        self._kept: list[Project] | None = None

    def keep(self, home: Home) -> None:
        """Copy the user store unless the newest copy has the current projects.

        Raises:
            YaadError: UNAVAILABLE when it cannot be made.
        """
        watched = home.user.read(projects.everything)
        if home.user.stands_in or not watched or watched == self._kept:
            return
        newest = max(places.backups(USER).glob("*.db"), default=None)
        if self._kept is not None or newest is None or _projects_in(newest) != watched:
            made = places.backups(USER) / f"{home.clock.now():%Y%m%dT%H%M%S%f}{_OF_LIST}"
            home.user.backup(made)
            migrations.check_copy(made, role="user")
            for old in places.backups(USER).glob(f"*{_OF_LIST}"):
                if old != made:
                    old.unlink(missing_ok=True)
        self._kept = watched


def _projects_in(copy: Path) -> list[Project] | None:
    """Return the projects in a copy of the user store; None when it cannot be read."""
    try:
        return checks.projects(copy)
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return None


def _open_replacement(error: YaadError) -> Opened:
    """Open a read-only replacement for a user store that cannot be used.

    Raises:
        YaadError: the given one, when there is no replacement.
    """
    copy = migrations.newest_sound_copy(places.backups(USER), role="user")
    path = _folder() / "yaad.db"
    refusal = YaadError(error.code, error.message, "What to do: yaadwatch doctor")
    try:
        files.private_folder(_folder())
        if copy is not None:
            _copy_whole(copy, path)
        db = Database.open(path, role="user", create=True, refusal=refusal)
    except (YaadError, OSError):
        raise error from None
    if copy is not None:
        what = f"what it held on {_date_of(copy)} is read from a copy"
    else:
        what = "there is no copy of it, so that no project is known"
    notice = (
        f"{error.message} Until it is mended {what}, and nothing is remembered for all projects, "
        "and no project added or removed."
    )
    return Opened(db=db, notice=notice, mend="yaadwatch doctor", stands_in=True)


def _copy_whole(copy: Path, path: Path) -> None:
    """Copy `copy` to `path`, where no file is, atomically."""
    drop_logs(path)
    with replacing(path, "no copy was put there") as temporary:
        shutil.copyfile(copy, temporary)


def _read_essentials(conn: Connection) -> None:
    """Read the tables without which the daemon cannot work."""
    projects.read_through(conn)
    projects.all_jobs(conn)


def _date_of(copy: Path) -> str:
    """Return the day and time in the name of a copy."""
    stamp = copy.stem
    return f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]} UTC"


def _signature() -> tuple[int, ...] | None:
    try:
        found = places.user_store().lstat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _folder() -> Path:
    return places.data_folder() / "stand-in"
