"""Which repositories are watched: add one, take one away, list them."""

import os
import shlex
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from yaadwatch import prepared_briefs
from yaadwatch.api.messages.files import Add, Remove
from yaadwatch.engine import baseline, identity, json_views, stale
from yaadwatch.engine.agent_files.reading import AgentFile
from yaadwatch.engine.doubts import doubting
from yaadwatch.engine.stores.open_stores import why_missing
from yaadwatch.engine.syncing import modes, releasing, tree
from yaadwatch.engine.workspace import Call, Home, require_files, require_repository
from yaadwatch.model.agent_files import ABSENT, READ, AgentFileRow
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import anchors, meta, nodes
from yaadwatch.store import projects as registry
from yaadwatch.system.git import layout as layouts
from yaadwatch.system.git.command import NoGit


def add(home: Home, call: Call, ask: Add) -> dict[str, object]:
    """Watch the repository that the call comes from, and read its agent files; the answer is Added.

    Adding again reads the agent files again and makes nothing twice. When adding anew goes wrong,
    nothing of ours is left in the repository.

    Raises:
        YaadError: NOT_FOUND (no repository, no backup, nothing to adopt), CONFLICT (memories are
            kept from before, and neither `adopt` nor `separate` was said; restore over memories),
            UNAVAILABLE (git, disk).
    """
    home.user.refuse_if_stands_in()
    layout = require_files(require_repository(call.folder))
    try:
        home.repository(layout).verify()
    except NoGit:
        raise NoGit("nothing was added: git has to vouch for a repository once") from None
    with home.adding, ExitStack() as undo:
        if ask.restore:
            found = identity.restore(home, layout)
        else:
            found = identity.identify(home, layout, adopt=ask.adopt, separate=ask.separate)
            if not (found.again or found.adopted):
                undo.callback(_undo, home, found.project)
        project = found.project
        identity.register_trees(home, found, layout)
        with home.space(Call(folder=layout.root or call.folder, origin=call.origin)) as space:
            if found.adopted:
                releasing.forget_agreements(space)
            said = baseline.read(home, space)
            chosen = ask.mode or (space.db.read(meta.get, modes.ASKED) if found.adopted else None)
            if chosen:
                releasing.choose(home, space, chosen)
            stale.check_space(home, space, None)
            done = tree.sync_space(home, space)
            known = {row.path: row for row in done.files}
            doubts = space.db.read(doubting.of_worktree, space.worktree.id)
            shallow = json_views.shallow_row(space)
            guards = space.db.read(anchors.census)
        undo.pop_all()
    return {
        "id": project.id,
        "path": str(project.root),
        "store": str(home.stores.path(project.id)),
        "again": found.again,
        "adopted": found.adopted,
        "copy_of": str(found.copy_of) if found.copy_of is not None else None,
        "by_path": project.by_path,
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
        "mode": ask.mode,
        "wrote": list(done.wrote),
        "undo": f"yaadwatch remove {shlex.quote(str(project.root))}",
    }


def remove(home: Home, call: Call, ask: Remove) -> dict[str, object]:
    """Watch a repository no more, and take out of it what we put there; the answer is Removed.

    Its memories are kept in the data folder, so that `add --adopt` has them again.

    Raises:
        YaadError: NOT_FOUND when it is not watched; REFUSED and UNAVAILABLE when what is ours
            cannot be taken out of an agent file (then nothing was removed).
    """
    home.user.refuse_if_stands_in()
    project = _known_at(home, call.folder, removed=ask.erase)
    is_watched = project.removed_at is None
    missing = why_missing(project)
    memories = _count(home, project)
    # Where another repository is at its place, nothing there is ours.
    if is_watched and (not missing or not os.path.lexists(project.common_dir)):
        releasing.take_out_everything(home, project)
    repositories = identity.repositories(home, project)
    home.stores.close_one(project.id)
    if ask.erase:
        identity.delete_store(home, project.id)
        home.user.write(registry.drop, project.id)
    else:
        home.user.write(registry.put, replace(project, removed_at=home.clock.now()))
    identity.unmark(home, project, repositories)
    home.forget(project)
    home.stores.close_one(project.id)  # a check may have opened it in between
    prepared_briefs.clear()  # those of other projects are prepared again with their next check
    back = f"yaadwatch add --adopt {shlex.quote(str(project.root))}"
    return {
        "id": project.id,
        "path": str(project.root),
        "memories": memories,
        "kept": None if ask.erase else str(home.stores.path(project.id).parent),
        "undo": None if ask.erase or missing else back,
        "later": back if missing and not ask.erase else None,
        "was_watched": is_watched,
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


def _undo(home: Home, project: Project) -> None:
    """Leave nothing of a project that could not be added."""
    releasing.take_out_everything(home, project)
    identity.unmark(home, project, [project.common_dir])
    home.user.write(registry.drop, project.id)
    identity.delete_store(home, project.id)


def _known_at(home: Home, folder: Path, *, removed: bool) -> Project:
    """Return the project of a folder, also when its repository is no longer there.

    Args:
        home: what may be reached.
        folder: in the repository, or where it was.
        removed: one that is not watched any more is meant, too.
    """
    layout = layouts.find(folder)
    known = None
    if layout is not None:
        known = home.registered(layout) or home.follow(layout)
    if known is not None and folder.absolute() in (known.root, known.common_dir):
        return known
    former = home.user.read(registry.known) if removed else []
    every = [*home.user.read(registry.everything), *former]
    # One that is registered by that very name is meant rather than the one that it lies in.
    for project in every:
        if folder.absolute() in (project.root, project.common_dir):
            return project
    if known is not None:
        return known
    for project in every:
        if layout is not None and layout.common_dir == project.common_dir:
            return project
    raise YaadError(
        Code.NOT_FOUND,
        f"{folder} is not watched; nothing was removed.",
        hint="What is watched: yaadwatch list",
    )


def _count(home: Home, project: Project) -> int:
    """Return how many memories a project has; of a store that cannot be read none are known."""
    try:
        with home.stores.use(project) as db:
            return db.read(nodes.count)
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return 0
