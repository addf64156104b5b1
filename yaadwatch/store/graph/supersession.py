"""Which memories stand in the place of others: open `supersedes` edges, and chains of them.

A memory gives way as long as something living stands at the end of such a chain. What is archived
in between hands on: whoever tidies up the second of three versions does not bring back the first.
"""

from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.model.edges import SUPERSEDES
from yaadwatch.store.codec import json_list

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
      FROM chain CROSS JOIN nodes ON nodes.id = new
     WHERE nodes.archived_ms IS NULL
       AND new NOT IN (SELECT value FROM json_each(:hidden))
"""  # noqa: S608


def given_way(node: str) -> str:
    """Return a condition in SQL: a living memory that is not `:hidden` stands in place of another.

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


def successors(
    conn: apsw.Connection, ids: Iterable[str], *, hidden: Iterable[str] = ()
) -> dict[str, set[str]]:
    """Return those of `ids` in whose place others stand, each with all of these that live.

    Args:
        conn: a snapshot.
        ids: of memories.
        hidden: memories that are not there for whoever asks; they hand on as archived ones do.
    """
    rows = conn.execute(
        _CHAIN.format(start="to_node IN (SELECT value FROM json_each(:ids))"),
        {"ids": json_list(ids), "hidden": json_list(hidden)},
    )
    found: dict[str, set[str]] = {}
    for old, new in rows:
        found.setdefault(old, set()).add(new)
    return found
