"""Laws of fingerprints in every language: layout leaves no trace, and every token counts."""

import random
import re

import hypothesis.strategies as st
import pytest
from hypothesis import example, given, settings
from marked_sources import MARKED

from yaadwatch.anchors.definitions import State, define, names

each_language = pytest.mark.parametrize("marked", MARKED, ids=lambda one: one.path)
some_examples = settings(max_examples=settings.default.max_examples // 3)
"""Of one language; there are many."""
seeds = st.integers(min_value=0, max_value=2**32)


def fingerprints(marked, source):
    found = {name: define(source.encode(), marked.path, name) for name in marked.names}
    missing = [name for name, one in found.items() if one.state is not State.FOUND]
    assert missing == [], f"{missing}\n{source}"
    return {name: one.fingerprint for name, one in found.items()}


@each_language
@some_examples
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


odd = st.sampled_from(
    ["$", "#", "_", "''", '"', "`", "::", ".", "<", ">", "é", "\0", "\ud800", "\n"]
)
shreds = st.lists(st.tuples(st.integers(min_value=0, max_value=2**16), odd), max_size=12)


@each_language
@some_examples
@given(shreds=shreds)
@example(shreds=[(number, "$") for number in range(12)])
def test_what_somebody_wrote_never_raises(marked, shreds):
    """Each word of a file, and what stands between two, may be anything."""
    pieces = re.findall(r"\w+|\s+|[^\w\s]", marked.plain())
    for number, put in shreds:
        pieces[number % len(pieces)] = put
    for number, name in enumerate(pieces):
        # A name that is a sigil alone.
        if name in marked.names and shreds and number % 3 == 0:
            pieces[number] = shreds[0][1]
    source = "".join(pieces).encode("utf-8", "replace")

    for name in (*marked.names[:2], *(put for _, put in shreds[:2])):
        found = define(source, marked.path, name)
        assert (found.state is State.FOUND) == bool(found.fingerprint)
    assert all(1 <= one.line <= one.end_line for one in names(source, marked.path))
