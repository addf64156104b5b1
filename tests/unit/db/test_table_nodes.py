"""Nodes: what goes in comes out, ids are found by their ends, nobody overwrites unseen changes."""

import tracemalloc
from dataclasses import replace
from datetime import timedelta

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from store_samples import NOW, edge, empty_store, instants, node, texts

from yaadwatch.db import edges, fulltext, history, nodes
from yaadwatch.model.errors import Code
from yaadwatch.model.memories import Version

confidences = st.floats(0, 1)
whole_nodes = st.builds(
    node,
    id=texts.filter(bool),
    text=texts,
    summary=texts.filter(bool),  # none is written where it is the text itself
    key=st.none() | texts,
    tags=st.lists(texts).map(tuple),
    session=st.none() | texts,
    origin=texts,
    confidence=confidences,
    confirmed_at=instants,
    created_at=instants,
    updated_at=instants,
    accessed_at=st.none() | instants,
    archived_at=st.none() | instants,
    archive_reason=st.none() | texts,
    pinned=st.booleans(),
    tier=st.integers(1, 3),
    version=st.integers(1, 9),
    scope=st.sampled_from(["user", "project"]),
)
ids = st.text("abcdef01%_\\'-é", min_size=1, max_size=6)


@pytest.fixture
def conn():
    return empty_store()


@given(whole_nodes)
def test_a_node_reads_as_it_was_written(one):
    conn = empty_store()
    nodes.insert(conn, one)

    assert nodes.get(conn, one.id) == one


@given(whole_nodes, whole_nodes)
def test_a_replaced_node_reads_as_it_was_last_written(before, after):
    conn = empty_store()
    after = replace(after, id=before.id, version=before.version + 1)
    nodes.insert(conn, before)

    nodes.replace(conn, after)

    assert nodes.get(conn, before.id) == after


def test_a_change_of_what_somebody_else_changed_is_refused_with_what_it_reads_now(conn):
    nodes.insert(conn, node("a"))
    theirs = node("a", text="Use paseto", version=2)
    nodes.replace(conn, theirs)

    error = refusal(nodes.replace, conn, node("a", text="Use jose", version=2))

    assert error.code is Code.CONFLICT
    assert "version 2" in error.message
    assert "Use paseto" in error.message
    assert nodes.get(conn, "a") == theirs


def _lower_ascii(text):
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


@given(st.sets(ids, max_size=8), ids)
def test_an_id_is_found_by_either_end_and_itself_alone(known, fragment):
    conn = empty_store()
    for name in known:
        nodes.insert(conn, node(name))

    wanted = _lower_ascii(fragment)
    ends = {
        name
        for name in known
        if _lower_ascii(name).startswith(wanted) or _lower_ascii(name).endswith(wanted)
    }
    assert nodes.find(conn, fragment) == ([fragment] if fragment in known else sorted(ends))


@pytest.mark.parametrize("fragment", ["", "x" * 129, "x" * 100_000])
def test_what_can_be_no_id_finds_nothing(conn, fragment):
    nodes.insert(conn, node("x"))

    assert nodes.find(conn, fragment) == []


def test_the_same_text_lives_once_in_a_scope(conn):
    nodes.insert(conn, node("a", text_hash="same"))

    with pytest.raises(apsw.ConstraintError):
        nodes.insert(conn, node("b", kind="bug", text_hash="same"))


def test_of_some_hashes_those_are_told_that_the_living_memories_of_a_scope_have(conn):
    nodes.insert(conn, node("a", text_hash="one"))
    nodes.insert(conn, node("b", text_hash="two", archived_at=NOW))
    nodes.insert(conn, node("c", text_hash="three", scope="user"))
    nodes.insert(conn, node("d", kind="file", text_hash="five"))

    assert nodes.hashes_said(conn, "project", ["one", "two", "three", "four", "five"]) == {"one"}
    assert nodes.hashes_said(conn, "project", []) == set()


def test_what_an_archived_memory_said_may_be_said_again(conn):
    nodes.insert(conn, node("a", text_hash="same", archived_at=NOW))

    nodes.insert(conn, node("b", text_hash="same"))

    found = nodes.by_hash(conn, "project", "same", thing=False)
    assert found is not None
    assert found.id == "b"


def test_batches_walk_over_every_memory_once_and_over_no_thing(conn):
    for name in ("a", "b", "c", "d"):
        nodes.insert(conn, node(name))
    nodes.insert(conn, node("bb", kind="entity"))
    nodes.insert(conn, node("cc", archived_at=NOW))

    first = nodes.batch(conn, after="", limit=3, archived=False)
    second = nodes.batch(conn, after=first[-1].id, limit=3, archived=False)

    assert [one.id for one in first + second] == ["a", "b", "c", "d"]
    assert [one.id for one in nodes.batch(conn, after="", limit=3, archived=True)] == ["cc"]
    assert nodes.count(conn) == 4


@given(st.lists(instants, max_size=6), confidences)
def test_an_access_raises_the_confidence_once_a_utc_day_however_often_it_happens(times, stated):
    conn = empty_store()
    nodes.insert(conn, node("a", confidence=stated))

    raised = [nodes.boost(conn, {"a": number / 100}, now=now) for number, now in enumerate(times)]

    newest = None
    expected, left = [], stated
    for number, now in enumerate(times):
        fresh = newest is None or now.date() > newest.date() or newest > now + timedelta(days=1)
        expected.append(int(fresh))
        newest = now if fresh else newest
        left = number / 100 if fresh else left
    found = nodes.get(conn, "a")
    assert raised == expected
    assert found.accessed_at == newest
    assert found.confidence == pytest.approx(left)


def test_an_erased_node_takes_everything_of_it_along(conn):
    number = nodes.insert(conn, node("a"))
    nodes.insert(conn, node("b"))
    history.add_versions(conn, [_version("a", 1)])
    fulltext.index(conn, [(number, "jose", "", "")])
    edges.insert(conn, edge("a", "b"))

    nodes.erase(conn, ["a", "never there"])

    assert nodes.get(conn, "a") is None
    assert history.versions_of_node(conn, "a") == []
    assert edges.of_node(conn, "b") == []
    assert conn.execute("SELECT count(*) FROM nodes_fts").get == 0


def test_the_words_of_an_erased_node_are_not_found_under_the_next_one(conn):
    number = nodes.insert(conn, node("a"))
    fulltext.index(conn, [(number, "jose", "", "")])
    nodes.erase(conn, ["a"])

    assert nodes.insert(conn, node("b")) == number
    assert fulltext.search(conn, "jose", 5) == []


def _version(id, number):
    return Version(
        node=id,
        version=number,
        at=NOW + timedelta(minutes=number),
        change="confirmed",
        actor="agent:pi",
        reason='it\'s "true"',
        kind="convention",
        tier=1,
        text="Use jose",
    )


def test_strengthening_moves_the_age_of_living_nodes_once_a_day_and_nothing_else(conn):
    nodes.insert(conn, node("a"))
    nodes.insert(conn, node("gone", archived_at=NOW))
    later = NOW + timedelta(days=1)

    assert nodes.strengthen(conn, ["a", "gone", "nobody"], now=NOW) == 0
    assert nodes.strengthen(conn, ["a", "gone", "nobody"], now=later) == 1
    assert nodes.strengthen(conn, ["a"], now=later + timedelta(hours=1)) == 0

    assert nodes.get(conn, "a") == replace(node("a"), confirmed_at=later)
    assert nodes.get(conn, "gone").confirmed_at == NOW


@pytest.mark.parametrize(("count", "shown"), [(1, 1), (3, 3), (400, 4)])
def test_long_versions_that_are_not_shown_are_not_read_into_memory(conn, count, shown):
    nodes.insert(conn, node("long"))
    rows = [
        Version(
            node="long",
            version=number,
            at=NOW,
            change="edited",
            actor="agent:claude",
            reason="",
            kind="spec",
            tier=2,
            text=f"{number:>50000}",
        )
        for number in range(count)
    ]
    history.add_versions(conn, rows)
    del rows

    tracemalloc.start()
    found, more = history.latest_version(conn, "long", limit=5_000, chars=200_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (len(found), more) == (shown, count - shown)
    assert peak < 1_000_000
