"""A store as JSON Lines, whole, and back: what comes in again makes an equal store.

The first line says what the others are; each of these is a row of a table. Nothing is held in
memory but ids that became others.
"""

import json
import math
import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

from yaadwatch import places
from yaadwatch.core import privacy, text
from yaadwatch.engine import writing
from yaadwatch.engine.inout.stores import Meant
from yaadwatch.engine.truth import gaps
from yaadwatch.model import events
from yaadwatch.model.edges import ACYCLIC
from yaadwatch.model.edges import canonical_kind as edge_kind
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import Event
from yaadwatch.model.nodes import THINGS, canonical_kind
from yaadwatch.model.projects import Worktree
from yaadwatch.model.settings import ID_CHARS_MAX, TEXT_CHARS_MAX
from yaadwatch.store import edges, fulltext, nodes, sightings, worktrees
from yaadwatch.store import events as log
from yaadwatch.store.codec import to_json
from yaadwatch.store.connection import Connection, ConstraintError
from yaadwatch.store.sessions import doings
from yaadwatch.store.sessions import rows as sessions
from yaadwatch.store.whole import rows
from yaadwatch.store.whole.derived import NOT_INDEXED
from yaadwatch.store.whole.rows import Table, Unreadable

FORMAT: Final = 1
"""Of the lines; a later program may read older ones."""
LINE_BYTES_MAX: Final = 4 * 1024 * 1024
TOLD_MAX: Final = 200
"""Conflicts and rows left out that are told one by one; all are counted."""

OWNER: Final = dict.fromkeys(
    ("node_versions", "file_watch", "provenance", "learned", "claims"), "node"
)
"""Tables whose rows belong to a memory: where another one stands in its place, they do not come."""

_TOLD_BY: Final = {
    "node_versions": ("node", "version"),
    "file_watch": ("node", "path", "symbol"),
    "edges": ("from_node", "kind", "to_node"),
}
"""Columns, that of the memory first, that tell the rows of a memory apart: two rows that have the
same are looked at; two that do not are never one, nor in each other's way."""
_PLAIN: Final = re.compile(r"[0-9a-f]{0,64}|[a-z][a-z_-]{0,31}")
"""A digest, or a word: no secret."""
_EMPTY: Final = ("[]", "{}")
_EDGES_ASKED: Final = 2_000
"""New edges of an acyclic kind for which it is asked at once whether they close a circle."""


@dataclass(slots=True, kw_only=True)
class Told:
    """What became of the rows of an import."""

    counts: dict[str, Counter[str]] = field(default_factory=dict)
    conflicts: list[dict[str, object]] = field(default_factory=list)
    left_out: list[dict[str, object]] = field(default_factory=list)
    masked: int = 0

    def count(self, table: str, what: str) -> None:
        """Count a row: new, same, merged, conflict or left_out."""
        known = self.counts.get(table)
        if known is None:
            known = self.counts[table] = Counter()
        known[what] += 1

    def conflict(self, table: str, row: object, reason: str) -> None:
        """Tell of a row that says something else than the one that is here."""
        self.count(table, "conflicts")
        if len(self.conflicts) < TOLD_MAX:
            self.conflicts.append({"table": table, "row": row, "reason": reason})

    def leave(self, table: str, row: object, reason: str) -> None:
        """Tell of a row that was not taken."""
        self.count(table, "left_out")
        if len(self.left_out) < TOLD_MAX:
            self.left_out.append({"table": table, "row": row, "reason": reason})


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
        roots, apart = _roots(conn, store), _apart(conn)
        for table in rows.tables(conn):
            for stored in rows.everything(conn, table):
                row = _going_out(conn, table, stored)
                if row is None:
                    continue
                line = rows.to_line(table, _with_paths(table, row, roots))
                if table.name == "nodes" and row["id"] in apart:
                    line["apart"] = True
                stream.write(_line(line))
                counts[table.name] = counts.get(table.name, 0) + 1
        return counts

    return store.db.read(look)


def read(conn: Connection, store: Meant, path: Path, now: datetime) -> Told:
    """Take the lines of a file into a store, inside a transaction.

    Raises:
        YaadError: BAD_REQUEST when it is no such file, or a line is no JSON; TOO_LARGE; REFUSED
            when it was written by a later version, or would close a circle. Nothing may be kept
            then.
    """
    with path.open("rb") as stream:
        _check_head(conn, stream.readline(LINE_BYTES_MAX))
        return _Taking(conn, store, now).take(stream)


class _Taking:
    """One import; it lives as long as its transaction."""

    def __init__(self, conn: Connection, store: Meant, now: datetime) -> None:
        self._conn = conn
        self._now = now
        self._scope = store.role
        self._tables = {table.name: table for table in rows.tables(conn)}
        self._trees = {path: tree for tree, path in _roots(conn, store).items()}
        self._other: dict[str, dict[object, object]] = {name: {} for name in self._tables}
        self._refused: set[object] = set()  # nodes that are otherwise here
        self._made: set[object] = set()  # nodes that came with this
        self._rows: dict[str, set[tuple[object, ...]]] = {}  # of these, by table: what tells them
        self._last = {table.name: rows.last(conn, table) for table in self._tables.values()}
        # Of this import: what it holds are texts as they came, with the secrets in them.
        self._mask = lru_cache(maxsize=4096)(_masked)
        self._clean: dict[str, str] = {}  # ids and the like, which come again and again
        self._ended: dict[str, str] = {}  # sessions whose words are to be indexed
        self._links: dict[str, list[tuple[str, str]]] = {}
        self.told = Told()

    def take(self, stream: BinaryIO) -> Told:
        """Take every line."""
        number = 1
        while raw := stream.readline(LINE_BYTES_MAX):
            number += 1
            if raw.strip():
                self._take_line(number, raw)
        for kind in list(self._links):
            self._ask_for_circles(kind)
        for session in self._ended:
            said = "\n".join(note.text for note in doings.notes(self._conn, session))
            summary = self._ended[session]
            sessions.index(self._conn, session, summary=summary, notes=said)
        return self.told

    def _take_line(self, number: int, raw: bytes) -> None:
        line = _parsed(number, raw)
        name = line.get("table")
        table = self._tables.get(name) if isinstance(name, str) else None
        if table is None:
            # What it calls itself is told by nothing: it may be a secret.
            self.told.leave("?", f"line {number}", "this version has no such table")
            return
        apart = line.pop("apart", False) is True and table.name == "nodes"
        try:
            row = rows.from_line(table, line)
            row = self._masked(table, row)
            row = self._here(table, row)
            if table.name == "gaps":
                row = gaps.as_kept_here(row)
            self._check(table, row)
        except (Unreadable, ValueError) as error:
            self.told.leave(table.name, f"line {number}", privacy.mask(str(error)).text)
            return
        self._take_row(table, row, number, apart=apart)

    def _take_row(self, table: Table, row: dict[str, Any], number: int, *, apart: bool) -> None:
        owner = row.get(OWNER.get(table.name, ""))
        if owner in self._other["nodes"]:
            self.told.count(table.name, "merged")
            return
        if owner in self._refused:
            self.told.leave(table.name, f"line {number}", "its memory is another one here")
            return
        if table.name == "node_versions":
            said = row.get("text")
            said = said and nodes.other_words(self._conn, row["node"], said)
            row |= {"text": said}
        new = self._is_new(table, row)
        known = None if new else rows.find(self._conn, table, row)
        if known is not None:
            if table.name == "node_versions":  # one that was reworded, and back, keeps its words
                known |= {"text": nodes.other_words(self._conn, row["node"], known["text"])}
            self._compare(table, row, known)
            return
        if table.name == "nodes":
            self._take_node(table, row, number, apart=apart)
            return
        if table.name == "edges" and not new and self._clashes(row):
            self.told.conflict(table.name, _named(table, row), "it would hold twice at a time here")
            return
        self._insert(table, row, number)

    def _is_new(self, table: Table, row: Mapping[str, Any]) -> bool:
        """Return whether a row is the first of its sort that is of a memory made here.

        So that it need not be looked for: a memory that has just come had no versions, anchors and
        relations before.
        """
        told = _TOLD_BY.get(table.name)
        if told is None or row[told[0]] not in self._made:
            return False
        before = self._rows.setdefault(table.name, set())
        sort = tuple(row.get(name) for name in told)
        if sort in before:
            return False
        before.add(sort)
        return True

    def _insert(self, table: Table, row: dict[str, Any], number: int) -> int | None:
        """Add a row; return its number, None when it was left out."""
        given = row.get(table.number) if table.number else None
        last = self._last[table.name]
        if given is not None and given <= last and not rows.is_free(self._conn, table, given):
            row = {name: value for name, value in row.items() if name != table.number}
        try:
            made = rows.insert(self._conn, table, row)
        except ConstraintError as error:
            reason = str(error)
            if "FOREIGN KEY" in reason:
                reason = "it refers to what is not there"
            self.told.leave(table.name, f"line {number}", reason)
            return None
        self._last[table.name] = max(last, made)
        if given is not None and made != given:
            self._other[table.name][given] = made
        self.told.count(table.name, "new")
        self._after(table, row)
        return made

    def _take_node(self, table: Table, row: dict[str, Any], number: int, *, apart: bool) -> None:
        """Add a node; one that reads as a living one is that one, unless it was kept apart."""
        said, given = str(row["text"]), str(row["id"])
        digest = text.text_hash(said)
        thing = row["kind"] in THINGS
        if row.get("archived_ms") is None and not apart:
            twin = nodes.by_hash(self._conn, str(row["scope"]), digest, thing=thing)
            if twin is not None:
                self._other["nodes"][given] = twin.id
                self.told.count(table.name, "merged")
                return
        if apart:
            digest = text.text_hash(f"{given}\0{said}")
        line = text.summarise(said)
        made_anew = {"text_hash": digest, "summary": "" if line == said else line}
        num = self._insert(table, row | made_anew, number)
        if num is None:
            self._refused.add(given)
            return
        self._made.add(given)
        if row.get("archived_ms") is None and row["kind"] not in NOT_INDEXED:
            tags = json.loads(row.get("tags") or "[]")
            words = writing.words_of(said, tags=tags, key=row.get("key"))
            fulltext.index_new(self._conn, [(num, *words)])
        body: dict[str, object] = {"kind": row["kind"]}
        made = Event(kind=events.NODE_CREATED, at=self._now, subject=given, body=body)
        log.append(self._conn, made)

    def _compare(self, table: Table, row: dict[str, Any], known: dict[str, Any]) -> None:
        different = sorted(
            name for name, value in row.items() if known[name] != value and name != table.number
        )
        if not different or table.name == "provenance":  # what a file here says is known here
            self.told.count(table.name, "same")
            if table.number and row.get(table.number) is not None:
                self._other[table.name][row[table.number]] = known[table.number]
            return
        if table.name == "nodes":
            self._refused.add(row["id"])
        reason = f"what is here says otherwise: {', '.join(different)}"
        self.told.conflict(table.name, _named(table, row), reason)

    def _masked(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row without the secrets in it.

        Raises:
            Unreadable: a column that tells rows apart would be masked.
        """
        done = dict(row)
        for name, value in row.items():
            if not isinstance(value, str) or _PLAIN.fullmatch(value):
                continue
            if name in table.key or name in table.refers:
                clean = self._clean.get(value)
                if clean is None:
                    clean = self._clean[value] = privacy.mask(value).text
            elif name in table.trees:
                clean = value if value in _EMPTY else _mask_json(value)
            else:
                clean = self._mask(value)
            if clean != value:
                if name in table.key or name in table.refers:
                    raise Unreadable(f"its {name} looks like a secret")
                self.told.masked += 1
                done[name] = clean
        return done

    def _here(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with what it refers to as that is called here.

        Raises:
            Unreadable: it is of a work tree that is not here.
        """
        done = dict(row)
        for name, (other, _) in table.refers.items():
            value = row.get(name)
            if other == "worktrees" and value is not None:
                if str(value) in self._trees:
                    done[name] = self._trees[str(value)]
                elif name in table.needed or name in table.key:
                    raise Unreadable(f"there is no work tree {value} here")
                else:
                    done[name] = None
            elif other in self._other and OWNER.get(table.name) != name:
                done[name] = self._other[other].get(value, value)
        return done

    def _check(self, table: Table, row: dict[str, Any]) -> None:
        """Refuse what no row of ours says.

        Raises:
            ValueError: the message says what.
        """
        for name, value in row.items():
            if isinstance(value, str):
                continue
            if isinstance(value, float) and not math.isfinite(value):
                raise Unreadable(f"{name} must be a finite number")
            if isinstance(value, int) and name.endswith("_ms") and abs(value) > 2**53:
                raise Unreadable(f"{name} is no time")
        if table.name == "nodes":
            if row["scope"] != self._scope:
                raise Unreadable(f"it is of the scope {row['scope']}, and this is another store")
            if not 1 <= len(str(row["id"])) <= ID_CHARS_MAX:
                raise Unreadable(f"its id must have 1 to {ID_CHARS_MAX} characters")
            if not str(row["text"]).strip() or len(str(row["text"])) > TEXT_CHARS_MAX:
                raise Unreadable(f"its text must have 1 to {TEXT_CHARS_MAX} characters")
            if canonical_kind(str(row["kind"])) != row["kind"]:
                raise Unreadable(f"{row['kind']} is no kind")
            _check_tree(row, "tags", list)
            _check_tree(row, "attributes", dict)
        if table.name == "edges":
            if edge_kind(str(row["kind"])) != row["kind"]:
                raise Unreadable(f"{row['kind']} is no kind")
            _check_tree(row, "attributes", dict)

    def _after(self, table: Table, row: dict[str, Any]) -> None:
        """See to what rests on a row that was added."""
        if table.name == "edges" and row["kind"] in ACYCLIC and row.get("valid_until_ms") is None:
            waiting = self._links.setdefault(row["kind"], [])
            waiting.append((row["from_node"], row["to_node"]))
            if len(waiting) >= _EDGES_ASKED:
                self._ask_for_circles(row["kind"])
        if table.name == "sessions" and row.get("end_ms") is not None:
            self._ended[str(row["id"])] = str(row.get("summary") or "")
        if table.name == "file_watch":
            for id in self._trees.values():  # noqa: A001
                sightings.drop(self._conn, id, {row["path"]})

    def _ask_for_circles(self, kind: str) -> None:
        added = self._links.pop(kind)
        edges.refuse_circles(self._conn, kind, added)

    def _clashes(self, row: Mapping[str, Any]) -> bool:
        """Return whether an edge would hold at a time at which an equal one does."""
        ends = (row["from_node"], row["kind"], row["to_node"])
        times = (row["valid_from_ms"], row.get("valid_until_ms"))
        return edges.holds_within(self._conn, ends, times)


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
    return f"{value:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


def _roots(conn: Connection, store: Meant) -> dict[int, str]:
    """Return how the work trees are called in lines: as seen from the main one."""
    trees = worktrees.everything(conn)
    # Of a store that came as a file, the first work tree is the main one.
    main = store.project.root if store.project is not None else next(iter(trees), None)
    if main is None:
        return {}
    root = main.path if isinstance(main, Worktree) else main
    return {tree.id: os.path.relpath(tree.path, root) for tree in trees}


def _going_out(conn: Connection, table: Table, row: dict[str, Any]) -> dict[str, Any] | None:
    """Return a row as it goes out, so that equal stores say the same; None when it stays."""
    if table.name == "gaps":
        return gaps.to_go_out(row)
    if table.name == "node_versions" and row["text"] is not None:
        # The store keeps the words of a memory that was reworded and back, and need not.
        return row | {"text": nodes.other_words(conn, row["node"], row["text"])}
    return row


def _with_paths(table: Table, row: dict[str, Any], roots: Mapping[int, str]) -> dict[str, Any]:
    trees = [name for name, (other, _) in table.refers.items() if other == "worktrees"]
    if not trees:
        return row
    return row | {name: roots.get(row[name]) for name in trees}


def _apart(conn: Connection) -> set[str]:
    """Return the nodes that were kept apart from others which say the same."""
    found = conn.execute("SELECT id, text, text_hash FROM nodes ORDER BY num")
    return {id for id, said, digest in found if text.text_hash(said) != digest}  # noqa: A001


def _named(table: Table, row: Mapping[str, Any]) -> str:
    key = table.key if not table.number else [name for name in table.refers if name in row]
    return " ".join(str(row.get(name)) for name in key)[:200]


def _masked(said: str) -> str:
    return privacy.mask(said).text


def _mask_json(said: str) -> str:
    return to_json(privacy.mask_tree(json.loads(said)))


def _check_tree(row: Mapping[str, Any], name: str, kind: type) -> None:
    if row.get(name) is None or row[name] == ("[]" if kind is list else "{}"):
        return
    found = json.loads(row[name])
    if not isinstance(found, kind) or (
        isinstance(found, list) and not all(isinstance(one, str) for one in found)
    ):
        raise Unreadable(f"{name} must be {'a list of texts' if kind is list else 'an object'}")
