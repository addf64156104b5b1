"""What kind of store this is: one value a key."""

import apsw


def get(conn: apsw.Connection, key: str) -> str | None:
    """Return the value of `key`, or None."""
    found = conn.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if found is None else str(found[0])


def put(conn: apsw.Connection, key: str, value: str) -> None:
    """Set `key` to `value`."""
    conn.execute(
        """
        INSERT INTO meta (key, value)
        VALUES (?, ?)
        ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """,
        (key, value),
    )


def drop(conn: apsw.Connection, key: str) -> None:
    """Forget the value of `key`, if it has one."""
    conn.execute("DELETE FROM meta WHERE key = ?", (key,))
