"""Write an agent file, after a copy of what a person had in it was kept."""

import contextlib
import os
from pathlib import Path

from yaadwatch.engine.identity import SNAPSHOTS
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.store import snapshots
from yaadwatch.system import files, keys, swapping


def write(home: Home, space: Space, path: str, old: bytes, new: bytes, *, key: bytes) -> None:
    """Make an agent file hold `new` instead of `old`; a copy of `old` is kept first.

    Raises:
        swapping.ChangedUnderneathError: somebody wrote it meanwhile; it holds what they wrote.
        YaadError: REFUSED when it is not ours to write, UNAVAILABLE when it cannot be written.
    """
    target = space.root / path
    try:
        swapping.require_own(target)
    except FileNotFoundError:
        raise swapping.ChangedUnderneathError(path) from None
    swapping.recover(target, old)
    keep(home, space, path, old, key=key)
    swapping.replace_expected(target, old, new)


def keep(home: Home, space: Space, path: str, data: bytes, *, key: bytes) -> None:
    """Keep a copy of a person's file, 0600; those over the limit go.

    Raises:
        YaadError: UNAVAILABLE when it cannot be written.
    """
    digest = keys.keyed(key, data)
    known = space.db.read(snapshots.of_path, space.worktree.id, path)
    if known and known[0].digest == digest:
        return
    folder = folder_of(space)
    name = f"{home.new_id()}.bytes"
    try:
        files.private_folder(folder)
        files.replace_atomically(folder / name, data)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"No copy of {path} could be kept in {folder} ({error.strerror}); it was not written.",
            hint="Look at the space and the permissions there; it is tried again later.",
        ) from error
    old = space.db.write(
        snapshots.add,
        worktree=space.worktree.id,
        path=path,
        name=name,
        size=len(data),
        digest=digest,
        at=home.clock.now(),
    )
    for gone in old:
        (folder / gone).unlink(missing_ok=True)


def folder_of(space: Space) -> Path:
    """Return the folder of the copies."""
    return space.project.store.parent / SNAPSHOTS


def remove_made(root: Path, path: str) -> None:
    """Remove a file of our own, and the folders that only it was in."""
    (root / path).unlink(missing_ok=True)
    folder = (root / path).parent
    while folder != root:
        with contextlib.suppress(OSError):
            os.rmdir(folder)  # noqa: PTH106  (only when nothing else is in it)
        folder = folder.parent
