"""What likeness keeps to, whatever is said."""

from hypothesis import assume, given
from hypothesis import strategies as st

from yaadwatch.core.ingest.likeness import (
    APART,
    REFINES,
    SHARED_MIN,
    WITHIN,
    beginning,
    compare,
    compare_with,
    jaccard,
    number_of,
    said,
)

words = st.sampled_from(
    (
        *("use", "tabs", "Go", "files", "never", "not", "in", "with", "for", "because", "and", ","),
        *("jose", "tokens", "src/net.py", "`retry`", "5", "the", "only", "deploy", ":", ";"),
    )
)
texts = st.lists(words, max_size=14).map(" ".join) | st.text(max_size=80)
MIRRORED = {APART: APART, REFINES: WITHIN, WITHIN: REFINES}


@given(texts)
def test_a_statement_is_itself_or_too_short(text):
    one = said(text)

    assert compare(one, one) == (REFINES if beginning(text) else APART)


@given(texts, texts)
def test_seen_from_the_other_side_it_is_the_other_way_round(one, other):
    assume(said(one).forms != said(other).forms)

    assert compare(said(other), said(one)) == MIRRORED[compare(said(one), said(other))]


@given(texts, texts)
def test_what_goes_on_begins_with_every_word_of_what_it_goes_on_with(new, old):
    if compare(said(new), said(old)) == REFINES:
        assert said(new).forms[: len(said(old).forms)] == said(old).forms
        assert beginning(new) == beginning(old)


@given(texts, texts)
def test_likeness_is_a_part(one, other):
    assert 0.0 <= jaccard(said(one), said(other)) <= 1.0
    assert jaccard(said(one), said(other)) == jaccard(said(other), said(one))


@given(texts, texts)
def test_those_that_begin_alike_share_a_number_that_fits_into_32_bits(one, other):
    mine, others = number_of(beginning(one)), number_of(beginning(other))

    assert (mine == 0) == (beginning(one) == ())
    assert 0 <= mine < 2**32
    assert beginning(one) != beginning(other) or mine == others


def test_the_numbers_that_stores_keep_stay_what_they_are():
    """Other ones need a step of the schema that forgets those that are kept."""
    said_before = "The Queries of naïve users go to `retry` in src/net.py"

    assert number_of(beginning(said_before)) == 2112686622
    assert number_of(beginning("Use jose")) == 0


telling = st.lists(
    st.sampled_from(("use", "Queries", "boxes", "jose", "src/net.py", "`retry`", "Go", "naïve")),
    min_size=SHARED_MIN,
    max_size=5,
    unique=True,
)


@given(telling.map(" ".join), texts, st.data())
def test_that_two_are_apart_is_known_early_and_never_wrongly(first, rest, data):
    old = f"{first} {rest}"
    new = f"{first} {data.draw(texts)}" if data.draw(st.booleans()) else data.draw(texts)

    assert compare_with(said(new), old) == compare(said(new), said(old))
