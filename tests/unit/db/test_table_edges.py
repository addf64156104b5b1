"""Edges: counted as they are, once while open, and no acyclic kind ever runs in a circle."""

from datetime import timedelta
from graphlib import CycleError, TopologicalSorter

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from store_samples import NOW, edge, empty_store, node

from yaadwatch.db import edges, nodes
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ALL
from yaadwatch.model.memories import ACYCLIC, SUPERSEDES

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
            assert refusal(edges.insert, conn, edge(start, end, kind)).code is Code.REFUSED
        else:
            assert edges.insert(conn, edge(start, end, kind)) is (end not in kept[start])
            kept = with_it


def test_a_refusal_names_the_circle(conn):
    edges.insert(conn, edge("a", "b", "led_to"))
    edges.insert(conn, edge("b", "c", "led_to"))

    with pytest.raises(YaadError, match="c -> a -> b -> c"):
        edges.insert(conn, edge("c", "a", "led_to"))


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


def test_a_closed_edge_is_neither_listed_nor_counted_nor_in_the_way(conn):
    edges.insert(conn, edge("a", "b", valid_from=NOW - timedelta(days=1), valid_until=NOW))

    assert edges.of_node(conn, "a") == []
    assert edges.degrees(conn, ["a"]) == {"a": 0}
    assert edges.pointed_at(conn, ["b"]) == set()
    assert edges.insert(conn, edge("a", "b"))


def test_an_interval_that_ends_before_it_begins_is_not_stored(conn):
    with pytest.raises(ValueError, match="must not end before it starts"):
        edges.insert(conn, edge("a", "b", valid_until=NOW - timedelta(days=1)))


@given(
    st.lists(st.tuples(ends, ends, st.booleans()), max_size=10),
    st.sets(ends),
    st.sets(ends),
    st.sets(ends),
)
def test_what_stands_in_a_place_is_what_lives_at_the_end_of_open_chains(
    links, archived, hidden, agents
):
    """An agent's words stand beside a person's, not in their place."""
    conn = _store(())
    for name in NAMES:
        past = {"archived_at": NOW, "archive_reason": "old"} if name in archived else {}
        origin = "agent:claude" if name in agents else "cli"
        nodes.insert(conn, node(name, origin=origin, **past))
    over: dict[str, set[str]] = {name: set() for name in NAMES}
    for new, old, holds in links:
        if new < old:  # so that no circle closes
            until = {} if holds else {"valid_until": NOW}
            edges.insert(conn, edge(new, old, SUPERSEDES, **until))
            if holds:
                over[old].add(new)

    conn.executemany("INSERT INTO temp.hidden VALUES (?, 'branch')", [(one,) for one in hidden])
    found = edges.successors(conn, NAMES)

    for name in NAMES:
        reached: set[str] = set()
        ahead = [name]
        while ahead:
            for new in over[ahead.pop()] - reached:
                reached.add(new)
                ahead.append(new)
        beside = set() if name in agents else agents
        assert found.get(name, set()) == reached - archived - hidden - beside
        assert edges.is_superseded(conn, name) is bool(over[name])
        row = conn.execute(
            f"SELECT {edges.is_superseded_sql('nodes.id')} FROM nodes WHERE id = :id",
            {"id": name},
        ).get
        assert bool(row) is bool(found.get(name))


@given(st.lists(st.tuples(ends, ends), max_size=10), st.sets(ends, max_size=3), st.sets(ends))
def test_what_is_erased_hands_on_what_stands_in_its_place(links, erased, agents):
    conn = _store(())
    for name in NAMES:
        origin = "agent:claude" if name in agents else "cli"
        nodes.insert(conn, node(name, origin=origin))
    for new, old in links:
        if new < old:  # so that no circle closes
            edges.insert(conn, edge(new, old, SUPERSEDES))
    before = edges.successors(conn, NAMES)

    nodes.erase(conn, erased)

    after = edges.successors(conn, NAMES)
    for name in set(NAMES) - erased:
        assert after.get(name, set()) == before.get(name, set()) - erased


def test_a_relation_that_is_handed_on_holds_since_the_last_of_those_before_it(conn):
    day = timedelta(days=1)
    edges.insert(conn, edge("b", "c", SUPERSEDES, valid_from=NOW - 3 * day))
    edges.insert(conn, edge("a", "b", SUPERSEDES, valid_from=NOW - day))
    ended = {"valid_from": NOW - 4 * day, "valid_until": NOW - 2 * day}
    edges.insert(conn, edge("a", "c", SUPERSEDES, **ended))

    nodes.erase(conn, ["b"])

    (made,) = edges.of_node(conn, "a")
    assert (made.to_node, made.valid_from, made.valid_until) == ("c", NOW - day, None)


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


def test_the_table_itself_takes_the_same_open_edge_once_and_ended_ones_as_they_come(conn):
    ended = edge("a", "b", valid_until=NOW)
    edges.add_all(conn, [ended, ended, edge("a", "b")])

    with pytest.raises(apsw.ConstraintError, match="holds already"):
        edges.add_all(conn, [edge("a", "b")])
    with pytest.raises(apsw.ConstraintError, match="holds already"):
        conn.execute("UPDATE edges SET valid_until_ms = NULL")

    assert [one.valid_until for one in edges.equal(conn, edge("a", "b"))] == [NOW, NOW, None]


hours = st.integers(0, 8)
spans = st.tuples(hours, st.none() | hours).filter(lambda one: one[1] is None or one[0] <= one[1])


def _held(start, end):
    until = None if end is None else NOW + timedelta(hours=end)
    return edge("a", "b", valid_from=NOW + timedelta(hours=start), valid_until=until)


@given(st.lists(spans, max_size=8))
def test_equal_edges_never_hold_twice_at_any_time(rows):
    conn = _store()
    kept = []
    for start, end in rows:
        one = _held(start, end)
        if end is None and any(other.valid_until is None for other in kept):
            assert not edges.insert(conn, one)
        elif any(one.interval.overlaps(other.interval) for other in kept):
            assert refusal(edges.insert, conn, one).code is Code.CONFLICT
        else:
            assert edges.insert(conn, one)
            kept.append(one)

    stored = edges.of_node(conn, "a", ALL)
    assert sorted(map(repr, (row.interval for row in stored))) == sorted(
        map(repr, (row.interval for row in kept))
    )


def test_a_clash_names_the_edge_and_when_it_held(conn):
    edges.insert(conn, _held(1, 3))

    with pytest.raises(YaadError, match=r"held from 2026-11-21 10:30:00 to .* \(edge 1\)"):
        edges.insert(conn, _held(2, None))


@pytest.mark.parametrize(
    ("there", "new", "hint"),
    [
        (
            (1, 3),
            (2, None),
            "at 2026-11-21T12:30:00.000Z; or if that one never held: yaadwatch graph delete-link 1",
        ),
        ((1, None), (2, 4), "yaadwatch graph close 1 --at 2026-11-21T11:30:00.000Z"),
        ((2, None), (1, 4), "End this one by 2026-11-21T11:30:00.000Z, when that one begins."),
    ],
)
def test_a_clash_says_what_keeps_both_apart(conn, there, new, hint):
    edges.insert(conn, _held(*there))

    assert refusal(edges.insert, conn, _held(*new)).hint.endswith(hint)


def test_an_edge_that_begins_now_begins_where_an_equal_one_ended_later(conn):
    edges.insert(conn, _held(1, 5))

    assert edges.begin(conn, _held(2, None))
    assert edges.of_node(conn, "a")[0].valid_from == NOW + timedelta(hours=5)
    assert not edges.begin(conn, _held(7, None))


def test_an_edge_is_found_described_and_erased_by_its_number(conn):
    one = edge("a", "b", attributes={"source": "review"})
    edges.insert(conn, one)

    assert edges.get(conn, 1) == one
    assert not edges.update(conn, one, NOW, weight=1.0, attributes={"source": "review"})
    assert not edges.update(conn, edge("b", "a"), NOW, weight=0.5)
    assert edges.update(conn, one, NOW, weight=0.5)
    assert edges.update(conn, one, NOW + timedelta(days=1), attributes={"source": "ü"})
    assert edges.get(conn, 1).weight == 0.5
    assert edges.get(conn, 1).attributes == {"source": "ü"}
    assert edges.get(conn, 1).updated_at == NOW + timedelta(days=1)
    assert edges.get(conn, 1).created_at == NOW
    edges.erase(conn, [1, 2])
    assert edges.get(conn, 1) is None


def test_a_long_chain_is_walked_in_one_query_and_its_circle_told_in_short():
    count = 3000
    conn = _store([f"n{number:04}" for number in range(count)])
    steps = [(f"n{number:04}", f"n{number + 1:04}") for number in range(count - 1)]
    edges.add_all(conn, [edge(start, end, "part_of") for start, end in steps])

    with pytest.raises(YaadError, match=r"n2999 -> n0000 -> n0001 .* more .* -> n2999; nothing"):
        edges.insert(conn, edge("n2999", "n0000", "part_of"))


def test_too_many_edges_ahead_are_not_judged(conn, monkeypatch):
    monkeypatch.setattr(edges, "CIRCLE_EDGES_MAX", 2)
    for start, end in ("bc", "cd", "de"):
        edges.add_all(conn, [edge(start, end, "part_of")])

    with pytest.raises(YaadError, match="More than 2 edges") as caught:
        edges.insert(conn, edge("a", "b", "part_of"))

    assert caught.value.code is Code.TOO_LARGE
    assert edges.of_node(conn, "a") == []
