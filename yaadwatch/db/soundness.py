"""Find and mend what this program never writes: rows that no store of ours can hold, and triggers.

A damaged or edited file may hold texts that are not UTF-8 or are endless, values that the schema
forbids, and triggers or views of others. SQLite's own checks see none of these. Each row is
decoded and put into an empty store in memory; what that refuses is at fault. A copy with such a row
is no backup; it is checked without a lock, and no file appears beside it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

import apsw

from yaadwatch.db import connections, migrations
from yaadwatch.db.codec import column, json_list, to_ms
from yaadwatch.db.files import damaged, refused, translated_errors
from yaadwatch.model.errors import YaadError
from yaadwatch.model.limits import FRAME_BYTES_MAX
from yaadwatch.text.words import text_hash

FAULTS: Final = (ArithmeticError, LookupError, TypeError, ValueError, apsw.TooBigError)
"""Exceptions that a value may cause which this program never wrote."""
NOTES: Final = "mended"
"""The key in `meta` under which `mend` notes what it changed."""

_NOTES_MAX: Final = 100
_MS_RANGE: Final = (
    to_ms(datetime(1, 1, 2, tzinfo=UTC)),
    to_ms(datetime(9999, 12, 30, tzinfo=UTC)),
)
_JSON_OR_EMPTY: Final = frozenset({"lookback"})
_USUAL: Final = (("tier", 2), ("confidence", 0.5), ("scope", "project"), ("scope", "user"))
"""What a memory gets in place of a value that the schema forbids and has no default for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A row at fault, or a trigger or view (then `table` names it and `key` is empty).

    Args:
        table: where it is.
        key: the values of its primary key; text as bytes.
        why: what is wrong, in words.
        mended: columns, and the values with which the row can stay.
        refused: whether the schema forbids the row whatever one of its columns holds.
    """

    table: str
    key: Mapping[str, Any]
    why: str
    mended: Mapping[str, Any]
    refused: bool

    def __str__(self) -> str:
        """Name the row, for people."""
        shown = ", ".join(_readable(value) for value in self.key.values())
        return f"{self.table} {shown}: {self.why}" if shown else f"{self.table}: {self.why}"


def faults(conn: apsw.Connection) -> list[Fault]:
    """Return every row, trigger and view that this program did not write so."""
    found = [
        Fault(table=f"{kind} {name}", key={}, why="it is not ours", mended={}, refused=True)
        for kind, name in foreign(conn)
    ]
    with closing(apsw.Connection(":memory:")) as ours:
        migrations.run(ours, migrations.chain())
        ours.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        ours.execute("BEGIN")
        there = set(column(conn, "SELECT name FROM sqlite_schema WHERE type = 'table'"))
        for table in _tables(ours):
            if table in there:
                found += _faults_of(conn, ours, table)
    return found


def foreign(conn: apsw.Connection) -> list[tuple[str, str]]:
    """Return the type and name of the triggers and views that are not ours."""
    sql = """
        SELECT type, name, CAST(sql AS BLOB) FROM sqlite_schema WHERE type IN ('trigger', 'view')
    """
    return [(kind, name) for kind, name, text in conn.execute(sql) if text not in _triggers()]


def misread(conn: apsw.Connection) -> list[tuple[str, str]]:
    """Return id and text of the memories whose text is not the one that was stored.

    Their hash tells: a text whose bytes changed in the file has another one.
    """
    rows = conn.execute(
        "SELECT id, text, origin, text_hash FROM nodes WHERE kind NOT IN ('file', 'entity',"
        " 'session') ORDER BY id"
    )
    return [(id_, text) for id_, text, origin, was in rows if not fits(id_, text, origin, was)]


def fits(id: str, text: str, origin: str, digest: str) -> bool:
    """Return whether `digest` is a hash that a memory with these values may have."""
    if text_hash(text) == digest:
        return True
    # A statement of a nested agent file, and what says the same as another, have hashes of more.
    folders = origin.partition(":")[2].split("/")[:-1]
    places = ["/".join(folders[:number]) for number in range(len(folders) + 1)]
    return any(text_hash(f"{place}\0{text}") == digest for place in (id, *places))


def mend(conn: apsw.Connection, found: list[Fault]) -> list[str]:
    """Mend rows in place: texts lose what is not UTF-8, other values become the default.

    A row that the schema forbids all the same is deleted.

    Foreign triggers and views are dropped. What was done is noted in `meta`.

    Args:
        conn: in a transaction.
        found: as `faults` returned it.

    Returns:
        What was done, in words.
    """
    done = []
    with _without_triggers(conn):
        for fault in found:
            if not fault.key:
                kind, _, name = fault.table.partition(" ")
                conn.execute(f'DROP {kind} IF EXISTS "{_quoted(name)}"')
                done.append(f"{fault} (dropped)")
                continue
            done.append(f"{fault} ({'deleted' if _mend_row(conn, fault) else 'mended'})")
    now = conn.execute("SELECT strftime('%Y-%m-%d %H:%M UTC', 'now')").get
    lines = [*notes(conn), *(f"{now}: {line}" for line in done)]
    sql = "INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)"
    conn.execute(sql, (NOTES, json.dumps(lines[-_NOTES_MAX:], ensure_ascii=False)))
    return done


def notes(conn: apsw.Connection) -> list[str]:
    """Return what was mended since a person last looked at it."""
    found = conn.execute("SELECT value FROM meta WHERE key = ?", (NOTES,)).get
    try:
        lines = json.loads(str(found or "[]"))
    except ValueError:
        return [str(found)]
    return [str(line) for line in lines] if isinstance(lines, list) else []


def drop_notes(conn: apsw.Connection) -> None:
    """Forget what was mended."""
    conn.execute("DELETE FROM meta WHERE key = ?", (NOTES,))


def digests(conn: apsw.Connection, ids: Iterable[str]) -> dict[str, str]:
    """Return the hash of the text of each of these memories, as it was stored."""
    sql = "SELECT id, text_hash FROM nodes WHERE id IN (SELECT value FROM json_each(?))"
    return dict(iter(conn.execute(sql, (json_list(ids),))))


def texts_in_copy(path: Path, wanted: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return text and stored summary of those memories whose text in a copy has the wanted hash."""
    sql = """
        SELECT id, text, summary, origin FROM nodes
         WHERE id = ? AND text_hash = ?
    """
    found = {}
    try:
        with closing(connections.still(path)) as conn:
            for id_, digest in wanted.items():
                row = conn.execute(sql, (id_, digest)).fetchone()
                if row is not None and fits(id_, row[1], row[3], digest):
                    found[id_] = (str(row[1]), str(row[2]))
    except (apsw.Error, *FAULTS):
        return found
    return found


def put_text(conn: apsw.Connection, id: str, words: tuple[str, str] | None) -> None:
    """Store text and summary of a memory as they were; None: accept the text that it has."""
    if words is None:
        text = conn.execute("SELECT text FROM nodes WHERE id = ?", (id,)).get
        digest = text_hash(f"{id}\0{text}")
        conn.execute("UPDATE nodes SET text_hash = ? WHERE id = ?", (digest, id))
        return
    with _without_triggers(conn):  # earlier versions did have this text
        conn.execute("UPDATE nodes SET text = ?, summary = ? WHERE id = ?", (*words, id))


@contextmanager
def _without_triggers(conn: apsw.Connection) -> Iterator[None]:
    fires = conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, -1)
    conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    try:
        yield
    finally:
        conn.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, fires)


def _mend_row(conn: apsw.Connection, fault: Fault) -> bool:
    """Mend a row; return whether it was deleted."""
    where = " AND ".join(
        f'"{name}" IS {"CAST(? AS TEXT)" if isinstance(value, bytes) else "?"}'
        for name, value in fault.key.items()
    )
    if not fault.refused:
        changes = ", ".join(f'"{name}" = ?' for name in fault.mended)
        sql = f'UPDATE "{fault.table}" SET {changes} WHERE {where}'
        try:
            conn.execute(sql, (*fault.mended.values(), *fault.key.values()))
        except apsw.ConstraintError:
            pass
        else:
            return False
    conn.execute(f'DELETE FROM "{fault.table}" WHERE {where}', tuple(fault.key.values()))
    return True


def _faults_of(conn: apsw.Connection, ours: apsw.Connection, table: str) -> Iterator[Fault]:
    info = list(
        ours.execute(
            'SELECT name, type, pk, "notnull", dflt_value FROM pragma_table_xinfo(?)'
            " WHERE hidden = 0",
            (table,),
        )
    )
    names = [row[0] for row in info]
    key = [row[0] for row in sorted(info, key=lambda row: row[2]) if row[2]] or ["rowid"]
    texts = {row[0] for row in info if row[1] == "TEXT"}
    others: list[tuple[str, Any]] = [(row[0], None) for row in info if not row[3] and not row[2]]
    others += [(row[0], ours.execute(f"SELECT {row[4]}").get) for row in info if row[4] is not None]
    others += [one for one in _USUAL if one[0] in names]
    marks = ", ".join("?" * len(names))
    put = f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({marks})'

    def refusal(values: Mapping[str, Any]) -> str:
        try:
            if not (why := _misfit(values)):
                ours.execute(put, tuple(values.values()))
        except (apsw.ConstraintError, apsw.MismatchError) as error:
            return str(error)
        return why

    named = names if "rowid" not in key else [*names, "rowid"]
    # A text comes as its bytes, and one that is too long as its length.
    selected = ", ".join(
        f'iif(octet_length("{name}") > {FRAME_BYTES_MAX}, octet_length("{name}"),'
        f' iif(typeof("{name}") = \'text\', CAST("{name}" AS BLOB), "{name}"))'
        if name in texts
        else name
        for name in named
    )
    for row in conn.execute(f'SELECT {selected} FROM "{table}"'):
        raw = dict(zip(named, row, strict=True))
        values, mended, why = _decoded(raw, names, texts)
        refused = refusal(values)
        if refused:
            why.append(refused)
            for name, value in others:
                if not refusal(values | {name: value}):
                    mended[name] = value
                    refused = ""
                    break
        if why:
            yield Fault(
                table=table,
                key={name: raw[name] for name in key},
                why="; ".join(why),
                mended=mended,
                refused=bool(refused),
            )


def _decoded(
    raw: Mapping[str, Any], names: list[str], texts: set[str]
) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """Return the values of a row with its texts decoded, those that changed, and why."""
    values = {name: raw[name] for name in names}
    mended: dict[str, Any] = {}
    why: list[str] = []
    for name in texts:
        value = raw[name]
        if isinstance(value, bytes):
            try:
                values[name] = value.decode()
            except UnicodeDecodeError:
                mended[name] = values[name] = value.decode(errors="replace")
                why.append(f"{name} is not UTF-8")
        elif isinstance(value, int):
            why.append(f"{name} has {value} bytes")
            mended[name] = values[name] = f"[a text of {value} bytes, which was not kept]"
    return values, mended, why


def _misfit(values: Mapping[str, Any]) -> str:
    """Return which value makes no sense although the schema takes it; '' for none."""
    for name, value in values.items():
        if name.endswith("_ms") and isinstance(value, int):
            if not _MS_RANGE[0] <= value <= _MS_RANGE[1]:
                return f"{name} is no time"
        elif name in _JSON_OR_EMPTY and value:
            try:
                json.loads(value)
            except ValueError:
                return f"{name} is not JSON"
    return ""


def _tables(conn: apsw.Connection) -> list[str]:
    sql = """
        SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
         ORDER BY name
    """
    return column(conn, sql)


@cache
def _triggers() -> frozenset[bytes]:
    """Return the SQL of our own triggers and views."""
    with closing(apsw.Connection(":memory:")) as ours:
        migrations.run(ours, migrations.chain())
        sql = "SELECT CAST(sql AS BLOB) FROM sqlite_schema WHERE type IN ('trigger', 'view')"
        return frozenset(column(ours, sql))


def _readable(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _quoted(name: str) -> str:
    return name.replace('"', '""')


def newest_sound_copy(folder: Path, *, role: str, date: str | None = None) -> Path | None:
    """Return the newest undamaged copy in a folder of copies, or None.

    Args:
        folder: copies of one store; their names begin with their creation time.
        role: 'user' or 'project'.
        date: only those of this day (YYYY-MM-DD) or before.
    """
    last = date.replace("-", "") if date else "9"
    for copy in sorted(folder.glob("*.db"), reverse=True):
        if copy.name[:8] > last and date:
            continue
        try:
            check_copy(copy, role=role)
        except YaadError:
            continue
        return copy
    return None


def check_copy(path: Path, *, role: str, project: str = "") -> None:
    """Refuse a copy that is damaged or not of this store.

    Args:
        path: a single file without writers.
        role: 'user' or 'project'.
        project: the expected project id; '' for any.

    Raises:
        YaadError: UNAVAILABLE when it is damaged, of a later version or cannot be read; REFUSED
            when it is of another store.
    """
    outcome = "it is no copy to go back to"
    with translated_errors(path, outcome):
        migrations.check(path, connections.probe(path), migrations.chain())
        with closing(connections.still(path)) as conn:
            found = conn.execute("PRAGMA quick_check(1)").get
            if found != "ok":
                raise damaged(path, str(found), outcome)
            if conn.pragma("user_version") == migrations.chain()[-1].version:
                try:
                    unsound = [str(fault) for fault in faults(conn)]
                    unsound = unsound or [
                        f"memory {id_} has another text" for id_, _ in misread(conn)
                    ]
                except UnicodeDecodeError as error:  # in the schema
                    raise damaged(path, str(error), outcome) from error
                if unsound:
                    raise damaged(path, unsound[0], outcome)
            meta = dict(iter(conn.execute("SELECT key, value FROM meta")))
    if meta.get("role") != role or project not in {"", meta.get("project")}:
        raise refused(f"{path} is of another store; {outcome}.", "Take it away.")
