"""Add, remove and list watched repositories, and report the status of the daemon and projects."""

import os
import shlex
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, cast

from bridges import registry
from yaadwatch import places
from yaadwatch.api.messages.store import Add, Remove
from yaadwatch.db import anchors, authority, database, history, nodes
from yaadwatch.db import projects as db_projects
from yaadwatch.db.files import Connection
from yaadwatch.memory import flags, views
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.recall import vectors
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import INSTALL_GIT, NO_GIT, NoGit, TimedOut
from yaadwatch.staleness import stale
from yaadwatch.sync import files as agent_files
from yaadwatch.sync import lookback, modes, releasing, tree
from yaadwatch.system import files, processes
from yaadwatch.system.config import FILE, value_of
from yaadwatch.text import privacy
from yaadwatch.workspace import identity, lookup
from yaadwatch.workspace.stores import SETTINGS_FOLDER, why_missing
from yaadwatch.workspace.workspace import Call, Home, require_files, require_repository


def add(home: Home, call: Call, ask: Add) -> dict[str, object]:
    """Watch the repository that the call comes from, and read its agent files; the answer is Added.

    Adding again reads the agent files again and makes nothing twice. When the first time fails,
    nothing of ours is left in the repository. A file that cannot be read now waits for the next
    sync.

    Raises:
        YaadError: NOT_FOUND (no repository, no backup, nothing to adopt), CONFLICT (memories are
            kept from before, and neither `adopt` nor `separate` was given; restore over memories),
            UNAVAILABLE (git, disk).
    """
    layout = require_files(require_repository(call.folder))
    try:
        home.repository(layout).verify()
    except NoGit:
        raise NoGit("nothing was added: git has to vouch for a repository once") from None
    with home.adding:
        alone = home.adds.setdefault(layout.common_dir, threading.Lock())
    # Where git hangs, only another `add` of the same repository waits.
    with alone, ExitStack() as undo:
        with home.adding:
            if ask.restore:
                found = identity.restore(home, layout, ask.date)
            else:
                found = identity.identify(home, layout, adopt=ask.adopt, separate=ask.separate)
                if not (found.again or found.adopted):
                    undo.callback(_undo, home, found.project)
            project = found.project
            identity.register_trees(home, found, layout)
        with home.space(Call(folder=layout.root or call.folder, origin=call.origin)) as space:
            if found.adopted:
                releasing.forget_agreements(space)
            before = space.db.read(nodes.last_num)
            lookback.retry(space)
            chosen = ask.mode or (
                space.db.read(database.get_meta, modes.MODE_KEY) if found.adopted else None
            )
            if chosen:
                releasing.choose_mode(home, space, chosen)
            done = tree.sync_space(home, space, thorough=True)
            stale.check_space(home, space, None)
            shown = agent_files.read_files(home, space, done.files)
            imported = space.db.read(_imported, space.worktree.id, shown, before)
            looking = space.db.read(anchors.lookback_of, space.worktree.id).left
            found_flags = space.db.read(flags.spread_flags, space.worktree.id)
            shallow = views.shallow_row(space)
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
        "imported": imported,
        "files": shown,
        **views.counted(found_flags),
        "looking": looking,
        "shallow": shallow,
        "guards": guards,
        "mode": ask.mode,
        "wrote": list(done.wrote),
        "undo": f"yaadwatch remove {shlex.quote(str(project.root))}",
    }


def remove(home: Home, call: Call, ask: Remove) -> dict[str, object]:
    """Stop watching a repository, and remove what we put into it; the answer is Removed.

    Its memories are kept in the data folder, for `add --adopt`.

    Raises:
        YaadError: NOT_FOUND when it is not watched; REFUSED and UNAVAILABLE when a block cannot be
            removed from an agent file (then nothing was removed).
    """
    project = _project_at(home, call.folder, removed=ask.erase)
    is_watched = project.removed_at is None
    missing = why_missing(project)
    memories = _count(home, project)
    # If another repository has replaced it, nothing there is ours.
    if is_watched and (not missing or not os.path.lexists(project.common_dir)):
        releasing.take_out_everything(home, project)
    repositories = identity.repositories(home, project)
    home.stores.close_one(project.id)
    if ask.erase:
        identity.delete_store(home, project.id)
        home.user.write(db_projects.drop, project.id)
    else:
        home.user.write(db_projects.put, replace(project, removed_at=home.clock.now()))
    identity.unmark(home, project, repositories)
    home.forget(project)
    home.stores.close_one(project.id)  # a check may have opened it in between
    places.delete_briefs()  # other projects get theirs again with their next check
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
    """Return every watched project; the answer is Projects."""
    watched = home.user.read(db_projects.everything)
    return {"projects": [_project_row(home, project) for project in watched]}


def _project_row(home: Home, project: Project) -> dict[str, object]:
    """Return the JSON of a project; the state of an agent file in a merge is that of now."""
    row = views.project_row(home, project)
    layout = repo_layout.find(project.root) if row["state"] == "ok" else None
    if layout is None or layout.root is None or repo_layout.at_work(layout) is None:
        return row
    listed = cast("list[dict[str, object]]", row["files"])
    merging = agent_files.unfinished_merge
    return row | {"files": [one | merging(layout.root, str(one["path"])) for one in listed]}


def _imported(
    conn: Connection, worktree: int, files: Sequence[dict[str, object]], before: int
) -> dict[str, object]:
    """Count the statements of agent files, and the memories that are new and that are anchored."""
    said = [
        one.node
        for file in files
        for one in history.provenance_on_path(conn, worktree, str(file["path"]))
        if one.line is not None
    ]
    resting = anchors.of_nodes(conn, said)
    return {
        "statements": len(said),
        "nodes": sum(number > before for number in nodes.nums(conn, said).values()),
        "anchored": sum(bool(resting.get(node)) for node in said),
    }


def _undo(home: Home, project: Project) -> None:
    """Remove every trace of a project that could not be added."""
    releasing.take_out_everything(home, project)
    identity.unmark(home, project, [project.common_dir])
    home.user.write(db_projects.drop, project.id)
    identity.delete_store(home, project.id)


def _project_at(home: Home, folder: Path, *, removed: bool) -> Project:
    """Return the project of a folder, also when its repository no longer exists.

    Args:
        home: the daemon's shared state.
        folder: in the repository, or its former place.
        removed: whether to include projects that are no longer watched.
    """
    layout = repo_layout.find(folder)
    known = None
    if layout is not None:
        known = home.registered(layout) or home.follow(layout)
    if known is not None and folder.absolute() in (known.root, known.common_dir):
        return known
    former = home.user.read(db_projects.known) if removed else []
    every = [*home.user.read(db_projects.everything), *former]
    # A project registered at this very folder takes precedence over one that contains it.
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
    """Return how many memories a project has; 0 when its store cannot be read."""
    try:
        with home.stores.use(project) as db:
            return db.read(nodes.count)
    except YaadError as error:
        if error.code is not Code.UNAVAILABLE:
            raise
        return 0


_GONE: Final = "yaadwatch add . in its new place, if it moved; else yaadwatch remove {path}"
_MEND_PARTIAL: Final = (
    "git -C {path} fetch --refetch --no-filter (this clone lacks older contents),"
    " then yaadwatch add {path}"
)
_DISKS: Final = {
    "full": "There is no space left on the disk of {folder}",
    "read-only": "{folder} is on a disk that is mounted read-only",
}
_MEND_DISKS: Final = {
    "full": "df -h {folder} (then free some space there)",
    "read-only": "df -h {folder} (then have that disk mounted for writing)",
}
_COMPACT: Final = "yaadwatch upkeep, then yaadwatch compact {which}"
_WITHOUT_GIT: Final = (
    "files are still watched and compared, but which commit changed one, where one went and what "
    "was committed is not known, and nothing can be added"
)


def status(home: Home, call: Call) -> dict[str, object]:  # noqa: ARG001
    """Return the state of the daemon and of every project; the answer is Status."""
    state = home.daemon_state
    watched = home.user.read(db_projects.everything)
    rows = [_project(home, project) for project in watched]
    by, why = vectors.how(home)
    next_runs = state.next_runs() if state is not None else {}
    runs = home.user.read(db_projects.all_jobs)
    names = sorted(next_runs.keys() | runs.keys())
    return {
        "daemon": {
            "running": state is not None,
            "pid": os.getpid(),
            "version": places.VERSION,
            "since": state.since if state is not None else None,
            "rss_bytes": processes.own_rss_bytes(),
            "socket": state.socket if state is not None else None,
        },
        "projects": rows,
        "waiting": home.user.read(authority.count_waiting),
        "jobs": [
            {
                "name": name,
                "last": runs[name].ended_at if name in runs else None,
                "next": next_runs.get(name),
                "ok": runs[name].error is None if name in runs and runs[name].ended_at else None,
            }
            for name in names
        ],
        "search": by,
        "search_why": why,
        "problems": [
            *_problems(home, rows),
            *_not_compared(home, watched, rows),
            *_shallow_clones(home, watched, rows),
            *_unused_settings(home, watched, rows),
        ],
    }


def _project(home: Home, project: Project) -> dict[str, object]:
    row = _project_row(home, project)
    state = home.daemon_state
    watch, lag = state.watch(project.id) if state is not None else ("off", None)
    shown = row | {
        "watch": watch if row["state"] == "ok" else "off",
        "lag_ms": lag,
        "size": None,
        "pause": None,
        "git_silent_since": None,
    }
    if row["state"] == "ok":
        layout = repo_layout.find(project.root)
        if layout is not None:
            folders = (layout.root, layout.git_dir, layout.common_dir)
            shown["git_silent_since"] = _git_silent_since(home, folders)
        shown["pause"] = None if layout is None else modes.pause_of(layout, home.clock.now())
        with home.stores.use(project) as db:
            shown["size"] = lookup.size_row(home, db)
    return shown


def _git_silent_since(home: Home, folders: Sequence[Path | None]) -> datetime | None:
    """Return since when git has answered in none of a repository's folders, if it hung in one."""
    git = home.git
    silent = [git.silent_since[one] for one in folders if one in git.silent_since]
    answers = [git.answered[one] for one in folders if one in git.answered]
    since = min(silent, default=None)
    return None if since is None or max(answers, default=since) > since else since


def config(home: Home, call: Call) -> dict[str, object]:
    """Return the settings that hold in the project of `call`; the answer is Config."""
    with lookup.shelves(home, call) as found:
        beside = home.settings_beside(found.nearest.db.path)
        where = None if found.project is None else str(found.nearest.db.path.parent)
    warnings = (*home.not_set, *_changed_since_start(home), *beside.warnings)
    return {
        "settings": beside.rows(),
        "project": where,
        "warnings": [privacy.mask(warning).text for warning in warnings],
        "running": True,
    }


def _changed_since_start(home: Home) -> list[str]:
    """Return settings that were changed since the daemon started, and are not used yet."""
    if home.settings_now is None:
        return []
    try:
        now = home.settings_now()
    except YaadError as error:
        return [f"{error.message} The daemon goes on as it was started."]
    entries = [
        f"{key} is {value_of(now.settings, key)!r} by now ({now.sources[key]}), and holds after: "
        "yaadwatch restart"
        for key in now.sources
        if value_of(now.settings, key) != value_of(home.settings, key)
    ]
    return entries + [warning for warning in now.warnings if warning not in home.not_set]


def _problems(home: Home, rows: list[dict[str, object]]) -> list[dict[str, str]]:
    problems = _daemon_problems(home, rows)
    if not home.git.is_there():
        problems.append({"what": f"{NO_GIT} of the daemon; {_WITHOUT_GIT}.", "mend": INSTALL_GIT})
    for row in rows:
        if row["state"] != "ok":
            mend = str(row.get("hint") or _GONE.format(path=_quoted(row)))
            problems.append({"what": f"{row['path']}: {row['reason']}", "mend": mend})
            continue
        mend = _COMPACT.format(which=f"--project {_quoted(row)}")
        problems += _budget_problems(f"{row['path']}: the store", row["size"], mend)
        if row["unknown"]:
            number = row["unknown"]
            noun = "memory" if number == 1 else "memories"
            what = f"{row['path']}: {number} {noun} could not be judged"
            problems.append({"what": what, "mend": f"yaadwatch stale --project {_quoted(row)}"})
    problems += _lock_problems(rows)
    problems += _git_timeouts(home)
    problems += _disk_problems()
    own = lookup.size_row(home, home.user)
    problems += _budget_problems("Your own store", own, _COMPACT.format(which="--user"))
    for what in registry.problems():
        problems.append({"what": what, "mend": "pip uninstall, or upgrade, that package"})
    return problems


def _disk_problems() -> list[dict[str, str]]:
    """Return a problem when the disk of the data folder is full or read-only."""
    folder = places.data_folder()
    why = files.takes_nothing(folder)
    if not why:
        return []
    what = _DISKS[why].format(folder=folder) + "; nothing more can be stored there."
    return [{"what": what, "mend": _MEND_DISKS[why].format(folder=shlex.quote(str(folder)))}]


def _daemon_problems(home: Home, rows: list[dict[str, object]]) -> list[dict[str, str]]:
    """Return the daemon's problems, with folders instead of project ids.

    Problems of unavailable projects are left out: their row has the cause. So are those of removed
    projects.
    """
    entries = home.daemon_state.problems() if home.daemon_state is not None else []
    paths = {row["id"]: str(row["path"]) for row in rows if row["state"] == "ok"}
    problems = []
    for one in entries:
        what, project = one["what"], one.get("project", "")
        if project in paths:
            what = what.replace(f"project {project}", paths[project])
        elif project:
            continue
        problems.append({"what": what, "mend": one["mend"]})
    return problems


def _unused_settings(
    home: Home, watched: Sequence[Project], rows: list[dict[str, object]]
) -> list[dict[str, str]]:
    """Return settings in project files that are not used."""
    return [
        {
            "what": privacy.mask(what).text,
            "mend": f"change or delete that line: {project.root / SETTINGS_FOLDER / FILE}",
        }
        for project, row in zip(watched, rows, strict=True)
        if row["state"] == "ok"
        # Unused settings of one project that are reported; `config list` there shows all.
        for what in home.settings_beside(home.stores.path(project.id)).warnings[:5]
    ]


def _not_compared(
    home: Home, watched: Sequence[Project], rows: list[dict[str, object]]
) -> list[dict[str, str]]:
    """Return the projects with statements that could not be compared with the code of their day."""

    def given_up(conn: Connection) -> list[tuple[str, int, str]]:
        found = []
        for place in db_projects.all_worktrees(conn):
            # Only a clone that was shallow is looked at: its disk may hang.
            is_whole = views.cut_count(conn, place.id) > 0 and not _is_shallow(place.path)
            found.append((str(place.path), *views.not_compared(conn, place.id, is_whole=is_whole)))
        return [one for one in found if one[1]]

    return [
        {
            "what": f"{path}: statements of agent files that could not be compared with the code of"
            f" the day they were written, and count from the day they were read: {number} ({why})",
            "mend": _MEND_PARTIAL.format(path=shlex.quote(path))
            # In git's error about a partial clone (`--filter`); we never fetch contents.
            if "promisor remote" in why
            else f"to try again: yaadwatch add {shlex.quote(path)}",
        }
        for project, row in zip(watched, rows, strict=True)
        if row["state"] == "ok"
        for path, number, why in home.stores.look(project, given_up)
    ]


def _shallow_clones(
    home: Home, watched: Sequence[Project], rows: list[dict[str, object]]
) -> list[dict[str, str]]:
    """Return how many rules are older than the history of a shallow clone, as in `stale`."""

    def older(conn: Connection) -> list[tuple[Path, int]]:
        counts = [
            (tree.path, views.cut_count(conn, tree.id)) for tree in db_projects.all_worktrees(conn)
        ]
        return [(path, count) for path, count in counts if count and _is_shallow(path)]

    return [
        {
            "what": f"{path}: {number} statement{'s are' if number > 1 else ' is'} older than this"
            " shallow clone; what became false before is not known.",
            "mend": f"git -C {shlex.quote(str(path))} fetch --unshallow, then"
            f" yaadwatch add {shlex.quote(str(path))}",
        }
        for project, row in zip(watched, rows, strict=True)
        if row["state"] == "ok"
        for path, number in home.stores.look(project, older)
    ]


def _is_shallow(folder: Path) -> bool:
    layout = repo_layout.find(folder)
    return layout is not None and bool(repo_layout.cut_at(layout))


def _lock_problems(rows: list[dict[str, object]]) -> list[dict[str, str]]:
    """Return the locks of git that agent files wait for."""
    paused = [(row["path"], cast("dict[str, object]", row["pause"])) for row in rows]
    return [
        {"what": f"{path}: agent files are {one['what']}.", "mend": str(one["mend"])}
        for path, one in paused
        if one and str(one["for"]).endswith(".lock")
    ]


def _git_timeouts(home: Home) -> list[dict[str, str]]:
    """Return the folders in which git commands timed out within the last hour."""
    # Timeouts of git commands are reported for this long.
    since = home.clock.now() - timedelta(hours=1)
    found: dict[Path, list[TimedOut]] = {}
    for one in list(home.git.timed_out):
        if one.at >= since:
            found.setdefault(one.cwd, []).append(one)
    limit_ms = home.settings.git.timeout_ms
    return [
        {
            "what": f"git does not answer in {cwd} since "
            f"{home.git.silent_since[cwd].astimezone():%d %b, %H:%M}: no command ended within "
            f"{limit_ms / 1000:g} s. Files are watched and compared; what needs git was not done, "
            "and is tried again.",
            "mend": f"git -C {shlex.quote(str(cwd))} status (waits for the same thing)",
        }
        if cwd in home.git.silent_since
        else {
            "what": f"git took longer than {limit_ms / 1000:g} s in {cwd} and was ended, "
            f"{_times(len(late))} since {late[0].at.astimezone():%H:%M} "
            f"({', '.join(sorted({one.command for one in late}))}); what needed its answer was not "
            "done, and is tried again.",
            "mend": f"yaadwatch config set git.timeout_ms {limit_ms * 3}, then yaadwatch restart "
            "(if the machine is not just busy)",
        }
        for cwd, late in found.items()
    ]


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _budget_problems(store: str, found: object, mend: str) -> list[dict[str, str]]:
    """Return a problem for a store that has used most of its budget."""
    size = cast("dict[str, Any]", found)
    limit = size["budget_bytes"]
    # A budget of which this share is used is reported.
    if not limit or size["bytes"] < limit * 0.9:
        return []
    if size["bytes"] >= limit:
        what = "has reached its budget (store.budget_mib), and nothing is added to it"
    else:
        percent = 100 * size["bytes"] // limit
        what = f"uses {percent} % of its budget (store.budget_mib); nothing is added beyond it"
    return [{"what": f"{store} {what}", "mend": mend}]


def _quoted(row: dict[str, object]) -> str:
    return shlex.quote(str(row["path"]))
