"""Two lists become one; relations add a little; two stores become one answer; filters commute."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from test_recall_laws import NOW, candidates

from yaadwatch.model.settings import Settings
from yaadwatch.recall import rank as recall_rank
from yaadwatch.recall.gathering import synonym_table, synonyms
from yaadwatch.recall.rank import (
    BOOST_MAX,
    MILD,
    Answers,
    merge_stores,
    rank,
)

names = st.sampled_from("abcdefgh")
# In steps, so that what differs differs by more than floats lose.
words = st.dictionaries(names, st.integers(1, 400).map(lambda step: step / 8), max_size=8)
meaning = st.dictionaries(names, st.integers(-100, 100).map(lambda step: step / 100), max_size=8)
weights = st.integers(0, 20).map(lambda step: step / 20)


def merge(by_words, by_meaning, weight):
    return recall_rank.merge(by_words, by_meaning, semantic_weight=weight)


@given(words, meaning, weights)
def test_everything_found_has_a_score_from_nothing_to_one_and_the_best_has_one(
    by_words, by_meaning, weight
):
    found = merge(by_words, by_meaning, weight)

    assert found.keys() == (by_words.keys() | by_meaning.keys() if weight else by_words.keys())
    assert all(0.0 <= score <= 1.0 for score in found.values())
    assert not found or max(found.values()) == pytest.approx(1.0)


@given(words, meaning, weights)
def test_who_is_as_good_in_both_lists_is_as_good_in_the_result(by_words, by_meaning, weight):
    found = merge(by_words, by_meaning, weight)

    for one in found:
        for other in found:
            if all(
                other not in scores or (one in scores and scores[one] >= scores[other])
                for scores in (by_words, by_meaning)
            ):
                assert found[one] >= found[other] - 1e-9


@given(words, meaning, weights, st.sampled_from([0.25, 4.0, 1024.0]))
def test_larger_numbers_do_not_make_a_list_count_more(by_words, by_meaning, weight, factor):
    found = merge(by_words, by_meaning, weight)
    scaled = merge({name: score * factor for name, score in by_words.items()}, by_meaning, weight)

    assert scaled == pytest.approx(found)


@given(words, meaning)
def test_without_weight_or_without_vectors_the_words_decide_alone(by_words, by_meaning):
    assert merge(by_words, by_meaning, 0.0) == recall_rank.share_of_best(by_words)
    assert merge(by_words, {}, 0.5) == recall_rank.share_of_best(by_words)


@given(words, meaning, st.sets(names, max_size=3))
def test_who_has_the_very_word_is_ahead_of_every_look_alike_that_says_less(
    by_words, by_meaning, holders
):
    scores = merge(by_words, by_meaning, 0.5)
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
    scores = merge(by_words, by_meaning, 0.5)

    assert recall_rank.led(scores, by_words, ()) == scores


def test_no_mild_factor_makes_up_for_what_is_clear():
    most = (1 + MILD) / (1 - MILD)

    assert most <= recall_rank.CLEARLY


@given(meaning, st.integers(1, 20).map(lambda step: step / 40))
def test_who_alone_holds_the_words_stands_out(by_meaning, weight):
    assume(len(by_meaning) >= 5)
    alone = {"alone": 1.0}

    found = recall_rank.merge(alone, by_meaning, semantic_weight=weight, whole=True)

    best = max(by_meaning.values())
    assert found.keys() == by_meaning.keys() | alone.keys()
    if best - min(by_meaning.values()) < 1e-9 or weight <= 0.25:
        assert max(found, key=found.__getitem__) == "alone"


@given(words, meaning, weights)
def test_a_whole_list_keeps_who_is_as_good_in_both(by_words, by_meaning, weight):
    found = recall_rank.merge(by_words, by_meaning, semantic_weight=weight, whole=True)

    for one in by_words.keys() & by_meaning.keys():
        for other in by_words.keys() & by_meaning.keys():
            if by_words[one] >= by_words[other] and by_meaning[one] >= by_meaning[other]:
                assert found[one] >= found[other] - 1e-9


links = st.lists(st.tuples(names, names, st.floats(0.0, 5.0)), max_size=12)


@given(words, links)
def test_relations_add_nobody_and_a_tenth_at_most(scores, related):
    boosted = recall_rank.boosted(scores, related)

    assert boosted.keys() == scores.keys()
    for name, score in scores.items():
        assert score <= boosted[name] <= score * (1 + BOOST_MAX) * (1 + 1e-9)


@given(words, links, links)
def test_more_relations_never_lower_a_score(scores, related, more):
    some = recall_rank.boosted(scores, related)
    all_of_them = recall_rank.boosted(scores, [*related, *more])

    assert all(all_of_them[name] >= some[name] for name in scores)


@given(st.lists(st.sampled_from(sorted(synonym_table())), max_size=6).map(" ".join))
def test_a_synonym_is_no_word_of_the_question_and_comes_once(question):
    for word, found in synonyms(question).items():
        assert set(word.split()) <= set(question.split())
        assert len(set(found)) == len(found)
        assert not set(found) & set(question.split())


def test_synonyms_go_both_ways():
    pairs = {(name, other) for name, others in synonym_table().items() for other in others}

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
