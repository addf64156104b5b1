"""Times as people and programs write them: RFC 3339, or a day."""

from datetime import UTC, datetime


def instant(name: str, text: str) -> datetime:
    """Return the instant that `text` names, in UTC; a time without a zone is UTC.

    Args:
        name: what the text is called, for the message.
        text: such as 2026-11-21T09:30:00Z, or a day: its beginning.

    Raises:
        ValueError: it is no time.
    """
    try:
        found = datetime.fromisoformat(text.strip())
        return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError(
            f"{name} must be a time such as 2026-11-21T09:30:00Z, or a day, got {text!r}"
        ) from None
