"""The table of imports: what was imported into a store, and when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import apsw

from yaadwatch.store.codec import from_ms, to_json, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import; `source` is the name of the file or folder, masked."""

    id: str
    at: datetime
    format: str
    source: str
    counts: Mapping[str, object]


def add(conn: apsw.Connection, row: Import) -> None:
    """Note an import."""
    conn.execute(
        "INSERT INTO imports (id, at_ms, format, source, counts) VALUES (?, ?, ?, ?, ?)",
        (row.id, to_ms(row.at), row.format, row.source, to_json(dict(row.counts))),
    )


def everything(conn: apsw.Connection) -> list[Import]:
    """Return what was imported, newest first."""
    rows = conn.execute(
        "SELECT id, at_ms, format, source, counts FROM imports ORDER BY at_ms DESC, id DESC"
    )
    return [
        Import(id=id, at=from_ms(at_ms), format=kind, source=source, counts=json.loads(counts))
        for id, at_ms, kind, source, counts in rows  # noqa: A001
    ]
