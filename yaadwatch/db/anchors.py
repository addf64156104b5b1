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
from yaadwatch.db.codec import Record, from_ms, json_list, to_json, to_ms
from yaadwatch.model.anchors import HELD, Anchor, Commit, Evidence, Flag, Sighting, Suggestion
from yaadwatch.model.memories import Node

_ROW: Final = Record(Anchor, {"commit": "commit_id"})
_OWN: Final = Record(Anchor, {"commit": "commit_id"}, but=["node"])


def insert(conn: apsw.Connection, anchors: Iterable[Anchor]) -> None:
    """Add anchors; an anchor of the same node, path and symbol is replaced.

    Raises:
        apsw.ConstraintError: a node is not there.
    """
    insert_of(conn, ((anchor.node, anchor) for anchor in anchors))


def insert_of(conn: apsw.Connection, anchors: Iterable[tuple[str, Anchor]]) -> None:
    """Add anchors as `insert` does, each paired with the node it belongs to.

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
    """Return the anchors of these nodes, living or archived, in insertion order.

    Every given id is a key; a node without anchors has an empty list.
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


def nodes_resting_on(conn: apsw.Connection, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return path and node of each living node anchored to any of `paths`, in that order."""
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
    """Return those of `known` that are living and still have exactly these anchors.

    Compares table rows, because building an anchor of each takes twice as long.
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
    """Return how many living memories have an anchor, and how many definitions and files they
    cover.
    """
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
    """Return the anchors of living nodes other than globs, targets and values, by path, then
    node.
    """
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
    """Return the paths that living nodes are anchored to, sorted."""
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
    """Return the anchors of living nodes to folders and patterns, by path, then node."""
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
    """Return the anchored folders of living nodes that contain one of `changed`, sorted."""
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
    """Delete every anchor of a node."""
    conn.execute("DELETE FROM file_watch WHERE node = ?", (node,))


def sightings_of_worktree(conn: apsw.Connection, worktree: int) -> dict[str, Sighting]:
    """Return the file fingerprints of a work tree, by path."""
    rows = conn.execute(
        "SELECT path, signature, blob FROM sightings WHERE worktree = ? ORDER BY path", (worktree,)
    )
    return {
        path: Sighting(path=path, signature=signature, blob=blob) for path, signature, blob in rows
    }


def put_sightings(conn: apsw.Connection, worktree: int, sightings: Iterable[Sighting]) -> None:
    """Store file fingerprints of a work tree; earlier ones of those paths are replaced."""
    conn.executemany(
        """
        INSERT INTO sightings (worktree, path, signature, blob)
        VALUES (?, ?, ?, ?)
        ON CONFLICT (worktree, path) DO UPDATE
           SET signature = excluded.signature, blob = excluded.blob
        """,
        [(worktree, seen.path, seen.signature, seen.blob) for seen in sightings],
    )


def drop_sightings_everywhere(conn: apsw.Connection, paths: Iterable[str]) -> None:
    """Delete the fingerprints of `paths` in every work tree."""
    conn.execute(
        """
        DELETE FROM sightings
         WHERE worktree IN (SELECT id FROM worktrees)
           AND path IN (SELECT value FROM json_each(?))
        """,
        (json_list(paths),),
    )


def drop_sightings(conn: apsw.Connection, worktree: int, paths: Iterable[str]) -> None:
    """Delete the fingerprints of `paths` in one work tree."""
    conn.execute(
        """
        DELETE FROM sightings
         WHERE worktree = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (worktree, json_list(paths)),
    )


def flags_of_worktree(conn: apsw.Connection, worktree: int) -> list[Flag]:
    """Return the flags of a work tree, by node."""
    nodes = conn.execute(
        "SELECT node FROM stale_flags WHERE worktree = ? ORDER BY node", (worktree,)
    )
    return list(flags_of_nodes(conn, worktree, [node for (node,) in nodes]).values())


def flags_of_nodes(conn: apsw.Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the flags that these nodes have in a work tree, by node."""
    rows = conn.execute(
        f"""
        SELECT {_FLAG.columns}
          FROM stale_flags
         WHERE worktree = ? AND node IN (SELECT value FROM json_each(?))
         ORDER BY node
        """,  # noqa: S608
        (worktree, json_list(ids)),
    )
    return {flag.node: flag for flag in map(_FLAG.read, rows)}


def warned_nodes(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the nodes that have a warning in a work tree."""
    rows = conn.execute(
        "SELECT node FROM stale_flags WHERE worktree = ? AND level = 'warn'", (worktree,)
    )
    return {node for (node,) in rows}


def flagged_places(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the files named in the evidence of a work tree's flags."""
    rows = conn.execute(
        """
        SELECT DISTINCT value ->> 'path'
          FROM stale_flags, json_each(evidence)
         WHERE worktree = ?
         ORDER BY 1
        """,
        (worktree,),
    )
    return {path for (path,) in rows}


def put_flags(conn: apsw.Connection, flag: Flag) -> None:
    """Store a flag; an earlier one of the same node and work tree is replaced.

    Raises:
        apsw.ConstraintError: the verdict raises no flag, or the node or work tree does not
            exist.
    """
    conn.execute(
        f"INSERT OR REPLACE INTO stale_flags ({_FLAG.columns}) VALUES ({_FLAG.marks})",  # noqa: S608
        _FLAG.values(flag),
    )


def drop_flags(conn: apsw.Connection, worktree: int, nodes: Iterable[str]) -> None:
    """Delete the flags of these nodes in one work tree."""
    conn.execute(
        """
        DELETE FROM stale_flags
         WHERE worktree = ? AND node IN (SELECT value FROM json_each(?))
        """,
        (worktree, json_list(nodes)),
    )


def drop_flags_of_node(conn: apsw.Connection, node: str) -> None:
    """Delete the flags of a node in every work tree."""
    drop_flags_of_nodes(conn, [node])


def drop_flags_of_nodes(conn: apsw.Connection, nodes: Iterable[str]) -> None:
    """Delete the flags of these nodes in every work tree."""
    conn.execute(
        "DELETE FROM stale_flags WHERE node IN (SELECT value FROM json_each(?))",
        (json_list(nodes),),
    )


def _evidence_as_json(evidence: Evidence) -> dict[str, object]:
    commit = evidence.commit
    return {
        "path": evidence.path,
        "symbol": evidence.symbol,
        "commit": None
        if commit is None
        else {"id": commit.id, "at_ms": to_ms(commit.at), "subject": commit.subject},
        "summary": evidence.summary,
    }


def _evidence(found: dict[str, Any]) -> Evidence:
    commit = found["commit"]
    return Evidence(
        path=found["path"],
        symbol=found["symbol"],
        commit=None
        if commit is None
        else Commit(id=commit["id"], at=from_ms(commit["at_ms"]), subject=commit["subject"]),
        summary=found["summary"],
    )


def _suggestion(text: str | None) -> Suggestion | None:
    if text is None:
        return None
    row = json.loads(text)
    return Suggestion(**row | {"places": tuple(row["places"])})


_FLAG: Final = Record(
    Flag,
    codecs={
        "evidence": (
            lambda found: to_json(list(map(_evidence_as_json, found))),
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
    """Return the lookback of a work tree; an empty one when the stored JSON is not valid."""
    said = conn.execute("SELECT lookback FROM worktrees WHERE id = ?", (worktree,)).get
    try:
        found = Lookback(**json.loads(said or "{}"))
        fits = all(isinstance(one, str) for one in (*found.failed, *found.cut, found.why))
        for at, ids in found.pending.items():
            fits = fits and isinstance(at, str) and all(isinstance(one, str) for one in ids)
        return found if fits and isinstance(found.total, int) else Lookback()
    except (ValueError, TypeError, AttributeError):
        return Lookback()


def put_lookback(conn: apsw.Connection, worktree: int, lookback: Lookback) -> None:
    """Store the lookback of a work tree."""
    said = "" if lookback == Lookback() else json.dumps(asdict(lookback), separators=(",", ":"))
    conn.execute("UPDATE worktrees SET lookback = ? WHERE id = ?", (said, worktree))


def add_lookback(conn: apsw.Connection, worktree: int, ids: Iterable[str], read_at: str) -> None:
    """Make memories pending in a work tree; see `Lookback.add`."""
    if new := list(ids):
        lookback = lookback_of(conn, worktree)
        lookback.add(new, read_at)
        put_lookback(conn, worktree, lookback)


def waiting_lookbacks(conn: apsw.Connection) -> list[int]:
    """Return the work trees with pending memories."""
    rows = conn.execute("SELECT id FROM worktrees WHERE lookback <> '' ORDER BY id")
    return [tree for (tree,) in rows if lookback_of(conn, tree).pending]


def untouched(conn: apsw.Connection, ids: Iterable[str]) -> list[Node]:
    """Return those of some memories that are living and unchanged since they were read."""
    known = nodes.many(conn, ids).values()
    return [node for node in known if node.archived_at is None and node.version == 1]
