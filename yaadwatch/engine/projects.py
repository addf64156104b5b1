"""Which repositories are watched: add one, take one away, list them."""

import errno
import shlex
import shutil
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from yaadwatch import prepared_briefs
from yaadwatch.engine import baseline, identity, json_views, stale
from yaadwatch.engine.agent_files.reading import AgentFile
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.stores.deleted_stores import backup_path
from yaadwatch.engine.stores.store_places import (
    EXCLUDED,
    STORE_FOLDER,
    exclude_file,
    has_its_number,
    is_anothers,
    lacking,
    leads_away,
    refuse_unsafe,
    stands,
)
from yaadwatch.engine.syncing import modes, releasing, tree
from yaadwatch.engine.workspace import Call, Home, require_files, require_repository
from yaadwatch.model.agent_files import ABSENT, READ, AgentFileRow
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import anchors, meta, nodes
from yaadwatch.store import projects as registry
from yaadwatch.system import config, files
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.command import NoGit
from yaadwatch.system.git.layout import Layout

TEAM_SETTINGS: Final = f"{STORE_FOLDER}/{config.FILE}"
"""The one file in our folder that a team may track; it can set little."""


def add(
    home: Home, call: Call, *, trust: bool = False, restore: bool = False, mode: str | None = None
) -> dict[str, object]:
    """Watch the repository that the call comes from, and read its agent files; the answer is Added.

    Adding again reads the agent files again and makes nothing twice. When adding anew goes wrong,
    nothing of ours is left in the repository.

    Args:
        home: what may be reached.
        call: a folder in the repository.
        trust: adopt a store in `.yaad/` that this machine does not know.
        restore: bring the newest backup of this repository's memories back.
        mode: how all its agent files take part (inline, private, read); None: each as suits it,
            or as it was.

    Raises:
        YaadError: NOT_FOUND (no repository, no backup), REFUSED (a store that is a link, tracked,
            of somebody else or unknown), UNAVAILABLE (git, disk), CONFLICT (restore over memories).
    """
    home.user.refuse_if_stands_in()
    layout = require_files(require_repository(call.folder))
    with closing(home.repository(layout)) as repository:
        try:
            repository.verify()
        except NoGit:
            raise NoGit("nothing was added: git has to vouch for a repository once") from None
        is_ours_tracked = layout.root is not None and repository.is_tracked(
            STORE_FOLDER, but=TEAM_SETTINGS
        )
    folder = identity.store_folder(layout)
    if is_ours_tracked:
        raise YaadError(
            Code.REFUSED,
            f"{layout.root}/.yaad is tracked by git; nothing was read from it or written to it.",
            hint="Memories do not belong in git; only config.toml does: git rm -r --cached .yaad",
        )
    refuse_unsafe(folder / "yaad.db")
    _refuse_linked_exclude(layout, folder)
    with home.adding, ExitStack() as undo:
        former = home.user.read(registry.by_common_dir, layout.common_dir)
        if former is not None:
            home.follow(layout)  # to where it was moved, before this one takes its place
        fresh = not stands(folder / "yaad.db")
        before = {row.id: row for row in home.user.read(registry.everything)}
        if restore:
            found = identity.restored(home, layout, folder)
        else:
            found = identity.identify(home, layout, folder, trust=trust)
            if fresh and not found.again:
                undo.callback(_undo, home, found.project.id)
        project = found.project
        identity.register_trees(home, found, layout)
        identity.exclude(home, project)
        with home.space(Call(folder=layout.root or call.folder, origin=call.origin)) as space:
            if restore:
                releasing.forget_agreements(space)
                identity.forget_lost(space.db)
            said = baseline.read(home, space)
            chosen = mode or (space.db.read(meta.get, modes.ASKED) if restore else None)
            if chosen:
                releasing.choose(home, space, chosen)
            stale.check_space(home, space, None)
            done = tree.sync_space(home, space)
            known = {row.path: row for row in done.files}
            doubts = space.db.read(doubting.of_worktree, space.worktree.id)
            shallow = json_views.shallow_row(space)
            guards = space.db.read(anchors.census)
        undo.pop_all()
    removed = identity.last_removed(home, layout.common_dir)
    return {
        "id": project.id,
        "path": str(project.root),
        "store": str(project.store),
        "again": found.again,
        "imported": {
            "statements": said.statements,
            "nodes": said.nodes,
            "anchored": said.anchored,
        },
        "files": [
            {
                "path": file.path,
                "statements": len(file.statements),
                **_as_known(file, known.get(file.path)),
            }
            for file in said.files
        ],
        **json_views.counted(doubts),
        "looking": said.looking,
        "shallow": shallow,
        "guards": guards,
        "mode": mode,
        "wrote": list(done.wrote),
        "backup": str(removed[1]) if removed is not None and not (found.again or restore) else None,
        "was_at": _second_path(before.get(project.id), project),
        "undo": f"yaadwatch remove {shlex.quote(str(project.root))}",
    }


def _second_path(before: Project | None, now: Project) -> str | None:
    """Return where a project was watched, if that path still leads to the same repository.

    A bind mount shows one at two paths.
    """
    if before is None or before.common_dir == now.common_dir:
        return None
    try:
        is_same = before.common_dir.samefile(now.common_dir)
    except OSError:
        return None
    return str(before.root) if is_same else None


def remove(home: Home, call: Call) -> dict[str, object]:
    """Watch a repository no more: back its store up, then take away all that we put there.

    One that a link at its former place leads to is removed where it is now; where two changed
    places, the one that is there now is. The answer is Removed.

    Raises:
        YaadError: NOT_FOUND when it is not watched; REFUSED and UNAVAILABLE when the backup cannot
            be written, or our line in git's exclude file cannot be taken out (then nothing was
            removed).
    """
    home.user.refuse_if_stands_in()
    project = _watched_at(home, call.folder)
    now = home.clock.now()
    home.stores.keep_replaced(project)
    if leads_away(project):
        project = _followed(home, call.folder) or project
    elif stands(project.store) and not has_its_number(project):
        home.stores.let_go_if_moved(project.id)
        project = _followed(home, call.folder) or project
    # Else what is at its place is nothing of ours.
    is_there = not (leads_away(project) or is_anothers(project))
    missing = lacking(project)
    memories, backup, can_restore = _back_up(home, project, now, is_there=is_there)
    if is_there:
        releasing.take_out_everything(home, project)
    nothing_new = (
        can_restore
        and is_there
        and identity.last_removed(home, project.common_dir) is not None
        and identity.holds_only_what_files_say(home, project)
    )
    if is_there:
        _take_away(home, project)
    else:
        home.stores.close_one(project.id)
    if nothing_new:  # an older backup, which holds more, is the one to bring back
        home.user.write(registry.drop, project.id)
    else:
        home.user.write(registry.replace, replace(project, excluded="", removed_at=now))
    home.forget(project)
    prepared_briefs.clear()  # those of other projects are prepared again with their next check
    back = f"yaadwatch add --restore {shlex.quote(str(project.root))}" if can_restore else None
    left = None if is_there else _left(home, project, call.folder)
    return {
        "id": project.id,
        "path": str(project.root),
        "backup": str(backup) if backup is not None else None,
        "memories": memories,
        "undo": None if missing else back,
        "later": back if missing else None,
        "left": None if left is None else str(left[0]),
        "adopt": None if left is None else f"yaadwatch add --trust {shlex.quote(str(left[1]))}",
    }


def projects(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return every watched project; the answer is Projects.

    Raises:
        YaadError: UNAVAILABLE when their list cannot be read, and there is no copy of it.
    """
    watched = home.user.read(registry.everything)
    if not watched:
        home.user.refuse_if_stands_in()
    return {"projects": [json_views.project_row(home, project) for project in watched]}


def _as_known(file: AgentFile, row: AgentFileRow | None) -> dict[str, object]:
    """Return how a file takes part and how it is, as the sync left it."""
    if row is None or row.state == ABSENT:
        return {"mode": READ, "state": file.state, "reason": file.reason or None}
    return {"mode": row.mode, "state": row.state, "reason": row.reason or file.reason or None}


def _undo(home: Home, project_id: str) -> None:
    """Leave nothing of a project that could not be added."""
    project = home.user.read(registry.get, project_id)
    if project is not None:
        releasing.take_out_everything(home, project)
        _take_away(home, project)
        home.user.write(registry.drop, project.id)


def _refuse_linked_exclude(layout: Layout, folder: Path) -> None:
    path = exclude_file(layout.common_dir)
    if folder.name != ".yaad" or identity.excludes(path):
        return
    for place in (path.parent, path):
        if place.is_symlink():
            raise YaadError(
                Code.REFUSED,
                f"{place} is a link, and nothing is written through links; nothing was added.",
                hint=f"Put the line {EXCLUDED} into it yourself, then try again.",
            )


def _watched_at(home: Home, folder: Path) -> Project:
    """Return the project of a folder, also when its repository is no longer there.

    One that is registered by that very name is meant rather than one that the folder lies in, or
    that a link at its place leads to.
    """
    layout = layouts.find(folder)
    known = None
    if layout is not None:
        known = home.user.read(registry.by_common_dir, layout.common_dir)
    if known is None or folder.absolute() not in (known.root, known.common_dir):
        for project in home.user.read(registry.everything):
            if folder.absolute() in (project.root, project.common_dir):
                return project
    if known is None and layout is not None:
        known = home.follow(layout)
    if known is not None:
        return known
    raise YaadError(
        Code.NOT_FOUND,
        f"{folder} is not watched; nothing was removed.",
        hint="What is watched: yaadwatch list",
    )


def _followed(home: Home, folder: Path) -> Project | None:
    """Return the project that was moved to where a link at `folder` leads; None: not surely one."""
    layout = layouts.find(folder)
    return home.follow(layout) if layout is not None else None


def _left(home: Home, project: Project, folder: Path) -> tuple[Path, Path] | None:
    """Return the project's store in the repository that a link leads to, and that repository.

    It is one that was moved to another disk, or copied: nobody else's store bears its id.
    """
    layout = layouts.find(folder)
    if layout is None or home.user.read(registry.by_common_dir, layout.common_dir) is not None:
        return None
    store = identity.store_folder(layout) / "yaad.db"
    try:
        is_of = identity.is_store_of(project, store)
    except YaadError:  # what cannot be read is not said to be ours
        return None
    return (store, layout.root or layout.common_dir) if is_of else None


def _back_up(
    home: Home, project: Project, now: datetime, *, is_there: bool
) -> tuple[int, Path | None, bool]:
    """Copy the store to the backups.

    Args:
        home: what may be reached.
        project: whose store.
        now: names the copy.
        is_there: what is at its place is the project's.

    Returns:
        How many memories it holds, the copy, and whether it can be brought back: a store that
        cannot be read is copied as it is.
    """
    target = backup_path(project, now)
    if not (is_there and stands(project.store)):
        db = home.stores.opened(project.id)
        if db is not None:
            db.backup(target)
            return db.read(nodes.count), target, True
        backup = identity.newest_backup(project)
        return 0, backup, backup is not None
    try:
        with home.stores.use(project) as db:
            memories = db.read(nodes.count)
            db.backup(target)
            return memories, target, True
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return 0, _copy_as_it_is(project, target.with_suffix(".unreadable")), False


def _copy_as_it_is(project: Project, target: Path) -> Path:
    try:
        files.private_folder(target.parent.parent)
        files.private_folder(target.parent)
        for path in sorted(project.store.parent.glob("yaad.db*")):
            copy = target.with_name(target.name + path.name.removeprefix("yaad.db"))
            shutil.copyfile(path, copy)
            copy.chmod(0o600)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"No backup could be written to {target.parent} ({error.strerror}); "
            "nothing was removed.",
            hint="Look at the space and the permissions there, then try again.",
        ) from error
    return target


def _take_away(home: Home, project: Project) -> None:
    """Remove the line that excluded our files, and the files."""
    if home.git.indexes is not None:
        home.git.indexes.forget(project.common_dir)
    path = exclude_file(project.common_dir)
    try:
        listed = bool(project.excluded)
        try:
            if listed:
                files.remove_exact(path, project.excluded)
                listed = False
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        home.stores.close_one(project.id)
        identity.delete_store(project)
        if listed:  # on a full disk, there was no room for it as long as the store was there
            files.remove_exact(path, project.excluded)
        # A check may have opened it in between; what is gone cannot be opened any more.
        home.stores.close_one(project.id)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{error.filename or path} cannot be removed or written ({error.strerror}); "
            f"{project.root} is still watched.",
            hint="Look at its permissions and the space there, then try again.",
        ) from error
