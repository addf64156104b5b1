"""What comes from elsewhere (pages, an agent file, another Yaad), as memories and relations.

Nothing of it is believed: texts are masked, kinds and ids made to fit, times to come are now.
"""

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

from bridges import registry
from yaadwatch.core import privacy
from yaadwatch.engine.agent_files import reading
from yaadwatch.engine.memories.links import OURS
from yaadwatch.engine.remember import preparing
from yaadwatch.engine.workspace import Home
from yaadwatch.model.edges import canonical_kind as edge_kind
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.nodes import THINGS, canonical_key, canonical_kind
from yaadwatch.model.settings import (
    ID_CHARS_MAX,
    NODE_ATTRIBUTES_BYTES_MAX,
    TAGS_MAX,
    TEXT_CHARS_MAX,
)
from yaadwatch.model.times import instant
from yaadwatch.store.whole import yaad

_NAME_CHARS_MAX: Final = 200
_TAG_CHARS_MAX: Final = 64
RELATED: Final = "relates_to"
MEMORIES_MAX: Final = 100_000
"""Memories taken in at once from elsewhere; JSON Lines have no limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """A memory on its way in; `name`: what relations call it, and what is told of it.

    One that stays `apart` is no other one that comes with it and reads alike.
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
    """A relation on its way in, between two names."""

    start: str
    kind: str
    end: str


@dataclass(slots=True, kw_only=True)
class Coming:
    """Everything on its way in, and what was left out and why.

    `misread` is what was taken for something else than it may have been meant as.
    """

    memories: list[Memory] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    left_out: list[dict[str, object]] = field(default_factory=list)
    misread: list[dict[str, object]] = field(default_factory=list)

    def doubt(self, what: str, line: int, reason: str) -> None:
        """Tell that a line was not understood, and what was made of it."""
        told = {"row": privacy.mask(what).text[:200], "line": line, "reason": reason}
        self.misread.append(told)

    def leave(self, what: str, reason: str) -> None:
        """Tell that something was left out."""
        self.left_out.append({"row": privacy.mask(what).text[:200], "reason": reason})

    def add(self, memory: Memory) -> None:
        """Take a memory, or tell why not.

        Raises:
            YaadError: TOO_LARGE; there are too many.
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


def of_agent_file(home: Home, path: Path) -> Coming:
    """Return what the statements of an agent file say."""
    coming = Coming()
    for name, data in given_files(path):
        more = reading.formats(home).known
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


def of_yaad(path: Path, root: Path) -> Coming:
    """Return the living memories in the database of another Yaad.

    Of a database that many projects share, those of the project at `root` and of none.

    Raises:
        YaadError: BAD_REQUEST when it is none; UNAVAILABLE when it is damaged.
    """
    coming = Coming()
    with yaad.opened(path) as conn:
        rows = list(yaad.nodes(conn))
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
                    tags=tuple(
                        privacy.kept(tag).text[:_TAG_CHARS_MAX] for tag in old.tags[:TAGS_MAX]
                    ),
                    created=old.created,
                )
                coming.add(memory)
        for table in yaad.left(conn):
            coming.leave(privacy.mask(table).text, "only memories are read from another Yaad")
    return coming


def given_files(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield name and bytes of the files that a client has sent.

    Raises:
        YaadError: BAD_REQUEST when a line is not what a client sends.
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
    """Return a kind of edge as it is stored.

    One that is no word, or that only we make, is `relates_to`: there is nothing here that it could
    stand for.
    """
    try:
        kind = edge_kind(given)
    except ValueError:
        return RELATED
    return RELATED if kind in OURS else kind


def usable_kind(given: str) -> str | None:
    """Return a kind as it is stored; None for none, for what is no word or a secret, and for
    sessions.

    A session of another program is a memory like others: nobody worked here in it.
    """
    try:
        kind = canonical_kind(given)
    except ValueError:
        return None
    return None if kind == "session" or privacy.mask(given).kinds else kind


def usable_key(given: object) -> str | None:
    """Return a key as it is stored; None of what is none, or looks like a secret."""
    if not isinstance(given, str) or privacy.mask(given).kinds:
        return None
    try:
        return canonical_key(given)
    except ValueError:
        return None


def usable_time(given: object) -> datetime | None:
    """Return a time as it is stored; None of what is none."""
    try:
        return instant("created", given) if isinstance(given, str) else None
    except ValueError:
        return None
