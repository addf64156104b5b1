"""Which agent-file formats there are, and which one a path has."""

from collections.abc import Sequence
from typing import Final

from bridges.formats.headed import HEADED
from bridges.formats.plain import PLAIN
from bridges.rules import Bridge

BRIDGES: Final[tuple[Bridge, ...]] = (*PLAIN, *HEADED)
"""The formats that come with this package."""


def bridges() -> tuple[Bridge, ...]:
    """Return every format there is."""
    return BRIDGES


def for_path(path: str, *, more: Sequence[Bridge] = ()) -> Bridge | None:
    """Return the format of the file at `path` ('/' between folders), None if we know none.

    A name at the top of the project goes before the same name in a folder further down, and a name
    with folders before one without: `web/.claude/rules/CLAUDE.md` is one of those rules.

    Args:
        path: relative to the top of a project.
        more: formats to be asked when none of all the others has such files.
    """
    known = (*bridges(), *more)
    at_top = next((bridge for bridge in known if bridge.is_at(path)), None)
    if at_top is not None:
        return at_top
    folders = path.split("/")
    below = ("/".join(folders[start:]) for start in range(1, len(folders)))
    return next(
        (bridge for tail in below for bridge in known if bridge.nested and bridge.is_at(tail)), None
    )
