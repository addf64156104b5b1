"""Flag fades with every hop, whatever the graph: laws of the spreading."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from yaadwatch.memory.impact import CARRIES, Graph
from yaadwatch.model.memories import Edge
from yaadwatch.model.settings import IMPACT_HOPS_MAX

NOW = datetime(2026, 11, 21, tzinfo=UTC)
NAMES = "abcdefg"
MOST = max(max(carry.back, carry.forth) for carry in CARRIES.values())

names = st.sampled_from(NAMES)
kinds = st.sampled_from([*CARRIES, "relates_to", "supersedes", "learned_in", "came_after"])
weights = st.floats(min_value=-1.0, max_value=3.0)
edges = st.builds(
    Edge,
    from_node=names,
    to_node=names,
    kind=kinds,
    weight=weights,
    created_at=st.just(NOW),
    valid_from=st.just(NOW),
)
SAME = Edge(
    from_node="b", to_node="a", kind="depends_on", weight=1.0, created_at=NOW, valid_from=NOW
)
TWICE = replace(SAME, weight=2.0)
graphs = st.lists(edges, max_size=16)
parts = st.floats(min_value=0.0, max_value=1.0)
sources = st.dictionaries(names, parts, max_size=4)


@given(graphs, sources, names, parts)
def test_more_flag_in_is_never_less_flag_out(rows, flags, more, part):
    graph = Graph(rows)
    stronger = flags | {more: max(part, flags.get(more, 0.0))}

    before, after = graph.spread(flags), graph.spread(stronger)

    assert before.keys() <= after.keys()
    assert all(after[node].part >= reached.part for node, reached in before.items())


@given(graphs, edges, sources)
def test_one_edge_more_takes_no_flag_away(rows, edge, flags):
    before, after = Graph(rows).spread(flags), Graph([*rows, edge]).spread(flags)

    assert all(after[node].part >= reached.part for node, reached in before.items())


@given(graphs, sources)
def test_every_hop_leaves_less_and_there_are_three_at_most(rows, flags):
    for node, reached in Graph(rows).spread(flags).items():
        hops = len(reached.edges)
        assert hops <= IMPACT_HOPS_MAX
        assert 0.0 <= reached.part <= flags[reached.path[0]] * MOST**hops + 1e-12
        assert reached.path[-1] == node
        assert len(set(reached.path)) == len(reached.path) == hops + 1


@given(graphs.flatmap(lambda rows: st.tuples(st.just(rows), st.permutations(rows))), sources)
@example(([SAME, TWICE], [TWICE, SAME]), {"a": 1.0})
def test_the_order_of_edges_and_sources_is_nothing(given_rows, flags):
    rows, shuffled = given_rows
    turned = dict(reversed(flags.items()))

    assert Graph(rows).spread(flags) == Graph(shuffled).spread(turned)
    assert Graph(rows).centrality(NAMES) == Graph(shuffled).centrality(reversed(NAMES))


@given(graphs, sources)
def test_nothing_is_reached_without_edges_that_carry_flag_all_the_way(rows, flags):
    for reached in Graph(rows).spread(flags).values():
        assert reached.path[0] in flags
        for edge, start, end in zip(reached.edges, reached.path, reached.path[1:], strict=False):
            assert edge in rows
            assert {edge.from_node, edge.to_node} == {start, end}
            carry = CARRIES[edge.kind]
            assert (carry.back if edge.from_node == end else carry.forth) > 0.0


@given(st.lists(edges.filter(lambda edge: edge.kind not in CARRIES), max_size=16), sources)
def test_kinds_that_say_nothing_of_truth_carry_nothing(rows, flags):
    assert Graph(rows).spread(flags).keys() == flags.keys()


@given(graphs, sources, st.sets(names))
def test_where_flag_halts_nothing_passes(rows, flags, halting):
    free = [row for row in rows if not {row.from_node, row.to_node} & halting]
    reached = Graph(rows).spread(flags, lambda _, node: node in halting)

    assert all(not halting.intersection(found.path[1:]) for found in reached.values())
    without = {node: part for node, part in flags.items() if node not in halting}
    for node, found in Graph(free).spread(without).items():
        assert reached[node].part >= found.part


@given(graphs, st.sets(names, min_size=1))
def test_centrality_is_shared_out_whole(rows, among):
    rank = Graph(rows).centrality(among)

    assert rank.keys() == among
    assert sum(rank.values()) == pytest.approx(1.0)
    assert all(part > 0.0 for part in rank.values())
