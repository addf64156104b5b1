"""How values of the model look in SQL: instants as Unix milliseconds, lists and maps as JSON."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
# `json.dumps` makes an encoder for each value that it does not write in its own way.
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def to_ms(at: datetime) -> int:
    """Return `at` as Unix milliseconds, rounded down.

    Raises:
        TypeError: `at` has no time zone.
    """
    return (at - _EPOCH) // _MILLISECOND


def from_ms(ms: int) -> datetime:
    """Return the instant of `ms` Unix milliseconds, aware, in UTC."""
    return _EPOCH + ms * _MILLISECOND


def to_ms_or_null(at: datetime | None) -> int | None:
    """Return `at` as Unix milliseconds; None stays None."""
    return None if at is None else to_ms(at)


def from_ms_or_null(ms: int | None) -> datetime | None:
    """Return the instant of `ms` Unix milliseconds; None stays None."""
    return None if ms is None else from_ms(ms)


def to_json(value: object) -> str:
    """Return `value` as compact JSON, for a column or for json_each.

    Raises:
        TypeError: something in `value` is not JSON-able.
    """
    return _ENCODE(value)


def json_list(values: Iterable[str]) -> str:
    """Return `values` as a JSON array, sorted, without repeats: what json_each takes."""
    return to_json(sorted(set(values)))
