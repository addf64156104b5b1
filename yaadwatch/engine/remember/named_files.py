"""The files that a caller names: where they are in the work tree that the call is about."""

import os
from collections.abc import Sequence
from pathlib import Path

from yaadwatch.core.references.mentions import mentions
from yaadwatch.engine.workspace import Call, Space
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import files as disk
from yaadwatch.system.git import layout as layouts


def folder_of(call: Call, space: Space) -> str:
    """Return the folder that a call comes from, relative to the top of the work tree."""
    if call.folder == space.root:  # which is what its links lead to
        return ""
    here = call.folder.resolve()
    return here.relative_to(space.root).as_posix() if here.is_relative_to(space.root) else ""


def linked_tree(call: Call, space: Space, said: str, files: Sequence[str]) -> Path | None:
    """Return the linked work tree that a statement is about, though the call comes from elsewhere.

    It is the only one with all of the files that the statement names and `space` does not have.

    Args:
        call: where the statement comes from.
        space: the work tree of the call.
        said: the statement.
        files: what the caller says that it rests on.
    """
    if not layouts.has_linked(space.repository.layout):
        return None
    trees = [tree.root for tree in layouts.worktrees(space.repository.layout)]
    others = [root for root in trees if root is not None and root != space.root]
    if not others:
        return None
    outside = {str(Path(file).resolve().parent) for file in files if file.startswith("/")}
    named = [root for root in others if any(Path(one).is_relative_to(root) for one in outside)]
    if named:
        return max(named, key=lambda root: len(root.parts))
    here = folder_of(call, space)
    missing = [path for path in mentions(said).paths if _is_missing(path, here, space)]
    having = [
        root for root in others if missing and all((root / path).is_file() for path in missing)
    ]
    return having[0] if len(having) == 1 else None


def _is_missing(path: str, here: str, space: Space) -> bool:
    """Return whether a text names a file by its path that is nowhere in a work tree."""
    place = path.removeprefix("./")
    if place.startswith("/") or ".." in place.split("/") or not Path(place).suffix:
        return False
    if any(os.path.lexists(space.root / start / place) for start in ("", here)):
        return False
    return not any(f"/{one}".endswith(f"/{place}") for one in space.repository.tracked())


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
    spelled = [_spelled(place, space.root) for place in inside]
    there = (place for place in spelled if os.path.lexists(f"{top}/{place}"))
    return _without_links(next(there, spelled[-1]), top)


def _spelled(place: str, root: Path) -> str:
    """Return a place as the disk spells it, whose accents may be written in another way."""
    return place if place.isascii() else disk.spelled(root, place) or place


def _without_links(place: str, top: str) -> str:
    """Return a place by the folder that links on the way lead to, if that is in the work tree.

    A link at the end stays one: a memory rests on a file, and a link is none.
    """
    folder, name = os.path.split(place)
    real = os.path.realpath(f"{top}/{folder}")
    if not folder or not f"{real}/".startswith(f"{top}/"):
        return place
    return f"{real[len(top) :]}/{name}".removeprefix("/")
