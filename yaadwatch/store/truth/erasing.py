"""What must not exist: rows that hold some words, in a store and in copies of it, are made to hold
them no more.

Deleting a row leaves its bytes behind: in free pages, in the parts of the full-text index that a
later merge would drop, in the write-ahead log. `compact_indexes` and `Database.scrub` take those
away.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.store.codec import json_list
from yaadwatch.store.sqlite import connections
from yaadwatch.store.sqlite.faults import told
from yaadwatch.store.sqlite.files import put_in_place

INSTEAD: Final = "[erased]"
"""What stands where words were erased that something else had quoted."""

_OWN_TABLES: Final = frozenset({"nodes", "node_versions", "meta"})
"""Tables whose rows are erased as a whole, by `saying` and its callers; and one without words."""

_QUOTING: Final = frozenset({"archive_reason", "reason"})
"""Columns of those in which somebody may have quoted it."""


def saying(conn: apsw.Connection, texts: Sequence[str], hashes: Iterable[str]) -> set[str]:
    """Return the memories, living or archived, that say or once said one of `texts`.

    Args:
        conn: a snapshot.
        texts: as they were stored.
        hashes: of their words in the form that is compared.
    """
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE kind NOT IN ('file', 'entity')
           AND (text_hash IN (SELECT value FROM json_each(:hashes))
                OR text IN (SELECT value FROM json_each(:texts)))
         ORDER BY id
        """,
        {"texts": json_list(texts), "hashes": json_list(hashes)},
    )
    return {node for (node,) in rows}


def quoting(conn: apsw.Connection, texts: Iterable[str]) -> list[str]:
    """Return the memories whose own words contain one of `texts`, by id."""
    rows = conn.execute(
        """
        SELECT DISTINCT nodes.id
          FROM nodes, json_each(?) AS wanted
         WHERE instr(nodes.text, wanted.value) > 0 AND nodes.kind NOT IN ('file', 'entity')
         ORDER BY nodes.id
        """,
        (json_list(texts),),
    )
    return [node for (node,) in rows]


def redact(conn: apsw.Connection, texts: Iterable[str]) -> int:
    """Put INSTEAD where any table quotes `texts`, memories left out; return how many rows did.

    What the versions of other memories say is theirs: `reword_past` is for those that once said the
    same.
    """
    changed = 0
    for text in texts:
        # In a column of JSON the same words stand escaped; most have nothing to escape.
        forms = dict.fromkeys((text, json.dumps(text, ensure_ascii=False)[1:-1], _ascii(text)))
        for table, column in (*_columns(conn), *_indexed(conn)):
            for form in forms:
                conn.execute(
                    f'UPDATE "{table}" SET "{column}" = replace("{column}", ?1, ?2)'  # noqa: S608
                    f' WHERE instr("{column}", ?1) > 0',
                    (form, INSTEAD),
                )
                changed += conn.changes()
    return changed


def reword_past(conn: apsw.Connection, texts: Iterable[str]) -> None:
    """Empty the versions of other memories that said one of `texts`; that they were stays."""
    conn.execute(
        """
        UPDATE node_versions
           SET text = ?
         WHERE text IN (SELECT value FROM json_each(?))
        """,
        (INSTEAD, json_list(texts)),
    )


def drop_tombstones(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Forget the hashes of words: of short ones, a hash can be guessed back."""
    conn.execute(
        "DELETE FROM tombstones WHERE text_hash IN (SELECT value FROM json_each(?))",
        (json_list(hashes),),
    )


def silence(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Leave of the events about nodes only that they happened, and when."""
    conn.execute(
        """
        UPDATE events
           SET body = '{}'
         WHERE subject IN (SELECT value FROM json_each(?)) AND body <> '{}'
        """,
        (json_list(ids),),
    )


def compact_indexes(conn: apsw.Connection) -> None:
    """Merge the parts of every full-text index into one: what was deleted is in none of them."""
    for name in _indexes(conn):
        conn.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')  # noqa: S608


def rewrite_copy(
    path: Path,
    ids: Iterable[str],
    *,
    texts: Sequence[str],
    quoted: Iterable[str],
    hashes: Iterable[str],
) -> bool:
    """Take memories out of a copy of a store, of any version; return whether any was there.

    The copy is replaced once the new one is whole.

    Args:
        path: the copy; nobody has it open.
        ids: the memories.
        texts: what they ever said; others that say one of these go too.
        quoted: those of the texts, and parts of them, that are looked for inside other words.
        hashes: of the texts.

    Raises:
        YaadError: UNAVAILABLE; it is no store, or cannot be written. It is as it was.
        OSError: it cannot be read.
    """
    outcome = "it was not rewritten"
    with told(path, outcome), put_in_place(path, outcome) as temporary:
        connections.probe(path)
        temporary.write_bytes(path.read_bytes())
        conn = apsw.Connection(
            str(temporary), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        )
        try:
            conn.pragma("journal_mode", "memory")  # nobody sees this file before it is whole
            conn.pragma("foreign_keys", 1)
            conn.pragma("trusted_schema", 0)
            conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            conn.execute("BEGIN IMMEDIATE")
            found = saying(conn, texts, hashes) | _there(conn, ids)
            conn.execute(
                "DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))",
                (json_list(found),),
            )
            silence(conn, found)
            if _has(conn, "tombstones"):
                drop_tombstones(conn, hashes)
            reword_past(conn, texts)
            changed = redact(conn, quoted)
            compact_indexes(conn)
            conn.execute("COMMIT")
            conn.execute("VACUUM")
        finally:
            conn.close()
        return bool(found or changed)


def _there(conn: apsw.Connection, ids: Iterable[str]) -> set[str]:
    rows = conn.execute(
        "SELECT id FROM nodes WHERE id IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )
    return {node for (node,) in rows}


def _has(conn: apsw.Connection, table: str) -> bool:
    found = conn.execute("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None


def _columns(conn: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Yield table and column of every text that may quote somebody, whatever tables there are.

    Keys are left out: they are ids, paths and hashes.
    """
    rows = conn.execute(
        """
        SELECT tables.name, columns.name
          FROM pragma_table_list AS tables, pragma_table_xinfo(tables.name) AS columns
         WHERE tables.schema = 'main' AND tables.type = 'table'
           AND tables.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
           AND columns.type = 'TEXT' AND columns.hidden = 0 AND columns.pk = 0
         ORDER BY tables.name, columns.cid
        """
    ).fetchall()
    for table, column in rows:
        if table not in _OWN_TABLES or column in _QUOTING:
            yield str(table), str(column)


def _indexes(conn: apsw.Connection) -> list[str]:
    rows = conn.execute(
        """
        SELECT name
          FROM sqlite_schema
         WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%USING fts5%'
         ORDER BY name
        """
    )
    return [str(name) for (name,) in rows]


def _indexed(conn: apsw.Connection) -> Iterator[tuple[str, str]]:
    """Yield index and column of the words that are no memory's."""
    for name in _indexes(conn):
        if name != "nodes_fts":
            rows = conn.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
            yield from ((name, str(column)) for (column,) in rows)


def _ascii(text: str) -> str:
    return json.dumps(text)[1:-1]
