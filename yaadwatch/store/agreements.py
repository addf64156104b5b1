"""What the graph and each block last agreed on, and which words a person took out of a block."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.agent_files import Agreed, Agreement
from yaadwatch.store.codec import json_list, to_ms

KEPT_MAX: Final = 16
"""Agreements kept of one file: a branch that comes back brings an older block with it."""
BRANCHES_MAX: Final = 16
"""Branches kept of one file, the last used ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchBlock:
    """The commit and the keyed hash of the block ('' without one) of the last agreement."""

    branch: str
    head: str
    block: str


def of_block(conn: apsw.Connection, worktree: int, path: str, block: str) -> Agreement | None:
    """Return what was agreed for a block of a file; None when no rule was."""
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


def put(
    conn: apsw.Connection, worktree: int, path: str, agreement: Agreement, at: datetime
) -> None:
    """Note what is agreed now; the newest 16 blocks of the file are kept."""
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


def forget(conn: apsw.Connection, worktree: int, path: str) -> None:
    """Forget everything that was agreed for a file."""
    conn.execute("DELETE FROM agreements WHERE worktree = ? AND path = ?", (worktree, path))
    conn.execute("DELETE FROM branch_blocks WHERE worktree = ? AND path = ?", (worktree, path))


def offer(conn: apsw.Connection, nodes: Iterable[str]) -> None:
    """Forget that blocks were agreed to have no line for some nodes: they get one again."""
    conn.execute(
        """
        DELETE FROM agreements
         WHERE line = '' AND node IN (SELECT value FROM json_each(?))
        """,
        (json_list(nodes),),
    )


def places(conn: apsw.Connection, node: str) -> list[tuple[int, str]]:
    """Return the work trees and files in whose blocks a node was agreed on."""
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


def standing(conn: apsw.Connection, node: str) -> list[str]:
    """Return the files in whose blocks a node stands, as far as both sides last agreed."""
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


def of_branch(conn: apsw.Connection, worktree: int, path: str, branch: str) -> BranchBlock | None:
    """Return what was last agreed on a branch; None when nothing was."""
    rows = conn.execute(
        "SELECT head, block FROM branch_blocks WHERE worktree = ? AND path = ? AND branch = ?",
        (worktree, path, branch),
    )
    for head, block in rows:
        return BranchBlock(branch=branch, head=head, block=block)
    return None


def put_branch(
    conn: apsw.Connection, worktree: int, path: str, found: BranchBlock, at: datetime
) -> None:
    """Note what is agreed on a branch now; the last used 16 branches are kept."""
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


def bury(
    conn: apsw.Connection, worktree: int, path: str, hashes: Iterable[str], at: datetime
) -> None:
    """Note that a person took words out of a block."""
    conn.executemany(
        """
        INSERT OR REPLACE INTO tombstones (worktree, path, text_hash, at_ms)
        VALUES (?, ?, ?, ?)
        """,
        [(worktree, path, one, to_ms(at)) for one in hashes],
    )


def lift(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Note that a person typed words again, wherever they were taken out."""
    conn.execute(
        "DELETE FROM tombstones WHERE text_hash IN (SELECT value FROM json_each(?))",
        (json_list(hashes),),
    )


def buried(conn: apsw.Connection) -> set[str]:
    """Return the hashes of all words that a person took out of a block."""
    rows = conn.execute("SELECT DISTINCT text_hash FROM tombstones ORDER BY text_hash")
    return {one for (one,) in rows}
