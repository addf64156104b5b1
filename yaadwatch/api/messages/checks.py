"""What the fields of requests must keep to; each raises ValueError that names the field."""

from typing import Final

from yaadwatch.model.agent_files import MODES
from yaadwatch.model.edges import VIEWS
from yaadwatch.model.settings import ID_CHARS_MAX

TOKENS_MAX: Final = 100_000
KINDS_MAX: Final = 32
TAG_CHARS_MAX: Final = 64
NAME_CHARS_MAX: Final = 4_096
"""A path, a symbol or a cursor."""
EDGE_MAX: Final = 2**63 - 1
"""The number of an edge, or of a version, as SQLite counts."""


def check_folder(name: str, folder: str) -> None:
    """Raise ValueError unless `folder` could be a folder's absolute path; it need not exist."""
    if not folder.startswith("/"):
        raise ValueError(f"{name} must be an absolute folder, got {folder!r}")
    check_length(name, folder, NAME_CHARS_MAX)


def check_text(name: str, text: str, chars_max: int) -> None:
    """Raise ValueError unless `text` has words, and at most `chars_max` characters."""
    if not text.strip():
        raise ValueError(f"{name} must not be empty")
    check_length(name, text, chars_max)


def check_length(name: str, text: str, chars_max: int) -> None:
    """Raise ValueError when `text` has more than `chars_max` characters."""
    if len(text) > chars_max:
        raise ValueError(f"{name} must have at most {chars_max} characters, got {len(text)}")


def check_texts(name: str, texts: tuple[str, ...], count_max: int, chars_max: int) -> None:
    """Raise ValueError unless there are at most `count_max` texts, each one as for `check_text`."""
    check_count(name, texts, count_max)
    for text in texts:
        check_text(f"each of {name}", text, chars_max)


def check_count(name: str, given: tuple[object, ...], count_max: int) -> None:
    """Raise ValueError when more than `count_max` things are given."""
    if len(given) > count_max:
        raise ValueError(f"{name} must have at most {count_max} entries, got {len(given)}")


def check_mode(given: str) -> None:
    """Raise ValueError unless an agent file can take part in this way."""
    if given not in MODES:
        raise ValueError(f"mode must be one of {', '.join(MODES)}, got {given!r}")


def check_view(given: str) -> None:
    """Raise ValueError unless edges can be looked at in this way."""
    if given not in VIEWS:
        raise ValueError(f"view must be one of {', '.join(VIEWS)}, got {given!r}")


def check_edge(number: int) -> None:
    """Raise ValueError unless an edge can have this number."""
    check_within("edge", number, 1, EDGE_MAX)


def check_id(given: str) -> None:
    """Raise ValueError unless this could be an id, or a part of one."""
    check_text("id", given, ID_CHARS_MAX)


def check_one_of(name: str, given: str, known: tuple[str, ...]) -> None:
    """Raise ValueError unless `given` is one of these words."""
    if given not in known:
        raise ValueError(f"{name} must be one of {', '.join(known)}, got {given!r}")


def check_share(name: str, given: float) -> None:
    """Raise ValueError unless `given` is from 0 to 1, both included."""
    if not 0.0 <= given <= 1.0:
        raise ValueError(f"{name} must be within 0 and 1, got {given:g}")


def check_version(number: int) -> None:
    """Raise ValueError unless a memory can be at this version."""
    check_within("expected_version", number, 1, EDGE_MAX)


def check_within(name: str, number: int, low: int, high: int) -> None:
    """Raise ValueError unless `number` is from `low` to `high`, both included."""
    if not low <= number <= high:
        raise ValueError(f"{name} must be within {low} and {high}, got {number}")
