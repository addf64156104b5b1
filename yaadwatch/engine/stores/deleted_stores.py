"""What becomes of a store that was deleted underneath: put back, copied, or taken away again."""

import contextlib
import os
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from yaadwatch import places
from yaadwatch.engine.stores.store_places import (
    EXCLUDED,
    STORE_FOLDER,
    exclude_file,
    has_its_number,
    is_deinited,
    is_whole,
)
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system import dwindling, files
from yaadwatch.system.clock import Clock


def put_back(db: Database) -> None:
    """Have an open store put its file back if that was deleted underneath, and if that can be."""
    if not os.path.lexists(db.path):
        # Any write puts the file back first; this one has nothing to add.
        with contextlib.suppress(YaadError):
            db.write(lambda _: None)


def was_deleted(db: Database) -> bool:
    """Return whether only the open store still has what was in its file, whatever stands there.

    Raises:
        YaadError: UNAVAILABLE when it was closed.
    """
    return not os.path.lexists(db.path) or db.was_replaced()


def keep_deleted(project: Project, db: Database, now: datetime) -> None:
    """See that nothing is lost of an open store whose file was deleted underneath.

    After `git clean -fdx` it is put back. With another clone at its place, another file, or
    nothing, it cannot be put back there; then a backup keeps it.

    Raises:
        YaadError: UNAVAILABLE when it could neither be put back nor copied.
    """
    if was_deleted(db):
        put_back_or_leave(project, db, copied(project, db, now))


def copied(project: Project, db: Database, now: datetime) -> Path | YaadError:
    """Return where a copy was made of a store that was deleted, or why there is none.

    First of all: until it shows whether it may be put back, the process may have to end.
    """
    target = backup_path(project, now)
    try:
        db.backup(target)
    except YaadError as error:
        return error
    return target


def put_back_or_leave(project: Project, db: Database, copied: Path | YaadError) -> None:
    """Put a store back that was deleted, if it may return; its copy is not needed then.

    Raises:
        YaadError: the given one, when it could not be put back, either.
    """
    if may_return(project):
        put_back(db)
    is_back = not was_deleted(db)
    if isinstance(copied, Path) and is_back:
        copied.unlink(missing_ok=True)
    elif isinstance(copied, YaadError) and not is_back:
        raise copied


def withdraw(project: Project, db: Database, now: datetime) -> None:
    """Close a store that nobody uses, and take it away into a backup; its folder goes if empty.

    Raises:
        YaadError: UNAVAILABLE when no copy could be made, and then it is open and where it was; or
            when its file could not be deleted.
    """
    db.backup(backup_path(project, now))
    db.close_and_delete()
    with contextlib.suppress(OSError):  # what else is in it was not ours to put there
        project.store.parent.rmdir()


def backup_path(project: Project, now: datetime) -> Path:
    """Return where a copy of a project's store that is made now goes."""
    return places.backups(project.id) / f"{now:%Y%m%dT%H%M%S%f}.db"


def may_return(project: Project) -> bool:
    """Return whether a store that was deleted may be put back into the repository at its place.

    After `git clean -fdx` it may. Another clone lacks our line in its exclude file, and says so
    also where the system gave its folder the number that the former one had.
    """
    try:
        if not has_its_number(project):
            return False
        if not is_whole(project.common_dir) or is_deinited(project):
            return False  # it is being deleted
        if project.store.parent.name != STORE_FOLDER:
            return True
        return EXCLUDED.encode() in files.read_lines(exclude_file(project.common_dir))
    except OSError:
        return False


def may_return_now(
    project: Project, clock: Clock, *, patient: Callable[[], bool] = lambda: True
) -> bool:
    """Return whether a store that was deleted may be put back, once nothing more is deleted there.

    `rm -rf` may take our folder first and `.git` last; what came back in between would stay behind.

    Args:
        project: whose.
        clock: waits.
        patient: asked again and again; False ends the wait.

    Raises:
        YaadError: UNAVAILABLE when the repository is still being deleted after some seconds, or
            when nobody waits so long.
    """
    if project.store.parent.name != STORE_FOLDER:
        return may_return(project)
    folder = project.store.parent.parent
    if dwindling.is_left_alone(folder, clock, stands=lambda: may_return(project), patient=patient):
        return True
    if not may_return(project):
        return False
    raise YaadError(
        Code.UNAVAILABLE,
        f"{project.store} was deleted, and more is being deleted in {folder}; nothing was written.",
        hint="Try again when that is over.",
    )
