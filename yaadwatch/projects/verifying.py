"""Verify a store and name the commands that mend it; open the user store, or restore it."""

import itertools
import logging
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.api.messages.store import Verify
from yaadwatch.db import checks, nodes, projects, rows, soundness, vectors
from yaadwatch.db.database import Database
from yaadwatch.db.files import DAMAGED, Connection, drop_logs, is_damage, replacing
from yaadwatch.memory import changes
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import Node
from yaadwatch.projects.row_import import USER, NamedStore, named_store
from yaadwatch.system import files
from yaadwatch.workspace.workspace import Call, Home

BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong in a store. `derived`: `verify --repair` mends it."""

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
        if ask.repair and wrong & {"rows", "memories"}:
            repaired += _mend_rows(store)
            wrong |= {one.check for one in _findings(store) if one.derived}
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


def _mend_rows(store: NamedStore) -> list[str]:
    """Mend rows and texts; return what was done."""
    store.db.mend()
    done = [f"row {line}" for line in store.db.read(soundness.notes)]
    wanted = [id_ for id_, _ in store.db.read(soundness.misread)]
    texts: dict[str, tuple[str, str]] = {}
    digests = store.db.read(soundness.digests, wanted)
    for copy in sorted(places.backups(store.id).glob("*.db"), reverse=True):
        missing = {id_: digest for id_, digest in digests.items() if id_ not in texts}
        texts |= soundness.texts_in_copy(copy, missing)
    for id_ in wanted:
        store.db.write(soundness.put_text, id_, texts.get(id_))
        source = "has its text of a backup again" if id_ in texts else "keeps the text that it has"
        done.append(f"memory {short_id(id_)} {source}")
    store.db.write(soundness.drop_notes)
    store.db.write(_rebuild_index)
    return done


def _findings(store: NamedStore) -> Iterator[Finding]:
    rows_at_fault = False
    for name, look in CHECKS:
        if rows_at_fault and name in ("memories", "index", "vectors"):
            continue  # they read each row
        try:
            found = list(look(name, store))
            rows_at_fault |= name == "rows" and bool(found)
            yield from found
        except YaadError as error:  # a damaged store cannot be checked further
            yield Finding(check=name, what=error.message, mend=_from_backup(store))


def _integrity(name: str, store: NamedStore) -> Iterator[Finding]:
    for what in store.db.examine(checks.integrity):
        yield Finding(check=name, what=f"The file is damaged: {what}", mend=_from_backup(store))


def _rows(name: str, store: NamedStore) -> Iterator[Finding]:
    mend = f"yaadwatch verify --repair{_store_option(store)}"
    for fault in store.db.examine(soundness.faults):
        yield Finding(check=name, what=f"At fault: {fault}", mend=mend, derived=True)


def _memories(name: str, store: NamedStore) -> Iterator[Finding]:
    mend = f"yaadwatch verify --repair{_store_option(store)}"
    for id_, text in store.db.read(soundness.misread):
        what = f"Memory {short_id(id_)} has another text than was stored: {text[:200]}"
        yield Finding(check=name, what=what, mend=mend, derived=True)
    kept = store.db.path.parent / DAMAGED
    for line in store.db.read(soundness.notes):
        what = f"At fault until {line}. The store as it was is in {kept}"
        yield Finding(check=name, what=what, mend=f"{mend} (once you have seen it)", derived=True)


def _references(name: str, store: NamedStore) -> Iterator[Finding]:
    for table, parent, count in store.db.read(checks.dangling):
        what = f"{count} rows of {table} refer to rows of {parent} that are not there"
        yield Finding(check=name, what=what, mend=_from_backup(store))


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


def _permissions(name: str, store: NamedStore) -> Iterator[Finding]:
    for place, wanted in ((store.db.path, 0o600), (store.db.path.parent, 0o700)):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077:
            what = f"{place} can be read by others (its mode is {mode:o})"
            yield Finding(check=name, what=what, mend=f"chmod {wanted:o} {shlex.quote(str(place))}")


Check = Callable[[str, NamedStore], Iterator[Finding]]

CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("integrity", _integrity),
    ("rows", _rows),
    ("memories", _memories),
    ("references", _references),
    ("index", _index),
    ("vectors", _vectors),
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

LIST_COPY: Final = "-projects.db"
"""Suffix of a copy of the user store that was made because the list of projects changed."""


def open_user_store(on_commit: Callable[[], None] | None = None) -> tuple[Database, str]:
    """Return the user store, and what the person must know about it; '' for nothing.

    A damaged file is moved to `damaged` in the data folder. One that is gone or damaged is replaced
    by its newest undamaged copy: without the list of projects nothing is watched.

    Raises:
        YaadError: UNAVAILABLE when it cannot be used otherwise: it is of a later version, or cannot
            be read or written; REFUSED when it is of another user, or no file.
    """
    path = places.user_store()
    try:
        return _opened(path, on_commit, create=False), ""
    except YaadError:
        found = checks.inspect_store(path, "user")
        state = found.state
        if state not in {"absent", "damaged"}:
            raise
        what = f"{path} was gone"
        if state == "damaged":
            what = f"{path} is damaged or is no database ({found.said}). It is at"
            what += f" {_move_aside(path)} now"
    copy = soundness.newest_sound_copy(places.backups(USER), role="user")
    if copy is not None:
        drop_logs(path)
        with replacing(path, "no copy was put there") as temporary:
            shutil.copyfile(copy, temporary)
        stamp = copy.stem
        day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]} {stamp[9:11]}:{stamp[11:13]} UTC"
        what += (
            f", and {path.name} was restored from the copy of {day}. What was remembered for all"
            " projects since then, and projects added since, are not in it."
        )
        _log.warning("store.restored", extra={"path": str(path), "copy": str(copy)})
    elif state == "absent":
        what = ""  # the first start
    else:
        what += ", and there is no copy of it, so that no project is known."
    return _opened(path, on_commit, create=True), what


def restart_reason(user: Database) -> str:
    """Return why the daemon should restart because of its user store; '' when it need not."""
    if not user.is_in_place():
        return "the file of the user store was deleted or replaced"
    try:
        user.examine(_read_essentials)  # pages of an open connection may be cached
    except YaadError as error:
        return "the user store is damaged" if is_damage(error) else ""
    return ""


def copy_project_list(home: Home) -> None:
    """Copy the user store, because the daily copy does not know a project that was added today."""
    folder = places.backups(USER)
    made = folder / f"{home.clock.now():%Y%m%dT%H%M%S%f}{LIST_COPY}"
    try:
        home.user.backup(made)
    except YaadError as error:
        _log.warning("store.not_copied", extra={"error": error.message})
        return
    for old in folder.glob(f"*{LIST_COPY}"):
        if old != made:
            old.unlink(missing_ok=True)


def _opened(path: Path, on_commit: Callable[[], None] | None, *, create: bool) -> Database:
    db = Database.open(path, role="user", create=create, on_commit=on_commit)
    try:
        db.read(_read_essentials)
    except BaseException:
        db.close()
        raise
    return db


def _move_aside(path: Path) -> Path:
    """Move a damaged store and its logs to `damaged` beside it, or `damaged/2` and so on."""
    folder = path.parent / DAMAGED
    names = (folder / str(number) if number > 1 else folder for number in itertools.count(1))
    aside = next(one for one in names if not os.path.lexists(one / path.name))
    files.private_folder(folder)
    files.private_folder(aside)
    for file in path.parent.glob(f"{path.name}*"):
        file.rename(aside / file.name)
    return aside / path.name


def _read_essentials(conn: Connection) -> None:
    """Read the tables without which the daemon cannot work."""
    projects.everything(conn)
    projects.all_jobs(conn)
