"""Check a store for damage and inconsistent rows, and record its size per day.

Every check returns the faulty rows and writes nothing. `inspect_store` looks at a file without
opening it as a store: a damaged, newer or locked store is a result there, not an error.
"""

import stat
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import apsw

from yaadwatch.db import connections, database, migrations, soundness
from yaadwatch.db import projects as db_projects
from yaadwatch.db.codec import column
from yaadwatch.db.files import is_damage, translated_errors
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import short_id
from yaadwatch.model.projects import Project


def bytes_used(conn: apsw.Connection) -> int:
    """Return the bytes the database uses, without those of deleted rows."""
    return int(conn.pragma("page_size")) * (
        int(conn.pragma("page_count")) - int(conn.pragma("freelist_count"))
    )


def integrity(conn: apsw.Connection) -> list[str]:
    """Return what SQLite's integrity checks report on the file and its indexes, full-text
    included: the first 20 faults.
    """
    return [str(said) for said in column(conn, "PRAGMA integrity_check(20)") if said != "ok"]


def dangling(conn: apsw.Connection) -> list[tuple[str, str, int]]:
    """Return table, referenced table and count of rows whose foreign key has no target."""
    rows = conn.execute(
        """
        SELECT "table", parent, count(*)
          FROM pragma_foreign_key_check
         GROUP BY "table", parent
         ORDER BY "table", parent
        """
    )
    return list(rows)


def unindexed(conn: apsw.Connection) -> list[str]:
    """Return the living memories missing from the full-text index."""
    sql = """
        SELECT id
          FROM nodes
         WHERE archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
           AND num NOT IN (SELECT rowid FROM nodes_fts)
         ORDER BY id
    """
    return column(conn, sql)


def left_in_index(conn: apsw.Connection) -> list[int]:
    """Return the numbers in the full-text index that belong to no living memory."""
    sql = """
        SELECT rowid
          FROM nodes_fts
         WHERE rowid NOT IN (SELECT num FROM nodes
                              WHERE archived_ms IS NULL
                                AND kind NOT IN ('file', 'entity', 'session'))
         ORDER BY rowid
    """
    return column(conn, sql)


def words(conn: apsw.Connection) -> dict[str, int]:
    """Return every word of the full-text index with its number of occurrences."""
    conn.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, nodes_fts, col)")
    rows = conn.execute("SELECT term, col, cnt FROM temp.words")
    found = {f"{col}\0{term}": count for term, col, count in rows}
    conn.execute("DROP TABLE temp.words")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """The state of a store; `said` is the message of SQLite or the system."""

    path: Path
    state: Literal["absent", "damaged", "unsound", "older", "newer", "unusable", "ok"]
    said: str = ""


def inspect_store(path: Path, role: Literal["user", "project"]) -> StoreState:
    """Return the state of the store at `path`. Links in the path are not followed.

    Args:
        path: the file.
        role: the expected role, 'user' or 'project'.
    """
    try:
        if not path.exists() and not path.is_symlink():
            return StoreState(path=path, state="absent")
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return StoreState(path=path, state="unusable", said="it is no file")
        if found.st_size == 0:
            return StoreState(path=path, state="damaged", said="it is empty")
        newest = migrations.chain()[-1].version
        with translated_errors(path), connections.undisturbed(path):
            version = connections.probe(path)
            faults = _faults(path, role if version == newest else None)
            unsound = _unsound(path) if version == newest and not faults else ""
    except YaadError as error:
        if is_damage(error):
            return StoreState(path=path, state="damaged", said=str(error.__cause__))
        return StoreState(path=path, state="unusable", said=error.message)
    except UnicodeDecodeError as error:  # in the schema
        return StoreState(path=path, state="damaged", said=str(error))
    except OSError as error:
        return StoreState(path=path, state="unusable", said=error.strerror or str(error))
    if faults:
        return StoreState(path=path, state="damaged", said="; ".join(faults))
    if version > newest:
        said = f"it has version {version}, and this program knows versions up to {newest}"
        return StoreState(path=path, state="newer", said=said)
    if unsound:
        return StoreState(path=path, state="unsound", said=unsound)
    return StoreState(path=path, state="older" if version < newest else "ok")


def projects(path: Path) -> list[Project]:
    """Return the watched projects of the user store at `path`.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read.
    """
    with translated_errors(path), connections.undisturbed(path):
        conn = connections.read_only(path)
        try:
            return db_projects.everything(conn)
        finally:
            connections.discard(conn)


def _faults(path: Path, role: str | None) -> list[str]:
    """Return the faults of the file. `role` is only checked when the schema version is known.

    Raises:
        YaadError: UNAVAILABLE when it is a store of another role.
        apsw.Error: it cannot be read.
    """
    conn = connections.read_only(path)
    try:
        faults = [str(text) for text in column(conn, "PRAGMA quick_check(3)") if text != "ok"]
        if not faults and role is not None:
            with closing(apsw.Connection(":memory:")) as ours:
                migrations.run(ours, migrations.chain())
                missing = sorted(_tables(ours) - _tables(conn))
            faults = [f"it has no table {name}" for name in missing]
        if not faults and role is not None and database.get_meta(conn, "role") != role:
            raise YaadError(Code.UNAVAILABLE, f"it is not the store of a {role}")
        return faults
    finally:
        connections.discard(conn)


def _unsound(path: Path) -> str:
    """Return which rows are at fault, or were; '' for none."""
    conn = connections.read_only(path)
    try:
        said = [str(fault) for fault in soundness.faults(conn)]
        if not said:
            said = [
                f"memory {short_id(id_)} has another text" for id_, _ in soundness.misread(conn)
            ]
            said += soundness.notes(conn)
    finally:
        connections.discard(conn)
    more = f", and {len(said) - 3} more" if len(said) > 3 else ""
    return "; ".join(said[:3]) + more


def _tables(conn: apsw.Connection) -> set[str]:
    """Return the plain tables. The full-text index is virtual, and is rebuilt when missing."""
    sql = """
        SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
    """
    return set(column(conn, sql))
