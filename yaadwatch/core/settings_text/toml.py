"""Append a table to TOML, or take it out again, and leave every other byte alone."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
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


_HEADER: Final = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?")
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
"""What TOML takes for one; Python knows more ways to end a line."""
_COMMENT: Final = re.compile(r"""(?:[^#"']|"(?:[^"\\]|\\.)*"|'[^']*')*?(\s+#.*)""")


def assign(text: str, section: str, key: str, value: object) -> str:
    """Return `text` with `section.key` set to `value`.

    Args:
        text: of the settings.
        section: the name of a table at the top.
        key: a name in it.
        value: a text, a number, a truth, or a list of those.

    Raises:
        NotUnderstoodError: the text is no TOML, or says this key in a way that is not understood.
    """
    wanted = read(text)
    inner = wanted.get(section, {})
    if not isinstance(inner, dict):
        raise NotUnderstoodError(f"{section} is not a table there")
    wanted = wanted | {section: inner | {key: value}}
    return _the_one(_with_line(text, section, key, f"{key} = {said(value)}"), wanted, section, key)


def drop(text: str, section: str, key: str) -> str:
    """Return `text` without `section.key`; as it is when it does not say it.

    Args:
        text: of the settings.
        section: the name of a table at the top; "" for what is in none.
        key: a name in it.

    Raises:
        NotUnderstoodError: as for `assign`.
    """
    wanted = read(text)
    inner = wanted.get(section) if section else wanted
    if not isinstance(inner, dict) or key not in inner:
        return text
    left = {name: value for name, value in inner.items() if name != key}
    emptied = [wanted | {section: left} if section else left]
    if section and not left:
        emptied.append({name: value for name, value in wanted.items() if name != section})
    for one in emptied:
        for candidate in _without_line(text, section, key):
            if _says(candidate, one):
                return candidate
    raise _unusual(section, key)


def _with_line(text: str, section: str, key: str, line: str) -> Iterator[str]:
    lines = _LINES.findall(text)
    end = line_end(text)
    for number, name in _lines_of(lines, section, key):
        comment = _COMMENT.match(lines[number].rstrip("\r\n"))
        behind = comment.group(1) if comment else ""
        shown = line if name == key else f"{name}{line.removeprefix(key)}"
        yield "".join([*lines[:number], f"{shown}{behind}{end}", *lines[number + 1 :]])
    for number, one in enumerate(lines):
        if _name_of(one) == section:
            header = one if one.endswith("\n") else one + end
            yield "".join([*lines[:number], header, line + end, *lines[number + 1 :]])
    whole = text if not text or text.endswith("\n") else text + end
    gap = end if whole.strip() else ""
    yield f"{whole}{gap}[{section}]{end}{line}{end}"


def _without_line(text: str, section: str, key: str) -> Iterator[str]:
    lines = _LINES.findall(text)
    for number, _ in _lines_of(lines, section, key):
        yield "".join([*lines[:number], *lines[number + 1 :]])


def _lines_of(lines: list[str], section: str, key: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that may say the key, with the name that they say it by."""
    inside = ""
    for number, line in enumerate(lines):
        header = _name_of(line)
        if header is not None:
            inside = header
        name = key if inside == section else f"{section}.{key}" if not inside else ""
        if name and re.match(rf"\s*{re.escape(name)}\s*=", line):
            yield number, name


def _name_of(line: str) -> str | None:
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    return found.group(1) if found else None


def _the_one(candidates: Iterator[str], wanted: dict[str, Any], section: str, key: str) -> str:
    for candidate in candidates:
        if _says(candidate, wanted):
            return candidate
    raise _unusual(section, key)


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        return read(text) == wanted
    except (NotUnderstoodError, tomllib.TOMLDecodeError):
        return False


def _unusual(section: str, key: str) -> NotUnderstoodError:
    named = f"{section}.{key}" if section else key
    return NotUnderstoodError(f"{named} is written there in a way that is not understood")
