"""How anchored paths looked when they were last read; spares reading them again."""

from collections.abc import Iterable

import apsw

from yaadwatch.model.anchors import Sighting
from yaadwatch.store.codec import json_list


def of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, Sighting]:
    """Return what was seen in a work tree, by path."""
    rows = conn.execute(
        "SELECT path, signature, blob FROM sightings WHERE worktree = ? ORDER BY path", (worktree,)
    )
    return {
        path: Sighting(path=path, signature=signature, blob=blob) for path, signature, blob in rows
    }


def put(conn: apsw.Connection, worktree: int, sightings: Iterable[Sighting]) -> None:
    """Note what was seen in a work tree; what was known of those paths is replaced."""
    conn.executemany(
        """
        INSERT INTO sightings (worktree, path, signature, blob)
        VALUES (?, ?, ?, ?)
        ON CONFLICT (worktree, path) DO UPDATE
           SET signature = excluded.signature, blob = excluded.blob
        """,
        [(worktree, seen.path, seen.signature, seen.blob) for seen in sightings],
    )


def drop_everywhere(conn: apsw.Connection, paths: Iterable[str]) -> None:
    """Forget what was seen at `paths`, in every work tree."""
    conn.execute(
        """
        DELETE FROM sightings
         WHERE worktree IN (SELECT id FROM worktrees)
           AND path IN (SELECT value FROM json_each(?))
        """,
        (json_list(paths),),
    )


def drop(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Forget what was seen at `paths`."""
    conn.execute(
        """
        DELETE FROM sightings
         WHERE worktree = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (worktree, json_list(paths)),
    )
