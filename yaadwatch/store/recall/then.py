"""How memories read at some time in the past, by the versions that are kept of them."""

from collections.abc import Iterable
from datetime import datetime

import apsw

from yaadwatch.store.codec import json_list, to_ms


def words(conn: apsw.Connection, ids: Iterable[str], at: datetime) -> dict[str, str]:
    """Return the texts that memories had at a time, by id; of an older time than any version, the
    first one that is kept.

    Args:
        conn: a snapshot.
        ids: of memories; those without versions are left out.
        at: the time.
    """
    rows = conn.execute(
        """
        SELECT nodes.id,
               (SELECT coalesce(old.text, nodes.text)
                  FROM node_versions AS old
                 WHERE old.node = nodes.id
                 ORDER BY old.at_ms > :at, iif(old.at_ms > :at, old.version, -old.version)
                 LIMIT 1) AS said
          FROM nodes
         WHERE nodes.id IN (SELECT value FROM json_each(:ids))
         ORDER BY nodes.id
        """,
        {"ids": json_list(ids), "at": to_ms(at)},
    )
    return {node: said for node, said in rows if said is not None}
