"""What is known of memories that may answer a question, without reading all of them."""

from collections.abc import Iterable

import apsw

from yaadwatch.model.recall import EVERYTHING, Filter
from yaadwatch.store.codec import json_list
from yaadwatch.store.recall.filters import FITS, LIVES, bindings


def fitting(
    conn: apsw.Connection, ids: Iterable[str], wanted: Filter, title: str
) -> dict[str, bool]:
    """Return those of `ids` that live and pass the filter, sorted.

    Of each: whether its summary is `title`, in whatever case.
    """
    rows = conn.execute(
        f"""
        SELECT nodes.id, rtrim(nodes.summary, ' .') = rtrim(:title, ' .') COLLATE NOCASE
          FROM json_each(:ids) AS given CROSS JOIN nodes ON nodes.id = given.value
         WHERE {LIVES if wanted == EVERYTHING else FITS}
         ORDER BY nodes.id
        """,  # noqa: S608  (a constant of ours)
        bindings(wanted) | {"ids": json_list(ids), "title": title},
    )
    return {node: bool(titled) for node, titled in rows}


def named(conn: apsw.Connection, *, key: str, text_hash: str) -> list[str]:
    """Return the living memories with this key, or this text, sorted."""
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project') AND key = ?1
         UNION
        SELECT id
          FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project')
           AND (kind IN ('file', 'entity')) = 0 AND text_hash = ?2
         ORDER BY id
        """,
        (key, text_hash),
    )
    return [node for (node,) in rows]


def keys(conn: apsw.Connection, given: Iterable[str]) -> set[str]:
    """Return those of these keys that living memories of a project have."""
    rows = conn.execute(
        """
        SELECT key
          FROM nodes
         WHERE archived_ms IS NULL AND scope = 'project'
           AND key IN (SELECT value FROM json_each(?))
         ORDER BY key
        """,
        (json_list(given),),
    )
    return {key for (key,) in rows}


def pinned(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that are pinned."""
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE pinned AND id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def texts(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of those of `ids` that exist, sorted by id."""
    rows = conn.execute(
        """
        SELECT id, text
          FROM nodes
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,
        (json_list(ids),),
    )
    return dict(iter(rows))


def ways(
    conn: apsw.Connection, ids: Iterable[str], limit: int
) -> list[tuple[str, str, str, float]]:
    """Return the open edges that begin in `ids`: from, to, kind and weight, the oldest first."""
    rows = conn.execute(
        """
        SELECT edges.from_node, edges.to_node, edges.kind, edges.weight
          FROM json_each(?) AS start CROSS JOIN edges ON edges.from_node = start.value
         WHERE edges.valid_until_ms IS NULL
         ORDER BY edges.id
         LIMIT ?
        """,
        (json_list(ids), limit),
    )
    return [tuple(row) for row in rows]
