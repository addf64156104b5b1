"""Which memories are in doubt now, in which work tree, and on what evidence."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

import apsw

from yaadwatch.model.anchors import Commit, Evidence, Flag, Suggestion
from yaadwatch.store.codec import Record, from_ms, json_list, to_json, to_ms


def of_worktree(conn: apsw.Connection, worktree: int) -> list[Flag]:
    """Return the flags of a work tree, by node."""
    nodes = conn.execute(
        "SELECT node FROM stale_flags WHERE worktree = ? ORDER BY node", (worktree,)
    )
    return list(of_nodes(conn, worktree, [node for (node,) in nodes]).values())


def of_nodes(conn: apsw.Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the flags that these nodes have in a work tree, by node."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM stale_flags
         WHERE worktree = ? AND node IN (SELECT value FROM json_each(?))
         ORDER BY node
        """,  # noqa: S608
        (worktree, json_list(ids)),
    )
    return {flag.node: flag for flag in map(_ROW.read, rows)}


def warned(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the nodes that have a warning in a work tree."""
    rows = conn.execute(
        "SELECT node FROM stale_flags WHERE worktree = ? AND level = 'warn'", (worktree,)
    )
    return {node for (node,) in rows}


def places(conn: apsw.Connection, worktree: int) -> set[str]:
    """Return the files that the evidence of the flags of a work tree is about."""
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


def put(conn: apsw.Connection, flag: Flag) -> None:
    """Raise a flag; the one that the node had in that work tree is replaced.

    Raises:
        apsw.ConstraintError: the verdict is none that puts a node in doubt, or node or work tree
            are not there.
    """
    conn.execute(
        f"INSERT OR REPLACE INTO stale_flags ({_ROW.columns}) VALUES ({_ROW.marks})",  # noqa: S608
        _ROW.values(flag),
    )


def drop(conn: apsw.Connection, worktree: int, nodes: Iterable[str]) -> None:
    """Take the flags of these nodes in one work tree down."""
    conn.execute(
        """
        DELETE FROM stale_flags
         WHERE worktree = ? AND node IN (SELECT value FROM json_each(?))
        """,
        (worktree, json_list(nodes)),
    )


def drop_node(conn: apsw.Connection, node: str) -> None:
    """Take the flags of a node in every work tree down."""
    drop_nodes(conn, [node])


def drop_nodes(conn: apsw.Connection, nodes: Iterable[str]) -> None:
    """Take the flags of these nodes in every work tree down."""
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


_ROW: Final = Record(
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
