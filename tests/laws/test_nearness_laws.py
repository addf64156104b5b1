"""What nearness is worth: more of it never less, and its weight between nothing and all."""

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.core.recall import expansion

weights = st.floats(0.0, 1.0)
lengths = st.lists(st.integers(1, 3_000), max_size=20)
cosines = st.floats(-1.0, 1.0)


@given(weights, lengths)
def test_the_meaning_counts_as_much_as_is_asked_for_or_less(asked, found):
    counted = expansion.weight(asked, found)

    assert 0.0 <= counted <= asked
    assert counted == asked or any(length > 40 for length in found)
    assert expansion.weight(0.0, found) == 0.0
    assert expansion.weight(1.0, found) == 1.0


@given(weights, weights, lengths)
def test_asking_for_more_never_gives_less(one, other, found):
    less, more = sorted((one, other))

    assert expansion.weight(less, found) <= expansion.weight(more, found)


@given(weights, lengths.filter(bool), st.integers(1, 500))
def test_the_meaning_of_longer_texts_counts_no_more(asked, found, by):
    assert expansion.weight(asked, [length + by for length in found]) <= expansion.weight(
        asked, found
    )


@given(cosines, cosines)
def test_who_is_nearer_scores_no_less(one, other):
    far, near = sorted((one, other))

    assert 0.0 <= expansion.score(far) <= expansion.score(near) <= 1.0
    assert expansion.score(0.7) == 1.0


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_among_more_memories_chance_comes_nearer(one, other):
    few, many = sorted((one, other))

    assert 0.2 < expansion.chance(few) <= expansion.chance(many) < 0.5
