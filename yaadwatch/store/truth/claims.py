"""What memories claim: values of things, from when until when, and where each is from."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.claims import Claimed
from yaadwatch.store.codec import Record, to_ms
from yaadwatch.store.graph.supersession import given_way

TEXT: Final = "text"
"""The source of a claim that the words of its memory make."""

_ROW: Final = Record(Claimed)
_NEW: Final = Record(Claimed, but=["id"])
_COLUMNS: Final = _ROW.of("claims")


def insert(conn: apsw.Connection, claim: Claimed) -> int:
    """Add a claim, whatever its `id` is; return the number it got.

    Raises:
        apsw.ConstraintError: its memory or relation is not there, or it ends before it begins.
    """
    insert_all(conn, [claim])
    return conn.last_insert_rowid()


def insert_all(conn: apsw.Connection, new: Iterable[Claimed]) -> None:
    """Add claims, in their order, whatever their `id` is.

    Raises:
        apsw.ConstraintError: as for `insert`, of any of them.
    """
    conn.executemany(
        f"INSERT INTO claims ({_NEW.columns}) VALUES ({_NEW.marks})",  # noqa: S608
        map(_NEW.values, new),
    )


def many(conn: apsw.Connection, ids: Iterable[int]) -> dict[int, Claimed]:
    """Return those of the claims with these numbers that exist, in the order of the numbers."""
    rows = conn.execute(
        f"SELECT {_COLUMNS} FROM claims WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",  # noqa: S608
        (f"[{','.join(str(one) for one in sorted(set(ids)))}]",),
    )
    return {claim.id: claim for claim in map(_ROW.read, rows)}


def of_node(conn: apsw.Connection, node: str) -> list[Claimed]:
    """Return what a memory claims, ended claims too, in the order they were made."""
    rows = conn.execute(f"SELECT {_COLUMNS} FROM claims WHERE node = ? ORDER BY id", (node,))  # noqa: S608
    return list(map(_ROW.read, rows))


def found(
    conn: apsw.Connection,
    *,
    node: str | None,
    subject: str | None,
    ended: bool,
    now: datetime,
    limit: int,
) -> list[Claimed]:
    """Return claims by subject, then attribute, at most `limit`; those of hidden memories are left
    out, but for `node`.

    Args:
        conn: a snapshot.
        node: only those of this memory.
        subject: only those about this subject, or about it with a qualifier.
        ended: those that no longer hold, and those of archived and superseded memories, too.
        now: what holds is what holds then.
        limit: how many at most.
    """
    rows = conn.execute(
        f"""
        SELECT {_COLUMNS}
          FROM claims JOIN nodes ON nodes.id = claims.node
         WHERE (:node IS NULL OR claims.node = :node)
           AND (:subject IS NULL OR claims.subject = :subject
                OR substr(claims.subject, 1, length(:subject) + 1) = :subject || ' ')
           AND (:ended OR (nodes.archived_ms IS NULL AND claims.valid_from_ms <= :now_ms
                AND (claims.valid_until_ms IS NULL OR claims.valid_until_ms > :now_ms)
                AND (:node IS NOT NULL
                     OR claims.node NOT IN (SELECT id FROM temp.hidden))
                AND NOT {given_way("claims.node")}))
         ORDER BY claims.subject, claims.attribute, claims.id
         LIMIT :limit
        """,  # noqa: S608
        {
            "node": node,
            "subject": subject,
            "ended": int(ended),
            "now_ms": to_ms(now),
            "limit": limit,
        },
    )
    return list(map(_ROW.read, rows))


def end(conn: apsw.Connection, ids: Iterable[int], at: datetime) -> int:
    """Let claims hold until `at`, or for no time when they begin later; return how many did still.

    One that had an end keeps the earlier of both.
    """
    conn.execute(
        """
        UPDATE claims
           SET valid_until_ms = max(valid_from_ms, :at_ms)
         WHERE id IN (SELECT value FROM json_each(:ids))
           AND (valid_until_ms IS NULL OR valid_until_ms > max(valid_from_ms, :at_ms))
        """,
        {"ids": f"[{','.join(str(one) for one in sorted(set(ids)))}]", "at_ms": to_ms(at)},
    )
    return conn.changes()


def let_go(conn: apsw.Connection, claim: int) -> None:
    """Have a claim rest on no relation any more: it stands by itself."""
    conn.execute("UPDATE claims SET edge = NULL WHERE id = ?", (claim,))
