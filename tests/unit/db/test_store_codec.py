"""Instants and lists on their way into SQL and back."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st
from store_samples import instants, texts

from yaadwatch.db import codec


@given(instants)
def test_an_instant_of_whole_milliseconds_comes_back_as_it_was(at):
    assert codec.from_ms(codec.to_ms(at)) == at


@given(st.datetimes(timezones=st.just(UTC)), st.integers(0, 999))
def test_what_is_finer_than_a_millisecond_is_cut_off_before_and_after_1970(at, microseconds):
    whole = at.replace(microsecond=at.microsecond // 1000 * 1000)

    assert codec.from_ms(codec.to_ms(whole + timedelta(microseconds=microseconds))) == whole


def test_another_time_zone_is_the_same_instant():
    noon = datetime(2026, 11, 21, 12, tzinfo=UTC)

    assert codec.to_ms(noon.astimezone(timezone(timedelta(hours=5)))) == codec.to_ms(noon)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(TypeError):
        codec.to_ms(datetime(2026, 11, 21))  # noqa: DTZ001


def test_no_instant_stays_none():
    assert codec.to_ms_or_null(None) is None
    assert codec.from_ms_or_null(None) is None


@given(st.lists(texts))
def test_a_list_for_sql_holds_each_value_once(values):
    assert json.loads(codec.json_list(iter(values))) == sorted(set(values))
