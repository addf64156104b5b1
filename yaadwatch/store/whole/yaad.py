"""Read the memories in the database of another Yaad: hostile input.

Only tables are read, never a view, a trigger or a function of that file.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.sqlite.faults import damaged, told

ROWS_MAX: Final = 1_000_000
"""A table with more nodes is refused, not cut."""

_COLUMNS: Final = (
    *("id", "type", "content", "key", "tier", "tags", "confidence", "created_at", "project"),
)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Earlier times are those of a field that was never set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A node of that database; `created` is None when it has no usable time."""

    id: str
    kind: str
    text: str
    key: str | None
    tier: int | None
    tags: tuple[str, ...]
    archived: bool
    created: datetime | None
    project: str


@contextmanager
def opened(path: Path) -> Iterator[apsw.Connection]:
    """Give a copy of such a database, to be read; its log, if any, lies beside it.

    Raises:
        YaadError: BAD_REQUEST when it is none; UNAVAILABLE when it is damaged.
    """
    outcome = "nothing was imported"
    with told(path, outcome):
        conn = apsw.Connection(
            str(path), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        )
        try:
            conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            conn.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            conn.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            conn.limit(apsw.SQLITE_LIMIT_LENGTH, 4 * 1024 * 1024)
            conn.pragma("cell_size_check", 1)
            conn.pragma("query_only", 1)
            if "nodes" not in _tables(conn):
                raise YaadError(
                    Code.BAD_REQUEST,
                    f"{path} has no table of nodes, so it is the database of no Yaad; {outcome}.",
                    "Name the file yaad.db of the other Yaad.",
                )
            yield conn
        finally:
            conn.close()


def nodes(conn: apsw.Connection) -> Iterator[Old | str]:
    """Yield the nodes, and for one that makes no sense why."""
    there = {
        str(name).lower()
        for (name,) in conn.execute("SELECT name FROM pragma_table_info(?)", ("nodes",))
    }
    columns = [name for name in _COLUMNS if name in there]
    if not {"id", "content"} <= there:
        raise damaged(Path("nodes"), "it has no column id or content", "nothing was imported")
    # Another Yaad forgets by taking all confidence away; a run of decay may take it from every
    # node, so zero counts only beside nodes that have some left.
    fades = (
        "confidence" in there
        and conn.execute("SELECT 1 FROM nodes WHERE confidence > 0 LIMIT 1").get is not None
    )
    for number, values in enumerate(conn.execute(f"SELECT {', '.join(columns)} FROM nodes")):  # noqa: S608
        if number >= ROWS_MAX:
            raise damaged(
                Path("nodes"), f"it has more than {ROWS_MAX} rows", "nothing was imported"
            )
        row: dict[str, Any] = dict.fromkeys(_COLUMNS) | dict(zip(columns, values, strict=True))
        id, said = row["id"], row["content"]  # noqa: A001
        if not isinstance(id, str) or not id or not isinstance(said, str) or not said.strip():
            yield f"{str(id)[:40]} has no id, or no text"
            continue
        yield Old(
            id=id,
            kind=str(row["type"] or ""),
            text=said,
            key=row["key"] if isinstance(row["key"], str) and row["key"] else None,
            tier=row["tier"] if row["tier"] in (1, 2, 3) else None,
            tags=_tags(row["tags"]),
            archived=fades and row["confidence"] == 0,
            created=_instant(row["created_at"]),
            project=" ".join(row["project"].split()) if isinstance(row["project"], str) else "",
        )


def left(conn: apsw.Connection) -> Iterator[str]:
    """Yield the other tables that hold rows, each with their number: they are not read."""
    for table in sorted(_tables(conn) - {"nodes"}):
        name = table.replace('"', '""')
        count = conn.execute(f'SELECT count(*) FROM "{name}"').get  # noqa: S608
        if count and not table.startswith(("sqlite_", "nodes_fts")):
            yield f"{table}, {count} {'row' if count == 1 else 'rows'}"


def _tables(conn: apsw.Connection) -> set[str]:
    rows = conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    virtual = conn.execute("SELECT name FROM pragma_table_list WHERE type <> 'table'")
    return {str(name) for (name,) in rows} - {str(name) for (name,) in virtual}


def _tags(value: object) -> tuple[str, ...]:
    """Return tags: a list in JSON, or words with commas between."""
    if not isinstance(value, str):
        return ()
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        found = value.split(",")
    named = (
        (one.strip() for one in found if isinstance(one, str)) if isinstance(found, list) else ()
    )
    return tuple(dict.fromkeys(one for one in named if one))


def _instant(value: object) -> datetime | None:
    """Return a time as text, or as seconds or milliseconds since 1970; None for none, or zero."""
    found = None
    try:
        if isinstance(value, int | float):
            found = _EPOCH + timedelta(milliseconds=value if abs(value) > 1e11 else value * 1000)
        elif isinstance(value, str):
            text = value.strip().replace(" UTC", "").replace(" +0000", "+00:00")
            found = datetime.fromisoformat(text)
            found = found if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return found.astimezone(UTC) if found is not None and found >= _FIRST else None
