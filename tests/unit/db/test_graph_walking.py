"""Steps through a graph come to what any walk by hand comes to, whatever the edges are."""

from hypothesis import given
from hypothesis import strategies as st
from store_samples import NOW, edge, empty_store, node

from yaadwatch.db import edges, nodes
from yaadwatch.model.errors import YaadError

NAMES = "abcdef"
names = st.sampled_from(NAMES)
rows = st.lists(
    st.tuples(names, names, st.sampled_from(["led_to", "relates_to"]), st.booleans()), max_size=14
)


def _store(given_rows):
    conn = empty_store()
    for name in NAMES:
        nodes.insert(conn, node(name))
    kept = []
    for start, end, kind, open_ in given_rows:
        try:
            made = edges.insert(conn, edge(start, end, kind, valid_until=None if open_ else NOW))
        except YaadError:
            continue
        if made:
            kept.append((start, end, kind, open_))
    return conn, kept


def _seen(kept, kinds, view):
    return [
        (start, end)
        for start, end, kind, open_ in kept
        if (not kinds or kind in kinds) and (view == "all" or open_ == (view == "current"))
    ]


@given(
    rows,
    st.sets(names),
    st.sampled_from([(), ("led_to",)]),
    st.sampled_from(["current", "historical", "all"]),
)
def test_a_step_follows_every_edge_of_the_kinds_and_the_view_and_no_other(
    given_rows, layer, kinds, view
):
    conn, kept = _store(given_rows)
    seen = _seen(kept, kinds, view)

    def beyond(forward, limit=100):
        return edges.beyond(conn, layer, forward=forward, kinds=kinds, view=view, limit=limit)

    assert sorted(beyond(True)) == sorted(end for start, end in seen if start in layer)
    assert sorted(beyond(False)) == sorted(start for start, end in seen if end in layer)
    assert len(beyond(True, limit=1)) <= 1
    found = edges.among(conn, layer, kinds=kinds, view=view, limit=100)
    assert sorted((row.from_node, row.to_node) for row in found) == sorted(
        (start, end) for start, end in seen if {start, end} <= layer
    )


@given(rows)
def test_everything_is_counted_once(given_rows):
    conn, kept = _store(given_rows)
    open_ = [(start, end, kind) for start, end, kind, still in kept if still]

    degrees = {
        name: sum(name in row[:2] for row in open_)
        for name in NAMES
        if any(name in row[:2] for row in open_)
    }
    current, ended = edges.counts(conn)
    assert (sum(current.values()), ended) == (len(open_), len(kept) - len(open_))
    assert dict(edges.hubs(conn, 10)) == degrees
    assert edges.orphans(conn) == len(NAMES) - len(degrees)
    assert (nodes.kinds(conn), nodes.count(conn, archived=True)) == ({"convention": len(NAMES)}, 0)
