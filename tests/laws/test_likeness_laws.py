"""Laws of sameness and likeness of statements."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.remember.likeness import are_alike, folded, numbered
from yaadwatch.text.words import normalise

words = st.sampled_from(
    (
        *("use", "tabs", "Go", "files", "never", "not", "in", "with", "for", "because", "and", ","),
        *("jose", "tokens", "src/net.py", "`retry`", "5", "the", "only", "deploy", ":", ";"),
    )
)
texts = st.lists(words, max_size=14).map(" ".join) | st.text(max_size=80)


@given(texts, texts)
def test_likeness_is_symmetric_and_holds_for_the_same_statement(one, other):
    assert are_alike(one, other) == are_alike(other, one)
    if folded(one) == folded(other) and any(char.isalnum() for char in one):
        assert are_alike(one, other)


@given(texts, texts)
def test_the_same_statements_share_a_number_that_fits_into_32_bits(one, other):
    assert (numbered(one) == 0) == (folded(one) == "")
    assert 0 <= numbered(one) < 2**32
    assert folded(one) != folded(other) or numbered(one) == numbered(other)


def test_the_numbers_that_stores_keep_stay_what_they_are():
    """Other numbers need a step of the schema that forgets the stored ones."""
    assert numbered("The Queries of naïve users go to `retry` in src/net.py") == 942895042
    assert numbered("NEVER use the TABS of Go files") == 3692557811
    assert numbered("Use JOSE!") == 3945799518
    assert numbered(" . ") == 0


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
    which = [
        loud and folded(f"Use {word.upper()} x") != f"use {word.upper()} x"
        for word, loud in zip(words, which, strict=True)
    ]
    loud = louder(text, which) + end

    assert folded(loud) == folded(text)
    assert numbered(loud) == numbered(text)


@given(texts)
def test_a_statement_has_the_number_of_what_counts_in_it(text):
    assert numbered(folded(text)) == numbered(normalise(text))


LONG = ("“", "« ", " ‘a", "'", '"', "`a ", "FOO ", "A ", "The ", "A-", "(", ")", "!", "-a ", "::")


@pytest.mark.parametrize("piece", LONG)
def test_however_odd_a_text_is_it_costs_no_more_than_its_length(piece):
    def seconds(chars):
        text = "Use tabs " + piece * (chars // len(piece))
        best = 9.0
        for _ in range(3):
            begun = time.process_time()
            folded(text)
            numbered(text)
            best = min(best, time.process_time() - begun)
        return best

    assert seconds(64_000) < 24 * max(seconds(8_000), 0.002)
