"""The registry: which repositories are watched, and which once were."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.model.projects import Project
from yaadwatch.store.codec import Record, json_list, to_ms_or_null

_ROW: Final = Record(Project)


def put(conn: apsw.Connection, project: Project) -> None:
    """Write every field of a project; a new one is entered."""
    conn.execute(
        f"INSERT OR REPLACE INTO projects ({_ROW.columns}) VALUES ({_ROW.marks})",  # noqa: S608
        _ROW.values(project),
    )


def get(conn: apsw.Connection, id: str) -> Project | None:
    """Return the project, watched or removed."""
    return next(iter(_many(conn, [id])), None)


def everything(conn: apsw.Connection) -> list[Project]:
    """Return the watched projects, by root."""
    return _many(conn, _watched(conn))


def known(conn: apsw.Connection) -> list[Project]:
    """Return the projects that are watched or were removed, those that left last first."""
    rows = conn.execute(
        "SELECT id FROM projects ORDER BY coalesce(removed_ms, gone_ms, 0) DESC, id DESC"
    )
    ids = [project for (project,) in rows]
    found = {project.id: project for project in _many(conn, ids)}
    return [found[each] for each in ids]


def read_through(conn: apsw.Connection) -> int:
    """Read all that `everything` reads, and make nothing of it; return how many projects it is.

    For whoever only asks, every few seconds, whether it can be read.
    """
    return sum(1 for _ in _rows(conn, _watched(conn)))


def by_path(conn: apsw.Connection, common_dir: Path) -> Project | None:
    """Return the watched project that is known by its git common directory alone."""
    row = conn.execute(
        "SELECT id FROM projects WHERE common_dir = ? AND by_path AND removed_ms IS NULL",
        (str(common_dir),),
    ).fetchone()
    return None if row is None else get(conn, row[0])


def move(conn: apsw.Connection, project: Project) -> bool:
    """Write where a project is now, unless it was removed meanwhile; return whether it is watched.

    It is not gone any more.
    """
    conn.execute(
        """
        UPDATE projects
           SET root = ?, common_dir = ?, gone_ms = NULL
         WHERE id = ? AND removed_ms IS NULL
        """,
        (str(project.root), str(project.common_dir), project.id),
    )
    return bool(conn.changes())


def set_gone(conn: apsw.Connection, id: str, at: datetime | None) -> None:
    """Note since when a project is gone; None when it is at its place."""
    conn.execute("UPDATE projects SET gone_ms = ? WHERE id = ?", (to_ms_or_null(at), id))


def set_root_commit(conn: apsw.Connection, id: str, commit: str) -> None:
    """Note the first commit of a project that had none when it was added."""
    conn.execute("UPDATE projects SET root_commit = ? WHERE id = ?", (commit, id))


def drop(conn: apsw.Connection, id: str) -> None:
    """Take the project out of the registry for good."""
    conn.execute("DELETE FROM projects WHERE id = ?", (id,))


def _watched(conn: apsw.Connection) -> list[str]:
    ids = conn.execute("SELECT id FROM projects WHERE removed_ms IS NULL ORDER BY id")
    return [project for (project,) in ids]


def _many(conn: apsw.Connection, ids: Iterable[str]) -> list[Project]:
    return list(map(_ROW.read, _rows(conn, ids)))


def _rows(conn: apsw.Connection, ids: Iterable[str]) -> Iterable[tuple[Any, ...]]:
    return conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM projects
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY root, id
        """,  # noqa: S608
        (json_list(ids),),
    )
