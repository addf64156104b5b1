"""What is near, by a copy of the vectors: the same answers as in the store, or none."""

import heapq
import math
import struct

import extras
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.system.embedding_sources import FOUND_BYTES, Stocks

extras.require("numpy")
import numpy  # noqa: E402

numbers = st.integers(-127, 127)
EAST = bytes([127, *[0] * 7])


@st.composite
def worlds(draw):
    size = draw(st.integers(8, 40))
    one = st.lists(numbers, min_size=size, max_size=size)
    few = draw(st.lists(one, min_size=1, max_size=5))
    rows = draw(st.lists(st.one_of(one, st.sampled_from(few)), max_size=20))
    nodes = draw(st.permutations(range(1, len(rows) + 1)))
    vectors = [struct.pack(f"{size}b", *row) for row in rows]
    asked = struct.pack(f"{size}b", *draw(st.one_of(one, st.sampled_from(few))))
    return list(zip(nodes, vectors, strict=True)), asked, size


def packed(rows):
    return b"".join(node.to_bytes(8, "little") + vector for node, vector in rows)


def read(near):
    count, found = near
    assert len(found) == count * FOUND_BYTES
    return [(node, 1.0 - far) for node, far in struct.iter_unpack("<qf", found)]


@given(worlds(), st.integers(1, 25), st.integers(1, 4))
def test_the_answers_are_exact_to_the_last_bit(world, limit, parts):
    rows, asked, size = world
    stocks = Stocks()
    step = -(-len(rows) // parts) or 1
    pieces = [rows[at : at + step] for at in range(0, len(rows), step)] or [[]]
    for number, piece in enumerate(pieces, start=1):
        stocks.take("a", 7, packed(piece), size, last=number == len(pieces))

    found = read(stocks.nearest("a", 7, asked, limit))

    assert found == (exact(rows, asked, limit) if any(asked) else [])


def exact(rows, asked, limit):
    """Return the nearest by hand: 1 minus the cosine in single precision, 2 for a zero vector."""
    given = numpy.frombuffer(asked, numpy.int8).astype(float)
    distances = []
    for node, stored in rows:
        row = numpy.frombuffer(stored, numpy.int8).astype(float)
        far = (
            1.0 - row @ given / (math.sqrt(row @ row) * math.sqrt(given @ given))
            if any(row)
            else 2.0
        )
        distances.append((float(numpy.float32(far)), node))
    return [(node, 1.0 - far) for far, node in heapq.nsmallest(limit, distances)]


def test_a_store_that_changed_or_is_not_whole_is_not_here():
    stocks = Stocks()
    rows = packed([(1, EAST)])
    stocks.take("a", 1, rows, 8, last=False)

    assert stocks.nearest("a", 1, EAST, 5) is None
    stocks.take("a", 2, rows, 8, last=True)  # what came before was of another stamp
    assert stocks.nearest("a", 1, EAST, 5) is None
    assert read(stocks.nearest("a", 2, EAST, 5)) == [(1, 1.0)]
    assert stocks.nearest("b", 2, EAST, 5) is None


def test_only_so_much_is_held_and_what_was_asked_last_stays():
    stocks = Stocks(bytes_max=2 * 8 * 4)
    row, asked = packed([(1, EAST)]), EAST
    for key in "ab":
        stocks.take(key, 1, row, 8, last=True)
    assert stocks.nearest("a", 1, asked, 1)
    stocks.take("c", 1, row, 8, last=True)

    assert [bool(stocks.nearest(key, 1, asked, 1)) for key in "abc"] == [True, False, True]
