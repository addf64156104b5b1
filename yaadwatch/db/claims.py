"""Store claims, the contradictions between them, and gaps.

A claim is a value of a subject's attribute with an interval. A contradiction needs an equal subject
and attribute; texts are never compared. Only current claims of visible living memories that are not
superseded count. A gap is a question without a good answer: its hash and a count, and its text only
after a person or agent approves it.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import apsw

from yaadwatch.db.codec import Record, column, from_ms, json_list, to_ms
from yaadwatch.db.edges import is_superseded_sql
from yaadwatch.model.memories import EVIDENCE, LINK, Claimed, Clash, Gap, Resolution, Stated, Thing

TEXT: Final = "text"
"""The source of a claim made by its memory's text."""

_ROW: Final = Record(Claimed, "claims")
_NEW: Final = Record(Claimed, "claims", but=["id"])


def insert(conn: apsw.Connection, claim: Claimed) -> int:
    """Add a claim, ignoring its `id`; return its new number.

    Raises:
        apsw.ConstraintError: its memory or relation does not exist, or it ends before it begins.
    """
    insert_all(conn, [claim])
    return conn.last_insert_rowid()


def insert_all(conn: apsw.Connection, new: Iterable[Claimed]) -> None:
    """Add claims in their order, ignoring their `id`.

    Raises:
        apsw.ConstraintError: as for `insert`, for any claim.
    """
    _NEW.insert(conn, new)


def many(conn: apsw.Connection, ids: Iterable[int]) -> dict[int, Claimed]:
    """Return the claims with these numbers, in the order of the numbers; unknown ones are left
    out.
    """
    where = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return {claim.id: claim for claim in _ROW.select(conn, where, (json_list(ids),))}


def claimants(conn: apsw.Connection, ids: Iterable[str]) -> list[str]:
    """Return those of these memories that claim something."""
    sql = "SELECT DISTINCT node FROM claims WHERE node IN (SELECT value FROM json_each(?))"
    return column(conn, sql, (json_list(ids),))


def of_node(conn: apsw.Connection, node: str) -> list[Claimed]:
    """Return the claims of a memory, ended claims too, in insertion order."""
    return _ROW.select(conn, "WHERE node = ? ORDER BY id", (node,))


def found(
    conn: apsw.Connection,
    *,
    node: str | None,
    subject: str | None,
    ended: bool,
    now: datetime,
    limit: int,
) -> list[Claimed]:
    """Return at most `limit` claims by subject, then attribute.

    Claims of hidden memories are left out, except those of `node`.

    Args:
        conn: a snapshot.
        node: only those of this memory.
        subject: only those about this subject, or about it with a qualifier.
        ended: those that no longer hold, and those of archived and superseded memories, too.
        now: what holds is what holds then.
        limit: how many at most.
    """
    return _ROW.select(
        conn,
        f"""
          JOIN nodes ON nodes.id = claims.node
         WHERE (:node IS NULL OR claims.node = :node)
           AND (:subject IS NULL OR claims.subject = :subject
                OR substr(claims.subject, 1, length(:subject) + 1) = :subject || ' ')
           AND (:ended OR (nodes.archived_ms IS NULL AND claims.valid_from_ms <= :now_ms
                AND (claims.valid_until_ms IS NULL OR claims.valid_until_ms > :now_ms)
                AND (:node IS NOT NULL
                     OR claims.node NOT IN (SELECT id FROM temp.hidden))
                AND NOT {is_superseded_sql("claims.node")}))
         ORDER BY claims.subject, claims.attribute, claims.id
         LIMIT :limit
        """,
        {
            "node": node,
            "subject": subject,
            "ended": ended,
            "now_ms": to_ms(now),
            "limit": limit,
        },
    )


def end(conn: apsw.Connection, ids: Iterable[int], at: datetime) -> int:
    """End claims at `at`, or at their own start when that is later; return how many were open.

    A claim that already ends earlier keeps its end.
    """
    conn.execute(
        """
        UPDATE claims
           SET valid_until_ms = max(valid_from_ms, :at_ms)
         WHERE id IN (SELECT value FROM json_each(:ids))
           AND (valid_until_ms IS NULL OR valid_until_ms > max(valid_from_ms, :at_ms))
        """,
        {"ids": json_list(ids), "at_ms": to_ms(at)},
    )
    return conn.changes()


def let_go(conn: apsw.Connection, claim: int) -> None:
    """Detach a claim from its relation."""
    conn.execute("UPDATE claims SET edge = NULL WHERE id = ?", (claim,))


_GAP: Final = Record(Gap, "gaps")


def count_gap(conn: apsw.Connection, asked: Mapping[str, int], at: datetime) -> None:
    """Count questions without a good answer, by hash."""
    conn.executemany(
        """
        INSERT INTO gaps (hash, asked, first_ms, last_ms)
        VALUES (?1, ?2, ?3, ?3)
        ON CONFLICT (hash) DO UPDATE
           SET asked = asked + excluded.asked, last_ms = max(last_ms, excluded.last_ms)
        """,
        [(one, times, to_ms(at)) for one, times in sorted(asked.items())],
    )


def get_gap(conn: apsw.Connection, hash: str) -> Gap | None:
    """Return the gap with this hash, or None."""
    return _GAP.first(conn, "WHERE hash = ?", (hash,))


def all_gaps(conn: apsw.Connection, limit: int, *, approved: bool = False) -> list[Gap]:
    """Return at most `limit` gaps, or those with approved text, those asked most often first, then
    those asked last.
    """
    where = "WHERE text IS NOT NULL OR NOT ? ORDER BY asked DESC, last_ms DESC, hash LIMIT ?"
    return _GAP.select(conn, where, (approved, limit))


def approve_gap(
    conn: apsw.Connection, hash: str, *, text: str, by: str, reason: str, at: datetime
) -> bool:
    """Store the masked text of a gap; return whether the gap exists.

    An empty `reason` keeps the stored one.
    """
    conn.execute(
        """
        UPDATE gaps
           SET text = ?, approved_by = ?, approved_ms = ?,
               reason = coalesce(nullif(?, ''), reason)
         WHERE hash = ?
        """,
        (text, by, to_ms(at), reason, hash),
    )
    return conn.changes() > 0


def drop_gap(conn: apsw.Connection, hash: str) -> bool:
    """Delete a gap; return whether it existed."""
    conn.execute("DELETE FROM gaps WHERE hash = ?", (hash,))
    return conn.changes() > 0


def drop_old_gaps(conn: apsw.Connection, before: datetime) -> int:
    """Delete unapproved gaps not asked since `before`; return their number."""
    conn.execute("DELETE FROM gaps WHERE last_ms < ? AND text IS NULL", (to_ms(before),))
    return conn.changes()


def count_gaps(conn: apsw.Connection) -> int:
    """Return the number of gaps."""
    return int(conn.execute("SELECT count(*) FROM gaps").get)


_SETTLED: Final = Record(Resolution, "contradictions")
_HOLDS: Final = "(claims.valid_until_ms IS NULL OR claims.valid_until_ms > :now_ms)"
_ABOUT_THE_SAME: Final = """
    claims.valid_until_ms IS NULL
    AND (claims.subject, claims.attribute, claims.place) IN (
        SELECT mine.subject, mine.attribute, mine.place FROM claims AS mine WHERE mine.node = :node)
"""
"""What a memory claims is few, and what others claim of the same is found by its index."""


def _current(which: str = _HOLDS) -> str:
    return f"""
    current AS MATERIALIZED (
        SELECT claims.id, claims.node, claims.subject, claims.attribute, claims.place,
               claims.sense, claims.edge, claims.evidence_ms, nodes.confirmed_ms
          FROM claims JOIN nodes ON nodes.id = claims.node
         WHERE {which} AND claims.valid_from_ms <= :now_ms
           AND nodes.archived_ms IS NULL
           AND claims.node NOT IN (SELECT id FROM temp.hidden)
           AND NOT {is_superseded_sql("claims.node")})
"""


def conflicting(
    conn: apsw.Connection, *, now: datetime, node: str | None = None
) -> dict[Thing, list[Stated]]:
    """Return subjects and attributes with more than one claimed value, with their claims by number.

    Args:
        conn: a snapshot.
        now: what holds is what holds then.
        node: only what this memory claims something of, and has no end; None for all.
    """
    current = _current(_HOLDS if node is None else _ABOUT_THE_SAME)
    rows = conn.execute(
        f"""
        WITH {current},
        torn AS (
            SELECT subject, attribute, place
              FROM current
             GROUP BY subject, attribute, place
            HAVING min(sense) <> max(sense))
        SELECT subject, attribute, place, current.id, current.node, current.sense
          FROM current JOIN torn USING (subject, attribute, place)
         ORDER BY current.id
        """,
        {"now_ms": to_ms(now), "node": node},
    )
    found: dict[Thing, list[Stated]] = {}
    for subject, attribute, place, claim, of, sense in rows:
        found.setdefault(Thing(subject, attribute, place), []).append(Stated(claim, of, sense))
    return found


def both_right(conn: apsw.Connection, ids: Iterable[int]) -> set[tuple[int, int]]:
    """Return the pairs of claims, lower number first, that were decided to be both right.

    Args:
        conn: a snapshot.
        ids: numbers of claims; pairs that begin with one of them.
    """
    rows = conn.execute(
        """
        SELECT claim, other
          FROM contradictions
         WHERE claim IN (SELECT value FROM json_each(?)) AND kind = 'values' AND decision = 'both'
        """,
        (json_list(ids),),
    )
    return {(min(pair), max(pair)) for pair in rows}


def contradiction_links(conn: apsw.Connection, *, now: datetime, limit: int) -> list[Clash]:
    """Return at most `limit` claims whose relation ended and was not reopened."""
    rows = conn.execute(
        f"""
        WITH {_current()}
        SELECT current.id, edges.valid_until_ms
          FROM current JOIN edges ON edges.id = current.edge
         WHERE edges.valid_until_ms <= :now_ms
           AND NOT EXISTS (
               SELECT 1
                 FROM edges AS again
                WHERE again.from_node = edges.from_node AND again.kind = edges.kind
                  AND again.to_node = edges.to_node
                  AND (again.valid_until_ms IS NULL OR again.valid_until_ms > :now_ms))
         ORDER BY current.id
         LIMIT :limit
        """,
        {"now_ms": to_ms(now), "limit": limit},
    )
    return [Clash(kind=LINK, claim=claim, at=from_ms(at_ms)) for claim, at_ms in rows]


def contradiction_evidence(
    conn: apsw.Connection, *, now: datetime, after: timedelta, limit: int
) -> list[Clash]:
    """Return at most `limit` claims with evidence newer than their memory's confirmation.

    Evidence is a date given with the claim, or a living memory that is not superseded and that is
    `evidence` for, `contradicts` or is `caused_by` the claiming one, or that the claiming one
    `led_to`.

    Args:
        conn: a snapshot.
        now: what holds is what holds then.
        after: how much newer it must be.
        limit: how many at most; of each claim the newest evidence.
    """
    there = f"""
        nodes.archived_ms IS NULL AND nodes.id NOT IN (SELECT id FROM temp.hidden)
        AND NOT {is_superseded_sql("nodes.id")}
    """
    rows = conn.execute(
        f"""
        WITH {_current()},
        found AS (
            SELECT id, '' AS against, evidence_ms AS at_ms, confirmed_ms
              FROM current
             WHERE evidence_ms IS NOT NULL
             UNION ALL
            SELECT current.id, edges.from_node, nodes.created_ms, current.confirmed_ms
              FROM current
              JOIN edges ON edges.to_node = current.node
                        AND edges.kind IN ('caused_by', 'contradicts', 'evidence')
                        AND edges.valid_until_ms IS NULL
              JOIN nodes ON nodes.id = edges.from_node AND {there}
             UNION ALL
            SELECT current.id, edges.to_node, nodes.created_ms, current.confirmed_ms
              FROM current
              JOIN edges ON edges.from_node = current.node AND edges.kind = 'led_to'
                        AND edges.valid_until_ms IS NULL
              JOIN nodes ON nodes.id = edges.to_node AND {there})
        SELECT id, against, max(at_ms)
          FROM found
         WHERE at_ms >= confirmed_ms + :after_ms AND at_ms <= :now_ms
           AND NOT EXISTS (
               SELECT 1
                 FROM contradictions
                WHERE kind = 'evidence' AND claim = found.id
                  AND contradictions.at_ms >= found.at_ms)
         GROUP BY id
         ORDER BY id
         LIMIT :limit
        """,
        {"now_ms": to_ms(now), "limit": limit, "after_ms": after // timedelta(milliseconds=1)},
    )
    return [
        Clash(kind=EVIDENCE, claim=claim, against=against, at=from_ms(at_ms))
        for claim, against, at_ms in rows
    ]


def settle_contradiction(conn: apsw.Connection, settled: Iterable[Resolution]) -> None:
    """Store the decision on a contradiction, a row for each pair of claims.

    Raises:
        apsw.ConstraintError: one of its claims does not exist.
    """
    _SETTLED.insert(conn, settled)


def decided_contradictions(conn: apsw.Connection, limit: int) -> list[Resolution]:
    """Return at most `limit` decisions, newest first."""
    return _SETTLED.select(conn, "ORDER BY at_ms DESC, id DESC LIMIT ?", (limit,))
