"""How many nodes and edges there are, of which kinds, and which nodes have most."""

import apsw


def living(conn: apsw.Connection) -> dict[str, int]:
    """Return how many living nodes there are of each kind, files and symbols too, by kind."""
    rows = conn.execute(
        "SELECT kind, count(*) FROM nodes WHERE archived_ms IS NULL GROUP BY kind ORDER BY kind"
    )
    return dict(iter(rows))


def archived(conn: apsw.Connection) -> int:
    """Return how many memories are archived; the sessions they were learned in are not counted."""
    return int(
        conn.execute(
            """
            SELECT count(*)
              FROM nodes
             WHERE archived_ms IS NOT NULL AND kind NOT IN ('file', 'entity', 'session')
            """
        ).get
    )


def current(conn: apsw.Connection) -> dict[str, int]:
    """Return how many open edges there are of each kind, by kind."""
    rows = conn.execute(
        "SELECT kind, count(*) FROM edges WHERE valid_until_ms IS NULL GROUP BY kind ORDER BY kind"
    )
    return dict(iter(rows))


def historical(conn: apsw.Connection) -> int:
    """Return how many edges have ended."""
    return int(conn.execute("SELECT count(*) FROM edges WHERE valid_until_ms IS NOT NULL").get)


def orphans(conn: apsw.Connection) -> int:
    """Return how many living memories have no open edge but where they were learned."""
    return int(
        conn.execute(
            """
            SELECT count(*)
              FROM nodes
             WHERE archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session')
               AND NOT EXISTS (SELECT 1 FROM edges
                                WHERE from_node = nodes.id AND valid_until_ms IS NULL
                                  AND edges.kind <> 'learned_in')
               AND NOT EXISTS (SELECT 1 FROM edges
                                WHERE to_node = nodes.id AND valid_until_ms IS NULL
                                  AND edges.kind <> 'learned_in')
            """
        ).get
    )


def hubs(conn: apsw.Connection, limit: int) -> list[tuple[str, int]]:
    """Return the nodes with most open edges, and how many: at most `limit`, of equals by id.

    Where a memory was learned is not counted.
    """
    rows = conn.execute(
        """
        SELECT node, count(*) AS edges
          FROM (SELECT from_node AS node FROM edges
                 WHERE valid_until_ms IS NULL AND kind <> 'learned_in'
                 UNION ALL
                SELECT to_node FROM edges
                 WHERE valid_until_ms IS NULL AND kind <> 'learned_in' AND to_node <> from_node)
         GROUP BY node
         ORDER BY edges DESC, node
         LIMIT ?
        """,
        (limit,),
    )
    return [(node, edges) for node, edges in rows]
