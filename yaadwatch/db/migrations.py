"""Apply the numbered schema files to a store."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import apsw

from yaadwatch.db import connections
from yaadwatch.db.files import damaged, translated_errors, unavailable
from yaadwatch.model.errors import Code, YaadError


class Step(NamedTuple):
    """A numbered schema file: SQL from the previous version to `version`."""

    version: int
    sql: str


@cache
def chain() -> tuple[Step, ...]:
    """Return all steps from an empty file to the newest version."""
    # Beside this module in a checkout and in an installed package. importlib.resources would find
    # the same folder, for 1.7 MB of memory that the daemon then keeps.
    files = sorted((Path(__file__).parent / "schema").glob("[0-9][0-9][0-9][0-9]-*.sql"))
    return tuple(Step(int(path.name[:4]), path.read_text(encoding="utf-8")) for path in files)


def check(path: Path, version: int, steps: Sequence[Step]) -> None:
    """Refuse a store written by a newer program.

    Raises:
        YaadError: UNAVAILABLE when `version` is above the one that `steps` lead to.
    """
    if version > steps[-1].version:
        raise unavailable(
            f"{path} has version {version}, and this program knows versions up to"
            f" {steps[-1].version}; nothing was changed.",
            "Install the newer yaadwatch that wrote it, or put an older backup in its place.",
        )


def require_newest(conn: apsw.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Refuse a store that needs an upgrade, which readers do not do.

    Raises:
        YaadError: UNAVAILABLE.
    """
    version = conn.pragma("user_version")
    if version != steps[-1].version:
        raise unavailable(
            f"{path} has version {version} and was not upgraded; nothing was read.",
            "The daemon upgrades it when it starts: yaadwatch start",
        )


def upgrade(conn: apsw.Connection, path: Path, steps: Sequence[Step]) -> None:
    """Upgrade the store at `path` to the newest version: all steps or none.

    Raises:
        YaadError: UNAVAILABLE; it is newer than `steps`, or a step failed. The store is unchanged.
    """
    version, newest = conn.pragma("user_version"), steps[-1].version
    check(path, version, steps)
    if version == newest:
        return
    with translated_errors(path, f"it still has version {version}"):
        try:
            run(conn, steps)
        except (apsw.SQLError, apsw.ConstraintError) as error:
            raise unavailable(
                f"{path} could not be brought from version {version} to {newest} ({error});"
                " it was not changed.",
                "Go on with the version of yaadwatch that wrote it, and report this.",
            ) from error


def run(conn: apsw.Connection, steps: Sequence[Step]) -> None:
    """Run the missing steps in order and in one transaction.

    Raises:
        apsw.Error: a step failed; the database is unchanged.
    """
    # A step may rebuild a table that others refer to: references are checked once, at the end.
    enforced = conn.pragma("foreign_keys")
    conn.pragma("foreign_keys", 0)
    try:
        conn.execute("BEGIN IMMEDIATE")
        try:
            version = conn.pragma("user_version")
            for step in steps:
                if step.version > version:
                    conn.execute(step.sql).fetchall()
                    conn.pragma("user_version", step.version)
            dangling = conn.execute('SELECT "table" FROM pragma_foreign_key_check LIMIT 1').get
            if dangling is not None:
                raise apsw.ConstraintError(f"rows of {dangling} refer to rows that are not there")
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise
    finally:
        conn.pragma("foreign_keys", enforced)


def is_users(path: Path) -> bool:
    """Return whether a copy is of a user store rather than a project's.

    Raises:
        YaadError: BAD_REQUEST when it is the database of another program; UNAVAILABLE when it is
            damaged.
    """
    with translated_errors(path, "nothing was imported"):
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
