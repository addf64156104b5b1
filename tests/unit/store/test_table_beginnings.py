"""Memories that begin alike are found by a number; other words have none until it is noted."""

import pytest
from store_samples import NOW, empty_store, node

from yaadwatch.store import nodes
from yaadwatch.store.recall import beginnings


@pytest.fixture
def conn():
    return empty_store()


def found(conn, number, limit=9):
    return [node_id for node_id, _ in beginnings.of(conn, number, limit)]


def lacking(conn):
    return [text for _, text in beginnings.lacking(conn, 9)]


def test_those_that_begin_alike_are_found_the_newest_first(conn):
    given = [node(name) for name in "abcd"]
    nodes.insert_all(conn, given, {"a": 7, "b": 8, "c": 7, "d": 7})

    assert found(conn, 7) == ["d", "c", "a"]
    assert found(conn, 7, limit=2) == ["d", "c"]
    assert lacking(conn) == []


def test_what_begins_with_too_few_words_is_known_and_never_found(conn):
    nodes.insert_all(conn, [node("a")], {"a": 0})

    assert found(conn, 0) == []
    assert lacking(conn) == []


def test_archived_memories_things_and_sessions_neither_are_found_nor_lack_anything(conn):
    nodes.insert_all(conn, [node("a", archived_at=NOW)], {"a": 7})
    for kind in ("file", "entity", "session"):
        nodes.insert(conn, node(kind, kind=kind))

    assert found(conn, 7) == []
    assert lacking(conn) == []


def test_a_memory_that_gets_other_words_lacks_its_number_until_it_is_noted(conn):
    before = node("a", text="Use jose for tokens")
    nodes.insert_all(conn, [before], {"a": 7})

    nodes.replace(conn, node("a", text="Use tabs in Go", version=2), expected_version=1)

    assert found(conn, 7) == []
    assert lacking(conn) == ["Use tabs in Go"]
    beginnings.note(conn, [(nodes.num(conn, "a"), 9)])
    assert found(conn, 9) == ["a"]


def test_a_memory_that_keeps_its_words_keeps_its_number(conn):
    nodes.insert_all(conn, [node("a")], {"a": 7})

    nodes.replace(conn, node("a", pinned=True, version=2), expected_version=1)

    assert found(conn, 7) == ["a"]
