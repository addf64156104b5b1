"""What a person wrote, written down: every change that one file brings, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from yaadwatch.core import text
from yaadwatch.core.sync.inventory import Place
from yaadwatch.core.sync.plan import Plan, Superseded
from yaadwatch.engine import node_changes, succession
from yaadwatch.engine.remember import preparing, storing
from yaadwatch.engine.remember.drafts import NEW, Draft, Ready
from yaadwatch.engine.remember.write_batch import change_one
from yaadwatch.engine.syncing.deciding import Decided, as_stored
from yaadwatch.engine.syncing.gathering import Gathered
from yaadwatch.engine.workspace import Home, Space
from yaadwatch.model import events
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import HOT, WARM, Node, Provenance
from yaadwatch.store import agreements, anchors, flags, nodes, provenance
from yaadwatch.store import events as log
from yaadwatch.store.connection import Connection
from yaadwatch.store.recall import learned, provisional
from yaadwatch.store.truth import lookbacks
from yaadwatch.store.truth.authority import FROM_GIT
from yaadwatch.store.visibility import View, seen_from

GONE = "deleted from "
"""What the reason begins with when a memory was archived because its last place is gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """What a file brought: memories for the new lines of its block, and whether anything."""

    admitted: tuple[str, ...]
    changed: bool


def commit(home: Home, space: Space, seen: Gathered, decided: Decided, *, view: View) -> Committed:
    """Write down what a file brings, as its work tree sees the memories.

    Raises:
        YaadError: the store or git cannot be had; a memory was changed meanwhile (CONFLICT).
    """
    stock, plan = decided.inventory, decided.plan
    origin = f"file:{seen.path}"
    fresh = [place for place in stock.new if _key(place) not in decided.archived]
    drafts = [
        *(_outside(seen, place, origin) for place in fresh),
        *(
            Draft(text=new.text, origin=origin, tier=HOT, from_git=seen.from_git)
            for new in (plan.new if plan else ())
        ),
        *(Draft(text=one.text, origin=origin) for one in (plan.superseded if plan else ())),
    ]
    ready = preparing.prepare(home, space, drafts) if drafts else []
    work = _Commit(home, seen, decided, view, home.clock.now())
    return space.db.write(work.write, fresh, ready)


class _Commit:
    """The changes that one file brings; each method is called inside the transaction."""

    def __init__(
        self, home: Home, seen: Gathered, decided: Decided, view: View, now: datetime
    ) -> None:
        self._home = home
        self._view = view
        self._seen = seen
        self._stock = decided.inventory
        self._plan = decided.plan or Plan()
        self._archived = decided.archived
        self._now = now
        self._actor = f"file:{seen.path}"
        self._from_git = f", {FROM_GIT}" if seen.from_git else ""
        self._shows_other = False  # whether other memories are hidden here than before
        self._older: list[str] = []  # what is new here, and may have been written long ago

    def write(self, conn: Connection, fresh: Sequence[Place], ready: Sequence[Ready]) -> Committed:
        """Write everything down."""
        seen, plan = self._seen, self._plan
        of_places = dict(zip([place.position for place in fresh], ready, strict=False))
        of_new = ready[len(fresh) : len(fresh) + len(plan.new)]
        of_superseded = ready[len(fresh) + len(plan.new) :]
        counts = {"said": self._take_stock(conn, of_places), "gone": self._bury_gone(conn)}
        lookbacks.add(conn, seen.row.worktree, self._older, seen.head.commit)
        stored = [self._stored(conn, one) for one in of_new]
        for new, made in zip(plan.new, stored, strict=True):
            self._put_in_place(conn, made, new.supersedes)
        for one, item in zip(plan.superseded, of_superseded, strict=True):
            self._supersede(conn, one, item)
        for node in plan.demoted:
            self._demote(conn, node)
        agreements.bury(conn, seen.row.worktree, seen.path, plan.tombstones, self._now)
        agreements.lift(conn, plan.lifted)
        counts["inside"] = len(stored) + len(plan.superseded) + len(plan.demoted)
        changed = any(counts.values())
        if changed:
            body: dict[str, object] = {"worktree": seen.row.worktree, "from_git": seen.from_git}
            log.append(
                conn,
                Event(
                    kind=events.AGENT_FILE_EDITED,
                    at=self._now,
                    subject=seen.path,
                    body=body | counts,
                ),
            )
        return Committed(
            admitted=tuple(node.id for node in stored), changed=changed or self._shows_other
        )

    def _take_stock(self, conn: Connection, ready: Mapping[int, Ready]) -> int:
        """Write down what the file says outside its block; return how many statements are new."""
        worktree, path = self._seen.row.worktree, self._seen.path
        before = provenance.on_path(conn, worktree, path)
        was_hidden = provenance.hidden(conn, worktree)
        rows = []
        for place in self._stock.places:
            node = place.node or self._reheaded(conn, place, ready)
            node = node or self._admitted(conn, place, ready)
            if place.line is not None and place.node is not None:
                self._show_again(conn, node)
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
        if rows != before:
            provenance.put_path(conn, worktree, path, rows)
        hidden = provenance.hidden(conn, worktree)
        self._shows_other = hidden != was_hidden
        back = was_hidden - hidden
        for resting in anchors.of_nodes(conn, back).values():
            node_changes.look_again(conn, resting)
        return len(self._stock.new)

    def _reheaded(self, conn: Connection, place: Place, ready: Mapping[int, Ready]) -> str | None:
        """Give a memory the headings that its words have now; None where it is another memory.

        Its words were not stated again: it stays in its tier, with its anchors and flags.
        """
        item = ready.get(place.position)
        node = nodes.get(conn, place.was) if place.was is not None else None
        here = (self._seen.row.worktree, self._seen.path)
        if item is None or node is None or node.archived_at is not None:
            return None
        if any((one.worktree, one.path) != here for one in provenance.of_node(conn, node.id)):
            return None
        digest = text.text_hash(item.text)
        if nodes.by_hash(conn, node.scope, digest, thing=False) is not None:
            return None
        moved = replace(
            node,
            text=item.text,
            text_hash=digest,
            summary=text.summarise(item.text),
            updated_at=self._now,
            version=node.version + 1,
        )
        self._changed(conn, moved, "moved", f"below another heading in {self._seen.path}")
        node_changes.index(conn, moved)
        return node.id

    def _admitted(self, conn: Connection, place: Place, ready: Mapping[int, Ready]) -> str:
        """Return the memory of a statement that is new here."""
        item = ready.get(place.position)
        if item is not None:
            return self._brought(conn, item).id
        node = self._archived[_key(place)]
        if not self._seen.from_git or (node.archive_reason or "").startswith(GONE):
            self._revive(conn, node.id)
        return node.id

    def _show_again(self, conn: Connection, node_id: str) -> None:
        """Bring a memory back whose words a person deleted here, and put back."""
        node = nodes.get(conn, node_id)
        if node is not None and node.archived_at and (node.archive_reason or "").startswith(GONE):
            self._revive(conn, node_id)

    def _revive(self, conn: Connection, node_id: str) -> None:
        node = nodes.get(conn, node_id)
        if node is None or node.archived_at is None:
            return
        if nodes.by_hash(conn, node.scope, node.text_hash, thing=False) is None:
            reason = FROM_GIT if self._seen.from_git else ""
            node_changes.unarchive(conn, node, self._now, actor=self._actor, reason=reason)
            if not self._seen.from_git:
                self._stated_anew(conn, node_id)

    def _bury_gone(self, conn: Connection) -> int:
        """Archive what a person deleted, if no other place says it; return how many those are."""
        lost = [node for node in self._stock.gone if not provenance.said(conn, [node])]
        buried = 0
        for node in nodes.many(conn, lost).values():
            if node.archived_at is None and node.origin.startswith("file:") and not node.pinned:
                reason = f"{GONE}{self._seen.path}"
                node_changes.archive(conn, node, self._now, actor=self._actor, reason=reason)
                buried += 1
        return buried

    def _supersede(self, conn: Connection, one: Superseded, item: Ready) -> None:
        """Give a memory the words that the file has; what it said is kept as a version."""
        node = nodes.get(conn, one.node)
        if node is None:
            return
        digest = text.text_hash(item.text)
        twin = nodes.by_hash(conn, node.scope, digest, thing=False)
        if twin is not None and twin.id != node.id:
            self._say(conn, twin)
            if node.archived_at is None:
                reason = f"says the same as {called(twin.id)}"
                node_changes.archive(conn, node, self._now, actor=self._actor, reason=reason)
            return
        reason = f"edited in {self._seen.path}"
        if one.over is not None:
            reason += ", over what was said meanwhile"
        edited = replace(
            node,
            text=item.text,
            text_hash=digest,
            summary=text.summarise(item.text),
            tier=node.tier if node.pinned else HOT,
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
            node,
            rests_on=item.anchors,
            names=item.entities,
            actor=self._actor,
            reason=reason + self._from_git,
            keeps_places=True,
        )
        node_changes.settle(conn, edited, item.where, self._now, reworded=True)

    def _stored(self, conn: Connection, item: Ready) -> Node:
        node = seen_from(conn, item.view, storing.store, self._home, item, self._now).node
        self._said_here(conn, node)
        return node

    def _put_in_place(self, conn: Connection, node: Node, old_id: str | None) -> None:
        """Let new words stand in the place of what they were made of, which a file still says."""
        old = nodes.get(conn, old_id) if old_id is not None else None
        if old is not None and old.archived_at is None and old.id != node.id:
            # On any branch: one of the two can stand in the place of the other.
            succession.stated_anew(conn, node.id, self._now, actor=self._actor)
            node_changes.supersede(conn, node.id, old, self._now, actor=self._actor)

    def _brought(self, conn: Connection, item: Ready) -> Node:
        """Store what stands outside the block; of what is new, and was not typed here, is found out
        later what it rested on when it was written.
        """
        stored = seen_from(conn, item.view, storing.store, self._home, item, self._now)
        self._said_here(conn, stored.node)
        if stored.decision == NEW and item.draft.baseline:
            self._older.append(stored.node.id)
        return stored.node

    def _said_here(self, conn: Connection, node: Node) -> None:
        """Note that a person typed the words of a memory here that is bound to other branches."""
        if self._seen.from_git or provisional.of_node(conn, node.id):
            return
        if learned.of_nodes(conn, [node.id]):
            where = node_changes.Where(commit=self._seen.head.commit)
            node_changes.learn(conn, node, where, self._now)

    def _say(self, conn: Connection, node: Node) -> None:
        """Note that a person typed the words of a memory: it is a rule, whoever said it first."""
        said = replace(
            node,
            tier=HOT,
            confidence=1.0,
            confirmed_at=self._now,
            updated_at=self._now,
            version=node.version + 1,
        )
        self._changed(conn, said, "confirmed", "said again")
        self._stated_anew(conn, node.id)
        self._said_here(conn, said)
        flags.drop_node(conn, node.id)

    def _stated_anew(self, conn: Connection, node_id: str) -> None:
        again = succession.stated_anew
        seen_from(conn, self._view, again, node_id, self._now, actor=self._actor)

    def _demote(self, conn: Connection, node_id: str) -> None:
        """Take a memory out of the hot tier; it stays, and can be recalled."""
        node = nodes.get(conn, node_id)
        if node is None or node.archived_at is not None:
            return
        demoted = replace(
            node,
            tier=max(node.tier, WARM),
            pinned=False,
            updated_at=self._now,
            version=node.version + 1,
        )
        self._changed(conn, demoted, "demoted", f"its line was deleted in {self._seen.path}")

    def _changed(self, conn: Connection, node: Node, change: str, reason: str) -> None:
        reason += self._from_git
        node_changes.save(conn, node, change, actor=self._actor, reason=reason)


def _key(place: Place) -> str:
    if place.statement is None:
        raise ValueError("a place that is new has a statement")
    return text.text_hash(as_stored(place.statement.text))


def _is_baseline(seen: Gathered) -> bool:
    """Return whether what is new in a file was not typed here, or does not hold everywhere."""
    return seen.from_git or not seen.everywhere


def _outside(seen: Gathered, place: Place, origin: str) -> Draft:
    if place.statement is None:
        raise ValueError("a place that is new has a statement")
    return Draft(
        text=place.statement.text,
        origin=origin,
        kind=preparing.kind_of(place.statement),
        headings=place.statement.headings,
        folder=seen.path.rpartition("/")[0],
        baseline=_is_baseline(seen),
        stays=bool(place.statement.stays),
        from_git=seen.from_git,
    )
