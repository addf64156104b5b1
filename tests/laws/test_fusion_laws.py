"""Two lists become one; relations add a little; two stores become one answer; filters commute."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_recall_laws import NOW, candidates

from yaadwatch.model.queries import BLEND, MERGES, RRF
from yaadwatch.model.settings import Settings
from yaadwatch.recall import rank as recall_rank
from yaadwatch.recall.gathering import TABLE, synonyms
from yaadwatch.recall.rank import (
    BOOST_MAX,
    INTENTS,
    MILD,
    USED_MOST,
    Answers,
    Link,
    edge_weight,
    intent_of,
    merge_stores,
    rank,
)

names = st.sampled_from("abcdefgh")
# In steps, so that what differs differs by more than floats lose.
words = st.dictionaries(names, st.integers(1, 400).map(lambda step: step / 8), max_size=8)
meaning = st.dictionaries(names, st.integers(-100, 100).map(lambda step: step / 100), max_size=8)
weights = st.integers(0, 20).map(lambda step: step / 20)
each_merge = pytest.mark.parametrize("how", MERGES)


def merge(how, by_words, by_meaning, weight):
    return recall_rank.merge(how, by_words, by_meaning, semantic_weight=weight)


@each_merge
@given(words, meaning, weights)
def test_everything_found_has_a_score_from_nothing_to_one_and_the_best_has_one(
    how, by_words, by_meaning, weight
):
    found = merge(how, by_words, by_meaning, weight)

    assert found.keys() == (by_words.keys() | by_meaning.keys() if weight else by_words.keys())
    assert all(0.0 <= score <= 1.0 for score in found.values())
    assert not found or max(found.values()) == pytest.approx(1.0)


@each_merge
@given(words, meaning, weights)
def test_who_is_as_good_in_both_lists_is_as_good_in_the_result(how, by_words, by_meaning, weight):
    found = merge(how, by_words, by_meaning, weight)

    for one in found:
        for other in found:
            if all(
                other not in scores or (one in scores and scores[one] >= scores[other])
                for scores in (by_words, by_meaning)
            ):
                assert found[one] >= found[other] - 1e-9


@each_merge
@given(words, meaning, weights, st.sampled_from([0.25, 4.0, 1024.0]))
def test_larger_numbers_do_not_make_a_list_count_more(how, by_words, by_meaning, weight, factor):
    found = merge(how, by_words, by_meaning, weight)
    scaled = merge(
        how, {name: score * factor for name, score in by_words.items()}, by_meaning, weight
    )

    assert scaled == pytest.approx(found)


@pytest.mark.parametrize("how", [BLEND, RRF])
@given(words, meaning)
def test_without_weight_or_without_vectors_the_words_decide_alone(how, by_words, by_meaning):
    assert merge(how, by_words, by_meaning, 0.0) == recall_rank.share_of_best(by_words)
    assert merge(how, by_words, {}, 0.5) == recall_rank.share_of_best(by_words)


@given(words, meaning, st.sets(names, max_size=3))
def test_who_has_the_very_word_is_ahead_of_every_look_alike_that_says_less(
    by_words, by_meaning, holders
):
    scores = merge(BLEND, by_words, by_meaning, 0.5)
    holders &= by_words.keys()

    found = recall_rank.led(scores, by_words, holders)

    assert found.keys() == scores.keys()
    assert all(0.0 <= score <= 1.0 for score in found.values())
    others = [name for name in scores if name not in holders]
    for one in holders:
        for other in others:
            if by_words[one] >= recall_rank.CLEARLY * by_words.get(other, 0.0):
                assert found[one] >= recall_rank.CLEARLY * found[other] - 1e-9
    for one in others:
        for other in others:
            assert scores[one] < scores[other] or found[one] >= found[other]


@given(words, meaning)
def test_where_no_word_is_rare_nobody_is_led(by_words, by_meaning):
    scores = merge(BLEND, by_words, by_meaning, 0.5)

    assert recall_rank.led(scores, by_words, ()) == scores


def test_no_mild_factor_makes_up_for_what_is_clear():
    most = (1 + MILD) * (1 + USED_MOST) / (1 - MILD)

    assert most <= recall_rank.CLEARLY


@given(meaning, st.integers(1, 20).map(lambda step: step / 40))
def test_who_alone_holds_the_words_stands_out(by_meaning, weight):
    assume(len(by_meaning) >= 5)
    alone = {"alone": 1.0}

    found = recall_rank.merge("blend", alone, by_meaning, semantic_weight=weight, whole=True)

    best = max(by_meaning.values())
    assert found.keys() == by_meaning.keys() | alone.keys()
    if best - min(by_meaning.values()) < 1e-9 or weight <= 0.25:
        assert max(found, key=found.__getitem__) == "alone"


@each_merge
@given(words, meaning, weights)
def test_a_whole_list_keeps_who_is_as_good_in_both(how, by_words, by_meaning, weight):
    found = recall_rank.merge(how, by_words, by_meaning, semantic_weight=weight, whole=True)

    for one in by_words.keys() & by_meaning.keys():
        for other in by_words.keys() & by_meaning.keys():
            if by_words[one] >= by_words[other] and by_meaning[one] >= by_meaning[other]:
                assert found[one] >= found[other] - 1e-9


def test_another_merge_is_refused():
    with pytest.raises(ValueError, match="must be one of blend, rrf, set-union"):
        merge("sum", {"a": 1.0}, {"b": 1.0}, 0.5)


links = st.lists(
    st.builds(
        lambda one, other, kind, weight: Link(one=one, other=other, kind=kind, weight=weight),
        names,
        names,
        st.sampled_from(["led_to", "caused_by", "touches", "depends_on", "my_own"]),
        st.floats(0.0, 5.0),
    ),
    max_size=12,
)
intents = st.sampled_from(INTENTS)


@given(words, links, intents)
def test_relations_add_nobody_and_a_tenth_at_most(scores, related, intent):
    boosted = recall_rank.boosted(scores, related, intent=intent)

    assert boosted.keys() == scores.keys()
    for name, score in scores.items():
        assert score <= boosted[name] <= score * (1 + BOOST_MAX) * (1 + 1e-9)


@given(words, links, links, intents)
def test_more_relations_never_lower_a_score(scores, related, more, intent):
    some = recall_rank.boosted(scores, related, intent=intent)
    all_of_them = recall_rank.boosted(scores, [*related, *more], intent=intent)

    assert all(all_of_them[name] >= some[name] for name in scores)


@given(st.text(max_size=60), st.sampled_from(["led_to", "touches", "my_own"]))
def test_every_question_wants_something_and_every_edge_leads_somewhere(question, kind):
    assert 0.0 < edge_weight(intent_of(question), kind) <= 1.0


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("Why do we pin jose?", "why"),
        ("what is the reason for the lock", "why"),
        ("When did we move to pnpm", "when"),
        ("since which release is that so", "when"),
        ("how do I run one test", "how"),
        ("Who owns the payment module", "who"),
        ("the retry limit", "what"),
        ("show me everything", "what"),
    ],
)
def test_a_question_says_what_it_wants(question, intent):
    assert intent_of(question) == intent


@given(st.lists(st.sampled_from(sorted(TABLE)), max_size=6).map(" ".join))
def test_a_synonym_is_no_word_of_the_question_and_comes_once(question):
    for word, found in synonyms(question).items():
        assert set(word.split()) <= set(question.split())
        assert len(set(found)) == len(found)
        assert not set(found) & set(question.split())


def test_synonyms_go_both_ways():
    pairs = {(name, other) for name in TABLE for other in TABLE[name]}

    assert pairs == {(other, name) for name, other in pairs}


answers = st.lists(candidates(), max_size=6, unique_by=lambda each: each.id).map(
    lambda found: rank(found, now=NOW, settings=Settings())
)


@given(answers, answers, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_two_stores_make_one_list_with_the_exact_in_front(near, far, one, other):
    assume(not {each.candidate.id for each in near} & {each.candidate.id for each in far})
    found = merge_stores([Answers(ranked=near, covered=one), Answers(ranked=far, covered=other)])

    assert sorted(each.candidate.id for each in found) == sorted(
        each.candidate.id for each in (*near, *far)
    )
    exact = [each.candidate.exact for each in found]
    assert exact == sorted(exact, reverse=True)
    assert all(0.0 <= each.score <= 1.0 for each in found)
    assert not found or max(each.score for each in found) == pytest.approx(1.0)


@given(answers, answers, st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_another_store_never_changes_the_order_of_one(near, far, one, other):
    assume(not {each.candidate.id for each in near} & {each.candidate.id for each in far})
    together = merge_stores([Answers(ranked=near, covered=one), Answers(ranked=far, covered=other)])
    alone = merge_stores([Answers(ranked=near, covered=one)])

    own = {each.candidate.id for each in near}
    assert [each.candidate.id for each in together if each.candidate.id in own] == [
        each.candidate.id for each in alone
    ]


@given(answers)
def test_what_is_shadowed_is_not_told(near):
    assume(near)
    shadowed = near[0].candidate.id
    found = merge_stores([Answers(ranked=near, covered=1.0)], shadowed={shadowed})

    assert len(found) == len(near) - 1
    assert shadowed not in {each.candidate.id for each in found}
