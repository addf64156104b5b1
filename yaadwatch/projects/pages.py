"""Render memories as markdown pages, and turn imported pages and files into drafts.

There is a page for each memory, an index, and the earlier versions. Living memories can be imported
from their pages; earlier versions and archived memories are only shown.

Imported content is not trusted: texts are masked, kinds and ids made valid, and times in the future
become now.
"""

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from bridges import registry
from yaadwatch.db import authority, edges, history, nodes
from yaadwatch.db import rows as db_rows
from yaadwatch.db.files import Connection
from yaadwatch.db.rows import NOT_INDEXED
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.events import instant, time_text
from yaadwatch.model.limits import ID_CHARS_MAX, TAGS_MAX, TEXT_CHARS_MAX
from yaadwatch.model.memories import (
    NOT_GIVEN,
    THINGS,
    Node,
    Version,
    canonical_key,
    canonical_kind,
    canonical_relation,
)
from yaadwatch.model.settings import NODE_ATTRIBUTES_BYTES_MAX
from yaadwatch.remember import preparing
from yaadwatch.remember.links import OURS
from yaadwatch.sessions import ending
from yaadwatch.sessions.ending import Page
from yaadwatch.text import privacy
from yaadwatch.text.quoting import quoted
from yaadwatch.workspace import agent_files
from yaadwatch.workspace.workspace import Home

_NO_HEADER: Final = "it has no header of `name: value` lines between two lines of three dashes"
_NAME_CHARS_MAX: Final = 200
RELATED: Final = "relates_to"
MEMORIES_MAX: Final = 100_000
"""Foreign memories imported at once; JSON Lines have no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory to be imported; `name` identifies it in relations and reports.

    `apart`: it is not merged with another imported memory that has the same words.
    """

    id: str
    name: str
    text: str
    kind: str | None = None
    tier: int | None = None
    key: str | None = None
    tags: tuple[str, ...] = ()
    attributes: Mapping[str, object] = field(default_factory=dict)
    pinned: bool = False
    created: datetime | None = None
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation to be imported, between two names."""

    start: str
    kind: str
    end: str


@dataclass(slots=True, kw_only=True)
class Incoming:
    """Everything to be imported, and what was left out and why.

    `misread` lists fields that were replaced because they are not valid.
    """

    memories: list[Memory] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    left_out: list[dict[str, object]] = field(default_factory=list)
    misread: list[dict[str, object]] = field(default_factory=list)

    def note_misread(self, what: str, line: int, reason: str) -> None:
        """Report a line that was not understood, and how it was read."""
        entry = {"row": privacy.mask(what).text[:200], "line": line, "reason": reason}
        self.misread.append(entry)

    def leave(self, what: str, reason: str) -> None:
        """Report a row that is left out."""
        self.left_out.append({"row": privacy.mask(what).text[:200], "reason": reason})

    def add(self, memory: Memory) -> None:
        """Add a memory, or report why not.

        Raises:
            YaadError: TOO_LARGE when there are too many.
        """
        reason = unfit(memory)
        if reason:
            self.leave(memory.name, reason)
        else:
            self.memories.append(memory)
        if len(self.memories) > MEMORIES_MAX:
            raise YaadError(
                Code.TOO_LARGE,
                f"There are more than {MEMORIES_MAX} memories; nothing was imported.",
                hint="Split them. JSON Lines have no limit.",
            )


def unfit(memory: Memory) -> str:
    """Return why a memory cannot be stored; '' when it can."""
    if not memory.text.strip():
        return "it has no words"
    if len(memory.text) > TEXT_CHARS_MAX:
        return f"it has more than {TEXT_CHARS_MAX} characters"
    if "\0" in memory.text:
        return "it holds zero characters"
    if len(memory.id) > ID_CHARS_MAX or privacy.mask(memory.id).kinds:
        return "its id is too long, or looks like a secret"
    if memory.id != memory.id.strip() or not memory.id.isprintable():
        return "its id cannot be seen as it is"
    attributes = json.dumps(privacy.mask_tree(dict(memory.attributes)), ensure_ascii=False)
    if len(attributes.encode()) > NODE_ATTRIBUTES_BYTES_MAX:
        return f"its attributes have more than {NODE_ATTRIBUTES_BYTES_MAX} bytes"
    return ""


def of_agent_file(home: Home, path: Path) -> Incoming:
    """Return the statements of an agent file."""
    coming = Incoming()
    for name, data in given_files(path):
        more = agent_files.known_formats(home).known
        bridge = registry.for_path(name, more=more) or registry.for_path("AGENTS.md")
        if bridge is None:
            coming.leave(name, "no format reads it")
            continue
        document = bridge.parse(data)
        for problem in document.problems:
            coming.leave(name, problem.message)
        for statement in document.statements:
            memory = Memory(
                id=home.new_id(),
                name=f"{name}:{statement.line}",
                text=statement.text,
                kind=preparing.kind_of(statement),
            )
            coming.add(memory)
    return coming


def of_yaad(path: Path, root: Path) -> Incoming:
    """Return the living memories in the database of another Yaad.

    From a database of many projects: those of the project at `root`, and those of none.

    Raises:
        YaadError: BAD_REQUEST when it is no such database; UNAVAILABLE when it is damaged.
    """
    coming = Incoming()
    with db_rows.opened_yaad(path) as conn:
        rows = list(db_rows.yaad_nodes(conn))
        named = {one.project for one in rows if not isinstance(one, str)}
        here = {str(root), root.name}
        others = set() if here.isdisjoint(named) else named - here - {""}
        for old in rows:
            if isinstance(old, str):
                coming.leave("a node", old)
            elif (kind := usable_kind(old.kind)) in THINGS:
                continue  # files and entities are read from the texts
            elif old.archived or old.project in others:
                reason = "it was forgotten there" if old.archived else f"it is of {old.project}"
                coming.leave(old.id, privacy.mask(reason).text[:_NAME_CHARS_MAX])
            else:
                memory = Memory(
                    id=old.id,
                    name=old.id,
                    text=old.text,
                    kind=kind,
                    tier=old.tier,
                    key=usable_key(old.key),
                    # Masked while whole: half a secret does not look like one.
                    tags=tuple(privacy.kept(tag).text[:64] for tag in old.tags[:TAGS_MAX]),
                    created=old.created,
                )
                coming.add(memory)
        for table in db_rows.rows_left(conn):
            coming.leave(privacy.mask(table).text, "only memories are read from another Yaad")
    return coming


def given_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the files that a client has sent.

    Raises:
        YaadError: BAD_REQUEST when a line is not of that form.
    """
    with path.open("rb") as stream:
        for raw in stream:
            try:
                line = json.loads(raw)
                name, data = line["path"], base64.b64decode(line["data"], validate=True)
            except (ValueError, KeyError, TypeError, binascii.Error, RecursionError):
                name, data = None, b""
            if not isinstance(name, str):
                raise YaadError(
                    Code.BAD_REQUEST,
                    "The files did not come whole; nothing was imported.",
                    hint="Send each as a line of JSON: path, and data in base64.",
                )
            yield name, data


def usable_edge_kind(given: str) -> str:
    """Return a valid kind of edge.

    Invalid kinds, and kinds that only we make, become `relates_to`.
    """
    try:
        kind = canonical_relation(given)
    except ValueError:
        return RELATED
    return RELATED if kind in OURS else kind


def usable_kind(given: str) -> str | None:
    """Return a valid kind; None for no word, a secret, or `session`.

    A session of another program is an ordinary memory here.
    """
    try:
        kind = canonical_kind(given)
    except ValueError:
        return None
    return None if kind == "session" or privacy.mask(given).kinds else kind


def usable_key(given: object) -> str | None:
    """Return a valid key; None for anything else, or for a likely secret."""
    if not isinstance(given, str) or privacy.mask(given).kinds:
        return None
    try:
        return canonical_key(given)
    except ValueError:
        return None


def usable_time(given: object) -> datetime | None:
    """Return a valid time; None for anything else."""
    try:
        return instant("created", given) if isinstance(given, str) else None
    except ValueError:
        return None


ARCHIVE: Final = ".archive"
BATCH: Final = 500

_SHOWN_CHARS_MAX: Final = 60


def of_store(conn: Connection) -> Iterator[tuple[str, str]]:
    """Yield path and content of every page, in one snapshot.

    Pages of living memories are in a folder for each kind; earlier versions and archived memories
    are below `.archive`.
    """
    named: dict[str, tuple[str, str]] = {}
    rows = []
    for node in _memories(conn, archived=False):
        name = ending.stem(node.summary, node.id)
        named[node.id] = (node.kind, name)
        rows.append((node.kind, name, quoted(node.summary)))
    for node in _memories(conn, archived=False):
        kind, name = named[node.id]
        yield f"{kind}/{name}.md", ending.render(_page(conn, node, named))
        yield from _earlier_versions(conn, node, f"{ARCHIVE}/{kind}/{name}")
    for node in _memories(conn, archived=True):
        name = ending.stem(node.summary, node.id)
        yield f"{ARCHIVE}/{node.kind}/{name}.md", ending.render(_page(conn, node, {}))
        yield from _earlier_versions(conn, node, f"{ARCHIVE}/{node.kind}/{name}")
    yield ending.INDEX, ending.index(sorted(rows))


def _memories(conn: Connection, *, archived: bool) -> Iterator[Node]:
    after = ""
    while batch := nodes.batch(conn, after=after, limit=BATCH, archived=archived):
        yield from (node for node in batch if node.kind not in NOT_INDEXED)
        after = batch[-1].id


def _page(conn: Connection, node: Node, named: dict[str, tuple[str, str]]) -> Page:
    relations = sorted(
        (edge.kind, named[edge.to_node][1])
        for edge in edges.of_node(conn, node.id)
        if edge.from_node == node.id and edge.to_node in named
    )
    whose = authority.of_nodes(conn, [node.id])[node.id]
    fields: dict[str, object] = {
        "name": node.summary,
        "type": node.kind,
        "description": node.summary,
        "created": time_text(node.created_at),
        "id": node.id,
        "by": whose.by if whose.is_unverified else None,
        "unverified": True if whose.is_unverified else None,
        "tier": node.tier,
        "key": node.key,
        "tags": list(node.tags) or None,
        "attributes": dict(sorted(node.attributes.items())) or None,
        "pinned": True if node.pinned else None,
        "version": node.version,
        "updated": time_text(node.updated_at),
        "archived": time_text(node.archived_at) if node.archived_at else None,
        "reason": node.archive_reason,
    }
    return Page(fields=fields, text=node.text, relations=tuple(relations))


def _earlier_versions(conn: Connection, node: Node, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the versions of a memory whose text the next version changed."""
    for version, text in _reworded(history.versions_of_node(conn, node.id), node.text):
        fields: dict[str, object] = {
            "name": f"version {version.version}",
            "type": version.kind,
            "description": version.change,
            "created": time_text(version.at),
            "by": version.actor,
            "of": node.id,
            "version": version.version,
        }
        page = Page(fields=fields, text=text)
        yield f"{folder}/v{version.version}.md", ending.render(page)


def _reworded(past: Sequence[Version], now: str) -> Iterator[tuple[Version, str]]:
    after = [*(version.text for version in past[1:]), now]
    for version, text in zip(past, after, strict=False):
        if version.text != text:
            yield version, version.text


def of_folder(path: Path) -> Incoming:
    """Return the memories of pages that a client has sent: ours, or with a plain header."""
    coming = Incoming()
    names: dict[str, str] = {}
    ids: set[str] = set()
    relations: list[tuple[str, str, str]] = []
    archived = 0
    for name, data in given_files(path):
        if f"/{ARCHIVE}/" in f"/{name}":
            archived += 1
            continue
        text = _decoded(data)
        page = None if text is None else ending.parse(text)
        if text is not None and ending.is_generated(text):
            continue
        if page is None:
            coming.leave(name, "it is no UTF-8" if text is None else _NO_HEADER)
            continue
        for line, reason in sorted(_misread(page)):
            coming.note_misread(name, line, privacy.mask(reason).text)
        memory = _memory_of(name, page)
        if memory.id in ids:
            coming.leave(name, "a page before it has the same id")
            continue
        coming.add(memory)
        if not unfit(memory):
            ids.add(memory.id)
            stem = name.rpartition("/")[2].removesuffix(".md")
            names[stem] = memory.id
            relations += [(memory.id, kind, to) for kind, to in page.relations]
    if archived:
        what = f"{ARCHIVE}, {archived} {'page' if archived == 1 else 'pages'}"
        coming.leave(what, "earlier versions and archived memories come only with JSON Lines")
    for start, kind, to in relations:
        if to in names:
            coming.relations.append(Relation(start=start, kind=kind, end=names[to]))
        else:
            coming.leave(f"{kind} [[{to}]]", "there is no such page")
    return coming


def _misread(page: Page) -> Iterator[tuple[int, str]]:
    """Yield line and reason for invalid fields of a header, and what is used instead."""
    fields = page.fields
    checks: dict[str, tuple[Callable[[object], object], str]] = {
        "type": (lambda given: isinstance(given, str) and _kind(given), "no kind; it was chosen"),
        "tier": (_tier, "not 1, 2 or 3; it was chosen from the kind"),
        "key": (usable_key, "no key; it got none"),
        "tags": (_tags, "no list of words; it got none"),
        "attributes": (lambda given: isinstance(given, dict), "no object; it got none"),
        "pinned": (lambda given: isinstance(given, bool), "not true or false; it is not pinned"),
        "created": (usable_time, "no time; now was taken"),
    }
    for name, (fits, done) in checks.items():
        given = fields.get(name)
        if given not in (None, "", ()) and not fits(given):
            yield page.lines.get(name, 1), f"{name}: {_shortened(given)} is {done}"


def _shortened(given: object) -> str:
    # Masked while whole: half a secret does not look like one.
    said = privacy.mask(str(given)).text
    return said if len(said) <= _SHOWN_CHARS_MAX else f"{said[:_SHOWN_CHARS_MAX]}…"


def _memory_of(path: str, page: Page) -> Memory:
    fields = page.fields
    mark = hashlib.sha256(path.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    given = fields.get("id")
    own = isinstance(given, str) and bool(given)
    said = page.text or str(fields.get("description") or fields.get("name") or "")
    attributes = fields.get("attributes")
    return Memory(
        id=str(given) if own else f"page-{mark}",
        name=path,
        text=said,
        kind=_kind(fields.get("type")),
        tier=_tier(fields.get("tier")),
        key=usable_key(fields.get("key")),
        tags=_tags(fields.get("tags")),
        attributes=attributes if isinstance(attributes, dict) else {},
        pinned=fields.get("pinned") is True,
        created=usable_time(fields.get("created")),
        apart=own,
    )


def _tier(given: object) -> int | None:
    return given if isinstance(given, int) and given is not True and given in (1, 2, 3) else None


def _tags(given: object) -> tuple[str, ...]:
    listed = given if isinstance(given, list | tuple) else [given] if isinstance(given, str) else []
    # Masked while whole, as above.
    return tuple(privacy.kept(str(one)).text[:256] for one in listed if str(one).strip())[:TAGS_MAX]


def _kind(given: object) -> str | None:
    kind = usable_kind(given) if isinstance(given, str) else None
    return None if kind in NOT_GIVEN else kind


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
