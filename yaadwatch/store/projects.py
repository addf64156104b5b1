"""The registry: which repositories are watched, and which once were."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

from yaadwatch.model.projects import Project
from yaadwatch.store.codec import from_ms, from_ms_or_null, json_list, to_ms, to_ms_or_null


def add(conn: apsw.Connection, project: Project) -> None:
    """Enter a project.

    Raises:
        apsw.ConstraintError: its id is known, or its common directory is watched already.
    """
    conn.execute(
        """
        INSERT INTO projects (root, common_dir, device, inode, store, excluded, added_ms,
                              removed_ms, id)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
        """,
        _row(project),
    )


def get(conn: apsw.Connection, id: str) -> Project | None:
    """Return the project, watched or removed."""
    return next(iter(_many(conn, [id])), None)


def everything(conn: apsw.Connection) -> list[Project]:
    """Return the watched projects, by root."""
    return _many(conn, _watched(conn))


def read_through(conn: apsw.Connection) -> int:
    """Read all that `everything` reads, and make nothing of it; return how many projects it is.

    For whoever only asks, every few seconds, whether it can be read.
    """
    return sum(1 for _ in _rows(conn, _watched(conn)))


def by_common_dir(conn: apsw.Connection, path: Path) -> Project | None:
    """Return the watched project of this git common directory."""
    rows = conn.execute(
        """
        SELECT id, root, common_dir, device, inode, store, excluded, added_ms, removed_ms
          FROM projects
         WHERE common_dir = ? AND removed_ms IS NULL
        """,
        (str(path),),
    )
    return next(map(_project, rows), None)


def removed(conn: apsw.Connection, common_dir: Path) -> list[Project]:
    """Return the projects of this git common directory that were removed, the last one first."""
    rows = conn.execute(
        """
        SELECT id, root, common_dir, device, inode, store, excluded, added_ms, removed_ms
          FROM projects
         WHERE common_dir = ? AND removed_ms IS NOT NULL
         ORDER BY removed_ms DESC, id DESC
        """,
        (str(common_dir),),
    )
    return list(map(_project, rows))


def replace(conn: apsw.Connection, project: Project) -> None:
    """Write every field of the project with that id; nothing happens when there is none.

    Raises:
        apsw.ConstraintError: its common directory is watched as another project.
    """
    conn.execute(
        """
        UPDATE projects
           SET root = ?, common_dir = ?, device = ?, inode = ?, store = ?, excluded = ?,
               added_ms = ?, removed_ms = ?
         WHERE id = ?
        """,
        _row(project),
    )


def move(conn: apsw.Connection, projects: Iterable[Project]) -> set[str]:
    """Write every field of projects at once, as `replace` does: they may change places.

    Returns:
        The ids of those that are watched still; the others stay as they are.

    Raises:
        apsw.ConstraintError: as for `replace`.
    """
    watched = set(_watched(conn))
    moved = [project for project in projects if project.id in watched]
    conn.executemany(
        "UPDATE projects SET removed_ms = added_ms WHERE id = ?", [(each.id,) for each in moved]
    )
    for project in moved:
        replace(conn, project)
    return {project.id for project in moved}


def renumber(conn: apsw.Connection, projects: Iterable[Project]) -> None:
    """Write device and number of projects; those that are watched no longer stay as they are."""
    conn.executemany(
        "UPDATE projects SET device = ?, inode = ? WHERE id = ? AND removed_ms IS NULL",
        [(project.device, project.inode, project.id) for project in projects],
    )


def exclude(conn: apsw.Connection, id: str, line: str) -> None:
    """Write what was put into the exclude file for a project, if it is watched still."""
    conn.execute("UPDATE projects SET excluded = ? WHERE id = ? AND removed_ms IS NULL", (line, id))


def drop(conn: apsw.Connection, id: str) -> None:
    """Take the project out of the registry for good."""
    conn.execute("DELETE FROM projects WHERE id = ?", (id,))


def _row(project: Project) -> tuple[str | int | None, ...]:
    return (
        str(project.root),
        str(project.common_dir),
        project.device,
        project.inode,
        str(project.store),
        project.excluded,
        to_ms(project.added_at),
        to_ms_or_null(project.removed_at),
        project.id,
    )


def _watched(conn: apsw.Connection) -> list[str]:
    ids = conn.execute("SELECT id FROM projects WHERE removed_ms IS NULL ORDER BY id")
    return [project for (project,) in ids]


def _many(conn: apsw.Connection, ids: Iterable[str]) -> list[Project]:
    return list(map(_project, _rows(conn, ids)))


def _rows(conn: apsw.Connection, ids: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    return conn.execute(
        """
        SELECT id, root, common_dir, device, inode, store, excluded, added_ms, removed_ms
          FROM projects
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY root, id
        """,
        (json_list(ids),),
    )


def _project(row: tuple[Any, ...]) -> Project:
    id, root, common_dir, device, inode, store, excluded, added_ms, removed_ms = row  # noqa: A001
    return Project(
        id=id,
        root=Path(root),
        common_dir=Path(common_dir),
        device=device,
        inode=inode,
        store=Path(store),
        excluded=excluded,
        added_at=from_ms(added_ms),
        removed_at=from_ms_or_null(removed_ms),
    )
