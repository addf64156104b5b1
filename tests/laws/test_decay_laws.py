from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.memory.impact import (
    SANE_FROM,
    Facts,
    boosted,
    confidence,
    effective_confidence,
    too_many,
)

confidences = st.floats(min_value=0.0, max_value=1.0)
ages = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650))
half_lives = st.timedeltas(min_value=timedelta(hours=1), max_value=timedelta(days=365))
moments = st.timedeltas(timedelta(0), timedelta(days=36_500)).map(
    lambda since: datetime(2005, 1, 1, tzinfo=UTC) + since
)
facts = st.builds(
    Facts, orphan=st.booleans(), superseded=st.booleans(), pinned=st.booleans(), said=st.booleans()
)


@given(confidences, ages, ages, half_lives)
def test_decaying_in_two_steps_equals_decaying_once(stated, first, second, half_life):
    """Nothing depends on how often the nightly job ran."""
    once = effective_confidence(stated, first + second, half_life=half_life)
    halfway = effective_confidence(stated, first, half_life=half_life)
    twice = effective_confidence(halfway, second, half_life=half_life)

    assert twice == pytest.approx(once)


@given(confidences, ages, ages, half_lives)
def test_older_is_never_more_certain(stated, one_age, other_age, half_life):
    young, old = sorted((one_age, other_age))

    assert effective_confidence(stated, old, half_life=half_life) <= effective_confidence(
        stated, young, half_life=half_life
    )


@given(confidences, half_lives)
def test_after_its_half_life_half_is_left(stated, half_life):
    assert effective_confidence(stated, half_life, half_life=half_life) == pytest.approx(stated / 2)


@given(confidences, moments, moments, half_lives, facts)
def test_confidence_never_leaves_0_to_1_and_never_exceeds_what_was_stated(
    stated, confirmed_at, now, half_life, facts
):
    left = confidence(stated, confirmed_at, now, half_life=half_life, facts=facts)

    assert 0.0 <= left <= stated


@given(confidences, moments, ages, half_lives, facts)
def test_a_clock_that_went_back_takes_nothing_away(stated, now, ahead, half_life, facts):
    assert confidence(stated, now + ahead, now, half_life=half_life, facts=facts) == stated


@given(confidences, moments, ages, half_lives, facts)
def test_what_is_pinned_or_still_said_does_not_age(stated, confirmed_at, age, half_life, facts):
    left = confidence(stated, confirmed_at, confirmed_at + age, half_life=half_life, facts=facts)

    if facts.pinned or facts.said:
        assert left == stated
    else:
        assert left <= effective_confidence(stated, age, half_life=half_life)


@given(confidences, moments, ages, half_lives, st.booleans())
def test_orphans_and_superseded_memories_age_twice_as_fast_and_never_faster(
    stated, confirmed_at, age, half_life, superseded
):
    now = confirmed_at + age
    hasty = Facts(orphan=True, superseded=superseded)

    left = confidence(stated, confirmed_at, now, half_life=half_life, facts=hasty)

    assert left == pytest.approx(effective_confidence(stated, 2 * age, half_life=half_life))


@given(confidences, moments, ages, ages, half_lives, facts)
def test_a_recall_never_lowers_and_never_makes_surer_than_sure(
    stated, confirmed_at, first, second, half_life, facts
):
    recalled_at = confirmed_at + first
    left = confidence(stated, confirmed_at, recalled_at, half_life=half_life, facts=facts)
    after = boosted(left, 0.2)

    assert left <= after <= 1.0
    later = recalled_at + second
    assert (
        confidence(
            after, confirmed_at, later, half_life=half_life, facts=facts, accessed_at=recalled_at
        )
        >= (confidence(left, recalled_at, later, half_life=half_life, facts=facts)) - 1e-9
    )


@given(confidences, half_lives, facts, moments)
def test_without_a_sane_time_nothing_has_an_age(stated, half_life, facts, now):
    for absurd in (datetime(1970, 1, 1, tzinfo=UTC), SANE_FROM - timedelta(seconds=1)):
        assert (
            confidence(stated, absurd, now, half_life=half_life, facts=facts, accessed_at=absurd)
            == stated
        )


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_a_few_or_a_part_are_never_too_many_and_all_of_many_are(fading, more):
    living = fading + more

    assert too_many(fading, living) == (fading > 20 and 2 * fading > living)
