"""Hide the memories that a work tree does not show, and store where memories were learned.

One query fills the temporary table `hidden` of the connection for the duration of `seen_from`. SQL
filters with `id NOT IN (SELECT id FROM hidden)`, so callers pass no ids on.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Concatenate, Final, ParamSpec, TypeVar

import apsw

from yaadwatch.db.codec import Record, column, json_list, to_ms
from yaadwatch.db.history import HIDDEN
from yaadwatch.model.projects import Checkout

P = ParamSpec("P")
R = TypeVar("R")

FILE: Final = "file"
"""Stated only in files of this work tree that are not checked out."""
BRANCH: Final = "branch"
"""Learned only on branches that are not merged here."""
WORK: Final = "work"
"""About uncommitted work in another checkout."""

TABLE: Final = """
CREATE TEMP TABLE hidden (
    id     TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (id, reason)
) STRICT, WITHOUT ROWID
"""

_CHECKOUT: Final = Record(Checkout, "provisional")
_HIDE: Final = f"""
WITH unmerged(commit_id) AS MATERIALIZED (SELECT value FROM json_each(:unmerged)),
here(node) AS MATERIALIZED (
    SELECT node FROM provisional WHERE worktree = :worktree AND branch = :branch),
away(node, reason) AS (
    SELECT DISTINCT node, '{BRANCH}'
      FROM learned
     WHERE commit_id IN unmerged
       AND NOT EXISTS (SELECT 1
                         FROM learned AS merged
                        WHERE merged.node = learned.node AND merged.commit_id NOT IN unmerged)
     UNION
    SELECT node, '{WORK}'
      FROM provisional
     WHERE :branch IS NOT NULL
       AND NOT EXISTS (SELECT 1 FROM learned WHERE learned.node = provisional.node))
INSERT INTO temp.hidden (id, reason)
SELECT nodes.id, away.reason
  FROM away CROSS JOIN nodes ON nodes.id = away.node
 WHERE nodes.archived_ms IS NULL AND NOT nodes.pinned AND nodes.id NOT IN here
   AND NOT EXISTS (
       SELECT 1
         FROM provenance
        WHERE node = nodes.id AND worktree = :worktree AND line IS NOT NULL)
 UNION ALL
SELECT node, '{FILE}' FROM ({HIDDEN})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """The point of view of a read: a work tree, and the state of its branch in git.

    Args:
        worktree: the number of the work tree.
        branch: the checked-out branch; None shows memories of all branches.
        unmerged: commits on other branches whose work this branch lacks.
    """

    worktree: int
    branch: str | None = None
    unmerged: frozenset[str] = frozenset()


def seen_from(
    conn: apsw.Connection,
    view: View | None,
    look: Callable[Concatenate[apsw.Connection, P], R],
    *args: P.args,
    **kw: P.kwargs,
) -> R:
    """Run `look(conn, ...)` while the memories that `view` does not show are hidden.

    Args:
        conn: a snapshot or a transaction.
        view: the point of view; None hides nothing.
        look: a read or a change.
        args: its positional arguments.
        kw: its keyword arguments.
    """
    if view is None:
        return look(conn, *args, **kw)
    conn.execute(
        _HIDE,
        {
            "worktree": view.worktree,
            "branch": view.branch,
            "unmerged": json_list(view.unmerged),
            "among": None,
        },
    )
    try:
        return look(conn, *args, **kw)
    finally:
        conn.execute("DELETE FROM temp.hidden")


def hidden(conn: apsw.Connection, *reasons: str) -> set[str]:
    """Return the ids of the hidden memories, for any of these reasons or all."""
    sql = """
        SELECT id FROM temp.hidden
         WHERE ?1 = '[]' OR reason IN (SELECT value FROM json_each(?1))
    """
    return set(column(conn, sql, (json_list(reasons),)))


def of_other_branches(conn: apsw.Connection) -> set[str]:
    """Return the hidden memories learned on other branches or in uncommitted work."""
    return hidden(conn, BRANCH, WORK)


def among(conn: apsw.Connection, ids: Collection[str]) -> set[str]:
    """Return those of `ids` that are hidden."""
    sql = "SELECT id FROM temp.hidden WHERE id IN (SELECT value FROM json_each(?))"
    return set(column(conn, sql, (json_list(ids),)))


def by_work(
    conn: apsw.Connection, ids: Collection[str] | None = None
) -> list[tuple[str | None, str, int]]:
    """Return path, branch and count of the uncommitted work that hidden memories rest on.

    The path is None when the work tree is gone.

    Args:
        conn: a snapshot, inside `seen_from`.
        ids: only these memories count; all when None.
    """
    rows = conn.execute(
        """
        SELECT worktrees.path, work.branch, count(*)
          FROM (SELECT node, min(worktree) AS worktree, branch
                  FROM provisional
                 WHERE node IN (SELECT id FROM temp.hidden WHERE reason = ?1)
                   AND (?2 IS NULL OR node IN (SELECT value FROM json_each(?2)))
                 GROUP BY node) AS work
          LEFT JOIN worktrees ON worktrees.id = work.worktree
         GROUP BY work.worktree, work.branch
         ORDER BY worktrees.path IS NULL, worktrees.path, work.branch
        """,
        (WORK, None if ids is None else json_list(ids)),
    )
    return list(rows)


def note_learned(conn: apsw.Connection, node: str, commit: str, at: datetime) -> None:
    """Store that a memory was learned, or stated again, at a commit; the last four are kept.

    Raises:
        apsw.ConstraintError: the node is not there.
    """
    conn.execute(
        "INSERT OR REPLACE INTO learned (node, commit_id, at_ms) VALUES (?, ?, ?)",
        (node, commit, to_ms(at)),
    )
    conn.execute(
        """
        DELETE FROM learned
         WHERE node = ?1
           AND commit_id NOT IN (SELECT commit_id FROM learned WHERE node = ?1
                                  ORDER BY at_ms DESC, commit_id LIMIT 4)
        """,
        (node,),
    )


def forget_learned(conn: apsw.Connection, node: str) -> None:
    """Delete the commits at which a memory was learned."""
    conn.execute("DELETE FROM learned WHERE node = ?", (node,))


def learned_of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return the commits at which each of `ids` was learned."""
    rows = conn.execute(
        """
        SELECT node, commit_id
          FROM learned
         WHERE node IN (SELECT value FROM json_each(?))
         ORDER BY node, commit_id
        """,
        (json_list(ids),),
    )
    found: dict[str, set[str]] = {}
    for node, commit in rows:
        found.setdefault(node, set()).add(commit)
    return found


def learned_commits(conn: apsw.Connection) -> set[str]:
    """Return the commits at which memories were learned."""
    # Skips from commit to commit in the index: few commits have many memories.
    sql = """
        WITH RECURSIVE found(commit_id) AS (
            SELECT min(commit_id) FROM learned
             UNION ALL
            SELECT (SELECT min(commit_id) FROM learned WHERE commit_id > found.commit_id)
              FROM found
             WHERE found.commit_id IS NOT NULL)
        SELECT commit_id FROM found WHERE commit_id IS NOT NULL
    """
    return set(column(conn, sql))


def put_provisional(
    conn: apsw.Connection, node: str, base: str, checkouts: Iterable[Checkout]
) -> None:
    """Set the checkouts with the uncommitted files that a memory rests on.

    Args:
        conn: a transaction.
        node: the memory.
        base: HEAD when it was learned; '' before the first commit.
        checkouts: at most one for each work tree.

    Raises:
        apsw.ConstraintError: the node is not there.
    """
    drop_provisional(conn, node)
    sql = "INSERT INTO provisional (node, worktree, branch, base) VALUES (?, ?, ?, ?)"
    conn.executemany(sql, [(node, one.worktree, one.branch, base) for one in checkouts])


def drop_provisional(conn: apsw.Connection, node: str) -> None:
    """Store that a memory rests on nothing uncommitted."""
    conn.execute("DELETE FROM provisional WHERE node = ?", (node,))


def all_provisional(conn: apsw.Connection) -> dict[str, tuple[str, tuple[Checkout, ...]]]:
    """Return base and checkouts of each living memory that rests on uncommitted files."""
    rows = conn.execute(
        """
        SELECT node, base, worktree, branch
          FROM provisional
         WHERE EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY node, worktree
        """
    )
    found: dict[str, tuple[str, tuple[Checkout, ...]]] = {}
    for node, base, worktree, branch in rows:
        before = found.get(node, (base, ()))[1]
        found[node] = (base, (*before, Checkout(worktree=worktree, branch=branch)))
    return found


def provisional_of_node(conn: apsw.Connection, node: str) -> tuple[Checkout, ...]:
    """Return the checkouts with uncommitted files that a memory rests on."""
    where = "WHERE node = ? ORDER BY worktree"
    return tuple(_CHECKOUT.select(conn, where, (node,)))
