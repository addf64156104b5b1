"""Export a store as JSON Lines or markdown pages, back it up and compact it.

A store is read in one snapshot, and no response on the socket can hold all of it. So an export is
first written to a spool folder of its own (0700, removed when it is done or after a day) and then
handed out in pieces; the client writes the files, with its own rights. An import is gathered the
same way.

In JSON Lines the first line describes the others, each of which is a row of a table. Only ids that
were replaced are held in memory.
"""

import base64
import binascii
import contextlib
import filecmp
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

from yaadwatch import places
from yaadwatch.api.messages.store import Backup, Compact, Export
from yaadwatch.db import authority, fulltext, history, rows, soundness
from yaadwatch.db.files import Connection
from yaadwatch.db.rows import Table
from yaadwatch.memory import gaps
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import time_text
from yaadwatch.model.settings import BACKUPS_KEPT, TRIM_BATCH
from yaadwatch.projects import pages, row_import
from yaadwatch.projects.row_import import (
    ImportCounts,
    NamedStore,
    for_each_store,
    named_store,
    raise_failures,
    roots,
)
from yaadwatch.system import files
from yaadwatch.system.clock import Clock
from yaadwatch.text import privacy, words
from yaadwatch.workspace.workspace import Call, Home

FORMAT: Final = 1
"""Of the lines; a later program may read older ones."""
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
BATCH: Final = 500


def write(store: NamedStore, stream: BinaryIO, now: datetime) -> dict[str, int]:
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
        trees, apart = roots(conn, store), _kept_apart(conn)
        said_by = _authors(conn)
        for table in rows.tables(conn):
            for stored in rows.everything(conn, table):
                row = _exported_row(conn, table, stored)
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


def read(
    conn: Connection, store: NamedStore, path: Path, now: datetime, *, foreign: str
) -> ImportCounts:
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
    """Yield the objects on the lines after the first, each with its line number.

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
    text_ = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_json_time)
    return text_.encode("utf-8", "surrogatepass") + b"\n"


def _json_time(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"no JSON: {value!r}")
    return time_text(value)


def _exported_row(conn: Connection, table: Table, row: dict[str, Any]) -> dict[str, Any] | None:
    """Return a row as exported, the same for equal stores; None when it is not exported."""
    if table.name == "gaps":
        return gaps.to_go_out(row)
    if table.name == "node_versions" and row["text"] is not None:
        # The store may keep the words of a memory that was reworded and back.
        return row | {"text": history.other_words(conn, row["node"], row["text"])}
    return row


def _with_paths(table: Table, row: dict[str, Any], roots: Mapping[int, str]) -> dict[str, Any]:
    trees = [name for name, (other, _) in table.refers.items() if other == "worktrees"]
    if not trees:
        return row
    return row | {name: roots.get(row[name]) for name in trees}


def _authors(conn: Connection) -> dict[str, str]:
    """Return the author of each memory that is not a person's word; imports ignore it."""
    said_by: dict[str, str] = {}
    ids = (id for (id,) in conn.execute("SELECT id FROM nodes ORDER BY num"))  # noqa: A001
    while batch := list(islice(ids, BATCH)):
        found = authority.of_nodes(conn, batch)
        said_by |= {node: whose.by for node, whose in found.items() if not whose.is_persons}
    return said_by


def _kept_apart(conn: Connection) -> set[str]:
    """Return the nodes that were kept apart from others with the same words."""
    found = conn.execute("SELECT id, text, text_hash FROM nodes ORDER BY num")
    return {id for id, said, digest in found if words.text_hash(said) != digest}  # noqa: A001


PIECE_BYTES: Final = 384 * 1024
"""Bytes of an export in one answer; as JSON with escapes at most six times as many."""
BYTES_MAX: Final = 4 * 1024 * 1024 * 1024
"""Bytes of an import at most."""

_ID: Final = re.compile(r"[0-9a-f-]{36}")
_PART: Final = re.compile(r"[a-z]{1,16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spool:
    """A folder with the data of one export or import; clients know its `id`."""

    id: str
    folder: Path

    def path(self, part: str = "data") -> Path:
        """Return the file of a part."""
        return self.folder / part

    def append(self, part: str, data: str) -> int:
        """Append base64 data to a part; return its size in bytes.

        Raises:
            YaadError: BAD_REQUEST, TOO_LARGE; UNAVAILABLE when it cannot be written.
        """
        if not _PART.fullmatch(part):
            raise YaadError(
                Code.BAD_REQUEST,
                f"{part!r} is no part of an import; nothing was imported.",
                hint="Parts are `data`, and `wal` for the log of a database.",
            )
        try:
            decoded = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            raise YaadError(
                Code.BAD_REQUEST,
                "The data is not base64; nothing was imported.",
                hint="Send the bytes of each piece in base64.",
            ) from None
        with _disk_errors(self.folder), self._file(part, os.O_WRONLY | os.O_APPEND) as stream:
            stream.write(decoded)
            size = stream.tell()
        if size > BYTES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"More than {BYTES_MAX // 2**30} GiB cannot be imported at once; nothing was.",
                hint="Split it.",
            )
        return size

    @contextlib.contextmanager
    def writing(self) -> Iterator[BinaryIO]:
        """Open the file of the export for writing."""
        with _disk_errors(self.folder), self._file("data", os.O_WRONLY) as stream:
            yield stream

    def piece(self, at: int) -> tuple[bytes, int, int]:
        """Return whole lines from byte `at` on, where the next piece begins, and the total bytes.

        Raises:
            YaadError: BAD_REQUEST when `at` is outside the file.
        """
        path = self.path()
        size = path.stat().st_size
        if not 0 <= at <= size:
            raise YaadError(
                Code.BAD_REQUEST,
                f"{at} is not where a piece of the export begins; nothing was handed out.",
                hint="Send the `after` of the answer before.",
            )
        with path.open("rb") as stream:
            stream.seek(at)
            data = stream.read(PIECE_BYTES)
            if at + len(data) < size and not data.endswith(b"\n"):
                data += stream.readline()
        return data, at + len(data), size

    def drop(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def _file(self, part: str, flags: int) -> Iterator[BinaryIO]:
        descriptor = os.open(
            self.path(part), flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600
        )
        with os.fdopen(descriptor, "ab" if flags & os.O_APPEND else "wb") as stream:
            yield stream


def make(clock: Clock) -> Spool:
    """Return an empty spool.

    Raises:
        YaadError: UNAVAILABLE when it cannot be made.
    """
    name = clock.new_id()
    files.private_folder(_folder())
    files.private_folder(_folder() / name)
    return Spool(id=name, folder=_folder() / name)


def find(name: str) -> Spool:
    """Return the spool with the id `name`.

    Raises:
        YaadError: NOT_FOUND.
    """
    folder = _folder() / name
    if not _ID.fullmatch(name) or folder.is_symlink() or not folder.is_dir():
        raise YaadError(
            Code.NOT_FOUND,
            "That export or import is not there any more; nothing was done.",
            hint="Begin it again.",
        )
    return Spool(id=name, folder=folder)


def sweep(clock: Clock) -> None:
    """Delete abandoned spools."""
    # An abandoned spool is deleted after this.
    before_s = clock.now_ns() / 1e9 - 86_400.0
    with contextlib.suppress(FileNotFoundError):
        for folder in _folder().iterdir():
            if folder.lstat().st_mtime < before_s:
                shutil.rmtree(folder, ignore_errors=True)


def clear() -> None:
    """Delete all spools; clients get an error and have to begin again."""
    with contextlib.suppress(FileNotFoundError):
        for folder in _folder().iterdir():
            shutil.rmtree(folder, ignore_errors=True)


def files_under_way() -> list[Path]:
    """Return the files of all spools, sorted."""
    return list(files.files_below(_folder()))


def _folder() -> Path:
    return places.data_folder() / "spool"


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise YaadError(
            Code.UNAVAILABLE,
            f"{folder} could not be written ({error.strerror}); nothing was done.",
            hint="Look at the space on that disk.",
        ) from error


def export(home: Home, call: Call, ask: Export) -> dict[str, object]:
    """Return the first piece of an export, or the next; the answer is Exported.

    Raises:
        YaadError: NOT_FOUND (no watched project here, no such export), BAD_REQUEST,
            UNAVAILABLE when the spool cannot be written.
    """
    counts: Mapping[str, int] = {}
    if ask.upload is None:
        made = make(home.clock)
        try:
            with named_store(home, call, user=ask.user) as store:
                counts = _fill(home, store, made, ask.format)
        except BaseException:
            made.drop()
            raise
    else:
        made = find(ask.upload)
    data, following, total = made.piece(ask.after)
    if following >= total:
        made.drop()
    return {
        "upload": made.id,
        "data": base64.b64encode(data).decode(),
        "after": following if following < total else None,
        "total": total,
        "counts": dict(counts),
    }


def _fill(home: Home, store: NamedStore, made: Spool, format: str) -> Mapping[str, int]:
    if format == "store":
        store.db.backup(made.path())
        return {}
    fillers: dict[str, Callable[[BinaryIO], Mapping[str, int]]] = {
        "jsonl": lambda stream: write(store, stream, home.clock.now()),
        "markdown": lambda stream: _pages(store, stream),
    }
    with made.writing() as stream:
        return fillers[format](stream)


def _pages(store: NamedStore, stream: BinaryIO) -> Mapping[str, int]:
    count = 0
    for path, text in store.db.read(lambda conn: list(pages.of_store(conn))):
        shown = privacy.mask_tokens(text.encode("utf-8", "surrogatepass"))
        data = base64.b64encode(shown).decode()
        stream.write(json.dumps({"path": path, "data": data}).encode() + b"\n")
        count += 1
    return {"files": count}


def backup(home: Home, call: Call, ask: Backup) -> dict[str, object]:
    """Make a dated copy of a store now, and keep the newest seven; the answer is BackedUp.

    Raises:
        YaadError: NOT_FOUND (no watched project here), UNAVAILABLE (the copy cannot be written, or
            is not sound; the earlier copies are kept).
    """
    with named_store(home, call, user=ask.user) as store:
        path, made = _back_up(store, home.clock.now())
        kept = _copies_in(path.parent)
    return {
        "path": str(path),
        "bytes": path.stat().st_size,
        "made": made,
        "kept": [{"path": str(one), "bytes": one.stat().st_size} for one in kept],
        "restore": None if ask.user else f"yaadwatch add --restore {shlex.quote(str(store.where))}",
    }


def compact(home: Home, call: Call, ask: Compact) -> dict[str, object]:
    """Rewrite a store without the space of deleted rows; the answer is Compacted.

    Raises:
        YaadError: NOT_FOUND (no watched project here), UNAVAILABLE (no room for a second copy, or a
            reader takes seconds); the store is unchanged.
    """
    with named_store(home, call, user=ask.user) as store:
        before = _disk_bytes(store.db.path)
        store.db.write(fulltext.compact)
        store.db.scrub()
        return {"path": str(store.db.path), "before": before, "after": _disk_bytes(store.db.path)}


def back_up_all(home: Home) -> None:
    """Do the daily job: a copy of every store.

    Raises:
        YaadError: UNAVAILABLE; some could not be copied, the others were.
    """

    def copy(store: NamedStore) -> None:
        _back_up(store, home.clock.now())

    raise_failures(for_each_store(home, copy), "not backed up; the other stores were")


def trim_all(home: Home) -> None:
    """Do the daily job: delete old events.

    Raises:
        YaadError: UNAVAILABLE; some could not be trimmed, the others were.
    """
    before = home.clock.now() - timedelta(days=home.settings.store.events_days)

    def trim(store: NamedStore) -> None:
        while store.db.write(history.trim, before, TRIM_BATCH) == TRIM_BATCH:
            continue

    sweep(home.clock)
    raise_failures(for_each_store(home, trim), "not trimmed; the other stores were")


def _back_up(store: NamedStore, now: datetime) -> tuple[Path, bool]:
    """Back up a store unless the newest backup is equal; return the backup, and whether it is new.

    So a day without a change does not push out the copy of another day.
    """
    folder = places.backups(store.id)
    newest = max(folder.glob("*.db"), default=None)
    target = folder / f"{now:%Y%m%dT%H%M%S%f}.db"
    if newest is not None and newest.name >= target.name:  # the clock went back
        target = newest.with_name(f"{newest.stem}1.db")
    store.db.backup(target)
    project = store.project.id if store.project is not None else ""
    try:
        soundness.check_copy(target, role=store.role, project=project)
    except YaadError as error:
        target.unlink(missing_ok=True)
        which = "--user" if store.project is None else f"--project {shlex.quote(str(store.where))}"
        raise YaadError(
            error.code,
            f"{store.db.path} is not sound, so no backup was made. Its copy: {error.message}",
            hint=f"yaadwatch verify {which}",
        ) from error
    if newest is not None and filecmp.cmp(newest, target, shallow=False):
        target.unlink()
        return newest, False
    for old in superfluous(_copies_in(folder)):
        old.unlink(missing_ok=True)
    return target, True


def superfluous(kept: Sequence[Path]) -> list[Path]:
    """Return the copies to delete; `kept` has all copies, the newest first.

    Many copies on one day do not push out those of earlier days.
    """
    by_day: dict[str, list[Path]] = {}
    for copy in kept:
        by_day.setdefault(copy.name[:8], []).append(copy)
    # Three of one day, where there are others.
    of_a_day = [copy for copies_ in by_day.values() for copy in copies_[3:]]
    more = max(0, len(kept) - BACKUPS_KEPT)
    gone = sorted(of_a_day)[:more]
    left = [copy for copy in kept if copy not in gone]
    return [*gone, *left[BACKUPS_KEPT:]]


def _copies_in(folder: Path) -> list[Path]:
    """Return the copies in a backup folder, the newest first."""
    return sorted(folder.glob("*.db"), reverse=True)


def _disk_bytes(path: Path) -> int:
    """Return the bytes of a database and its log."""
    found = (path, path.with_name(f"{path.name}-wal"))
    return sum(one.stat().st_size for one in found if one.exists())
