"""What the tests of the tables are made of: an empty store in memory, and small things for it."""

from datetime import UTC, datetime, timedelta

import apsw
from hypothesis import strategies as st

from yaadwatch.db import migrations, visibility
from yaadwatch.model.memories import Edge, Node

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
"""Unicode without NUL: quotes, emoji, right-to-left and line ends included."""

instants = st.integers(0, 4_000_000_000_000).map(
    lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)
)


def empty_store():
    conn = apsw.Connection(":memory:")
    migrations.run(conn, migrations.chain())
    conn.pragma("foreign_keys", 1)
    conn.execute(visibility.TABLE)
    return conn


def node(id, **given):
    fields = {
        "id": id,
        "kind": "convention",
        "tier": 1,
        "scope": "project",
        "text": f"Use jose, not jsonwebtoken ({id})",
        "text_hash": f"hash of {id}",
        "summary": "Use jose",
        "origin": "cli",
        "confidence": 0.5,
        "confirmed_at": NOW,
        "created_at": NOW,
        "updated_at": NOW,
    }
    return Node(**fields | given)


def edge(from_node, to_node, kind="touches", **given):
    fields = {
        "from_node": from_node,
        "to_node": to_node,
        "kind": kind,
        "created_at": NOW,
        "valid_from": NOW,
    }
    return Edge(**fields | given)
