"""Vectors are there for living memories as they read now, and the nearest are found."""

import math
import struct
from dataclasses import replace
from datetime import timedelta

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, empty_store, node

from yaadwatch.db import nodes, vectors
from yaadwatch.model.queries import Model

SPACE = "space-a"


def vector(*numbers):
    return struct.pack(f"{len(numbers)}b", *numbers)


EAST = vector(127, 0, 0, 0, 0, 0, 0, 0)
NORTH = vector(0, 127, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def conn():
    return empty_store()


def remember(conn, id, stored=None, **given):
    """Store a memory, with a vector if one is given."""
    nodes.insert(conn, node(id, **given))
    if stored is not None:
        (one,) = vectors.missing(conn, SPACE, ids=[id])
        assert vectors.put(conn, SPACE, [one], [stored]) == 1


def held(conn):
    """Return the numbers of the memories with a vector."""
    return sorted(number for number, _ in vectors.nearest(conn, SPACE, EAST, 100))


def missing(conn, space=SPACE):
    return [one.text for one in vectors.missing(conn, space, after=0, limit=100)]


def test_what_is_missing_is_every_living_memory_and_no_thing_or_session(conn):
    remember(conn, "s", text="s", kind="session")
    remember(conn, "a", text="a")
    remember(conn, "b", text="b", archived_at=NOW)
    remember(conn, "c", text="c", kind="file")
    remember(conn, "d", EAST, text="d")
    remember(conn, "e", text="e")

    assert missing(conn) == ["a", "e"]
    assert missing(conn, "space-b") == ["a", "d", "e"]
    first = vectors.missing(conn, SPACE, after=0, limit=1)
    assert [one.text for one in first] == ["a"]
    assert [one.text for one in vectors.missing(conn, SPACE, after=first[0].num, limit=5)] == ["e"]


def change(conn, id, **given):
    there = nodes.get(conn, id)
    nodes.replace(conn, replace(there, version=there.version + 1, **given))


def test_a_vector_goes_with_the_words_it_was_made_of(conn):
    remember(conn, "a", EAST, text="a")
    remember(conn, "b", NORTH, text="b")

    change(conn, "a", text="other words", text_hash="other")

    assert missing(conn) == ["other words"]
    assert held(conn) == [2]


def test_an_archived_memory_has_no_vector_and_is_missing_again_once_restored(conn):
    remember(conn, "a", EAST, text="a")

    change(conn, "a", archived_at=NOW, archive_reason="old")
    assert held(conn) == []
    assert missing(conn) == []

    change(conn, "a", archived_at=None, archive_reason=None)
    assert missing(conn) == ["a"]


def test_a_vector_of_words_that_were_changed_meanwhile_is_not_kept(conn):
    remember(conn, "a", text="before")
    made = vectors.missing(conn, SPACE, after=0, limit=5)
    change(conn, "a", text="after", text_hash="after")

    assert vectors.put(conn, SPACE, made, [EAST]) == 0
    assert missing(conn) == ["after"]


@pytest.mark.parametrize("wrong", [bytes(8)])
def test_a_vector_without_direction_is_refused(conn, wrong):
    remember(conn, "a")

    with pytest.raises(ValueError, match="zero"):
        vectors.put(conn, SPACE, vectors.missing(conn, SPACE, ids=["a"]), [wrong])


@pytest.mark.parametrize("length", [7, 1025])
def test_a_vector_of_an_impossible_length_is_refused(conn, length):
    remember(conn, "a")

    with pytest.raises(apsw.ConstraintError):
        vectors.put(conn, SPACE, vectors.missing(conn, SPACE, ids=["a"]), [b"\x01" * length])


def test_vectors_are_dropped_in_batches_and_of_one_space_only(conn):
    for name in ("a", "b", "c"):
        remember(conn, name, EAST)
    vectors.put(conn, "space-b", vectors.missing(conn, "space-b", ids=["a"]), [EAST])

    assert vectors.spaces(conn) == [SPACE, "space-b"]
    assert [vectors.drop(conn, SPACE, 2) for _ in range(3)] == [2, 1, 0]
    assert vectors.spaces(conn) == ["space-b"]
    assert vectors.count(conn, "space-b") == 1


def test_a_vector_of_another_text_is_told_of(conn):
    remember(conn, "a", EAST)
    assert vectors.outdated(conn) == []

    conn.execute("UPDATE embeddings SET hash = zeroblob(8)")

    assert vectors.outdated(conn) == ["a"]


def model(space, state, **given):
    fields = {"space": space, "name": space, "dimensions": 8, "state": state, "enabled_at": NOW}
    return Model(**fields | given)


@pytest.mark.parametrize("state", ["active", "filling"])
def test_only_one_model_is_active_and_only_one_is_filling(conn, state):
    vectors.put_model(conn, model("a", state))

    with pytest.raises(apsw.ConstraintError):
        vectors.put_model(conn, model("b", state))

    vectors.put_model(conn, model("b", "kept"))
    vectors.put_model(conn, model("c", "kept"))
    assert vectors.in_state(conn, state) == model("a", state)


def test_of_the_kept_models_the_last_that_was_active_is_gone_back_to(conn):
    assert vectors.in_state(conn, "kept") is None
    vectors.put_model(conn, model("never", "kept"))
    assert vectors.in_state(conn, "kept") is None
    vectors.put_model(conn, model("old", "kept", active_at=NOW))
    vectors.put_model(conn, model("new", "kept", active_at=NOW + timedelta(seconds=1)))

    assert vectors.in_state(conn, "kept").space == "new"

    vectors.drop_model(conn, "new")
    assert vectors.in_state(conn, "kept").space == "old"
    assert [one.space for one in vectors.everything(conn)] == ["never", "old"]


@st.composite
def worlds(draw):
    """Vectors of one length, many of them alike, and a question."""
    size = draw(st.integers(8, 40))
    one = st.lists(st.integers(-127, 127), min_size=size, max_size=size).filter(any)
    kept = draw(st.lists(one, min_size=1, max_size=12))
    return [*kept, *draw(st.lists(st.sampled_from(kept), max_size=4))], draw(one)


def cosine(one, other):
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (math.hypot(*one) * math.hypot(*other))


@given(worlds(), st.integers(1, 20))
def test_the_nearest_are_those_with_the_largest_cosine(world, limit):
    stored, asked = world
    conn = empty_store()
    for number, one in enumerate(stored):
        remember(conn, f"n{number}", vector(*one))

    found = vectors.nearest(conn, SPACE, vector(*asked), limit)

    cosines = sorted((cosine(one, asked) for one in stored), reverse=True)[:limit]
    assert [score for _, score in found] == pytest.approx(cosines, abs=1e-6)
    assert found == sorted(found, key=lambda one: (-one[1], one[0]))


def test_vectors_of_another_length_or_space_are_not_near(conn):
    remember(conn, "a", EAST)
    remember(conn, "b", bytes([127] * 9))
    vectors.put(conn, "space-b", vectors.missing(conn, "space-b", ids=["b"]), [EAST])

    assert vectors.nearest(conn, SPACE, EAST, 5) == [(1, 1.0)]
    assert vectors.nearest(conn, SPACE, bytes(8), 5) == []


def test_extensions_cannot_be_loaded_by_sql_afterwards(conn):
    assert vectors.nearest(conn, SPACE, EAST, 5) == []

    assert conn.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1) == 0
    with pytest.raises(apsw.SQLError, match="not authorized"):
        conn.execute("SELECT load_extension('anything')").fetchall()


def test_an_extension_that_cannot_be_loaded_finds_nothing(conn, monkeypatch, tmp_path):
    (tmp_path / "vec0.so").write_bytes(b"no library")
    monkeypatch.setattr(vectors, "extension", lambda: str(tmp_path / "vec0"))

    assert vectors.nearest(conn, SPACE, EAST, 5) == []
