"""Laws of claims: values compare in any unit, and pairs are those that cannot both be right."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.memory import claiming
from yaadwatch.memory.claiming import differ, sense
from yaadwatch.model.memories import Stated
from yaadwatch.text.words import question_form


@given(
    st.integers(1, 10**6),
    st.sampled_from([("s", "ms", 1000), ("min", "s", 60), ("MB", "kB", 1000)]),
)
def test_a_value_is_the_same_in_another_unit(number, units):
    larger, smaller, factor = units

    assert sense(f"{number} {larger}") == sense(f"{number * factor} {smaller}")


@given(st.text(max_size=60))
def test_comparing_twice_is_comparing_once_for_words(value):
    if not any(char.isdigit() for char in value):
        assert sense(sense(value)) == sense(value)


@given(st.lists(st.sampled_from(["how", "do", "we", "deploy", "the", "API", "to", "staging"])))
def test_a_question_is_known_by_its_words_in_any_order_and_case(words):
    assert question_form(" ".join(words)) == question_form(" ".join(reversed(words)).upper() + "?")


@st.composite
def things(draw):
    """What is claimed of one thing: values that go together, and others that do not."""
    values = st.sampled_from(["3", "3.11", "3.12", "2.7", "2"])
    said = draw(st.lists(st.tuples(st.sampled_from("abcdef"), values), min_size=1, max_size=16))
    return [Stated(claim, node, sense) for claim, (node, sense) in enumerate(said, 1)]


@given(things(), st.sets(st.tuples(st.integers(1, 16), st.integers(1, 16))), st.integers(1, 130))
def test_the_pairs_of_a_thing_are_those_that_cannot_both_be_right(sides, right, limit):
    def together(one, other):
        return (min(one.claim, other.claim), max(one.claim, other.claim)) in right

    every = [
        (one.claim, other.claim)
        for one, other in itertools.combinations(sides, 2)
        if differ("version", one.sense, other.sense)
        and one.node != other.node
        and not together(one, other)
    ]

    found = claiming.pairs("version", sides, together, limit=limit)

    assert found == sorted(found)
    assert set(found) <= set(every)
    assert len(found) == min(limit, len(every))
    own = {one.claim for one in sides if one.node == "a"}
    mine = [pair for pair in every if own & {*pair}]
    near = claiming.pairs("version", sides, together, limit=limit, of="a")
    assert set(near) <= set(every)
    assert len(near) == (min(limit, len(every)) if mine else 0)
    assert sum(bool(own & {*pair}) for pair in near) == min(limit, len(mine))
    assert claiming.pairs("version", sides, together, limit=1000, of="a") == (every if mine else [])


def test_where_all_are_right_together_no_more_than_so_many_are_looked_at():
    sides = [Stated(number, f"n{number}", f"{number % 2}") for number in range(1, 1_001)]
    asked = []

    def together(one, other):
        asked.append((one, other))
        return True

    assert claiming.pairs("retries", sides, together, limit=1) == []
    assert len(asked) == claiming.LOOKED_AT_MIN
