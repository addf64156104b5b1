"""The memories of a store as pages of markdown: one for each, an index, and their earlier versions.

Living memories come back from their pages; earlier versions and archived memories are only shown.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from yaadwatch.core import notes, privacy
from yaadwatch.core.notes import Page
from yaadwatch.core.quoting import quoted
from yaadwatch.engine.inout.incoming import (
    Coming,
    Memory,
    Relation,
    given_files,
    unfit,
    usable_key,
    usable_kind,
    usable_time,
)
from yaadwatch.model.nodes import NOT_GIVEN, Node, Version
from yaadwatch.model.settings import TAGS_MAX
from yaadwatch.model.times import told
from yaadwatch.store import edges, nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.truth import versions
from yaadwatch.store.whole.rows import NOT_INDEXED

ARCHIVE: Final = ".archive"
BATCH: Final = 500

_TAG_CHARS_MAX: Final = 256
_SHOWN_CHARS_MAX: Final = 60


def of_store(conn: Connection) -> Iterator[tuple[str, str]]:
    """Yield path and content of every page, in one snapshot.

    Pages of living memories are in a folder for each kind; what was said before, and what is
    archived, is below `.archive`.
    """
    named: dict[str, tuple[str, str]] = {}
    rows = []
    for node in _memories(conn, archived=False):
        name = notes.stem(node.summary, node.id)
        named[node.id] = (node.kind, name)
        rows.append((node.kind, name, quoted(node.summary)))
    for node in _memories(conn, archived=False):
        kind, name = named[node.id]
        yield f"{kind}/{name}.md", notes.render(_page(conn, node, named))
        yield from _former(conn, node, f"{ARCHIVE}/{kind}/{name}")
    for node in _memories(conn, archived=True):
        name = notes.stem(node.summary, node.id)
        yield f"{ARCHIVE}/{node.kind}/{name}.md", notes.render(_page(conn, node, {}))
        yield from _former(conn, node, f"{ARCHIVE}/{node.kind}/{name}")
    yield notes.INDEX, notes.index(sorted(rows))


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
    fields: dict[str, object] = {
        "name": node.summary,
        "type": node.kind,
        "description": node.summary,
        "created": told(node.created_at),
        "id": node.id,
        "tier": node.tier,
        "key": node.key,
        "tags": list(node.tags) or None,
        "attributes": dict(sorted(node.attributes.items())) or None,
        "pinned": True if node.pinned else None,
        "version": node.version,
        "updated": told(node.updated_at),
        "archived": told(node.archived_at) if node.archived_at else None,
        "reason": node.archive_reason,
    }
    return Page(fields=fields, text=node.text, relations=tuple(relations))


def _former(conn: Connection, node: Node, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the versions of a memory that read otherwise than the one after them."""
    for version, text in _reworded(versions.of_node(conn, node.id), node.text):
        fields: dict[str, object] = {
            "name": f"version {version.version}",
            "type": version.kind,
            "description": version.change,
            "created": told(version.at),
            "by": version.actor,
            "of": node.id,
            "version": version.version,
        }
        page = Page(fields=fields, text=text)
        yield f"{folder}/v{version.version}.md", notes.render(page)


def _reworded(past: Sequence[Version], now: str) -> Iterator[tuple[Version, str]]:
    after = [*(version.text for version in past[1:]), now]
    for version, text in zip(past, after, strict=False):
        if version.text != text:
            yield version, version.text


def of_folder(path: Path) -> Coming:
    """Return what the pages that a client has sent say: ours, and those with a plain header."""
    coming = Coming()
    names: dict[str, str] = {}
    ids: set[str] = set()
    relations: list[tuple[str, str, str]] = []
    archived = 0
    for name, data in given_files(path):
        if f"/{ARCHIVE}/" in f"/{name}":
            archived += 1
            continue
        text = _decoded(data)
        page = None if text is None else notes.parse(text)
        if text is not None and notes.is_generated(text):
            continue
        if page is None:
            coming.leave(name, "it is no UTF-8" if text is None else notes.unread(text))
            continue
        for line, reason in sorted(_misread(page)):
            coming.doubt(name, line, privacy.mask(reason).text)
        memory = _memory(name, page)
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
    """Yield line and reason of what in a header cannot be what was meant, and what is done."""
    fields = page.fields
    yield from page.problems
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
            yield page.lines.get(name, 1), f"{name}: {_shown(given)} is {done}"


def _shown(given: object) -> str:
    # Masked while it is whole: the rest of a secret that is cut does not look like one.
    said = privacy.mask(str(given)).text
    return said if len(said) <= _SHOWN_CHARS_MAX else f"{said[:_SHOWN_CHARS_MAX]}…"


def _memory(path: str, page: Page) -> Memory:
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
    # Masked while it is whole, as what is shown.
    return tuple(
        privacy.kept(str(one)).text[:_TAG_CHARS_MAX] for one in listed if str(one).strip()
    )[:TAGS_MAX]


def _kind(given: object) -> str | None:
    kind = usable_kind(given) if isinstance(given, str) else None
    return None if kind in NOT_GIVEN else kind


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None
