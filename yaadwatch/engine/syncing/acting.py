"""Write an agent file, after a copy of what a person had in it was kept."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from yaadwatch.engine.identity import SNAPSHOTS
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.store import snapshots
from yaadwatch.system import files, keys
from yaadwatch.system.safe_write import replacing
from yaadwatch.system.safe_write.former_files import Former

FORMER_S: Final = 2.0
"""So long somebody may still write to what a file was before we replaced it."""

ORPHAN_S: Final = 86_400.0
"""A copy that was never noted is another process's, which is about to note it; not after a day."""


def write(home: Home, space: Space, path: str, old: bytes, new: bytes, *, key: bytes) -> None:
    """Make an agent file hold `new` instead of `old`; a copy of `old` is kept first.

    Raises:
        replacing.ChangedUnderneathError: somebody wrote it meanwhile; it holds what they wrote.
        YaadError: REFUSED when it is not ours to write, UNAVAILABLE when it cannot be written.
    """
    target = space.root / path
    try:
        replacing.require_own(target)
    except FileNotFoundError:
        raise replacing.ChangedUnderneathError(path) from None
    keep(home, space, path, old, key=key)
    place = _place(space, path)

    def note(former: Former) -> None:
        home.formers.add(place, former, until_s=home.clock.monotonic_s() + FORMER_S)

    try:
        replacing.replace_expected(target, old, new, former=note)
    except replacing.ChangedUnderneathError as error:
        if error.dropped is not None:
            keep(home, space, path, error.dropped, key=key)
        raise


def put_right(home: Home, space: Space, path: str, *, key: bytes) -> None:
    """Undo a write of ours that was cut off, and take in what was written to a former file.

    Whoever had the file open when we replaced it writes to what it was. What they appended comes to
    the end of the file; anything else is kept as a copy.

    Raises:
        replacing.ChangedUnderneathError: somebody is writing; it is tried again later.
        YaadError: as `write`.
    """
    target = space.root / path
    replacing.recover(target, lambda data: keep(home, space, path, data, key=key))
    with home.formers.look(_place(space, path), now_s=home.clock.monotonic_s()) as formers:
        for former in formers:
            _take_late(home, space, path, former, key=key)


def waits(home: Home, space: Space, paths: Iterable[str]) -> bool:
    """Tell whether somebody may still write to what one of these files was."""
    return home.formers.waits({_place(space, path) for path in paths})


def _take_late(home: Home, space: Space, path: str, former: Former, *, key: bytes) -> None:
    late = former.written(AGENT_FILE_BYTES_MAX)
    if late is None:
        return
    seen = files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    if seen.data is None or not late.startswith(former.held):
        keep(home, space, path, late, key=key)
    else:
        tail = late[len(former.held) :]
        # Whoever wrote the file as it is now may have seen it.
        if tail not in seen.data:
            write(home, space, path, seen.data, _with_tail(seen.data, tail), key=key)
    former.held = late


def _place(space: Space, path: str) -> tuple[str, int, str]:
    return space.project.id, space.worktree.id, path


def _with_tail(data: bytes, tail: bytes) -> bytes:
    """Return a file with what was appended to its former self, on lines of its own."""
    between = b"" if not data or data.endswith((b"\n", b"\r")) else b"\n"
    return data + between + tail


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
    _sweep(home, space, folder)


def _sweep(home: Home, space: Space, folder: Path) -> None:
    """Remove what a process that was killed left among the copies."""
    known = space.db.read(snapshots.names)
    before_s = home.clock.now_ns() / 1e9 - ORPHAN_S
    for path in folder.iterdir():
        with contextlib.suppress(OSError):
            if path.name not in known and path.lstat().st_mtime < before_s:
                path.unlink()


def folder_of(space: Space) -> Path:
    """Return the folder of the copies."""
    return space.db.path.parent / SNAPSHOTS


def missing_folders(root: Path, path: str) -> list[str]:
    """Return the folders that have to be made for a file, the innermost first."""
    folders = [folder for folder in (root / path).parents if folder.is_relative_to(root)]
    return [folder.relative_to(root).as_posix() for folder in folders if not folder.exists()]


def remove_made(root: Path, path: str, folders: Iterable[str]) -> None:
    """Remove a file of our own, and the folders that we made for it if nothing else is in them."""
    (root / path).unlink(missing_ok=True)
    for folder in folders:
        with contextlib.suppress(OSError):
            os.rmdir(root / folder)  # noqa: PTH106  (only when nothing else is in it)
