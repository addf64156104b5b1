"""The memories of a store as pages of markdown: one for each, an index, and what each once said."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from yaadwatch.core import notes
from yaadwatch.core.notes import Page
from yaadwatch.model.nodes import Node, Version
from yaadwatch.store import edges, nodes
from yaadwatch.store.connection import Connection
from yaadwatch.store.whole.derived import NOT_INDEXED

ARCHIVE: Final = ".archive"
BATCH: Final = 500


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
        rows.append((node.kind, name, node.summary))
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
    relations = [
        (edge.kind, named[edge.to_node][1])
        for edge in edges.of_node(conn, node.id)
        if edge.from_node == node.id and edge.to_node in named
    ]
    fields: dict[str, object] = {
        "name": node.summary,
        "type": node.kind,
        "description": node.summary,
        "created": _time(node.created_at),
        "id": node.id,
        "tier": node.tier,
        "key": node.key,
        "tags": list(node.tags) or None,
        "pinned": True if node.pinned else None,
        "version": node.version,
        "updated": _time(node.updated_at),
        "archived": _time(node.archived_at) if node.archived_at else None,
        "reason": node.archive_reason,
    }
    return Page(fields=fields, text=node.text, relations=tuple(relations))


def _former(conn: Connection, node: Node, folder: str) -> Iterator[tuple[str, str]]:
    """Yield the versions of a memory that read otherwise than the one after them."""
    versions = nodes.versions(conn, node.id)
    for version, text in _reworded(versions, node.text):
        fields: dict[str, object] = {
            "name": f"version {version.version}",
            "type": version.kind,
            "description": version.change,
            "created": _time(version.at),
            "by": version.actor,
            "of": node.id,
        }
        page = Page(fields=fields, text=text)
        yield f"{folder}/v{version.version}.md", notes.render(page)


def _reworded(versions: Sequence[Version], now: str) -> Iterator[tuple[Version, str]]:
    after = [*(version.text for version in versions[1:]), now]
    for version, text in zip(versions, after, strict=False):
        if version.text != text:
            yield version, version.text


def _time(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"
