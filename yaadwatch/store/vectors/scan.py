"""How alike is a vector to all others of its space? One exact pass, in SQLite or beside it.

Vectors are bytes: the cosine does not care for a scale, and dot products of up to 1,024 signed
bytes are whole numbers that even single precision holds exactly. So sqlite-vec, numpy and plain
Python give the same scores to the last bit.
"""

import heapq
import importlib.util
import math
import operator
import struct
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import apsw

Scored = list[tuple[int, float]]
"""The numbers of nodes with a cosine, -1 to 1, best first; of equals the lower number."""

_CHUNK_ROWS = 4_096
"""Vectors that numpy is given at once."""


def nearest(conn: apsw.Connection, space: str, vector: bytes, limit: int) -> Scored:
    """Return the `limit` nodes whose vectors in `space` are most like `vector`.

    With sqlite-vec where it is installed, else the same answers in more time. Vectors of another
    length are passed over.
    """
    if not any(vector):
        return []
    if not extend(conn):
        return exact(rows(conn, space, len(vector)), vector, limit)
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
    """Have a connection know the functions of sqlite-vec; return whether it does.

    Extensions can be loaded by C for that moment only, and never by SQL.
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
    """Return where sqlite-vec is, without its suffix; None when it is not installed.

    Its package is not imported: it would bring the standard library's own copy of SQLite along.
    """
    found = importlib.util.find_spec("sqlite_vec")
    if found is None or found.origin is None:
        return None
    return str(Path(found.origin).with_name("vec0"))


def rows(conn: apsw.Connection, space: str, length: int) -> Iterable[tuple[int, bytes]]:
    """Return the nodes with a vector of `length` dimensions in a space, and those vectors."""
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
    """Return what `nearest` does, without sqlite-vec: with numpy where it is installed."""
    numpy = _numpy()
    distances = plainly(found, vector) if numpy is None else with_numpy(numpy, found, vector)
    return best(distances, limit)


def best(distances: Iterable[tuple[float, int]], limit: int) -> Scored:
    """Return the `limit` nodes with the least distances, as cosines."""
    return [(node, 1.0 - distance) for distance, node in heapq.nsmallest(limit, distances)]


def plainly(found: Iterable[tuple[int, bytes]], vector: bytes) -> Iterable[tuple[float, int]]:
    """Yield how far each vector is from `vector`, and its node."""
    asked = memoryview(vector).cast("b").tolist()
    length = math.sqrt(_dot(asked, asked))
    for node, stored in found:
        given = memoryview(stored).cast("b").tolist()
        yield _distance(_dot(given, asked), _dot(given, given), length), node


def with_numpy(
    numpy: Any, found: Iterable[tuple[int, bytes]], vector: bytes
) -> Iterable[tuple[float, int]]:
    """Yield what `plainly` does, in a tenth of its time."""
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
    """Return 1 less the cosine, rounded as sqlite-vec rounds it; 2.0 for what has no direction."""
    if not square:
        return 2.0
    whole = 1.0 - dot / (math.sqrt(square) * length)
    return float(struct.unpack("<f", struct.pack("<f", whole))[0])


@cache
def _numpy() -> Any:
    """Return numpy if it is there. It costs 27 MB, so only those without sqlite-vec pay for it."""
    if importlib.util.find_spec("numpy") is None:
        return None
    return importlib.import_module("numpy")
