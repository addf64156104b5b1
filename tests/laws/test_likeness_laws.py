"""What likeness keeps to, whatever is said."""

import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from yaadwatch.core.ingest.lettering import bare, folded, is_shouted
from yaadwatch.core.ingest.likeness import (
    APART,
    REFINES,
    SHARED_MIN,
    WITHIN,
    beginning,
    compare,
    compare_with,
    jaccard,
    number,
    said,
)
from yaadwatch.core.text import normalise

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
    mine, others = number(one), number(other)

    assert (mine == 0) == (folded(one) == "")
    assert 0 <= mine < 2**32
    assert not beginning(one) or beginning(one) != beginning(other) or mine == others


@given(texts, texts)
def test_what_goes_on_is_found_by_the_number_of_what_it_goes_on_with(new, old):
    if compare(said(new), said(old)) != APART:
        assert number(new) == number(old)


def test_the_numbers_that_stores_keep_stay_what_they_are():
    """Other ones need a step of the schema that forgets those that are kept."""
    assert number("The Queries of naïve users go to `retry` in src/net.py") == 2112686622
    assert number("NEVER use the TABS of Go files") == 4038121582
    assert number("Use JOSE!") == 1746654361
    assert number(" . ") == 0


@given(texts)
def test_dropping_what_does_not_count_twice_is_dropping_it_once(text):
    assert folded(folded(text)) == folded(text)


@given(texts)
def test_nothing_but_capitals_white_space_and_the_end_is_dropped(text):
    """Every letter that stays is one of the text, and none is left out."""
    letters = [char for char in normalise(text).lower() if char.isalnum()]

    assert [char for char in folded(text).lower() if char.isalnum()] == letters


def louder(text, which):
    """Return a text with some of its words in capitals."""
    said_words = text.split(" ")
    return " ".join(
        word.upper() if loud else word for word, loud in zip(said_words, which, strict=True)
    )


plain_words = st.lists(
    st.sampled_from(
        ("use", "tabs", "go", "files", "never", "not", "in", "with", "tokens", "only", "the", "it")
    ),
    min_size=1,
    max_size=8,
    unique=True,  # a word that is written in two ways in one text keeps its capitals
)


@given(plain_words, st.data(), st.sampled_from(("", ".", "!", " ", "\n", ";", "…")))
def test_louder_words_are_the_same_statement_and_found_by_the_same_number(words, data, end):
    text = " ".join(words)
    which = data.draw(st.lists(st.booleans(), min_size=len(words), max_size=len(words)))
    which = [loud and is_shouted(word.upper()) for word, loud in zip(words, which, strict=True)]
    loud = louder(text, which) + end

    assert folded(loud) == folded(text)
    assert number(loud) == number(text)


@given(texts)
def test_the_same_looks_the_same_at_first(text):
    assert bare(folded(text)) == bare(text)


@given(texts)
def test_a_statement_has_the_number_of_what_counts_in_it(text):
    assert number(folded(text)) == number(normalise(text))


LONG = ("“", "« ", " ‘a", "'", '"', "`a ", "FOO ", "A ", "The ", "A-", "(", ")", "!", "-a ", "::")


@pytest.mark.parametrize("piece", LONG)
def test_however_odd_a_text_is_it_costs_no_more_than_its_length(piece):
    def seconds(chars):
        text = "Use tabs " + piece * (chars // len(piece))
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            folded(text)
            number(text)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(64_000) < 24 * max(seconds(8_000), 0.002)


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
