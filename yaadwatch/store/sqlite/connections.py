"""Connections to a store: what is set on each, and proof that SQLite took it."""

from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from yaadwatch.store import visibility
from yaadwatch.store.sqlite.faults import unavailable

APPLICATION_ID: Final = 0x79616164
"""Stands in the header of every store, and reads 'yaad'."""

_BUSY_MS: Final = 5_000
_WRITER_CACHE_KIB: Final = 2_048
_READER_CACHE_KIB: Final = 256
_STATEMENTS_KEPT: Final = 64


def probe(path: Path) -> int:
    """Return the version in the header of the file at `path`, without leaving a trace.

    Raises:
        YaadError: UNAVAILABLE; it is no database, or a database of another program.
    """
    conn = still(path)
    try:
        if conn.pragma("application_id") != APPLICATION_ID:
            raise unavailable(
                f"{path} is not a yaadwatch store; nothing was changed.",
                "Move it away, then try again.",
            )
        return int(conn.pragma("user_version"))
    finally:
        conn.close()


def still(path: Path) -> apsw.Connection:
    """Return a connection to a file that nobody writes to: no lock is taken, no log is replayed,
    and no file appears beside it.
    """
    conn = apsw.Connection(
        f"file:{quote(str(path))}?immutable=1",
        flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW,
    )
    conn.execute(visibility.TABLE)
    return conn


def writer(path: Path) -> apsw.Connection:
    """Return a connection that may write.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take.
    """
    conn = _connect(path, apsw.SQLITE_OPEN_READWRITE)
    try:
        conn.pragma("journal_mode", "wal")
        _settle(conn, path, cache_kib=_WRITER_CACHE_KIB)
    except BaseException:
        discard(conn)
        raise
    return conn


def reader(path: Path) -> apsw.Connection:
    """Return a connection that cannot write, except to temporary tables.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take.
    """
    conn = _connect(path, apsw.SQLITE_OPEN_READONLY)
    try:
        _settle(conn, path, cache_kib=_READER_CACHE_KIB)
    except BaseException:
        discard(conn)
        raise
    return conn


def read_only(path: Path) -> apsw.Connection:
    """Return a connection to a store that this process does not write to.

    While a store is open, or if it was not closed, its log lies beside it and counts. Without a log
    no file appears beside it.

    Raises:
        YaadError: UNAVAILABLE when a setting did not take, or the log cannot be read.
    """
    if not path.with_name(f"{path.name}-wal").exists():
        return still(path)
    try:
        return reader(path)
    except apsw.CantOpenError as error:
        raise unavailable(
            f"The log of the last writes to {path} cannot be read, because no file can be made in "
            "its folder; nothing was read.",
            "Make the folder writable, or copy it to a disk that is.",
        ) from error


def discard(conn: apsw.Connection) -> None:
    """Close a connection whose file is gone or not ours: the logs at its path are left alone."""
    conn.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    conn.close()


def _connect(path: Path, flags: int) -> apsw.Connection:
    conn = apsw.Connection(
        str(path),
        flags=flags | apsw.SQLITE_OPEN_NOFOLLOW,
        statementcachesize=_STATEMENTS_KEPT,
    )
    # Before anything else: the first look at the file may meet another connection that is closing.
    conn.set_busy_timeout(_BUSY_MS)
    return conn


def _settle(conn: apsw.Connection, path: Path, *, cache_kib: int) -> None:
    wanted: dict[str, int | str] = {
        "busy_timeout": _BUSY_MS,
        "cache_size": -cache_kib,
        "foreign_keys": 1,
        "mmap_size": 0,
        "synchronous": 1,  # NORMAL: an acknowledged commit outlives the process
        "temp_store": 2,  # memory
        "trusted_schema": 0,
    }
    for name, value in wanted.items():
        conn.pragma(name, value)
    found: dict[str, int | str] = {name: conn.pragma(name) for name in wanted} | {
        "defensive": conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        "journal_mode": conn.pragma("journal_mode"),
    }
    for name, value in {"journal_mode": "wal", "defensive": 1, **wanted}.items():
        if found[name] != value:
            raise unavailable(
                f"{path} cannot be used safely here: {name} is {found[name]}, not {value};"
                " nothing was changed.",
                "Keep it on a local disk.",
            )
    conn.execute(visibility.TABLE)
