"""Sync the agent files of one work tree with the graph until nothing is left to do.

Five steps for each file, in `_sync_once`: gather, decide, commit, write, record. The agreement
comes last, so a sync that is killed anywhere begins again and does the rest.
"""

import contextlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bridges import block
from bridges.block import Malformed, Refused
from bridges.rules import RULES_FILES
from yaadwatch.db import history, nodes, projects
from yaadwatch.memory.visibility import require_view
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import INLINE, PRIVATE
from yaadwatch.model.projects import ABSENT, PAUSED, PENDING, SYNCED, AgentFileRow
from yaadwatch.model.settings import AGENT_FILE_BYTES_MAX
from yaadwatch.repo import layout as repo_layout
from yaadwatch.repo.command import NoGit
from yaadwatch.staleness.worktree import head_of
from yaadwatch.sync import gathering, inventory, modes, releasing, rules_file
from yaadwatch.sync.block_history import HeadRules
from yaadwatch.sync.committing import Committed, Recorder, commit
from yaadwatch.sync.deciding import Decided, decide, terms_of_files
from yaadwatch.sync.gathering import Gathered, MovingError, StashedError, gather
from yaadwatch.sync.inventory import Paused
from yaadwatch.sync.modes import FileWords
from yaadwatch.sync.plan import Plan
from yaadwatch.sync.reconcile import Terms
from yaadwatch.system import files, safe_write
from yaadwatch.text import privacy
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.agent_files import FoundFile, is_refused
from yaadwatch.workspace.workspace import Call, Home, Space

ROUNDS_MAX: Final = 5
"""Changes of one file reach the others in the next round; two rounds are usually enough."""
TRIES_MAX: Final = 3
"""Tries for a file that is written meanwhile."""
AT_WORK: Final = "an agent is at work here; it is written when that leaves, or is idle for a while"
STASHED: Final = "its changes are in git's stash; it is left alone until they are back"
SPARSE: Final = "git does not check it out here (sparse checkout, skip-worktree)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Synced:
    """What a sync did.

    Args:
        files: the state of each file.
        waiting: whether to sync again later, because git or another process is at work.
        watching: whether late writes to a replaced file are possible, so that it has to be read
            again.
        changed: whether anything was written, in a file or the graph.
        wrote: the person's files that were written.
    """

    files: tuple[AgentFileRow, ...]
    waiting: bool
    watching: bool
    changed: bool
    wrote: tuple[str, ...] = ()


def sync_tree(home: Home, project: str, worktree: int, paths: frozenset[str] | None) -> Synced:
    """Sync the agent files of a work tree with the graph.

    Args:
        home: the daemon's shared state.
        project: its id.
        worktree: its id.
        paths: files that may have changed; without an agent file, or an ignore file that affects
            one, nothing is done. None or an empty set: any file.

    Raises:
        YaadError: NOT_FOUND when the work tree is gone or not watched; from its store or git.
    """
    with home.tree(project, worktree) as space:
        thorough = paths is None
        if paths:
            now_s, idle_s = home.clock.monotonic_s(), home.settings.agent_files.idle_s
            home.at_work.stirred(space.root, now_s, idle_s)
            rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id)
            formats = agent_files.known_formats(home)
            if not any(
                path in rows or path.rpartition("/")[2] == ".gitignore" or formats.is_one(path)
                for path in paths
            ):
                return Synced(files=(), waiting=False, watching=False, changed=False)
            thorough = any(
                path not in rows and formats.is_below(path) and os.path.lexists(space.root / path)
                for path in paths
            )
        return sync_space(home, space, thorough=thorough, patient=True)


def sync_space(
    home: Home,
    space: Space,
    *,
    accept_deletions: frozenset[str] | None = frozenset(),
    thorough: bool = False,
    patient: bool = False,
) -> Synced:
    """Sync the agent files of the work tree in `space` with the graph; see `sync_tree`.

    Args:
        home: the daemon's shared state.
        space: the work tree.
        accept_deletions: files whose deletions a person has confirmed; None: all of them.
        thorough: search all folders for agent files.
        patient: write nothing while an agent is at work.
    """
    with home.stores.checking(space.project.id, -space.worktree.id):
        space.repository.require_ours()
        work = Sync(home, space, accept_deletions, thorough=thorough, patient=patient)
        if repo_layout.at_work(space.repository.layout):
            return work.result(waiting=True)
        _drop_removed_worktrees(space)
        changed = False
        for _ in range(ROUNDS_MAX):
            if not work.round():
                break
            changed = True
        return work.result(waiting=work.waiting, changed=changed)


def _drop_removed_worktrees(space: Space) -> None:
    """Drop work trees that git no longer knows, with the places of their statements.

    A work tree that is only missing for now, as on a removed disk, is kept.
    """
    layout = space.repository.layout
    known = {tree.root for tree in repo_layout.worktrees(layout)} | repo_layout.registered(layout)
    known |= {space.root, space.project.root}
    for row in space.db.read(projects.all_worktrees):
        if row.path not in known and not row.path.exists():
            space.db.write(projects.drop_worktree, row.id)


class Sync:
    """One sync of one work tree; see `sync_space`."""

    def __init__(
        self,
        home: Home,
        space: Space,
        accept_deletions: frozenset[str] | None = frozenset(),
        *,
        thorough: bool = False,
        patient: bool = False,
    ) -> None:
        self._home = home
        self._space = space
        self._accept = accept_deletions
        self._thorough = thorough
        self._patient = patient
        self._terms: Terms = terms_of_files()
        self._recorder = Recorder(home, space, self._terms)
        self._wrote: dict[str, None] = {}
        self.waiting = False

    def look(self) -> Mapping[str, FoundFile]:
        """Look for the agent files; return them."""
        self._fleet = agent_files.fleet(self._home, self._space, thorough=self._thorough)
        self._thorough = False
        self.words = FileWords(self._space, self._fleet)
        self.view = require_view(self._home, self._space)
        modes.note_missing(self._space, self._fleet)
        self._rules = HeadRules(self._space, self._fleet.files, self._terms)
        return self._fleet.files

    def needed_rules_files(self) -> set[str]:
        """Return the rules files that are needed."""
        return modes.rules_files(self._space, self._fleet, self.rows())

    def round(self) -> bool:
        """Sync every file once; return whether anything changed."""
        self.waiting = False
        changed = False
        found_files = self.look()
        with contextlib.suppress(NoGit):  # the stored set still counts
            personal = self.words.personal()  # answers about their memories show that
            if personal != {path for path, row in self.rows().items() if row.personal}:
                self._space.db.write(projects.note_personal_file, self._space.worktree.id, personal)
        for found in found_files.values():
            changed = self._sync_file(found) or changed
        for path in self.rows().keys() - found_files.keys() - RULES_FILES:
            try:  # no agent file any more, such as the former target of a link
                releasing.forget_file(self._home, self._space, path)
                changed = True
            except YaadError as error:
                self._note_error(self._row(path), error)
        needed = self.needed_rules_files()
        if needed - self.rows().keys():
            modes.note_missing(self._space, self._fleet)
        rows = self.rows()
        for path in sorted(RULES_FILES & rows.keys()):
            if rows[path].mode == PRIVATE:
                changed = self._sync_rules_file(rows[path], needed=path in needed) or changed
        return changed

    def result(self, *, waiting: bool, changed: bool = False) -> Synced:
        """Return the state of the files."""
        rows = self.rows()
        watching = rules_file.has_late_writers(self._home, self._space, rows)
        return Synced(
            files=tuple(rows.values()),
            waiting=waiting,
            watching=watching,
            changed=changed,
            wrote=tuple(self._wrote),
        )

    def rows(self) -> dict[str, AgentFileRow]:
        """Return the stored state of the files, by path."""
        return self._space.db.read(projects.agent_files_of_worktree, self._space.worktree.id)

    def _row(self, path: str) -> AgentFileRow:
        row = self._space.db.read(projects.get_agent_file, self._space.worktree.id, path)
        if row is None:
            raise KeyError(path)
        return row

    def _sync_file(self, found: FoundFile) -> bool:
        if found.reason:
            self._recorder.note(self._row(found.path), PAUSED, found.reason)
            return False
        for _ in range(TRIES_MAX):
            try:
                return self._sync_once(found)
            except safe_write.ChangedUnderneathError:
                continue
            except StashedError:
                self._recorder.note(self._row(found.path), PENDING, STASHED)
                return False
            except MovingError:
                break
        self._wait(self._row(found.path), "is being written, or git is at work")
        return False

    def decide(
        self, found: FoundFile, row: AgentFileRow, *, first: bool = False, accept: bool = False
    ) -> tuple[Gathered, Decided | Paused]:
        """Read a file, and return what has to be done about it; nothing is done.

        Raises:
            StashedError, MovingError: see `gather`.
            YaadError: from git or the store.
        """
        seen = gather(self._home, self._space, found, row, self._rules, first=first)
        if seen.problem:
            return seen, Paused(reason=seen.problem)
        beside = self.words.also_read(found) if row.mode == INLINE else frozenset()
        decided = decide(
            self._space,
            seen,
            self._terms,
            beside=beside,
            view=self.view,
            personal=self.words.personal(),
            accept_deletions=accept,
        )
        return seen, decided

    def _sync_once(self, found: FoundFile) -> bool:
        path = found.path
        row = self._row(path)
        # A file that was never read was there before us, also if it could not be read then.
        first = not row.digest and not row.block and row.state in (PENDING, PAUSED)
        if repo_layout.at_work(self._space.repository.layout):
            raise MovingError(path)
        try:
            if found.may_have_block or row.mode == INLINE:  # no other was ever written
                rules_file.recover_writes(self._home, self._space, path)
        except YaadError as error:
            self._note_error(row, error)
            return False
        accept = self._accept is None or path in self._accept
        if not accept and self._is_as_agreed(row):
            return False
        seen, decided = self.decide(found, row, first=first, accept=accept)
        if isinstance(decided, Paused):
            other, name = "", shlex.quote(path)
            if seen.data is None and not seen.problem:
                other = agent_files.spelled_otherwise(self._space.root, path)
            reason = decided.reason
            if other:
                reason = f"it is named {other} now, which agents do not look for; mv {other} {name}"
            elif decided.lost:
                mend = f"yaadwatch files sync --accept-deletions {name}"
                reason += f"; if that was meant: {mend}"
            self._recorder.note(row, PAUSED, reason)
            return False
        try:
            done = commit(self._home, self._space, seen, decided, view=self.view)
        except YaadError as error:
            self._note_error(row, error)
            return False
        return self._carry_out(seen, decided.plan, done)

    def _carry_out(self, seen: Gathered, plan: Plan | None, done: Committed) -> bool:
        """Write a file as decided, then store the agreement; return whether anything changed."""
        row, path, data = seen.row, seen.path, seen.data
        if data is None or plan is None:
            reason = seen.unread
            if data is not None:
                both = (gathering.reason_of(seen.branch, row, data), seen.unread)
                reason = "; ".join(filter(None, both))
            elif self._space.repository.is_sparse(path):
                reason = SPARSE
            self._recorder.record_agreement(seen, data, None, reason)
            return done.changed
        if plan.writes:
            try:
                data = rendered(path, data, plan.lines)
                if data != seen.data and self._recorder.restores_block(seen, data):
                    paused = inventory.ping_pong(row.written, self._home.clock.now())
                    if paused is not None:
                        self._recorder.note(row, PAUSED, paused.reason)
                        self.waiting = True
                        return done.changed
                if data != seen.data and self._is_at_work():
                    self.waiting = True
                    if not self._recorder.record_unwritten(seen, plan, done, AT_WORK):
                        self._wait(seen.row, AT_WORK)
                    return done.changed
                self._write(seen, data)
            except YaadError as error:
                self._note_error(row, error)
                return done.changed
        reasons = (
            self._left_out_reason(plan),
            gathering.reason_of(seen.branch, row, data),
            gathering.misplaced(path, data),
            seen.unread,
        )
        self._recorder.record_agreement(seen, data, plan, "; ".join(filter(None, reasons)), done)
        return done.changed or data != seen.data

    def _left_out_reason(self, plan: Plan) -> str:
        """Return the rules that are not in a block, and why."""
        known = self._space.db.read(nodes.many, [*plan.left_out, *plan.unsayable])
        return rules_file.reason_for_left_out(
            (
                "no room in its block for ",
                [known[one] for one in plan.left_out if one in known],
            ),
            (
                "too long for a block, or of no form that it can hold: ",
                [known[one] for one in plan.unsayable if one in known],
            ),
        )

    def _is_at_work(self) -> bool:
        """Return whether an agent may be editing the files, so that they are left alone."""
        idle_s = self._home.settings.agent_files.idle_s
        now_s = self._home.clock.monotonic_s()
        return self._patient and self._home.at_work.quiet_in_s(self._space.root, now_s, idle_s) > 0

    def _is_as_agreed(self, row: AgentFileRow) -> bool:
        """Return whether nothing is to be done: the file is still absent, or read and unchanged."""
        if row.state == ABSENT and not row.digest and not row.block and not row.reason:
            return not os.path.lexists(self._space.root / row.path)
        if row.mode == INLINE or row.state != SYNCED or not row.digest:
            return False
        head = head_of(self._space)
        seen = files.observe(self._space.root, row.path, bytes_max=AGENT_FILE_BYTES_MAX, now_ns=0)
        return (head.commit, privacy.mask(head.branch).text) == (
            row.head,
            row.branch,
        ) and gathering.digest_of(seen.data) == row.digest

    def _write(self, seen: Gathered, new: bytes) -> None:
        if repo_layout.at_work(self._space.repository.layout):
            raise MovingError(seen.path)
        if seen.data is not None and new != seen.data:
            rules_file.write(self._home, self._space, seen.path, seen.data, new)
            self._wrote[seen.path] = None

    def _sync_rules_file(self, row: AgentFileRow, *, needed: bool) -> bool:
        try:
            if needed:
                said = self.words.read_by_all(modes.users(row.path))
                return rules_file.sync(self._home, self._space, row, said=said, view=self.view)
            return rules_file.remove(self._home, self._space, row)
        except safe_write.ChangedUnderneathError:
            self._wait(row, "is being written")
        except YaadError as error:
            self._note_error(row, error)
        except OSError as error:
            self._recorder.note(row, PENDING, f"cannot be written ({error.strerror})")
        return False

    def _note_error(self, row: AgentFileRow, error: YaadError) -> None:
        """Store why a file could not be synced; after a passing error the sync tries again."""
        passes = error.code in (Code.UNAVAILABLE, Code.CONFLICT, Code.TIMEOUT)
        self.waiting = self.waiting or passes
        self._recorder.note(row, PENDING if passes else PAUSED, error.message)

    def _wait(self, row: AgentFileRow, reason: str) -> None:
        self.waiting = True
        if row.digest or row.state != PENDING:
            self._recorder.note(row, PENDING if row.state != ABSENT else ABSENT, reason)


def rendered(path: str, old: bytes, lines: Sequence[str]) -> bytes:
    """Return an agent file with other lines in its block.

    Raises:
        YaadError: REFUSED when its block is damaged, or would be.
    """
    new = block.put(old, lines)
    if isinstance(new, Malformed | Refused):
        raise YaadError(Code.REFUSED, f"{path}: {new.reason}; it was not written.")
    return new


def sync_for_command(home: Home, call: Call, since: datetime) -> dict[str, object]:
    """Sync after a command; return `{wrote: [path]}` for files written since it began.

    `{}` where there are none. Without this the daemon would write them a moment later, and the
    command could not report it. While an agent is at work, its files are left alone: the daemon
    writes them later.
    """
    try:
        with home.space(call) as space:
            rows = space.db.read(projects.agent_files_of_worktree, space.worktree.id).values()
            if not any(row.mode == INLINE and row.digest and not is_refused(row) for row in rows):
                return {}
            sync_space(home, space, patient=True)
            # The daemon may have been faster, so its writes count, too.
            wrote = space.db.read(
                history.files_written, events.AGENT_FILE_SYNCED, space.worktree.id, since
            )
    except YaadError:
        return {}
    return {"wrote": wrote} if wrote else {}
