"""How flag spreads, in small graphs that can be followed with a finger."""

from datetime import UTC, datetime

import pytest

from yaadwatch.memory import impact
from yaadwatch.memory.impact import CARRIES, Graph
from yaadwatch.model.memories import Edge

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def edge(from_node, kind, to_node, weight=1.0):
    return Edge(
        from_node=from_node,
        to_node=to_node,
        kind=kind,
        weight=weight,
        created_at=NOW,
        valid_from=NOW,
    )


def reached(*edges, source="a", part=1.0):
    found = Graph(edges).spread({source: part})
    return {node: come for node, come in found.items() if node != source}


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (("b", "depends_on", "a"), 0.8),
        (("a", "depends_on", "b"), None),
        (("b", "part_of", "a"), 0.6),
        (("a", "part_of", "b"), 0.3),
        (("b", "caused_by", "a"), 0.6),
        (("a", "caused_by", "b"), None),
        (("a", "led_to", "b"), 0.6),
        (("b", "led_to", "a"), None),
        (("b", "touches", "a"), 0.3),
        (("a", "touches", "b"), None),
        (("a", "relates_to", "b"), None),
        (("b", "supersedes", "a"), None),
    ],
)
def test_each_kind_carries_flag_to_what_rests_on_the_other_end(link, expected):
    found = reached(edge(*link))

    assert (found["b"].part if "b" in found else None) == expected


def test_every_kind_of_the_table_has_words_for_both_ends():
    for kind in CARRIES:
        said = edge("b", kind, "a")
        assert impact.words(said, "b")
        assert impact.words(said, "a") != impact.words(said, "b")


def test_every_hop_and_every_weight_takes_its_part():
    found = reached(edge("b", "depends_on", "a", 0.5), edge("c", "caused_by", "b"), part=0.9)

    assert found["c"].part == pytest.approx(0.9 * 0.8 * 0.5 * 0.6)
    assert found["c"].path == ("a", "b", "c")


def test_a_weight_above_one_strengthens_nothing():
    assert reached(edge("b", "depends_on", "a", 7.0))["b"].part == 0.8


def test_the_fourth_hop_is_too_far():
    chain = [edge(late, "depends_on", early) for early, late in zip("abcd", "bcde", strict=True)]

    assert reached(*chain).keys() == {"b", "c", "d"}


def test_a_circle_ends():
    found = reached(edge("b", "depends_on", "a"), edge("a", "depends_on", "b"))

    assert found["b"].part == 0.8
    assert Graph([edge("a", "depends_on", "a")]).spread({"a": 0.5})["a"].part == 0.5


def test_the_strongest_way_counts_and_of_equals_the_shortest():
    strong = reached(
        edge("c", "touches", "a"), edge("c", "depends_on", "b"), edge("b", "part_of", "a")
    )
    assert strong["c"].path == ("a", "b", "c")

    short = Graph([edge("b", "depends_on", "a")]).spread({"a": 1.0, "b": 0.8})
    assert short["b"].path == ("b",)


def test_what_comes_from_elsewhere_is_a_suspicion_and_a_warning_where_it_is_strong():
    assert impact.level_of(0.95 * 0.8) == "warn"
    assert impact.level_of(0.7 * 0.8) == "suspect"
    assert impact.level_of(0.3 * 0.3) == ""


def test_what_most_others_rest_on_is_central():
    rank = Graph(
        [edge("b", "depends_on", "a"), edge("c", "depends_on", "a"), edge("d", "depends_on", "c")]
    ).centrality("abcd")

    assert sorted(rank, key=rank.__getitem__, reverse=True)[:2] == ["a", "c"]
