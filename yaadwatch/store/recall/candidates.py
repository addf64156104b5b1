"""What is known of memories that may answer a question, without reading all of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.recall import Filter
from yaadwatch.store.codec import Record, json_list, to_json, to_ms
from yaadwatch.store.recall.filters import FITS, LIVES, bindings


def words(conn: apsw.Connection, ids: Iterable[str], at: datetime) -> dict[str, str]:
    """Return the texts that memories had at a time, by id; of an older time than any version, the
    first one that is kept.

    Args:
        conn: a snapshot.
        ids: of memories; those without versions are left out.
        at: the time.
    """
    rows = conn.execute(
        """
        SELECT nodes.id,
               (SELECT coalesce(old.text, nodes.text)
                  FROM node_versions AS old
                 WHERE old.node = nodes.id
                 ORDER BY old.at_ms > :at, iif(old.at_ms > :at, old.version, -old.version)
                 LIMIT 1) AS said
          FROM nodes
         WHERE nodes.id IN (SELECT value FROM json_each(:ids))
         ORDER BY nodes.id
        """,
        {"ids": json_list(ids), "at": to_ms(at)},
    )
    return {node: said for node, said in rows if said is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sketch:
    """What is looked at of a memory that may answer a question; `num` is what the indexes call it.

    `summary` is '' where it is the text.
    """

    num: int
    id: str
    kind: str
    tier: int
    scope: str
    text: str
    summary: str
    key: str | None
    confidence: float
    confirmed_at: datetime
    accessed_at: datetime | None
    pinned: bool


_SKETCH: Final = Record(Sketch)


def sketches(conn: apsw.Connection, nums: Iterable[int]) -> dict[int, Sketch]:
    """Return the living memories among `nums`, by number."""
    rows = conn.execute(
        f"""
        SELECT {_SKETCH.columns}
          FROM nodes
         WHERE num IN (SELECT value FROM json_each(?)) AND {LIVES}
         ORDER BY num
        """,  # noqa: S608  (a constant of ours)
        (to_json(list(nums)),),
    )
    return {row[0]: _SKETCH.read(row) for row in rows}


def fitting(conn: apsw.Connection, nums: Iterable[int], wanted: Filter) -> set[int]:
    """Return those of `nums` that live and pass the filter."""
    rows = conn.execute(
        f"""
        SELECT num
          FROM nodes
         WHERE num IN (SELECT value FROM json_each(:nums)) AND {FITS}
         ORDER BY num
        """,  # noqa: S608  (a constant of ours)
        bindings(wanted) | {"nums": to_json(list(nums))},
    )
    return {num for (num,) in rows}


def named(conn: apsw.Connection, *, key: str, text_hash: str, ids: Iterable[str] = ()) -> set[int]:
    """Return the numbers of the living memories with this key, this text, or one of these ids."""
    rows = conn.execute(
        """
        SELECT num
          FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project') AND key = ?1
         UNION
        SELECT num
          FROM nodes
         WHERE archived_ms IS NULL AND scope IN ('user', 'project')
           AND (kind IN ('file', 'entity')) = 0 AND text_hash = ?2
         UNION
        SELECT num
          FROM nodes
         WHERE archived_ms IS NULL AND id IN (SELECT value FROM json_each(?3))
         ORDER BY num
        """,
        (key, text_hash, json_list(ids)),
    )
    return {num for (num,) in rows}


def keyed(conn: apsw.Connection, keys: Iterable[str]) -> dict[str, str]:
    """Return those of these keys that living memories of a project have, and the memories' ids."""
    rows = conn.execute(
        """
        SELECT key, id
          FROM nodes
         WHERE archived_ms IS NULL AND scope = 'project'
           AND key IN (SELECT value FROM json_each(?))
         ORDER BY key
        """,
        (json_list(keys),),
    )
    return {str(key): str(node) for key, node in rows}


def ways(
    conn: apsw.Connection, nums: Iterable[int], limit: int
) -> list[tuple[int, int, str, float]]:
    """Return the open edges that begin in `nums`: from, to, kind and weight, the oldest first."""
    rows = conn.execute(
        """
        SELECT start.num, goal.num, edges.kind, edges.weight
          FROM json_each(?) AS given
         CROSS JOIN nodes AS start ON start.num = given.value
         CROSS JOIN edges ON edges.from_node = start.id
         CROSS JOIN nodes AS goal ON goal.id = edges.to_node
         WHERE edges.valid_until_ms IS NULL
         ORDER BY edges.id
         LIMIT ?
        """,
        (to_json(list(nums)), limit),
    )
    return [tuple(row) for row in rows]
