"""A store as JSON Lines, whole, and back: what comes in again makes an equal store.

The first line says what the others are; each of these is a row of a table. Nothing is held in
memory but ids that became others.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from yaadwatch import places
from yaadwatch.core import text
from yaadwatch.engine.inout import row_import
from yaadwatch.engine.inout.row_import import Told
from yaadwatch.engine.inout.stores import Meant, roots
from yaadwatch.engine.truth import gaps
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.times import told
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import authority, versions
from yaadwatch.store.whole import rows
from yaadwatch.store.whole.rows import Table

FORMAT: Final = 1
"""Of the lines; a later program may read older ones."""
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
BATCH: Final = 500


def write(store: Meant, stream: BinaryIO, now: datetime) -> dict[str, int]:
    """Write a store as lines, as it is at one moment; return how many rows of each table."""

    def look(conn: Connection) -> dict[str, int]:
        counts: dict[str, int] = {}
        head = {
            "yaadwatch": places.VERSION,
            "format": FORMAT,
            "schema": conn.pragma("user_version"),
            "role": store.role,
            "at": now,
        }
        stream.write(_line(head))
        trees, apart = roots(conn, store), _apart(conn)
        said_by = _said_by(conn)
        for table in rows.tables(conn):
            for stored in rows.everything(conn, table):
                row = _going_out(conn, table, stored)
                if row is None:
                    continue
                line = rows.to_line(table, _with_paths(table, row, trees))
                if table.name == "nodes" and row["id"] in apart:
                    line["apart"] = True
                if table.name == "nodes" and row["id"] in said_by:
                    line["by"] = said_by[row["id"]]
                stream.write(_line(line))
                counts[table.name] = counts.get(table.name, 0) + 1
        return counts

    return store.db.read(look)


def read(conn: Connection, store: Meant, path: Path, now: datetime, *, foreign: str) -> Told:
    """Take the lines of a file into a store, inside a transaction.

    Args:
        conn: the transaction.
        store: which store it is.
        path: the file.
        now: when it comes.
        foreign: what the import is called whose words are not the person's own; '' for their own.

    Raises:
        YaadError: BAD_REQUEST when it is no such file, or a line is no JSON; TOO_LARGE; REFUSED
            when it was written by a later version, or would close a circle. Nothing may be kept
            then.
    """
    with path.open("rb") as stream:
        _check_head(conn, stream.readline(LINE_BYTES_MAX))
        return row_import.take(conn, store, _lines(stream), now, foreign=foreign)


def _lines(stream: BinaryIO) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects on the lines behind the first, each with the number of its line.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE.
    """
    number = 1
    while raw := stream.readline(LINE_BYTES_MAX):
        number += 1
        if raw.strip():
            yield number, _parsed(number, raw)


def _check_head(conn: Connection, raw: bytes) -> None:
    head = _parsed(1, raw) if raw.strip() else {}
    if not isinstance(head.get("yaadwatch"), str) or not isinstance(head.get("format"), int):
        raise YaadError(
            Code.BAD_REQUEST,
            "The first line is not that of an export of yaadwatch; nothing was imported.",
            hint="For other files: yaadwatch import --format markdown|agent-file|yaad",
        )
    if head["format"] > FORMAT or _number(head.get("schema")) > conn.pragma("user_version"):
        raise YaadError(
            Code.REFUSED,
            f"It was written by a later version ({head['yaadwatch'][:40]}); nothing was imported.",
            hint="Install that version first.",
        )


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _parsed(number: int, raw: bytes) -> dict[str, Any]:
    """Return the object on a line.

    Raises:
        YaadError: BAD_REQUEST, TOO_LARGE.
    """
    if len(raw) >= LINE_BYTES_MAX:
        raise YaadError(
            Code.TOO_LARGE,
            f"Line {number} has more than {LINE_BYTES_MAX} bytes; nothing was imported.",
            hint="It is no line of an export.",
        )
    try:
        line = json.loads(raw.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        line = None
    if not isinstance(line, dict):
        raise YaadError(
            Code.BAD_REQUEST,
            f"Line {number} is no JSON object; nothing was imported.",
            hint="The file may have been cut off: export it again.",
        )
    return line


def _line(value: Mapping[str, object]) -> bytes:
    text_ = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_told_time)
    return text_.encode("utf-8", "surrogatepass") + b"\n"


def _told_time(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"no JSON: {value!r}")
    return told(value)


def _going_out(conn: Connection, table: Table, row: dict[str, Any]) -> dict[str, Any] | None:
    """Return a row as it goes out, so that equal stores say the same; None when it stays."""
    if table.name == "gaps":
        return gaps.to_go_out(row)
    if table.name == "node_versions" and row["text"] is not None:
        # The store keeps the words of a memory that was reworded and back, and need not.
        return row | {"text": versions.other_words(conn, row["node"], row["text"])}
    return row


def _with_paths(table: Table, row: dict[str, Any], roots: Mapping[int, str]) -> dict[str, Any]:
    trees = [name for name, (other, _) in table.refers.items() if other == "worktrees"]
    if not trees:
        return row
    return row | {name: roots.get(row[name]) for name in trees}


def _said_by(conn: Connection) -> dict[str, str]:
    """Return who said each memory that is not a person's word; an import reads none of it."""
    said_by: dict[str, str] = {}
    ids = (id for (id,) in conn.execute("SELECT id FROM nodes ORDER BY num"))  # noqa: A001
    while batch := list(islice(ids, BATCH)):
        found = authority.of_nodes(conn, batch)
        said_by |= {node: whose.by for node, whose in found.items() if not whose.is_persons}
    return said_by


def _apart(conn: Connection) -> set[str]:
    """Return the nodes that were kept apart from others which say the same."""
    found = conn.execute("SELECT id, text, text_hash FROM nodes ORDER BY num")
    return {id for id, said, digest in found if text.text_hash(said) != digest}  # noqa: A001
