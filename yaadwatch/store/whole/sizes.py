"""How large a store is, and was."""

from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """What a store held at the end of a day; `day` counts from 1970-01-01, UTC."""

    day: int
    bytes: int
    memories: int


def used(conn: apsw.Connection) -> int:
    """Return the bytes that the database takes, those of deleted rows left out."""
    return int(conn.pragma("page_size")) * (
        int(conn.pragma("page_count")) - int(conn.pragma("freelist_count"))
    )


def note(conn: apsw.Connection, size: Size, *, keep_days: int) -> None:
    """Keep how large the store is on a day; what is older than `keep_days` is forgotten."""
    conn.execute(
        "INSERT OR REPLACE INTO sizes (day, bytes, memories) VALUES (?, ?, ?)",
        (size.day, size.bytes, size.memories),
    )
    conn.execute("DELETE FROM sizes WHERE day <= ?", (size.day - keep_days,))


def since(conn: apsw.Connection, day: int) -> list[Size]:
    """Return how large the store was on `day` and later, in their order."""
    rows = conn.execute(
        "SELECT day, bytes, memories FROM sizes WHERE day >= ? ORDER BY day", (day,)
    )
    return [Size(day=at, bytes=size, memories=memories) for at, size, memories in rows]
