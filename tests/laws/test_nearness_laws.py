"""What nearness is worth: more of it never less, and its weight between nothing and all."""

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.recall import rank

weights = st.floats(0.0, 1.0)
lengths = st.lists(st.integers(1, 3_000), max_size=20)
cosines = st.floats(-1.0, 1.0)


@given(weights, lengths)
def test_the_meaning_counts_as_much_as_is_asked_for_or_less(asked, found):
    counted = rank.weight(asked, found)

    assert 0.0 <= counted <= asked
    assert counted == asked or any(length > 40 for length in found)
    assert rank.weight(0.0, found) == 0.0
    assert rank.weight(1.0, found) == 1.0


@given(weights, weights, lengths)
def test_asking_for_more_never_gives_less(one, other, found):
    less, more = sorted((one, other))

    assert rank.weight(less, found) <= rank.weight(more, found)


@given(weights, lengths.filter(bool), st.integers(1, 500))
def test_the_meaning_of_longer_texts_counts_no_more(asked, found, by):
    assert rank.weight(asked, [length + by for length in found]) <= rank.weight(asked, found)


@given(cosines, cosines)
def test_who_is_nearer_scores_no_less(one, other):
    far, near = sorted((one, other))

    assert 0.0 <= rank.score(far) <= rank.score(near) <= 1.0
    assert rank.score(0.7) == 1.0


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_among_more_memories_chance_comes_nearer(one, other):
    few, many = sorted((one, other))

    assert 0.2 < rank.chance(few) <= rank.chance(many) < 0.5
