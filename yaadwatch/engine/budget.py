"""How large may a store get, when will it be, and what then: nothing is added to it any more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import SIZE_DAYS_KEPT
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.whole import checks
from yaadwatch.store.whole.checks import Size

MIB: Final = 1024 * 1024
LOOK_BACK_DAYS: Final = 30
"""Days whose growth is taken for that of the days to come."""
FAR_DAYS: Final = 3_650
"""A budget that is reached later than this is not reached."""
_EPOCH_ORDINAL: Final = 719_163


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How a store grows; `reached_at` is None when its budget is not reached in ten years."""

    bytes: int
    budget: int
    bytes_a_day: float
    reached_at: datetime | None


def day_of(at: datetime) -> int:
    """Return the day of an instant, counted from 1970-01-01."""
    return at.toordinal() - _EPOCH_ORDINAL


def forecast(known: Sequence[Size], now_bytes: int, budget: int, now: datetime) -> Forecast:
    """Say when a store reaches its budget if it grows on as it did lately.

    Args:
        known: how large it was on days before, in their order.
        now_bytes: how large it is now.
        budget: how large it may be, in bytes; 0: no budget.
        now: the time; its day is not among `known`, or counts no more than now.
    """
    today = day_of(now)
    past = [one for one in known if one.day < today]
    a_day = (now_bytes - past[0].bytes) / (today - past[0].day) if past else 0.0
    left = budget - now_bytes
    reached = None
    if budget and left <= 0:
        reached = now
    elif budget and a_day > 0 and left / a_day <= FAR_DAYS:
        reached = now + timedelta(days=left / a_day)
    return Forecast(bytes=now_bytes, budget=budget, bytes_a_day=a_day, reached_at=reached)


def of_store(home: Home, db: Database) -> Forecast:
    """Return how a store grows."""
    now = home.clock.now()
    now_bytes, known = db.read(_known, day_of(now) - LOOK_BACK_DAYS)
    return forecast(known, now_bytes, limit_of(home, db), now)


def row(found: Forecast) -> dict[str, object]:
    """Return the JSON of a forecast."""
    return {
        "bytes": found.bytes,
        "budget_bytes": found.budget or None,
        "bytes_a_day": round(found.bytes_a_day),
        "reached_at": found.reached_at,
    }


def note(home: Home, db: Database) -> None:
    """Write down how large a store is today."""
    db.write(_note, day_of(home.clock.now()))


def require_room(home: Home, db: Database) -> None:
    """Refuse to add to a store that has reached its budget; what is there can still be changed.

    Raises:
        YaadError: TOO_LARGE; nothing was stored.
    """
    if limit_of(home, db):
        refuse_beyond(home, db, db.read(checks.bytes_used))


def limit_of(home: Home, db: Database) -> int:
    """Return how many bytes a store may have; 0: as many as it likes."""
    return home.settings_of(db.path).store.budget_mib * MIB


def refuse_beyond(home: Home, db: Database, used: int) -> None:
    """Refuse to add to a store that takes `used` bytes, where that is its budget or more.

    Raises:
        YaadError: TOO_LARGE; nothing was stored.
    """
    budget = limit_of(home, db)
    if budget and used >= budget:
        which = " --user" if db.path == home.user.path else ""
        raise YaadError(
            Code.TOO_LARGE,
            f"The store {db.path} has reached its budget of {budget // MIB} MiB; nothing was "
            "stored.",
            hint=f"Make room (yaadwatch upkeep, then yaadwatch compact{which}), or raise "
            "store.budget_mib in config.toml.",
        )


def _known(conn: Connection, since: int) -> tuple[int, list[Size]]:
    return checks.bytes_used(conn), checks.sizes_since(conn, since)


def _note(conn: Connection, day: int) -> None:
    size = Size(day=day, bytes=checks.bytes_used(conn), memories=nodes.count(conn))
    checks.note_size(conn, size, keep_days=SIZE_DAYS_KEPT)
