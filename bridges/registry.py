"""Which agent-file formats there are, and which one a path has."""

from typing import Final

from bridges.formats.plain import PLAIN
from bridges.rules import Bridge

BRIDGES: Final[tuple[Bridge, ...]] = (*PLAIN,)


def bridges() -> tuple[Bridge, ...]:
    """Return every format there is."""
    return BRIDGES


def for_path(path: str) -> Bridge | None:
    """Return the format of the file at `path` ('/' between folders), None if we know none.

    A name at the top of the project goes before the same name in a folder further down.
    """
    at_top = (bridge for bridge in bridges() if bridge.is_at(path))
    below = (bridge for bridge in bridges() if bridge.is_below(path))
    return next(at_top, None) or next(below, None)
