"""Answer the requests about agent files: list, diff, sync, adopt, release, restore."""

import difflib
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, cast

from bridges import registry
from bridges.rules import RULES_FILES
from yaadwatch.api.messages.store import FilesAdopt, FilesRelease, FilesRestore, FilesSync
from yaadwatch.db import history, projects
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, PRIVATE, READ
from yaadwatch.model.projects import ABSENT, PAUSED, SYNCED, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.sync import gathering, inventory, modes, releasing, rules_file, tree
from yaadwatch.sync.gathering import MovingError, StashedError, settled
from yaadwatch.sync.inventory import Paused
from yaadwatch.sync.rules_file import by_agent
from yaadwatch.system import files as system_files
from yaadwatch.system import safe_write
from yaadwatch.text import privacy
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import FoundFile
from yaadwatch.workspace.workspace import Call, Home, Space

WAITS_MAX: Final = 10
WAIT_S: Final = 0.3


def files(home: Home, call: Call) -> dict[str, object]:
    """Return the agent files here, and the copies kept of them; the answer is Files."""
    with home.space(call) as space, _sync_lock(home, space):
        fleet = agent_files.fleet(home, space, thorough=True)
        modes.note_missing(space, fleet)
        rows = _rows(space)
        return {
            "pause": modes.pause_of(space.repository.layout, home.clock.now()),
            "files": [_row(space, row) for row in rows.values() if _is_listed(row)],
            "misplaced": _misplaced(space, rows),
            "agents": by_agent(space, fleet, rows),
            "problems": list(registry.problems()),
        }


def files_diff(home: Home, call: Call) -> dict[str, object]:
    """Return what a sync would write and read, and change nothing; the answer is Diffs.

    Raises:
        YaadError: CONFLICT when git or another process is at work on a file.
    """
    with home.space(call) as space, _sync_lock(home, space):
        work = tree.Sync(home, space, thorough=True)
        there, known = work.look(), work.rows()
        rows = [
            _diff(work, found, known[path])
            for path, found in there.items()
            if path in known and not found.reason
        ]
        for path in sorted(work.needed_rules_files()):
            if path in known and known[path].mode == PRIVATE:
                said = work.words.read_by_all(modes.users(path))
                old, new = rules_file.would_write(home, space, path, said=said, view=work.view)
                rows.append(_diff_row(path, old, new) if old != new else None)
        return {"files": [row for row in rows if row is not None]}


def files_sync(home: Home, call: Call, ask: FilesSync) -> dict[str, object]:
    """Bring the agent files here and the graph together, and return when all is settled.

    The answer is FilesSynced.

    Raises:
        YaadError: NOT_FOUND when one of them is no agent file; nothing was done.
    """
    with home.space(call) as space:
        with _sync_lock(home, space):
            chosen = [_chosen_row(home, space, call, path) for path in ask.accept_deletions]
        accepted = frozenset(row.path for row in chosen)
        changed = False
        wrote: dict[str, None] = {}
        for _ in range(WAITS_MAX):
            done = tree.sync_space(home, space, accept_deletions=accepted, thorough=True)
            changed = changed or done.changed
            wrote |= dict.fromkeys(done.wrote)
            if not done.waiting:
                break
            home.clock.pause(WAIT_S)
        return {
            "settled": not done.waiting,
            "changed": changed,
            "wrote": list(wrote),
            "files": [_row(space, row) for row in done.files if _is_listed(row)],
        }


def files_adopt(home: Home, call: Call, ask: FilesAdopt) -> dict[str, object]:
    """Have a file, or all of them, take part in another way; then sync. The answer is FilesSynced.

    Raises:
        YaadError: NOT_FOUND when there is no such agent file; see `releasing.release`.
    """
    with home.space(call) as space:
        tree.sync_space(home, space)  # so that lines typed last are not lost with a block
        if ask.path is None:
            releasing.choose_mode(home, space, ask.mode)
        with _sync_lock(home, space):
            if ask.path is not None:
                _switch_mode(home, space, _chosen_row(home, space, call, ask.path), ask.mode)
            for path, row in _rows(space).items():
                if ask.mode == PRIVATE != row.mode and path in RULES_FILES:
                    space.db.write(projects.put_agent_file, replace(row, mode=PRIVATE))
    return files_sync(home, call, FilesSync())


def files_release(home: Home, call: Call, ask: FilesRelease) -> dict[str, object]:
    """Take our block out of a file, or of all; they are only read from now on.

    The answer is FilesSynced.

    Raises:
        YaadError: NOT_FOUND when there is no such agent file; see `releasing.release`.
    """
    with home.space(call) as space:
        tree.sync_space(home, space)
        before = _contents(space)
        if ask.path is None:
            releasing.choose_mode(home, space, READ)
        else:
            with _sync_lock(home, space):
                row = _chosen_row(home, space, call, ask.path)
                modes.note_read_only(space, modes.read_only_files(space) - {row.path})
                releasing.release(home, space, row)
        released = [path for path, data in _contents(space).items() if before.get(path) != data]
    answer = files_sync(home, call, FilesSync())
    wrote = dict.fromkeys([*released, *cast("list[str]", answer["wrote"])])
    return answer | {"wrote": list(wrote)}


def files_restore(home: Home, call: Call, ask: FilesRestore) -> dict[str, object]:
    """Bring a copy of a file back, byte for byte; the file is only read from then on.

    The answer is FilesRestored.

    Raises:
        YaadError: NOT_FOUND when there is no such copy, CONFLICT when the file is being written.
    """
    with home.space(call) as space, _sync_lock(home, space):
        path = named_agent_file(space, call, ask.path)
        kept = space.db.read(history.snapshots_of_path, space.worktree.id, path)
        wanted = [one for one in kept if ask.snapshot in (None, one.id)]
        if not wanted:
            raise YaadError(
                Code.NOT_FOUND,
                f"No such copy of {path} is kept; nothing was changed.",
                hint="What is kept: yaadwatch files list",
            )
        copy = wanted[0]
        folder = rules_file.folder_of(space)
        found = system_files.observe(folder, copy.name, bytes_max=copy.size, now_ns=0)
        if found.data is None:
            raise YaadError(
                Code.NOT_FOUND, f"The copy {copy.id} of {path} cannot be read; nothing was changed."
            )
        _write_copy(home, space, path, found.data)
        return {"path": path, "snapshot": copy.id, "at": copy.at, "bytes": copy.size, "mode": READ}


def read_files(home: Home, space: Space, rows: Iterable[AgentFileRow]) -> list[dict[str, object]]:
    """Return the agent files of a work tree after a sync, with how many statements each has."""
    known = {row.path: row for row in rows}
    fleet = agent_files.fleet(home, space)
    shown: list[dict[str, object]] = []
    for path, found in fleet.files.items():
        row = known.get(path)
        if row is not None and _is_listed(row):
            places = space.db.read(history.provenance_on_path, space.worktree.id, path)
            shown.append(
                {
                    "path": found.name if found.reason else path,
                    "statements": sum(one.line is not None for one in places),
                    "mode": row.mode,
                    "state": row.state,
                    "reason": row.reason or None,
                }
            )
    for name, _, path in fleet.also:
        first = fleet.files.get(path)
        shown.append(
            {
                "path": first.name if name == path and first is not None else name,
                "statements": 0,
                "mode": READ,
                "state": SYNCED,
                "reason": f"is the same file as {path}",
            }
        )
    return shown


def _contents(space: Space) -> dict[str, bytes | None]:
    """Return the bytes of each of the person's agent files; rules files are left out."""
    return {
        path: system_files.observe(space.root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0).data
        for path in _rows(space)
        if path not in RULES_FILES
    }


def _write_copy(home: Home, space: Space, path: str, data: bytes) -> None:
    try:
        before, reason = settled(home, space, path)
        if reason:
            raise YaadError(Code.REFUSED, f"{path} {reason}; it was not written.")
        if before is None:
            safe_write.create_new(space.root / path, data)
        elif before != data:
            rules_file.write(home, space, path, before, data)
    except (safe_write.ChangedUnderneathError, MovingError):
        raise YaadError(
            Code.CONFLICT, f"{path} is being written; it holds what it held.", hint="Try again."
        ) from None
    row = _rows(space).get(path)
    if row is not None:
        space.db.write(projects.put_agent_file, replace(row, mode=READ, block="", reason=""))


def _sync_lock(home: Home, space: Space) -> threading.Lock:
    """Return the lock that serialises syncs and changes of mode in a work tree."""
    return home.stores.checking(space.project.id, -space.worktree.id)


def _switch_mode(home: Home, space: Space, row: AgentFileRow, mode: str) -> None:
    path = row.path
    if path in RULES_FILES and mode != READ:
        data = system_files.observe(space.root, path, bytes_max=1 << 20, now_ns=0).data
        if data is not None:
            rules_file.keep_copy(home, space, path, data)
        digest = gathering.digest_of(data)
        space.db.write(projects.put_agent_file, replace(row, mode=PRIVATE, digest=digest))
    elif path in RULES_FILES:
        releasing.release(home, space, row)
    else:
        found = agent_files.fleet(home, space).files.get(path)
        if mode == INLINE and found is not None and not found.may_have_block:
            raise YaadError(
                Code.REFUSED,
                f"{path} is one of many files that its agents read together, or holds for a part "
                "of the project only: it is read, and gets no block. Nothing was changed.",
                hint="Which files can have one: yaadwatch files list",
            )
        modes.note_read_only(space, modes.read_only_files(space) - {path})
        releasing.switch_mode(home, space, row, mode)


def _chosen_row(home: Home, space: Space, call: Call, path: str) -> AgentFileRow:
    modes.note_missing(space, agent_files.fleet(home, space, thorough=True))
    rows = _rows(space)
    meant = named_agent_file(space, call, path)
    if meant not in rows:
        raise YaadError(
            Code.NOT_FOUND,
            f"{path} is no agent file of {space.root}; nothing was changed.",
            hint="What there is: yaadwatch files list",
        )
    return rows[meant]


def named_agent_file(space: Space, call: Call, path: str) -> str:
    """Return the agent file that a person means: as seen from their folder, links followed."""
    seen = os.path.normpath(call.folder / path)
    inside = Path(seen).is_relative_to(space.root) and os.path.lexists(seen)
    name = Path(seen).relative_to(space.root).as_posix() if inside else os.path.normpath(path)
    return agent_files.target(space.root, name)[0] or name


def _rows(space: Space) -> dict[str, AgentFileRow]:
    return space.db.read(projects.agent_files_of_worktree, space.worktree.id)


def _is_listed(row: AgentFileRow) -> bool:
    return row.state != ABSENT or bool(row.reason)


def _misplaced(space: Space, rows: Mapping[str, AgentFileRow]) -> list[str]:
    """Return what is wrong with the places of our blocks: sentences without a full stop."""
    blocks = [path for path, row in rows.items() if row.mode == INLINE]
    contents = ((path, data) for path, data in _contents(space).items() if path in blocks and data)
    found = ((path, gathering.misplaced(path, data)) for path, data in contents)
    return [f"{path}: {reason}" for path, reason in found if reason]


def _row(space: Space, row: AgentFileRow) -> dict[str, object]:
    kept = space.db.read(history.snapshots_of_path, space.worktree.id, row.path)
    shown: dict[str, object] = {
        "path": row.path,
        "mode": row.mode,
        "state": row.state,
        "reason": row.reason or None,
        "snapshots": [{"id": one.id, "at": one.at, "bytes": one.size} for one in kept],
    }
    return shown | unfinished_merge(space.root, row.path)


def unfinished_merge(root: Path, path: str) -> dict[str, str]:
    """Return state and reason of an agent file with the markers of a merge; nothing without.

    No sync reads a file before git has ended the merge, so its row does not have this reason.
    """
    seen = system_files.observe(root, path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
    merging = inventory.conflict_markers(seen.data) if seen.data is not None else None
    if merging is None:
        return {}
    reason = f"{merging.reason}; nothing is read or written until it is resolved"
    return {"state": PAUSED, "reason": reason}


def _diff(work: tree.Sync, found: FoundFile, row: AgentFileRow) -> dict[str, object] | None:
    path = found.path
    try:
        seen, done = work.decide(found, row)
    except StashedError:
        return _diff_row(path, reason=tree.STASHED)
    except MovingError:
        raise YaadError(
            Code.CONFLICT, f"{path} is being written, or git is at work.", hint="Try again."
        ) from None
    if isinstance(done, Paused):
        return _diff_row(path, reason=done.reason)
    old = new = seen.data or b""
    if done.plan is not None and done.plan.writes:
        new = tree.rendered(path, old, done.plan.lines)
    brings = len(done.inventory.new) + len(done.plan.new if done.plan is not None else ())
    gone = len(done.inventory.gone)
    return (
        _diff_row(path, old, new, brings=brings, gone=gone)
        if old != new or brings or gone
        else None
    )


def _diff_row(
    path: str,
    old: bytes = b"",
    new: bytes = b"",
    *,
    brings: int = 0,
    gone: int = 0,
    reason: str | None = None,
) -> dict[str, object]:
    lines = difflib.unified_diff(
        old.decode("utf-8", "replace").splitlines(),
        new.decode("utf-8", "replace").splitlines(),
        f"a/{path}",
        f"b/{path}",
        lineterm="",
    )
    shown = privacy.mask("\n".join(lines)).text
    return {"path": path, "diff": shown, "new": brings, "gone": gone, "reason": reason}
