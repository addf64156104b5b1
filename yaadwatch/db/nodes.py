"""Store nodes: memories, and the files and symbols that memories touch."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import apsw

from yaadwatch.db import edges
from yaadwatch.db.codec import Record, column, json_list, to_json, to_ms
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ID_CHARS_MAX, short_id
from yaadwatch.model.memories import Node

# Most texts are short and are not stored twice.
_ROW: Final = Record(Node, "nodes", computed={"summary": "iif(summary = '', text, summary)"})
_WRITTEN: Final = ", ".join(
    "iif(?7 = ?5, '', ?7)" if name == "summary" else f"?{place}"
    for place, name in enumerate(_ROW.names, 1)
)


def insert(conn: apsw.Connection, node: Node) -> int:
    """Add a node; return its number in the full-text index.

    Raises:
        apsw.ConstraintError: its id is taken, a living node of its scope says the same or has the
            same key, or its confidence is outside 0 to 1.
    """
    return insert_all(conn, [node])


def insert_all(conn: apsw.Connection, new: Sequence[Node]) -> int:
    """Add nodes; return the number of the first; the others are numbered consecutively.

    Raises:
        apsw.ConstraintError: as for `insert`, for any node.
    """
    first = last_num(conn) + 1
    conn.executemany(
        f"INSERT INTO nodes ({_ROW.columns}, num) VALUES ({_WRITTEN}, ?)",
        ((*_ROW.values(node), num) for num, node in enumerate(new, first)),
    )
    return first


def get(conn: apsw.Connection, id: str) -> Node | None:
    """Return the node, living or archived, or None."""
    return _ROW.first(conn, "WHERE id = ?", (id,))


def has(conn: apsw.Connection, id: str) -> bool:
    """Return whether the node exists, living or archived."""
    return conn.execute("SELECT 1 FROM nodes WHERE id = ?", (id,)).get is not None


def many(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, Node]:
    """Return the nodes with these ids, living or archived, sorted by id; unknown ids are left
    out.
    """
    wanted = json_list(ids)
    if wanted == "[]":
        return {}
    where = "WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
    return {node.id: node for node in _ROW.select(conn, where, (wanted,))}


def texts(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the texts of the living ones of `ids`, by id."""
    rows = conn.execute(
        "SELECT id, text FROM nodes"
        " WHERE id IN (SELECT value FROM json_each(?)) AND archived_ms IS NULL ORDER BY id",
        (json_list(ids),),
    )
    return dict(rows)


def find(
    conn: apsw.Connection, fragment: str, limit: int = 8, *, table: str = "nodes"
) -> list[str]:
    """Return at most `limit` ids of a table that begin or end with `fragment`, sorted.

    An id equal to `fragment` is returned alone. ASCII letters match in either case.
    """
    if not fragment or len(fragment) > ID_CHARS_MAX:
        return []
    exact = column(conn, f"SELECT id FROM {table} WHERE id = ?", (fragment,))
    literal = fragment.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return exact or column(
        conn,
        rf"SELECT id FROM {table} WHERE id LIKE ? ESCAPE '\' OR id LIKE ? ESCAPE '\'"
        " ORDER BY id LIMIT ?",
        (f"{literal}%", f"%{literal}", limit),
    )


def by_hash(conn: apsw.Connection, scope: str, text_hash: str, *, thing: bool) -> Node | None:
    """Return the living node of `scope` with this text: a file or entity if `thing`, else a
    memory.
    """
    return _ROW.first(
        conn,
        "WHERE scope = ? AND text_hash = ? AND (kind IN ('file', 'entity')) = ?"
        " AND archived_ms IS NULL",
        (scope, text_hash, int(thing)),
    )


def hashes_said(conn: apsw.Connection, scope: str, hashes: Iterable[str]) -> set[str]:
    """Return those of `hashes` that are texts of living memories of `scope`."""
    sql = """
        SELECT text_hash FROM nodes
         WHERE scope = ? AND (kind IN ('file', 'entity')) = 0
           AND text_hash IN (SELECT value FROM json_each(?)) AND archived_ms IS NULL
    """
    return set(column(conn, sql, (scope, json_list(hashes))))


def by_key(conn: apsw.Connection, scope: str, key: str) -> Node | None:
    """Return the living node of `scope` with this key."""
    return _ROW.first(conn, "WHERE scope = ? AND key = ? AND archived_ms IS NULL", (scope, key))


def archived_under(conn: apsw.Connection, key: str, limit: int) -> list[str]:
    """Return at most `limit` ids of archived nodes with this key, last archived first."""
    return column(
        conn,
        "SELECT id FROM nodes WHERE key = ? AND archived_ms IS NOT NULL"
        " ORDER BY archived_ms DESC, id DESC LIMIT ?",
        (key, limit),
    )


def replace(conn: apsw.Connection, node: Node) -> None:
    """Write every field of a node over its version before `node.version`.

    Raises:
        YaadError: CONFLICT when the stored version is not the one before, NOT_FOUND when the node
            does not exist; nothing was changed.
        apsw.ConstraintError: a living node of its scope says the same or has the same key.
    """
    conn.execute(
        f"""
        UPDATE nodes
           SET ({", ".join(_ROW.names[1:])}) = ({_WRITTEN.partition(", ")[2]})
         WHERE id = ?1 AND version = ? - 1
        """,
        (*_ROW.values(node), node.version),
    )
    if conn.changes() == 0:
        raise _not_the_expected_version(conn, node.id, node.version - 1)


def require_version(conn: apsw.Connection, id: str, expected_version: int) -> None:
    """Refuse a change made for a version of a node other than the stored one.

    Raises:
        YaadError: CONFLICT, with its current version and text; NOT_FOUND.
    """
    there = get(conn, id)
    if there is None or there.version != expected_version:
        raise _not_the_expected_version(conn, id, expected_version)


def nums(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, int]:
    """Return the numbers in the full-text index of those of `ids` that exist."""
    rows = conn.execute(
        "SELECT id, num FROM nodes WHERE id IN (SELECT value FROM json_each(?)) ORDER BY num",
        (json_list(ids),),
    )
    return dict(iter(rows))


def last_num(conn: apsw.Connection) -> int:
    """Return the last number given out, at least the count of nodes; 0 when empty."""
    return int(conn.execute("SELECT coalesce(max(num), 0) FROM nodes").get)


def batch(conn: apsw.Connection, *, after: str, limit: int, archived: bool) -> list[Node]:
    """Return at most `limit` memories with an id greater than `after`, sorted by id.

    Args:
        conn: a snapshot.
        after: the last id of the previous batch; '' to begin.
        limit: how many at most.
        archived: return archived nodes instead of living ones.
    """
    return _ROW.select(
        conn,
        "WHERE id > ? AND (archived_ms IS NOT NULL) = ? AND kind NOT IN ('file', 'entity')"
        " ORDER BY id LIMIT ?",
        (after, int(archived), limit),
    )


def has_own_memories(conn: apsw.Connection) -> bool:
    """Return whether a memory, archived or not, was stored, edited or imported here.

    Such a memory cannot be rebuilt by reading the agent files again.
    """
    sql = """
        SELECT EXISTS (
            SELECT 1 FROM nodes
             WHERE kind NOT IN ('file', 'entity')
               AND (substr(origin, 1, 5) <> 'file:' OR version > 1))
    """
    return bool(conn.execute(sql).get)


def hot(conn: apsw.Connection, limit: int) -> list[Node]:
    """Return at most `limit` living memories that are hot or pinned, without tasks, by id.

    Over the limit the pinned ones stay, then those confirmed last.
    """
    found = _ROW.select(
        conn,
        "WHERE archived_ms IS NULL AND (tier = 1 OR pinned)"
        " AND kind NOT IN ('file', 'entity', 'task')"
        " ORDER BY pinned DESC, confirmed_ms DESC, id LIMIT ?",
        (limit,),
    )
    return sorted(found, key=lambda node: node.id)


def of_kind(conn: apsw.Connection, kind: str, limit: int) -> list[Node]:
    """Return at most `limit` living nodes of a kind, by id; over the limit the newest."""
    where = "WHERE archived_ms IS NULL AND kind = ? ORDER BY confirmed_ms DESC, id LIMIT ?"
    return sorted(_ROW.select(conn, where, (kind, limit)), key=lambda node: node.id)


def count(conn: apsw.Connection, *, archived: bool = False) -> int:
    """Return the number of living, or of archived memories, without session nodes."""
    sql = """
        SELECT count(*) FROM nodes
         WHERE (archived_ms IS NOT NULL) = ? AND kind NOT IN ('file', 'entity', 'session')
    """
    return int(conn.execute(sql, (archived,)).get)


def kinds(conn: apsw.Connection) -> dict[str, int]:
    """Return the number of living nodes of each kind, files and symbols included."""
    sql = "SELECT kind, count(*) FROM nodes WHERE archived_ms IS NULL GROUP BY kind ORDER BY kind"
    return dict(iter(conn.execute(sql)))


def used_between(conn: apsw.Connection, begin: datetime, end: datetime) -> bool:
    """Return whether a memory was made, confirmed or recalled from `begin` to `end`."""
    sql = """
        SELECT EXISTS (
            SELECT 1 FROM nodes
             WHERE created_ms BETWEEN :begin AND :end OR confirmed_ms BETWEEN :begin AND :end
                OR accessed_ms BETWEEN :begin AND :end)
    """
    return bool(conn.execute(sql, {"begin": to_ms(begin), "end": to_ms(end)}).get)


def erase(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Delete nodes with their versions, words, provenance, edges, anchors and flags.

    Memories that they superseded are then superseded by what superseded them.
    """
    gone = json_list(ids)
    edges.hand_on(conn, gone)
    conn.execute("DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (gone,))


def boost(conn: apsw.Connection, raised: Mapping[str, float], *, now: datetime) -> int:
    """Store that living nodes were recalled, with the confidence that remained.

    Their age restarts now. A node raised on the same UTC day, or up to a day later by a clock that
    went back, is unchanged.

    Args:
        conn: in a transaction.
        raised: node and confidence, 0.0 to 1.0.
        now: aware.

    Returns:
        The number raised.
    """
    conn.execute(
        """
        UPDATE nodes
           SET confidence = (SELECT value FROM json_each(:raised) WHERE key = nodes.id),
               accessed_ms = :now_ms
         WHERE id IN (SELECT key FROM json_each(:raised))
           AND archived_ms IS NULL
           AND (accessed_ms IS NULL OR accessed_ms / 86400000 < :now_ms / 86400000
                OR accessed_ms > :now_ms + 86400000)
        """,
        {"raised": to_json(dict(raised)), "now_ms": to_ms(now)},
    )
    return conn.changes()


def strengthen(conn: apsw.Connection, ids: Iterable[str], *, now: datetime) -> int:
    """Restart the age of living nodes now; return the number changed.

    A node confirmed on the same UTC day or later is unchanged.
    """
    conn.execute(
        """
        UPDATE nodes
           SET confirmed_ms = :now_ms
         WHERE id IN (SELECT value FROM json_each(:ids))
           AND archived_ms IS NULL
           AND confirmed_ms / 86400000 < :now_ms / 86400000
        """,
        {"ids": json_list(ids), "now_ms": to_ms(now)},
    )
    return conn.changes()


def _not_the_expected_version(conn: apsw.Connection, id: str, expected: int) -> YaadError:
    there = get(conn, id)
    if there is None:
        hint = "yaadwatch recall finds the id."
        return YaadError(Code.NOT_FOUND, f"There is no memory {id}.", hint)
    text = " ".join(there.text.split()).replace('"', "'")
    return YaadError(
        Code.CONFLICT,
        f"{short_id(id)} was changed by somebody else: it is at version {there.version}, not"
        f' {expected}, and reads "{text}"; nothing was written.',
        f"If the change is still right, repeat it for version {there.version}. "
        f"What was changed: yaadwatch history {short_id(id)}",
    )
