"""Which memories are in doubt now, in which work tree, and on what evidence."""

import json
from collections.abc import Iterable
from typing import Any

import apsw

from yaadwatch.model.anchors import Commit, Evidence, Flag, Suggestion, Verdict
from yaadwatch.store.codec import from_ms, json_list, to_json, to_ms


def of_worktree(conn: apsw.Connection, worktree: int) -> list[Flag]:
    """Return the flags of a work tree, by node."""
    nodes = conn.execute(
        "SELECT node FROM stale_flags WHERE worktree = ? ORDER BY node", (worktree,)
    )
    return list(of_nodes(conn, worktree, [node for (node,) in nodes]).values())


def of_nodes(conn: apsw.Connection, worktree: int, ids: Iterable[str]) -> dict[str, Flag]:
    """Return the flags that these nodes have in a work tree, by node."""
    rows = conn.execute(
        """
        SELECT node, worktree, verdict, score, level, reason, since_ms, branch, uncommitted,
               evidence, suggestion
          FROM stale_flags
         WHERE worktree = ? AND node IN (SELECT value FROM json_each(?))
         ORDER BY node
        """,
        (worktree, json_list(ids)),
    )
    return {flag.node: flag for flag in map(_flag, rows)}


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
    suggestion = flag.suggestion
    conn.execute(
        """
        INSERT INTO stale_flags (node, worktree, verdict, score, level, reason, since_ms, branch,
                                 uncommitted, evidence, suggestion)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (worktree, node) DO UPDATE
           SET verdict = excluded.verdict, score = excluded.score, level = excluded.level,
               reason = excluded.reason, since_ms = excluded.since_ms, branch = excluded.branch,
               uncommitted = excluded.uncommitted, evidence = excluded.evidence,
               suggestion = excluded.suggestion
        """,
        (
            flag.node,
            flag.worktree,
            flag.verdict.value,
            flag.score,
            flag.level,
            flag.reason,
            to_ms(flag.since),
            flag.branch,
            int(flag.uncommitted),
            to_json([_evidence_as_json(evidence) for evidence in flag.evidence]),
            None
            if suggestion is None
            else to_json(
                {
                    "path": suggestion.path,
                    "text": suggestion.text,
                    "places": suggestion.places,
                    "also_changed": suggestion.also_changed,
                    "placed_text": suggestion.placed_text,
                }
            ),
        ),
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


def _flag(row: tuple[Any, ...]) -> Flag:
    (
        node,
        worktree,
        verdict,
        score,
        level,
        reason,
        since_ms,
        branch,
        uncommitted,
        evidence,
        suggestion,
    ) = row
    return Flag(
        node=node,
        worktree=worktree,
        verdict=Verdict(verdict),
        score=score,
        level=level,
        reason=reason,
        since=from_ms(since_ms),
        branch=branch,
        uncommitted=bool(uncommitted),
        evidence=tuple(map(_evidence, json.loads(evidence))),
        suggestion=None if suggestion is None else _suggestion(json.loads(suggestion)),
    )


def _suggestion(row: dict[str, Any]) -> Suggestion:
    """Return it from its JSON; an older version wrote fewer fields."""
    return Suggestion(
        path=row["path"],
        text=row["text"],
        places=tuple(row.get("places", ())),
        also_changed=row.get("also_changed", False),
        placed_text=row.get("placed_text"),
    )
