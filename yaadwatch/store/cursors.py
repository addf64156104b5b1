"""How far a follower has read the events, and which one it could not digest."""

from dataclasses import dataclass

import apsw


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A follower's place: everything up to `seq` is done; `failed_seq` was tried `tries` times.

    `failed_seq` is 0 when the last event went well.
    """

    seq: int = 0
    failed_seq: int = 0
    tries: int = 0


def get(conn: apsw.Connection, name: str) -> Cursor:
    """Return the place of follower `name`; zeros when it has never read."""
    found = conn.execute(
        "SELECT seq, failed_seq, tries FROM cursors WHERE name = ?", (name,)
    ).fetchone()
    if found is None:
        return Cursor()
    seq, failed_seq, tries = found
    return Cursor(seq=seq, failed_seq=failed_seq, tries=tries)


def advance(conn: apsw.Connection, name: str, seq: int) -> None:
    """Note that `name` has done every event up to `seq`; failures before it are forgotten."""
    conn.execute(
        """
        INSERT INTO cursors (name, seq)
        VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, failed_seq = 0, tries = 0
        """,
        (name, seq),
    )


def fail(conn: apsw.Connection, name: str, seq: int) -> int:
    """Note that `name` failed on event `seq`; return how often it failed on it so far."""
    tries = conn.execute(
        """
        INSERT INTO cursors (name, seq, failed_seq, tries)
        VALUES (?, 0, ?, 1)
        ON CONFLICT (name) DO UPDATE
           SET tries = iif(failed_seq = excluded.failed_seq, tries + 1, 1),
               failed_seq = excluded.failed_seq
        RETURNING tries
        """,
        (name, seq),
    )
    return int(tries.get)
