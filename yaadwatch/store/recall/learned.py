"""At which commits memories were learned."""

from collections.abc import Iterable
from datetime import datetime

import apsw

from yaadwatch.store.codec import json_list, to_ms

_KEPT = 4


def note(
    conn: apsw.Connection, node: str, commit: str, at: datetime, *, fresh: bool = False
) -> None:
    """Note that a memory was learned, or said again, at a commit; the last four are kept.

    One that is `fresh`, stored in this transaction, was learned nowhere before.

    Raises:
        apsw.ConstraintError: the node is not there.
    """
    conn.execute(
        """
        INSERT INTO learned (node, commit_id, at_ms)
        VALUES (?, ?, ?)
        ON CONFLICT (node, commit_id) DO UPDATE SET at_ms = excluded.at_ms
        """,
        (node, commit, to_ms(at)),
    )
    if fresh:
        return
    conn.execute(
        """
        DELETE FROM learned
         WHERE node = ?1
           AND commit_id NOT IN (SELECT commit_id
                                   FROM learned
                                  WHERE node = ?1
                                  ORDER BY at_ms DESC, commit_id
                                  LIMIT ?2)
        """,
        (node, _KEPT),
    )


def forget(conn: apsw.Connection, node: str) -> None:
    """Forget at which commits a memory was learned."""
    conn.execute("DELETE FROM learned WHERE node = ?", (node,))


def of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, set[str]]:
    """Return, for those of `ids` that were learned at commits, which these are."""
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


def commits(conn: apsw.Connection) -> set[str]:
    """Return the commits at which memories were learned."""
    # From one commit to the next by the index: few commits have many memories.
    rows = conn.execute(
        """
        WITH RECURSIVE found(commit_id) AS (
            SELECT min(commit_id) FROM learned
             UNION ALL
            SELECT (SELECT min(commit_id) FROM learned WHERE commit_id > found.commit_id)
              FROM found
             WHERE found.commit_id IS NOT NULL)
        SELECT commit_id FROM found WHERE commit_id IS NOT NULL
        """
    )
    return {commit for (commit,) in rows}
