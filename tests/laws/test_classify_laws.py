import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.model.memories import KINDS, canonical_kind, tier_of
from yaadwatch.remember import classify as remember_classify
from yaadwatch.remember.classify import classify

phrases = st.sampled_from(
    [
        "never",
        "always",
        "we decided",
        "use jose",
        "instead of",
        "run `make test`",
        "TODO",
        "needs to",
        "fails when",
        "fixed by",
        "must",
        "returns",
        "I prefer",
        "the parser",
        "in src/net.py",
        ":",
        ".",
        "`",
        "\n",
    ]
)
texts = st.one_of(st.text(), st.lists(phrases, max_size=12).map(" ".join))
headings = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from(["Commands", "Style", "Known issues", "API"])),
    max_size=3,
)
kinds = st.one_of(
    st.sampled_from(KINDS), st.from_regex(r"[a-z][a-z0-9-]{0,30}[a-z]", fullmatch=True)
)


@given(texts, headings)
def test_every_text_has_a_known_kind_the_tier_of_that_kind_and_a_reason(text, under):
    found = classify(text, headings=under)

    assert found.kind in KINDS
    assert found.tier == tier_of(found.kind)
    assert found.why.startswith(found.kind)


@given(texts, headings, kinds, st.one_of(st.none(), st.integers(1, 3)))
def test_what_the_caller_says_always_wins(text, under, kind, tier):
    found = classify(text, headings=under, kind=kind, tier=tier)

    assert found.kind == canonical_kind(kind)
    assert found.tier == (tier or tier_of(found.kind))
    assert "given" in found.why


@given(texts, headings, st.integers(1, 3))
def test_a_given_tier_changes_no_kind(text, under, tier):
    assert classify(text, headings=under, tier=tier).kind == classify(text, headings=under).kind


@given(texts, headings, st.sampled_from(["- ", "* ", "1. ", "  "]))
def test_a_list_marker_changes_nothing(text, under, marker):
    assert classify(marker + text, headings=under) == classify(text, headings=under)


@given(texts, st.one_of(st.integers(max_value=0), st.integers(min_value=4)))
def test_a_tier_that_does_not_exist_is_refused(text, tier):
    with pytest.raises(ValueError, match="tier must be 1, 2 or 3"):
        classify(text, tier=tier)


@given(texts)
def test_a_cue_that_begins_with_the_beginning_stands_nowhere_else(text):
    for _, _, pattern in (
        *remember_classify._PLAIN,
        *remember_classify._HEADINGS,
        *remember_classify._FAINT,
    ):
        cue = re.compile(pattern, re.IGNORECASE | re.VERBOSE)
        if pattern.startswith("^"):
            found, first = cue.search(text), cue.match(text)
            assert (found and found.span()) == (first and first.span())
