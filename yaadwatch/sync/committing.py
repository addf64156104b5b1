"""Write to the store what a sync found in an agent file.

`commit` stores every change that one file brings, in one transaction. `Recorder` stores the new
agreement, which is the last step of a sync, or the reason why a file is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from bridges import block
from bridges.block import Block
from yaadwatch.db import anchors, authority, history, nodes, projects, visibility
from yaadwatch.db.authority import FROM_GIT
from yaadwatch.db.files import Connection
from yaadwatch.db.projects import BranchBlock
from yaadwatch.db.visibility import View, seen_from
from yaadwatch.memory import changes
from yaadwatch.memory.visibility import DELETED
from yaadwatch.model import events
from yaadwatch.model.events import Event
from yaadwatch.model.limits import short_id
from yaadwatch.model.memories import HOT, WARM, Node, Provenance
from yaadwatch.model.projects import ABSENT, PAUSED, PENDING, SYNCED, AgentFileRow, Agreement
from yaadwatch.model.settings import AGENT_FILE_WRITES_WITHIN
from yaadwatch.remember import preparing, storing
from yaadwatch.remember.drafts import NEW, Admitted, Draft, Ready
from yaadwatch.remember.write_batch import change_one
from yaadwatch.sync import gathering
from yaadwatch.sync.deciding import Decided, as_stored
from yaadwatch.sync.gathering import Gathered, digest_of
from yaadwatch.sync.inventory import Place
from yaadwatch.sync.plan import Plan, Superseded
from yaadwatch.sync.reconcile import Terms
from yaadwatch.text import privacy, words
from yaadwatch.workspace.workspace import Home, Space


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """The result of a commit: memories for the block's new lines, and whether anything changed."""

    admitted: tuple[str, ...]
    changed: bool


def commit(home: Home, space: Space, seen: Gathered, decided: Decided, *, view: View) -> Committed:
    """Store what a file brings, as its work tree sees the memories.

    Raises:
        YaadError: the store or git is unavailable; a memory was changed meanwhile (CONFLICT).
    """
    plan, origin = decided.plan or Plan(), f"file:{seen.path}"
    fresh = {
        place.position: (place.statement, key in decided.brought)
        for place in decided.inventory.new
        if place.statement is not None
        and (key := words.text_hash(as_stored(place.statement.text))) not in decided.archived
    }
    drafts = [
        *(
            Draft(
                text=statement.text,
                origin=origin,
                kind=preparing.kind_of(statement),
                headings=statement.headings,
                folder=seen.path.rpartition("/")[0],
                # Not typed here, or not for the whole project.
                baseline=from_git or not seen.everywhere,
                stays=bool(statement.stays),
                from_git=from_git,
            )
            for statement, from_git in fresh.values()
        ),
        *(
            Draft(
                text=new.text,
                origin=origin,
                tier=HOT,
                from_git=seen.from_git or words.text_hash(new.text) in seen.brought,
            )
            for new in plan.new
        ),
        *(Draft(text=one.text, origin=origin) for one in plan.superseded),
    ]
    ready = preparing.prepare(home, space, drafts) if drafts else []
    work = _Commit(home, seen, decided, view)
    of_places = dict(zip(fresh, ready, strict=False))
    return space.db.write(work.write, of_places, ready[len(fresh) :])


class _Commit:
    """The changes that one file brings; each method is called inside the transaction."""

    def __init__(self, home: Home, seen: Gathered, decided: Decided, view: View) -> None:
        self._home = home
        self._view = view
        self._seen = seen
        self._stock = decided.inventory
        self._plan = decided.plan or Plan()
        self._archived = decided.archived
        self._now = home.clock.now()
        self._actor = f"file:{seen.path}"
        self._lookback: list[str] = []  # new memories whose words may be old
        self._in_place_of: dict[str | None, str] = {}  # memories of lines that were changed

    def write(
        self, conn: Connection, of_places: Mapping[int, Ready], of_plan: Sequence[Ready]
    ) -> Committed:
        """Apply all changes; `of_places` by position, `of_plan` for new, then superseded rules."""
        seen, plan = self._seen, self._plan
        shows_other = self._store_places(conn, of_places)
        counts = {"said": len(self._stock.new), "gone": self._archive_gone(conn)}
        anchors.add_lookback(conn, seen.row.worktree, self._lookback, seen.head.commit)
        stored = [self._store(conn, item).node for item in of_plan[: len(plan.new)]]
        for new, made in zip(plan.new, stored, strict=True):
            self._supersede_source(conn, made, new.supersedes)
        for one, item in zip(plan.superseded, of_plan[len(plan.new) :], strict=True):
            self._supersede(conn, one, item)
        for node in nodes.many(conn, plan.demoted).values():
            if node.archived_at is None:  # it can still be recalled
                reason = f"its line was deleted in {seen.path}"
                self._change(conn, node, "demoted", reason, tier=max(node.tier, WARM), pinned=False)
        projects.note_taken_out(conn, seen.row.worktree, seen.path, plan.tombstones, self._now)
        projects.note_typed_again(conn, plan.lifted)
        counts["inside"] = len(stored) + len(plan.superseded) + len(plan.demoted)
        changed = any(counts.values())
        if changed:
            body: dict[str, object] = {"worktree": seen.row.worktree, "from_git": seen.from_git}
            kind = events.AGENT_FILE_EDITED
            event = Event(kind=kind, at=self._now, subject=seen.path, body=body | counts)
            history.append(conn, event)
        return Committed(admitted=tuple(node.id for node in stored), changed=changed or shows_other)

    def _store_places(self, conn: Connection, ready: Mapping[int, Ready]) -> bool:
        """Store the statements outside the block; return whether others are hidden now."""
        worktree, path = self._seen.row.worktree, self._seen.path
        rows = []
        for place in self._stock.places:
            node = place.node or self._keep_memory(conn, place, ready)
            node = node or self._memory_at(conn, place, ready)
            if place.reworded and place.was != node:
                self._in_place_of[place.was] = node
            if place.line is not None and place.node is not None:
                self._revive(conn, node, if_gone=True)
            rows.append(
                Provenance(
                    node=node,
                    worktree=worktree,
                    path=path,
                    position=place.position,
                    line=place.line,
                    since=place.since or self._now,
                )
            )
        if rows == history.provenance_on_path(conn, worktree, path):
            return False
        was_hidden = history.hidden_by_git(conn, worktree)
        history.put_provenance(conn, worktree, path, rows)
        hidden = history.hidden_by_git(conn, worktree)
        for resting in anchors.of_nodes(conn, was_hidden - hidden).values():
            changes.recheck_files(conn, resting)
        return hidden != was_hidden

    def _keep_memory(
        self, conn: Connection, place: Place, ready: Mapping[int, Ready]
    ) -> str | None:
        """Give a memory the new headings, or words, of its statement; None for another memory.

        New headings confirm nothing: it keeps its tier, anchors and flags.
        """
        item = ready.get(place.position)
        node = nodes.get(conn, place.was) if place.was is not None else None
        here = (self._seen.row.worktree, self._seen.path)
        if item is None or node is None or node.archived_at is not None:
            return None
        if any(
            (one.worktree, one.path) != here for one in history.provenance_of_node(conn, node.id)
        ):
            return None
        digest = words.text_hash(item.text)
        if nodes.by_hash(conn, node.scope, digest, thing=False) is not None:
            return None
        if item.draft.from_git and authority.approved(conn, [node.id]):
            return None  # a person vouched for it below the headings that it had
        if place.reworded:
            # A version keeps no anchors. So a memory that rests on code is left as it is: when its
            # old words come back, they are judged by the code that they were written about. One
            # that more than a personal file said is left, too: the new words are for this file.
            flagged = anchors.flags_of_nodes(conn, self._seen.row.worktree, [node.id])
            rests_on = anchors.of_nodes(conn, [node.id])[node.id]
            personal = projects.personal_files(conn)
            is_shared = self._seen.path in personal and not authority.only_in(
                conn, personal, [node.id]
            )
            if flagged or rests_on or is_shared or node.kind in ("task", "skill"):
                return None
            if item.draft.baseline:
                self._lookback.append(node.id)
            tier = node.tier if node.pinned else storing.tier_of_new(item)
            self._reword(conn, node, item, tier=tier, kind=item.kind)
            return node.id
        reason = f"below another heading in {self._seen.path}"
        changes.index(conn, self._change(conn, node, "moved", reason, **_words(item)))
        return node.id

    def _memory_at(self, conn: Connection, place: Place, ready: Mapping[int, Ready]) -> str:
        """Return the memory of a statement that is new here.

        The anchors of a new memory that was not typed here are looked up later, as of the day on
        which it was written.
        """
        item = ready.get(place.position)
        if item is not None:
            stored = self._store(conn, item)
            if stored.decision == NEW and (item.draft.baseline or self._seen.from_git):
                self._lookback.append(stored.node.id)
            return stored.node.id
        if place.statement is None:
            raise ValueError("a place that is new has a statement")
        key = words.text_hash(as_stored(place.statement.text))
        node = self._archived[key]
        self._revive(conn, node.id, if_gone=self._seen.from_git or key in self._seen.brought)
        return node.id

    def _revive(self, conn: Connection, node_id: str, *, if_gone: bool) -> None:
        """Unarchive a memory, or only if it was archived when its words were deleted in a file."""
        node = nodes.get(conn, node_id)
        if node is None or node.archived_at is None:
            return
        if if_gone and not (node.archive_reason or "").startswith(DELETED):
            return
        if nodes.by_hash(conn, node.scope, node.text_hash, thing=False) is None:
            reason = FROM_GIT if self._seen.from_git else ""
            changes.unarchive(conn, node, self._now, actor=self._actor, reason=reason)
            if not self._seen.from_git:
                self._reopen(conn, node_id)

    def _archive_gone(self, conn: Connection) -> int:
        """Archive deleted statements that no other place has; return how many."""
        lost = [node for node in self._stock.gone if not history.said_somewhere(conn, [node])]
        buried = 0
        for node in nodes.many(conn, lost).values():
            if node.archived_at is None and node.origin.startswith("file:") and not node.pinned:
                new = self._in_place_of.get(node.id)
                instead = f", where {short_id(new)} took its place" if new is not None else ""
                reason = f"{DELETED}{self._seen.path}{instead}"
                changes.archive(conn, node, self._now, actor=self._actor, reason=reason)
                buried += 1
        return buried

    def _supersede(self, conn: Connection, one: Superseded, item: Ready) -> None:
        """Give a memory the words of the file; the old words stay as a version."""
        node = nodes.get(conn, one.node)
        if node is None:
            return
        twin = nodes.by_hash(conn, node.scope, words.text_hash(item.text), thing=False)
        if twin is not None and twin.id != node.id:
            # A person typed its words: it is a rule, whatever its origin.
            vouched: dict[str, Any] = {"tier": HOT, "confidence": 1.0, "confirmed_at": self._now}
            said = self._change(conn, twin, "confirmed", "said again", **vouched)
            self._reopen(conn, twin.id)
            self._learn_here(conn, said)
            anchors.drop_flags(conn, [twin.id])
            if node.archived_at is None:
                reason = f"says the same as {short_id(twin.id)}"
                changes.archive(conn, node, self._now, actor=self._actor, reason=reason)
            return
        over = ", over the words that it got meanwhile" if one.over is not None else ""
        self._reword(conn, node, item, over, tier=node.tier if node.pinned else HOT)

    def _reword(
        self, conn: Connection, node: Node, item: Ready, over: str = "", **fields: Any
    ) -> None:
        """Give a memory the words that a person wrote in place of its own, and other fields."""
        edited = replace(
            node,
            **_words(item),
            **fields,
            confidence=1.0,
            confirmed_at=self._now,
            updated_at=self._now,
            version=node.version + 1,
        )
        seen_from(
            conn,
            self._view,
            change_one,
            self._home,
            edited,
            rests_on=item.anchors,
            names=item.entities,
            actor=self._actor,
            reason=self._with_git(f"edited in {self._seen.path}{over}"),
            keeps_places=True,
        )
        changes.settle(conn, edited, item.where, self._now, reworded=True)

    def _supersede_source(self, conn: Connection, node: Node, old_id: str | None) -> None:
        """Supersede the memory from which new words were made, and which a file still states."""
        old = nodes.get(conn, old_id) if old_id is not None else None
        if old is not None and old.archived_at is None and old.id != node.id:
            # On any branch: either of the two can supersede the other.
            changes.reopen_superseded(conn, node.id, self._now, actor=self._actor)
            changes.supersede(conn, node.id, old, self._now, actor=self._actor)

    def _store(self, conn: Connection, item: Ready) -> Admitted:
        stored = seen_from(conn, item.view, storing.store, self._home, item, self._now)
        self._learn_here(conn, stored.node)
        return stored

    def _learn_here(self, conn: Connection, node: Node) -> None:
        """Make a memory of other branches known here, because a person typed its words."""
        if self._seen.from_git or visibility.provisional_of_node(conn, node.id):
            return
        if visibility.learned_of_nodes(conn, [node.id]):
            where = changes.Where(commit=self._seen.head.commit)
            changes.learn(conn, node, where, self._now)

    def _reopen(self, conn: Connection, node_id: str) -> None:
        again = changes.reopen_superseded
        seen_from(conn, self._view, again, node_id, self._now, actor=self._actor)

    def _change(
        self, conn: Connection, node: Node, change: str, reason: str, **fields: Any
    ) -> Node:
        """Store the next version of a memory, with other fields."""
        done = replace(node, updated_at=self._now, version=node.version + 1, **fields)
        changes.save(conn, done, change, actor=self._actor, reason=self._with_git(reason))
        return done

    def _with_git(self, reason: str) -> str:
        return f"{reason}, {FROM_GIT}" if self._seen.from_git else reason


def _words(item: Ready) -> dict[str, Any]:
    text = item.text
    return {
        "text": text,
        "text_hash": words.text_hash(text),
        "summary": words.summarise(text),
    }


class Recorder:
    """Stores the state of the agent files of one work tree.

    Args:
        home: the daemon's shared state.
        space: the work tree.
        terms: how blocks are compared.
    """

    def __init__(self, home: Home, space: Space, terms: Terms) -> None:
        self._home = home
        self._space = space
        self._terms = terms

    def record_agreement(
        self,
        seen: Gathered,
        data: bytes | None,
        plan: Plan | None,
        reason: str = "",
        done: Committed | None = None,
    ) -> None:
        """Store what both sides agree on now: the last step of a sync."""
        digest = self._block(data or b"")
        wrote = data != seen.data
        now = self._home.clock.now()
        written = tuple(at for at in seen.row.written if at > now - AGENT_FILE_WRITES_WITHIN)
        if wrote and self.restores_block(seen, data or b""):
            written += (now,)
        agreement = None
        if plan is not None:
            agreement = plan.agreement(done.admitted if done else (), digest)
        self._record(
            seen,
            agreement,
            wrote=wrote,
            state=SYNCED if data is not None else ABSENT,
            reason=reason,
            digest=digest_of(data),
            block=digest if plan is not None else "",
            written=written,
            adopted=gathering.adopted(seen.branch, seen.row) if data is not None else "",
        )

    def record_unwritten(self, seen: Gathered, plan: Plan, done: Committed, reason: str) -> bool:
        """Store what both sides agree on while the file is not written, and why it is not.

        Without that, lines deleted meanwhile would be compared with the agreement before, and lines
        typed into a file that is new here would be taken for its first content.

        Returns:
            False when nothing can be agreed on yet; then nothing was stored.
        """
        is_union = not (seen.base if seen.from_git else seen.row.block)
        if seen.data is None or (plan.held is None and not is_union):
            return False
        agreement = None
        if not is_union:
            agreement = plan.agreement(done.admitted, self._block(seen.data), plan.held)
        self._record(
            seen,
            agreement,
            wrote=False,
            state=PENDING,
            reason=reason,
            digest=seen.digest,
            block=agreement.digest if agreement is not None else "",
        )
        return True

    def _record(
        self, seen: Gathered, agreement: Agreement | None, *, wrote: bool, **fields: Any
    ) -> None:
        """Store the row of a file and an agreement, unless they are stored already."""
        branch = privacy.mask(seen.head.branch).text
        head, logged = seen.head.commit, seen.logged
        row = replace(seen.row, head=head, logged=logged, branch=branch, **fields)
        if not self._space.db.read(_is_recorded, row, agreement):
            self._space.db.write(_store_agreement, row, agreement, self._home.clock.now(), wrote)

    def note(self, row: AgentFileRow, state: str, reason: str) -> None:
        """Store why a file is left alone, unless that is stored already."""
        if (row.state, row.reason) != (state, reason):
            paused = replace(row, state=state, reason=reason)
            self._space.db.write(_store_pause, paused, self._home.clock.now())

    def restores_block(self, seen: Gathered, data: bytes) -> bool:
        """Return whether a write restores an earlier block; another process may undo that again."""
        if not seen.changed or seen.from_git:
            return False
        said = self._block(data)
        return said == seen.row.block or (
            self._space.db.read(projects.agreements_of_block, seen.row.worktree, seen.path, said)
            is not None
        )

    def _block(self, data: bytes) -> str:
        """Return the keyed hash of the text of a file's block."""
        found = block.find(data)
        return self._terms.hashed(found.text if isinstance(found, Block) else "")


def _is_recorded(conn: Connection, row: AgentFileRow, agreement: Agreement | None) -> bool:
    known = projects.get_agent_file(conn, row.worktree, row.path)
    if known is None or replace(known, written=row.written) != row:
        return False
    if agreement is None:
        return True
    agreed = projects.agreements_of_block(conn, row.worktree, row.path, agreement.digest)
    return (agreed.items if agreed else ()) == agreement.items


def _store_agreement(
    conn: Connection, row: AgentFileRow, agreement: Agreement | None, at: datetime, wrote: bool
) -> None:
    projects.put_agent_file(conn, row)
    if row.branch and row.head:
        found = BranchBlock(branch=row.branch, head=row.head, block=row.block)
        projects.put_branch_block(conn, row.worktree, row.path, found, at)
    if agreement is not None:
        projects.put_agreements(conn, row.worktree, row.path, agreement, at)
    if wrote:
        rules = len(agreement.items) if agreement else 0
        body: dict[str, object] = {"worktree": row.worktree, "rules": rules}
        event = Event(kind=events.AGENT_FILE_SYNCED, at=at, subject=row.path, body=body)
        history.append(conn, event)


def _store_pause(conn: Connection, row: AgentFileRow, at: datetime) -> None:
    projects.put_agent_file(conn, row)
    if row.state == PAUSED:
        body: dict[str, object] = {"worktree": row.worktree, "reason": row.reason}
        event = Event(kind=events.AGENT_FILE_PAUSED, at=at, subject=row.path, body=body)
        history.append(conn, event)
