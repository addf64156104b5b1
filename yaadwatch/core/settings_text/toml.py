"""Append a table to TOML, or take it out again, and leave every other byte alone."""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from yaadwatch.core.settings_text.edits import (
    Added,
    NotUnderstoodError,
    line_end,
    without_spans,
)
from yaadwatch.core.settings_text.scanning import find

_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_MARK: Final = "\ufeff"


def read(text: str) -> dict[str, Any]:
    """Return what a text says.

    Raises:
        NotUnderstoodError: it is no TOML; with the line.
    """
    try:
        return tomllib.loads(text.removeprefix(_MARK))
    except (tomllib.TOMLDecodeError, ValueError) as error:
        raise NotUnderstoodError(str(error)) from None
    except RecursionError:
        raise NotUnderstoodError("it is nested too deep") from None


def put(text: str, path: tuple[str, ...], value: Mapping[str, object]) -> tuple[str, Added]:
    """Append a table.

    Args:
        text: of the settings.
        path: the name of the table.
        value: texts, numbers, truths, lists and flat objects of those, by key.

    Raises:
        NotUnderstoodError: the text is no TOML, something stands there already, or what is around
            it can take no more: a table in braces.
    """
    before = read(text)
    piece = _piece(text, path, value)
    after = text + piece
    try:
        found = read(after)
    except NotUnderstoodError:
        raise NotUnderstoodError(
            f"a table {'.'.join(path)} cannot be added below what it says already"
        ) from None
    if found != _with(before, path, value):
        raise NotUnderstoodError(f"a table {'.'.join(path)} would change what it says")
    return after, Added(at=path, made=path, pieces=(piece,))


def replace(text: str, added: Added, value: Mapping[str, object]) -> tuple[str, Added]:
    """Say `value` in a table of ours: in its place if it is as it was put in, else at the end.

    Raises:
        NotUnderstoodError: the text is no TOML, or the table cannot be taken out.
    """
    path = tuple(str(step) for step in added.at)
    for piece in added.pieces:
        if text.count(piece) == 1:
            before, after = text.split(piece)
            lead = piece[: len(piece) - len(piece.lstrip("\r\n"))]
            new = lead + _table(path, value, line_end(text))
            changed = before + new + after
            if _without(read(changed), path) == _without(read(text), path):
                return changed, Added(at=path, made=path, pieces=(new,))
    return put(take(text, added), path, value)


def take(text: str, added: Added) -> str:
    """Return `text` without a table of ours, and without those in it.

    With nothing changed since, it is what it was before, to the byte.

    Raises:
        NotUnderstoodError: the text is no TOML, or the table is not written as a table.
    """
    path = tuple(str(step) for step in added.at)
    said = read(text)
    wanted = _without(said, path)
    if not _has(said, path):
        raise NotUnderstoodError(f"there is no table {'.'.join(path)}")
    ways = [text.replace(piece, "") for piece in added.pieces if text.count(piece) == 1]
    for after in (*ways, _without_tables(text, path)):
        try:
            found = read(after)
            # The table around it may stay, with nothing in it.
            if not _has(found, path) and _without(found, path) == wanted:
                return after
        except NotUnderstoodError:
            continue
    raise NotUnderstoodError(f"{'.'.join(path)} is not written as a table of its own")


def _piece(text: str, path: tuple[str, ...], value: Mapping[str, object]) -> str:
    end = line_end(text)
    body = text.removeprefix(_MARK)
    lead = "" if not body or body.endswith("\n") else end
    gap = end if body.strip() and not re.search(r"\n[ \t]*\r?\n\Z", body + lead) else ""
    return lead + gap + _table(path, value, end)


def _table(path: tuple[str, ...], value: Mapping[str, object], end: str) -> str:
    lines = [f"[{'.'.join(map(_key, path))}]"]
    lines += [f"{_key(name)} = {said(one)}" for name, one in value.items()]
    return "".join(line + end for line in lines)


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else said(name)


def said(value: object) -> str:
    """Return how TOML writes a text, a number, a truth, a list or a flat object of those."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(said, value))}]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(key)} = {said(one)}" for key, one in value.items()) + " }"
    # JSON's texts, numbers and truths are TOML's, but for the one character that it leaves bare.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with(value: dict[str, Any], path: tuple[str, ...], ours: object) -> dict[str, Any]:
    key, *rest = path
    inner = value.get(key, {})
    if not rest:
        return value | {key: ours}
    return value | {key: _with(inner if isinstance(inner, dict) else {}, tuple(rest), ours)}


def _has(value: dict[str, Any], path: tuple[str, ...]) -> bool:
    try:
        find(value, path)
    except KeyError:
        return False
    return True


def _without(value: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """Return what is said without a table; the tables around it go when they only held that."""
    key, *rest = path
    inner = value.get(key)
    left = {name: one for name, one in value.items() if name != key}
    if not rest or not isinstance(inner, dict):
        return left if not rest else value
    kept = _without(inner, tuple(rest))
    return value | {key: kept} if kept else left


def _without_tables(text: str, path: tuple[str, ...]) -> str:
    """Return `text` without the lines of a table, and of those whose names begin with its name."""
    import tree_sitter_toml
    from tree_sitter import Language, Parser

    source = text.encode()
    spans = []
    for node in Parser(Language(tree_sitter_toml.language())).parse(source).root_node.children:
        if node.type not in ("table", "table_array_element"):
            continue
        if (
            _named(source[node.named_children[0].start_byte : node.named_children[0].end_byte])[
                : len(path)
            ]
            != path
        ):
            continue
        pairs = [child for child in node.children if child.type == "pair"]
        last = source.find(b"\n", (pairs[-1] if pairs else node.children[2]).end_byte)
        spans.append((node.start_byte, len(source) if last < 0 else last + 1))
    return without_spans(source.decode("latin-1"), spans).encode("latin-1").decode()


def _named(name: bytes) -> tuple[str, ...]:
    """Return the parts of the name of a table."""
    value: Any = tomllib.loads(f"[{name.decode()}]")
    parts = []
    while value:
        ((part, value),) = value.items()
        parts.append(part)
    return tuple(parts)
