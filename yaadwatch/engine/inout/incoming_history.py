"""Where memories that come in had come to: their number, what they said before, what was forgotten.

Who made a version is kept as the import's word for it, which gives nobody the say that a person
has here.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from yaadwatch.core import privacy, text
from yaadwatch.engine import node_changes
from yaadwatch.engine.inout.incoming import Coming, Former, Memory
from yaadwatch.engine.inout.pages import FROM
from yaadwatch.engine.remember.drafts import merged
from yaadwatch.model import events
from yaadwatch.model.events import Event
from yaadwatch.model.ids import called
from yaadwatch.model.nodes import PROJECT, Node, Version, tier_of
from yaadwatch.store import events as log
from yaadwatch.store import nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import versions
from yaadwatch.store.whole import imported

ORIGIN: Final = "import"
_CHARS_MAX: Final = 1_000


@dataclass(slots=True, kw_only=True)
class Taken:
    """What became of forgotten memories and earlier versions: how many, which not, and why."""

    archived: Counter[str] = field(default_factory=Counter)
    versions: Counter[str] = field(default_factory=Counter)
    left_out: list[dict[str, object]] = field(default_factory=list)
    masked: int = 0

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Return what is counted; nothing of what there was none of."""
        found = {"archived": dict(self.archived), "versions": dict(self.versions)}
        return {what: count for what, count in found.items() if count}

    def leave(self, what: str, reason: str) -> None:
        """Tell that something was left out."""
        self.left_out.append({"row": privacy.mask(what).text[:200], "reason": reason})

    def mask(self, said: str) -> str:
        """Return a text as memories say it; it is counted when it had secrets."""
        masked = privacy.kept(said)
        self.masked += bool(masked.kinds)
        return masked.text


def take(conn: Connection, found: Coming, made: Collection[str], now: datetime) -> Taken:
    """Give memories that have just come their history, and bring those that were forgotten.

    A memory that was here already keeps the history that it has here.

    Args:
        conn: in the transaction in which they came.
        found: what is on its way in.
        made: the ids of the memories that came.
        now: when that is; what is said to be later is now.
    """
    taken = Taken()
    known = {one.id for one in (*found.memories, *found.archived)}
    for one in found.memories:
        if one.id in made:
            _go_on(conn, taken, one, found.former.get(one.id, ()), now)
    for one in found.archived:
        there = nodes.get(conn, one.id)
        if there is None:
            node = _forgotten(taken, one, now)
            nodes.insert(conn, node)
            versions.add(conn, node_changes.version_of(node, now, "created", ORIGIN))
            _told(conn, node, now)
            taken.archived["new"] += 1
            _go_on(conn, taken, one, found.former.get(one.id, ()), now)
        elif there.archived_at is not None:
            taken.archived["same"] += 1
        else:
            taken.leave(one.name, f"it is in use here; yaadwatch forget {called(there.id)}")
    for id in sorted(found.former.keys() - known):  # noqa: A001
        taken.leave(f"earlier versions of {id}", "that memory is not among them")
    return taken


def _go_on(
    conn: Connection, taken: Taken, one: Memory, former: Collection[Former], now: datetime
) -> None:
    """Let a memory that has just been made go on from the version it had."""
    updated = min(one.updated or now, now)
    imported.stand_at(conn, one.id, version=one.version, updated_at=updated)
    done = set()
    for before in sorted(former, key=lambda before: before.number):
        if before.number >= one.version or before.number in done:
            taken.leave(f"version {before.number} of {one.name}", "it is no earlier version")
            continue
        done.add(before.number)
        kind = before.kind or _kind_now(conn, one.id)
        version = Version(
            node=one.id,
            version=before.number,
            at=min(before.at or now, now),
            change=taken.mask(before.change)[:_CHARS_MAX],
            actor=FROM + taken.mask(before.by)[:_CHARS_MAX].removeprefix(FROM),
            reason=taken.mask(before.reason)[:_CHARS_MAX],
            kind=kind,
            tier=tier_of(kind),
            text=taken.mask(before.text),
        )
        versions.add(conn, version)
        taken.versions["new"] += 1


def _kind_now(conn: Connection, id: str) -> str:
    """Return of which kind a memory is that is there."""
    return nodes.many(conn, [id])[id].kind


def _forgotten(taken: Taken, one: Memory, now: datetime) -> Node:
    said = taken.mask(one.text).strip()
    kind = one.kind or ""
    archived = min(one.archived or now, now)
    return Node(
        id=one.id,
        kind=kind,
        tier=one.tier or tier_of(kind),
        scope=PROJECT,
        text=said,
        text_hash=text.text_hash(said),
        summary=text.summarise(said),
        key=one.key,
        tags=tuple(dict.fromkeys(taken.mask(tag) for tag in one.tags)),
        attributes=merged({}, privacy.mask_tree(dict(one.attributes))),
        origin=ORIGIN,
        confidence=1.0,
        confirmed_at=archived,
        created_at=min(one.created or archived, now),
        updated_at=archived,
        pinned=one.pinned,
        archived_at=archived,
        archive_reason=taken.mask(one.reason or "")[:_CHARS_MAX],
    )


def _told(conn: Connection, node: Node, now: datetime) -> None:
    made = Event(kind=events.NODE_CREATED, at=now, subject=node.id, body={"kind": node.kind})
    log.append(conn, made)
