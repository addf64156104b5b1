"""Store the event log, provenance, file snapshots and versions of nodes."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db.codec import Record, column, json_list, to_json, to_ms
from yaadwatch.model.events import Event
from yaadwatch.model.memories import Edge, Provenance, Version
from yaadwatch.model.projects import Snapshot

_EVENT: Final = Record(Event, "events")


def append(conn: apsw.Connection, event: Event) -> int:
    """Append an event, ignoring its `seq`; return its new number."""
    append_all(conn, [(event.kind, event.subject, to_json(event.body))], event.at)
    return conn.last_insert_rowid()


def append_edge(conn: apsw.Connection, kind: str, edge: Edge, at: datetime, **more: object) -> None:
    """Append the creation or closing of an edge."""
    body = {"to": edge.to_node, "kind": edge.kind, **more}
    append(conn, Event(kind=kind, at=at, subject=edge.from_node, body=body))


def append_all(conn: apsw.Connection, new: Iterable[tuple[str, str, str]], at: datetime) -> None:
    """Append events of one time, in their order: kind, subject, and body as JSON."""
    at_ms = to_ms(at)
    conn.executemany(
        "INSERT INTO events (kind, at_ms, subject, body) VALUES (?, ?, ?, ?)",
        ((kind, at_ms, subject, body) for kind, subject, body in new),
    )


def after(conn: apsw.Connection, seq: int, limit: int) -> list[Event]:
    """Return at most `limit` events after number `seq`, oldest first."""
    return _EVENT.select(conn, "WHERE seq > ? ORDER BY seq LIMIT ?", (seq, limit))


def redact_events(conn: apsw.Connection, subject: str) -> None:
    """Remove free text (reasons) from the events about a node; the events stay."""
    conn.execute(
        "UPDATE events SET body = json_remove(body, '$.reason') WHERE subject = ?", (subject,)
    )


def about(
    conn: apsw.Connection, subject: str, kinds: Sequence[str], worktree: int, limit: int
) -> list[Event]:
    """Return at most `limit` events of some kinds about a file of a work tree, newest first."""
    return _EVENT.select(
        conn,
        "WHERE subject = ? AND kind IN (SELECT value FROM json_each(?))"
        " AND json_extract(body, '$.worktree') = ? ORDER BY seq DESC LIMIT ?",
        (subject, json_list(kinds), worktree, limit),
    )


def files_written(conn: apsw.Connection, kind: str, worktree: int, since: datetime) -> list[str]:
    """Return the files in the newest events of one kind of a work tree, oldest first.

    Looks at the last 256 events since `since`.
    """
    sql = """
        SELECT subject
          FROM events
         WHERE seq > (SELECT max(seq) - 256 FROM events) AND kind = ? AND at_ms >= ?
           AND json_extract(body, '$.worktree') = ?
         GROUP BY subject
         ORDER BY min(seq)
    """
    return column(conn, sql, (kind, to_ms(since), worktree))


def trim(conn: apsw.Connection, before: datetime, limit: int) -> int:
    """Delete at most `limit` events older than `before`.

    The last event stays, because the next number follows from it.

    Returns:
        The number deleted.
    """
    conn.execute(
        """
        DELETE FROM events
         WHERE seq IN (
               SELECT seq
                 FROM events
                WHERE at_ms < ? AND seq < (SELECT max(seq) FROM events)
                ORDER BY seq
                LIMIT ?)
        """,
        (to_ms(before), limit),
    )
    return conn.changes()


def last(conn: apsw.Connection) -> int:
    """Return the number of the newest event; 0 when there is none."""
    return int(conn.execute("SELECT coalesce(max(seq), 0) FROM events").get)


_PROVENANCE: Final = Record(Provenance, "provenance")


def provenance_of_node(conn: apsw.Connection, id: str) -> list[Provenance]:
    """Return the places that state a node, by work tree, path and position."""
    return _PROVENANCE.select(conn, "WHERE node = ? ORDER BY worktree, path, position", (id,))


def places_saying(conn: apsw.Connection, ids: Iterable[str]) -> list[Provenance]:
    """Return the places that state any of these nodes now, by work tree, path and position."""
    where = """
         WHERE line IS NOT NULL AND node IN (SELECT value FROM json_each(?))
         ORDER BY worktree, path, position
    """
    return _PROVENANCE.select(conn, where, (json_list(ids),))


def provenance_on_path(conn: apsw.Connection, worktree: int, path: str) -> list[Provenance]:
    """Return the provenance rows of one file of a work tree, from top to bottom."""
    where = "WHERE worktree = ? AND path = ? ORDER BY position"
    return _PROVENANCE.select(conn, where, (worktree, path))


def put_provenance(
    conn: apsw.Connection, worktree: int, path: str, rows: Iterable[Provenance]
) -> None:
    """Store what one file of a work tree states now, replacing its earlier rows.

    Args:
        conn: a transaction.
        worktree: the work tree of the file; overrides that of the rows.
        path: the file, relative to the work tree; overrides that of the rows.
        rows: one for each statement; no position twice.

    Raises:
        apsw.ConstraintError: a position comes twice, or a node or the work tree does not exist.
    """
    conn.execute("DELETE FROM provenance WHERE worktree = ? AND path = ?", (worktree, path))
    conn.executemany(
        "INSERT INTO provenance (node, worktree, path, position, line, since_ms)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [(row.node, worktree, path, row.position, row.line, to_ms(row.since)) for row in rows],
    )


def said_somewhere(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    """Return those of `ids` stated in at least one place, also in one hidden by git."""
    sql = "SELECT node FROM provenance WHERE node IN (SELECT value FROM json_each(?))"
    return set(column(conn, sql, (json_list(ids),)))


def also_said_elsewhere(conn: apsw.Connection, worktree: int, path: str) -> set[str]:
    """Return the nodes that this file states or stated, and another place states now."""
    sql = """
        SELECT node
          FROM provenance
         WHERE (worktree, path) <> (?1, ?2) AND line IS NOT NULL
           AND node IN (SELECT node FROM provenance WHERE worktree = ?1 AND path = ?2)
    """
    return set(column(conn, sql, (worktree, path)))


HIDDEN: Final = """
SELECT node
  FROM provenance
 WHERE worktree = :worktree
   AND (:among IS NULL OR node IN (SELECT value FROM json_each(:among)))
 GROUP BY node
HAVING count(line) = 0
   AND NOT EXISTS (
       SELECT 1
         FROM node_versions
        WHERE node = provenance.node AND actor NOT LIKE 'file:%'
          AND (change IN ('created', 'pinned')
               OR (change = 'confirmed' AND reason = 'said again')))
"""


def hidden_by_git(
    conn: apsw.Connection, worktree: int, among: Collection[str] | None = None
) -> set[str]:
    """Return the nodes stated only in files of this work tree that are not checked out.

    Nodes that were also stored by other means hold on every branch. All nodes, or those `among`.
    """
    given = {"worktree": worktree, "among": None if among is None else json_list(among)}
    return set(column(conn, HIDDEN, given))


def said_in_checkout(
    conn: apsw.Connection, worktree: int, paths: Collection[str] | None = None
) -> set[str]:
    """Return the nodes stated in checked-out files of this work tree: at `paths`, or any."""
    sql = """
        SELECT node
          FROM provenance
         WHERE worktree = ?1 AND line IS NOT NULL
           AND (?2 IS NULL OR path IN (SELECT value FROM json_each(?2)))
    """
    return set(column(conn, sql, (worktree, None if paths is None else json_list(paths))))


_SNAPSHOT: Final = Record(Snapshot, "file_snapshots")
_NEW_SNAPSHOT: Final = Record(Snapshot, "file_snapshots", but=["id"])


def add_snapshot(conn: apsw.Connection, new: Snapshot) -> list[str]:
    """Store a snapshot, ignoring its `id`, and keep the newest 20 of its file; return the names of
    those that are dropped.
    """
    _NEW_SNAPSHOT.insert(conn, [new])
    sql = """
        DELETE FROM file_snapshots
         WHERE id IN (SELECT id FROM file_snapshots WHERE worktree = ? AND path = ?
                       ORDER BY id DESC LIMIT -1 OFFSET 20)
        RETURNING name
    """
    return column(conn, sql, (new.worktree, new.path))


def drop_snapshots(conn: apsw.Connection, names: Iterable[str]) -> None:
    """Delete snapshots by name; the caller deletes their files."""
    sql = "DELETE FROM file_snapshots WHERE name IN (SELECT value FROM json_each(?))"
    conn.execute(sql, (json_list(names),))


def snapshot_names(conn: apsw.Connection) -> set[str]:
    """Return the names of all snapshots."""
    return set(column(conn, "SELECT name FROM file_snapshots"))


def snapshots_of_path(conn: apsw.Connection, worktree: int, path: str) -> list[Snapshot]:
    """Return the snapshots of a file, newest first."""
    where = "WHERE worktree = ? AND path = ? ORDER BY id DESC"
    return _SNAPSHOT.select(conn, where, (worktree, path))


_VERSION: Final = Record(
    Version, "node_versions", computed={"text": "coalesce(node_versions.text, nodes.text)"}
)


def add_versions(conn: apsw.Connection, new: Iterable[Version]) -> None:
    """Store versions of nodes after changes; a text only when the node's text differs.

    Raises:
        apsw.ConstraintError: a node does not exist, or has a version of that number.
    """
    conn.executemany(
        f"""
        INSERT INTO node_versions ({_VERSION.columns})
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,
                nullif(?9, (SELECT nodes.text FROM nodes WHERE nodes.id = ?1)))
        """,
        map(_VERSION.values, new),
    )


def other_words(conn: apsw.Connection, id: str, said: str | None) -> str | None:
    """Return the stored text of a version: None when it equals the node's current text."""
    found: str | None = conn.execute(
        "SELECT nullif(?, (SELECT text FROM nodes WHERE id = ?))", (said, id)
    ).get
    return found


def versions_of_node(conn: apsw.Connection, id: str) -> list[Version]:
    """Return the versions of a node, oldest first."""
    where = "JOIN nodes ON nodes.id = node WHERE node = ? ORDER BY node_versions.version"
    return _VERSION.select(conn, where, (id,))


def latest_version(
    conn: apsw.Connection, id: str, *, limit: int, chars: int
) -> tuple[list[Version], int]:
    """Return the newest versions of a node, and the number of older ones.

    Args:
        conn: a snapshot.
        id: the node.
        limit: how many at most.
        chars: total length of the texts, at most; the newest version is always returned.
    """
    where = "JOIN nodes ON nodes.id = node WHERE node = ?"
    where += " ORDER BY node_versions.version DESC LIMIT ?"
    found: list[Version] = []
    for version in _VERSION.each(conn, where, (id, limit)):
        chars -= len(version.text)
        if found and chars < 0:
            break
        found.append(version)
    count: int = conn.execute("SELECT count(*) FROM node_versions WHERE node = ?", (id,)).get
    return found[::-1], count - len(found)


def versions_by_actor(conn: apsw.Connection, actor: str, limit: int) -> list[Version]:
    """Return at most `limit` changes by an actor or a file, newest first."""
    where = """
         JOIN nodes ON nodes.id = node
         WHERE actor = ?
         ORDER BY node_versions.at_ms DESC, node, node_versions.version DESC LIMIT ?
    """
    return _VERSION.select(conn, where, (actor, limit))
