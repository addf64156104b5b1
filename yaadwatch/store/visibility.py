"""Hide the memories that a work tree does not show: one query, into a temporary table.

Each connection has the table `hidden`, empty but for the time of `seen_from`. SQL asks it with
`id NOT IN (SELECT id FROM hidden)`, so no caller passes ids on.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Concatenate, Final, ParamSpec, TypeVar

import apsw

from yaadwatch.store.codec import json_list
from yaadwatch.store.provenance import HIDDEN

P = ParamSpec("P")
R = TypeVar("R")

FILE: Final = "file"
"""Only files of this work tree said it, and the ones that are checked out do not."""
BRANCH: Final = "branch"
"""It was learned on branches only that are not merged here."""
WORK: Final = "work"
"""It is about uncommitted work in another checkout."""

TABLE: Final = """
CREATE TEMP TABLE hidden (
    id     TEXT NOT NULL,
    reason TEXT NOT NULL,
    PRIMARY KEY (id, reason)
) STRICT, WITHOUT ROWID
"""

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
"""  # noqa: S608  (constants of ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """From where memories are seen: a work tree, and what git says of its branch.

    Args:
        worktree: its number.
        branch: what is checked out there; None: memories of other branches are seen, too.
        unmerged: commits of branches only whose work is not here.
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
    """Run `look(conn, ...)` while the memories are hidden that `view` does not show.

    Args:
        conn: a snapshot or a transaction.
        view: from where; None hides nothing.
        look: a read or a change.
        args: of it.
        kw: of it.
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
    """Return the ids of the memories that are hidden just now, for any of these reasons or all."""
    rows = conn.execute(
        """
        SELECT DISTINCT id
          FROM temp.hidden
         WHERE ?1 = '[]' OR reason IN (SELECT value FROM json_each(?1))
         ORDER BY id
        """,
        (json_list(reasons),),
    )
    return {node for (node,) in rows}


def of_other_branches(conn: apsw.Connection) -> set[str]:
    """Return the hidden memories that were learned elsewhere: by branch, or by uncommitted work."""
    return hidden(conn, BRANCH, WORK)


def among(conn: apsw.Connection, ids: Collection[str]) -> set[str]:
    """Return those of `ids` that are hidden just now."""
    rows = conn.execute(
        """
        SELECT DISTINCT id
          FROM temp.hidden
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,
        (json_list(ids),),
    )
    return {node for (node,) in rows}


def by_work(
    conn: apsw.Connection, ids: Collection[str] | None = None
) -> list[tuple[str | None, str, int]]:
    """Return where the uncommitted work is that hidden memories are about: path, branch, count.

    The path is None where the work tree is gone.

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
    return [tuple(row) for row in rows]
