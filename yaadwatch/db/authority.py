"""Store who vouches for each memory, proposed new texts, and dismissed texts.

A person vouches for a text by typing it, or by approving, confirming, pinning or editing the memory
after an agent last changed its text. An agent that confirms or pins a memory, or brings a dismissed
one back, does not make it a person's.

A memory has at most one proposal; a new one replaces it. A decided proposal stays, so that the
decision can be undone. A proposal waits only while the memory has the text it was made for.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db import projects
from yaadwatch.db.codec import Record, column, from_ms, json_list
from yaadwatch.db.edges import is_superseded_sql, taken_back_sql
from yaadwatch.model.limits import USER
from yaadwatch.model.memories import Version
from yaadwatch.model.projects import Authority, Proposal, of_origin

_ROW: Final = Record(Proposal, "proposals")


def put_proposal(conn: apsw.Connection, proposal: Proposal) -> None:
    """Store a proposal; an earlier one for the same memory is replaced."""
    _ROW.put(conn, proposal)


def get_proposal(conn: apsw.Connection, node: str) -> Proposal | None:
    """Return the proposal for a memory, waiting or decided, or None."""
    return _ROW.first(conn, "WHERE node = ?", (node,))


def waiting_proposals(
    conn: apsw.Connection, ids: Iterable[str] | None = None
) -> dict[str, Proposal]:
    """Return the waiting proposals by memory, newest first.

    A proposal does not wait when its memory is archived, superseded, or has a changed text.

    Args:
        conn: a snapshot.
        ids: of the memories; all when None.
    """
    rows = _ROW.select(
        conn,
        f"""
         WHERE decision = '' AND (:ids IS NULL OR node IN (SELECT value FROM json_each(:ids)))
           AND EXISTS (
               SELECT 1
                 FROM nodes JOIN node_versions AS seen ON seen.node = nodes.id
                WHERE nodes.id = proposals.node AND archived_ms IS NULL
                  AND seen.version = proposals.version
                  AND coalesce(seen.text, nodes.text) = nodes.text)
           AND NOT {is_superseded_sql("proposals.node")}
         ORDER BY at_ms DESC, node
        """,
        {"ids": None if ids is None else json_list(ids)},
    )
    return {proposal.node: proposal for proposal in rows}


def drop_proposals_holding(conn: apsw.Connection, words: Iterable[str]) -> None:
    """Delete the proposals that contain any of these texts."""
    conn.execute(
        """
        DELETE FROM proposals
         WHERE EXISTS (SELECT 1 FROM json_each(?) AS gone WHERE instr(text, gone.value) > 0)
        """,
        (json_list(words),),
    )


APPROVED: Final = "approved"
"""The change of a version by which a person approved the words of an agent or an import."""
SHARED: Final = "shared"
"""The change of a version by which a person sent a statement of an agent file to other agents."""
UPKEEP: Final = "upkeep"
"""The actor of the daily upkeep."""
FROM_GIT: Final = "from git"
"""Suffix of the reason of a change from a file that git had written."""

_BY_PERSON: Final = "(actor = 'cli' OR actor LIKE 'file:%')"


def approvals(node: str) -> str:
    """Return SQL for the time at which a person vouched for the current text of a memory.

    Args:
        node: the row of `nodes`, by its name in the query.
    """
    return f"""
        SELECT at_ms
          FROM node_versions
         WHERE node = {node}.id AND {_BY_PERSON} AND reason NOT LIKE '%{FROM_GIT}'
           AND (change IN ('{APPROVED}', '{SHARED}', 'confirmed', 'pinned', 'edited')
                OR (change = 'restored' AND reason <> ''))
           AND version > coalesce((
               SELECT max(version)
                 FROM node_versions
                WHERE node = {node}.id AND NOT {_BY_PERSON}
                  AND (change = 'edited' OR (change = 'restored' AND reason <> ''))), 0)
           AND NOT {taken_back_sql(node)}
"""


def persons_word(node: str) -> str:
    """Return an SQL condition: a person said or approved the memory.

    Args:
        node: the row of `nodes`, by its name in the query.
    """
    return f"""
        (({node}.from_git = 0 AND ({node}.origin = 'cli' OR {node}.origin LIKE 'file:%')
          AND NOT EXISTS (
              SELECT 1
                FROM node_versions
               WHERE node = {node}.id AND NOT {_BY_PERSON}
                 AND (change = 'edited' OR (change = 'restored' AND reason <> ''))))
         OR EXISTS ({approvals(node)}))
"""


def of_nodes(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, Authority]:
    """Return the authority of each memory, with its waiting proposal."""
    wanted = list(ids)
    proposed = waiting_proposals(conn, wanted)
    unshared = projects.personal_files(conn)
    own = only_in(conn, unshared, wanted) if unshared else set()
    rows = conn.execute(
        f"""
        SELECT id, origin, from_git, created_ms, {persons_word("nodes")},
               (SELECT min(at_ms) FROM ({approvals("nodes")})),
               (SELECT actor
                  FROM node_versions
                 WHERE node = nodes.id AND change = 'edited' AND NOT {_BY_PERSON}
                 ORDER BY version DESC
                 LIMIT 1),
               scope, iif(json_type(attributes, '$.holds_in') = 'text',
                          attributes ->> '$.holds_in', ''),
               coalesce((SELECT min(branch) FROM provisional WHERE node = nodes.id), '')
          FROM nodes
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,
        (json_list(wanted),),
    )
    found = {}
    for (
        node,
        origin,
        from_git,
        created_ms,
        is_persons,
        approved_ms,
        editor,
        scope,
        package,
        branch,
    ) in rows:
        whose = of_origin(origin, from_ms(created_ms), from_git=bool(from_git))
        if whose.is_persons and not is_persons and editor is not None:
            whose = of_origin(editor, whose.at)  # an agent gave a person's memory other words
        elif is_persons and not whose.is_persons and approved_ms is not None:
            whose = replace(whose, approved_at=from_ms(approved_ms))
        found[node] = replace(
            whose,
            scope=scope,
            package=package,
            branch=branch,
            proposal=proposed.get(node),
            is_personal=scope == USER or node in own,
        )
    return found


def only_in(
    conn: apsw.Connection, paths: Iterable[str], among: Collection[str] | None = None
) -> set[str]:
    """Return the memories that a person stated only in these files.

    Statements of agents and imports do not count as another place; a line in the block of another
    file does.

    Args:
        conn: a snapshot.
        paths: the files.
        among: ids of memories; None: all.
    """
    sql = """
        WITH files AS (SELECT value AS path, 'file:' || value AS origin FROM json_each(?1))
        SELECT id
          FROM nodes
         WHERE (?2 IS NULL OR id IN (SELECT value FROM json_each(?2)))
           AND (origin IN (SELECT origin FROM files)
                OR (origin <> 'cli' AND origin NOT LIKE 'file:%' AND EXISTS (
                    SELECT 1
                      FROM node_versions
                     WHERE node = nodes.id AND actor IN (SELECT origin FROM files))))
           AND NOT EXISTS (
               SELECT 1
                 FROM provenance
                WHERE node = nodes.id AND line IS NOT NULL
                  AND path NOT IN (SELECT path FROM files))
           AND NOT EXISTS (
               SELECT 1
                 FROM agreements JOIN agent_files USING (worktree, path)
                WHERE agreements.node = nodes.id AND agreements.block = agent_files.block
                  AND agreements.line <> '' AND path NOT IN (SELECT path FROM files))
           AND NOT EXISTS (
               SELECT 1
                 FROM node_versions
                WHERE node = nodes.id AND actor NOT IN (SELECT origin FROM files)
                  AND (actor = 'cli' OR actor LIKE 'file:%')
                  AND (change IN ('created', 'approved')
                       OR (change = 'confirmed' AND reason = 'said again')))
    """
    given = (json_list(paths), None if among is None else json_list(among))
    return set(column(conn, sql, given))


def author_of(version: Version) -> str:
    """Return the author of a version, as in `Authority.by`, or `upkeep`."""
    if version.actor == UPKEEP:
        return UPKEEP
    from_git = version.reason.endswith(FROM_GIT)
    return of_origin(version.actor, version.at, from_git=from_git).by


def approved(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` that a person said or approved."""
    return {node for node, whose in of_nodes(conn, ids).items() if whose.is_persons}


def waiting(conn: apsw.Connection, limit: int) -> list[str]:
    """Return the living memories that would instruct agents and await approval, newest first.

    These are rules, skills and notes for all projects by an agent or an import.
    """
    return column(conn, f"{_WAITING} ORDER BY updated_ms DESC, id LIMIT ?", (limit,))


def is_waiting(conn: apsw.Connection, id: str) -> bool:
    """Return whether a memory awaits a person's approval."""
    return bool(conn.execute(f"{_WAITING} AND id = ?", (id,)).get)


def count_waiting(conn: apsw.Connection) -> int:
    """Return the number of notes and proposals that await a person."""
    notes = int(conn.execute(f"SELECT count(*) FROM ({_WAITING})").get)
    return notes + len(waiting_proposals(conn))


_WAITING: Final = f"""
    SELECT id
      FROM nodes
     WHERE archived_ms IS NULL AND kind NOT IN ('file', 'entity', 'session', 'task')
       AND (tier = 1 OR pinned OR kind = 'skill' OR scope = 'user')
       AND NOT (origin LIKE 'file:%' AND from_git = 1)
       AND NOT {persons_word("nodes")}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dismissal:
    """A person's dismissal of a text, and when; `node` is the memory that had the text."""

    text_hash: str
    node: str
    how: str
    at: datetime


_DISMISSAL: Final = Record(Dismissal, "dismissals")


def put_dismissal(conn: apsw.Connection, dismissal: Dismissal) -> None:
    """Store a dismissal; an earlier one of the same text is replaced."""
    _DISMISSAL.put(conn, dismissal)


def dismissals_of_hashes(conn: apsw.Connection, hashes: Iterable[str]) -> dict[str, Dismissal]:
    """Return the dismissals of these texts, by hash."""
    where = "WHERE text_hash IN (SELECT value FROM json_each(?)) ORDER BY text_hash"
    return {one.text_hash: one for one in _DISMISSAL.select(conn, where, (json_list(hashes),))}


def dismissal_of_node(conn: apsw.Connection, node: str) -> Dismissal | None:
    """Return the dismissal of a memory, or None."""
    return _DISMISSAL.first(conn, "WHERE node = ? ORDER BY at_ms DESC", (node,))


def lift_dismissal(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Delete the dismissals of texts that a person states again."""
    conn.execute(
        "DELETE FROM dismissals WHERE text_hash IN (SELECT value FROM json_each(?))",
        (json_list(hashes),),
    )


def drop_dismissals(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Delete the dismissals of erased memories: a text can be guessed from its hash."""
    conn.execute(
        "DELETE FROM dismissals WHERE node IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )
