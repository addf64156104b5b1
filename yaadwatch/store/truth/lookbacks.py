"""Statements of agent files still to be compared with the code of the day they were written.

They stand in the row of their work tree, as JSON.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field

import apsw

from yaadwatch.model.nodes import Node
from yaadwatch.store import nodes


@dataclass(slots=True, kw_only=True)
class Lookback:
    """What is left to compare in one work tree.

    Args:
        pending: ids of memories, by the commit in which their statements were read.
        failed: ids that git could not compare, until `add` runs again; `why`: in words.
        cut: ids that were compared as far as a shallow history goes.
        total: how many were pending since nothing was.
    """

    pending: dict[str, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    why: str = ""
    cut: list[str] = field(default_factory=list)
    total: int = 0

    @property
    def left(self) -> int:
        """Return how many memories are pending."""
        return sum(map(len, self.pending.values()))

    def add(self, ids: Iterable[str], read_at: str) -> None:
        """Make memories pending whose statements were read in a commit; '' before the first one."""
        if read_at and (new := list(ids)):
            self.pending.setdefault(read_at, []).extend(new)
            self.total += len(new)

    def settle(self, ids: set[str], *, failed: Iterable[str], cut: Iterable[str]) -> None:
        """Take memories that were compared, or could not be, off the pending ones."""
        left = {at: [one for one in some if one not in ids] for at, some in self.pending.items()}
        self.pending = {at: some for at, some in left.items() if some}
        self.failed += failed
        self.cut += sorted(cut)
        self.total = self.total if self.pending else 0


def of_worktree(conn: apsw.Connection, worktree: int) -> Lookback:
    """Return what is left to compare in a work tree; nothing where it is not as we write it."""
    said = conn.execute("SELECT lookback FROM worktrees WHERE id = ?", (worktree,)).get
    try:
        found = Lookback(**json.loads(said or "{}"))
        fits = all(isinstance(one, str) for one in (*found.failed, *found.cut, found.why))
        for at, ids in found.pending.items():
            fits = fits and isinstance(at, str) and all(isinstance(one, str) for one in ids)
        return found if fits and isinstance(found.total, int) else Lookback()
    except (ValueError, TypeError, AttributeError):
        return Lookback()


def put(conn: apsw.Connection, worktree: int, lookback: Lookback) -> None:
    """Store what is left to compare in a work tree."""
    said = "" if lookback == Lookback() else json.dumps(asdict(lookback), separators=(",", ":"))
    conn.execute("UPDATE worktrees SET lookback = ? WHERE id = ?", (said, worktree))


def add(conn: apsw.Connection, worktree: int, ids: Iterable[str], read_at: str) -> None:
    """Make memories pending in a work tree; see `Lookback.add`."""
    if new := list(ids):
        lookback = of_worktree(conn, worktree)
        lookback.add(new, read_at)
        put(conn, worktree, lookback)


def waiting(conn: apsw.Connection) -> list[int]:
    """Return the work trees in which memories are pending."""
    rows = conn.execute("SELECT id FROM worktrees WHERE lookback <> '' ORDER BY id")
    return [tree for (tree,) in rows if of_worktree(conn, tree).pending]


def untouched(conn: apsw.Connection, ids: Iterable[str]) -> list[Node]:
    """Return those of some memories that live and are as they were read."""
    known = nodes.many(conn, ids).values()
    return [node for node in known if node.archived_at is None and node.version == 1]
