"""Which current claims contradict something now; and what was decided about those that did.

Only claims that hold now are looked at, of living memories that are not hidden and in whose place
no other stands. Words are never compared: without an equal subject and attribute there is no
contradiction.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import apsw

from yaadwatch.model.claims import EVIDENCE, LINK, Clash, Settled, Stated, Thing
from yaadwatch.store.codec import Record, from_ms, to_json, to_ms
from yaadwatch.store.graph.supersession import given_way

_SETTLED: Final = Record(Settled)
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
           AND NOT {given_way("claims.node")})
"""  # noqa: S608


def may_be_torn(conn: apsw.Connection, node: str) -> bool:
    """Return whether another memory claims something else of what this one claims something of.

    That is quickly said, and mostly it does not. If it does, values are compared.
    """
    # Not joined: most claim nothing or one thing, and a join takes several times as long to begin.
    mine = conn.execute(
        """
        SELECT subject, attribute, place, sense
          FROM claims
         WHERE node = ? AND valid_until_ms IS NULL
        """,
        (node,),
    ).fetchall()
    return any(
        conn.execute(
            """
            SELECT EXISTS (
                SELECT 1
                  FROM claims
                 WHERE subject = ? AND attribute = ? AND place = ? AND valid_until_ms IS NULL
                   AND sense <> ? AND node <> ?)
            """,
            (*one, node),
        ).get
        for one in mine
    )


def torn(
    conn: apsw.Connection, *, now: datetime, node: str | None = None
) -> dict[Thing, list[Stated]]:
    """Return what more than one value is claimed of, with all its claims by number.

    Args:
        conn: a snapshot.
        now: what holds is what holds then.
        node: only what this memory claims something of, and has no end; None for all.
    """
    sql, given = (_TORN, {}) if node is None else (_TORN_NEAR, {"node": node})
    rows = conn.execute(sql, {"now_ms": to_ms(now), **given})
    found: dict[Thing, list[Stated]] = {}
    for subject, attribute, place, claim, of, sense in rows:
        found.setdefault(Thing(subject, attribute, place), []).append(Stated(claim, of, sense))
    return found


def _torn(current: str) -> str:
    return f"""
        WITH {current},
        torn AS (
            SELECT subject, attribute, place
              FROM current
             GROUP BY subject, attribute, place
            HAVING min(sense) <> max(sense))
        SELECT subject, attribute, place, current.id, current.node, current.sense
          FROM current JOIN torn USING (subject, attribute, place)
         ORDER BY current.id
"""  # noqa: S608


_TORN: Final = _torn(_current())
_TORN_NEAR: Final = _torn(_current(_ABOUT_THE_SAME))


def both_right(conn: apsw.Connection, ids: Iterable[int]) -> set[tuple[int, int]]:
    """Return the pairs of claims, the lower number first, that somebody said are both right.

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
        (to_json(sorted(ids)),),
    )
    return {(min(pair), max(pair)) for pair in rows}


def links(conn: apsw.Connection, *, now: datetime, limit: int) -> list[Clash]:
    """Return claims whose relation has ended and was not begun again, at most `limit`."""
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
        """,  # noqa: S608
        {"now_ms": to_ms(now), "limit": limit},
    )
    return [Clash(kind=LINK, claim=claim, at=from_ms(at_ms)) for claim, at_ms in rows]


def evidence(conn: apsw.Connection, *, now: datetime, after: timedelta, limit: int) -> list[Clash]:
    """Return claims with evidence that is newer than their memory's confirmation, at most `limit`.

    Evidence is what the giver of a claim dated, and a living memory in whose place no other stands
    that says so by a relation: it is `evidence` for, `contradicts` or is `caused_by` the one that
    claims, or that one `led_to` it.

    Args:
        conn: a snapshot.
        now: what holds is what holds then.
        after: how much newer it must be.
        limit: how many at most; of each claim the newest evidence.
    """
    there = f"""
        nodes.archived_ms IS NULL AND nodes.id NOT IN (SELECT id FROM temp.hidden)
        AND NOT {given_way("nodes.id")}
    """  # noqa: S608
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
        """,  # noqa: S608
        {"now_ms": to_ms(now), "limit": limit, "after_ms": after // timedelta(milliseconds=1)},
    )
    return [
        Clash(kind=EVIDENCE, claim=claim, against=against, at=from_ms(at_ms))
        for claim, against, at_ms in rows
    ]


def settle(conn: apsw.Connection, settled: Settled) -> None:
    """Write down what was decided.

    Raises:
        apsw.ConstraintError: a claim of it is not there.
    """
    conn.execute(
        f"INSERT INTO contradictions ({_SETTLED.columns}) VALUES ({_SETTLED.marks})",  # noqa: S608
        _SETTLED.values(settled),
    )


def decided(conn: apsw.Connection, limit: int) -> list[Settled]:
    """Return what was decided, the newest first, at most `limit`."""
    rows = conn.execute(
        f"""
        SELECT {_SETTLED.columns}
          FROM contradictions
         ORDER BY at_ms DESC, id DESC
         LIMIT ?
        """,  # noqa: S608
        (limit,),
    )
    return list(map(_SETTLED.read, rows))
