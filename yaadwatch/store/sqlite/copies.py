"""Is a copy of a store whole? Looked at without a trace: no lock, and no file beside it."""

from contextlib import closing
from pathlib import Path

import apsw

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.sqlite import connections, migrations
from yaadwatch.store.sqlite.faults import damaged, refused, told


def is_users(path: Path) -> bool:
    """Return whether a copy is of a user store, not of a project's.

    Raises:
        YaadError: BAD_REQUEST when it is the database of another program; UNAVAILABLE when it is
            damaged.
    """
    with told(path, "nothing was imported"):
        conn = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            if conn.pragma("application_id") != connections.APPLICATION_ID:
                raise YaadError(
                    Code.BAD_REQUEST,
                    f"{path} is the database of another program; nothing was imported.",
                    hint="That of another Yaad: --format yaad",
                )
            found = conn.execute("SELECT value FROM meta WHERE key = 'role'").get
        except apsw.SQLError as error:
            raise damaged(path, str(error), "nothing was imported") from error
        finally:
            conn.close()
    return bool(found == "user")


def newest_whole(folder: Path, *, role: str) -> Path | None:
    """Return the newest copy in a folder of copies that is whole, None without one.

    Args:
        folder: of the copies of one store; their names begin with when they were made.
        role: 'user' or 'project'.
    """
    for copy in sorted(folder.glob("*.db"), reverse=True):
        try:
            check(copy, role=role)
        except YaadError:
            continue
        return copy
    return None


def check(path: Path, *, role: str, project: str = "") -> None:
    """Refuse a copy that is not whole, or not of this store.

    Args:
        path: a single file, to which nobody writes.
        role: 'user' or 'project'.
        project: the id that it must have; '' for any.

    Raises:
        YaadError: UNAVAILABLE when it is damaged, of a later version or cannot be read; REFUSED
            when it is of another store.
    """
    outcome = "it is no copy to go back to"
    with told(path, outcome):
        migrations.check(path, connections.probe(path), migrations.chain())
        with closing(connections.still(path)) as conn:
            found = conn.execute("PRAGMA quick_check(1)").get
            if found != "ok":
                raise damaged(path, str(found), outcome)
            meta = dict(iter(conn.execute("SELECT key, value FROM meta")))
    if meta.get("role") != role or project not in {"", meta.get("project")}:
        raise refused(f"{path} is of another store; {outcome}.", "Take it away.")
