"""What the graph and each block last agreed on, and which words a person took out of a block."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.agreements import Agreed, Agreement
from yaadwatch.store.codec import json_list, to_ms

KEPT_MAX: Final = 16
"""Agreements kept of one file: a branch that comes back brings an older block with it."""


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


def places(conn: apsw.Connection, node: str) -> list[tuple[int, str]]:
    """Return the work trees and files in whose blocks a node was agreed on."""
    rows = conn.execute(
        "SELECT DISTINCT worktree, path FROM agreements WHERE node = ? ORDER BY worktree, path",
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
         ORDER BY path
        """,
        (node,),
    )
    return [path for (path,) in rows]


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
