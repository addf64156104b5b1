"""Reads the database of another Yaad: hostile input, read as far as it makes sense.

Only tables are read, never a view, a trigger or a function of that file; columns are those of the
names that its versions used, as far as they are there.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store.sqlite.faults import damaged, told

TEXT_BYTES_MAX: Final = 4 * 1024 * 1024
ROWS_MAX: Final = 1_000_000
"""Rows read of a table; with more it is refused, not cut."""

_NODE: Final = {
    "id": ("id",),
    "kind": ("type", "kind"),
    "text": ("content", "text", "body"),
    "key": ("key", "slug"),
    "scope": ("scope",),
    "tier": ("tier",),
    "tags": ("tags",),
    "pinned": ("pinned", "is_pinned"),
    "confidence": ("confidence",),
    "created": ("created_at", "created", "created_ms"),
    "archived": ("archived_at", "archived", "deleted_at"),
    "updated": ("updated_at", "updated"),
    "version": ("version",),
    "agent": ("source_agent", "agent"),
    "project": ("project",),
}
_VERSION: Final = {
    "node": ("node_id", "node"),
    "number": ("version",),
    "text": ("content", "text"),
    "at": ("changed_at", "at", "created_at"),
    "by": ("changed_by", "actor"),
    "reason": ("reason",),
}
_WATCH: Final = {"path": ("file_path", "path"), "node": ("node_id", "node")}
_SESSION: Final = {
    "id": ("id",),
    "text": ("summary",),
    "created": ("ended_at", "started_at"),
    "agent": ("agent",),
    "project": ("project",),
}
_LEFT: Final = {
    "embeddings": "vectors are made anew here, by a model of yours",
    "replay_events": "what was called there is no memory",
    "access_log": "what was looked at there is no memory",
}
"""Tables that are not read, and why."""
_EDGE: Final = {
    "from": ("from_id", "from_node", "source_id", "from_node_id"),
    "to": ("to_id", "to_node", "target_id", "to_node_id"),
    "kind": ("type", "kind", "relationship"),
    "weight": ("weight",),
    "created": ("created_at", "created"),
    "until": ("valid_until",),
    "attributes": ("metadata", "attributes"),
}
_VERSION_MAX: Final = 1_000_000
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""Earlier times are those of a field that nobody has set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A node of that database, as far as it is understood; `created` is None when it has none."""

    id: str
    kind: str
    text: str
    key: str | None
    scope: str
    tier: int | None
    tags: tuple[str, ...]
    pinned: bool
    archived: bool
    created: datetime | None
    updated: datetime | None
    version: int
    agent: str
    project: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OldEdge:
    """An edge of that database."""

    start: str
    kind: str
    end: str
    weight: float
    created: datetime | None
    attributes: dict[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class OldVersion:
    """What a node of that database said before."""

    node: str
    number: int
    text: str
    at: datetime | None
    by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OldSession:
    """A session of that database, and what was said of it."""

    id: str
    text: str
    created: datetime | None
    agent: str
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
            conn.limit(apsw.SQLITE_LIMIT_LENGTH, TEXT_BYTES_MAX)
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
    for row in _rows(conn, "nodes", _NODE):
        id, said = row.get("id"), row.get("text")  # noqa: A001
        if not isinstance(id, str) or not id or not isinstance(said, str) or not said.strip():
            yield f"{str(id)[:40]} has no id, or no text"
            continue
        confidence = row.get("confidence")
        yield Old(
            id=id,
            kind=str(row.get("kind") or ""),
            text=said,
            key=row["key"] if isinstance(row.get("key"), str) and row["key"] else None,
            scope=str(row.get("scope") or ""),
            tier=row["tier"] if row.get("tier") in (1, 2, 3) else None,
            tags=_tags(row.get("tags")),
            pinned=bool(row.get("pinned")),
            # It forgets by taking all confidence away; time does that there, too, so only exactly
            # nothing counts, and only beside nodes that have some.
            archived=bool(row.get("archived")) or (confidence == 0 and _fades(conn)),
            created=_instant(row.get("created")),
            updated=_instant(row.get("updated")),
            version=_number(row.get("version")),
            agent=_line(row.get("agent")),
            project=_line(row.get("project")),
        )


def edges(conn: apsw.Connection) -> Iterator[OldEdge | str]:
    """Yield the edges, and for one that makes no sense why."""
    if "edges" not in _tables(conn):
        return
    for row in _rows(conn, "edges", _EDGE):
        start, end, kind = row.get("from"), row.get("to"), row.get("kind")
        if not (isinstance(start, str) and isinstance(end, str) and isinstance(kind, str)):
            yield "an edge without its ends, or without a kind"
            continue
        if row.get("until") is not None:
            yield f"{start} {kind} {end} has ended"
            continue
        weight = row.get("weight")
        good = isinstance(weight, int | float) and math.isfinite(weight) and 0 < weight <= 1
        yield OldEdge(
            start=start,
            kind=kind,
            end=end,
            weight=float(weight) if good else 1.0,  # type: ignore[arg-type]
            created=_instant(row.get("created")),
            attributes=_tree(row.get("attributes")),
        )


def versions(conn: apsw.Connection) -> Iterator[OldVersion | str]:
    """Yield what nodes said before, and for a row that makes no sense why."""
    for row in _rows_if(conn, "node_versions", _VERSION):
        node, said = row.get("node"), row.get("text")
        if not isinstance(node, str) or not isinstance(said, str) or not said.strip():
            yield "it has no node, or no text"
            continue
        yield OldVersion(
            node=node,
            number=_number(row.get("number")),
            text=said,
            at=_instant(row.get("at")),
            by=_line(row.get("by")),
            reason=_line(row.get("reason")),
        )


def watched(conn: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Yield nodes, and a file that each was linked with."""
    for row in _rows_if(conn, "file_watch", _WATCH):
        node, path = row.get("node"), row.get("path")
        if isinstance(node, str) and isinstance(path, str) and path and path.isprintable():
            yield node, path


def sessions(conn: apsw.Connection) -> Iterator[OldSession]:
    """Yield the sessions of which something was said."""
    for row in _rows_if(conn, "sessions", _SESSION):
        id, said = row.get("id"), row.get("text")  # noqa: A001
        if isinstance(id, str) and id and isinstance(said, str) and said.strip():
            yield OldSession(
                id=id,
                text=said,
                created=_instant(row.get("created")),
                agent=_line(row.get("agent")),
                project=_line(row.get("project")),
            )


def left(conn: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Yield which tables are not read though something stands in them, and why."""
    there = _tables(conn)
    for table, reason in _LEFT.items():
        if table in there:
            count = conn.execute(f"SELECT count(*) FROM {table}").get  # noqa: S608
            if count:
                yield f"{table}, {count} {'row' if count == 1 else 'rows'}", reason


def _fades(conn: apsw.Connection) -> bool:
    """Return whether some node has confidence left: else a run of decay took it from all."""
    return conn.execute("SELECT 1 FROM nodes WHERE confidence > 0 LIMIT 1").get is not None


def _tables(conn: apsw.Connection) -> set[str]:
    rows = conn.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    virtual = conn.execute("SELECT name FROM pragma_table_list WHERE type <> 'table'")
    return {str(name) for (name,) in rows} - {str(name) for (name,) in virtual}


def _rows(
    conn: apsw.Connection, table: str, wanted: Mapping[str, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    there = {
        str(name).lower()
        for (name,) in conn.execute("SELECT name FROM pragma_table_info(?)", (table,))
    }
    columns = {
        name: found
        for name, names in wanted.items()
        if (found := next((one for one in names if one in there), None))
    }
    if not columns:
        return
    named = ", ".join(f'"{column}"' for column in columns.values())
    for number, row in enumerate(conn.execute(f"SELECT {named} FROM {table}")):  # noqa: S608
        if number >= ROWS_MAX:
            raise damaged(Path(table), f"it has more than {ROWS_MAX} rows", "nothing was imported")
        yield dict(zip(columns, row, strict=True))


def _rows_if(
    conn: apsw.Connection, table: str, wanted: Mapping[str, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, if there is such a one."""
    if table in _tables(conn):
        yield from _rows(conn, table, wanted)


def _number(value: object) -> int:
    """Return the number of a version; 1 for what is none."""
    return value if isinstance(value, int) and 1 <= value <= _VERSION_MAX else 1


def _line(value: object) -> str:
    """Return a text as one line; '' for what is none."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def _tree(value: object) -> dict[str, object]:
    """Return what stands in a column as a JSON object; empty for what is none."""
    try:
        found: object = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {}


def _tags(value: object) -> tuple[str, ...]:
    """Return tags: a list in JSON, or words with commas between."""
    if not isinstance(value, str):
        return ()
    try:
        found: object = json.loads(value)
    except (ValueError, RecursionError):
        found = value.split(",")
    if not isinstance(found, Sequence) or isinstance(found, str):
        return ()
    named = (one.strip() for one in found if isinstance(one, str))
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
