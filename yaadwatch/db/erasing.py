"""Erase texts from a store and from copies of it.

Deleting a row leaves its bytes in free pages, in segments of the full-text index and in the
write-ahead log. `compact_indexes` and `Database.scrub` remove those.
"""

import json
import shutil
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final

import apsw

from yaadwatch.db import connections, migrations, nodes
from yaadwatch.db.codec import column, json_list
from yaadwatch.db.files import damaged, replacing, translated_errors, unavailable

INSTEAD: Final = "[erased]"
"""Replaces erased texts that something else quoted."""

WORDS: Final = tuple(
    (table, column)
    for table, columns in {
        "agent_files": "reason",
        "agreements": "text",
        "claims": "value sense evidence",
        "contradictions": "reason",
        "edges": "attributes",
        "events": "body",
        "gaps": "text reason",
        "imports": "source counts",
        "job_runs": "error",
        "node_versions": "reason",
        "nodes": "attributes archive_reason",
        "proposals": "text",
        "session_notes": "text",
        "sessions": "name facts summary",
        "stale_flags": "reason evidence suggestion",
    }.items()
    for column in columns.split()
)
"""Table and column of the free texts that may quote a memory."""

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
    sql = """
        SELECT id
          FROM nodes
         WHERE kind NOT IN ('file', 'entity')
           AND (text_hash IN (SELECT value FROM json_each(:hashes))
                OR text IN (SELECT value FROM json_each(:texts)))
    """
    return set(column(conn, sql, {"texts": json_list(texts), "hashes": json_list(hashes)}))


def quoting(conn: apsw.Connection, texts: Iterable[str]) -> list[str]:
    """Return the memories whose text contains one of `texts`, by id."""
    sql = """
        SELECT DISTINCT nodes.id
          FROM nodes, json_each(?) AS wanted
         WHERE instr(nodes.text, wanted.value) > 0 AND nodes.kind NOT IN ('file', 'entity')
         ORDER BY nodes.id
    """
    return column(conn, sql, (json_list(texts),))


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
            forms = {text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]}
            for table, column in WORDS:
                way = f'without_words("{column}", ?2, ?3)'
                value = way if column in _TREES else f'replace("{column}", ?1, ?3)'
                for form in forms:
                    conn.execute(
                        f'UPDATE "{table}" SET "{column}" = {value}'
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


def erase(conn: apsw.Connection, ids: Collection[str]) -> None:
    """Delete memories, and the files and entities that no other memory touches now."""
    gone = json_list(ids)
    things = """
        SELECT id
          FROM nodes
         WHERE kind IN ('file', 'entity')
           AND id IN (SELECT to_node FROM edges
                       WHERE from_node IN (SELECT value FROM json_each(?)))
    """
    touched = column(conn, things, (gone,))
    nodes.erase(conn, ids)
    conn.execute(
        """
        DELETE FROM nodes
         WHERE id IN (SELECT value FROM json_each(?))
           AND NOT EXISTS (SELECT 1 FROM edges WHERE to_node = nodes.id AND valid_until_ms IS NULL)
        """,
        (json_list(touched),),
    )


def reword_past(conn: apsw.Connection, texts: Iterable[str]) -> None:
    """Empty the versions of other memories whose text was one of `texts`; the rows stay."""
    sql = "UPDATE node_versions SET text = ? WHERE text IN (SELECT value FROM json_each(?))"
    conn.execute(sql, (INSTEAD, json_list(texts)))


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
    sql = "DELETE FROM tombstones WHERE text_hash IN (SELECT value FROM json_each(?))"
    conn.execute(sql, (json_list(hashes),))


def drop_sessions(conn: apsw.Connection, ids: Iterable[str]) -> int:
    """Delete sessions with their notes and events; return how many existed."""
    conn.execute(
        "DELETE FROM sessions WHERE id IN (SELECT value FROM json_each(?))", (json_list(ids),)
    )
    return conn.changes()


def silence(conn: apsw.Connection, ids: Iterable[str]) -> None:
    """Reduce the events about nodes to their kind and time."""
    sql = "UPDATE events SET body = '{}' WHERE subject IN (SELECT value FROM json_each(?))"
    conn.execute(sql, (json_list(ids),))


def compact_indexes(conn: apsw.Connection) -> None:
    """Merge the segments of every full-text index, which removes deleted words."""
    for name in ("nodes_fts", "sessions_fts"):
        conn.execute(f'INSERT INTO "{name}" ("{name}") VALUES (\'optimize\')')


def rewrite_copy(
    path: Path,
    ids: Iterable[str],
    *,
    texts: Sequence[str],
    quoted: Iterable[str],
    hashes: Iterable[str],
    indexed: Callable[[str], str],
) -> bool:
    """Erase memories from a copy of a store, which is upgraded; return whether it had any.

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
        version = connections.probe(path)
        shutil.copyfile(path, temporary)
        conn = apsw.Connection(
            str(temporary), flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
        )
        try:
            conn.pragma("journal_mode", "memory")  # the file gets its name once it is complete
            conn.pragma("foreign_keys", 1)
            conn.pragma("trusted_schema", 0)
            conn.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            if version < migrations.chain()[-1].version:
                migrations.run(conn, migrations.chain())
            conn.execute("BEGIN IMMEDIATE")
            given = set(ids)
            found = memories_saying(conn, texts, hashes) | nodes.many(conn, given).keys()
            erase(conn, found)
            silence(conn, found)
            drop_tombstones(conn, hashes)
            reword_past(conn, texts)
            words = tuple(quoted)
            changed = redact(conn, words, indexed) + reword_sessions(conn, words)
            changed += drop_sessions(conn, found | given)
            compact_indexes(conn)
            conn.execute("COMMIT")
            conn.execute("VACUUM")
        except (apsw.ConstraintError, apsw.SQLError) as error:  # the file was altered by hand
            raise damaged(path, str(error), outcome) from error
        finally:
            conn.close()
        return bool(found or changed)


def _index_sessions(conn: apsw.Connection, indexed: Callable[[str], str]) -> None:
    """Reindex the sessions by their current texts."""
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
