"""What is made from the rest of a store, and can be made anew."""

from typing import Final

import apsw

from yaadwatch.store.sqlite import migrations

NOT_INDEXED: Final = ("file", "entity", "session")
"""Kinds of nodes whose words are not in the index: things, and sessions, which have their own."""


def scratch() -> apsw.Connection:
    """Return an empty store in memory, to make something anew in and compare."""
    conn = apsw.Connection(":memory:")
    migrations.run(conn, migrations.chain())
    return conn


def empty_index(conn: apsw.Connection) -> None:
    """Take every word out of the full-text index."""
    conn.execute("DELETE FROM nodes_fts")
