from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.memory.impact import SANE_FROM, boosted, confidence, too_many

NOW = datetime(2026, 11, 21, tzinfo=UTC)
confidences = st.floats(min_value=0.0, max_value=1.0)
ages = st.timedeltas(min_value=timedelta(0), max_value=timedelta(days=3650))
half_lives = st.timedeltas(min_value=timedelta(hours=1), max_value=timedelta(days=365))
moments = st.timedeltas(timedelta(0), timedelta(days=36_500)).map(
    lambda since: datetime(2005, 1, 1, tzinfo=UTC) + since
)
facts = st.fixed_dictionaries({"ages": st.booleans(), "hasty": st.booleans()})


def aged(stated, age, half_life, **facts):
    return confidence(stated, NOW - age, NOW, half_life=half_life, **facts)


@given(confidences, ages, ages, half_lives)
def test_decaying_in_two_steps_equals_decaying_once(stated, first, second, half_life):
    """Nothing depends on how often the nightly job ran."""
    once = aged(stated, first + second, half_life)
    halfway = aged(stated, first, half_life)
    twice = aged(halfway, second, half_life)

    assert twice == pytest.approx(once)


@given(confidences, ages, ages, half_lives)
def test_older_is_never_more_certain(stated, one_age, other_age, half_life):
    young, old = sorted((one_age, other_age))

    assert aged(stated, old, half_life) <= aged(stated, young, half_life)


@given(confidences, half_lives)
def test_after_its_half_life_half_is_left(stated, half_life):
    assert aged(stated, half_life, half_life) == pytest.approx(stated / 2)


@given(confidences, moments, moments, half_lives, facts)
def test_confidence_never_leaves_0_to_1_and_never_exceeds_what_was_stated(
    stated, confirmed_at, now, half_life, facts
):
    left = confidence(stated, confirmed_at, now, half_life=half_life, **facts)

    assert 0.0 <= left <= stated


@given(confidences, moments, ages, half_lives, facts)
def test_a_clock_that_went_back_takes_nothing_away(stated, now, ahead, half_life, facts):
    assert confidence(stated, now + ahead, now, half_life=half_life, **facts) == stated


@given(confidences, moments, ages, half_lives, facts)
def test_what_is_pinned_or_still_said_does_not_age(stated, confirmed_at, age, half_life, facts):
    left = confidence(stated, confirmed_at, confirmed_at + age, half_life=half_life, **facts)

    if not facts["ages"]:
        assert left == stated
    else:
        assert left <= aged(stated, age, half_life)


@given(confidences, ages, half_lives)
def test_orphans_and_superseded_memories_age_twice_as_fast(stated, age, half_life):
    left = aged(stated, age, half_life, hasty=True)

    assert left == pytest.approx(aged(stated, 2 * age, half_life))


@given(confidences, moments, ages, ages, half_lives, facts)
def test_a_recall_never_lowers_and_never_makes_surer_than_sure(
    stated, confirmed_at, first, second, half_life, facts
):
    recalled_at = confirmed_at + first
    left = confidence(stated, confirmed_at, recalled_at, half_life=half_life, **facts)
    after = boosted(left, 0.2)

    assert left <= after <= 1.0
    later = recalled_at + second
    assert (
        confidence(
            after, confirmed_at, later, half_life=half_life, **facts, accessed_at=recalled_at
        )
        >= (confidence(left, recalled_at, later, half_life=half_life, **facts)) - 1e-9
    )


@given(confidences, half_lives, facts, moments)
def test_without_a_sane_time_nothing_has_an_age(stated, half_life, facts, now):
    for absurd in (datetime(1970, 1, 1, tzinfo=UTC), SANE_FROM - timedelta(seconds=1)):
        assert (
            confidence(stated, absurd, now, half_life=half_life, **facts, accessed_at=absurd)
            == stated
        )


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_a_few_or_a_part_are_never_too_many_and_all_of_many_are(fading, more):
    living = fading + more

    assert too_many(fading, living) == (fading > 20 and 2 * fading > living)
