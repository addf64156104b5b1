"""Laws of fingerprints in every language: layout leaves no trace, and every token counts."""

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given
from marked_sources import MARKED

from yaadwatch.core.truth.definitions import State, define

each_language = pytest.mark.parametrize("marked", MARKED, ids=lambda one: one.path)
seeds = st.integers(min_value=0, max_value=2**32)


def fingerprints(marked, source):
    found = {name: define(source.encode(), marked.path, name) for name in marked.names}
    missing = [name for name, one in found.items() if one.state is not State.FOUND]
    assert missing == [], f"{missing}\n{source}"
    return {name: one.fingerprint for name, one in found.items()}


@each_language
@given(seed=seeds)
def test_laying_a_file_out_differently_changes_no_fingerprint(marked, seed):
    written = marked.written(random.Random(seed))

    before, after = (fingerprints(marked, text) for text in (marked.plain(), written))
    assert {name for name in before if before[name] != after[name]} == set(), written


@pytest.mark.parametrize(
    ("marked", "edit", "changed"),
    [
        pytest.param(marked, number, names, id=f"{marked.path}-{number}")
        for marked in MARKED
        for number, names in marked.edits
    ],
)
def test_every_token_that_counts_changes_what_it_stands_in_and_nothing_else(marked, edit, changed):
    chance = random.Random(edit)
    text = marked.written(chance, edit)
    before = fingerprints(marked, marked.plain())

    after = {name: define(text.encode(), marked.path, name) for name in marked.names}
    assert {name for name in before if before[name] != after[name].fingerprint} == changed, text
