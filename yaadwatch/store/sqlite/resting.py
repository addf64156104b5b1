"""A look into a store that nobody has open: one connection, no lock, no file beside it.

To open a store for good takes three connections and makes a write-ahead log; for a few rows of each
of many stores that is most of the work.
"""

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import apsw

from yaadwatch.store import meta
from yaadwatch.store.sqlite import connections, migrations

R = TypeVar("R")


def look(path: Path, project: str, ask: Callable[[apsw.Connection], R]) -> R | None:
    """Return what `ask(conn)` reads in the store at `path`, which this process must not have open.

    Args:
        path: the file.
        project: the id of the project that it must belong to.
        ask: reads; it is run once, and its answer is thrown away when something happened meanwhile.

    Returns:
        None when the store has to be opened to tell: something is not as a store at rest is, or
        somebody else was at it. Then nothing was learned, and opening it says what is wrong.
    """
    before = _state(path)
    if before is None:
        return None
    try:
        conn = connections.still(path)
        try:
            found = ask(conn) if _is_ours(conn, project) else None
        finally:
            conn.close()
    except apsw.Error:
        return None
    return found if _state(path) == before else None


def _is_ours(conn: apsw.Connection, project: str) -> bool:
    """Return whether this is the project's store, of the newest version."""
    conn.pragma("trusted_schema", 0)
    conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    return (
        conn.pragma("application_id") == connections.APPLICATION_ID
        and conn.pragma("user_version") == migrations.chain()[-1].version
        and meta.get(conn, "role") == "project"
        and meta.get(conn, "project") == project
    )


def _state(path: Path) -> tuple[int, ...] | None:
    """Return what tells whether a file was written to; None when it is no store at rest of ours.

    At rest it has no log: what is in a log is not yet in the file.
    """
    try:
        found = os.lstat(path)
    except OSError:
        return None
    plain = stat.S_ISREG(found.st_mode) and stat.S_IMODE(found.st_mode) == 0o600
    if not plain or found.st_uid != os.geteuid() or not found.st_size:
        return None
    if os.path.lexists(f"{path}-wal") or os.path.lexists(f"{path}-journal"):
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
