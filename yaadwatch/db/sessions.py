"""Store sessions, what happened in them, tasks and skills.

A task's state and priority are attributes that callers and imports may write. An unknown value
counts as the default, so that every task stays listed.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db.codec import Record, json_list, to_json, to_ms
from yaadwatch.model.limits import NORMAL, OPEN, PRIORITIES, STATES
from yaadwatch.model.projects import (
    DAY,
    LEARNED,
    SHOWN,
    Facts,
    Role,
    Session,
    SessionCommit,
    SessionNode,
    SessionNote,
    Touched,
)


def put(conn: apsw.Connection, session: Session) -> None:
    """Insert or update a session."""
    # An update, because a replace would delete the rows that refer to it.
    conn.execute(
        f"""
        INSERT INTO sessions ({_ROW.columns})
        VALUES ({_ROW.marks})
        ON CONFLICT (id) DO UPDATE
           SET {", ".join(f"{name} = excluded.{name}" for name in _ROW.names)}
        """,
        _ROW.values(session),
    )


def touch(conn: apsw.Connection, id: str, at: datetime) -> bool:
    """Store a request of a session at `at`; an ended session is reopened.

    Returns:
        Whether the session exists.
    """
    # Most are open: the index of open sessions is written only to reopen one.
    for change in (
        "WHERE id = ? AND end_ms IS NULL",
        ", end_ms = NULL, ended_by = '' WHERE id = ?",
    ):
        conn.execute(f"UPDATE sessions SET last_ms = max(last_ms, ?) {change}", (to_ms(at), id))
        if conn.changes() > 0:
            return True
    return False


def get(conn: apsw.Connection, id: str) -> Session | None:
    """Return the session, or None."""
    return _ROW.first(conn, "WHERE id = ?", (id,))


def many(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, Session]:
    """Return the sessions with these ids, by id; unknown ids are left out."""
    where = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return {session.id: session for session in _ROW.select(conn, where, (json_list(ids),))}


def named(conn: apsw.Connection, worktree: int, agent: str, name: str) -> Session | None:
    """Return the newest session with this name by an agent in a work tree, ended or not."""
    return _ROW.first(
        conn,
        "WHERE worktree = ? AND agent = ? AND name = ? ORDER BY start_ms DESC, id DESC LIMIT 1",
        (worktree, agent, name),
    )


def going_on(conn: apsw.Connection, worktree: int, agent: str, since: datetime) -> list[Session]:
    """Return the open sessions of an agent in a work tree with a request since `since`, newest
    first.

    Day sessions of the command line are left out.
    """
    return _ROW.select(
        conn,
        "WHERE end_ms IS NULL AND worktree = ? AND agent = ? AND last_ms >= ? AND name NOT LIKE ?"
        " ORDER BY start_ms DESC, id DESC",
        (worktree, agent, to_ms(since), f"{DAY}%"),
    )


def idle(conn: apsw.Connection, before: datetime) -> list[Session]:
    """Return the open sessions without a request since `before`, oldest first."""
    where = "WHERE end_ms IS NULL AND last_ms < ? ORDER BY last_ms, id"
    return _ROW.select(conn, where, (to_ms(before),))


def latest(conn: apsw.Connection, limit: int) -> list[Session]:
    """Return at most `limit` sessions, newest first."""
    return _ROW.select(conn, "ORDER BY start_ms DESC, id DESC LIMIT ?", (limit,))


def last_with_news(conn: apsw.Connection, worktree: int, but: str) -> Session | None:
    """Return the session of a work tree that ended last and has content to report.

    Day sessions of the command line and the session `but` are left out.
    """
    return _ROW.first(
        conn,
        "WHERE end_ms IS NOT NULL AND worktree = ? AND id <> ? AND summary <> ''"
        " AND name NOT LIKE ? ORDER BY end_ms DESC, id DESC LIMIT 1",
        (worktree, but, f"{DAY}%"),
    )


def set_node_words(
    conn: apsw.Connection, id: str, *, text: str, summary: str, at: datetime
) -> None:
    """Set the text of a session's node, if it has one.

    The text is derived, so no version of it is stored: what is erased elsewhere is gone here too.
    """
    conn.execute(
        """
        UPDATE nodes SET text = ?, summary = ?, updated_ms = ?
         WHERE id = ? AND kind = 'session' AND text <> ?
        """,
        (text, summary, to_ms(at), id, text),
    )


def set_told(conn: apsw.Connection, id: str, seq: int) -> None:
    """Store that events up to number `seq` have been reported to a session."""
    conn.execute("UPDATE sessions SET told_seq = max(told_seq, ?) WHERE id = ?", (seq, id))


def drop(conn: apsw.Connection, id: str) -> None:
    """Delete a session with its shown nodes, notes and words; its node stays."""
    conn.execute("DELETE FROM sessions WHERE id = ?", (id,))


def index(conn: apsw.Connection, id: str, *, summary: str, notes: str) -> None:
    """Index a session by exactly these words."""
    conn.execute(
        """
        INSERT OR REPLACE INTO sessions_fts (rowid, summary, notes)
        SELECT num, ?, ? FROM sessions WHERE id = ?
        """,
        (summary, notes, id),
    )


def search(conn: apsw.Connection, match: str, limit: int) -> list[tuple[str, float]]:
    """Return the ids of sessions that match, with their BM25 (positive), best first.

    Raises:
        apsw.SQLError: `match` is no FTS5 expression.
    """
    rows = conn.execute(
        """
        SELECT sessions.id, found.score
          FROM (SELECT rowid AS num, -bm25(sessions_fts) AS score
                  FROM sessions_fts
                 WHERE sessions_fts MATCH ?
                 ORDER BY score DESC, rowid DESC
                 LIMIT ?) AS found
          JOIN sessions USING (num)
         ORDER BY found.score DESC, sessions.num DESC
        """,
        (match, limit),
    )
    return [(session, score) for session, score in rows]


def _facts(row: str) -> Facts:
    read = json.loads(row)
    return Facts(
        commits=tuple(SessionCommit(**one) for one in read.get("commits", ())),
        files=tuple(Touched(**one) for one in read.get("files", ())),
        more=read.get("more", 0),
        reason=read.get("reason", ""),
    )


_ROW: Final = Record(
    Session,
    "sessions",
    {"started_at": "start_ms", "ended_at": "end_ms"},
    codecs={"facts": (lambda facts: to_json(asdict(facts)), _facts)},
)


_NODE: Final = Record(SessionNode, "session_nodes")
_NOTE: Final = Record(SessionNote, "session_notes")


def note_shown_nodes(
    conn: apsw.Connection, session: str, tokens: Mapping[str, int], at: datetime
) -> None:
    """Store nodes that were shown and their token counts; deleted nodes are left out."""
    conn.execute(
        """
        INSERT INTO session_nodes (session, node, role, at_ms, tokens)
        SELECT ?1, given.key, ?2, ?3, given.value
          FROM json_each(?4) AS given
         WHERE EXISTS (SELECT 1 FROM nodes WHERE nodes.id = given.key)
         ORDER BY given.key
            ON CONFLICT (session, node, role) DO UPDATE SET tokens = tokens + excluded.tokens
        """,
        (session, SHOWN, to_ms(at), to_json(dict(tokens))),
    )


def note_nodes(
    conn: apsw.Connection, session: str, role: Role, nodes: Iterable[str], at: datetime
) -> None:
    """Store that a session used or learned nodes; existing rows are unchanged."""
    at_ms = to_ms(at)
    conn.executemany(
        """
        INSERT INTO session_nodes (session, node, role, at_ms) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING
        """,
        [(session, node, role, at_ms) for node in sorted(set(nodes))],
    )


def forget_role(conn: apsw.Connection, session: str, role: Role) -> None:
    """Delete every node of a role from a session, before the role is computed again."""
    conn.execute("DELETE FROM session_nodes WHERE session = ? AND role = ?", (session, role))


def drop_node(conn: apsw.Connection, session: str, node: str) -> None:
    """Delete every relation of a session to a node."""
    conn.execute("DELETE FROM session_nodes WHERE session = ? AND node = ?", (session, node))


def of_session(conn: apsw.Connection, session: str) -> list[SessionNode]:
    """Return the nodes of a session in order of appearance."""
    where = "WHERE session = ? ORDER BY at_ms, node, role"
    return _NODE.select(conn, where, (session,))


def learned_in(conn: apsw.Connection, nodes: Iterable[str]) -> dict[str, list[str]]:
    """Return the sessions that learned each of `nodes`, oldest first; nodes without one are left
    out.
    """
    found: dict[str, list[str]] = {}
    rows = conn.execute(
        """
        SELECT node, session
          FROM session_nodes
         WHERE role = ? AND node IN (SELECT value FROM json_each(?))
         ORDER BY node, at_ms, session
        """,
        (LEARNED, json_list(nodes)),
    )
    for node, session in rows:
        found.setdefault(node, []).append(session)
    return found


def tallies(conn: apsw.Connection, sessions: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return for each session the number of nodes shown, used and learned, and the tokens."""
    rows = conn.execute(
        """
        SELECT session, role, count(*), sum(tokens)
          FROM session_nodes
         WHERE session IN (SELECT value FROM json_each(?))
         GROUP BY session, role
         ORDER BY session, role
        """,
        (json_list(sessions),),
    )
    found: dict[str, dict[str, int]] = {}
    for session, role, number, tokens in rows:
        tally = found.setdefault(session, {"shown": 0, "used": 0, "learned": 0, "tokens": 0})
        tally[role] = number
        tally["tokens"] += tokens
    return found


def add_note(conn: apsw.Connection, session: str, text: str, at: datetime) -> None:
    """Append a note to a session.

    A note equal to the last one of the same time gets the next millisecond, because an import
    identifies notes by time and text.
    """
    conn.execute(
        """
        INSERT INTO session_notes (session, at_ms, text)
        SELECT :session, max(:at, coalesce(max(at_ms) + 1, :at)), :text
          FROM session_notes
         WHERE session = :session AND text = :text AND at_ms >= :at
        """,
        {"session": session, "at": to_ms(at), "text": text},
    )


def notes(conn: apsw.Connection, session: str) -> list[SessionNote]:
    """Return the notes of a session, oldest first."""
    where = "WHERE session = ? ORDER BY id"
    return _NOTE.select(conn, where, (session,))


def sessions_with_note(conn: apsw.Connection, is_meant: Callable[[str], bool]) -> list[str]:
    """Return the ended sessions with a note for which `is_meant` is true, each once."""
    rows = conn.execute(
        """
        SELECT session, text
          FROM session_notes JOIN sessions ON sessions.id = session
         WHERE end_ms IS NOT NULL
         ORDER BY session_notes.id
        """
    )
    return list(dict.fromkeys(session for session, text in rows if is_meant(text)))


def touched(conn: apsw.Connection, session: str, paths: Iterable[str], at: datetime) -> None:
    """Store files that an agent touched."""
    conn.execute(
        """
        INSERT INTO session_files (session, path, at_ms)
        SELECT ?, value, ? FROM json_each(?) WHERE true ORDER BY value
            ON CONFLICT DO NOTHING
        """,
        (session, to_ms(at), json_list(paths)),
    )


def files(conn: apsw.Connection, session: str) -> dict[str, bool]:
    """Return the files touched in a session in order, with whether their memories were reported to
    it.
    """
    rows = conn.execute(
        "SELECT path, told FROM session_files WHERE session = ? ORDER BY at_ms, path", (session,)
    )
    return {path: bool(told) for path, told in rows}


def note_told_files(conn: apsw.Connection, session: str, paths: Iterable[str]) -> None:
    """Store that a session got the memories of these files."""
    conn.execute(
        """
        UPDATE session_files SET told = 1
         WHERE session = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (session, json_list(paths)),
    )


def describe_skill(conn: apsw.Connection, id: str, *, name: str, description: str) -> None:
    """Set the name and the masked description of a skill.

    Raises:
        apsw.ConstraintError: another living memory has this name as its key.
    """
    conn.execute(
        """
        UPDATE nodes SET key = ?, attributes = json_set(attributes, '$.description', ?)
         WHERE id = ?
        """,
        (name, description, id),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """The state of a task; `waits_for`: unfinished tasks it depends on."""

    node: str
    state: str
    priority: str
    waits_for: tuple[str, ...] = ()


def of_states(conn: apsw.Connection, wanted: Iterable[str], limit: int) -> list[TaskRow]:
    """Return at most `limit` living tasks in these states, most urgent first.

    Order: in progress, then priority, then unblocked, then oldest.
    """
    rows = conn.execute(
        f"""
        SELECT id, {_STATE} AS state, {_PRIORITY} AS priority,
               (SELECT json_group_array(waited)
                  FROM (SELECT other.id AS waited
                          FROM edges
                          JOIN nodes AS other ON other.id = edges.to_node
                         WHERE edges.from_node = nodes.id AND edges.kind = 'depends_on'
                           AND edges.valid_until_ms IS NULL
                           AND other.kind = 'task' AND other.archived_ms IS NULL
                           AND {_WAITED_FOR} IN ('open', 'doing')
                         ORDER BY other.id)) AS waits_for
          FROM nodes
         WHERE kind = 'task' AND archived_ms IS NULL
           AND state IN (SELECT value FROM json_each(?1))
         ORDER BY state <> 'doing',
                  (SELECT key FROM json_each(?2) WHERE value = priority),
                  waits_for <> '[]', pinned DESC, created_ms, id
         LIMIT ?3
        """,
        (json_list(wanted), to_json(list(PRIORITIES)), limit),
    )
    return [
        TaskRow(node=node, state=state, priority=priority, waits_for=tuple(json.loads(waits_for)))
        for node, state, priority, waits_for in rows
    ]


def counts(conn: apsw.Connection) -> dict[str, int]:
    """Return the number of living tasks in each state that occurs."""
    sql = f"""
        SELECT {_STATE} AS state, count(*) FROM nodes
         WHERE kind = 'task' AND archived_ms IS NULL GROUP BY state
    """
    return dict(iter(conn.execute(sql)))


def states(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the states of those of `ids` that are tasks."""
    sql = f"""
        SELECT id, {_STATE} FROM nodes
         WHERE kind = 'task' AND id IN (SELECT value FROM json_each(?))
    """
    return dict(iter(conn.execute(sql, (json_list(ids),))))


def get_task(conn: apsw.Connection, id: str) -> TaskRow | None:
    """Return the state of a task, living or archived; None when there is no such task."""
    row = conn.execute(
        f"SELECT {_STATE}, {_PRIORITY} FROM nodes WHERE kind = 'task' AND id = ?",
        (id,),
    ).fetchone()
    return None if row is None else TaskRow(node=id, state=row[0], priority=row[1])


def put_task(conn: apsw.Connection, id: str, *, state: str, priority: str) -> None:
    """Store the state and priority of a task beside its other attributes."""
    conn.execute(
        """
        UPDATE nodes SET attributes = json_set(attributes, '$.state', ?, '$.priority', ?)
         WHERE id = ?
        """,
        (state, priority, id),
    )


def _one_of(known: Iterable[str], node: str, name: str, other: str) -> str:
    """Return SQL for an attribute of a node: one of the `known` values, else `other`."""
    value = f"json_extract({node}.attributes, '$.{name}')"
    words = ", ".join(f"'{word}'" for word in known)
    return f"iif({value} IN ({words}), {value}, '{other}')"


_STATE = _one_of(STATES, "nodes", "state", OPEN)
_WAITED_FOR = _one_of(STATES, "other", "state", OPEN)
_PRIORITY = _one_of(PRIORITIES, "nodes", "priority", NORMAL)
