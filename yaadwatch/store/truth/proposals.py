"""New words that agents and imports propose for memories of a person, one proposal a memory.

The last proposal replaces the one before it. A decided one stays, so that the decision can be
undone. A proposal waits only while the memory has the words that it was made for.
"""

from collections.abc import Iterable
from typing import Final

import apsw

from yaadwatch.model.authority import Proposal
from yaadwatch.store.codec import Record, json_list
from yaadwatch.store.graph.supersession import given_way

_ROW: Final = Record(Proposal)


def put(conn: apsw.Connection, proposal: Proposal) -> None:
    """Store a proposal, in place of any other for the same memory."""
    conn.execute(
        f"INSERT OR REPLACE INTO proposals ({_ROW.columns}) VALUES ({_ROW.marks})",  # noqa: S608
        _ROW.values(proposal),
    )


def get(conn: apsw.Connection, node: str) -> Proposal | None:
    """Return the proposal for a memory, waiting or decided; None without one."""
    rows = conn.execute(f"SELECT {_ROW.columns} FROM proposals WHERE node = ?", (node,))  # noqa: S608
    return next(map(_ROW.read, rows), None)


def waiting(conn: apsw.Connection, ids: Iterable[str] | None = None) -> dict[str, Proposal]:
    """Return the proposals that wait, by memory, newest first.

    No proposal waits for a memory that is archived or superseded, or whose words changed since.

    Args:
        conn: a snapshot.
        ids: of the memories; all when None.
    """
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM proposals
         WHERE decision = '' AND (:ids IS NULL OR node IN (SELECT value FROM json_each(:ids)))
           AND EXISTS (
               SELECT 1
                 FROM nodes JOIN node_versions AS seen ON seen.node = nodes.id
                WHERE nodes.id = proposals.node AND archived_ms IS NULL
                  AND seen.version = proposals.version
                  AND coalesce(seen.text, nodes.text) = nodes.text)
           AND NOT {given_way("proposals.node")}
         ORDER BY at_ms DESC, node
        """,  # noqa: S608
        {"ids": None if ids is None else json_list(ids)},
    )
    return {proposal.node: proposal for proposal in map(_ROW.read, rows)}


def drop_holding(conn: apsw.Connection, words: Iterable[str]) -> None:
    """Delete the proposals that contain one of some words."""
    conn.execute(
        """
        DELETE FROM proposals
         WHERE EXISTS (SELECT 1 FROM json_each(?) AS gone WHERE instr(text, gone.value) > 0)
        """,
        (json_list(words),),
    )
