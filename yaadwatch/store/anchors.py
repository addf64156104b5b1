"""What the memories rest on, as it was when they were last confirmed."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import apsw

from yaadwatch.model.anchors import HELD, Anchor
from yaadwatch.store.codec import Record, json_list

_ROW: Final = Record(Anchor, {"commit": "commit_id"})
_OWN: Final = Record(Anchor, {"commit": "commit_id"}, but=["node"])


def insert(conn: apsw.Connection, anchors: Iterable[Anchor]) -> None:
    """Add anchors; one that its node has on the same path and symbol is replaced.

    Raises:
        apsw.ConstraintError: a node is not there.
    """
    insert_of(conn, ((anchor.node, anchor) for anchor in anchors))


def insert_of(conn: apsw.Connection, anchors: Iterable[tuple[str, Anchor]]) -> None:
    """Add anchors as `insert` does, each with the node that it is of, whichever it names.

    Raises:
        apsw.ConstraintError: a node is not there.
    """
    conn.executemany(
        f"""
        INSERT INTO file_watch ({_ROW.columns})
        VALUES ({_ROW.marks})
        ON CONFLICT (node, path, symbol) DO UPDATE
           SET commit_id = excluded.commit_id, blob = excluded.blob, method = excluded.method,
               fingerprint = excluded.fingerprint, line = excluded.line, trust = excluded.trust,
               spread = excluded.spread
        """,  # noqa: S608
        ((node, *_OWN.values(anchor)) for node, anchor in anchors),
    )


def of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, list[Anchor]]:
    """Return the anchors of these nodes, living or archived, in the order of their making.

    Every given id is a key; the list of a node without anchors is empty.
    """
    wanted = sorted(set(ids))
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_watch
         WHERE node IN (SELECT value FROM json_each(?))
         ORDER BY node, id
        """,  # noqa: S608
        (json_list(wanted),),
    )
    found: dict[str, list[Anchor]] = {node: [] for node in wanted}
    for row in rows:
        anchor = _ROW.read(row)
        found[anchor.node].append(anchor)
    return found


def on_paths(conn: apsw.Connection, paths: Iterable[str]) -> list[Anchor]:
    """Return the anchors of living nodes on any of `paths`, by path, then node."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_watch
         WHERE path IN (SELECT value FROM json_each(?))
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path, node, symbol
        """,  # noqa: S608
        (json_list(paths),),
    )
    return list(map(_ROW.read, rows))


def nodes_on(conn: apsw.Connection, path: str, symbol: str, limit: int) -> list[str]:
    """Return the living nodes with an anchor on exactly this path and symbol, newest first."""
    rows = conn.execute(
        """
        SELECT node
          FROM file_watch
         WHERE path = ? AND symbol = ?
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY id DESC
         LIMIT ?
        """,
        (path, symbol, limit),
    )
    return [node for (node,) in rows]


def resting(conn: apsw.Connection, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return path and node of each living node that rests on any of `paths`, in that order."""
    rows = conn.execute(
        """
        SELECT DISTINCT path, node
          FROM file_watch
         WHERE path IN (SELECT value FROM json_each(?))
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path, node
        """,
        (json_list(paths),),
    )
    return list(rows)


def unchanged(conn: apsw.Connection, known: Mapping[str, Sequence[Anchor]]) -> set[str]:
    """Return those of some nodes that live, and whose anchors are these, as `of_nodes` has them.

    They are compared as they stand in the table: to make an anchor of each takes twice as long.
    """
    rows = conn.execute(
        f"""
        SELECT n.id, {_OWN.of("w")}
          FROM nodes AS n
          LEFT JOIN file_watch AS w ON w.node = n.id
         WHERE n.id IN (SELECT value FROM json_each(?)) AND n.archived_ms IS NULL
         ORDER BY n.id, w.id
        """,  # noqa: S608
        (json_list(known),),
    )
    found: dict[str, list[list[Any]]] = {}
    for node, *values in rows:
        own = found.setdefault(node, [])
        if values[0] is not None:
            own.append(values)
    return {node for node, own in found.items() if own == list(map(_OWN.values, known[node]))}


def everything(conn: apsw.Connection) -> list[Anchor]:
    """Return the anchors of living nodes, by path, then node."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_watch
         WHERE EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path, node, symbol
        """  # noqa: S608
    )
    return list(map(_ROW.read, rows))


def census(conn: apsw.Connection) -> dict[str, int]:
    """Return how many living memories rest on something, and on how many definitions and files."""
    memories, definitions, files = conn.execute(
        """
        SELECT count(DISTINCT node),
               count(DISTINCT iif(method IN ('tree', 'hunks'), path || char(0) || symbol,
                              iif(method = 'value' AND instr(symbol, ?1),
                                  path || char(0) || substr(symbol, 1, instr(symbol, ?1) - 1),
                                  NULL))),
               count(DISTINCT iif(method NOT IN ('folder', 'glob'), path, NULL))
          FROM file_watch
         WHERE EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
        """,
        (HELD,),
    ).get
    return {"memories": memories, "definitions": definitions, "files": files}


def named_elsewhere(conn: apsw.Connection) -> list[Anchor]:
    """Return the anchors of living nodes on what other files may name, by path, then node."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_watch
         WHERE method NOT IN ('glob', 'target', 'value')
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path, node, symbol
        """  # noqa: S608
    )
    return list(map(_ROW.read, rows))


def paths(conn: apsw.Connection) -> list[str]:
    """Return the paths that living nodes rest on, sorted."""
    rows = conn.execute(
        """
        SELECT DISTINCT path
          FROM file_watch
         WHERE EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path
        """
    )
    return [path for (path,) in rows]


def folders(conn: apsw.Connection) -> list[Anchor]:
    """Return the anchors of living nodes on paths that only folders and patterns are anchored at.

    By path, then node.
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM file_watch
         WHERE path IN (SELECT path FROM file_watch WHERE reference IN ('directory', 'glob')
                        EXCEPT
                        SELECT path FROM file_watch WHERE reference NOT IN ('directory', 'glob'))
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path, node, symbol
        """  # noqa: S608
    )
    return list(map(_ROW.read, rows))


def above(conn: apsw.Connection, changed: Iterable[str]) -> list[str]:
    """Return the folders that living nodes rest on, and that one of `changed` is in, sorted."""
    inside: set[str] = set()
    for path in changed:
        while path := path.rpartition("/")[0]:
            if path in inside:
                break
            inside.add(path)
    rows = conn.execute(
        """
        SELECT DISTINCT path
          FROM file_watch
         WHERE reference IN ('directory', 'glob')
           AND (path = '' OR path IN (SELECT value FROM json_each(?)))
           AND EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)
         ORDER BY path
        """,
        (json_list(sorted(inside)),),
    )
    return [path for (path,) in rows]


def drop(conn: apsw.Connection, node: str) -> None:
    """Take every anchor of a node away."""
    conn.execute("DELETE FROM file_watch WHERE node = ?", (node,))
