"""Sessions: who worked here and when, and how it is told; and the words to find one by."""

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.model.sessions import DAY, Facts, Made, Session, Touched
from yaadwatch.store.codec import Record, json_list, to_json, to_ms


def put(conn: apsw.Connection, session: Session) -> None:
    """Write every field of a session, a new one or one that is there."""
    # Not replaced: what it was shown and its notes would go with the old row.
    conn.execute(
        f"""
        INSERT INTO sessions ({_ROW.columns})
        VALUES ({_ROW.marks})
        ON CONFLICT (id) DO UPDATE
           SET {", ".join(f"{name} = excluded.{name}" for name in _ROW.names)}
        """,  # noqa: S608
        _ROW.values(session),
    )


def touch(conn: apsw.Connection, id: str, at: datetime) -> bool:
    """Note that a session asked for something at `at`; one that is over goes on.

    Returns:
        Whether it is there.
    """
    # Most go on: the index of open ones is written only for one that was over.
    conn.execute(
        "UPDATE sessions SET last_ms = max(last_ms, ?) WHERE id = ? AND end_ms IS NULL",
        (to_ms(at), id),
    )
    if conn.changes() > 0:
        return True
    conn.execute(
        """
        UPDATE sessions
           SET last_ms = max(last_ms, ?), end_ms = NULL, ended_by = ''
         WHERE id = ?
        """,
        (to_ms(at), id),
    )
    return conn.changes() > 0


def get(conn: apsw.Connection, id: str) -> Session | None:
    """Return the session, or None."""
    return many(conn, [id]).get(id)


def many(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, Session]:
    """Return those of `ids` that are there, by id."""
    rows = conn.execute(
        f"""
        SELECT {_ROW.columns}
          FROM sessions
         WHERE id IN (SELECT value FROM json_each(?))
         ORDER BY id
        """,  # noqa: S608
        (json_list(ids),),
    )
    return {session.id: session for session in map(_ROW.read, rows)}


def find(conn: apsw.Connection, fragment: str, limit: int) -> list[str]:
    """Return at most `limit` ids that begin or end with `fragment`, sorted; itself alone."""
    literal = fragment.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    rows = conn.execute(
        r"""
        SELECT id
          FROM sessions
         WHERE id = ?1 OR ((id LIKE ?2 ESCAPE '\' OR id LIKE ?3 ESCAPE '\')
           AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = ?1))
         ORDER BY id
         LIMIT ?4
        """,
        (fragment, f"{literal}%", f"%{literal}", limit),
    )
    return [session for (session,) in rows]


def named(conn: apsw.Connection, worktree: int, agent: str, name: str) -> Session | None:
    """Return the newest session that an agent calls so in a work tree, also one that is over."""
    return _first(
        conn,
        """
        SELECT id FROM sessions
         WHERE worktree = ? AND agent = ? AND name = ?
         ORDER BY start_ms DESC, id DESC LIMIT 1
        """,
        (worktree, agent, name),
    )


def going_on(conn: apsw.Connection, worktree: int, agent: str, since: datetime) -> list[Session]:
    """Return the open sessions of an agent in a work tree that asked since, newest first.

    A day at the command line is none of them.
    """
    rows = conn.execute(
        """
        SELECT id
          FROM sessions
         WHERE end_ms IS NULL AND worktree = ? AND agent = ? AND last_ms >= ?
           AND name NOT LIKE ?
         ORDER BY start_ms DESC, id DESC
        """,
        (worktree, agent, to_ms(since), f"{DAY}%"),
    )
    order = [session for (session,) in rows]
    found = many(conn, order)
    return [found[session] for session in order]


def idle(conn: apsw.Connection, before: datetime) -> list[Session]:
    """Return the open sessions that asked for nothing since `before`, oldest first."""
    rows = conn.execute(
        "SELECT id FROM sessions WHERE end_ms IS NULL AND last_ms < ? ORDER BY last_ms, id",
        (to_ms(before),),
    )
    order = [session for (session,) in rows]
    found = many(conn, order)
    return [found[session] for session in order]


def latest(conn: apsw.Connection, limit: int) -> list[Session]:
    """Return at most `limit` sessions, newest first."""
    rows = conn.execute("SELECT id FROM sessions ORDER BY start_ms DESC, id DESC LIMIT ?", (limit,))
    order = [session for (session,) in rows]
    found = many(conn, order)
    return [found[session] for session in order]


def last_told(conn: apsw.Connection, worktree: int, but: str) -> Session | None:
    """Return the session in a work tree that ended last and has something to tell.

    Neither a day at the command line, nor the session `but`.
    """
    return _first(
        conn,
        """
        SELECT id FROM sessions
         WHERE end_ms IS NOT NULL AND worktree = ? AND id <> ? AND summary <> ''
           AND name NOT LIKE ?
         ORDER BY end_ms DESC, id DESC LIMIT 1
        """,
        (worktree, but, f"{DAY}%"),
    )


def say(conn: apsw.Connection, id: str, *, text: str, summary: str, at: datetime) -> None:
    """Give the node of a session, if it has one, these words.

    They are made of what is kept elsewhere, so no version of them is kept: what is erased there is
    gone here.
    """
    conn.execute(
        """
        UPDATE nodes SET text = ?, summary = ?, updated_ms = ?
         WHERE id = ? AND kind = 'session' AND text <> ?
        """,
        (text, summary, to_ms(at), id, text),
    )


def set_told(conn: apsw.Connection, id: str, seq: int) -> None:
    """Note that events up to number `seq` are no news to a session any more."""
    conn.execute("UPDATE sessions SET told_seq = max(told_seq, ?) WHERE id = ?", (seq, id))


def drop(conn: apsw.Connection, id: str) -> None:
    """Take a session away, with what it was shown, its notes and its words; its node stays."""
    conn.execute("DELETE FROM sessions WHERE id = ?", (id,))


def index(conn: apsw.Connection, id: str, *, summary: str, notes: str) -> None:
    """Make a session findable by these words, as they are to be indexed, and by no others."""
    conn.execute(
        """
        INSERT OR REPLACE INTO sessions_fts (rowid, summary, notes)
        SELECT num, ?, ? FROM sessions WHERE id = ?
        """,
        (summary, notes, id),
    )


def search(conn: apsw.Connection, match: str, limit: int) -> list[tuple[str, float]]:
    """Return the ids of sessions whose words match, with their BM25 (positive), best first.

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


def _first(conn: apsw.Connection, sql: str, values: tuple[str | int, ...]) -> Session | None:
    found = conn.execute(sql, values).fetchone()
    return None if found is None else get(conn, found[0])


def _facts_row(facts: Facts) -> dict[str, object]:
    return {
        "commits": [[made.id, made.subject] for made in facts.commits],
        "files": [[one.path, one.how, int(one.committed)] for one in facts.files],
        "more": facts.more,
        "reason": facts.reason,
    }


def _facts(row: str) -> Facts:
    read = json.loads(row)
    return Facts(
        commits=tuple(Made(id=id, subject=said) for id, said in read.get("commits", ())),  # noqa: A001
        files=tuple(
            Touched(path=path, how=how, committed=bool(committed))
            for path, how, committed in read.get("files", ())
        ),
        more=read.get("more", 0),
        reason=read.get("reason", ""),
    )


_ROW: Final = Record(
    Session,
    {"started_at": "start_ms", "ended_at": "end_ms"},
    codecs={"facts": (lambda facts: to_json(_facts_row(facts)), _facts)},
)
