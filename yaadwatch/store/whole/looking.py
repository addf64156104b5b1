"""Is this file a store that can be used? Looked at without opening it as one, and never changed.

For whoever has to say what is wrong where nothing works: a store that is damaged, of a later
version, or locked is an answer here, and no error.
"""

import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import apsw

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import meta
from yaadwatch.store import projects as registry
from yaadwatch.store.sqlite import connections, migrations
from yaadwatch.store.sqlite.faults import is_damage, told

State = Literal["absent", "damaged", "older", "newer", "unusable", "ok"]

SHOWN_MAX: Final = 3
"""Faults of one file that are told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Looked:
    """How a store is; `said`: what SQLite, or the system, says of it."""

    path: Path
    state: State
    said: str = ""


def look(path: Path, role: Literal["user", "project"]) -> Looked:
    """Return how the store at `path` is. Its links are not followed.

    Args:
        path: of the file.
        role: what it must be.
    """
    try:
        if not path.exists() and not path.is_symlink():
            return Looked(path=path, state="absent")
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            return Looked(path=path, state="unusable", said="it is no file")
        if found.st_size == 0:
            return Looked(path=path, state="damaged", said="it is empty")
        newest = migrations.chain()[-1].version
        with told(path):
            version = connections.probe(path)
            faults = _faults(path, role if version == newest else None)
    except YaadError as error:
        if is_damage(error):
            return Looked(path=path, state="damaged", said=str(error.__cause__))
        return Looked(path=path, state="unusable", said=error.message)
    except OSError as error:
        return Looked(path=path, state="unusable", said=error.strerror or str(error))
    if faults:
        return Looked(path=path, state="damaged", said="; ".join(faults))
    if version > newest:
        said = f"it has version {version}, and this program knows versions up to {newest}"
        return Looked(path=path, state="newer", said=said)
    return Looked(path=path, state="older" if version < newest else "ok")


def projects(path: Path) -> list[Project]:
    """Return the projects that are watched, by the user store at `path`.

    Raises:
        YaadError: UNAVAILABLE when it cannot be read.
    """
    with told(path):
        conn = connections.read_only(path)
        try:
            return registry.everything(conn)
        finally:
            connections.discard(conn)


def _faults(path: Path, role: str | None) -> list[str]:
    """Return what is wrong in the file; `role`: what it must be, if that is known by its version.

    Raises:
        YaadError: UNAVAILABLE when it is a store of another role.
        apsw.Error: it cannot be read.
    """
    conn = connections.read_only(path)
    try:
        rows = conn.execute(f"PRAGMA quick_check({SHOWN_MAX})").fetchall()
        faults = [str(text) for (text,) in rows if text != "ok"]
        if not faults and role is not None:
            faults = [f"it has no table {name}" for name in _lacking(conn)]
        if not faults and role is not None and meta.get(conn, "role") != role:
            raise YaadError(Code.UNAVAILABLE, f"it is not the store of a {role}")
        return faults
    finally:
        connections.discard(conn)


def _lacking(conn: apsw.Connection) -> list[str]:
    """Return the tables of the newest version that are not there."""
    ours = apsw.Connection(":memory:")
    try:
        migrations.run(ours, migrations.chain())
        return sorted(_tables(ours) - _tables(conn))
    finally:
        ours.close()


def _tables(conn: apsw.Connection) -> set[str]:
    """Return the plain tables; the index is virtual, and is made anew where it is missing."""
    rows = conn.execute(
        "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' "
        "AND name NOT LIKE 'sqlite_%'"
    )
    return {name for (name,) in rows}
