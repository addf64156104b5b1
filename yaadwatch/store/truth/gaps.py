"""Which questions were answered poorly, how often: hashes, until somebody approves the words."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import apsw

from yaadwatch.model.claims import Gap
from yaadwatch.store.codec import from_ms, from_ms_or_null, to_ms

_COLUMNS: Final = "hash, asked, first_ms, last_ms, text, approved_ms, approved_by, reason"


def count(conn: apsw.Connection, asked: Mapping[str, int], at: datetime) -> None:
    """Add to how often questions were answered poorly, by their hashes."""
    conn.executemany(
        """
        INSERT INTO gaps (hash, asked, first_ms, last_ms)
        VALUES (?1, ?2, ?3, ?3)
        ON CONFLICT (hash) DO UPDATE
           SET asked = asked + excluded.asked, last_ms = max(last_ms, excluded.last_ms)
        """,
        [(one, times, to_ms(at)) for one, times in sorted(asked.items())],
    )


def get(conn: apsw.Connection, hash: str) -> Gap | None:
    """Return the gap with this hash, or None."""
    row = conn.execute(f"SELECT {_COLUMNS} FROM gaps WHERE hash = ?", (hash,)).fetchone()  # noqa: S608
    return None if row is None else _gap(row)


def everything(conn: apsw.Connection, limit: int) -> list[Gap]:
    """Return at most `limit` gaps, those asked most often first, of equals the last asked."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM gaps ORDER BY asked DESC, last_ms DESC, hash LIMIT ?",  # noqa: S608
        (limit,),
    )
    return list(map(_gap, rows))


def approved(conn: apsw.Connection, limit: int) -> list[Gap]:
    """Return at most `limit` gaps whose words may be shown, those asked most often first."""
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS}
          FROM gaps
         WHERE text IS NOT NULL
         ORDER BY asked DESC, last_ms DESC, hash
         LIMIT ?
        """,  # noqa: S608
        (limit,),
    )
    return list(map(_gap, rows))


def approve(
    conn: apsw.Connection, hash: str, *, text: str, by: str, reason: str, at: datetime
) -> bool:
    """Keep the words of a gap, masked; return whether there is such a gap.

    An empty `reason` leaves the one that there is.
    """
    conn.execute(
        """
        UPDATE gaps
           SET text = ?, approved_by = ?, approved_ms = ?,
               reason = coalesce(nullif(?, ''), reason)
         WHERE hash = ?
        """,
        (text, by, to_ms(at), reason, hash),
    )
    return conn.changes() > 0


def drop(conn: apsw.Connection, hash: str) -> bool:
    """Forget a gap; return whether there was one."""
    conn.execute("DELETE FROM gaps WHERE hash = ?", (hash,))
    return conn.changes() > 0


def drop_old(conn: apsw.Connection, before: datetime) -> int:
    """Forget the gaps that were not asked since `before` and not approved; return how many."""
    conn.execute("DELETE FROM gaps WHERE last_ms < ? AND text IS NULL", (to_ms(before),))
    return conn.changes()


def total(conn: apsw.Connection) -> int:
    """Return how many gaps there are."""
    return int(conn.execute("SELECT count(*) FROM gaps").get)


def _gap(row: tuple[Any, ...]) -> Gap:
    hash, asked, first_ms, last_ms, text, approved_ms, approved_by, reason = row  # noqa: A001
    return Gap(
        hash=hash,
        asked=asked,
        first=from_ms(first_ms),
        last=from_ms(last_ms),
        text=text,
        approved_at=from_ms_or_null(approved_ms),
        approved_by=approved_by,
        reason=reason,
    )
