import re
import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.text.words import (
    SUMMARY_CHARS_MAX,
    case_parts,
    estimate_tokens,
    normalise,
    subtokens,
    summarise,
    text_hash,
)

words = st.text("abcdefgXYZ0123-_`'", min_size=1, max_size=12)
sentences = st.lists(words, min_size=1, max_size=40).map(" ".join)
texts = st.one_of(
    st.text(),
    sentences,
    st.lists(sentences, min_size=1, max_size=4).map(". ".join),
    st.lists(sentences, min_size=1, max_size=4).map("\n- ".join),
)
spaces = st.text(" \t\n\u00a0", min_size=1, max_size=3)


@given(texts)
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(st.lists(st.text("abcXYZ_", min_size=1), min_size=1, max_size=8), st.data())
def test_white_space_markers_and_the_full_stop_make_no_difference(parts, data):
    gaps = [data.draw(spaces) for _ in parts[1:]]
    marker = data.draw(st.sampled_from(["", "- ", "* ", "+ ", "1. ", "12) ", "  -  "]))
    stop = data.draw(st.sampled_from(["", ".", "...", "\n", ".\n"]))
    rest = "".join(gap + part for part, gap in zip(parts[1:], gaps, strict=True))

    assert text_hash(marker + parts[0] + rest + stop) == text_hash(" ".join(parts))


ends = st.lists(st.sampled_from([".", " ", "/", "\n", "a", "- "]), max_size=9).map("".join)


@given(st.tuples(st.one_of(texts, st.just("")), ends).map("".join))
def test_normalising_a_text_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(texts)
def test_composed_and_decomposed_letters_are_the_same_text(text):
    assert text_hash(unicodedata.normalize("NFD", text)) == text_hash(text)


@given(texts, texts)
def test_the_hash_is_the_hash_of_the_normal_form(one, other):
    assert (text_hash(one) == text_hash(other)) == (normalise(one) == normalise(other))


@given(texts)
def test_a_summary_is_one_line_of_at_most_160_characters(text):
    summary = summarise(text)

    assert len(summary) <= SUMMARY_CHARS_MAX
    assert len(summary.splitlines()) <= 1
    assert bool(summary) or not normalise(text).strip("#-*+• 0123456789).")


@given(st.one_of(sentences, st.lists(sentences, min_size=1).map("\n- ".join)))
def test_a_summary_cuts_no_word(text):
    said = set(text.split())

    assert set(summarise(text).removesuffix("…").split()) <= said


@given(texts)
def test_a_summary_of_a_short_summary_is_itself(text):
    summary = summarise(text)

    assert summarise(summary) == summary or summary.endswith("…")


@given(st.text())
def test_the_parts_of_a_word_are_the_word(word):
    joined = "".join(case_parts(word))

    assert joined.casefold() == "".join(filter(str.isalnum, word)).casefold()


@given(texts)
def test_every_word_of_several_parts_has_its_parts_among_the_subtokens(text):
    words = dict.fromkeys(re.findall(r"[^\W_]+", text))
    parts = [case_parts(word) for word in words]

    assert subtokens(text) == " ".join(" ".join(several) for several in parts if len(several) > 1)


@given(texts)
def test_subtokens_are_lower_case_words_of_the_text(text):
    for part in subtokens(text).split():
        assert part == part.lower()
        assert part in text.lower()


@given(texts, texts)
def test_tokens_grow_with_the_text(one, other):
    both = estimate_tokens(f"{one} {other}")

    assert estimate_tokens(one) <= both
    assert both <= estimate_tokens(one) + estimate_tokens(other) + 1


@given(texts)
def test_every_word_costs_a_token_and_no_byte_more_than_two(text):
    tokens = estimate_tokens(text)

    assert tokens >= len([word for word in text.split() if word.isalnum()])
    assert tokens <= 2 * len(text.encode("utf-8", "surrogatepass"))
