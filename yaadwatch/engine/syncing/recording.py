"""What is agreed now, written down: the last beat of a sync, and why a file is left alone."""

from dataclasses import replace
from datetime import datetime

from bridges import block
from bridges.block import Block
from yaadwatch.core import privacy
from yaadwatch.core.sync.plan import Plan
from yaadwatch.core.sync.reconcile import Terms
from yaadwatch.engine.syncing import branch_file
from yaadwatch.engine.syncing.committing import Committed
from yaadwatch.engine.syncing.gathering import Gathered
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model import events
from yaadwatch.model.agent_files import ABSENT, PAUSED, PENDING, SYNCED, AgentFileRow, Agreement
from yaadwatch.model.events import Event
from yaadwatch.model.settings import AGENT_FILE_WRITES_WITHIN
from yaadwatch.store import agent_files, agreements
from yaadwatch.store import events as log
from yaadwatch.store.agreements import BranchBlock
from yaadwatch.store.connection import Connection
from yaadwatch.system import keys


class Recorder:
    """Writes down how the agent files of one work tree are.

    Args:
        home: what may be reached.
        space: the work tree.
        key: of this home, for hashes of people's bytes.
        terms: how blocks are compared.
    """

    def __init__(self, home: Home, space: Space, *, key: bytes, terms: Terms) -> None:
        self._home = home
        self._space = space
        self._key = key
        self._terms = terms

    def agreed(
        self,
        seen: Gathered,
        data: bytes | None,
        plan: Plan | None,
        reason: str = "",
        done: Committed | None = None,
    ) -> None:
        """Write down what both sides agree on now: the last beat."""
        digest = self._block(data or b"")
        wrote = data != seen.data
        now = self._home.clock.now()
        written = tuple(at for at in seen.row.written if at > now - AGENT_FILE_WRITES_WITHIN)
        if wrote and self.puts_back(seen, data or b""):
            written += (now,)
        row = replace(
            seen.row,
            state=SYNCED if data is not None else ABSENT,
            reason=reason,
            digest=keys.keyed(self._key, data) if data is not None else "",
            block=digest if plan is not None else "",
            head=seen.head.commit,
            logged=seen.logged,
            branch=privacy.mask(seen.head.branch).text,
            written=written,
            adopted=branch_file.adopted(seen.branch, seen.row) if data is not None else "",
        )
        agreement = (
            plan.agreement(done.admitted if done else (), digest) if plan is not None else None
        )
        if not self._space.db.read(_same, row, agreement):
            self._space.db.write(_agree, row, agreement, now, wrote)

    def held(self, seen: Gathered, plan: Plan, done: Committed, reason: str) -> bool:
        """Write down what both sides agree on while the file is not written, and why it is not.

        Without that, what is taken back meanwhile would be compared with what was agreed before,
        and what is typed into a file that is new here would be taken for its first words.

        Returns:
            False when nothing can be agreed on yet, so that nothing was written down.
        """
        if seen.data is None or (plan.held is None and not _is_union(seen)):
            return False
        agreement = None
        if not _is_union(seen):
            agreement = plan.agreement(done.admitted, self._block(seen.data), plan.held)
        row = replace(
            seen.row,
            state=PENDING,
            reason=reason,
            digest=seen.digest,
            block=agreement.digest if agreement is not None else "",
            head=seen.head.commit,
            logged=seen.logged,
            branch=privacy.mask(seen.head.branch).text,
        )
        if not self._space.db.read(_same, row, agreement):
            self._space.db.write(_agree, row, agreement, self._home.clock.now(), False)
        return True

    def note(self, row: AgentFileRow, state: str, reason: str) -> None:
        """Write down why a file is left alone, once."""
        if (row.state, row.reason) == (state, reason):
            return
        self._space.db.write(
            _pause, replace(row, state=state, reason=reason), self._home.clock.now()
        )

    def puts_back(self, seen: Gathered, data: bytes) -> bool:
        """Tell whether a write gives a block back that it had, and so may be undone again."""
        if not seen.changed or seen.from_git:
            return False
        said = self._block(data)
        return said == seen.row.block or (
            self._space.db.read(agreements.of_block, seen.row.worktree, seen.path, said) is not None
        )

    def _block(self, data: bytes) -> str:
        """Return the keyed hash of what the block of a file says."""
        found = block.find(data)
        return self._terms.hashed(found.text if isinstance(found, Block) else "")


def _is_union(seen: Gathered) -> bool:
    """Tell whether nothing that was agreed about the block of a file counts."""
    return not seen.base if seen.from_git else not seen.row.block


def _same(conn: Connection, row: AgentFileRow, agreement: Agreement | None) -> bool:
    known = agent_files.get(conn, row.worktree, row.path)
    if known is None or replace(known, written=row.written) != row:
        return False
    if agreement is None:
        return True
    agreed = agreements.of_block(conn, row.worktree, row.path, agreement.digest)
    return (agreed.items if agreed else ()) == agreement.items


def _agree(
    conn: Connection, row: AgentFileRow, agreement: Agreement | None, at: datetime, wrote: bool
) -> None:
    agent_files.put(conn, row)
    if row.branch and row.head:
        found = BranchBlock(branch=row.branch, head=row.head, block=row.block)
        agreements.put_branch(conn, row.worktree, row.path, found, at)
    if agreement is not None:
        agreements.put(conn, row.worktree, row.path, agreement, at)
    if wrote:
        body: dict[str, object] = {
            "worktree": row.worktree,
            "rules": len(agreement.items) if agreement else 0,
        }
        log.append(conn, Event(kind=events.AGENT_FILE_SYNCED, at=at, subject=row.path, body=body))


def _pause(conn: Connection, row: AgentFileRow, at: datetime) -> None:
    agent_files.put(conn, row)
    if row.state == PAUSED:
        body: dict[str, object] = {"worktree": row.worktree, "reason": row.reason}
        event = Event(kind=events.AGENT_FILE_PAUSED, at=at, subject=row.path, body=body)
        log.append(conn, event)
