"""The files that a caller names: where they are in the work tree that the call is about."""

import os
from pathlib import Path

from yaadwatch.engine.workspace import Call, Space
from yaadwatch.model.errors import Code, YaadError


def folder_of(call: Call, space: Space) -> str:
    """Return the folder that a call comes from, relative to the top of the work tree."""
    if call.folder == space.root:  # which is what its links lead to
        return ""
    here = call.folder.resolve()
    return here.relative_to(space.root).as_posix() if here.is_relative_to(space.root) else ""


def file_of(given: str, here: str, space: Space) -> str:
    """Return a path that the caller gave as it is from the top of the work tree.

    Raises:
        YaadError: NOT_FOUND; it leads out of the work tree.
    """
    place = place_of(given, here, space)
    if place is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"{given} is outside of {space.root}; nothing was stored.",
            hint="A memory can rest on files of its own work tree only.",
        )
    return place


def place_of(given: str, here: str, space: Space) -> str | None:
    """Return a path as it is from the top of the work tree; None when it leads out of that.

    A relative one starts in the folder `here`, or at the top where that is what exists.
    """
    top = str(space.root)
    if given.startswith("/"):
        # The links above the file are followed, as those above the work tree were.
        folder, name = os.path.split(given)
        places = [os.path.relpath(f"{Path(folder).resolve()}/{name}", top)]
    else:
        places = [os.path.normpath(f"{start}/{given}") for start in (here or ".", ".")]
    inside = [place for place in places if place != ".." and not place.startswith("../")]
    if not inside:
        return None
    there = (place for place in inside if os.path.lexists(f"{top}/{place}"))
    return next(there, inside[-1])
