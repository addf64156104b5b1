from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import yaadwatch.db
from yaadwatch.model.settings import Settings
from yaadwatch.recall.fitting import Item, fit
from yaadwatch.recall.rank import (
    MILD,
    Candidate,
    is_exact,
    mild_factor,
    rank,
    worth_ranking,
)
from yaadwatch.text import words as text_words
from yaadwatch.text.words import STOP_WORDS, estimate_tokens, match_expression, normalise, subtokens

NOW = datetime(2026, 11, 21, tzinfo=UTC)
MONTH = timedelta(days=30)
SCHEMA = Path(yaadwatch.db.__file__).parent / "schema" / "0001-store.sql"

identifiers = st.from_regex(r"[a-z]{2,8}([A-Z][a-z]{2,6}){0,2}(_[a-z]{2,5})?", fullmatch=True)
words = st.one_of(identifiers, st.text(min_size=1, max_size=8), st.sampled_from(sorted(STOP_WORDS)))
queries = st.one_of(
    st.text(max_size=60),
    st.lists(words, max_size=12).map(" ".join),
    st.lists(words, max_size=4).map('say "{}" and'.format),
    st.sampled_from(
        ["NEAR(a b)", "a AND NOT b", "text : b", "a*", "^a", '"', '""', "a + b", "{a b}: c"]
    ),
)
unquoted = st.one_of(
    st.text(st.characters(max_codepoint=127, exclude_characters='"'), max_size=60),
    st.lists(st.one_of(identifiers, st.sampled_from(sorted(STOP_WORDS))), max_size=12).map(
        " ".join
    ),
)


@pytest.fixture(scope="module")
def index():
    conn = apsw.Connection(":memory:")
    conn.execute(SCHEMA.read_text(encoding="utf-8"))
    return conn


def search(conn, expression):
    rows = conn.execute("SELECT rowid FROM nodes_fts WHERE nodes_fts MATCH ?", (expression,))
    return [row[0] for row in rows]


@given(query=queries)
def test_any_question_becomes_a_valid_expression_or_none(index, query):
    expression = match_expression(query)

    assert expression is None or len(search(index, expression)) <= 1
    assert (expression is None) == (not any(char.isalnum() for char in query))


@given(query=st.lists(identifiers, min_size=1, max_size=6).map(" ".join), data=st.data())
def test_a_text_is_found_by_each_of_its_words(index, query, data):
    text = f"Keep {query} here"
    word = data.draw(st.sampled_from(query.split()))
    with index:
        index.execute("DELETE FROM nodes_fts")
        index.execute(
            "INSERT INTO nodes_fts (rowid, text, sub, tags) VALUES (1, ?, ?, '')",
            (text, subtokens(text)),
        )

    assert search(index, match_expression(word)) == [1]
    assert search(index, match_expression(query)) == [1]


letters = st.one_of(
    st.characters(min_codepoint=0x4E00, max_codepoint=0x9FCC),
    st.characters(min_codepoint=0x3041, max_codepoint=0x3096),
    st.characters(min_codepoint=0x30A1, max_codepoint=0x30FA),
    st.characters(min_codepoint=0xAC00, max_codepoint=0xD7A3),
    st.sampled_from("ー々〇𠮷𪚲ㄅ豈ｱﾊﾟ"),
)
beside = st.sampled_from(["", " ", "JWT", "30", "（", "。", "café", "v2."])


@given(st.lists(st.tuples(st.text(letters, min_size=1, max_size=9), beside), max_size=5), st.data())
def test_a_text_without_spaces_is_found_by_every_part_of_it(index, said, data):
    text = "".join(part + more for part, more in said) + "接続"
    stretch = data.draw(st.sampled_from([part for part, _ in said] + ["接続"]))
    start = data.draw(st.integers(0, len(stretch) - 1))
    part = stretch[start : data.draw(st.integers(start + 1, len(stretch)))]
    assume(part[0] != "ﾟ")
    with index:
        index.execute("DELETE FROM nodes_fts")
        index.execute(
            "INSERT INTO nodes_fts (rowid, text, sub, tags) VALUES (1, ?, '', '')",
            (text_words.spaced(text),),
        )

    assert search(index, match_expression(part)) == [1]
    assert search(index, match_expression(f'"{part}"')) == [1]


@given(st.text(), st.text(letters))
def test_letters_are_indexed_alike_however_often_they_were_set_apart(text, more):
    once = text_words.spaced(text + more)

    assert text_words.spaced(once).split() == once.split()
    assert text_words.letters(once) == text_words.letters(text + more)


@given(st.text(st.characters(max_codepoint=0x10FF)))
def test_other_texts_are_indexed_as_they_are(text):
    assert text_words.spaced(text) == text_words.apart(text) == text


@given(unquoted)
def test_asking_louder_or_twice_is_asking_the_same(query):
    assert match_expression(f"{query} {query}") == match_expression(query)


@st.composite
def candidates(draw, **fixed):
    return Candidate(
        **{
            "id": str(draw(st.integers(0, 10**9))),
            "relevance": draw(st.floats(0.01, 1.0)),
            "confidence": draw(st.floats(0.0, 1.0)),
            "updated_at": NOW - draw(st.timedeltas(-MONTH, 50 * MONTH)),
            "tier": draw(st.integers(1, 3)),
            "pinned": draw(st.booleans()),
            "exact": draw(st.booleans()),
            **fixed,
        }
    )


counts = st.integers(1, 12)
found = st.lists(candidates(), max_size=12, unique_by=lambda candidate: candidate.id)


def ranking(given_candidates):
    return rank(given_candidates, now=NOW, settings=Settings())


@given(found)
def test_ranking_loses_nobody_and_the_best_has_one(given_candidates):
    ranked = ranking(given_candidates)

    assert sorted(each.candidate.id for each in ranked) == sorted(c.id for c in given_candidates)
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert not scores or scores[0] == 1.0


@given(found)
def test_everything_exact_comes_before_everything_else(given_candidates):
    order = [each.candidate.exact for each in ranking(given_candidates)]

    assert order == sorted(order, reverse=True)


@given(found)
def test_the_mild_factors_never_overturn_a_clear_difference_in_relevance(given_candidates):
    ranked = [each.candidate for each in ranking(given_candidates)]

    for place, above in enumerate(ranked):
        for below in ranked[place + 1 :]:
            if above.exact == below.exact and not above.exact:
                most = (1 + MILD) / (1 - MILD)
                assert below.relevance <= above.relevance * most * 1.000001


@given(candidates())
def test_the_mild_factors_stay_within_a_tenth(candidate):
    factor = mild_factor(candidate, now=NOW, half_life=MONTH)

    assert MILD <= 0.1
    assert 1 - MILD - 1e-9 <= factor <= 1 + MILD + 1e-9


@given(candidates(exact=False), st.floats(0.0, 1.0), st.integers(0, 400))
def test_among_equals_the_surer_newer_hotter_pinned_one_is_first(candidate, confidence, days):
    assume(confidence + 1e-9 < candidate.confidence and candidate.updated_at <= NOW)
    lesser = Candidate(
        id="lesser",
        relevance=candidate.relevance,
        confidence=confidence,
        updated_at=candidate.updated_at - timedelta(days=days),
        tier=3,
        pinned=False,
    )

    assert ranking([lesser, candidate])[0].candidate is candidate


@given(found)
def test_ranking_does_not_depend_on_the_order_of_unequal_candidates(given_candidates):
    scores = {each.candidate.id: each.score for each in ranking(given_candidates)}

    assert {each.candidate.id: each.score for each in ranking(given_candidates[::-1])} == scores


@given(st.lists(candidates(exact=False), max_size=12, unique_by=lambda each: each.id), counts)
def test_who_is_not_worth_ranking_is_never_among_the_best(given_candidates, count):
    worth = worth_ranking({each.id: each.relevance for each in given_candidates}, count)
    best = ranking(given_candidates)[:count]

    assert {each.candidate.id for each in best} <= set(worth)


@given(st.text(min_size=1))
def test_a_text_is_the_exact_answer_to_itself(text):
    assume(normalise(text.strip("`'\" ")) == normalise(text) != "")

    assert is_exact(text, text=text)


items = st.lists(
    st.builds(
        lambda number, text, summary: Item(id=str(number), text=text, summary=summary),
        st.integers(0, 10**9),
        st.text("abc de.\n", max_size=400).map("x{}".format),
        st.text("abc de.", max_size=60).map("x{}".format),
    ),
    max_size=10,
)
budgets = st.integers(0, 400)


@given(items, budgets)
def test_the_best_is_always_shown_and_the_order_is_kept(wanted, tokens_max):
    shown = [each.id for each in fit(wanted, tokens_max).items]

    assert shown[:1] == [item.id for item in wanted[:1]]
    rest = iter(item.id for item in wanted)
    assert all(any(each == other for other in rest) for each in shown)


@given(items, budgets)
def test_nothing_is_cut(wanted, tokens_max):
    texts = {(item.id, "full", item.text) for item in wanted}
    summaries = {(item.id, "summary", item.summary) for item in wanted}

    for each in fit(wanted, tokens_max).items:
        assert (each.id, each.depth, each.text) in texts | summaries
        assert each.tokens == estimate_tokens(each.text)


@given(items, budgets)
def test_only_the_summary_of_the_best_may_go_over_the_budget(wanted, tokens_max):
    fitted = fit(wanted, tokens_max)

    assert fitted.used == sum(each.tokens for each in fitted.items)
    assert fitted.left == max(0, tokens_max - fitted.used)
    if fitted.used > tokens_max:
        assert [each.depth for each in fitted.items] == ["summary"]


@given(items, budgets)
def test_what_is_left_out_would_not_have_fitted(wanted, tokens_max):
    fitted = fit(wanted, tokens_max)
    shown = {each.id for each in fitted.items}

    for item in wanted:
        if item.id not in shown:
            assert min(estimate_tokens(item.text), estimate_tokens(item.summary)) > fitted.left
