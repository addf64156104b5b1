"""Stores of every released version, made by the schema files up to it, with rows in every table."""

import copy
import functools
import re
from contextlib import closing

import apsw

from yaadwatch.store import meta
from yaadwatch.store.sqlite import connections, migrations

ROWS = 3


def versions():
    return [step.version for step in migrations.chain()]


def make(path, version):
    """Make a store of `version` at `path`, filled; return what is in it."""
    data, rows = _made(version)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(data)
    return copy.deepcopy(rows)


@functools.cache
def _made(version):
    """Return the file of a store of `version`, and what is in it; made once in a process."""
    with closing(apsw.Connection(":memory:")) as conn:
        conn.pragma("application_id", connections.APPLICATION_ID)
        migrations.run(conn, [step for step in migrations.chain() if step.version <= version])
        meta.put(conn, "role", "project")
        meta.put(conn, "project", "p1")
        fill(conn)
        return conn.serialize("main"), content(conn)


def tables(conn):
    """Return the names of the tables that hold rows of their own."""
    rows = conn.execute(
        """
        SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'
        """
    )
    return sorted(name for (name,) in rows)


def content(conn):
    """Return every row of every table, as a mapping of its columns, in a stable order."""
    found = {}
    for table in tables(conn):
        names = [row[1] for row in conn.execute(f"SELECT * FROM pragma_table_info('{table}')")]
        rows = conn.execute(f"SELECT {', '.join(names)} FROM {table}")
        found[table] = sorted((dict(zip(names, row, strict=True)) for row in rows), key=repr)
    said = {row["id"]: row["text"] for row in found["nodes"]}
    for row in found["node_versions"]:
        if row["text"] is None:  # it read then as the node does now
            row["text"] = said[row["node"]]
    found["nodes_fts"] = [
        {"rowid": rowid, "text": number}
        for number in range(1, ROWS + 1)
        for (rowid,) in conn.execute(
            "SELECT rowid FROM nodes_fts WHERE nodes_fts MATCH ?", (f'text : "text {number}"',)
        )
    ]
    return found


def fill(conn):
    """Put rows into every table that the schema knows, those first that others refer to."""
    waiting = [name for name in tables(conn) if name != "meta"]
    filled = {"meta"}
    while waiting:
        ready = [name for name in waiting if _needs(conn, name) <= filled | {name}]
        assert ready, f"tables refer to one another in a circle: {waiting}"
        for name in ready:
            for number in range(1, ROWS + 1):
                _insert(conn, name, number)
        filled |= set(ready)
        waiting = [name for name in waiting if name not in ready]
    for number in range(1, ROWS + 1):
        row = (number, f"text {number}")  # as the node of this number reads
        conn.execute("INSERT INTO nodes_fts (rowid, text) VALUES (?, ?)", row)


def _needs(conn, table):
    return {row[2] for row in conn.execute(f"SELECT * FROM pragma_foreign_key_list('{table}')")}


def _insert(conn, table, number):
    sql = conn.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).get
    refers = {
        row[3]: (row[2], row[4])
        for row in conn.execute(f"SELECT * FROM pragma_foreign_key_list('{table}')")
    }
    row = {}
    for _, name, kind, _, _, _, hidden in conn.execute(
        f"SELECT * FROM pragma_table_xinfo('{table}')"
    ):
        if hidden:
            continue  # computed
        if name in refers:
            other, column = refers[name]
            if other == table:
                row[name] = None
                continue
            row[name] = conn.execute(
                f"SELECT {column or 'id'} FROM {other} ORDER BY 1 LIMIT 1 OFFSET ?", (number - 1,)
            ).get
        else:
            row[name] = _value(sql, name, kind, number)
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    conn.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))


def _value(sql, name, kind, number):
    """Return a value that the checks of a column allow."""
    one_of = re.search(rf"\b{name} IN \(([^)]*)\)", sql)
    if one_of:
        allowed = [part.strip().strip("'") for part in one_of[1].split(",")]
        chosen = allowed[(number - 1) % len(allowed)]
        return int(chosen) if kind == "INTEGER" else chosen
    if f"json_valid({name})" in sql:
        listed = re.search(rf"\b{name}\b[^\n]*DEFAULT '\[\]'", sql)
        return f'["{number}"]' if listed else f'{{"n":{number}}}'
    between = re.search(rf"\b{name} BETWEEN (\d+) AND (\d+)", sql)
    if between:
        low, high = int(between[1]), int(between[2])
        return low + (number - 1) % (high - low + 1)
    if name == "archived_ms":
        return None  # what is archived is in no index
    if kind == "REAL":
        return 0.25 * number
    if kind == "BLOB":
        return bytes([number] * 8)
    if kind == "INTEGER":
        later = 1000 if name.endswith("until_ms") else 0
        return 1_700_000_000_000 + number + later if name.endswith("_ms") else number
    return f"{name} {number}"
