"""Store embedding vectors and models, and search for the nearest vectors.

Vectors are signed bytes. Dot products of up to 1,024 of them are exact even in single precision, so
sqlite-vec, numpy and plain Python return identical scores.
"""

import hashlib
import heapq
import importlib.util
import math
import operator
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from yaadwatch.db.codec import from_ms, from_ms_or_null, json_list, to_ms, to_ms_or_null
from yaadwatch.model.queries import Model, State, Unembedded

Scored = list[tuple[int, float]]
"""The numbers of nodes with a cosine, -1 to 1, best first; of equals the lower number."""

_CHUNK_ROWS = 4_096
"""Vectors per numpy call."""


def nearest(conn: apsw.Connection, space: str, vector: bytes, limit: int) -> Scored:
    """Return the `limit` nodes whose vectors in `space` are nearest to `vector`.

    Uses sqlite-vec where installed, else numpy or Python with identical results. Vectors of another
    length are skipped.
    """
    if not any(vector):
        return []
    if not extend(conn):
        return exact(scanned_rows(conn, space, len(vector)), vector, limit)
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


def extend(conn: apsw.Connection) -> bool:
    """Load sqlite-vec into a connection; return whether that succeeded.

    Extension loading is enabled for that moment only, and never from SQL.
    """
    known = conn.execute(
        "SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine' LIMIT 1"
    ).get
    if known is not None:
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
def extension() -> str | None:
    """Return the path of sqlite-vec without its suffix; None when it is not installed.

    Its package is not imported, because that would load the standard library's own SQLite.
    """
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).with_name("vec0"))


def scanned_rows(conn: apsw.Connection, space: str, length: int) -> Iterable[tuple[int, bytes]]:
    """Return the nodes with a vector of `length` dimensions in a space, and the vectors."""
    return conn.execute(
        """
        SELECT node, vector
          FROM embeddings
         WHERE space = ? AND length(vector) = ?
         ORDER BY node
        """,
        (space, length),
    )


def exact(found: Iterable[tuple[int, bytes]], vector: bytes, limit: int) -> Scored:
    """Return what `nearest` does without sqlite-vec, with numpy where installed."""
    numpy = _numpy()
    distances = plainly(found, vector) if numpy is None else with_numpy(numpy, found, vector)
    return best(distances, limit)


def best(distances: Iterable[tuple[float, int]], limit: int) -> Scored:
    """Return the `limit` nodes with the smallest distances, as cosines."""
    return [(node, 1.0 - distance) for distance, node in heapq.nsmallest(limit, distances)]


def plainly(found: Iterable[tuple[int, bytes]], vector: bytes) -> Iterable[tuple[float, int]]:
    """Yield the distance of each vector from `vector`, and its node."""
    asked = memoryview(vector).cast("b").tolist()
    length = math.sqrt(_dot(asked, asked))
    for node, stored in found:
        given = memoryview(stored).cast("b").tolist()
        yield _distance(_dot(given, asked), _dot(given, given), length), node


def with_numpy(
    numpy: Any, found: Iterable[tuple[int, bytes]], vector: bytes
) -> Iterable[tuple[float, int]]:
    """Yield what `plainly` does, in a tenth of the time."""
    asked = numpy.frombuffer(vector, numpy.int8).astype(numpy.float32)
    length = math.sqrt(float(asked @ asked))
    chunk: list[tuple[int, bytes]] = []

    def measured() -> Iterable[tuple[float, int]]:
        whole = b"".join(stored for _, stored in chunk)
        given = numpy.frombuffer(whole, numpy.int8).reshape(len(chunk), -1).astype(numpy.float32)
        dots, squares = given @ asked, (given * given).sum(axis=1)
        for (node, _), dot, square in zip(chunk, dots.tolist(), squares.tolist(), strict=True):
            yield _distance(dot, square, length), node
        chunk.clear()

    for row in found:
        chunk.append(row)
        if len(chunk) == _CHUNK_ROWS:
            yield from measured()
    if chunk:
        yield from measured()


def _dot(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(map(operator.mul, one, other))


def _distance(dot: float, square: float, length: float) -> float:
    """Return 1 minus the cosine, rounded as sqlite-vec rounds it; 2.0 for a zero vector."""
    if not square:
        return 2.0
    whole = 1.0 - dot / (math.sqrt(square) * length)
    return float(struct.unpack("<f", struct.pack("<f", whole))[0])


@cache
def _numpy() -> Any:
    """Return numpy if installed. It takes 27 MB, so it is loaded only without sqlite-vec."""
    if importlib.util.find_spec("numpy") is None:
        return None
    return importlib.import_module("numpy")


def everything(conn: apsw.Connection) -> list[Model]:
    """Return every known model, the last enabled first."""
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
    """Delete a model; its vectors stay."""
    conn.execute("DELETE FROM embedding_models WHERE space = ?", (space,))


def digest(text: str) -> bytes:
    """Return the 8-byte hash that a vector stores of its text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8]


def missing(conn: apsw.Connection, space: str, *, after: int, limit: int) -> list[Unembedded]:
    """Return at most `limit` living memories without a vector in `space`, by number.

    Session nodes are left out: their content is in their memories.

    Args:
        conn: a snapshot.
        space: the vector space.
        after: the last number of the previous batch; 0 to begin.
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


class Stamp(NamedTuple):
    """The number of vectors of a space, and a number that changes with every change to them."""

    stamp: int
    vectors: int


def stamp(conn: apsw.Connection, space: str) -> Stamp:
    """Return the stamp of a space."""
    found = conn.execute(
        "SELECT stamp, vectors FROM embedding_stamps WHERE space = ?", (space,)
    ).fetchone()
    return Stamp(0, 0) if found is None else Stamp(*found)


def rows(conn: apsw.Connection, space: str, dimensions: int) -> tuple[int, bytes]:
    """Return the stamp of a space and its vectors: for each the number of its memory in 8 bytes,
    little-endian, and one byte per dimension.
    """
    found = (
        node.to_bytes(8, "little") + vector
        for node, vector in scanned_rows(conn, space, dimensions)
    )
    return stamp(conn, space).stamp, b"".join(found)


def count(conn: apsw.Connection, space: str) -> int:
    """Return the number of memories with a vector in `space`."""
    return int(conn.execute("SELECT count(*) FROM embeddings WHERE space = ?", (space,)).get)


def spaces(conn: apsw.Connection) -> list[str]:
    """Return the spaces with vectors, sorted."""
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
        """
        SELECT nodes.id, nodes.text, embeddings.hash
          FROM embeddings
          JOIN nodes ON nodes.num = embeddings.node
         ORDER BY nodes.id
        """
    )
    return sorted({node for node, text, kept in found if digest(text) != kept})
