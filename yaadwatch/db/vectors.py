"""Store embedding vectors and models, and search for the nearest vectors with sqlite-vec.

Vectors are signed bytes.
"""

import hashlib
import importlib.util
from collections.abc import Iterable, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.db.codec import Record, column, json_list
from yaadwatch.model.queries import Model, State, Unembedded

_MODEL: Final = Record(Model, "embedding_models")
_UNEMBEDDED: Final = Record(Unembedded, "nodes")


def everything(conn: apsw.Connection) -> list[Model]:
    """Return every known model, the last enabled first."""
    return _MODEL.select(conn, "ORDER BY enabled_ms DESC, space")


def in_state(conn: apsw.Connection, state: State) -> Model | None:
    """Return the model in a state, or None; of kept models the one active last."""
    found = [model for model in everything(conn) if model.state == state]
    if state == "kept":
        found = [model for model in found if model.active_at is not None]
    return max(found, key=lambda model: model.active_at or model.enabled_at, default=None)


def put_model(conn: apsw.Connection, model: Model) -> None:
    """Insert a model, or replace the one of its space.

    Raises:
        apsw.ConstraintError: another model is already active or filling.
    """
    sets = ", ".join(f"{name} = excluded.{name}" for name in _MODEL.names)
    conn.execute(
        f"INSERT INTO embedding_models ({_MODEL.columns}) VALUES ({_MODEL.marks})"
        f" ON CONFLICT (space) DO UPDATE SET {sets}",
        _MODEL.values(model),
    )


def drop_model(conn: apsw.Connection, space: str) -> None:
    """Delete a model; its vectors stay."""
    conn.execute("DELETE FROM embedding_models WHERE space = ?", (space,))


def digest(text: str) -> bytes:
    """Return the 8-byte hash that a vector stores of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def missing(
    conn: apsw.Connection,
    space: str,
    *,
    after: int = 0,
    limit: int = -1,
    ids: Iterable[str] | None = None,
) -> list[Unembedded]:
    """Return at most `limit` living memories without a vector in `space`, by number.

    Session nodes are left out: their content is in their memories.

    Args:
        conn: a snapshot.
        space: the vector space.
        after: the last number of the previous batch; 0 to begin.
        limit: how many at most; -1: all.
        ids: only these memories; all when None.
    """
    among = "" if ids is None else "AND id IN (SELECT value FROM json_each(:ids))"
    where = f"""
         WHERE num > :after AND archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
           AND NOT EXISTS (SELECT 1 FROM embeddings WHERE space = :space AND node = num)
           {among}
         ORDER BY num LIMIT :limit
    """
    given = {"space": space, "after": after, "limit": limit, "ids": json_list(ids or ())}
    return _UNEMBEDDED.select(conn, where, given)


def put(
    conn: apsw.Connection, space: str, made: Sequence[Unembedded], vectors: Sequence[bytes]
) -> int:
    """Store vectors of memories whose text has not changed since; return the number stored.

    Raises:
        apsw.ConstraintError: a vector has fewer than 8 or more than 1024 dimensions.
        ValueError: a vector is zero.
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


def nearest(
    conn: apsw.Connection, space: str, vector: bytes, limit: int
) -> list[tuple[int, float]]:
    """Return the numbers of the `limit` memories nearest to `vector`, with cosines from -1 to 1.

    Best first, of equals the lower number. Vectors of another length are skipped. Empty without
    sqlite-vec, and for a vector that is zero.
    """
    if not any(vector) or not _extend(conn):
        return []
    found = conn.execute(
        """
        SELECT node,
               coalesce(vec_distance_cosine(vec_int8(vector), vec_int8(:vector)), 2.0) AS distance
          FROM embeddings
         WHERE space = :space AND length(vector) = :length
         ORDER BY distance, node
         LIMIT :limit
        """,
        {"space": space, "vector": vector, "length": len(vector), "limit": limit},
    )
    return [(node, 1.0 - distance) for node, distance in found]


def _extend(conn: apsw.Connection) -> bool:
    """Load sqlite-vec into a connection; return whether it is there.

    Extensions can be loaded for that moment only, and never from SQL.
    """
    known = "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine' LIMIT 1"
    if conn.execute(known).get is not None:
        return True
    path = extension()
    if path is None:
        return False
    conn.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 1)
    try:
        conn.load_extension(path)
    except apsw.ExtensionLoadingError:
        return False
    finally:
        conn.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    return True


@cache
def can_compare() -> bool:
    """Return whether sqlite-vec is installed and can be loaded."""
    with closing(apsw.Connection(":memory:")) as conn:
        return _extend(conn)


@cache
def extension() -> str | None:
    """Return the path of sqlite-vec without its suffix; None when it is not installed.

    Its package is not imported, because that would load the standard library's own SQLite.
    """
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).with_name("vec0"))


def count(conn: apsw.Connection, space: str) -> int:
    """Return the number of memories with a vector in `space`."""
    return int(conn.execute("SELECT count(*) FROM embeddings WHERE space = ?", (space,)).get)


def spaces(conn: apsw.Connection) -> list[str]:
    """Return the spaces with vectors, sorted."""
    sql = """
        WITH RECURSIVE found (space) AS (
            SELECT min(space) FROM embeddings
             UNION ALL
            SELECT (SELECT min(space) FROM embeddings WHERE space > found.space)
              FROM found
             WHERE found.space IS NOT NULL
        )
        SELECT space FROM found WHERE space IS NOT NULL
    """
    return column(conn, sql)


def drop(conn: apsw.Connection, space: str, limit: int) -> int:
    """Delete at most `limit` vectors of `space`; return the number deleted."""
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
    """Return the ids of memories whose vectors belong to another text, sorted; none in a sound
    store.

    For store checks; see `digest`.
    """
    found = conn.execute(
        "SELECT id, text, hash FROM embeddings JOIN nodes ON nodes.num = embeddings.node"
    )
    return sorted({node for node, text, kept in found if digest(text) != kept})
