"""How memories read after each of their changes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.nodes import Node, Version
from yaadwatch.store.codec import Record, to_ms

_ROW: Final = Record(Version)
_READ: Final = f"""
SELECT {Record(Version, but=["text"]).of("old")}, coalesce(old.text, nodes.text)
  FROM node_versions AS old
  JOIN nodes ON nodes.id = old.node
"""  # noqa: S608


def add(conn: apsw.Connection, version: Version) -> None:
    """Keep how a node reads after a change; its words only where the node has others now.

    Raises:
        apsw.ConstraintError: the node is not there, or has a version of that number.
    """
    add_all(conn, [version])


def add_all(conn: apsw.Connection, new: Iterable[Version]) -> None:
    """Keep how nodes read after a change, as `add` does.

    Raises:
        apsw.ConstraintError: as for `add`, of any of them.
    """
    conn.executemany(
        f"""
        INSERT INTO node_versions ({_ROW.columns})
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                nullif(?9, (SELECT nodes.text FROM nodes WHERE nodes.id = ?1)))
        """,  # noqa: S608
        map(_ROW.values, new),
    )


def add_first(conn: apsw.Connection, new: Iterable[Node], at: datetime) -> None:
    """Keep how nodes read that were made in this transaction: as they do now.

    Raises:
        apsw.ConstraintError: a node is not there, or has a version of that number.
    """
    at_ms = to_ms(at)
    conn.executemany(
        """
        INSERT INTO node_versions (node, version, at_ms, change, actor, kind, tier)
        VALUES (?, ?, ?, 'created', ?, ?, ?)
        """,
        ((node.id, node.version, at_ms, node.origin, node.kind, node.tier) for node in new),
    )


def other_words(conn: apsw.Connection, id: str, said: str | None) -> str | None:
    """Return what a version of a node says as it is kept: None when the node says the same now."""
    found: str | None = conn.execute(
        "SELECT nullif(?, (SELECT text FROM nodes WHERE id = ?))", (said, id)
    ).get
    return found


def of_node(conn: apsw.Connection, id: str) -> list[Version]:
    """Return how a node read after each of its changes, oldest first."""
    rows = conn.execute(
        f"""
        {_READ}
         WHERE old.node = ?
         ORDER BY old.version
        """,
        (id,),
    )
    return list(map(_ROW.read, rows))


def latest(conn: apsw.Connection, id: str, *, limit: int, chars: int) -> tuple[list[Version], int]:
    """Return what `of_node` does, of the newest; and how many older ones there are.

    Args:
        conn: a snapshot.
        id: of the node.
        limit: how many at most.
        chars: of their texts, at most; the newest is told whatever it has.
    """
    rows = conn.execute(
        f"""
        {_READ}
         WHERE old.node = ?
         ORDER BY old.version DESC
         LIMIT ?
        """,
        (id, limit),
    )
    found: list[Version] = []
    for version in map(_ROW.read, rows):
        chars -= len(version.text)
        if found and chars < 0:
            break
        found.append(version)
    count: int = conn.execute("SELECT count(*) FROM node_versions WHERE node = ?", (id,)).get
    return found[::-1], count - len(found)


def by_actor(conn: apsw.Connection, actor: str, limit: int) -> list[Version]:
    """Return the changes that somebody made, or a file brought, at most `limit`, newest first."""
    rows = conn.execute(
        f"""
        {_READ}
         WHERE old.actor = ?
         ORDER BY old.at_ms DESC, old.node, old.version DESC
         LIMIT ?
        """,
        (actor, limit),
    )
    return list(map(_ROW.read, rows))
