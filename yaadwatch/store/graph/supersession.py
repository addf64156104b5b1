"""Which memories stand in the place of others: open `supersedes` edges, and chains of them.

A memory gives way as long as something living stands at the end of such a chain. What is archived
in between hands on, and so does what is erased: whoever tidies up the second of three versions does
not bring back the first. What a person said gives way only to what a person said, confirmed, pinned
or typed: an agent can put its words beside a person's, never in their place.
"""

from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.store.codec import json_list

TAKEN_BACK: Final = "taken back"
"""The change of a version that takes back the one before it."""


def said_by_person(node: str) -> str:
    """Return a condition in SQL: a person said a memory, or has confirmed, pinned or typed it.

    Args:
        node: the row of `nodes`, by its name in the query.
    """
    return f"""
        ({node}.origin = 'cli' OR {node}.origin LIKE 'file:%' OR EXISTS (
            SELECT 1
              FROM node_versions
             WHERE node = {node}.id AND (actor = 'cli' OR actor LIKE 'file:%')
               AND change IN ('approved', 'confirmed', 'pinned', 'edited', 'restored')
               AND NOT EXISTS (
                   SELECT 1
                     FROM node_versions AS back
                    WHERE back.node = {node}.id AND back.version = node_versions.version + 1
                      AND back.change = '{TAKEN_BACK}')))
"""  # noqa: S608


_CHAIN: Final = f"""
    WITH RECURSIVE chain(old, new) AS (
        SELECT to_node, from_node
          FROM edges
         WHERE {{start}} AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL
         UNION
        SELECT chain.old, edges.from_node
          FROM chain CROSS JOIN edges ON edges.to_node = chain.new AND edges.kind = '{SUPERSEDES}'
                               AND edges.valid_until_ms IS NULL)
    SELECT old, new
      FROM chain CROSS JOIN nodes AS later ON later.id = new
                 CROSS JOIN nodes AS former ON former.id = old
     WHERE later.archived_ms IS NULL
       AND new NOT IN (SELECT id FROM temp.hidden)
       AND ({said_by_person("later")} OR NOT {said_by_person("former")})
"""  # noqa: S608


def given_way(node: str) -> str:
    """Return a condition in SQL: a living memory that is not hidden stands in place of another.

    Args:
        node: the column that holds the id of that other one.
    """
    return f"EXISTS ({_CHAIN.format(start=f'to_node = {node}')})"


def has_given_way(conn: apsw.Connection, id: str) -> bool:
    """Return whether an open `supersedes` ends in a memory, whoever it comes from."""
    return bool(
        conn.execute(
            f"""
            SELECT EXISTS (
                SELECT 1
                  FROM edges
                 WHERE to_node = ? AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL)
            """,  # noqa: S608
            (id,),
        ).get
    )


def successors(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return those of `ids` in whose place others stand, each with all of these that live.

    Hidden memories (see `store.visibility`) hand on, as archived ones do.
    """
    rows = conn.execute(
        _CHAIN.format(start="to_node IN (SELECT value FROM json_each(:ids))"),
        {"ids": json_list(ids)},
    )
    found: dict[str, set[str]] = {}
    for old, new in rows:
        found.setdefault(old, set()).add(new)
    return found


def predecessors(conn: apsw.Connection, id: str) -> list[str]:
    """Return the living memories in whose place a memory stands, by id."""
    rows = conn.execute(
        f"""
        WITH RECURSIVE before(node) AS (
            SELECT to_node
              FROM edges
             WHERE from_node = ? AND kind = '{SUPERSEDES}' AND valid_until_ms IS NULL
             UNION
            SELECT edges.to_node
              FROM before CROSS JOIN edges ON edges.from_node = before.node
                                          AND edges.kind = '{SUPERSEDES}'
                                          AND edges.valid_until_ms IS NULL)
        SELECT node
          FROM before CROSS JOIN nodes ON nodes.id = before.node
         WHERE nodes.archived_ms IS NULL
         ORDER BY node
        """,  # noqa: S608
        (id,),
    )
    old = [node for (node,) in rows]
    later = successors(conn, old) if old else {}
    return [node for node in old if id in later.get(node, ())]


def hand_on(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Let what stands in the place of memories that are erased next stand in that of what gave way
    to these, since the last of the relations in between began.

    Args:
        conn: in a transaction.
        ids: what is erased.
    """
    conn.execute(
        f"""
        WITH RECURSIVE chain(old, new, since_ms) AS (
            SELECT to_node, from_node, valid_from_ms
              FROM edges
             WHERE from_node IN (SELECT value FROM json_each(:ids)) AND kind = '{SUPERSEDES}'
               AND valid_until_ms IS NULL
               AND to_node NOT IN (SELECT value FROM json_each(:ids))
             UNION
            SELECT chain.old, edges.from_node, max(chain.since_ms, edges.valid_from_ms)
              FROM chain CROSS JOIN edges ON edges.to_node = chain.new
                                         AND edges.kind = '{SUPERSEDES}'
                                         AND edges.valid_until_ms IS NULL
             WHERE chain.new IN (SELECT value FROM json_each(:ids))),
        found AS (
            SELECT old, new, min(since_ms) AS since_ms
              FROM chain
             WHERE new NOT IN (SELECT value FROM json_each(:ids))
               AND NOT EXISTS (
                   SELECT 1
                     FROM edges
                    WHERE from_node = new AND kind = '{SUPERSEDES}' AND to_node = old
                      AND valid_until_ms IS NULL)
             GROUP BY old, new)
        INSERT INTO edges (from_node, to_node, kind, created_ms, updated_ms, valid_from_ms)
        SELECT new, old, '{SUPERSEDES}', since_ms, since_ms,
               max(since_ms, coalesce((SELECT max(valid_until_ms)
                                         FROM edges
                                        WHERE from_node = new AND kind = '{SUPERSEDES}'
                                          AND to_node = old), 0))
          FROM found
         ORDER BY old, new
        """,  # noqa: S608
        {"ids": json_list(ids)},
    )
