"""Times as people and programs write them: RFC 3339, or a day."""

from datetime import UTC, datetime


def instant(name: str, text: str) -> datetime:
    """Return the instant that `text` names, in UTC, in whole milliseconds, as stores keep it.

    A time without a zone is UTC.

    Args:
        name: what the text is called, for the message.
        text: such as 2026-11-21T09:30:00Z, or a day: its beginning.

    Raises:
        ValueError: it is no time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        found = found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
        return found.replace(microsecond=found.microsecond // 1000 * 1000)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a time such as 2026-11-21T09:30:00Z, or a day, got {text!r}"
        ) from None


def told(at: datetime) -> str:
    """Return a time as answers and hints tell it: UTC, with milliseconds and a Z."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def is_day(text: str) -> bool:
    """Return whether `text`, of which `instant` makes a time, names a day and no time of it."""
    return not {"T", "t", ":", " "} & set(text.strip())
