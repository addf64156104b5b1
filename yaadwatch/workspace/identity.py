"""Find the project that a repository belongs to, also a moved one, by the id in its git config."""

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from yaadwatch import places
from yaadwatch.db import history, nodes, projects, soundness
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection, drop_logs, replacing
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import GitFailed
from yaadwatch.repo.layout import Layout
from yaadwatch.system import files
from yaadwatch.workspace.stores import is_of, is_there
from yaadwatch.workspace.workspace import Home

SNAPSHOTS = "snapshots"
"""The folder beside a store with snapshots of agent files."""

_log: Final = logging.getLogger(__name__)
_following: Final = threading.Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The project of a repository, registered for the repository's current place.

    Attributes:
        project: the project.
        again: the project was watched before.
        adopted: it has earlier memories, because the project had been removed or was gone.
        former_root: the main work tree that the store was created or last used for, if known.
        copy_of: the registered place of the project when this repository is a copy of it.
    """

    project: Project
    again: bool = False
    adopted: bool = False
    former_root: Path | None = None
    copy_of: Path | None = None


def identify(
    home: Home, layout: Layout, *, adopt: bool = False, separate: bool = False
) -> Identity:
    """Return the project of this repository; a new project is registered and gets a store.

    Implements the identity table of docs/contracts.md, row by row.

    Args:
        home: what may be reached.
        layout: the repository.
        adopt: take over the memories of a removed or gone project.
        separate: create a separate project in any case.

    Raises:
        YaadError: CONFLICT (memories from before are known, and neither `adopt` nor `separate`
            says what to do), NOT_FOUND (there is nothing to adopt), REFUSED (nothing to be
            separated from), UNAVAILABLE (a store cannot be made).
    """
    known = home.registered(layout) or home.follow(layout)
    if known is not None and not separate:
        return _again(home, known, layout)
    if known is not None and known.common_dir == layout.common_dir:
        raise YaadError(
            Code.REFUSED,
            f"{known.root} is watched, and no copy of another repository; nothing was changed.",
            hint="To begin with no memories: yaadwatch remove, then yaadwatch add --separate",
        )
    former = None if separate else former_project(home, layout)
    if former is not None and adopt:
        return _adopt(home, former, layout)
    if adopt:
        raise YaadError(
            Code.NOT_FOUND,
            f"There are no earlier memories of {layout.root or layout.common_dir}; nothing was"
            " added.",
            hint="To start without: yaadwatch add",
        )
    if former is not None and _holds_memories(home, former):
        raise _asked(home, former)
    if known is not None:
        _leave(home, known, layout)
    return Identity(project=_register(home, layout))


def follow(home: Home, layout: Layout) -> Project | None:
    """Return the project whose id a repository has, if plausible; otherwise None.

    When the registered place is empty, the repository was moved here and is registered here.
    Otherwise this is a copy: a further work tree of the project.

    Raises:
        YaadError: UNAVAILABLE when git cannot be asked.
    """
    named = repo_layout.project_id(layout.common_dir)
    if not named:
        return None
    with _following:
        project = home.user.read(projects.get, named)
        if project is None or project.removed_at is not None:
            return None
        is_here = project.common_dir == layout.common_dir
        is_gone = project.gone_at is not None
        if (
            is_here
            and not is_gone
            and project.root == (repo_layout.main_root(layout) or layout.common_dir)
        ):
            return project  # another request has just followed it
        # Where a repository was deleted, another may have its id by now.
        if (is_gone or not is_here) and not is_believed(home, project, layout):
            return None
        if not home.user.is_writable or (not is_here and may_be_there(project)):
            home.copies.add((project.id, layout.common_dir))
            return project
        return _move(home, project, layout)


def note_places(home: Home, project: str | None = None) -> None:
    """Note which projects, one or all (None), are gone from their places, or back there.

    A moved project is followed once something is asked in its new place.
    """
    with _following:
        every = home.user.read(projects.everything)
        near = set(files.near(row.common_dir for row in every if project in (None, row.id)))
        for row in every:
            if row.common_dir not in near:
                continue
            try:
                _note_place(home, row)
            except YaadError as error:
                _log.warning("project.not_followed", extra={"project": row.id, "why": str(error)})


def _note_place(home: Home, project: Project) -> None:
    if not is_there(project):
        if project.gone_at is None:
            home.user.write(projects.set_gone, project.id, home.clock.now())
            _log.info("project.gone", extra={"project": project.id, "path": str(project.root)})
        return
    layout = repo_layout.find(project.root)
    if project.gone_at is not None:
        if layout is None or not is_believed(home, project, layout):
            return
        home.user.write(projects.set_gone, project.id, None)
    if project.root_commit or layout is None:
        return
    head = repo_layout.read_head(layout)
    if head is None or head.commit:  # else there is no commit yet
        commit = home.repository(layout).root_commit()
        if commit:
            home.user.write(projects.set_root_commit, project.id, commit)


def _move(home: Home, project: Project, layout: Layout) -> Project | None:
    """Register a project's new place; None when the project was removed meanwhile."""
    moved = located(project, layout)
    if not home.user.write(projects.move, moved):
        return None
    home.copies.discard((project.id, layout.common_dir))
    known = Identity(project=moved, again=True, former_root=project.root)
    register_trees(home, known, layout)
    extra = {"project": project.id, "was": str(project.root), "path": str(moved.root)}
    _log.info("project.followed", extra=extra)
    return moved


def former_project(home: Home, layout: Layout) -> Project | None:
    """Return the removed or gone project that this repository belonged to.

    Repositories match by `origin`; without one by the first commit; before the first commit by
    path.
    """
    remote, root_commit = (
        repo_layout.remote(layout.common_dir),
        home.repository(layout).root_commit(),
    )
    named = repo_layout.project_id(layout.common_dir)
    if named and home.user.read(projects.get, named) is None and home.stores.path(named).exists():
        return _of(home, layout, named)  # the registry was lost

    def is_same(project: Project) -> bool:
        is_like = remote == project.remote or root_commit == project.root_commit
        if project.id == named and is_like:
            return True
        if remote or project.remote:
            return remote == project.remote
        if root_commit or project.root_commit:
            return root_commit == project.root_commit
        return project.common_dir == layout.common_dir

    for project in home.user.read(projects.known):
        left = project.removed_at is not None or not may_be_there(project)
        if left and is_same(project) and os.path.lexists(home.stores.path(project.id)):
            return project
    return None


def is_believed(home: Home, project: Project, layout: Layout) -> bool:
    """Return whether a repository elsewhere with a project's id may be that project's.

    An archive may bring any id along, so a different `origin` and history is rejected.
    """
    remote = repo_layout.remote(layout.common_dir)
    if remote and remote == project.remote:
        return True
    if not project.root_commit:
        is_here = layout.common_dir == project.common_dir
        return not project.remote and (is_here or not is_there(project))
    return home.repository(layout).commit_named(project.root_commit) is not None


def register_trees(home: Home, identity: Identity, layout: Layout) -> None:
    """Register every work tree of the repository, and drop those that are gone or not its own.

    Rows of a moved main work tree are kept.
    """
    project = identity.project
    current = [tree.root for tree in repo_layout.worktrees(layout) if tree.root is not None]
    main = repo_layout.main_root(layout)
    # Work trees that git has yet to find again after a move, or on a disk that is not mounted.
    named = repo_layout.registered(layout)
    with home.stores.use(project) as db:
        before = db.read(projects.all_worktrees)
        kept = {*current, *named, *(row.path for row in before if _is_tree_of(project, row.path))}

        def commit(conn: Connection) -> None:
            rows = projects.all_worktrees(conn)
            lost = [row for row in rows if row.path not in kept]
            if main is not None and all(row.path != main for row in rows):
                # In a store from another machine the first work tree is the main one.
                former = identity.former_root or next((row.path for row in lost), None)
                for row in lost:
                    if row.path == former:
                        projects.move_worktree(conn, row.id, main)
            for row in projects.all_worktrees(conn):
                if row.path not in kept:
                    projects.drop_worktree(conn, row.id)
            for root in current:
                projects.add_worktree(conn, root)

        db.write(commit)


def located(project: Project, layout: Layout) -> Project:
    """Return the project as it is registered for the place of `layout`."""
    return replace(
        project,
        root=repo_layout.main_root(layout) or layout.common_dir,
        common_dir=layout.common_dir,
        gone_at=None,
    )


def restore(home: Home, layout: Layout, date: str | None = None) -> Identity:
    """Return the project of this repository with the memories of its newest sound backup.

    Args:
        home: what may be reached.
        layout: the repository.
        date: take the newest backup of this day (YYYY-MM-DD, UTC) or before.

    Raises:
        YaadError: NOT_FOUND (no sound backup), CONFLICT (there are memories that the backup would
            replace), UNAVAILABLE (it cannot be read or written).
    """
    where = repo_layout.main_root(layout) or layout.common_dir
    project = home.registered(layout) or home.follow(layout) or _lost(home, layout)
    backup = newest_backup(project, date) if project is not None else None
    if project is None or backup is None:
        days = _days_of_backups(project) if project is not None else ""
        until = f" of {date} or before" if date else ""
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no sound backup of {where}{until}; nothing was restored.",
            hint=f"There are those of {days}." if days else "Start afresh: yaadwatch add",
        )
    path = home.stores.path(project.id)
    if os.path.lexists(path) and _holds_memories(home, project):
        raise YaadError(
            Code.CONFLICT,
            f"{path} holds memories of its own; it was not replaced by {backup}.",
            hint="To have the backup instead, move that file away, then try again. There are those"
            f" of {_days_of_backups(project)} (--date).",
        )
    home.stores.close_one(project.id)
    outcome = "nothing was restored"
    files.private_folder(path.parent.parent)
    files.private_folder(path.parent)
    with replacing(path, outcome) as temporary:
        try:
            shutil.copyfile(backup, temporary)
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE,
                f"{backup} could not be copied to {path} ({error.strerror}); {outcome}.",
                hint="Look at the space and the permissions there, then try again.",
            ) from error
        drop_logs(path)
    former_root = project.root
    back = replace(located(project, layout), removed_at=None)
    home.user.write(projects.put, _marked(home, back))
    with home.stores.use(back) as db:
        _forget_lost(db)
    return Identity(project=back, adopted=True, former_root=former_root)


def newest_backup(project: Project, date: str | None = None) -> Path | None:
    """Return the newest sound backup of a project's store, of a day or before; None without one."""
    return soundness.newest_sound_copy(places.backups(project.id), role="project", date=date)


def _days_of_backups(project: Project) -> str:
    names = sorted((one.name for one in places.backups(project.id).glob("*.db")), reverse=True)
    return ", ".join(dict.fromkeys(f"{name[:4]}-{name[4:6]}-{name[6:8]}" for name in names))


def repositories(home: Home, project: Project) -> list[Path]:
    """Return the git folders with a project's id: its own, and those of copies."""
    found = [project.common_dir]
    with contextlib.suppress(YaadError), home.stores.use(project) as db:
        for row in db.read(projects.all_worktrees):
            layout = repo_layout.find(row.path)
            if layout is not None and is_of(project, layout) and layout.common_dir not in found:
                found.append(layout.common_dir)
    return found


def excludes(path: Path, line: str) -> bool:
    """Return whether an exclude file has a line.

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
            f"{path} cannot be read ({error.strerror}); {line} was not written to it.",
            hint="yaadwatch lists its own files there, so that git ignores them. Look at the"
            " permissions, then try again.",
        ) from error
    return line.encode() in lines


def unmark(home: Home, project: Project, common_dirs: Iterable[Path]) -> None:
    """Remove the id of a project from the git configuration of its repositories, where possible."""
    for common_dir in common_dirs:
        if repo_layout.project_id(common_dir) == project.id:
            _configure(home, common_dir, None)


def delete_store(home: Home, project: str) -> None:
    """Delete a project's store, copies and backups.

    Raises:
        YaadError: UNAVAILABLE when something could not be deleted.
    """
    home.stores.close_one(project)
    for folder in (home.stores.path(project).parent, places.backups(project)):
        try:
            if os.path.lexists(folder):
                shutil.rmtree(folder)
        except OSError as error:
            raise YaadError(
                Code.UNAVAILABLE,
                f"{error.filename or folder} cannot be deleted ({error.strerror}).",
                hint="Look at its permissions, then try again.",
            ) from error


def _again(home: Home, known: Project, layout: Layout) -> Identity:
    if not os.path.lexists(home.stores.path(known.id)):
        home.stores.create(known.id)
    if known.common_dir != layout.common_dir:
        return Identity(project=known, again=True, copy_of=known.root)
    remote = repo_layout.remote(layout.common_dir)
    current = replace(known, root=repo_layout.main_root(layout) or layout.common_dir, remote=remote)
    if known.by_path:  # it may be writable now
        current = _marked(home, current)
    if current != known:
        home.user.write(projects.put, current)
    return Identity(project=current, again=True, former_root=known.root)


def _adopt(home: Home, former: Project, layout: Layout) -> Identity:
    back = replace(
        located(former, layout),
        remote=repo_layout.remote(layout.common_dir),
        root_commit=home.repository(layout).root_commit(),
        removed_at=None,
    )
    home.stores.close_one(former.id)
    home.user.write(projects.put, _marked(home, back))
    return Identity(project=back, adopted=True, former_root=former.root)


def _register(home: Home, layout: Layout) -> Project:
    """Register a new project, create its store, then write its id to git's configuration.

    An id unknown here is kept: another data folder, for example of a container's host, may use it.
    """
    named = repo_layout.project_id(layout.common_dir)
    taken = named and (home.user.read(projects.get, named) or home.stores.path(named).exists())
    new = _of(home, layout, home.new_id() if taken or not named else named)
    home.user.write(projects.put, new)
    try:
        home.stores.create(new.id)
        project = _marked(home, new)
        if project != new:
            home.user.write(projects.put, project)
    except BaseException:
        home.user.write(projects.drop, new.id)
        delete_store(home, new.id)
        raise
    return project


def _of(home: Home, layout: Layout, project: str) -> Project:
    return Project(
        id=project,
        root=repo_layout.main_root(layout) or layout.common_dir,
        common_dir=layout.common_dir,
        remote=repo_layout.remote(layout.common_dir),
        root_commit=home.repository(layout).root_commit(),
        added_at=home.clock.now(),
    )


def _marked(home: Home, project: Project) -> Project:
    """Return the project after writing its id to git's configuration, or noting that this
    failed.
    """
    bears = repo_layout.project_id(project.common_dir) == project.id
    bears = bears or _configure(home, project.common_dir, project.id)
    return replace(project, by_path=not bears)


def _configure(home: Home, common_dir: Path, value: str | None) -> bool:
    """Write or remove (None) the id in git's configuration; return whether that succeeded."""
    config = common_dir / "config"
    try:
        found = config.lstat()
    except OSError:
        return False
    if config.is_symlink() or found.st_uid != os.geteuid() or not os.access(config, os.W_OK):
        return False
    change = ["--unset-all", "yaad.project"] if value is None else ["yaad.project", value]
    # Run outside any repository, so that git reads only this file of that repository.
    arguments = ["config", "--file", str(config), *change]
    try:
        home.git.run(arguments, cwd=places.data_folder(), isolated=True, allowed=(0, 5))
    except (GitFailed, YaadError):
        return False
    return repo_layout.project_id(common_dir) == (value or "")


def _leave(home: Home, project: Project, layout: Layout) -> None:
    """Detach a copy, so far a work tree of the project, from the project."""
    roots = [tree.root for tree in repo_layout.worktrees(layout)]

    def commit(conn: Connection) -> None:
        for row in projects.all_worktrees(conn):
            if row.path in roots:
                projects.drop_worktree(conn, row.id)

    with home.stores.use(project) as db:
        db.write(commit)
    home.copies.discard((project.id, layout.common_dir))


def _asked(home: Home, former: Project) -> YaadError:
    with home.stores.use(former) as db:
        memories = db.read(nodes.count)
    when = former.removed_at or former.gone_at
    since = f" until {when.astimezone():%Y-%m-%d}" if when is not None else ""
    are, what = ("is", "1 memory") if memories == 1 else ("are", f"{memories} memories")
    return YaadError(
        Code.CONFLICT,
        f"There {are} {what} of this repository from earlier (watched at {former.root}{since});"
        " nothing was added.",
        hint="To use them: yaadwatch add --adopt. To start without: yaadwatch add --separate",
    )


def _holds_memories(home: Home, project: Project) -> bool:
    """Return whether a store has memories that reading the agent files again would not restore."""
    with home.stores.use(project) as db:
        return db.read(nodes.has_own_memories)


def _lost(home: Home, layout: Layout) -> Project | None:
    """Return the project whose backups may belong to this repository, with or without its store."""
    former = former_project(home, layout)
    if former is not None:
        return former
    remote = repo_layout.remote(layout.common_dir)
    for project in home.user.read(projects.known):
        is_same = remote == project.remote if remote or project.remote else False
        if is_same or project.common_dir == layout.common_dir:
            return project
    return None


def may_be_there(project: Project) -> bool:
    """Return whether a repository is at its place; network disks are not accessed."""
    return not files.near([project.common_dir]) or is_there(project)


def _is_tree_of(project: Project, root: Path) -> bool:
    found = repo_layout.find(root)
    return found is not None and found.root == root and is_of(project, found)


def _forget_lost(db: Database) -> None:
    """Delete the snapshot rows of a store whose files are missing.

    A backup holds only the database, so a restored one may name snapshots that were dropped later.
    """
    folder = db.path.parent / SNAPSHOTS
    lost = [name for name in db.read(history.snapshot_names) if not (folder / name).is_file()]
    if lost:
        db.write(history.drop_snapshots, lost)
