"""Whose memories are these? Finds the project, and the store, that a repository has."""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from yaadwatch import places
from yaadwatch.engine.stores.deleted_stores import keep_deleted
from yaadwatch.engine.stores.store_places import (
    EXCLUDED,
    STORE_FOLDER,
    exclude_file,
    refuse_unsafe,
    stands,
)
from yaadwatch.engine.workspace import Home
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import meta, nodes, snapshots, worktrees
from yaadwatch.store import projects as registry
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite import copies, resting
from yaadwatch.store.sqlite.database import Database
from yaadwatch.store.truth import lookbacks
from yaadwatch.store.whole import checks, imported
from yaadwatch.system import files, mounts
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

SNAPSHOTS = "snapshots"
"""The folder beside a store with the copies of people's files."""


IMPORTS = "imports"
"""The folder beside a store with files as they came in an import."""
DAMAGED = "damaged"
"""The folder beside a store into which `doctor` has a damaged one put, whole or in part; further
ones go into folders in it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The project of a repository, registered for the place it is at now.

    `again`: it was registered before. `former_root`: the main work tree that the store was made or
    last used for, when that is known.
    """

    project: Project
    again: bool
    former_root: Path | None = None


def store_folder(layout: Layout) -> Path:
    """Return the folder that the store of this repository is in, or would be.

    A person's own folder may be a repository; `.yaad` in it is our home, and holds another store.
    """
    main = main_root(layout)
    place = main or layout.common_dir
    if mounts.is_network(place) or (main is not None and _is_our_home(main / STORE_FOLDER)):
        return _far_folder("")
    return main / STORE_FOLDER if main is not None else layout.common_dir / "yaad"


def main_root(layout: Layout) -> Path | None:
    """Return the main work tree; None for a bare repository."""
    if layout.common_dir.name == ".git":
        return layout.common_dir.parent
    return layout.root if layout.git_dir == layout.common_dir else None


def _is_our_home(folder: Path) -> bool:
    return os.path.realpath(folder) == os.path.realpath(places.home())


def excludes(path: Path, line: str = EXCLUDED) -> bool:
    """Return whether a line is in an exclude file: the one that keeps our folder out of git.

    Raises:
        YaadError: UNAVAILABLE when the file cannot be read: a pipe, or larger than 1 MiB, too.
    """
    try:
        lines = files.read_lines(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be read ({error.strerror}); nothing was added.",
            hint="Look at what it is: the store is kept out of git by a line in it.",
        ) from error
    return line.encode() in lines


def exclude(home: Home, project: Project) -> None:
    """Keep our folder out of git by a line of our own, unless one is there.

    Raises:
        YaadError: UNAVAILABLE when the file cannot be written; REFUSED when it is a link.
    """
    path = exclude_file(project.common_dir)
    inside = project.store.is_relative_to(project.root / STORE_FOLDER)
    if not inside or excludes(path):
        return
    try:
        appended = files.append_line_exact(path, EXCLUDED)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{path} cannot be written to ({error.strerror}); git would see our folder.",
            hint="Look at its permissions, then: yaadwatch add",
        ) from error
    home.user.write(registry.exclude, project.id, appended)


def identify(home: Home, layout: Layout, folder: Path, *, trust: bool) -> Identity:
    """Return the project of this repository; a new one is registered and gets a store.

    The identity table of docs/contracts.md, row by row.

    Raises:
        YaadError: REFUSED (a store that this machine does not know), UNAVAILABLE (it cannot be
            read or made).
    """
    known = home.user.read(registry.by_common_dir, layout.common_dir)
    if known is not None:
        _rescue(home, known)
        if stands(known.store) and _is_its_own(home, known):
            current = located(known, layout, known.store.parent)
            if current != known:
                home.user.write(registry.replace, current)
            return Identity(project=current, again=True, former_root=known.root)
        home.stores.close_one(known.id)
    if stands(folder / "yaad.db"):
        return _adopt(home, layout, folder, known, trust=trust)
    found = _found(layout.common_dir)
    _retire(home, known)
    try:
        made = _register(home, layout, found, folder, home.new_id())
    except YaadError:
        if known is not None:  # it was moved just now, and is watched as before
            home.user.write(registry.replace, known)
        raise
    return Identity(project=made, again=False)


def restored(home: Home, layout: Layout, folder: Path) -> Identity:
    """Return the project of this repository that was removed last, with its memories back.

    Raises:
        YaadError: NOT_FOUND (no backup), CONFLICT (there are memories that the backup would
            replace), UNAVAILABLE (it cannot be read or written).
    """
    where = main_root(layout) or layout.common_dir
    known = home.user.read(registry.by_common_dir, layout.common_dir)
    if known is not None and not stands(known.store):
        _rescue(home, known)
        if stands(known.store):  # nothing newer than what was put back can be had
            return Identity(project=known, again=True, former_root=known.root)
    lost = known if known is not None and not stands(known.store) else None
    backup = newest_backup(lost) if lost is not None else None
    found = (lost, backup) if lost is not None and backup is not None else None
    found = found or last_removed(home, layout.common_dir)
    if found is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no backup of {where}; nothing was restored.",
            hint="Start afresh: yaadwatch add",
        )
    source, backup = found
    if folder == _far_folder(""):
        folder = _far_folder(source.id)
    path = folder / "yaad.db"
    if stands(path):
        if known is None or not holds_only_what_files_say(home, known):
            raise YaadError(
                Code.CONFLICT,
                f"{path} holds memories of its own; it was not replaced by {backup}.",
                hint="To have the backup instead, remove the project and copy it to that place.",
            )
        home.stores.close_one(known.id)
        home.user.write(registry.drop, known.id)
        delete_store(known)
    excluded = known.excluded if known is not None else source.excluded
    back = replace(located(source, layout, folder), removed_at=None, excluded=excluded)
    try:
        files.private_folder(folder)
        partial = path.with_suffix(".restoring")
        shutil.copyfile(backup, partial)
        partial.chmod(0o600)
        partial.replace(path)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{backup} could not be copied to {path} ({error.strerror}); nothing was restored.",
            hint="Look at the space and the permissions there, then try again.",
        ) from error
    if known is not None and known.id != back.id:  # nothing is left of it
        home.stores.close_one(known.id)
        home.user.write(registry.drop, known.id)
    home.stores.close_one(back.id)
    home.user.write(registry.replace, back)
    return Identity(project=back, again=False, former_root=source.root)


def forget_lost(db: Database) -> None:
    """Forget the copies of files that a store tells of and that are not beside it.

    A backup is the database alone, so one that was brought back tells of copies that went with the
    project, or that were dropped after it was made.
    """
    lost: dict[str, list[str]] = {SNAPSHOTS: [], IMPORTS: []}
    for _, folder, file, _ in db.read(checks.copies):
        place = db.path.parent / folder / file
        if place.is_symlink() or not place.is_file():
            lost[folder].append(file)

    def commit(conn: Connection) -> None:
        snapshots.drop(conn, lost[SNAPSHOTS])
        imported.drop_files(conn, [Path(file).stem for file in lost[IMPORTS]])

    if any(lost.values()):
        db.write(commit)


def register_trees(home: Home, identity: Identity, layout: Layout) -> None:
    """Know every work tree there is, and none that is gone or another repository's.

    When the main work tree was elsewhere before, what the store knows of it is kept.
    """
    current = [tree.root for tree in layouts.worktrees(layout) if tree.root is not None]
    main = main_root(layout)
    # Those that git is yet to find again, as after a move, and those on a disk that is not there.
    named = layouts.registered(layout)

    def commit(conn: Connection) -> None:
        rows = worktrees.everything(conn)
        if main is not None and all(row.path != main for row in rows):
            lost = [row for row in rows if row.path not in current and row.path not in named]
            # Of a store that came from elsewhere, the first work tree is the main one.
            former = identity.former_root or next((row.path for row in lost), None)
            for row in lost:
                if row.path == former:
                    worktrees.move(conn, row.id, main)
        for row in worktrees.everything(conn):
            if row.path not in current and row.path not in named:
                worktrees.drop(conn, row.id)
                lookbacks.drop(conn, row.id)
        for root in current:
            worktrees.add(conn, root)

    with home.stores.use(identity.project) as db:
        db.write(commit)


def newest_backup(project: Project) -> Path | None:
    """Return the last copy that was made of a project's store and is whole."""
    return copies.newest_whole(places.backups(project.id), role="project")


def last_removed(home: Home, common_dir: Path) -> tuple[Project, Path] | None:
    """Return the project that was removed last of those with a backup there is, and that backup."""
    for project in home.user.read(registry.removed, common_dir):
        backup = newest_backup(project)
        if backup is not None:
            return project, backup
    return None


def delete_store(project: Project) -> None:
    """Delete the files of a store, its copies of agent files and of imported ones; their folders
    when nothing else is in them. A damaged one that was put aside goes to the backups.

    Raises:
        OSError: one could not be deleted or moved.
    """
    folder = project.store.parent
    if folder.is_symlink() or not folder.is_dir():
        return
    _keep_damaged(project)
    for path in folder.glob("yaad.db*"):
        path.unlink()
    copies = folder / SNAPSHOTS
    if copies.is_dir() and not copies.is_symlink():
        for path in copies.glob("*.bytes"):
            path.unlink()
        if not any(copies.iterdir()):
            copies.rmdir()
    came = folder / IMPORTS
    if came.is_dir() and not came.is_symlink():
        for path in came.glob("*.files"):
            path.unlink()
        if not any(came.iterdir()):
            came.rmdir()
    if not any(folder.iterdir()):
        folder.rmdir()


def _keep_damaged(project: Project) -> None:
    """Move what was put aside of a damaged store to the backups, where no git can see it."""
    aside, kept = project.store.parent / DAMAGED, places.backups(project.id) / DAMAGED
    if aside.is_symlink() or not aside.is_dir():
        return
    files.private_folder(kept.parent.parent)
    files.private_folder(kept.parent)
    files.private_folder(kept)
    for path in sorted(aside.rglob("yaad.db*")):
        number = 0
        while os.path.lexists(kept / f"{number}.{path.name}"):
            number += 1
        shutil.move(path, kept / f"{number}.{path.name}")
    for folder in (*aside.iterdir(), aside):
        if folder.is_dir() and not folder.is_symlink() and not any(folder.iterdir()):
            folder.rmdir()


def holds_only_what_files_say(home: Home, project: Project) -> bool:
    """Return whether nobody ever told this store anything: reading the files again makes it anew.

    Raises:
        YaadError: UNAVAILABLE, REFUSED; it cannot be read.
    """
    with home.stores.use(project) as db:
        return not db.read(nodes.told)


def _rescue(home: Home, known: Project) -> None:
    """Keep what an open store holds whose file was deleted underneath.

    After `git clean -fdx` it is put back. In another clone of the repository, which lacks our line
    in its exclude file, there is nothing to put it back into; then a backup keeps it.
    """
    home.stores.keep_replaced(known)
    db = home.stores.opened(known.id)
    if db is not None and not stands(known.store):
        keep_deleted(home.stores.as_opened(known), db, home.clock.now())


def _is_its_own(home: Home, known: Project) -> bool:
    """Return whether the store at a project's place is the project's."""
    home.stores.let_go_if_moved(known.id)
    try:
        with home.stores.use(known):
            return True
    except YaadError as error:
        if error.code is not Code.REFUSED:
            raise
        return False


def _adopt(
    home: Home, layout: Layout, folder: Path, known: Project | None, *, trust: bool
) -> Identity:
    """Take over a store that is there already: ours that moved, a copy, or one to be trusted."""
    path = folder / "yaad.db"
    refuse_unsafe(path)
    here = _found(layout.common_dir)
    bears = resting.project_of(path)  # of one that is refused nothing is changed
    registered = home.user.read(registry.get, bears) if bears else None
    if (registered is None or registered.removed_at is not None) and not trust:
        raise YaadError(
            Code.REFUSED,
            f"{path} was not made on this machine; it was not used."
            if registered is None
            else f"{path} is of a project that was removed here, or whose place another one took;"
            " it was not used.",
            hint="To have its memories, if you trust what it says: yaadwatch add --trust. "
            "Else move it away.",
        )
    # Deleted meanwhile, it is gone: nobody worked with it.
    db = Database.open(path, role="project", project=bears, may_return=lambda: False)
    try:
        _refuse_strange(db)
        if registered is None or registered.removed_at is not None:
            _retire(home, known)
            if registered is not None:
                home.user.write(registry.drop, bears)
            trusted = _register(home, layout, here, folder, bears or home.new_id())
            return Identity(project=trusted, again=False)
        _retire(home, known)
        home.stores.let_go_if_moved(registered.id)
        if lives(registered) and not _is(registered, here):
            excluded = registered.excluded
            copy = _register(home, layout, here, folder, home.new_id(), excluded=excluded)
            db.write(meta.put, "project", copy.id)
            return Identity(project=copy, again=False, former_root=registered.root)
        _rescue(home, registered)
        home.stores.close_one(registered.id)
        moved = located(registered, layout, folder)
        home.user.write(registry.replace, moved)
        return Identity(project=moved, again=True, former_root=registered.root)
    finally:
        db.close()


def _refuse_strange(db: Database) -> None:
    """See that nothing runs in a store from elsewhere: one may trust what it says, not that."""
    strange = db.strange()
    if strange:
        raise YaadError(
            Code.REFUSED,
            f"{db.path} has triggers or views that no yaadwatch made ({strange[0]}); it was not"
            " used.",
            hint="Have whoever made it export it, then: yaadwatch import",
        )


def _retire(home: Home, known: Project | None) -> None:
    if known is not None:
        home.user.write(registry.replace, replace(known, removed_at=home.clock.now()))


def _register(
    home: Home,
    layout: Layout,
    found: os.stat_result,
    folder: Path,
    project_id: str,
    *,
    excluded: str = "",
) -> Project:
    """Write a new project into the registry, then make its store.

    In this order: a store without a row would be refused as somebody else's at the next try.
    """
    if folder == _far_folder(""):
        folder = _far_folder(project_id)
    project = Project(
        id=project_id,
        root=main_root(layout) or layout.common_dir,
        common_dir=layout.common_dir,
        device=found.st_dev,
        inode=found.st_ino,
        store=folder / "yaad.db",
        excluded=excluded,
        added_at=home.clock.now(),
    )
    home.user.write(registry.add, project)
    if stands(project.store):
        return project
    try:
        files.private_folder(folder)
        Database.open(project.store, role="project", project=project.id, create=True).close()
    except YaadError:
        home.user.write(registry.drop, project.id)
        delete_store(project)
        raise
    return project


def located(project: Project, layout: Layout, folder: Path) -> Project:
    """Return the project as it is registered for the place it is at now, its store in `folder`.

    Raises:
        YaadError: UNAVAILABLE when it is not there any more.
    """
    found = _found(layout.common_dir)
    return replace(
        project,
        root=main_root(layout) or layout.common_dir,
        common_dir=layout.common_dir,
        device=found.st_dev,
        inode=found.st_ino,
        store=folder / "yaad.db",
    )


def lives(project: Project) -> bool:
    """Return whether the repository is still at the place it is registered for."""
    try:
        return _is(project, project.common_dir.stat())
    except OSError:
        return False


def is_store_of(project: Project, store: Path) -> bool:
    """Return whether the store at a place bears the id of a project.

    Raises:
        YaadError: REFUSED when it is a link or another user's; UNAVAILABLE when it cannot be read.
    """
    if not stands(store):
        return False
    refuse_unsafe(store)
    return resting.project_of(store) == project.id


def _is(project: Project, found: os.stat_result) -> bool:
    """Return whether what was found is the repository of `project`, by whatever path."""
    return (found.st_dev, found.st_ino) == (project.device, project.inode)


def _found(common_dir: Path) -> os.stat_result:
    """Return what tells a repository from others, asked before anything is registered of it.

    Raises:
        YaadError: UNAVAILABLE when it is not there any more.
    """
    try:
        return common_dir.stat()
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{common_dir} cannot be looked at ({error.strerror}); nothing was changed.",
            hint="If it was moved just now, try again where it is.",
        ) from error


def _far_folder(project_id: str) -> Path:
    """Return where the store is kept when the repository's file system cannot hold one safely."""
    return places.home() / "projects" / project_id
