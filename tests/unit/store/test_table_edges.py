"""Edges: counted as they are, once while open, and no acyclic kind ever runs in a circle."""

from dataclasses import replace
from datetime import timedelta
from graphlib import CycleError, TopologicalSorter

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, edge, empty_store, node

from yaadwatch.model.edges import ACYCLIC
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store import edges, nodes

NAMES = "abcde"
ends = st.sampled_from(NAMES)
kinds = st.sampled_from(["touches", "relates_to", "learned_in"])


def _store(names=NAMES):
    conn = empty_store()
    for name in names:
        nodes.insert(conn, node(name))
    return conn


@pytest.fixture
def conn():
    return _store()


@given(st.sampled_from(sorted(ACYCLIC)), st.lists(st.tuples(ends, ends), max_size=14))
def test_acyclic_kinds_stay_acyclic_and_nothing_else_is_refused(kind, pairs):
    conn = _store()
    kept: dict[str, set[str]] = {name: set() for name in NAMES}
    for start, end in pairs:
        with_it = {**kept, start: kept[start] | {end}}
        try:
            TopologicalSorter(with_it).prepare()
        except CycleError:
            with pytest.raises(YaadError) as caught:
                edges.insert(conn, edge(start, end, kind))
            assert caught.value.code is Code.REFUSED
        else:
            assert edges.insert(conn, edge(start, end, kind)) is (end not in kept[start])
            kept = with_it


def test_a_refusal_names_the_circle(conn):
    edges.insert(conn, edge("a", "b", "led_to"))
    edges.insert(conn, edge("b", "c", "led_to"))

    with pytest.raises(YaadError, match="c -> a -> b -> c"):
        edges.insert(conn, edge("c", "a", "led_to"))


def test_a_closed_edge_closes_no_circle(conn):
    edges.insert(conn, edge("a", "b", "supersedes", valid_until=NOW))

    assert edges.insert(conn, edge("b", "a", "supersedes"))


def test_circles_of_different_kinds_are_none(conn):
    edges.insert(conn, edge("a", "b", "led_to"))

    assert edges.insert(conn, edge("b", "a", "caused_by"))


@given(st.lists(st.tuples(ends, ends, kinds), max_size=12))
def test_degrees_count_each_open_edge_at_both_ends_but_not_where_it_was_learned(rows):
    conn = _store()
    for start, end, kind in rows:
        try:
            edges.insert(conn, edge(start, end, kind))
        except YaadError:
            assert kind in ACYCLIC

    counted = {
        name: len({row for row in rows if row[2] != "learned_in" and name in row[:2]})
        for name in NAMES
    }
    assert edges.degrees(conn, NAMES) == counted


def test_an_edge_reads_as_it_was_written_from_both_of_its_ends(conn):
    one = edge("a", "b", weight=0.25, valid_from=NOW - timedelta(days=3))

    edges.insert(conn, one)

    assert edges.of_node(conn, "a") == edges.of_node(conn, "b") == [one]


def test_the_same_open_edge_is_kept_once_with_its_first_time(conn):
    first = edge("a", "b")

    assert edges.insert(conn, first)
    assert not edges.insert(conn, replace(first, created_at=NOW + timedelta(days=1)))
    assert edges.of_node(conn, "a") == [first]


def test_a_closed_edge_is_neither_listed_nor_counted_nor_in_the_way(conn):
    edges.insert(conn, edge("a", "b", valid_until=NOW + timedelta(days=1)))

    assert edges.of_node(conn, "a") == []
    assert edges.degrees(conn, ["a"]) == {"a": 0}
    assert edges.pointed_at(conn, ["b"]) == set()
    assert edges.insert(conn, edge("a", "b"))


def test_an_interval_that_ends_before_it_begins_is_not_stored(conn):
    with pytest.raises(apsw.ConstraintError):
        edges.insert(conn, edge("a", "b", valid_until=NOW - timedelta(days=1)))


def test_an_edge_to_nowhere_is_not_stored(conn):
    with pytest.raises(apsw.ConstraintError):
        edges.insert(conn, edge("a", "nobody"))


def test_the_old_end_of_supersedes_is_the_superseded_one(conn):
    edges.insert(conn, edge("b", "a", "supersedes"))
    edges.insert(conn, edge("d", "c", "supersedes", valid_until=NOW))

    assert edges.superseded(conn, NAMES) == {"a"}


def test_a_node_is_pointed_at_by_others_not_by_itself(conn):
    edges.insert(conn, edge("a", "b"))
    edges.insert(conn, edge("c", "c"))

    assert edges.pointed_at(conn, NAMES) == {"b"}


def test_things_without_an_open_edge_are_lonely_and_memories_never_are(conn):
    for name, kind in (("f1", "file"), ("f2", "file"), ("f3", "file"), ("e1", "entity")):
        nodes.insert(conn, node(name, kind=kind))
    edges.insert(conn, edge("a", "f1"))
    edges.insert(conn, edge("f2", "e1"))
    edges.insert(conn, edge("a", "f3", valid_until=NOW))

    assert edges.lonely_things(conn, 9) == ["f3"]
    nodes.erase(conn, ["f2"])
    assert edges.lonely_things(conn, 9) == ["e1", "f3"]
    assert edges.lonely_things(conn, 1) == ["e1"]


def test_edges_between_memories_are_found_from_both_ends_without_files_and_closed_ones(conn):
    nodes.insert(conn, node("file", kind="file"))
    edges.insert(conn, edge("a", "b", "depends_on", weight=0.5))
    edges.insert(conn, edge("c", "a", "led_to"))
    edges.insert(conn, edge("a", "file", "touches"))
    edges.insert(conn, edge("a", "d", "relates_to"))
    edges.insert(conn, edge("a", "e", "depends_on", valid_until=NOW))

    found = edges.between_memories(conn, ["a"], ["depends_on", "led_to", "touches"], 10)

    assert [(row.from_node, row.to_node) for row in found] == [("c", "a"), ("a", "b")]
    assert edges.between_memories(conn, ["b"], ["depends_on"], 10) == found[1:]
    assert edges.between_memories(conn, ["a"], ["depends_on", "led_to"], 1) == found[:1]
    assert edges.between_memories(conn, [], ["depends_on"], 10) == []


def test_weighing_an_edge_says_whether_it_had_another_weight(conn):
    edges.insert(conn, edge("a", "b"))

    assert not edges.weigh(conn, edge("a", "b"), NOW)
    assert edges.weigh(conn, edge("a", "b", weight=0.5), NOW)
    assert [row.weight for row in edges.of_node(conn, "a")] == [0.5]
    assert not edges.weigh(conn, edge("b", "a", weight=0.5), NOW)


def test_closing_says_whether_there_was_one(conn):
    edges.insert(conn, edge("a", "b"))

    assert edges.close(conn, edge("a", "b"), NOW)
    assert not edges.close(conn, edge("a", "b"), NOW)
