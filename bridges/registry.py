"""Which agent-file formats there are, and which one a path has."""

from typing import Final

from bridges.formats.plain import PLAIN
from bridges.rules import Bridge

BRIDGES: Final[tuple[Bridge, ...]] = (*PLAIN,)


def for_path(path: str) -> Bridge | None:
    """Return the format of the file at `path` ('/' between folders), None if we know none.

    The same name in a folder further down has the same format; whether such a file is read is
    for the caller to say.
    """
    return next(
        (b for b in BRIDGES if any(f"/{path}".endswith(f"/{end}") for end in b.paths)), None
    )
