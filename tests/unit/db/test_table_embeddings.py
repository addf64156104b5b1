"""Vectors are there for living memories as they read now; every way to search gives the same."""

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
BETWEEN = vector(127, 127, 0, 0, 0, 0, 0, 0)


@pytest.fixture
def conn():
    return empty_store()


def remember(conn, id, stored=None, **given):
    """Store a memory, with a vector if one is given."""
    nodes.insert(conn, node(id, **given))
    if stored is not None:
        (one,) = vectors.missing_of(conn, SPACE, [id])
        assert vectors.put(conn, SPACE, [one], [stored]) == 1


def nearest(conn, space, asked, limit):
    """Return the ids of the nearest memories, with their cosine."""
    names = dict(iter(conn.execute("SELECT num, id FROM nodes")))
    return [(names[num], cosine) for num, cosine in vectors.nearest(conn, space, asked, limit)]


def missing(conn, space=SPACE):
    return [one.text for one in vectors.missing(conn, space, after=0, limit=100)]


def test_the_nearest_come_first_with_their_cosine(conn):
    remember(conn, "north", NORTH)
    remember(conn, "between", BETWEEN)
    remember(conn, "east", EAST)

    found = nearest(conn, SPACE, EAST, 10)

    assert [name for name, _ in found] == ["east", "between", "north"]
    assert [cosine for _, cosine in found] == pytest.approx([1.0, 0.5**0.5, 0.0], abs=1e-6)
    assert nearest(conn, SPACE, EAST, 2) == found[:2]


def test_vectors_of_another_space_or_length_are_never_compared(conn):
    remember(conn, "east", EAST)
    (one,) = vectors.missing_of(conn, "space-b", ["east"])
    vectors.put(conn, "space-b", [one], [NORTH])
    remember(conn, "long", EAST + EAST)

    assert nearest(conn, SPACE, EAST, 5) == [("east", 1.0)]
    assert nearest(conn, "space-b", EAST, 5) == [("east", 0.0)]
    assert nearest(conn, "space-c", EAST, 5) == []


def test_a_question_without_direction_finds_nothing(conn):
    remember(conn, "east", EAST)

    assert nearest(conn, SPACE, bytes(8), 5) == []


def test_a_stored_vector_without_direction_comes_last(conn, monkeypatch):
    """Whoever wrote it: `put` does not."""
    remember(conn, "zero", EAST)
    remember(conn, "west", vector(-127, 0, 0, 0, 0, 0, 0, 0))
    conn.execute("UPDATE embeddings SET vector = zeroblob(8) WHERE node = 1")

    found = nearest(conn, SPACE, NORTH, 5)

    assert found == [("west", 0.0), ("zero", -1.0)]
    monkeypatch.setattr(vectors, "extend", lambda conn: False)
    assert nearest(conn, SPACE, NORTH, 5) == found


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
    nodes.replace(
        conn, replace(there, version=there.version + 1, **given), expected_version=there.version
    )


def test_a_vector_goes_with_the_words_it_was_made_of(conn):
    remember(conn, "a", EAST, text="a")
    remember(conn, "b", NORTH, text="b")

    change(conn, "a", text="other words", text_hash="other")

    assert missing(conn) == ["other words"]
    assert nearest(conn, SPACE, EAST, 5) == [("b", 0.0)]


def test_a_vector_stays_when_only_other_things_about_a_memory_change(conn):
    remember(conn, "a", EAST, text="a")

    change(conn, "a", pinned=True, confidence=1.0)

    assert missing(conn) == []


def test_an_archived_memory_has_no_vector_and_is_missing_again_once_restored(conn):
    remember(conn, "a", EAST, text="a")

    change(conn, "a", archived_at=NOW, archive_reason="old")
    assert nearest(conn, SPACE, EAST, 5) == []
    assert missing(conn) == []

    change(conn, "a", archived_at=None, archive_reason=None)
    assert missing(conn) == ["a"]


def test_an_erased_memory_takes_its_vectors_along(conn):
    remember(conn, "a", EAST)

    nodes.erase(conn, ["a"])

    assert vectors.spaces(conn) == []


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
        vectors.put(conn, SPACE, vectors.missing_of(conn, SPACE, ["a"]), [wrong])


@pytest.mark.parametrize("length", [7, 1025])
def test_a_vector_of_an_impossible_length_is_refused(conn, length):
    remember(conn, "a")

    with pytest.raises(apsw.ConstraintError):
        vectors.put(conn, SPACE, vectors.missing_of(conn, SPACE, ["a"]), [b"\x01" * length])


def test_vectors_are_dropped_in_batches_and_of_one_space_only(conn):
    for name in ("a", "b", "c"):
        remember(conn, name, EAST)
    vectors.put(conn, "space-b", vectors.missing_of(conn, "space-b", ["a"]), [EAST])

    assert vectors.spaces(conn) == [SPACE, "space-b"]
    assert [vectors.drop(conn, SPACE, 2) for _ in range(3)] == [2, 1, 0]
    assert vectors.spaces(conn) == ["space-b"]
    assert vectors.count(conn, "space-b") == 1


def test_a_vector_of_another_text_is_told_of(conn):
    remember(conn, "a", EAST)
    assert vectors.outdated(conn) == []

    conn.execute("UPDATE embeddings SET hash = zeroblob(8)")

    assert vectors.outdated(conn) == ["a"]


sizes = st.integers(8, 40)
numbers = st.integers(-127, 127)


@st.composite
def worlds(draw):
    """Vectors of one length, many of them alike, and a question."""
    size = draw(sizes)
    one = st.lists(numbers, min_size=size, max_size=size).filter(any).map(lambda n: vector(*n))
    kept = draw(st.lists(one, min_size=1, max_size=12))
    return [*kept, *draw(st.lists(st.sampled_from(kept), max_size=4))], draw(one)


@given(worlds(), st.integers(1, 20))
def test_sqlite_vec_numpy_and_plain_python_give_the_same_order_and_scores(world, limit):
    stored, asked = world
    conn = empty_store()
    for number, one in enumerate(stored):
        remember(conn, f"n{number}", one)
    assert vectors.extend(conn)

    in_sqlite = vectors.nearest(conn, SPACE, asked, limit)

    rows = list(vectors.scanned_rows(conn, SPACE, len(asked)))
    assert in_sqlite == vectors.best(vectors.plainly(rows, asked), limit)
    numpy = pytest.importorskip("numpy")
    assert in_sqlite == vectors.best(vectors.with_numpy(numpy, rows, asked), limit)


def test_without_the_extension_the_answers_are_the_same(conn, monkeypatch):
    remember(conn, "north", NORTH)
    remember(conn, "between", BETWEEN)
    other = empty_store()
    remember(other, "north", NORTH)
    remember(other, "between", BETWEEN)
    with_it = nearest(conn, SPACE, EAST, 5)

    monkeypatch.setattr(vectors, "extension", lambda: None)

    assert not vectors.extend(other)
    assert nearest(other, SPACE, EAST, 5) == with_it


def test_an_extension_that_cannot_be_loaded_is_as_none(conn, monkeypatch, tmp_path):
    (tmp_path / "vec0.so").write_bytes(b"no library")
    monkeypatch.setattr(vectors, "extension", lambda: str(tmp_path / "vec0"))

    assert not vectors.extend(conn)


def test_extensions_cannot_be_loaded_afterwards(conn):
    assert vectors.extend(conn)

    assert conn.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, -1) == 0
    with pytest.raises(apsw.SQLError, match="not authorized"):
        conn.execute("SELECT load_extension('anything')").fetchall()
    with pytest.raises(apsw.Error):
        conn.load_extension(vectors.extension())


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
