"""What was imported into a store."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

import apsw

from yaadwatch.store.codec import from_ms, json_list, to_json, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """An import; `size` and `digest` are of the file that keeps what came, 0 and '' without."""

    id: str
    at: datetime
    format: str
    source: str
    counts: Mapping[str, object]
    size: int = 0
    digest: str = ""


def add(conn: apsw.Connection, row: Import, *, kept_max: int) -> None:
    """Note an import; those before the last `kept_max` that kept files keep them no longer."""
    conn.execute(
        """
        INSERT INTO imports (id, at_ms, format, source, counts, size, digest)
        VALUES (?, ?, ?, ?, ?, ?, ?)
        """,
        (
            row.id,
            to_ms(row.at),
            row.format,
            row.source,
            to_json(dict(row.counts)),
            row.size,
            row.digest,
        ),
    )
    conn.execute(
        """
        UPDATE imports
           SET size = 0, digest = ''
         WHERE id IN (SELECT id
                        FROM imports
                       WHERE size > 0
                       ORDER BY at_ms DESC, id DESC
                       LIMIT -1 OFFSET ?)
        """,
        (kept_max,),
    )


def stand_at(conn: apsw.Connection, id: str, *, version: int, updated_at: datetime) -> None:
    """Let a memory that has just been made, with one version, have another number and time."""
    conn.execute(
        "UPDATE nodes SET version = ?, updated_ms = ? WHERE id = ?",
        (version, to_ms(updated_at), id),
    )
    conn.execute("UPDATE node_versions SET version = ? WHERE node = ?", (version, id))


def drop_files(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Note that the files of imports are kept no longer; the files are the caller's."""
    conn.execute(
        "UPDATE imports SET size = 0, digest = '' WHERE id IN (SELECT value FROM json_each(?))",
        (json_list(ids),),
    )


def everything(conn: apsw.Connection) -> list[Import]:
    """Return what was imported, the newest first."""
    rows = conn.execute(
        """
        SELECT id, at_ms, format, source, counts, size, digest
          FROM imports
         ORDER BY at_ms DESC, id DESC
        """
    )
    return [
        Import(
            id=id,
            at=from_ms(at_ms),
            format=kind,
            source=source,
            counts=json.loads(counts),
            size=size,
            digest=digest,
        )
        for id, at_ms, kind, source, counts, size, digest in rows  # noqa: A001
    ]
