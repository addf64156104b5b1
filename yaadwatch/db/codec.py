"""Convert model values to SQL and back: instants as Unix milliseconds, lists and maps as JSON."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from enum import Enum
from operator import attrgetter
from pathlib import Path
from types import UnionType
from typing import Any, Final, Generic, TypeVar, get_args, get_origin, get_type_hints

from apsw import Connection

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


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
    """Return `value` as compact JSON, for a column or for json_each; instants as milliseconds.

    Raises:
        TypeError: something in `value` is not JSON-able.
    """
    return _ENCODER.encode(value)


# `json.dumps` builds a new encoder per call unless all its options are defaults.
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=to_ms)


def json_list(values: Iterable[Any]) -> str:
    """Return `values` as a sorted JSON array without duplicates, for json_each."""
    return to_json(sorted(set(values)))


Values = Sequence[Any] | Mapping[str, Any]


def column(conn: Connection, sql: str, values: Values = ()) -> list[Any]:
    """Return the first column of what a query finds."""
    return [row[0] for row in conn.execute(sql, values)]


_Codec = tuple[Callable[[Any], Any], Callable[[Any], Any]]
_INSTANT: Final[_Codec] = (to_ms, from_ms)
_MAYBE_INSTANT: Final[_Codec] = (to_ms_or_null, from_ms_or_null)


class Record(Generic[T]):
    """Maps a dataclass to the rows of a table.

    Args:
        make: the dataclass.
        table: the name of the table.
        named: columns not named like their fields; by default an instant `x_at` is in
            `x_ms`, and any other instant `x` in `x_ms`.
        codecs: converters of other field types to SQL and back.
        but: fields without a column.
        computed: for columns that are not read as they are stored, the SQL that reads them.
    """

    def __init__(
        self,
        make: type[T],
        table: str,
        named: Mapping[str, str] | None = None,
        *,
        codecs: Mapping[str, _Codec] | None = None,
        but: Iterable[str] = (),
        computed: Mapping[str, str] | None = None,
    ) -> None:
        self._make = make
        self.table = table
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
        self.read_columns = ", ".join(
            (computed or {}).get(name) or f"{table}.{name}" for name in self.names
        )
        """What a query selects for `read`."""

    def select(self, conn: Connection, where: str = "", values: Values = ()) -> list[T]:
        """Return the rows that fit; `where` is the query from its WHERE, or its first JOIN, on."""
        return list(self.each(conn, where, values))

    def each(self, conn: Connection, where: str, values: Values = ()) -> Iterator[T]:
        """Yield the rows that fit, as `select` does, one at a time."""
        rows = conn.execute(f"SELECT {self.read_columns} FROM {self.table} {where}", values)
        return map(self.read, rows)

    def first(self, conn: Connection, where: str, values: Values = ()) -> T | None:
        """Return the first of the rows that fit, or None."""
        return next(iter(self.select(conn, where, values)), None)

    def put(self, conn: Connection, row: T) -> None:
        """Insert a row, in place of a stored one with its key."""
        sql = f"INSERT OR REPLACE INTO {self.table} ({self.columns}) VALUES ({self.marks})"
        conn.execute(sql, self.values(row))

    def insert(self, conn: Connection, rows: Iterable[T]) -> None:
        """Insert rows.

        Raises:
            ConstraintError: a row breaks a rule of the table, such as that its key is new.
        """
        sql = f"INSERT INTO {self.table} ({self.columns}) VALUES ({self.marks})"
        conn.executemany(sql, map(self.values, rows))

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
    if kind in (Mapping, dict):
        return (
            lambda found: to_json(dict(found)) if found else "{}",
            lambda text: {} if text == "{}" else json.loads(text),
        )
    return None
