"""Store anchors, file fingerprints, flags and pending lookbacks of each work tree.

A fingerprint (`sightings`) spares reading an unchanged file again. A flag is stored per work tree,
because a branch may have code that another branch lacks. The lookback is one JSON column of its
work tree: agent file statements still to be compared with the code of the day they were written.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import apsw

from yaadwatch.db import nodes
from yaadwatch.db.codec import Record, column, from_ms, json_list, to_json
from yaadwatch.model.anchors import HELD, Anchor, Commit, Evidence, Flag, Sighting, Suggestion
from yaadwatch.model.memories import Node

_ROW: Final = Record(Anchor, "file_watch", {"commit": "commit_id"})
_OWN: Final = Record(Anchor, "file_watch", {"commit": "commit_id"}, but=["node"])
_LIVES: Final = "EXISTS (SELECT 1 FROM nodes WHERE id = node AND archived_ms IS NULL)"


def insert(conn: apsw.Connection, anchors: Iterable[tuple[str, Anchor]]) -> None:
    """Add anchors, each to the node it is paired with; one of the same node, path and symbol is
    replaced.

    Raises:
        apsw.ConstraintError: a node is not there.
    """
    conn.executemany(
        f"""
        INSERT INTO file_watch ({_ROW.columns})
        VALUES ({_ROW.marks})
        ON CONFLICT (node, path, symbol) DO UPDATE
           SET {", ".join(f"{name} = excluded.{name}" for name in _OWN.names)}
        """,
        ((node, *_OWN.values(anchor)) for node, anchor in anchors),
    )


def of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, list[Anchor]]:
    """Return the anchors of these nodes, living or archived, in insertion order.

    Every given id is a key; a node without anchors has an empty list.
    """
    wanted = sorted(set(ids))
    where = "WHERE node IN (SELECT value FROM json_each(?)) ORDER BY node, id"
    found: dict[str, list[Anchor]] = {node: [] for node in wanted}
    for anchor in _ROW.select(conn, where, (json_list(wanted),)):
        found[anchor.node].append(anchor)
    return found


def on_paths(conn: apsw.Connection, paths: Iterable[str]) -> list[Anchor]:
    """Return the anchors of living nodes on any of `paths`, by path, then node."""
    where = f"""
         WHERE path IN (SELECT value FROM json_each(?)) AND {_LIVES} ORDER BY path, node, symbol
    """
    return _ROW.select(conn, where, (json_list(paths),))


def nodes_on(conn: apsw.Connection, path: str, symbol: str, limit: int) -> list[str]:
    """Return the living nodes with an anchor on exactly this path and symbol, newest first."""
    sql = f"""
        SELECT node FROM file_watch
         WHERE path = ? AND symbol = ? AND {_LIVES} ORDER BY id DESC LIMIT ?
    """
    return column(conn, sql, (path, symbol, limit))


def nodes_resting_on(conn: apsw.Connection, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return path and node of each living node anchored to any of `paths`, in that order."""
    sql = f"""
        SELECT DISTINCT path, node FROM file_watch
         WHERE path IN (SELECT value FROM json_each(?)) AND {_LIVES} ORDER BY path, node
    """
    return list(conn.execute(sql, (json_list(paths),)))


def unchanged(conn: apsw.Connection, known: Mapping[str, Sequence[Anchor]]) -> set[str]:
    """Return those of `known` that are living and still have exactly these anchors.

    Compares table rows, because building an anchor of each takes twice as long.
    """
    rows = conn.execute(
        f"""
        SELECT nodes.id, {_OWN.read_columns}
          FROM nodes LEFT JOIN file_watch ON node = nodes.id
         WHERE nodes.id IN (SELECT value FROM json_each(?)) AND archived_ms IS NULL
         ORDER BY nodes.id, file_watch.id
        """,
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
    return _ROW.select(conn, f"WHERE {_LIVES} ORDER BY path, node, symbol")


def census(conn: apsw.Connection) -> dict[str, int]:
    """Return how many living memories have an anchor, and how many definitions and files they
    cover.
    """
    memories, definitions, files = conn.execute(
        f"""
        SELECT count(DISTINCT node),
               count(DISTINCT iif(method IN ('tree', 'lines'), path || char(0) || symbol,
                              iif(method = 'value' AND instr(symbol, ?1),
                                  path || char(0) || substr(symbol, 1, instr(symbol, ?1) - 1),
                                  NULL))),
               count(DISTINCT iif(method NOT IN ('folder', 'glob'), path, NULL))
          FROM file_watch
         WHERE {_LIVES}
        """,
        (HELD,),
    ).get
    return {"memories": memories, "definitions": definitions, "files": files}


def named_elsewhere(conn: apsw.Connection) -> list[Anchor]:
    """Return the anchors of living nodes other than globs, targets and values, by path, then
    node.
    """
    where = f"WHERE method NOT IN ('glob', 'target', 'value') AND {_LIVES}"
    return _ROW.select(conn, f"{where} ORDER BY path, node, symbol")


def paths(conn: apsw.Connection) -> list[str]:
    """Return the paths that living nodes are anchored to, sorted."""
    sql = f"SELECT DISTINCT path FROM file_watch WHERE {_LIVES} ORDER BY path"
    return column(conn, sql)


def folders(conn: apsw.Connection) -> list[Anchor]:
    """Return the anchors of living nodes to folders and patterns, by path, then node."""
    where = f"""
         WHERE path IN (SELECT path FROM file_watch WHERE reference IN ('directory', 'glob')
                        EXCEPT
                        SELECT path FROM file_watch WHERE reference NOT IN ('directory', 'glob'))
           AND {_LIVES}
         ORDER BY path, node, symbol
    """
    return _ROW.select(conn, where)


def above(conn: apsw.Connection, changed: Iterable[str]) -> list[str]:
    """Return the anchored folders of living nodes that contain one of `changed`, sorted."""
    inside: set[str] = set()
    for path in changed:
        while path := path.rpartition("/")[0]:
            if path in inside:
                break
            inside.add(path)
    sql = f"""
        SELECT DISTINCT path
          FROM file_watch
         WHERE reference IN ('directory', 'glob')
           AND (path = '' OR path IN (SELECT value FROM json_each(?))) AND {_LIVES}
         ORDER BY path
    """
    return column(conn, sql, (json_list(inside),))


def drop(conn: apsw.Connection, node: str) -> None:
    """Delete every anchor of a node."""
    conn.execute("DELETE FROM file_watch WHERE node = ?", (node,))


_SIGHTING: Final = Record(Sighting, "sightings")


def sightings_of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, Sighting]:
    """Return the file fingerprints of a work tree, by path."""
    rows = _SIGHTING.select(conn, "WHERE worktree = ? ORDER BY path", (worktree,))
    return {seen.path: seen for seen in rows}


def put_sightings(conn: apsw.Connection, worktree: int, sightings: Iterable[Sighting]) -> None:
    """Store file fingerprints of a work tree; earlier ones of those paths are replaced."""
    conn.executemany(
        "INSERT OR REPLACE INTO sightings (worktree, path, signature, blob) VALUES (?, ?, ?, ?)",
        [(worktree, seen.path, seen.signature, seen.blob) for seen in sightings],
    )


def drop_sightings(
    conn: apsw.Connection, paths: Iterable[str], worktree: int | None = None
) -> None:
    """Delete the fingerprints of `paths` in one work tree, or in all."""
    conn.execute(
        """
        DELETE FROM sightings
         WHERE worktree IN (SELECT id FROM worktrees WHERE ?2 IS NULL OR id = ?2)
           AND path IN (SELECT value FROM json_each(?1))
        """,
        (json_list(paths), worktree),
    )


def flags_of_worktree(conn: apsw.Connection, worktree: int) -> list[Flag]:
    """Return the flags of a work tree, by node."""
    return _FLAG.select(conn, "WHERE worktree = ? ORDER BY node", (worktree,))


def flags_of_nodes(conn: apsw.Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the flags that these nodes have in a work tree, by node."""
    where = "WHERE worktree = ? AND node IN (SELECT value FROM json_each(?)) ORDER BY node"
    return {flag.node: flag for flag in _FLAG.select(conn, where, (worktree, json_list(ids)))}


def warned_nodes(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the nodes that have a warning in a work tree."""
    sql = "SELECT node FROM stale_flags WHERE worktree = ? AND level = 'warn'"
    return set(column(conn, sql, (worktree,)))


def flagged_places(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the files named in the evidence of a work tree's flags."""
    sql = "SELECT value ->> 'path' FROM stale_flags, json_each(evidence) WHERE worktree = ?"
    return set(column(conn, sql, (worktree,)))


def put_flag(conn: apsw.Connection, flag: Flag) -> None:
    """Store a flag; an earlier one of the same node and work tree is replaced.

    Raises:
        apsw.ConstraintError: the verdict raises no flag, or the node or work tree does not
            exist.
    """
    _FLAG.put(conn, flag)


def drop_flags(conn: apsw.Connection, nodes: Iterable[str], worktree: int | None = None) -> None:
    """Delete the flags of these nodes in one work tree, or in all."""
    conn.execute(
        """
        DELETE FROM stale_flags
         WHERE node IN (SELECT value FROM json_each(?1)) AND (?2 IS NULL OR worktree = ?2)
        """,
        (json_list(nodes), worktree),
    )


def _evidence(found: dict[str, Any]) -> Evidence:
    commit = found["commit"]
    if commit is not None:
        commit = Commit(**commit | {"at": from_ms(commit["at"])})
    return Evidence(**found | {"commit": commit})


def _suggestion(text: str | None) -> Suggestion | None:
    if text is None:
        return None
    row = json.loads(text)
    return Suggestion(**row | {"places": tuple(row["places"])})


_FLAG: Final = Record(
    Flag,
    "stale_flags",
    codecs={
        "evidence": (
            lambda found: to_json(list(map(asdict, found))),
            lambda text: tuple(map(_evidence, json.loads(text))),
        ),
        "suggestion": (lambda one: None if one is None else to_json(asdict(one)), _suggestion),
    },
    but=["via"],
)


@dataclass(slots=True, kw_only=True)
class Lookback:
    """The statements of a work tree still to be compared with the code of their day.

    Args:
        pending: memory ids, by the commit in which their statements were read.
        failed: ids that git could not compare, until the next `add`; `why`: the reason in words.
        cut: ids compared only as far as a shallow history goes.
        total: number of ids added since nothing was pending.
    """

    pending: dict[str, list[str]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    why: str = ""
    cut: list[str] = field(default_factory=list)
    total: int = 0

    @property
    def left(self) -> int:
        """Return the number of pending memories."""
        return sum(map(len, self.pending.values()))

    def add(self, ids: Iterable[str], read_at: str) -> None:
        """Add memories whose statements were read in a commit; '' before the first commit."""
        if read_at and (new := list(ids)):
            self.pending.setdefault(read_at, []).extend(new)
            self.total += len(new)

    def settle(self, ids: set[str], *, failed: Iterable[str], cut: Iterable[str]) -> None:
        """Remove memories from the pending ones, after a comparison or its failure."""
        left = {at: [one for one in some if one not in ids] for at, some in self.pending.items()}
        self.pending = {at: some for at, some in left.items() if some}
        self.failed += failed
        self.cut += sorted(cut)
        self.total = self.total if self.pending else 0


def lookback_of(conn: apsw.Connection, worktree: int) -> Lookback:
    """Return the lookback of a work tree."""
    said = conn.execute("SELECT lookback FROM worktrees WHERE id = ?", (worktree,)).get
    return Lookback(**json.loads(said or "{}"))


def put_lookback(conn: apsw.Connection, worktree: int, lookback: Lookback) -> None:
    """Store the lookback of a work tree."""
    said = "" if lookback == Lookback() else to_json(asdict(lookback))
    conn.execute("UPDATE worktrees SET lookback = ? WHERE id = ?", (said, worktree))


def add_lookback(conn: apsw.Connection, worktree: int, ids: Iterable[str], read_at: str) -> None:
    """Make memories pending in a work tree; see `Lookback.add`."""
    if new := list(ids):
        lookback = lookback_of(conn, worktree)
        lookback.add(new, read_at)
        put_lookback(conn, worktree, lookback)


def waiting_lookbacks(conn: apsw.Connection) -> list[int]:
    """Return the work trees with pending memories."""
    trees = column(conn, "SELECT id FROM worktrees WHERE lookback <> '' ORDER BY id")
    return [tree for tree in trees if lookback_of(conn, tree).pending]


def untouched(conn: apsw.Connection, ids: Iterable[str]) -> list[Node]:
    """Return those of some memories that are living and unchanged since they were read."""
    known = nodes.many(conn, ids).values()
    return [node for node in known if node.archived_at is None and node.version == 1]
