"""What was imported, when, and the files as they came: byte for byte, beside the store."""

import contextlib
import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from yaadwatch.engine.identity import IMPORTS
from yaadwatch.engine.inout.stores import Meant
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.ids import called
from yaadwatch.store.whole import imported
from yaadwatch.system import files

KEPT_MAX: Final = 20
"""Imports of which the files are kept; the oldest go first."""


def described(kept: Path | None) -> tuple[int, str]:
    """Return size and hash of the file that keeps what came; 0 and '' without one."""
    return (0, "") if kept is None else (kept.stat().st_size, _digest(kept))


def keep(store: Meant, id: str, source: Path) -> Path:
    """Keep the files that are imported, 0600; return where. They go if nothing is written down.

    Raises:
        YaadError: UNAVAILABLE when they cannot be kept.
    """
    folder = folder_of(store)
    files.private_folder(folder)
    target = folder / f"{id}.files"
    try:
        shutil.copyfile(source, target)
        target.chmod(0o600)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise YaadError(
            Code.UNAVAILABLE,
            f"The files could not be kept in {folder} ({error.strerror}); nothing was imported.",
            hint="Look at the space on that disk.",
        ) from error
    return target


def sweep(store: Meant) -> None:
    """Remove the files of imports that are not known, or known no more; a link leads to none."""
    if folder_of(store).is_symlink():
        return
    known = {f"{one.id}.files" for one in store.db.read(imported.everything) if one.size}
    with contextlib.suppress(OSError):
        for path in folder_of(store).iterdir():
            if path.name not in known:
                path.unlink()


def give_back(store: Meant, target: Path, id: str) -> Mapping[str, int]:
    """Copy the files of an import, as they came, to `target`.

    Raises:
        YaadError: NOT_FOUND; UNAVAILABLE when they are not what they were.
    """
    found = [one for one in store.db.read(imported.everything) if one.id.endswith(id)]
    if len(found) != 1:
        what = f"{len(found)} imports end" if found else "No import ends"
        raise YaadError(
            Code.NOT_FOUND,
            f"{what} with {id[:40]}; nothing was exported.",
            hint="What was imported: yaadwatch import --list",
        )
    path = folder_of(store) / f"{found[0].id}.files"
    if not found[0].size or path.is_symlink() or not path.is_file():
        raise YaadError(
            Code.NOT_FOUND,
            f"The files of import {called(found[0].id)} are not kept; nothing was exported.",
            hint=f"Those of the last {KEPT_MAX} imports of files are.",
        )
    if _digest(path) != found[0].digest:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} is not what it was; nothing was exported.",
            hint="What else is wrong: yaadwatch verify",
        )
    shutil.copyfile(path, target)
    return {"files": sum(1 for _ in target.open("rb"))}


def listed(store: Meant) -> list[dict[str, object]]:
    """Return the JSON of what was imported, the newest first."""
    return [
        {
            "id": one.id,
            "at": one.at,
            "format": one.format,
            "source": one.source,
            "counts": one.counts,
            "files": bool(one.size),
        }
        for one in store.db.read(imported.everything)
    ]


def folder_of(store: Meant) -> Path:
    """Return the folder of the files that were imported."""
    return store.db.path.parent / IMPORTS


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
