"""Take what we put into a repository out again: blocks, the carrier, the line that excludes it."""

from dataclasses import replace

from bridges import block
from bridges.block import Malformed, Refused
from yaadwatch import places
from yaadwatch.engine.syncing import acting, carrier
from yaadwatch.engine.syncing.gathering import settled
from yaadwatch.engine.workspace import Home, Space, stands
from yaadwatch.model.agent_files import CARRIER, READ, AgentFileRow
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.projects import Project
from yaadwatch.store import agent_files, agreements, meta, worktrees
from yaadwatch.store.connection import Connection
from yaadwatch.system import files, keys, swapping

TRIES_MAX = 3


def release(home: Home, space: Space, row: AgentFileRow, *, mode: str = READ) -> None:
    """Take our block out of a file, or the carrier away, and only read the file from now on.

    Raises:
        YaadError: REFUSED when its block is damaged or it may not be written, CONFLICT when it is
            being written all the time, UNAVAILABLE when it cannot be written. Nothing was changed.
    """
    key = keys.load(places.key_file())
    if row.path == CARRIER:
        carrier.remove(space, row, key=key)
    else:
        _take_block_out(home, space, row.path, key)
    space.db.write(agreements.forget, row.worktree, row.path)
    seen = files.observe(space.root, row.path, bytes_max=1 << 20, now_ns=0)
    digest = keys.keyed(key, seen.data) if seen.data is not None else ""
    done = replace(row, mode=mode, reason="", block="", digest=digest)
    space.db.write(agent_files.put, done)


def take_out_everything(home: Home, project: Project) -> None:
    """Take out of every work tree of a project what we put there.

    A file that cannot be written, or whose block is damaged, stops it: nothing else is removed.

    Raises:
        YaadError: see `release`.
    """
    if not stands(project.store) or not project.common_dir.is_dir():
        return
    with home.stores.use(project) as db:
        trees = db.read(worktrees.everything)
        appended = db.read(meta.get, carrier.EXCLUDED_KEY) or ""
    for found in trees:
        try:
            with home.tree(project.id, found.id) as space:
                _empty(home, space)
        except YaadError as error:
            if error.code is not Code.NOT_FOUND:
                raise
    if appended:
        files.remove_exact(project.common_dir / "info" / "exclude", appended)
        with home.stores.use(project) as db:
            db.write(meta.put, carrier.EXCLUDED_KEY, "")


def forget_agreements(space: Space) -> None:
    """Forget what was agreed in every work tree: a backup came back, and the files went on."""

    def commit(conn: Connection) -> None:
        for found in worktrees.everything(conn):
            rows = agent_files.of_worktree(conn, found.id)
            for path in rows:
                agreements.forget(conn, found.id, path)
            agent_files.drop(conn, found.id, rows)

    space.db.write(commit)


def _empty(home: Home, space: Space) -> None:
    with home.stores.checking(space.project.id, -space.worktree.id):
        for row in space.db.read(agent_files.of_worktree, space.worktree.id).values():
            # Only read from here on: the daemon must not put back what was just taken out.
            release(home, space, row)


def _take_block_out(home: Home, space: Space, path: str, key: bytes) -> None:
    for _ in range(TRIES_MAX):
        data, _reason = settled(home, space, path)
        if data is None:
            return
        without = block.remove(data)
        if isinstance(without, Malformed) and b"yaad:" in data:
            raise YaadError(
                Code.REFUSED,
                f"{path}: {without.reason}; nothing was taken out of it.",
                hint="Mend or delete both marker lines, then try again.",
            )
        if isinstance(without, Malformed | Refused) or without == data:
            return
        try:
            acting.write(home, space, path, data, without, key=key)
        except swapping.ChangedUnderneathError:
            continue
        return
    raise YaadError(
        Code.CONFLICT, f"{path} is being written all the time; our block is still in it."
    )
