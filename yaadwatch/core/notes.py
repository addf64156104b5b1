"""A memory as a page of markdown, and back: a header of fields, its words, its relations.

The header is YAML whose values are JSON, so that nothing in them is taken for something else; what
people write by hand is read as `bridges.frontmatter` reads it.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from bridges import frontmatter
from bridges.frontmatter import Misread

RELATIONS: Final = "<!-- yaadwatch: relations -->"
"""Stands between a memory's words and its relations; the last one in a page counts."""
INDEX: Final = "index.md"
GENERATED: Final = "<!-- yaadwatch: generated; what is written here is not read -->"

_NOT_IN_STEM: Final = re.compile(r"[^\w]+")
_RELATION: Final = re.compile(r"- (?P<kind>[a-z][a-z0-9_]{0,31}) \[\[(?P<stem>[^\[\]|#^]+)\]\]")
_FIELD: Final = re.compile(r"(?P<key>[a-z_]+): (?P<value>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: what stands in its header, its words, and what it relates to.

    Args:
        fields: by name; texts, numbers, booleans and lists of texts.
        text: the words.
        relations: kind, and the stem of the page that the relation leads to.
        lines: on which line of the page each field begins, from 1.
        problems: what in the header is no value that was meant.
    """

    fields: Mapping[str, object]
    text: str
    relations: tuple[tuple[str, str], ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    problems: tuple[Misread, ...] = ()


def stem(name: str, id: str) -> str:
    """Return the name of a memory's page, without ending: its words, and a mark of its id.

    Letters, digits and '-' only: no file system and no link of Obsidian minds them.
    """
    words = _NOT_IN_STEM.sub("-", name.lower()).strip("-_")[:60].strip("-_")
    mark = hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{words}-{mark}" if words else mark


def render(page: Page) -> str:
    """Return a page as markdown; `parse` gives it back."""
    header = [f"{key}: {_value(value)}" for key, value in page.fields.items() if value is not None]
    parts = ["---", *header, "---", "", page.text, ""]
    if page.relations or RELATIONS in page.text:
        parts += [RELATIONS, "", *(f"- {kind} [[{to}]]" for kind, to in page.relations), ""]
    return "\n".join(parts)


def parse(source: str) -> Page | None:
    """Return what a page says; None when it has no header, or one that cannot be read."""
    lines = _lines(source.removeprefix("\ufeff"))
    count = frontmatter.length(lines)
    header = lines[1 : count - 1] if count else []
    problems: tuple[Misread, ...] = ()
    fields = _ours(header)
    if not fields:
        fields = _by_hand(lines, header)
        problems = tuple(
            one for one in frontmatter.problems(lines) if not _is_json(lines[one.line - 1])
        )
    if not fields:
        return None
    body = "\n".join(lines[count:])
    said, marked, below = body.rpartition(RELATIONS)
    if not marked:
        said, below = below, ""
    relations = tuple(
        (found["kind"], found["stem"].strip().rpartition("/")[2])
        for line in below.split("\n")
        if (found := _RELATION.fullmatch(line.strip()))
    )
    return Page(
        fields=fields,
        text=said.strip(),
        relations=relations,
        lines=frontmatter.places(lines),
        problems=problems,
    )


def unread(source: str) -> str:
    """Return why `parse` makes nothing of a page, and on which line."""
    found = frontmatter.problems(_lines(source.removeprefix("\ufeff")))
    return f"line {found[0].line}: {found[0].message}" if found else "it has no header with fields"


def index(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return the page that leads to all others.

    Args:
        rows: kind, stem and description of each, in order of kinds.
    """
    parts = [GENERATED, "", "# Memories", ""]
    before = ""
    for kind, name, description in rows:
        if kind != before:
            parts += ([""] if before else []) + [f"## {kind}", ""]
            before = kind
        shown = " ".join(description.split())
        parts.append(f"- [[{name}]] {shown}")
    return "\n".join([*parts, ""])


def is_generated(source: str) -> bool:
    """Tell whether a page was made by `index`."""
    return source.removeprefix("\ufeff").startswith(GENERATED)


def _lines(source: str) -> list[str]:
    """Return the lines of a page; a page whose first line ends as on Windows does so everywhere."""
    if source.partition("\n")[0].endswith("\r"):
        source = source.replace("\r\n", "\n")
    return source.split("\n")


def _ours(header: Sequence[str]) -> dict[str, object] | None:
    """Return the fields of a header that `render` wrote, however long; None of any other."""
    fields: dict[str, object] = {}
    for line in header:
        found = _FIELD.fullmatch(line)
        if found is None:
            return None
        try:
            fields[found["key"]] = _json(found["value"])
        except (ValueError, RecursionError):
            return None
    return fields


def _by_hand(lines: Sequence[str], header: Sequence[str]) -> dict[str, object]:
    """Return the fields of a header as people write it; what is JSON in it is that."""
    fields: dict[str, object] = dict(frontmatter.fields(lines) or {}) if header else {}
    for line in header if fields else ():
        found = _FIELD.fullmatch(line)
        if found is not None:
            fields[found["key"]] = _read(found["value"], fields.get(found["key"]))
    return fields


def _value(value: object) -> str:
    return json.dumps(value, ensure_ascii=True)


def _read(source: str, otherwise: object) -> object:
    try:
        return _json(source)
    except (ValueError, RecursionError):
        return otherwise


def _is_json(line: str) -> bool:
    """Tell whether the value of a field on one line is JSON that says something."""
    found = _FIELD.fullmatch(line)
    return found is not None and _read(found["value"], None) is not None


def _json(source: str) -> object:
    """Return what JSON says, when all of it can be stored.

    Raises:
        ValueError: it is none, or holds half characters or numbers that are none.
        RecursionError: it is too deep.
    """
    value = json.loads(source)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    return value
