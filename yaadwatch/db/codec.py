"""Convert model values to SQL and back: instants as Unix milliseconds, lists and maps as JSON."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from enum import Enum
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
# `json.dumps` builds a new encoder per call unless all its options are defaults.
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
    """Return `values` as a sorted JSON array without duplicates, for json_each."""
    return to_json(sorted(set(values)))


_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_INSTANT: Final[_Codec] = (to_ms, from_ms)
_MAYBE_INSTANT: Final[_Codec] = (to_ms_or_null, from_ms_or_null)


class Record(Generic[T]):
    """Maps a dataclass to the columns of a table, and each field to SQL and back.

    Args:
        make: the dataclass.
        named: columns not named like their fields; by default an instant `x_at` is in
            `x_ms`, and any other instant `x` in `x_ms`.
        codecs: converters of other field types to SQL and back.
        but: fields without a column.
    """

    def __init__(
        self,
        make: type[T],
        named: Mapping[str, str] | None = None,
        *,
        codecs: Mapping[str, _Codec] | None = None,
        but: Iterable[str] = (),
    ) -> None:
        self._make = make
        types = get_type_hints(make)
        self._names = [one.name for one in fields(make) if one.name not in set(but)]  # type: ignore[arg-type]
        self._get = attrgetter(*self._names)
        own = codecs or {}
        kinds = [own.get(name) or _codec(types[name]) for name in self._names]
        self._to_sql = [(at, kind[0]) for at, kind in enumerate(kinds) if kind is not None]
        self._from_sql = [(at, kind[1]) for at, kind in enumerate(kinds) if kind is not None]
        self.names = [
            (named or {}).get(name)
            or (f"{name.removesuffix('_at')}_ms" if kind in (_INSTANT, _MAYBE_INSTANT) else name)
            for name, kind in zip(self._names, kinds, strict=True)
        ]
        """The names of the columns."""
        self.columns = ", ".join(self.names)
        """The same, as SQL lists them."""
        self.marks = ", ".join("?" for _ in self.names)
        """As many question marks."""

    def of(self, alias: str) -> str:
        """Return the column list for a table with an alias."""
        return ", ".join(f"{alias}.{name}" for name in self.names)

    def values(self, row: T) -> list[Any]:
        """Return the values of a row, in the order of the columns."""
        values = list(self._get(row))
        for at, as_sql in self._to_sql:
            values[at] = as_sql(values[at])
        return values

    def read(self, row: Iterable[Any]) -> T:
        """Return the row that has these values, in the order of the columns."""
        values = list(row)
        for at, from_sql in self._from_sql:
            values[at] = from_sql(values[at])
        return self._make(**dict(zip(self._names, values, strict=True)))


def _codec(type_: Any) -> _Codec | None:
    """Return the converters of a type to SQL and back; None for plain values."""
    if type_ is datetime:
        return _INSTANT
    if type_ is bool:
        return int, bool
    if type_ is Path:
        return str, Path
    if isinstance(type_, type) and issubclass(type_, Enum):
        return attrgetter("value"), type_
    kind = get_origin(type_)
    if kind is UnionType and datetime in get_args(type_):
        return _MAYBE_INSTANT
    if kind is tuple:
        return (
            lambda found: to_json(found) if found else "[]",
            lambda text: () if text == "[]" else tuple(json.loads(text)),
        )
    if kind is Mapping:
        return (
            lambda found: to_json(dict(found)) if found else "{}",
            lambda text: {} if text == "{}" else json.loads(text),
        )
    return None
