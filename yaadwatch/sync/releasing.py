"""Remove our traces from a repository: blocks, rules files and the lines that exclude them."""

import contextlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bridges import block
from bridges.block import Malformed, Refused
from bridges.rules import RULES_FILES
from yaadwatch import places
from yaadwatch.db import database, fulltext, history, projects
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, READ
from yaadwatch.model.projects import PAUSED, PENDING, AgentFileRow, Project
from yaadwatch.repo import layout as repo_layout
from yaadwatch.staleness.worktree import head_of
from yaadwatch.sync import modes, rules_file
from yaadwatch.sync.gathering import MovingError, settled
from yaadwatch.system import files, safe_write
from yaadwatch.workspace import agent_files, identity
from yaadwatch.workspace.agent_files import ODD
from yaadwatch.workspace.stores import exclude_file
from yaadwatch.workspace.workspace import Home, Space

TRIES_MAX = 3
REMOVE_BYTES_MAX = 64 * 1024 * 1024
"""A file may have grown since our block was put into it."""


def choose_mode(home: Home, space: Space, mode: str) -> None:
    """Set the mode of every agent file of the project, in all its work trees.

    Raises:
        YaadError: see `release`.
    """
    space.db.write(database.put_meta, modes.MODE_KEY, mode)
    for found in space.db.read(projects.all_worktrees):
        try:
            with (
                home.tree(space.project.id, found.id) as tree,
                home.stores.checking(space.project.id, -found.id),
            ):
                fleet = agent_files.fleet(home, tree, thorough=True)
                modes.note_missing(tree, fleet)
                rows = tree.db.read(projects.agent_files_of_worktree, found.id)
                suited = modes.default_modes(tree, fleet, mode, {})
                for path in suited.keys() & rows.keys():
                    switch_mode(home, tree, rows[path], suited[path])
                modes.note_read_only(
                    tree,
                    {
                        path
                        for path, found in fleet.files.items()
                        if found.may_have_block and suited[path] == READ != mode
                    },
                )
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise


def switch_mode(home: Home, space: Space, row: AgentFileRow, mode: str) -> None:
    """Change the mode of one agent file; the caller holds the lock of its work tree.

    Raises:
        YaadError: see `release`.
    """
    if mode == INLINE:
        row = replace(row, adopted=space.repository.blob_at(head_of(space).commit, row.path) or "")
        space.db.write(projects.put_agent_file, row)
    if row.mode == mode:
        return
    if row.mode == INLINE:
        release(home, space, row, mode=mode)
        return
    state = row.state if row.state != PAUSED else PENDING
    space.db.write(projects.put_agent_file, replace(row, mode=mode, state=state, block=""))


def release(home: Home, space: Space, row: AgentFileRow, *, mode: str = READ) -> None:
    """Remove our block from a file, or a rules file, and only read the file from now on.

    The caller holds the lock of its work tree.

    Raises:
        YaadError: REFUSED when its block is damaged or it may not be written, CONFLICT when it is
            being written all the time or git is at work, UNAVAILABLE when it cannot be written.
            Nothing was changed.
    """
    if row.path in RULES_FILES:
        rules_file.remove(home, space, row)
    else:
        _release_block(home, space, row)
    space.db.write(projects.forget_agreements, row.worktree, row.path)
    # The digest of the last agreement stays: the next sync reads what was typed since.
    known = space.db.read(projects.get_agent_file, row.worktree, row.path) or row
    kept = replace(known, mode=mode, reason="", block="", adopted="")
    space.db.write(projects.put_agent_file, kept)


def forget_file(home: Home, space: Space, path: str) -> None:
    """Forget a file that is no longer an agent file, after its block was removed.

    Memories that only this file states are hidden, like those of another branch. Where a link has
    replaced the file, its rules stay in the blocks.

    Raises:
        YaadError: see `release`.
    """
    row = space.db.read(projects.agent_files_of_worktree, space.worktree.id)[path]
    became_link = (space.root / path).is_symlink()
    _release_block(home, space, row)

    def commit(conn: Connection) -> None:
        projects.forget_agreements(conn, row.worktree, path)
        places = history.provenance_on_path(conn, row.worktree, path)
        elsewhere = history.also_said_elsewhere(conn, row.worktree, path)
        rules = {node.id for node in fulltext.hot_rules(conn)} if became_link else set()
        lost = [one for one in places if one.node not in rules]
        veiled = [replace(one, line=None) for one in lost if one.node not in elsewhere]
        history.put_provenance(conn, row.worktree, path, veiled)
        projects.drop_agent_files(conn, row.worktree, [path])

    space.db.write(commit)


def take_out_everything(home: Home, project: Project) -> None:
    """Remove everything of ours from every work tree of a project, also when its store is lost.

    A file that cannot be written, or whose block is damaged, stops it: nothing else is removed.

    Raises:
        YaadError: see `release`.
    """
    has_git = project.common_dir.is_dir()
    try:
        with home.stores.use(project) as db:
            known = {tree.id: tree.path for tree in db.read(projects.all_worktrees)}
    except YaadError as error:  # its store is lost, or the file of the store is something else
        if has_git and error.code is not Code.UNAVAILABLE:
            raise
        known = {}
    if not has_git or not known:
        layout = repo_layout.find(project.root) if has_git else None
        trees = repo_layout.worktrees(layout) if layout is not None else []
        for root in {project.root, *known.values(), *(one.root for one in trees)}:
            there = repo_layout.find(root) if root is not None else None
            # Without `.git`, a folder that has one is another repository's by now.
            if root is not None and (has_git or there is None or there.root != root):
                _remove_by_name(home, project, root)
    if not has_git:
        return
    for found in known:
        try:
            with home.tree(project.id, found) as space:
                _release_all(home, space)
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise
    _remove_exclude_lines(home, project)


def _remove_exclude_lines(home: Home, project: Project) -> None:
    for key in (rules_file.excluded_key(project.id, path) for path in sorted(RULES_FILES)):
        appended = home.user.read(database.get_meta, key)
        if not appended:
            continue
        for common_dir in identity.repositories(home, project):
            exclude = exclude_file(common_dir)
            try:
                files.remove_exact(exclude, appended)
            except OSError as error:
                raise YaadError(
                    Code.UNAVAILABLE,
                    f"{exclude} cannot be read or written ({error.strerror}); a line of ours is"
                    " in it.",
                    hint="Look at its permissions, then try again.",
                ) from error
        home.user.write(database.drop_meta, key)


def forget_agreements(space: Space) -> None:
    """Forget the agreements in every work tree, after a backup was restored."""

    def commit(conn: Connection) -> None:
        for found in projects.all_worktrees(conn):
            rows = projects.agent_files_of_worktree(conn, found.id)
            for path in rows:
                projects.forget_agreements(conn, found.id, path)
            projects.drop_agent_files(conn, found.id, rows)

    space.db.write(commit)


def _release_all(home: Home, space: Space) -> None:
    with home.stores.checking(space.project.id, -space.worktree.id):
        for row in space.db.read(projects.agent_files_of_worktree, space.worktree.id).values():
            # A file without anything of ours needs no write: the disk may be full, and removing
            # makes room on it. Every other file is only read from here on, so that the daemon does
            # not put back what was just removed.
            if row.mode != READ or _has_ours(space.db, row):
                release(home, space, row)


def _remove_by_name(home: Home, project: Project, root: Path) -> None:
    """Remove what has our marks from a folder, as agents name such files; copies go to the backups.

    For where the store or git cannot say which files are ours.
    """
    for path, found in agent_files.known_formats(home).find(root).files.items():
        if found.may_have_block and not found.reason:
            _remove_block(home, project, root, path)
    for path in sorted(RULES_FILES):
        data = files.observe(root, path, bytes_max=1 << 20, now_ns=0).data
        if data is not None and rules_file.is_ours(data):
            _back_up(home, project, path, data)
            rules_file.remove_with_folders(home, project.id, root, path)


def _remove_block(home: Home, project: Project, root: Path, path: str) -> None:
    def write(old: bytes, new: bytes) -> None:
        safe_write.require_own(root / path)
        _back_up(home, project, path, old)
        safe_write.replace_expected(root / path, old, new)

    def read() -> bytes | None:
        return files.observe(root, path, bytes_max=REMOVE_BYTES_MAX, now_ns=0).data

    _rewrite_without_block(path, read, write)


def _back_up(home: Home, project: Project, path: str, data: bytes) -> None:
    folder = places.backups(project.id)
    try:
        files.private_folder(folder.parent)
        files.private_folder(folder)
        files.replace_atomically(folder / f"{home.new_id()} {path.replace('/', ' ')}", data)
    except OSError as error:
        raise YaadError(
            Code.UNAVAILABLE,
            f"No copy of {path} could be kept in {folder} ({error.strerror}); it was not written.",
            hint="Look at the space and the permissions there, then try again.",
        ) from error


def _has_ours(db: Database, row: AgentFileRow) -> bool:
    """Return whether a file ever had content of ours, or an agreement."""
    return row.path in RULES_FILES or bool(
        row.block or db.read(history.snapshots_of_path, row.worktree, row.path)
    )


def _release_block(home: Home, space: Space, row: AgentFileRow) -> None:
    """Remove our block from a file that ever had content of ours.

    A block in any other file is the person's, as in a page that explains blocks.
    """
    if not _has_ours(space.db, row):
        return

    def read() -> bytes | None:
        data, reason = settled(home, space, row.path, bytes_max=REMOVE_BYTES_MAX)
        if data is None and row.block and reason in (ODD["too_large"], ODD["unreadable"]):
            raise YaadError(
                Code.REFUSED,
                f"{row.path} {reason}; our block may still be in it.",
                hint="Make it readable, then try again.",
            )
        return data

    def write(old: bytes, new: bytes) -> None:
        if repo_layout.at_work(space.repository.layout):
            raise YaadError(
                Code.CONFLICT,
                f"Git is at work in {space.root}; {row.path} was not written.",
                hint="Finish or abort the rebase, merge or commit, then try again.",
            )
        rules_file.write(home, space, row.path, old, new)

    _rewrite_without_block(row.path, read, write)


def _rewrite_without_block(
    path: str, read: Callable[[], bytes | None], write: Callable[[bytes, bytes], None]
) -> None:
    """Write a file without our block, if it has one.

    Args:
        path: for the messages.
        read: returns its bytes; None when it cannot be read.
        write: replaces the first by the second, or raises ChangedUnderneathError.
    """
    try:
        for _ in range(TRIES_MAX):
            data = read()
            if data is None:
                return
            without = block.remove(data)
            if isinstance(without, Malformed | Refused) and b"yaad:begin" in data:
                raise YaadError(
                    Code.REFUSED,
                    f"{path}: {without.reason}; nothing was taken out of it.",
                    hint="Mend the file, or delete both marker lines, then try again.",
                )
            if isinstance(without, Malformed | Refused) or without == data:
                return
            with contextlib.suppress(safe_write.ChangedUnderneathError):
                write(data, without)
                return
    except MovingError:
        pass
    raise YaadError(
        Code.CONFLICT,
        f"{path} is being written all the time; our block is still in it.",
        hint="Try again.",
    )
