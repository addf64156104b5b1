"""Import JSON Lines into a store: each row is taken, is there already, or is reported.

Words, events and files to check again only matter at the end; they are collected and written for
many memories at once. `named_store` resolves which store a call means: a project's or the user's.
"""

import json
import logging
import math
import os
import re
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from yaadwatch.db import anchors, edges, fulltext, history, nodes, rows
from yaadwatch.db import projects as db_projects
from yaadwatch.db.codec import to_json
from yaadwatch.db.database import Database
from yaadwatch.db.files import Connection, ConstraintError
from yaadwatch.db.rows import NOT_INDEXED, Table, Unreadable
from yaadwatch.memory import changes, gaps, lessons
from yaadwatch.memory.visibility import is_persons
from yaadwatch.model import events
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.limits import ID_CHARS_MAX, short_id
from yaadwatch.model.memories import ACYCLIC, SUPERSEDES, THINGS, canonical_kind, canonical_relation
from yaadwatch.model.projects import IMPORT, Project, Worktree
from yaadwatch.model.settings import STORED_TEXT_CHARS_MAX
from yaadwatch.text import privacy, words
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace.workspace import AGENT, Call, Home, with_more_hint

USER = "user"
"""The id of the user store in the backup folder."""
_FAULTS: Final = (ArithmeticError, LookupError, TypeError, ValueError)
"""Exceptions from values that we never wrote, as in an edited store."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedStore:
    """A store with its id in the backup folder and its project; None for the user store."""

    id: str
    role: str
    project: Project | None
    db: Database

    @property
    def where(self) -> Path:
        """Return the main work tree, or the path of the user store."""
        return self.project.root if self.project is not None else self.db.path

    @property
    def shown(self) -> str:
        """Return the main work tree; 'user' for the user store."""
        return USER if self.project is None else str(self.project.root)


@contextmanager
def named_store(home: Home, call: Call, *, user: bool, or_own: bool = True) -> Iterator[NamedStore]:
    """Open the store of the project of a call, or the user store.

    Args:
        home: the daemon's shared state.
        call: names the project by its folder.
        user: whether to open the user store.
        or_own: whether an error about a missing project suggests the user store.

    Raises:
        YaadError: see `Home.project_at` and `Stores.use`.
    """
    if user:
        yield of_user(home)
        return
    with with_more_hint("For your own store: --user." if or_own else ""):
        project, _ = home.project_at(call.folder)
    with home.stores.use(project) as db:
        yield NamedStore(id=project.id, role="project", project=project, db=db)


def of_user(home: Home) -> NamedStore:
    """Return the user store."""
    return NamedStore(id=USER, role="user", project=None, db=home.user)


def for_each_store(
    home: Home,
    work: Callable[[NamedStore], None],
    *,
    only: Callable[[str], bool] = lambda _: True,
) -> list[str]:
    """Run `work` for every store whose id passes `only`, the user store last.

    A failing store, also by an internal fault, does not stop the others; the reasons are returned.
    """
    failed = []
    for project in (*home.user.read(db_projects.everything), None):
        id, where = (USER, USER) if project is None else (project.id, str(project.root))  # noqa: A001
        if not only(id):
            continue
        try:
            if project is None:
                work(of_user(home))
                continue
            with home.stores.use(project) as db:
                work(NamedStore(id=id, role="project", project=project, db=db))
        except YaadError as error:
            failed.append(f"{where}: {error.message}")
        except _FAULTS as error:
            lines = "".join(traceback.format_exception(error))
            _log.error("store.job_failed", extra={"store": where, "traceback": lines})
            failed.append(f"{where}: a fault of ours ({type(error).__name__}); the log has it.")
    return failed


def raise_failures(failed: Sequence[str], outcome: str) -> None:
    """Report the stores that failed.

    Raises:
        YaadError: UNAVAILABLE, if there are any.
    """
    if failed:
        raise YaadError(
            Code.UNAVAILABLE,
            f"{'; '.join(failed)} ({outcome})",
            hint="What is wrong: yaadwatch status. It is tried again by itself.",
        )


def roots(conn: Connection, store: NamedStore) -> dict[int, str]:
    """Return the names of the work trees in exported lines: relative to the main one."""
    trees = db_projects.all_worktrees(conn)
    # In an imported store, the first work tree is the main one.
    main = store.project.root if store.project is not None else next(iter(trees), None)
    if main is None:
        return {}
    root = main.path if isinstance(main, Worktree) else main
    return {tree.id: os.path.relpath(tree.path, root) for tree in trees}


REPORTED_MAX: Final = 200
"""Conflicts and left-out rows that are listed; all are counted."""

OWNER: Final = dict.fromkeys(
    ("node_versions", "file_watch", "provenance", "learned", "provisional", "claims"), "node"
)
"""Tables whose rows belong to a memory: they are not imported when the memory is merged."""

_IDENTIFYING: Final = {
    "node_versions": ("node", "version"),
    "file_watch": ("node", "path", "symbol"),
    "edges": ("from_node", "kind", "to_node"),
}
"""Columns, that of the memory first, that identify the rows of a memory: rows with other values are
never equal or in conflict."""
_PLAIN: Final = re.compile(r"[0-9a-f]{0,64}|[a-z][a-z_-]{0,31}")
"""A digest, or a word: no secret."""
_WORDS: Final = frozenset({"text", "reason", "archive_reason"})
"""Columns with texts for people, from which control characters are removed."""
_MS_MAX: Final = 2**53
"""Milliseconds from 1970; a value beyond is no time."""


@dataclass(slots=True, kw_only=True)
class ImportCounts:
    """The report of an import: counts by table, conflicts and left-out rows."""

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
        """Report a row that differs from the existing one."""
        self.count(table, "conflicts")
        if len(self.conflicts) < REPORTED_MAX:
            self.conflicts.append({"table": table, "row": row, "reason": reason})

    def leave(self, table: str, row: object, reason: str) -> None:
        """Report a row that was left out."""
        self.count(table, "left_out")
        if len(self.left_out) < REPORTED_MAX:
            self.left_out.append({"table": table, "row": row, "reason": reason})


def take(
    conn: Connection,
    store: NamedStore,
    lines: Iterable[tuple[int, dict[str, Any]]],
    now: datetime,
    *,
    foreign: str,
) -> ImportCounts:
    """Import rows into a store, inside a transaction.

    Args:
        conn: the transaction.
        store: the store.
        lines: the rows as JSON objects, each with its line number.
        now: the time of the import.
        foreign: the name of an import of other people's words, which wait for a review; '' for an
            export of the person's own.

    Raises:
        YaadError: REFUSED when they would close a circle; the caller must roll back.
    """
    return _RowImport(conn, store, now, foreign).take(lines)


class _RowImport:
    """One import, inside one transaction."""

    def __init__(self, conn: Connection, store: NamedStore, now: datetime, foreign: str) -> None:
        self._foreign = foreign
        self._conn = conn
        self._now = now
        self._scope = store.role
        self._tables = {table.name: table for table in rows.tables(conn)}
        self._trees = {path: tree for tree, path in roots(conn, store).items()}
        self._other: dict[str, dict[object, object]] = {name: {} for name in self._tables}
        self._refused: set[object] = set()  # nodes that conflict with existing ones
        self._made: set[object] = set()  # nodes that this import created
        self._rows: dict[str, set[tuple[object, ...]]] = {}  # of these, by table: their identity
        self._last = {table.name: rows.last(conn, table) for table in self._tables.values()}
        # Per import: these caches hold unmasked texts.
        self._mask = lru_cache(maxsize=4096)(_masked)
        self._mask_text = lru_cache(maxsize=4096)(_said)
        self._created = lru_cache(maxsize=64)(_created)
        self._clean: dict[str, str] = {}  # ids and the like, which repeat
        self._ended: dict[str, str] = {}  # sessions whose words are to be indexed
        self._links: dict[str, list[tuple[str, str]]] = {}
        self._words: list[tuple[int, str, str, str]] = []  # not stored yet, as the next two
        self._events: list[tuple[str, str, str]] = []
        self._watched: set[str] = set()
        self.report = ImportCounts()

    def take(self, lines: Iterable[tuple[int, dict[str, Any]]]) -> ImportCounts:
        """Take every line."""
        for number, line in lines:
            self._take_line(number, line)
        self._flush()
        for kind in list(self._links):
            self._ask_for_circles(kind)
        for session, summary in self._ended.items():
            lessons.index(self._conn, session, summary)
        return self.report

    def _take_line(self, number: int, line: dict[str, Any]) -> None:
        name = line.get("table")
        table = self._tables.get(name) if isinstance(name, str) else None
        if table is None:
            # Its name is not reported: it may be a secret.
            self.report.leave("?", f"line {number}", "this version has no such table")
            return
        apart = line.pop("apart", False) is True and table.name == "nodes"
        if table.name == "nodes":
            line.pop("by", None)  # for readers only; origins and versions have it
        try:
            row = rows.from_line(table, line)
            row = self._masked(table, row)
            row = self._with_local_references(table, row)
            if table.name == "gaps":
                row = gaps.rekeyed_gap(row)
            self._check(table, row)
        except (Unreadable, ValueError) as error:
            self.report.leave(table.name, f"line {number}", privacy.mask(str(error)).text)
            return
        self._take_row(table, row, number, apart=apart)

    def _take_row(self, table: Table, row: dict[str, Any], number: int, *, apart: bool) -> None:
        owner = row.get(OWNER.get(table.name, ""))
        if owner in self._other["nodes"]:
            self.report.count(table.name, "merged")
            return
        if owner in self._refused:
            self.report.leave(table.name, f"line {number}", "its memory is another one here")
            return
        if table.name == "node_versions":
            said = row.get("text")
            said = said and history.other_words(self._conn, row["node"], said)
            row |= {"text": said}
        new = self._is_new(table, row)
        known = None if new else rows.find(self._conn, table, row)
        if known is not None:
            if table.name == "node_versions":  # one that was reworded, and back, keeps its words
                known |= {"text": history.other_words(self._conn, row["node"], known["text"])}
            self._compare(table, row, known)
            return
        if table.name == "nodes":
            self._take_node(table, row, number, apart=apart)
            return
        if table.name == "edges" and not new and self._overlaps(row):
            self.report.conflict(
                table.name, _named(table, row), "it would hold twice at a time here"
            )
            return
        self._insert(table, row, number)

    def _is_new(self, table: Table, row: Mapping[str, Any]) -> bool:
        """Return whether a row is the first of its kind of a memory created by this import.

        Then no lookup is needed: such a memory had no versions, anchors and relations before.
        """
        columns = _IDENTIFYING.get(table.name)
        if columns is None or row[columns[0]] not in self._made:
            return False
        before = self._rows.setdefault(table.name, set())
        sort = tuple(row.get(name) for name in columns)
        if sort in before:
            return False
        before.add(sort)
        return True

    def _insert(self, table: Table, row: dict[str, Any], number: int) -> int | None:
        """Insert a row; return its number, None when it was left out."""
        if self._foreign:
            if table.name == "dismissals":
                reason = "what another person dismissed counts for that person alone"
                self.report.leave(table.name, f"line {number}", reason)
                return None
            if table.name == "edges" and self._supersedes_own(row):
                reason = "only its own person can let a memory of theirs be superseded"
                self.report.leave(table.name, f"line {number}", reason)
                return None
            row = self._as_foreign(table, row)
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
            self.report.leave(table.name, f"line {number}", reason)
            return None
        self._last[table.name] = max(last, made)
        if given is not None and made != given:
            self._other[table.name][given] = made
        self.report.count(table.name, "new")
        self._note_followups(table, row)
        return made

    def _take_node(self, table: Table, row: dict[str, Any], number: int, *, apart: bool) -> None:
        """Insert a node; one with the words of a living node is merged, unless kept apart."""
        said, given = str(row["text"]), str(row["id"])
        digest = words.text_hash(said)
        thing = row["kind"] in THINGS
        if row.get("archived_ms") is None and not apart:
            twin = nodes.by_hash(self._conn, str(row["scope"]), digest, thing=thing)
            if twin is not None:
                self._other["nodes"][given] = twin.id
                self.report.count(table.name, "merged")
                return
        if apart:
            digest = words.text_hash(f"{given}\0{said}")
        holder = self._key_holder(row)
        if holder is not None:
            reason = f"its key {row['key']} is that of {short_id(holder)} here; it came without it"
            self.report.conflict(table.name, given, reason)
            row = row | {"key": None}
        line = words.summarise(said)
        made_anew = {"text_hash": digest, "summary": "" if line == said else line}
        num = self._insert(table, row | made_anew, number)
        if num is None:
            self._refused.add(given)
            return
        self._made.add(given)
        if row.get("archived_ms") is None and row["kind"] not in NOT_INDEXED:
            tags = json.loads(row.get("tags") or "[]")
            self._words.append((num, *changes.words_of(said, tags=tags, key=row.get("key"))))
        self._events.append((events.NODE_CREATED, given, self._created(row["kind"])))
        # New memories whose words and events are collected before they are stored.
        if len(self._events) >= 1_000:
            self._flush()

    def _key_holder(self, row: Mapping[str, Any]) -> str | None:
        """Return the living memory that has the key of a living row."""
        if row.get("key") is None or row.get("archived_ms") is not None:
            return None
        holder = nodes.by_key(self._conn, str(row["scope"]), str(row["key"]))
        return None if holder is None else holder.id

    def _flush(self) -> None:
        """Store the collected words and events of new memories."""
        fulltext.index(self._conn, self._words)
        history.append_all(self._conn, self._events, self._now)
        anchors.drop_sightings(self._conn, self._watched)
        for gathered in (self._words, self._events, self._watched):
            gathered.clear()

    def _compare(self, table: Table, row: dict[str, Any], known: dict[str, Any]) -> None:
        came = self._as_foreign(table, row) if self._foreign else row
        different = sorted(
            name
            for name, value in row.items()
            if known[name] not in (value, came[name]) and name != table.number
        )
        if not different or table.name == "provenance":  # the files here are the source of that
            self.report.count(table.name, "same")
            if table.number and row.get(table.number) is not None:
                self._other[table.name][row[table.number]] = known[table.number]
            return
        if table.name == "nodes":
            self._refused.add(row["id"])
        reason = f"what is here says otherwise: {', '.join(different)}"
        self.report.conflict(table.name, _named(table, row), reason)

    def _masked(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row without the secrets in it.

        Raises:
            Unreadable: a column of the key would be masked.
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
                clean = value if value in ("[]", "{}") else _mask_json(value)
            else:
                clean = self._mask_text(value) if name in _WORDS else self._mask(value)
            if clean != value:
                if name in table.key or name in table.refers:
                    raise Unreadable(f"its {name} looks like a secret")
                self.report.masked += 1
                done[name] = clean
        return done

    def _supersedes_own(self, row: Mapping[str, Any]) -> bool:
        """Return whether an edge would supersede a memory of the person here."""
        if row["kind"] != SUPERSEDES:
            return False
        new, old = str(row["from_node"]), str(row["to_node"])
        return not changes.may_supersede(self._conn, new, old, actor=IMPORT)

    def _as_foreign(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the import as its author, whatever person it names."""
        origin = f"{IMPORT}:{self._foreign}"
        if table.name == "nodes" and not str(row["origin"]).startswith((AGENT, IMPORT)):
            return row | {"origin": origin, "from_git": 0}
        if table.name == "node_versions" and is_persons(str(row["actor"])):
            return row | {"actor": origin}
        if table.name == "sessions" and row.get("summary"):
            return row | {"summary": f"Imported: {quoted(str(row['summary']))}"}
        return row

    def _with_local_references(self, table: Table, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with its references replaced by the ids of this store.

        Raises:
            Unreadable: its work tree does not exist here.
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
        """Refuse values that no row of ours has.

        Raises:
            ValueError: the message names the value.
        """
        for name in table.numbers:
            value = row.get(name)
            if value is None:
                continue
            if isinstance(value, float) and not math.isfinite(value):
                raise Unreadable(f"{name} must be a finite number")
            if isinstance(value, int) and name.endswith("_ms") and abs(value) > _MS_MAX:
                raise Unreadable(f"{name} is no time")
        if table.name == "nodes":
            if row["scope"] != self._scope:
                raise Unreadable(f"it is of the scope {row['scope']}, and this is another store")
            if not 1 <= len(str(row["id"])) <= ID_CHARS_MAX:
                raise Unreadable(f"its id must have 1 to {ID_CHARS_MAX} characters")
            if not str(row["text"]).strip() or len(str(row["text"])) > STORED_TEXT_CHARS_MAX:
                raise Unreadable(f"its text must have 1 to {STORED_TEXT_CHARS_MAX} characters")
            if canonical_kind(str(row["kind"])) != row["kind"]:
                raise Unreadable(f"{row['kind']} is no kind")
            _check_tree(row, "tags", list)
            _check_tree(row, "attributes", dict)
        if table.name == "edges":
            if canonical_relation(str(row["kind"])) != row["kind"]:
                raise Unreadable(f"{row['kind']} is no kind")
            _check_tree(row, "attributes", dict)

    def _note_followups(self, table: Table, row: dict[str, Any]) -> None:
        """Note the follow-up work for a new row: circles, index, files to check."""
        if table.name == "edges" and row["kind"] in ACYCLIC and row.get("valid_until_ms") is None:
            waiting = self._links.setdefault(row["kind"], [])
            waiting.append((row["from_node"], row["to_node"]))
            # New edges of an acyclic kind that are checked for circles at once.
            if len(waiting) >= 2_000:
                self._ask_for_circles(row["kind"])
        if table.name == "sessions" and row.get("end_ms") is not None:
            self._ended[str(row["id"])] = str(row.get("summary") or "")
        if table.name == "file_watch":
            self._watched.add(row["path"])

    def _ask_for_circles(self, kind: str) -> None:
        added = self._links.pop(kind)
        edges.refuse_circles(self._conn, kind, added)

    def _overlaps(self, row: Mapping[str, Any]) -> bool:
        """Return whether the validity of an edge overlaps that of an equal one."""
        ends = (row["from_node"], row["kind"], row["to_node"])
        return edges.holds_within(self._conn, ends, row["valid_from_ms"], row.get("valid_until_ms"))


def _named(table: Table, row: Mapping[str, Any]) -> str:
    key = table.key if not table.number else [name for name in table.refers if name in row]
    return " ".join(str(row.get(name)) for name in key)[:200]


def _created(kind: str) -> str:
    """Return the body of the creation event as JSON."""
    return to_json({"kind": kind})


def _masked(said: str) -> str:
    return privacy.mask(said).text


def _said(said: str) -> str:
    return privacy.kept(said).text


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
