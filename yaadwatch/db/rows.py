"""Read and write every row of a store as JSON, and read the database of another Yaad.

Columns come from the schema, so a new table is exported without code here; tables that stay behind
are listed in `STAYS` with the reason, and a test compares both. The other database is hostile
input: only its tables are read, never its views, triggers or functions.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.db import migrations
from yaadwatch.db.codec import Record, column, from_ms, json_list, to_json, to_ms
from yaadwatch.db.files import damaged, translated_errors
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import time_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import; `source` is the masked name of the file or folder."""

    id: str
    at: datetime
    format: str
    source: str
    counts: Mapping[str, object]


_IMPORT: Final = Record(Import, "imports")


def note_import(conn: apsw.Connection, row: Import) -> None:
    """Store an import."""
    _IMPORT.insert(conn, [row])


def imports(conn: apsw.Connection) -> list[Import]:
    """Return the imports, newest first."""
    return _IMPORT.select(conn, "ORDER BY at_ms DESC, id DESC")


STAYS: Final = {
    "meta": "which store it is",
    "projects": "which repositories this machine watches",
    "job_runs": "what ran on this machine",
    "worktrees": "where work trees are on this machine; their paths go out with what is of them",
    "sightings": "how files of this machine looked; looked at again",
    "stale_flags": "flags are of the present; found again",
    "agent_files": "how the files of this machine take part",
    "agreements": "keyed with this machine's key",
    "proposals": "they wait for the person of this store",
    "branch_blocks": "keyed with this machine's key",
    "file_snapshots": "copies of this machine's files; `export --format raw` gives imported ones",
    "events": "what happened in this store; an import is an event of the other one",
    "imports": "what came into this store",
    "imported_files": "files of this store; `export --format raw` gives them",
    "nodes_fts": "rebuilt from the nodes",
    "sessions_fts": "rebuilt from the sessions",
    "embeddings": "rebuilt from the nodes",
    "embedding_models": "which models this machine has",
}
"""Tables that are not exported, and why."""
LEFT: Final = {"nodes": {"num", "text_hash", "summary"}, "sessions": {"num", "told_seq"}}
"""Columns that are not exported, because they are computed."""

_MS_MIN: Final = to_ms(datetime(1, 1, 1, tzinfo=UTC))
_MS_MAX: Final = to_ms(datetime(9999, 12, 31, tzinfo=UTC))
_FITS: Final = {"TEXT": (str,), "INTEGER": (int,), "REAL": (int, float)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that is exported.

    Args:
        name: its name in SQL and in the lines.
        columns: the exported columns, in order.
        types: the SQL type of each.
        trees: columns with JSON.
        key: the columns that identify a row; empty when none do.
        number: the column with a number assigned by the store; None without one.
        refers: for each foreign key column the referenced table and column.
        needed: required columns: not null and without a default.
        numbers: REAL columns, and times in milliseconds.
    """

    name: str
    columns: tuple[str, ...]
    types: Mapping[str, str]
    trees: frozenset[str]
    key: tuple[str, ...]
    number: str | None
    refers: Mapping[str, tuple[str, str]]
    needed: frozenset[str]
    numbers: tuple[str, ...]


class Unreadable(ValueError):
    """A line is not a valid row of its table; the message has the reason."""


def tables(conn: apsw.Connection) -> list[Table]:
    """Return the exported tables, referenced tables first."""
    sql = """
        SELECT name
          FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
         ORDER BY name
    """
    found = {name: _table(conn, name) for name in column(conn, sql) if name not in STAYS}
    needs = {
        name: {other for other, _ in table.refers.values()} - {name}
        for name, table in found.items()
    }
    order = TopologicalSorter(needs).static_order()
    return [found[name] for name in order if name in found]


def everything(conn: apsw.Connection, table: Table) -> Iterator[dict[str, Any]]:
    """Yield every row of a table as stored, in a stable order."""
    order = ", ".join(table.key or table.columns)
    rows = conn.execute(f"SELECT {', '.join(table.columns)} FROM {table.name} ORDER BY {order}")
    for row in rows:
        yield dict(zip(table.columns, row, strict=True))


def find(conn: apsw.Connection, table: Table, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the stored row with the key of `row`, or None.

    In a table with only numbers as keys: the row with equal values under any number.
    """
    key = [name for name in table.columns if name != table.number] if table.number else table.key
    given = [name for name in key if name in row]
    where = " AND ".join(f"{name} IS ?" for name in given)
    found = conn.execute(
        f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {where} LIMIT 1",
        tuple(row[name] for name in given),
    ).fetchone()
    return None if found is None else dict(zip(table.columns, found, strict=True))


def last(conn: apsw.Connection, table: Table) -> int:
    """Return the highest number in a table; 0 when empty or without numbers."""
    if table.number is None:
        return 0
    return int(conn.execute(f"SELECT coalesce(max({table.number}), 0) FROM {table.name}").get)


def is_free(conn: apsw.Connection, table: Table, number: int) -> bool:
    """Return whether no row of a table has this number."""
    query = f"SELECT 1 FROM {table.name} WHERE {table.number} = ?"
    return conn.execute(query, (number,)).fetchone() is None


def insert(conn: apsw.Connection, table: Table, row: Mapping[str, Any]) -> int:
    """Add a row; return its number.

    Raises:
        apsw.ConstraintError: the row exists, or a referenced row does not.
    """
    conn.execute(_adding(table.name, tuple(row)), tuple(row.values()))
    return conn.last_insert_rowid()


@lru_cache(maxsize=64)
def _adding(table: str, columns: tuple[str, ...]) -> str:
    marks = ", ".join("?" * len(columns))
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"


def to_line(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON: instants as text, JSON columns as JSON."""
    line: dict[str, Any] = {"table": table.name}
    for name, value in row.items():
        if value is None:
            continue
        if name.endswith("_ms") and isinstance(value, int) and _MS_MIN <= value <= _MS_MAX:
            line["at" if name == "at_ms" else f"{name[:-3]}_at"] = time_text(from_ms(value))
        elif name in table.trees and isinstance(value, str):
            line[name] = json.loads(value)
        else:
            line[name] = value
    return line


def from_line(table: Table, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of a JSON line, as stored in SQL.

    Raises:
        Unreadable: a column is unknown, missing, or has an invalid value.
    """
    given: dict[str, Any] = {}
    for name, value in line.items():
        known = name
        if name not in table.types and (name == "at" or name.endswith("_at")):
            known = "at_ms" if name == "at" else f"{name[:-3]}_ms"
        if known in table.types:
            given[known] = None if value is None else _value(table, known, value)
        elif name != "table":
            raise Unreadable(f"{table.name} has no {name}")
    if missing := table.needed - {name for name, value in given.items() if value is not None}:
        raise Unreadable(f"{table.name} needs {', '.join(sorted(missing))}")
    return {name: given[name] for name in table.columns if name in given}


def _value(table: Table, column: str, value: Any) -> Any:
    kind = table.types[column]
    if column in table.trees:
        value = to_json(value)
    if isinstance(value, str):
        if "\0" in value or (not value.isascii() and re.search("[\ud800-\udfff]", value)):
            spoiled = "a zero character" if "\0" in value else "half a character"
            raise Unreadable(f"{column} holds {spoiled}")
        if column.endswith("_ms"):
            return _ms_of(column, value)
        # The path of a work tree stands for its number.
        if kind == "TEXT" or table.refers.get(column, ("",))[0] == "worktrees":
            return value
    if isinstance(value, bool) or not isinstance(value, _FITS.get(kind, ())):
        raise Unreadable(f"{column} must be {kind.lower()}")
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise Unreadable(f"{column} is too large")
    return float(value) if kind == "REAL" and isinstance(value, int) else value


@lru_cache(maxsize=256)
def _ms_of(column: str, at: str) -> int:
    if not re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at):
        raise Unreadable(f"{column[:-3]}_at must be a time like 2026-11-21T09:30:00.000Z")
    try:
        return to_ms(datetime.fromisoformat(at))
    except ValueError:
        raise Unreadable(f"{column[:-3]}_at is no time: {at[:40]}") from None


def _table(conn: apsw.Connection, name: str) -> Table:
    left = LEFT.get(name, set())
    sql = str(conn.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).get)
    found = [
        row
        for row in conn.execute(
            """
            SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?) WHERE hidden = 0
            """,
            (name,),
        )
        if row[0] not in left
    ]
    types = {column: kind for column, kind, _, _, _ in found}
    primary = tuple(row[0] for row in sorted(found, key=lambda row: row[4]) if row[4])
    number = primary[0] if len(primary) == 1 and types[primary[0]] == "INTEGER" else None
    refers = {
        column: (other, to or "id")
        for column, other, to in conn.execute(
            'SELECT "from", "table", "to" FROM pragma_foreign_key_list(?)', (name,)
        )
    }
    return Table(
        name=name,
        columns=tuple(types),
        types=types,
        trees=frozenset(re.findall(r"json_valid\((\w+)\)", sql)) & types.keys(),
        key=primary or _unique(conn, name),
        number=number,
        refers=refers,
        needed=frozenset(
            column
            for column, _, not_null, default, _ in found
            if not_null and default is None and column != number
        ),
        numbers=tuple(
            column for column, kind in types.items() if kind == "REAL" or column.endswith("_ms")
        ),
    )


def _unique(conn: apsw.Connection, name: str) -> tuple[str, ...]:
    """Return the columns of the table's unique constraint."""
    index = conn.execute(
        "SELECT name FROM pragma_index_list(?) WHERE origin = 'u' ORDER BY seq LIMIT 1", (name,)
    ).get
    sql = "SELECT name FROM pragma_index_info(?) ORDER BY seqno"
    return tuple(column(conn, sql, (index,)))


NOT_INDEXED: Final = ("file", "entity", "session")
"""Kinds of nodes whose words are not in the index: things, and sessions, which have their own."""


def scratch() -> apsw.Connection:
    """Return an empty store in memory, for rebuilding and comparing rows."""
    conn = apsw.Connection(":memory:")
    migrations.run(conn, migrations.chain())
    return conn


def empty_index(conn: apsw.Connection) -> None:
    """Empty the full-text index."""
    conn.execute("DELETE FROM nodes_fts")


def drop_vectors(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Delete every vector of these nodes."""
    conn.execute(
        """
        DELETE FROM embeddings
         WHERE node IN (SELECT num FROM nodes WHERE id IN (SELECT value FROM json_each(?)))
        """,
        (json_list(ids),),
    )


ROWS_MAX: Final = 1_000_000
"""A table with more nodes is refused, not cut."""

_COLUMNS: Final = (
    *("id", "type", "content", "key", "tier", "tags", "confidence", "created_at", "project"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class YaadStore:
    """A node of the other database; `created` is None without a valid time."""

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
def opened_yaad(path: Path) -> Iterator[apsw.Connection]:
    """Open a copy of another Yaad's database for reading; its log, if any, lies beside it.

    Raises:
        YaadError: BAD_REQUEST when it is not such a database; UNAVAILABLE when it is damaged.
    """
    outcome = "nothing was imported"
    with translated_errors(path, outcome):
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


def yaad_nodes(conn: apsw.Connection) -> Iterator[YaadStore | str]:
    """Yield the nodes, and for an invalid node the reason."""
    there = set(column(conn, "SELECT lower(name) FROM pragma_table_info('nodes')"))
    columns = [name for name in _COLUMNS if name in there]
    if not {"id", "content"} <= there:
        raise damaged(Path("nodes"), "it has no column id or content", "nothing was imported")
    # The other Yaad forgets by setting confidence to zero; its decay may do that to every
    # node, so zero counts only beside nodes that have some left.
    fades = (
        "confidence" in there
        and conn.execute("SELECT 1 FROM nodes WHERE confidence > 0 LIMIT 1").get is not None
    )
    for number, values in enumerate(conn.execute(f"SELECT {', '.join(columns)} FROM nodes")):
        if number >= ROWS_MAX:
            raise damaged(
                Path("nodes"), f"it has more than {ROWS_MAX} rows", "nothing was imported"
            )
        row: dict[str, Any] = dict.fromkeys(_COLUMNS) | dict(zip(columns, values, strict=True))
        id, said = row["id"], row["content"]  # noqa: A001
        if not isinstance(id, str) or not id or not isinstance(said, str) or not said.strip():
            yield f"{str(id)[:40]} has no id, or no text"
            continue
        yield YaadStore(
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


def rows_left(conn: apsw.Connection) -> Iterator[str]:
    """Yield the other tables that have rows, with their counts; they are not imported."""
    for table in sorted(_tables(conn) - {"nodes"}):
        name = table.replace('"', '""')
        count = conn.execute(f'SELECT count(*) FROM "{name}"').get
        if count and not table.startswith(("sqlite_", "nodes_fts")):
            yield f"{table}, {count} {'row' if count == 1 else 'rows'}"


def _tables(conn: apsw.Connection) -> set[str]:
    tables = column(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    virtual = column(conn, "SELECT name FROM pragma_table_list WHERE type <> 'table'")
    return {str(name) for name in tables} - {str(name) for name in virtual}


def _tags(value: object) -> tuple[str, ...]:
    """Return tags from a JSON list or comma-separated words."""
    if not isinstance(value, str):
        return ()
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        found = value.split(",")
    named = [str(one).strip() for one in found] if isinstance(found, list) else []
    return tuple(dict.fromkeys(one for one in named if one))


def _instant(value: object) -> datetime | None:
    """Return a time given as text or as seconds or milliseconds since 1970; None for none, or one
    before 2000, which comes from a field that was never set.
    """
    try:
        if isinstance(value, int | float):
            found = from_ms(0) + timedelta(milliseconds=value if abs(value) > 1e11 else value * 1e3)
        else:
            text = str(value).strip().replace(" UTC", "").replace(" +0000", "+00:00")
            found = datetime.fromisoformat(text)
            found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
    return found if found.year >= 2000 else None
