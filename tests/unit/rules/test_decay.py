from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch.memory.impact import confidence

MARCH = datetime(2026, 3, 1, tzinfo=UTC)
MONTH = timedelta(days=30)


@pytest.mark.parametrize("stated", [-0.1, 1.1, float("nan")])
def test_a_confidence_outside_0_to_1_is_refused(stated):
    with pytest.raises(ValueError, match="stated must be within"):
        confidence(stated, MARCH, MARCH, half_life=MONTH)


@pytest.mark.parametrize("half_life", [timedelta(0), -MONTH])
def test_a_half_life_that_is_not_positive_is_refused(half_life):
    with pytest.raises(ValueError, match="half_life must be positive"):
        confidence(1.0, MARCH, MARCH, half_life=half_life)
