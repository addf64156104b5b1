"""Memories are found by the number of their folded text; changed words have none at first."""

import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.db import nodes


@pytest.fixture
def conn():
    return empty_store()


def found(conn, number, limit=9):
    return [node_id for node_id, _ in nodes.by_folded(conn, number, limit)]


def unfolded(conn):
    return [text for _, text in nodes.unfolded(conn, 9)]


def test_memories_with_a_number_are_found_newest_first(conn):
    given = [node(name) for name in "abcd"]
    nodes.insert_all(conn, given, {"a": 7, "b": 8, "c": 7, "d": 7})

    assert found(conn, 7) == ["d", "c", "a"]
    assert found(conn, 7, limit=2) == ["d", "c"]
    assert unfolded(conn) == []


def test_a_memory_with_an_empty_folded_text_is_never_found(conn):
    nodes.insert_all(conn, [node("a")], {"a": 0})

    assert found(conn, 0) == []
    assert unfolded(conn) == []


def test_archived_memories_things_and_sessions_are_not_numbered(conn):
    nodes.insert_all(conn, [node("a", archived_at=NOW)], {"a": 7})
    for kind in ("file", "entity", "session"):
        nodes.insert(conn, node(kind, kind=kind))

    assert found(conn, 7) == []
    assert unfolded(conn) == []


def test_a_memory_with_changed_words_has_no_number_until_it_is_noted(conn):
    before = node("a", text="Use jose for tokens")
    nodes.insert_all(conn, [before], {"a": 7})

    nodes.replace(conn, node("a", text="Use tabs in Go", version=2), expected_version=1)

    assert found(conn, 7) == []
    assert unfolded(conn) == ["Use tabs in Go"]
    nodes.note_folded(conn, [(nodes.num(conn, "a"), 9)])
    assert found(conn, 9) == ["a"]


def test_a_memory_that_keeps_its_words_keeps_its_number(conn):
    nodes.insert_all(conn, [node("a")], {"a": 7})

    nodes.replace(conn, node("a", pinned=True, version=2), expected_version=1)

    assert found(conn, 7) == ["a"]
