"""Is a store whole? What is not, and the command that mends it; nothing is written unless asked."""

import shlex
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from yaadwatch.api.messages.store import Verify
from yaadwatch.engine import node_changes
from yaadwatch.engine.inout.stores import Meant, meant
from yaadwatch.engine.workspace import Call, Home
from yaadwatch.model.edges import told_circle
from yaadwatch.model.errors import YaadError
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import Node
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.vectors import embeddings
from yaadwatch.store.whole import checks, rows

BATCH: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that must not be. `derived`: `verify --repair` makes it anew."""

    check: str
    what: str
    mend: str
    derived: bool = False


def verify(home: Home, call: Call, ask: Verify) -> dict[str, object]:
    """Look at everything in a store that can be wrong; the answer is StoreVerified.

    Raises:
        YaadError: NOT_FOUND (no watched project here); UNAVAILABLE when the store is too damaged to
            be opened.
    """
    with meant(home, call, user=ask.user) as store:
        found = list(_findings(store))
        repaired = []
        wrong = {one.check for one in found if one.derived}
        if ask.repair and "index" in wrong:
            indexed = store.db.write(_index_anew)
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


def _findings(store: Meant) -> Iterator[Finding]:
    for name, look in CHECKS:
        try:
            yield from list(look(name, store))
        except YaadError as error:  # what is damaged cannot be looked at further
            yield Finding(check=name, what=error.message, mend=_from_backup(store))


def _integrity(name: str, store: Meant) -> Iterator[Finding]:
    for what in store.db.examine(checks.integrity):
        yield Finding(check=name, what=f"The file is damaged: {what}", mend=_from_backup(store))


def _references(name: str, store: Meant) -> Iterator[Finding]:
    for table, parent, count in store.db.read(checks.dangling):
        what = f"{count} rows of {table} refer to rows of {parent} that are not there"
        yield Finding(check=name, what=what, mend=_from_backup(store))


def _circles(name: str, store: Meant) -> Iterator[Finding]:
    for kind, circle in store.db.read(checks.circles):
        start, end = circle[0], circle[1] if len(circle) > 1 else circle[0]
        yield Finding(
            check=name,
            what=f"Relations of the kind {kind} run in a circle: {told_circle(circle, ())}",
            mend=f"yaadwatch unlink {start} {kind} {end} (the one of them that is not true)",
        )


def _intervals(name: str, store: Meant) -> Iterator[Finding]:
    for before, edge in store.db.read(checks.overlaps):
        yield Finding(
            check=name,
            what=f"Relations {before} and {edge} say the same of the same time",
            mend=f"yaadwatch graph delete-link {edge}",
        )


def _anchors(name: str, store: Meant) -> Iterator[Finding]:
    for node, path, odd in store.db.read(checks.odd_anchors):
        yield Finding(
            check=name,
            what=f"Memory {called(node)} rests on {path}: {odd}",
            mend=f"yaadwatch confirm {called(node)}",
        )


def _history(name: str, store: Meant) -> Iterator[Finding]:
    for node in store.db.read(checks.odd_versions):
        yield Finding(
            check=name,
            what=f"The history of memory {called(node)} ends with another version than it has",
            mend=f"yaadwatch confirm {called(node)}",
        )


def _index(name: str, store: Meant) -> Iterator[Finding]:
    mend = f"yaadwatch verify --repair{_which(store)}"
    missing, left = store.db.read(checks.unindexed), store.db.read(checks.left_in_index)
    if missing:
        what = f"{len(missing)} memories are not in the full-text index, and are not found"
        yield Finding(check=name, what=what, mend=mend, derived=True)
    if left:
        what = f"{len(left)} entries of the full-text index are of no living memory"
        yield Finding(check=name, what=what, mend=mend, derived=True)
    if not missing and not left and store.db.read(_words_differ):
        what = "The full-text index holds other words than the memories do"
        yield Finding(check=name, what=what, mend=mend, derived=True)


def _vectors(name: str, store: Meant) -> Iterator[Finding]:
    outdated = store.db.read(embeddings.outdated)
    if outdated:
        what = f"The vectors of {len(outdated)} memories are of other words than these have"
        mend = f"yaadwatch verify --repair{_which(store)}"
        yield Finding(check=name, what=what, mend=mend, derived=True)


def _copies(name: str, store: Meant) -> Iterator[Finding]:
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


def _cursors(name: str, store: Meant) -> Iterator[Finding]:
    for cursor, seq, last in store.db.read(checks.cursors):
        what = f"The follower {cursor} has read up to event {seq}, and the last one is {last}"
        yield Finding(check=name, what=what, mend=_from_backup(store))


def _permissions(name: str, store: Meant) -> Iterator[Finding]:
    for place, wanted in ((store.db.path, 0o600), (store.db.path.parent, 0o700)):
        mode = stat.S_IMODE(place.stat().st_mode)
        if mode & 0o077:
            what = f"{place} can be read by others (its mode is {mode:o})"
            yield Finding(check=name, what=what, mend=f"chmod {wanted:o} {shlex.quote(str(place))}")


Check = Callable[[str, Meant], Iterator[Finding]]

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
"""What is looked at, in this order."""


def _words_differ(conn: Connection) -> bool:
    """Return whether an index made anew would hold other words, or hold them more or less often."""
    fresh = rows.scratch()
    try:
        for node in _living(conn):
            nodes.insert(fresh, node)
            node_changes.index(fresh, node)
        return checks.words(fresh) != checks.words(conn)
    finally:
        fresh.close()


def _index_anew(conn: Connection) -> int:
    """Make the full-text index anew; return how many memories are in it."""
    rows.empty_index(conn)
    indexed = 0
    for node in _living(conn):
        node_changes.index(conn, node)
        indexed += 1
    return indexed


def _drop_vectors(conn: Connection) -> int:
    """Take vectors away that are of other words; they are made anew by the daemon."""
    outdated = embeddings.outdated(conn)
    rows.drop_vectors(conn, outdated)
    return len(outdated)


def _living(conn: Connection) -> Iterator[Node]:
    after = ""
    while batch := nodes.batch(conn, after=after, limit=BATCH, archived=False):
        yield from (node for node in batch if node.kind not in rows.NOT_INDEXED)
        after = batch[-1].id


def _from_backup(store: Meant) -> str:
    if store.project is None:
        return f"Stop the daemon, and put the newest of {store.id} in the backups in its place."
    where = shlex.quote(str(store.where))
    return f"yaadwatch remove {where}, then yaadwatch add --restore {where}"


def _which(store: Meant) -> str:
    return " --user" if store.project is None else f" --project {shlex.quote(str(store.where))}"
