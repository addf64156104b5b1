"""Skills: nodes of kind 'skill' with a name of their own, their key, and a line on their use."""

from typing import Final

import apsw

LISTED_MAX: Final = 1_000


def named(conn: apsw.Connection, name: str) -> str | None:
    """Return the id of the living skill of this name, or None."""
    found = conn.execute(
        """
        SELECT id FROM nodes
         WHERE scope = 'project' AND key = ? AND kind = 'skill' AND archived_ms IS NULL
        """,
        (name,),
    ).fetchone()
    return None if found is None else str(found[0])


def holder(conn: apsw.Connection, key: str) -> str | None:
    """Return the id of the living memory of the project that is kept under this key, or None."""
    found = conn.execute(
        "SELECT id FROM nodes WHERE scope = 'project' AND key = ? AND archived_ms IS NULL", (key,)
    ).fetchone()
    return None if found is None else str(found[0])


def describe(conn: apsw.Connection, id: str, *, name: str, description: str) -> None:
    """Give a skill its name and the line on its use (masked).

    Raises:
        apsw.ConstraintError: another living memory has this name for its key.
    """
    conn.execute(
        """
        UPDATE nodes SET key = ?, attributes = json_set(attributes, '$.description', ?)
         WHERE id = ?
        """,
        (name, description, id),
    )


def description(conn: apsw.Connection, id: str) -> str:
    """Return the line on the use of a skill; '' without one."""
    found = conn.execute(
        "SELECT json_extract(attributes, '$.description') FROM nodes WHERE id = ?", (id,)
    ).fetchone()
    return str(found[0]) if found is not None and found[0] is not None else ""
