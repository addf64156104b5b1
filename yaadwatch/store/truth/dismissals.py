"""Words that a person dismissed or forgot: an agent does not bring them back."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import apsw

from yaadwatch.store.codec import from_ms, json_list, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """What a person did with some words, and when; `node` is the memory that said them."""

    text_hash: str
    node: str
    how: str
    at: datetime


def put(conn: apsw.Connection, dismissal: Dismissal) -> None:
    """Note that a person does not want some words; what was noted of them before is replaced."""
    conn.execute(
        "INSERT OR REPLACE INTO dismissals (text_hash, node, how, at_ms) VALUES (?, ?, ?, ?)",
        (dismissal.text_hash, dismissal.node, dismissal.how, to_ms(dismissal.at)),
    )


def has_any(conn: apsw.Connection) -> bool:
    """Return whether a person dismissed or forgot any words at all."""
    return conn.execute("SELECT 1 FROM dismissals LIMIT 1").fetchone() is not None


def of_hashes(conn: apsw.Connection, hashes: Iterable[str]) -> dict[str, Dismissal]:
    """Return by hash those of some words that a person does not want."""
    rows = conn.execute(
        """
        SELECT text_hash, node, how, at_ms
          FROM dismissals
         WHERE text_hash IN (SELECT value FROM json_each(?))
         ORDER BY text_hash
        """,
        (json_list(hashes),),
    )
    return {
        text_hash: Dismissal(text_hash=text_hash, node=node, how=how, at=from_ms(at_ms))
        for text_hash, node, how, at_ms in rows
    }


def of_node(conn: apsw.Connection, node: str) -> Dismissal | None:
    """Return that a person dismissed or forgot a memory, or None."""
    row = conn.execute(
        "SELECT text_hash, how, at_ms FROM dismissals WHERE node = ? ORDER BY at_ms DESC", (node,)
    ).fetchone()
    if row is None:
        return None
    return Dismissal(text_hash=row[0], node=node, how=row[1], at=from_ms(row[2]))


def lift(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Forget that a person did not want some words: a person says them again."""
    conn.execute(
        "DELETE FROM dismissals WHERE text_hash IN (SELECT value FROM json_each(?))",
        (json_list(hashes),),
    )


def drop_of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Forget what was noted of memories that are erased: a hash can be guessed back."""
    conn.execute(
        "DELETE FROM dismissals WHERE node IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )
