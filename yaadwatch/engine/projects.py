"""Which repositories are watched: add one, take one away, list them."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from yaadwatch import places
from yaadwatch.engine import agent_files, remember, stale, telling
from yaadwatch.engine.agent_files import AgentFile
from yaadwatch.engine.remember import Draft
from yaadwatch.engine.workspace import Call, Home, Space, refuse_unsafe, require_repository
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import Provenance
from yaadwatch.model.projects import Project
from yaadwatch.store import meta, nodes, provenance, worktrees
from yaadwatch.store import projects as registry
from yaadwatch.store.connection import Connection
from yaadwatch.store.sqlite.database import Database
from yaadwatch.system import files
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.layout import Layout

EXCLUDED = "/.yaad/"
"""The line that keeps our folder out of git."""


def add(home: Home, call: Call, *, trust: bool = False, restore: bool = False) -> dict[str, object]:
    """Watch the repository that the call comes from, and read its agent files; the answer is Added.

    Adding again reads the agent files again and makes nothing twice.

    Args:
        home: what may be reached.
        call: a folder in the repository.
        trust: adopt a store in `.yaad/` that this machine does not know.
        restore: bring the newest backup of this repository's memories back.

    Raises:
        YaadError: NOT_FOUND (no repository, no backup), REFUSED (a store that is a link, tracked,
            of somebody else or unknown), UNAVAILABLE (git, disk), CONFLICT (restore over a store).
    """
    layout = require_repository(call.folder)
    repository = home.repository(layout)
    repository.verify()
    folder = _store_folder(layout)
    if layout.root is not None and repository.is_tracked(".yaad"):
        raise YaadError(
            Code.REFUSED,
            f"{layout.root}/.yaad is tracked by git; nothing was read from it or written to it.",
            hint="Memories do not belong into git: git rm -r --cached .yaad",
        )
    refuse_unsafe(folder / "yaad.db")
    former = home.user.read(registry.removed, layout.common_dir)
    if restore:
        project, again = _restored(home, layout, folder, former), False
    else:
        project, again = _identify(home, layout, folder, trust=trust)
    _register_trees(home, project, layout)
    _exclude(home, project)
    space_call = Call(folder=layout.root or call.folder, origin=call.origin)
    with home.space(space_call) as space:
        before = space.db.read(nodes.count)
        found = agent_files.read_all(space, home.clock.now_ns())
        statements, anchored = _read_baseline(home, space, found)
        after = space.db.read(nodes.count)
        stale.check_space(home, space, None)
    backup = _newest_backup(former) if former is not None and not restore else None
    root = layout.root or layout.common_dir
    return {
        "id": project.id,
        "path": str(project.root),
        "store": str(project.store),
        "again": again,
        "imported": {"statements": statements, "nodes": after - before, "anchored": anchored},
        "files": [
            {
                "path": file.path,
                "statements": len(file.statements),
                "state": file.state,
                "reason": file.reason or None,
            }
            for file in found
        ],
        "backup": str(backup) if backup is not None and not again else None,
        "undo": f"yaadwatch remove {root}",
    }


def remove(home: Home, call: Call) -> dict[str, object]:
    """Watch a repository no more: back its store up, then take away all that we put there.

    The answer is Removed.

    Raises:
        YaadError: NOT_FOUND when it is not watched; UNAVAILABLE when the backup cannot be written
            (then nothing was removed).
    """
    project = _watched_at(home, call.folder)
    now = home.clock.now()
    memories, backup = _back_up(home, project, now)
    home.stores.close_one(project.id)
    _take_away(project)
    gone = replace(project, excluded="", removed_at=now)
    home.user.write(registry.replace, gone)
    return {
        "id": project.id,
        "path": str(project.root),
        "backup": str(backup) if backup is not None else None,
        "memories": memories,
        "undo": f"yaadwatch add --restore {project.root}" if backup is not None else None,
    }


def projects(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return every watched project; the answer is Projects."""
    return {
        "projects": [
            telling.project_row(home, project) for project in home.user.read(registry.everything)
        ]
    }


def _identify(home: Home, layout: Layout, folder: Path, *, trust: bool) -> tuple[Project, bool]:
    """Return the project of this repository, registered, and whether it was before."""
    known = home.user.read(registry.by_common_dir, layout.common_dir)
    if known is not None:
        if known.store.exists():
            current = _located(known, layout, known.store.parent)
            if current != known:
                home.user.write(registry.replace, current)
            return current, True
        home.stores.close_one(known.id)
        home.user.write(registry.replace, replace(known, removed_at=home.clock.now()))
    path = folder / "yaad.db"
    if path.exists():
        return _adopt(home, layout, folder, trust=trust)
    return _register(home, layout, folder, home.new_id()), False


def _adopt(home: Home, layout: Layout, folder: Path, *, trust: bool) -> tuple[Project, bool]:
    """Take over a store that is there already: ours that moved, a copy, or one to be trusted."""
    path = folder / "yaad.db"
    db = Database.open(path, role="project")
    try:
        found = db.read(meta.get, "project") or ""
        registered = home.user.read(registry.get, found) if found else None
        if registered is None or registered.removed_at is not None:
            if not trust:
                raise YaadError(
                    Code.REFUSED,
                    f"{path} was not made on this machine (or was removed here); it was not used.",
                    hint="If you trust what it says: yaadwatch add --trust. Else delete it.",
                )
            if registered is not None:
                home.user.write(registry.drop, found)
            return _register(home, layout, folder, found or home.new_id()), False
        if _lives(registered) and registered.common_dir != layout.common_dir:
            project = _register(home, layout, folder, home.new_id())
            db.write(meta.put, "project", project.id)
            return project, False
        home.stores.close_one(registered.id)
        moved = _located(registered, layout, folder)
        home.user.write(registry.replace, moved)
        return moved, True
    finally:
        db.close()


def _restored(home: Home, layout: Layout, folder: Path, former: Project | None) -> Project:
    known = home.user.read(registry.by_common_dir, layout.common_dir)
    source = known if known is not None and not known.store.exists() else former
    backup = _newest_backup(source) if source is not None else None
    if source is None or backup is None:
        raise YaadError(
            Code.NOT_FOUND,
            f"There is no backup of {layout.root or layout.common_dir}; nothing was restored.",
            hint="Start afresh: yaadwatch add",
        )
    path = folder / "yaad.db"
    if path.exists() or (known is not None and known is not source):
        raise YaadError(
            Code.CONFLICT,
            f"{path} exists; it was not replaced by the backup.",
            hint="Put it aside first: yaadwatch remove, then add --restore",
        )
    files.private_folder(folder)
    partial = path.with_suffix(".restoring")
    shutil.copyfile(backup, partial)
    partial.chmod(0o600)
    partial.replace(path)
    back = replace(_located(source, layout, folder), removed_at=None)
    home.stores.close_one(back.id)
    home.user.write(registry.replace, back)
    return back


def _register(home: Home, layout: Layout, folder: Path, project_id: str) -> Project:
    """Write a new project into the registry, then make its store.

    In this order: a store without a row would be refused as somebody else's at the next try.
    """
    main = _main_root(layout)
    found = layout.common_dir.stat()
    if folder == _far_folder(""):
        folder = _far_folder(project_id)
    project = Project(
        id=project_id,
        root=main or layout.common_dir,
        common_dir=layout.common_dir,
        device=found.st_dev,
        inode=found.st_ino,
        store=folder / "yaad.db",
        excluded="",
        added_at=home.clock.now(),
    )
    home.user.write(registry.add, project)
    if not project.store.exists():
        files.private_folder(folder)
        Database.open(project.store, role="project", project=project.id, create=True).close()
    return project


def _located(project: Project, layout: Layout, folder: Path) -> Project:
    """Return the project as it is registered for the place it is at now."""
    found = layout.common_dir.stat()
    return replace(
        project,
        root=_main_root(layout) or layout.common_dir,
        common_dir=layout.common_dir,
        device=found.st_dev,
        inode=found.st_ino,
        store=folder / "yaad.db",
    )


def _lives(project: Project) -> bool:
    """Return whether the repository is still at the place it is registered for."""
    try:
        found = project.common_dir.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (project.device, project.inode)


def _main_root(layout: Layout) -> Path | None:
    """Return the main work tree; None for a bare repository."""
    if layout.common_dir.name == ".git":
        return layout.common_dir.parent
    return layout.root if layout.git_dir == layout.common_dir else None


def _store_folder(layout: Layout) -> Path:
    main = _main_root(layout)
    place = main or layout.common_dir
    if files.is_network(place):
        return _far_folder("")
    return main / ".yaad" if main is not None else layout.common_dir / "yaad"


def _far_folder(project_id: str) -> Path:
    """Return where the store is kept when the repository's file system cannot hold one safely."""
    return places.home() / "projects" / project_id


def _register_trees(home: Home, project: Project, layout: Layout) -> None:
    """Know every work tree there is, and none that is gone."""
    current = {tree.root for tree in layouts.worktrees(layout) if tree.root is not None}
    with home.stores.use(project) as db:
        for row in db.read(worktrees.everything):
            if row.path not in current and not row.path.is_dir():
                db.write(worktrees.drop, row.id)
        for root in sorted(current):
            if db.read(worktrees.by_path, root) is None:
                db.write(worktrees.add, root)


def _exclude(home: Home, project: Project) -> None:
    if project.excluded or project.store.parent.name != ".yaad":
        return
    path = project.common_dir / "info" / "exclude"
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        lines = []
    if EXCLUDED in lines:
        return
    appended = files.append_line_exact(path, EXCLUDED)
    home.user.write(registry.replace, replace(project, excluded=appended))


def _read_baseline(home: Home, space: Space, found: Sequence[AgentFile]) -> tuple[int, int]:
    """Take the statements of the agent files in; return how many, and how many rest on files."""
    drafts = [
        Draft(
            text=statement.text,
            origin=f"file:{file.path}",
            kind=statement.kind,
            headings=statement.headings,
            folder=file.path.rpartition("/")[0],
            baseline=True,
        )
        for file in found
        for statement in file.statements
    ]
    admitted = remember.admit(home, space, drafts) if drafts else []
    now = home.clock.now()
    said = iter(admitted)
    rows: dict[str, list[Provenance]] = {}
    for file in found:
        if file.state == "synced" and not file.reason.startswith("is the same file"):
            rows[file.path] = [
                Provenance(
                    node=next(said).node.id,
                    worktree=space.worktree.id,
                    path=file.path,
                    position=position,
                    line=statement.line,
                    since=now,
                )
                for position, statement in enumerate(file.statements)
            ]
    listed = [
        {"path": f.path, "mode": "read", "state": f.state, "reason": f.reason or None}
        for f in found
    ]

    def commit(conn: Connection) -> None:
        for path, places_now in rows.items():
            provenance.put_path(conn, space.worktree.id, path, _with_hidden(conn, path, places_now))
        meta.put(conn, "agent_files", json.dumps(listed))

    def _with_hidden(conn: Connection, path: str, places_now: list[Provenance]) -> list[Provenance]:
        """Keep what the file said before as hidden: another branch may say it again."""
        still = {place.node for place in places_now}
        before = provenance.on_path(conn, space.worktree.id, path)
        hidden = [place for place in before if place.node not in still]
        start = len(places_now)
        return places_now + [
            replace(place, line=None, position=start + number)
            for number, place in enumerate(hidden)
        ]

    space.db.write(commit)
    return len(drafts), sum(1 for one in admitted if one.anchors)


def _watched_at(home: Home, folder: Path) -> Project:
    """Return the project of a folder, also when its repository is no longer there."""
    layout = layouts.find(folder)
    if layout is not None:
        known = home.user.read(registry.by_common_dir, layout.common_dir)
        if known is not None:
            return known
    for project in home.user.read(registry.everything):
        if folder.absolute() in (project.root, project.common_dir):
            return project
    raise YaadError(
        Code.NOT_FOUND,
        f"{folder} is not watched; nothing was removed.",
        hint="What is watched: yaadwatch list",
    )


def _back_up(home: Home, project: Project, now: datetime) -> tuple[int, Path | None]:
    """Copy the store to the backups; a store that cannot be read is copied as it is."""
    if not project.store.exists():
        return 0, _newest_backup(project)
    target = places.backups(project.id) / f"{now:%Y%m%dT%H%M%S}.db"
    try:
        with home.stores.use(project) as db:
            memories = db.read(nodes.count)
            db.backup(target)
            return memories, target
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        files.private_folder(places.backups(project.id).parent)
        files.private_folder(places.backups(project.id))
        raw = target.with_suffix(".unreadable")
        shutil.copyfile(project.store, raw)
        raw.chmod(0o600)
        return 0, None


def _newest_backup(project: Project) -> Path | None:
    return max(places.backups(project.id).glob("*.db"), default=None)


def _take_away(project: Project) -> None:
    """Remove our own files from the repository, and the line that excluded them."""
    folder = project.store.parent
    if folder.is_dir() and not folder.is_symlink():
        for path in folder.glob("yaad.db*"):
            path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    if project.excluded:
        files.remove_exact(project.common_dir / "info" / "exclude", project.excluded)
