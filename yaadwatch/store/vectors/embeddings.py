"""Vectors of memories: which are there, which are missing, which are near."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import apsw

from yaadwatch.model.recall import Model, State, Unembedded
from yaadwatch.store.codec import from_ms, from_ms_or_null, json_list, to_ms, to_ms_or_null
from yaadwatch.store.vectors import scan


def everything(conn: apsw.Connection) -> list[Model]:
    """Return every model that is known, the one enabled last first."""
    rows = conn.execute(
        """
        SELECT space, name, dimensions, state, enabled_ms, active_ms
          FROM embedding_models
         ORDER BY enabled_ms DESC, space
        """
    )
    return [
        Model(
            space=space,
            name=name,
            dimensions=dimensions,
            state=state,
            enabled_at=from_ms(enabled_ms),
            active_at=from_ms_or_null(active_ms),
        )
        for space, name, dimensions, state, enabled_ms, active_ms in rows
    ]


def in_state(conn: apsw.Connection, state: State) -> Model | None:
    """Return the model in a state, of the kept ones the last that was active; None without one."""
    found = [model for model in everything(conn) if model.state == state]
    if state == "kept":
        found = [model for model in found if model.active_at is not None]
    return max(found, key=lambda model: model.active_at or model.enabled_at, default=None)


def put_model(conn: apsw.Connection, model: Model) -> None:
    """Write down a model, in place of what was known of its space.

    Raises:
        apsw.ConstraintError: another one is active, or filling, already.
    """
    conn.execute(
        """
        INSERT INTO embedding_models (space, name, dimensions, state, enabled_ms, active_ms)
        VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (space) DO UPDATE
           SET name = excluded.name, dimensions = excluded.dimensions, state = excluded.state,
               enabled_ms = excluded.enabled_ms, active_ms = excluded.active_ms
        """,
        (
            model.space,
            model.name,
            model.dimensions,
            model.state,
            to_ms(model.enabled_at),
            to_ms_or_null(model.active_at),
        ),
    )


def drop_model(conn: apsw.Connection, space: str) -> None:
    """Forget a model; its vectors are not touched."""
    conn.execute("DELETE FROM embedding_models WHERE space = ?", (space,))


def digest(text: str) -> bytes:
    """Return what a vector keeps of the text it was made of: 8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def missing(conn: apsw.Connection, space: str, *, after: int, limit: int) -> list[Unembedded]:
    """Return at most `limit` living memories without a vector in `space`, by number.

    The sessions they were learned in are not among them: what a session did is in its memories.

    Args:
        conn: a snapshot.
        space: of the vectors.
        after: the last number of the batch before; 0 to begin.
        limit: how many at most.
    """
    found = conn.execute(
        """
        SELECT num, text
          FROM nodes
         WHERE num > ? AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
           AND NOT EXISTS (SELECT 1 FROM embeddings WHERE space = ? AND node = num)
         ORDER BY num
         LIMIT ?
        """,
        (after, space, limit),
    )
    return [Unembedded(num=num, text=text) for num, text in found]


def missing_of(conn: apsw.Connection, space: str, ids: Iterable[str]) -> list[Unembedded]:
    """Return those of `ids` that are living memories without a vector in `space`, by number."""
    found = conn.execute(
        """
        SELECT num, text
          FROM nodes
         WHERE id IN (SELECT value FROM json_each(?))
           AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
           AND NOT EXISTS (SELECT 1 FROM embeddings WHERE space = ? AND node = num)
         ORDER BY num
        """,
        (json_list(ids), space),
    )
    return [Unembedded(num=num, text=text) for num, text in found]


def put(
    conn: apsw.Connection, space: str, made: Sequence[Unembedded], vectors: Sequence[bytes]
) -> int:
    """Keep the vectors of memories that still read as they were embedded; return how many did.

    Raises:
        apsw.ConstraintError: a vector has fewer than 8 or more than 1024 dimensions.
        ValueError: a vector has no direction.
    """
    kept = 0
    for one, vector in zip(made, vectors, strict=True):
        if not any(vector):
            raise ValueError(f"the vector of node {one.num} is zero")
        conn.execute(
            """
            INSERT INTO embeddings (space, node, hash, vector)
            SELECT :space, num, :hash, :vector
              FROM nodes
             WHERE num = :num AND text = :text AND archived_ms IS NULL
                ON CONFLICT (space, node) DO UPDATE
               SET hash = excluded.hash, vector = excluded.vector
            """,
            {
                "space": space,
                "num": one.num,
                "text": one.text,
                "hash": digest(one.text),
                "vector": vector,
            },
        )
        kept += conn.changes()
    return kept


class Stamp(NamedTuple):
    """How many vectors a space has, and a number that is another one after each change of them."""

    stamp: int
    vectors: int


def stamp(conn: apsw.Connection, space: str) -> Stamp:
    """Return the stamp of a space."""
    found = conn.execute(
        "SELECT stamp, vectors FROM embedding_stamps WHERE space = ?", (space,)
    ).fetchone()
    return Stamp(0, 0) if found is None else Stamp(*found)


def rows(conn: apsw.Connection, space: str, dimensions: int) -> tuple[int, bytes]:
    """Return the stamp of a space and its vectors: of each the number of its memory, in 8 bytes
    from the lowest, and as many bytes as there are dimensions."""
    found = (
        node.to_bytes(8, "little") + vector for node, vector in scan.rows(conn, space, dimensions)
    )
    return stamp(conn, space).stamp, b"".join(found)


def count(conn: apsw.Connection, space: str) -> int:
    """Return how many memories have a vector in `space`."""
    return int(conn.execute("SELECT count(*) FROM embeddings WHERE space = ?", (space,)).get)


def spaces(conn: apsw.Connection) -> list[str]:
    """Return the spaces that there are vectors in, sorted."""
    found = conn.execute(
        """
        WITH RECURSIVE found (space) AS (
            SELECT min(space) FROM embeddings
             UNION ALL
            SELECT (SELECT min(space) FROM embeddings WHERE space > found.space)
              FROM found
             WHERE found.space IS NOT NULL
        )
        SELECT space FROM found WHERE space IS NOT NULL
        """
    )
    return [space for (space,) in found]


def drop(conn: apsw.Connection, space: str, limit: int) -> int:
    """Take at most `limit` vectors out of `space`; return how many."""
    conn.execute(
        """
        DELETE FROM embeddings
         WHERE space = :space
           AND node IN (SELECT node FROM embeddings WHERE space = :space LIMIT :limit)
        """,
        {"space": space, "limit": limit},
    )
    return conn.changes()


def outdated(conn: apsw.Connection) -> list[str]:
    """Return the ids of memories whose vectors are of another text, sorted: none, ever.

    For those who look a store over; see `digest`.
    """
    found = conn.execute(
        """
        SELECT nodes.id, nodes.text, embeddings.hash
          FROM embeddings
          JOIN nodes ON nodes.num = embeddings.node
         ORDER BY nodes.id
        """
    )
    return sorted({node for node, text, kept in found if digest(text) != kept})
