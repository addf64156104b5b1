"""The log of events of a store, and how far each follower has read it."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

import apsw

from yaadwatch.model.edges import Edge
from yaadwatch.model.events import Event
from yaadwatch.store.codec import from_ms, to_json, to_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """A follower's place: everything up to `seq` is done; `failed_seq` was tried `tries` times.

    `failed_seq` is 0 when the last event went well.
    """

    seq: int = 0
    failed_seq: int = 0
    tries: int = 0


def cursor_of(conn: apsw.Connection, name: str) -> Cursor:
    """Return the place of follower `name`; zeros when it has never read."""
    found = conn.execute(
        "SELECT seq, failed_seq, tries FROM cursors WHERE name = ?", (name,)
    ).fetchone()
    if found is None:
        return Cursor()
    seq, failed_seq, tries = found
    return Cursor(seq=seq, failed_seq=failed_seq, tries=tries)


def advance_cursor(conn: apsw.Connection, name: str, seq: int) -> None:
    """Note that `name` has done every event up to `seq`; failures before it are forgotten."""
    conn.execute(
        """
        INSERT INTO cursors (name, seq)
        VALUES (?, ?)
        ON CONFLICT (name) DO UPDATE SET seq = excluded.seq, failed_seq = 0, tries = 0
        """,
        (name, seq),
    )


def note_failure(conn: apsw.Connection, name: str, seq: int) -> int:
    """Note that `name` failed on event `seq`; return how often it failed on it so far."""
    tries = conn.execute(
        """
        INSERT INTO cursors (name, seq, failed_seq, tries)
        VALUES (?, 0, ?, 1)
        ON CONFLICT (name) DO UPDATE
           SET tries = iif(failed_seq = excluded.failed_seq, tries + 1, 1),
               failed_seq = excluded.failed_seq
        RETURNING tries
        """,
        (name, seq),
    )
    return int(tries.get)


def append(conn: apsw.Connection, event: Event) -> int:
    """Write `event` down, whatever its `seq` is; return the number it got."""
    conn.execute(
        "INSERT INTO events (kind, at_ms, subject, body) VALUES (?, ?, ?, ?)",
        (event.kind, to_ms(event.at), event.subject, to_json(event.body)),
    )
    return conn.last_insert_rowid()


def append_edge(conn: apsw.Connection, kind: str, edge: Edge, at: datetime, **more: object) -> None:
    """Write down what happened to an edge: it was created, or closed."""
    body = {"to": edge.to_node, "kind": edge.kind, **more}
    append(conn, Event(kind=kind, at=at, subject=edge.from_node, body=body))


def append_all(conn: apsw.Connection, new: Iterable[tuple[str, str, str]], at: datetime) -> None:
    """Write down, in their order, what happened at one time: kind, subject, and body as JSON."""
    at_ms = to_ms(at)
    conn.executemany(
        "INSERT INTO events (kind, at_ms, subject, body) VALUES (?, ?, ?, ?)",
        ((kind, at_ms, subject, body) for kind, subject, body in new),
    )


def after(conn: apsw.Connection, seq: int, limit: int) -> list[Event]:
    """Return at most `limit` events that came after number `seq`, oldest first."""
    rows = conn.execute(
        """
        SELECT seq, kind, at_ms, subject, body
          FROM events
         WHERE seq > ?
         ORDER BY seq
         LIMIT ?
        """,
        (seq, limit),
    )
    return [
        Event(seq=number, kind=kind, at=from_ms(at_ms), subject=subject, body=json.loads(body))
        for number, kind, at_ms, subject, body in rows
    ]


def hush(conn: apsw.Connection, subject: str) -> None:
    """Take what somebody wrote (reasons) out of the events about a node; that they were stays."""
    conn.execute(
        """
        UPDATE events
           SET body = json_remove(body, '$.reason')
         WHERE subject = ? AND json_extract(body, '$.reason') IS NOT NULL
        """,
        (subject,),
    )


def about(
    conn: apsw.Connection, subject: str, kinds: Sequence[str], worktree: int, limit: int
) -> list[Event]:
    """Return at most `limit` events of some kinds about a file of a work tree, newest first."""
    rows = conn.execute(
        """
        SELECT seq, kind, at_ms, subject, body
          FROM events
         WHERE subject = ?
           AND kind IN (SELECT value FROM json_each(?))
           AND json_extract(body, '$.worktree') = ?
         ORDER BY seq DESC
         LIMIT ?
        """,
        (subject, to_json(list(kinds)), worktree, limit),
    )
    return [
        Event(seq=number, kind=kind, at=from_ms(at_ms), subject=told, body=json.loads(body))
        for number, kind, at_ms, told, body in rows
    ]


def written(conn: apsw.Connection, kind: str, worktree: int, since: datetime) -> list[str]:
    """Return the files of a work tree that newest events of one kind are about, oldest first.

    Of the last 256 events, those since a time.
    """
    rows = conn.execute(
        """
        SELECT subject
          FROM events
         WHERE seq > (SELECT max(seq) - 256 FROM events) AND kind = ? AND at_ms >= ?
           AND json_extract(body, '$.worktree') = ?
         GROUP BY subject
         ORDER BY min(seq)
        """,
        (kind, to_ms(since), worktree),
    )
    return [subject for (subject,) in rows]


def trim(conn: apsw.Connection, before: datetime, limit: int) -> int:
    """Forget at most `limit` events from before a time that every follower has read.

    The last one stays: the number of the next one follows from it.

    Returns:
        How many were forgotten.
    """
    conn.execute(
        """
        DELETE FROM events
         WHERE seq IN (
               SELECT seq
                 FROM events
                WHERE at_ms < ?1 AND seq <= (SELECT coalesce(min(seq), ?2) FROM cursors)
                  AND seq < (SELECT max(seq) FROM events)
                ORDER BY seq
                LIMIT ?3)
        """,
        (to_ms(before), 2**62, limit),
    )
    return conn.changes()


def last(conn: apsw.Connection) -> int:
    """Return the number of the newest event; 0 when nothing has happened yet."""
    return int(conn.execute("SELECT coalesce(max(seq), 0) FROM events").get)
