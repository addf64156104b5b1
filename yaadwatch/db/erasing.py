"""Erase texts from a store and from copies of it.

Deleting a row leaves its bytes in free pages, in segments of the full-text index and in the
write-ahead log. `compact_indexes` and `Database.scrub` remove those.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.db import connections, edges
from yaadwatch.db.codec import json_list
from yaadwatch.db.files import replacing, translated_errors, unavailable

INSTEAD: Final = "[erased]"
"""Replaces erased texts that something else quoted."""

HASH_DIGITS: Final = 32
"""Of a hash of words, what is compared: stores before version 9 have twice as many digits."""

WORDS: Final = {
    "agent_files": {"reason"},
    "agreements": {"text"},
    "claims": {"value", "sense", "evidence"},
    "contradictions": {"reason"},
    "edges": {"attributes"},
    "events": {"body"},
    "gaps": {"text", "reason"},
    "imports": {"source", "counts"},
    "job_runs": {"error"},
    "node_versions": {"reason"},
    "nodes": {"attributes", "archive_reason"},
    "proposals": {"text"},
    "session_notes": {"text"},
    "sessions": {"name", "facts", "summary"},
    "stale_flags": {"reason", "evidence", "suggestion"},
}
"""Columns of free text that may quote a memory, by table."""

OWN: Final = {"nodes": {"text", "summary", "tags"}, "node_versions": {"text"}}
"""What memories say themselves: `saying` and its callers see to it."""

STRUCTURE: Final = {
    "agent_files": {
        *("path", "mode", "state", "digest", "block", "head", "branch", "written_ms", "adopted")
    },
    "agreements": {"path", "block", "node", "line"},
    "branch_blocks": {"path", "branch", "head", "block"},
    "claims": {"node", "subject", "attribute", "place", "source"},
    "contradictions": {"name", "kind", "decision", "kept", "actor"},
    "dismissals": {"text_hash", "node", "how"},
    "edges": {"from_node", "to_node", "kind"},
    "embedding_models": {"space", "name", "state"},
    "embeddings": {"space"},
    "embedding_stamps": {"space"},
    "events": {"kind", "subject"},
    "file_snapshots": {"path", "name", "digest"},
    "file_watch": {
        *("node", "path", "reference", "symbol", "commit_id", "blob", "method", "fingerprint"),
        "trust",
    },
    "gaps": {"hash", "approved_by"},
    "imports": {"id", "format"},
    "job_runs": {"job"},
    "learned": {"node", "commit_id"},
    "provisional": {"node", "branch", "base"},
    "meta": {"key", "value"},
    "node_versions": {"node", "change", "actor", "kind"},
    "nodes": {"id", "kind", "scope", "text_hash", "key", "origin", "session"},
    "proposals": {"node", "actor", "decision"},
    "projects": {"id", "root", "common_dir", "remote", "root_commit"},
    "provenance": {"node", "path"},
    "session_files": {"session", "path"},
    "session_nodes": {"session", "node", "role"},
    "session_notes": {"session"},
    "sessions": {"id", "agent", "ended_by", "branch", "start_commit"},
    "sightings": {"path", "signature", "blob"},
    "stale_flags": {"node", "verdict", "level", "branch"},
    "tombstones": {"path", "text_hash"},
    "worktrees": {"path", "head", "branch", "lookback"},
}
"""Columns of paths, kinds, ids and hashes: no words, whatever they look like. Never changed."""

_TREES: Final = frozenset({"attributes", "body", "counts", "facts", "evidence", "suggestion"})
"""Columns of WORDS that may hold JSON: of that, only words are replaced."""

_STRUCTURAL: Final = frozenset(
    {
        *("actor", "at", "blob", "branch", "change", "commit", "file", "files", "format", "how"),
        *("id", "ids", "key", "kind", "level", "method", "node", "origin", "path", "paths"),
        *("reference", "symbol", "thing", "tier", "verdict", "worktree"),
    }
)
"""JSON keys whose values are not free text."""


def memories_saying(conn: apsw.Connection, texts: Sequence[str], hashes: Iterable[str]) -> set[str]:
    """Return the memories, living or archived, whose current or earlier text is one of `texts`.

    Args:
        conn: a snapshot.
        texts: as they were stored.
        hashes: of their normalised texts.
    """
    rows = conn.execute(
        """
        SELECT id
          FROM nodes
         WHERE kind NOT IN ('file', 'entity')
           AND (substr(text_hash, 1, :digits) IN (SELECT value FROM json_each(:hashes))
                OR text IN (SELECT value FROM json_each(:texts)))
         ORDER BY id
        """,
        {
            "texts": json_list(texts),
            "hashes": json_list(_comparable(hashes)),
            "digits": HASH_DIGITS,
        },
    )
    return {node for (node,) in rows}


def quoting(conn: apsw.Connection, texts: Iterable[str]) -> list[str]:
    """Return the memories whose text contains one of `texts`, by id."""
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


def redact(conn: apsw.Connection, texts: Iterable[str], indexed: Callable[[str], str]) -> int:
    """Replace quotations of `texts` by INSTEAD outside memories; return the number of rows changed.

    Paths, kinds, ids and the like stay, even when equal. Versions of other memories stay; see
    `reword_past` for those that once had the same text.

    Args:
        conn: in a transaction.
        texts: the texts to remove.
        indexed: brings the words of a session to the form in which they are indexed.

    Raises:
        YaadError: UNAVAILABLE; a rule of the store forbids it.
    """
    changed = 0
    conn.create_scalar_function("without_words", _without, 3, deterministic=True)
    try:
        for text in texts:
            # In a column of JSON the same words stand escaped; most have nothing to escape.
            forms = dict.fromkeys((text, json.dumps(text, ensure_ascii=False)[1:-1], _ascii(text)))
            for table, column in _columns(conn):
                if column in _TREES:
                    value = f'without_words("{column}", ?2, ?3)'
                else:
                    value = f'replace("{column}", ?1, ?3)'
                for form in forms:
                    conn.execute(
                        f'UPDATE "{table}" SET "{column}" = {value}'  # noqa: S608
                        f' WHERE instr("{column}", ?1) > 0 AND "{column}" IS NOT {value}',
                        (form, text, INSTEAD),
                    )
                    changed += conn.changes()
        if changed:
            _index_sessions(conn, indexed)
    except apsw.ConstraintError as error:
        raise unavailable(
            f"A quotation could not be taken out of {table}.{column} ({error}); the memory is still"
            " there.",
            "Look for what is wrong with the store: yaadwatch verify. Then erase it again.",
        ) from error
    finally:
        conn.create_scalar_function("without_words", None, 3)
    return changed


def reword_past(conn: apsw.Connection, texts: Iterable[str]) -> None:
    """Empty the versions of other memories whose text was one of `texts`; the rows stay."""
    conn.execute(
        """
        UPDATE node_versions
           SET text = ?
         WHERE text IN (SELECT value FROM json_each(?))
        """,
        (INSTEAD, json_list(texts)),
    )


def reword_sessions(conn: apsw.Connection, texts: Iterable[str]) -> int:
    """Replace quotations of `texts` in sessions by INSTEAD: sessions are no person's own text.

    Returns:
        How many of them, or of their versions, did.
    """
    changed = 0
    for text in texts:
        conn.execute(
            """
            UPDATE nodes
               SET text = replace(text, ?1, ?2), summary = replace(summary, ?1, ?2)
             WHERE kind = 'session' AND (instr(text, ?1) > 0 OR instr(summary, ?1) > 0)
            """,
            (text, INSTEAD),
        )
        changed += conn.changes()
        # Rewording a session copied its old text to the versions that equalled it.
        conn.execute(
            """
            UPDATE node_versions
               SET text = replace(text, ?1, ?2)
             WHERE kind = 'session' AND instr(text, ?1) > 0
            """,
            (text, INSTEAD),
        )
        changed += conn.changes()
    return changed


def drop_tombstones(conn: apsw.Connection, hashes: Iterable[str]) -> None:
    """Delete hashes of texts: a short text can be guessed from its hash."""
    conn.execute(
        "DELETE FROM tombstones WHERE substr(text_hash, 1, ?) IN (SELECT value FROM json_each(?))",
        (HASH_DIGITS, json_list(_comparable(hashes))),
    )


def drop_sessions(conn: apsw.Connection, ids: Iterable[str]) -> int:
    """Delete sessions with their notes and events; return how many existed."""
    conn.execute(
        "DELETE FROM sessions WHERE id IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )
    return conn.changes()


def silence(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Reduce the events about nodes to their kind and time."""
    conn.execute(
        """
        UPDATE events
           SET body = '{}'
         WHERE subject IN (SELECT value FROM json_each(?)) AND body <> '{}'
        """,
        (json_list(ids),),
    )


def compact_indexes(conn: apsw.Connection) -> None:
    """Merge the segments of every full-text index, which removes deleted words."""
    for name in _indexes(conn):
        conn.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')  # noqa: S608


def rewrite_copy(
    path: Path,
    ids: Iterable[str],
    *,
    texts: Sequence[str],
    quoted: Iterable[str],
    hashes: Iterable[str],
    indexed: Callable[[str], str],
) -> bool:
    """Erase memories from a copy of a store, of any version; return whether it had any.

    The copy is replaced once the new file is complete.

    Args:
        path: the copy; no process has it open.
        ids: the memories to erase.
        texts: their current and earlier texts; other memories with one of these are erased too.
        quoted: those of the texts, and parts of them, that are looked for inside other words.
        hashes: of the texts.
        indexed: as `redact` takes it.

    Raises:
        YaadError: UNAVAILABLE; it is no store, or cannot be written. It is unchanged.
        OSError: it cannot be read.
    """
    outcome = "it was not rewritten"
    with translated_errors(path, outcome), replacing(path, outcome) as temporary:
        connections.probe(path)
        temporary.write_bytes(path.read_bytes())
        conn = apsw.Connection(
            str(temporary), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        )
        try:
            conn.pragma("journal_mode", "memory")  # the file gets its name once it is complete
            conn.pragma("foreign_keys", 1)
            conn.pragma("trusted_schema", 0)
            conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            conn.execute("BEGIN IMMEDIATE")
            given = set(ids)
            found = memories_saying(conn, texts, hashes) | _there(conn, given)
            edges.hand_on(conn, found)
            conn.execute(
                "DELETE FROM nodes WHERE id IN (SELECT value FROM json_each(?))",
                (json_list(found),),
            )
            silence(conn, found)
            if _has(conn, "tombstones"):
                drop_tombstones(conn, hashes)
            reword_past(conn, texts)
            words = tuple(quoted)
            changed = redact(conn, words, indexed) + reword_sessions(conn, words)
            if _has(conn, "sessions"):
                changed += drop_sessions(conn, found | given)
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
    """Yield table and column of every text that may quote a memory, as far as they exist.

    Includes words indexed for search outside the memory index.
    """
    for table, columns in WORDS.items():
        there = {
            column for (column,) in conn.execute("SELECT name FROM pragma_table_info(?)", (table,))
        }
        yield from ((table, column) for column in sorted(columns & there))
    for name in _indexes(conn):
        if name != "nodes_fts" and not _is_contentless(conn, name):
            rows = conn.execute("SELECT name FROM pragma_table_info(?)", (name,)).fetchall()
            yield from ((name, str(column)) for (column,) in rows)


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


def _is_contentless(conn: apsw.Connection, name: str) -> bool:
    """Return whether an index stores words without their texts."""
    sql = "SELECT instr(sql, 'contentless_delete') FROM sqlite_schema WHERE name = ?"
    return conn.execute(sql, (name,)).get not in (0, None)


def _index_sessions(conn: apsw.Connection, indexed: Callable[[str], str]) -> None:
    """Reindex the sessions by their current texts, where the index is contentless."""
    if "sessions_fts" not in _indexes(conn) or not _is_contentless(conn, "sessions_fts"):
        return
    rows = conn.execute(
        """
        SELECT num, summary, (SELECT coalesce(group_concat(text, char(10)), '')
                                FROM session_notes
                               WHERE session = sessions.id)
          FROM sessions
         WHERE num IN (SELECT rowid FROM sessions_fts)
         ORDER BY num
        """
    ).fetchall()
    conn.executemany(
        "INSERT OR REPLACE INTO sessions_fts (rowid, summary, notes) VALUES (?, ?, ?)",
        [(num, indexed(str(summary)), indexed(str(notes))) for num, summary, notes in rows],
    )


def _comparable(hashes: Iterable[str]) -> list[str]:
    return sorted({one[:HASH_DIGITS] for one in hashes})


def _without(*given: object) -> str:
    """Remove a text from JSON, as an SQL function; other content is treated as plain text."""
    said, text, instead = map(str, given)
    try:
        tree = json.loads(said)
    except ValueError:
        return said.replace(text, instead)
    if not isinstance(tree, dict | list):
        return said.replace(text, instead)
    done = _pruned(tree, text, instead)
    return said if done == tree else json.dumps(done, ensure_ascii=False, separators=(",", ":"))


def _pruned(value: object, text: str, instead: str, *, words: bool = True) -> object:
    if isinstance(value, str):
        return value.replace(text, instead) if words else value
    if isinstance(value, list):
        return [_pruned(one, text, instead, words=words) for one in value]
    if isinstance(value, dict):
        return {
            name: _pruned(one, text, instead, words=name not in _STRUCTURAL)
            for name, one in value.items()
        }
    return value


def _ascii(text: str) -> str:
    return json.dumps(text)[1:-1]
