from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch.memory.impact import Facts, confidence, effective_confidence

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


def test_a_memory_loses_half_in_its_half_life():
    assert confidence(1.0, MARCH, MARCH + MONTH, half_life=MONTH) == 0.5


def test_an_orphan_loses_three_quarters_in_the_same_time():
    orphan = Facts(orphan=True)

    assert confidence(1.0, MARCH, MARCH + MONTH, half_life=MONTH, facts=orphan) == 0.25


def test_an_orphan_that_is_superseded_too_ages_no_faster_than_an_orphan():
    both = Facts(orphan=True, superseded=True)

    assert confidence(1.0, MARCH, MARCH + MONTH, half_life=MONTH, facts=both) == 0.25


def test_a_pin_outweighs_being_superseded():
    pinned = Facts(superseded=True, pinned=True)

    assert confidence(0.8, MARCH, MARCH + 100 * MONTH, half_life=MONTH, facts=pinned) == 0.8


@pytest.mark.parametrize("stated", [-0.1, 1.1, float("nan")])
def test_a_confidence_outside_0_to_1_is_refused(stated):
    with pytest.raises(ValueError, match="stated must be within"):
        effective_confidence(stated, MONTH, half_life=MONTH)


@pytest.mark.parametrize("half_life", [timedelta(0), -MONTH])
def test_a_half_life_that_is_not_positive_is_refused(half_life):
    with pytest.raises(ValueError, match="half_life must be positive"):
        effective_confidence(1.0, MONTH, half_life=half_life)
