"""Store the registry of projects, work trees, job runs, agent files and block agreements.

A block agreement is what the store and one block of an agent file last had in common. It is the
base that tells a rule a person deleted from the block from a rule that is new to it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.db.codec import Record, column, from_ms, json_list, to_ms, to_ms_or_null
from yaadwatch.model.projects import AgentFileRow, Agreed, Agreement, Project, Worktree

_ROW: Final = Record(Project, "projects")


def put(conn: apsw.Connection, project: Project) -> None:
    """Insert or replace a project."""
    _ROW.put(conn, project)


def get(conn: apsw.Connection, id: str) -> Project | None:
    """Return the project, watched or removed, or None."""
    return _ROW.first(conn, "WHERE id = ?", (id,))


def everything(conn: apsw.Connection) -> list[Project]:
    """Return the watched projects, by root."""
    return _ROW.select(conn, "WHERE removed_ms IS NULL ORDER BY root, id")


def known(conn: apsw.Connection) -> list[Project]:
    """Return the projects, watched or removed, those that left last first."""
    return _ROW.select(conn, "ORDER BY coalesce(removed_ms, gone_ms, 0) DESC, id DESC")


def by_path(conn: apsw.Connection, common_dir: Path) -> Project | None:
    """Return the watched project that is registered by its git common directory alone."""
    where = "WHERE common_dir = ? AND by_path AND removed_ms IS NULL"
    return _ROW.first(conn, where, (str(common_dir),))


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


_TREE: Final = Record(Worktree, "worktrees")


def all_worktrees(conn: apsw.Connection) -> list[Worktree]:
    """Return the work trees in the order they were added."""
    return _TREE.select(conn, "ORDER BY id")


def worktree_by_path(conn: apsw.Connection, path: Path) -> Worktree | None:
    """Return the work tree at this absolute path, or None."""
    return _TREE.first(conn, "WHERE path = ?", (str(path),))


def add_worktree(conn: apsw.Connection, path: Path) -> Worktree:
    """Return the work tree at this absolute path, adding it when new."""
    conn.execute("INSERT INTO worktrees (path) VALUES (?) ON CONFLICT DO NOTHING", (str(path),))
    return _TREE.select(conn, "WHERE path = ?", (str(path),))[0]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRun:
    """The last run of a job. `ended_at` is None while it runs, and after an interrupted run."""

    job: str
    started_at: datetime
    ended_at: datetime | None
    error: str | None
    runs: int


_JOB: Final = Record(JobRun, "job_runs", {"started_at": "start_ms", "ended_at": "end_ms"})


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
    return {run.job: run for run in _JOB.select(conn, "ORDER BY job")}


_AGENT_FILE: Final = Record(
    AgentFileRow,
    "agent_files",
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
    return _AGENT_FILE.first(conn, "WHERE worktree = ? AND path = ?", (worktree, path))


def agent_files_of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, AgentFileRow]:
    """Return the rows of a work tree, sorted by path."""
    rows = _AGENT_FILE.select(conn, "WHERE worktree = ? ORDER BY path", (worktree,))
    return {row.path: row for row in rows}


def personal_files(conn: apsw.Connection) -> list[str]:
    """Return the paths of files that git shares in no work tree."""
    sql = "SELECT path FROM agent_files GROUP BY path HAVING min(personal) = 1 ORDER BY path"
    return column(conn, sql)


def note_personal_file(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Store which files of a work tree git does not share."""
    conn.execute(
        """
        UPDATE agent_files
           SET personal = path IN (SELECT value FROM json_each(?2))
         WHERE worktree = ?1 AND personal <> (path IN (SELECT value FROM json_each(?2)))
        """,
        (worktree, json_list(paths)),
    )


def put_agent_file(conn: apsw.Connection, row: AgentFileRow) -> None:
    """Insert or replace the row of a file."""
    _AGENT_FILE.put(conn, row)


def drop_agent_files(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Delete the rows of files."""
    sql = """
        DELETE FROM agent_files
         WHERE worktree = ? AND path IN (SELECT value FROM json_each(?))
    """
    conn.execute(sql, (worktree, json_list(paths)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchBlock:
    """The commit and keyed block hash ('' without a block) of the last agreement."""

    branch: str
    head: str
    block: str


_BRANCH_BLOCK: Final = Record(BranchBlock, "branch_blocks")
_AGREED: Final = Record(Agreed, "agreements", {"graph": "text", "file": "line"})


def agreements_of_block(
    conn: apsw.Connection, worktree: int, path: str, block: str
) -> Agreement | None:
    """Return the agreement on a block of a file; None without an agreed rule."""
    where = "WHERE worktree = ? AND path = ? AND block = ? ORDER BY position"
    items = tuple(_AGREED.select(conn, where, (worktree, path, block)))
    return Agreement(digest=block, items=items) if items else None


def put_agreements(
    conn: apsw.Connection, worktree: int, path: str, agreement: Agreement, at: datetime
) -> None:
    """Store the current agreement; the newest 16 blocks of the file are kept, because a branch that
    comes back brings an older block with it.
    """
    conn.execute(
        "DELETE FROM agreements WHERE worktree = ? AND path = ? AND block = ?",
        (worktree, path, agreement.digest),
    )
    conn.executemany(
        f"""
        INSERT INTO agreements (worktree, path, block, at_ms, {_AGREED.columns})
        VALUES (?, ?, ?, ?, {_AGREED.marks})
        """,
        [
            (worktree, path, agreement.digest, to_ms(at), *_AGREED.values(row))
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
                LIMIT 16)
        """,
        (worktree, path, agreement.digest),
    )


def forget_agreements(conn: apsw.Connection, worktree: int, path: str) -> None:
    """Delete all agreements on a file."""
    conn.execute("DELETE FROM agreements WHERE worktree = ? AND path = ?", (worktree, path))
    conn.execute("DELETE FROM branch_blocks WHERE worktree = ? AND path = ?", (worktree, path))


def offer_rules(conn: apsw.Connection, nodes: Iterable[str]) -> None:
    """Delete agreements that these nodes have no line, so that they are exported again."""
    sql = "DELETE FROM agreements WHERE line = '' AND node IN (SELECT value FROM json_each(?))"
    conn.execute(sql, (json_list(nodes),))


def agreed_places(conn: apsw.Connection, node: str) -> list[tuple[int, str]]:
    """Return the work trees and files whose blocks have an agreed line of a node."""
    sql = """
        SELECT DISTINCT worktree, path FROM agreements
         WHERE node = ? AND line <> '' ORDER BY worktree, path
    """
    return list(conn.execute(sql, (node,)))


def never_agreed(
    conn: apsw.Connection, worktree: int, path: str
) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Return the memories stated in a work tree that no agreement of a file has.

    Returns:
        Memories of its sessions with the commits at which they were learned; and memories that
        files of persons state, with these files and the hashes of their words.
    """
    rule = """
        nodes.archived_ms IS NULL AND nodes.from_git = 0 AND (nodes.tier = 1 OR nodes.pinned)
        AND nodes.id NOT IN (SELECT node FROM agreements WHERE worktree = ?1 AND path = ?2)
    """
    learned = conn.execute(
        f"""
        SELECT nodes.id, learned.commit_id
          FROM nodes
          JOIN sessions ON sessions.id = nodes.session AND sessions.worktree = ?1
          JOIN learned ON learned.node = nodes.id
         WHERE {rule}
        """,
        (worktree, path),
    )
    typed = conn.execute(
        f"""
        SELECT nodes.id, provenance.path, nodes.text_hash
          FROM provenance
          JOIN nodes ON nodes.id = provenance.node
         WHERE provenance.worktree = ?1 AND provenance.line IS NOT NULL AND {rule}
        """,
        (worktree, path),
    )
    return list(learned), list(typed)


def agreed_files(conn: apsw.Connection, node: str) -> list[str]:
    """Return the files whose last agreed blocks contain a node."""
    sql = """
        SELECT DISTINCT path
          FROM agreements JOIN agent_files USING (worktree, path)
         WHERE agreements.node = ? AND agreements.block = agent_files.block
           AND agreements.line <> ''
         ORDER BY path
    """
    return column(conn, sql, (node,))


def branch_block(
    conn: apsw.Connection, worktree: int, path: str, branch: str
) -> BranchBlock | None:
    """Return the last agreement on a branch, or None."""
    where = "WHERE worktree = ? AND path = ? AND branch = ?"
    return _BRANCH_BLOCK.first(conn, where, (worktree, path, branch))


def put_branch_block(
    conn: apsw.Connection, worktree: int, path: str, found: BranchBlock, at: datetime
) -> None:
    """Store the agreement on a branch; the last used 16 branches are kept."""
    conn.execute(
        "INSERT OR REPLACE INTO branch_blocks (worktree, path, branch, head, block, at_ms)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (worktree, path, found.branch, found.head, found.block, to_ms(at)),
    )
    conn.execute(
        """
        DELETE FROM branch_blocks
         WHERE worktree = ?1 AND path = ?2
           AND branch NOT IN (SELECT branch FROM branch_blocks WHERE worktree = ?1 AND path = ?2
                               ORDER BY at_ms DESC, branch LIMIT 16)
        """,
        (worktree, path),
    )


def note_taken_out(
    conn: apsw.Connection, worktree: int, path: str, hashes: Iterable[str], at: datetime
) -> None:
    """Store that a person removed these texts from a block."""
    conn.executemany(
        "INSERT OR REPLACE INTO tombstones (worktree, path, text_hash, at_ms) VALUES (?, ?, ?, ?)",
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
    return set(column(conn, "SELECT text_hash FROM tombstones"))
