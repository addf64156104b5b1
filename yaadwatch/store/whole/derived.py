"""What is made from the rest of a store, and can be made anew."""

from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.store.codec import json_list
from yaadwatch.store.sqlite import migrations

NOT_INDEXED: Final = ("file", "entity", "session")
"""Kinds of nodes whose words are not in the index: things, and sessions, which have their own."""


def scratch() -> apsw.Connection:
    """Return an empty store in memory, to make something anew in and compare."""
    conn = apsw.Connection(":memory:")
    migrations.run(conn, migrations.chain())
    return conn


def empty_index(conn: apsw.Connection) -> None:
    """Take every word out of the full-text index, and forget the numbers of folded texts."""
    conn.execute("DELETE FROM nodes_fts")
    conn.execute("UPDATE nodes SET folded = NULL")


def drop_vectors(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Take away every vector of some nodes."""
    conn.execute(
        """
        DELETE FROM embeddings
         WHERE node IN (SELECT num FROM nodes WHERE id IN (SELECT value FROM json_each(?)))
        """,
        (json_list(ids),),
    )
