"""Store the registry of projects, work trees, job runs, agent files and block agreements.

A block agreement is what the store and one block of an agent file last had in common. It is the
base that tells a rule a person deleted from the block from a rule that is new to it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.db.codec import Record, from_ms, from_ms_or_null, json_list, to_ms, to_ms_or_null
from yaadwatch.model.projects import AgentFileRow, Agreed, Agreement, Project, Worktree

_ROW: Final = Record(Project)


def put(conn: apsw.Connection, project: Project) -> None:
    """Insert or replace a project."""
    conn.execute(
        f"INSERT OR REPLACE INTO projects ({_ROW.columns}) VALUES ({_ROW.marks})",  # noqa: S608
        _ROW.values(project),
    )


def get(conn: apsw.Connection, id: str) -> Project | None:
    """Return the project, watched or removed, or None."""
    return next(iter(_many(conn, [id])), None)


def everything(conn: apsw.Connection) -> list[Project]:
    """Return the watched projects, by root."""
    return _many(conn, _watched(conn))


def known(conn: apsw.Connection) -> list[Project]:
    """Return the projects, watched or removed, those that left last first."""
    rows = conn.execute(
        "SELECT id FROM projects ORDER BY coalesce(removed_ms, gone_ms, 0) DESC, id DESC"
    )
    ids = [project for (project,) in rows]
    found = {project.id: project for project in _many(conn, ids)}
    return [found[each] for each in ids]


def read_through(conn: apsw.Connection) -> int:
    """Read every row that `everything` reads without building objects; return the count.

    For health checks every few seconds.
    """
    return sum(1 for _ in _rows(conn, _watched(conn)))


def by_path(conn: apsw.Connection, common_dir: Path) -> Project | None:
    """Return the watched project that is registered by its git common directory alone."""
    row = conn.execute(
        "SELECT id FROM projects WHERE common_dir = ? AND by_path AND removed_ms IS NULL",
        (str(common_dir),),
    ).fetchone()
    return None if row is None else get(conn, row[0])


def move(conn: apsw.Connection, project: Project) -> bool:
    """Store the new place of a project, unless it was removed; return whether it is watched.

    The project is no longer gone.
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
    """Store since when a project is gone; None when it is in place."""
    conn.execute("UPDATE projects SET gone_ms = ? WHERE id = ?", (to_ms_or_null(at), id))


def set_root_commit(conn: apsw.Connection, id: str, commit: str) -> None:
    """Store the first commit of a project that had none when it was added."""
    conn.execute("UPDATE projects SET root_commit = ? WHERE id = ?", (commit, id))


def drop(conn: apsw.Connection, id: str) -> None:
    """Delete the project from the registry."""
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


def all_worktrees(conn: apsw.Connection) -> list[Worktree]:
    """Return the work trees in the order they were added."""
    rows = conn.execute("SELECT id, path, head, branch, checked_ms FROM worktrees ORDER BY id")
    return [_tree(*row) for row in rows]


def worktree_by_path(conn: apsw.Connection, path: Path) -> Worktree | None:
    """Return the work tree at this absolute path, or None."""
    row = conn.execute(
        "SELECT id, path, head, branch, checked_ms FROM worktrees WHERE path = ?", (str(path),)
    ).fetchone()
    return None if row is None else _tree(*row)


def add_worktree(conn: apsw.Connection, path: Path) -> Worktree:
    """Return the work tree at this absolute path, adding it when new."""
    conn.execute("INSERT INTO worktrees (path) VALUES (?) ON CONFLICT DO NOTHING", (str(path),))
    return next(tree for tree in all_worktrees(conn) if tree.path == path)


def set_worktree_head(conn: apsw.Connection, id: int, head: str, branch: str) -> None:
    """Store the checked-out commit (hex, '' before the first) and branch ('' when detached)."""
    conn.execute("UPDATE worktrees SET head = ?, branch = ? WHERE id = ?", (head, branch, id))


def set_worktree_checked(conn: apsw.Connection, id: int, at: datetime) -> None:
    """Store that every anchor had been checked by `at`."""
    conn.execute("UPDATE worktrees SET checked_ms = ? WHERE id = ?", (to_ms(at), id))


def move_worktree(conn: apsw.Connection, id: int, path: Path) -> None:
    """Store the new absolute path of a work tree and keep its rows.

    Raises:
        apsw.ConstraintError: another work tree has this path.
    """
    conn.execute("UPDATE worktrees SET path = ? WHERE id = ?", (str(path), id))


def drop_worktree(conn: apsw.Connection, id: int) -> None:
    """Delete a work tree with its flags, fingerprints and provenance."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """The last run of a job. `ended_at` is None while it runs, and after an interrupted run."""

    started_at: datetime
    ended_at: datetime | None
    error: str | None
    runs: int


def start_job(conn: apsw.Connection, job: str, at: datetime) -> None:
    """Store the start of `job`, replacing its previous run."""
    conn.execute(
        """
        INSERT INTO job_runs (job, start_ms)
        VALUES (?, ?)
        ON CONFLICT (job) DO UPDATE
           SET start_ms = excluded.start_ms, end_ms = NULL, error = NULL, runs = runs + 1
        """,
        (job, to_ms(at)),
    )


def end_job(conn: apsw.Connection, job: str, at: datetime, error: str | None) -> None:
    """Store the end of `job`: with `error` (masked text), or None for success."""
    conn.execute("UPDATE job_runs SET end_ms = ?, error = ? WHERE job = ?", (to_ms(at), error, job))


def all_jobs(conn: apsw.Connection) -> dict[str, JobRun]:
    """Return the last run of each job, by name."""
    rows = conn.execute("SELECT job, start_ms, end_ms, error, runs FROM job_runs ORDER BY job")
    return {
        job: JobRun(
            started_at=from_ms(start_ms), ended_at=from_ms_or_null(end_ms), error=error, runs=runs
        )
        for job, start_ms, end_ms, error, runs in rows
    }


_AGENT_FILE: Final = Record(
    AgentFileRow,
    {"written": "written_ms"},
    codecs={
        "written": (
            lambda times: json.dumps([to_ms(at) for at in times]),
            lambda text: tuple(map(from_ms, json.loads(text))),
        )
    },
)


def get_agent_file(conn: apsw.Connection, worktree: int, path: str) -> AgentFileRow | None:
    """Return the row of one file, or None."""
    rows = conn.execute(
        f"SELECT {_AGENT_FILE.columns} FROM agent_files WHERE worktree = ? AND path = ?",  # noqa: S608
        (worktree, path),
    )
    return next(map(_AGENT_FILE.read, rows), None)


def agent_files_of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, AgentFileRow]:
    """Return the rows of a work tree, sorted by path."""
    rows = conn.execute(
        f"SELECT {_AGENT_FILE.columns} FROM agent_files WHERE worktree = ? ORDER BY path",  # noqa: S608
        (worktree,),
    )
    return {row.path: row for row in map(_AGENT_FILE.read, rows)}


def agent_file_paths(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the known agent file paths of a work tree."""
    rows = conn.execute(
        "SELECT path FROM agent_files WHERE worktree = ? ORDER BY path", (worktree,)
    )
    return {path for (path,) in rows}


def personal_files(conn: apsw.Connection) -> list[str]:
    """Return the paths of files that git shares in no work tree."""
    rows = conn.execute(
        "SELECT path FROM agent_files GROUP BY path HAVING min(personal) = 1 ORDER BY path"
    )
    return [path for (path,) in rows]


def note_personal_file(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Store which files of a work tree git does not share."""
    conn.execute(
        """
        UPDATE agent_files
           SET personal = path IN (SELECT value FROM json_each(?2))
         WHERE worktree = ?1 AND personal <> (path IN (SELECT value FROM json_each(?2)))
        """,
        (worktree, json.dumps(sorted(paths))),
    )


def put_agent_file(conn: apsw.Connection, row: AgentFileRow) -> None:
    """Insert or replace the row of a file."""
    conn.execute(
        f"INSERT OR REPLACE INTO agent_files ({_AGENT_FILE.columns}) VALUES ({_AGENT_FILE.marks})",  # noqa: S608
        _AGENT_FILE.values(row),
    )


def drop_agent_files(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Delete the rows of files."""
    conn.execute(
        """
        DELETE FROM agent_files
         WHERE worktree = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (worktree, json.dumps(sorted(paths))),
    )


KEPT_MAX: Final = 16
"""Agreements kept of one file: a branch that comes back brings an older block with it."""
BRANCHES_MAX: Final = 16
"""Branches kept of one file, the last used ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchBlock:
    """The commit and keyed block hash ('' without a block) of the last agreement."""

    branch: str
    head: str
    block: str


def agreements_of_block(
    conn: apsw.Connection, worktree: int, path: str, block: str
) -> Agreement | None:
    """Return the agreement on a block of a file; None without an agreed rule."""
    rows = conn.execute(
        """
        SELECT position, node, text, line
          FROM agreements
         WHERE worktree = ? AND path = ? AND block = ?
         ORDER BY position
        """,
        (worktree, path, block),
    )
    items = tuple(
        Agreed(position=position, node=node, graph=text, file=line)
        for position, node, text, line in rows
    )
    return Agreement(digest=block, items=items) if items else None


def put_agreements(
    conn: apsw.Connection, worktree: int, path: str, agreement: Agreement, at: datetime
) -> None:
    """Store the current agreement; the newest 16 blocks of the file are kept."""
    conn.execute(
        "DELETE FROM agreements WHERE worktree = ? AND path = ? AND block = ?",
        (worktree, path, agreement.digest),
    )
    conn.executemany(
        """
        INSERT INTO agreements (worktree, path, block, position, node, text, line, at_ms)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        [
            (
                worktree,
                path,
                agreement.digest,
                row.position,
                row.node,
                row.graph,
                row.file,
                to_ms(at),
            )
            for row in agreement.items
        ],
    )
    conn.execute(
        """
        DELETE FROM agreements
         WHERE worktree = ?1 AND path = ?2
           AND block NOT IN (
               SELECT block
                 FROM agreements
                WHERE worktree = ?1 AND path = ?2
                GROUP BY block
                ORDER BY max(at_ms) DESC, block = ?3 DESC
                LIMIT ?4)
        """,
        (worktree, path, agreement.digest, KEPT_MAX),
    )


def forget_agreements(conn: apsw.Connection, worktree: int, path: str) -> None:
    """Delete all agreements on a file."""
    conn.execute("DELETE FROM agreements WHERE worktree = ? AND path = ?", (worktree, path))
    conn.execute("DELETE FROM branch_blocks WHERE worktree = ? AND path = ?", (worktree, path))


def offer_rules(conn: apsw.Connection, nodes: Iterable[str]) -> None:
    """Delete agreements that these nodes have no line, so that they are exported again."""
    conn.execute(
        """
        DELETE FROM agreements
         WHERE line = '' AND node IN (SELECT value FROM json_each(?))
        """,
        (json_list(nodes),),
    )


def agreed_places(conn: apsw.Connection, node: str) -> list[tuple[int, str]]:
    """Return the work trees and files whose blocks have an agreed line of a node."""
    rows = conn.execute(
        """
        SELECT DISTINCT worktree, path
          FROM agreements
         WHERE node = ? AND line <> ''
         ORDER BY worktree, path
        """,
        (node,),
    )
    return [(worktree, path) for worktree, path in rows]


def agreed_files(conn: apsw.Connection, node: str) -> list[str]:
    """Return the files whose last agreed blocks contain a node."""
    rows = conn.execute(
        """
        SELECT DISTINCT path
          FROM agreements JOIN agent_files USING (worktree, path)
         WHERE agreements.node = ? AND agreements.block = agent_files.block
           AND agreements.line <> ''
         ORDER BY path
        """,
        (node,),
    )
    return [path for (path,) in rows]


def branch_block(
    conn: apsw.Connection, worktree: int, path: str, branch: str
) -> BranchBlock | None:
    """Return the last agreement on a branch, or None."""
    rows = conn.execute(
        "SELECT head, block FROM branch_blocks WHERE worktree = ? AND path = ? AND branch = ?",
        (worktree, path, branch),
    )
    for head, block in rows:
        return BranchBlock(branch=branch, head=head, block=block)
    return None


def put_branch_block(
    conn: apsw.Connection, worktree: int, path: str, found: BranchBlock, at: datetime
) -> None:
    """Store the agreement on a branch; the last used 16 branches are kept."""
    conn.execute(
        """
        INSERT OR REPLACE INTO branch_blocks (worktree, path, branch, head, block, at_ms)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (worktree, path, found.branch, found.head, found.block, to_ms(at)),
    )
    conn.execute(
        """
        DELETE FROM branch_blocks
         WHERE worktree = ?1 AND path = ?2
           AND branch NOT IN (
               SELECT branch
                 FROM branch_blocks
                WHERE worktree = ?1 AND path = ?2
                ORDER BY at_ms DESC, branch
                LIMIT ?3)
        """,
        (worktree, path, BRANCHES_MAX),
    )


def note_taken_out(
    conn: apsw.Connection, worktree: int, path: str, hashes: Iterable[str], at: datetime
) -> None:
    """Store that a person removed these texts from a block."""
    conn.executemany(
        """
        INSERT OR REPLACE INTO tombstones (worktree, path, text_hash, at_ms)
        VALUES (?, ?, ?, ?)
        """,
        [(worktree, path, one, to_ms(at)) for one in hashes],
    )


def note_typed_again(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Store that a person typed these texts again, wherever they were removed."""
    conn.execute(
        "DELETE FROM tombstones WHERE text_hash IN (SELECT value FROM json_each(?))",
        (json_list(hashes),),
    )


def buried_rules(conn: apsw.Connection) -> set[str]:
    """Return the hashes of all texts that a person removed from a block."""
    rows = conn.execute("SELECT DISTINCT text_hash FROM tombstones ORDER BY text_hash")
    return {one for (one,) in rows}
