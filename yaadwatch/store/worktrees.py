"""The work trees of a project, and which HEAD each was last checked for."""

from datetime import datetime
from pathlib import Path

import apsw

from yaadwatch.model.projects import Worktree
from yaadwatch.store.codec import from_ms_or_null, to_ms


def everything(conn: apsw.Connection) -> list[Worktree]:
    """Return the work trees in the order in which they were added."""
    rows = conn.execute("SELECT id, path, head, branch, checked_ms FROM worktrees ORDER BY id")
    return [_tree(*row) for row in rows]


def by_path(conn: apsw.Connection, path: Path) -> Worktree | None:
    """Return the work tree at this absolute path, or None."""
    row = conn.execute(
        "SELECT id, path, head, branch, checked_ms FROM worktrees WHERE path = ?", (str(path),)
    ).fetchone()
    return None if row is None else _tree(*row)


def add(conn: apsw.Connection, path: Path) -> Worktree:
    """Return the work tree at this absolute path; it is entered when it is new."""
    conn.execute("INSERT INTO worktrees (path) VALUES (?) ON CONFLICT DO NOTHING", (str(path),))
    return next(tree for tree in everything(conn) if tree.path == path)


def set_head(conn: apsw.Connection, id: int, head: str, branch: str) -> None:
    """Note the commit (hex, '' before the first) and branch ('' when detached) checked out."""
    conn.execute("UPDATE worktrees SET head = ?, branch = ? WHERE id = ?", (head, branch, id))


def set_checked(conn: apsw.Connection, id: int, at: datetime) -> None:
    """Note that every anchor was known to be judged at `at`."""
    conn.execute("UPDATE worktrees SET checked_ms = ? WHERE id = ?", (to_ms(at), id))


def move(conn: apsw.Connection, id: int, path: Path) -> None:
    """Note that a work tree is at this absolute path now; what is known of it stays.

    Raises:
        apsw.ConstraintError: another work tree is known to be there.
    """
    conn.execute("UPDATE worktrees SET path = ? WHERE id = ?", (str(path), id))


def drop(conn: apsw.Connection, id: int) -> None:
    """Forget a work tree, with its flags, its sightings and the places in its files."""
    conn.execute("DELETE FROM worktrees WHERE id = ?", (id,))


def _tree(
    id: int,
    path: str,
    head: str,
    branch: str,
    checked_ms: int | None,
) -> Worktree:
    return Worktree(
        id=id, path=Path(path), head=head, branch=branch, checked_at=from_ms_or_null(checked_ms)
    )
