"""Which memories rest on uncommitted files, and in which checkouts those files are."""

from collections.abc import Iterable

import apsw

from yaadwatch.model.projects import Checkout


def put(conn: apsw.Connection, node: str, base: str, checkouts: Iterable[Checkout]) -> None:
    """Make these the checkouts with the uncommitted files that a memory rests on.

    Args:
        conn: a transaction.
        node: the memory.
        base: HEAD when it was learned; '' before the first commit.
        checkouts: at most one for each work tree.

    Raises:
        apsw.ConstraintError: the node is not there.
    """
    drop(conn, node)
    conn.executemany(
        "INSERT INTO provisional (node, worktree, branch, base) VALUES (?, ?, ?, ?)",
        [(node, one.worktree, one.branch, base) for one in checkouts],
    )


def drop(conn: apsw.Connection, node: str) -> None:
    """Note that a memory rests on nothing uncommitted."""
    conn.execute("DELETE FROM provisional WHERE node = ?", (node,))


def everything(conn: apsw.Connection) -> dict[str, tuple[str, tuple[Checkout, ...]]]:
    """Return the base and the checkouts of each living memory that rests on uncommitted files."""
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


def of_node(conn: apsw.Connection, node: str) -> tuple[Checkout, ...]:
    """Return the checkouts with the uncommitted files that a memory rests on."""
    rows = conn.execute(
        "SELECT worktree, branch FROM provisional WHERE node = ? ORDER BY worktree", (node,)
    )
    return tuple(Checkout(worktree=worktree, branch=branch) for worktree, branch in rows)
