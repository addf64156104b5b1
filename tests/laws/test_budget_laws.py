"""The forecast of a store's size says when a budget is reached, and only if it is."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.db.checks import Size
from yaadwatch.workspace.lookup import FAR_DAYS, day_of, forecast

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
TODAY = day_of(NOW)
sizes = st.integers(0, 10**12)
budgets = st.integers(1, 10**12)
known = st.lists(st.tuples(st.integers(1, 30), sizes), unique_by=lambda one: one[0]).map(
    lambda rows: [
        Size(day=TODAY - back, bytes=size, memories=0) for back, size in sorted(rows, reverse=True)
    ]
)


@given(known, sizes, budgets)
def test_a_full_store_is_full_now_and_another_one_never_before_now(past, now_bytes, budget):
    found = forecast(past, now_bytes, budget, NOW)

    assert (found.reached_at == NOW) == (now_bytes >= budget) or found.bytes_a_day > 0
    if found.reached_at is not None:
        assert NOW <= found.reached_at <= NOW + timedelta(days=FAR_DAYS)


@given(known, sizes, budgets)
def test_a_store_that_does_not_grow_is_never_full(past, now_bytes, budget):
    found = forecast(past, now_bytes, budget, NOW)

    if found.bytes_a_day <= 0 and now_bytes < budget:
        assert found.reached_at is None


@given(known, sizes, budgets, st.integers(0, 10**9))
def test_a_larger_budget_is_never_reached_earlier(past, now_bytes, budget, more):
    small, large = (forecast(past, now_bytes, one, NOW) for one in (budget, budget + more))

    far = NOW + timedelta(days=FAR_DAYS + 1)
    assert (small.reached_at or far) <= (large.reached_at or far)


@given(sizes)
def test_a_store_of_one_day_has_no_growth_and_one_without_a_budget_no_end(now_bytes):
    assert forecast([], now_bytes, 10**13, NOW).reached_at is None
    assert forecast([], now_bytes, 0, NOW).reached_at is None
    assert forecast([], now_bytes, 0, NOW).bytes_a_day == 0


@given(st.integers(1, 30), st.integers(1, 10**6))
def test_what_grew_so_much_a_day_is_said_to(days, a_day):
    past = [Size(day=TODAY - days, bytes=0, memories=0)]

    found = forecast(past, days * a_day, 2 * days * a_day, NOW)

    assert found.bytes_a_day == a_day
    assert found.reached_at == NOW + timedelta(days=days)
