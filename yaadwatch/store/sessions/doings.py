"""What happened in a session: nodes that were shown, used and learned, notes, files touched."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

import apsw

from yaadwatch.model.sessions import LEARNED, SHOWN, USED, Role, SessionNode, SessionNote
from yaadwatch.store.codec import from_ms, json_list, to_json, to_ms


def shown(conn: apsw.Connection, session: str, tokens: Mapping[str, int], at: datetime) -> None:
    """Note nodes that were shown, and the tokens it took; those that are gone are left out."""
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
    """Note that a session used or learned nodes; those that are noted already stay as they are."""
    at_ms = to_ms(at)
    conn.executemany(
        """
        INSERT INTO session_nodes (session, node, role, at_ms) VALUES (?, ?, ?, ?)
            ON CONFLICT DO NOTHING
        """,
        [(session, node, role, at_ms) for node in sorted(set(nodes))],
    )


def forget_role(conn: apsw.Connection, session: str, role: Role) -> None:
    """Take back every node of a role: it is about to be found out anew."""
    conn.execute("DELETE FROM session_nodes WHERE session = ? AND role = ?", (session, role))


def drop_node(conn: apsw.Connection, session: str, node: str) -> None:
    """Take back that a session had anything to do with a node."""
    conn.execute("DELETE FROM session_nodes WHERE session = ? AND node = ?", (session, node))


def of_session(conn: apsw.Connection, session: str) -> list[SessionNode]:
    """Return the nodes of a session in the order in which they came up."""
    rows = conn.execute(
        """
        SELECT node, role, at_ms, tokens
          FROM session_nodes
         WHERE session = ?
         ORDER BY at_ms, node, role
        """,
        (session,),
    )
    return [
        SessionNode(session=session, node=node, role=role, at=from_ms(at_ms), tokens=tokens)
        for node, role, at_ms, tokens in rows
    ]


def learned_in(conn: apsw.Connection, nodes: Iterable[str]) -> dict[str, list[str]]:
    """Return the sessions that learned each of `nodes`, oldest first; none: left out."""
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


def used(conn: apsw.Connection, nodes: Iterable[str]) -> dict[str, int]:
    """Return in how many sessions each of `nodes` was of use; none: left out."""
    rows = conn.execute(
        """
        SELECT node, count(*)
          FROM session_nodes
         WHERE node IN (SELECT value FROM json_each(?)) AND role = ?
         GROUP BY node
         ORDER BY node
        """,
        (json_list(nodes), USED),
    )
    return dict(iter(rows))


def tallies(conn: apsw.Connection, sessions: Iterable[str]) -> dict[str, dict[str, int]]:
    """Return for each session how many nodes it was shown, used and learned, and the tokens."""
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
    """Keep a note of a session, after those it has.

    One that says what the last of that time says is of the millisecond after it: an import tells
    notes apart by their time and words.
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
    rows = conn.execute(
        "SELECT at_ms, text FROM session_notes WHERE session = ? ORDER BY id", (session,)
    )
    return [SessionNote(at=from_ms(at_ms), text=text) for at_ms, text in rows]


def sessions_with_note(conn: apsw.Connection, is_meant: Callable[[str], bool]) -> list[str]:
    """Return the ended sessions that have a note that is meant, each once."""
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
    """Note files that an agent touched."""
    conn.execute(
        """
        INSERT INTO session_files (session, path, at_ms)
        SELECT ?, value, ? FROM json_each(?) WHERE true ORDER BY value
            ON CONFLICT DO NOTHING
        """,
        (session, to_ms(at), json_list(paths)),
    )


def files(conn: apsw.Connection, session: str) -> dict[str, bool]:
    """Return the files touched in a session, in that order: whether it was told what rests on
    each.
    """
    rows = conn.execute(
        "SELECT path, told FROM session_files WHERE session = ? ORDER BY at_ms, path", (session,)
    )
    return {path: bool(told) for path, told in rows}


def told(conn: apsw.Connection, session: str, paths: Iterable[str]) -> None:
    """Note that a session was told what rests on these files."""
    conn.execute(
        """
        UPDATE session_files SET told = 1
         WHERE session = ? AND path IN (SELECT value FROM json_each(?))
        """,
        (session, json_list(paths)),
    )
