"""Find keys of settings files (JSON, TOML, YAML) by their whole path: `tool.ruff.line-length`.

A key is fingerprinted by its value, not its spelling: `[a]` with `b = 1` below, `a.b = 1` and
`a = { b = 1 }` are equal, and the order of keys does not count. A key that holds other keys is
fingerprinted by its outline: its plain values, and the names of its nested tables.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from yaadwatch.anchors.naming import parts_of
from yaadwatch.text.words import cached

if TYPE_CHECKING:
    from tree_sitter import Node


_KEPT_BYTES_MAX = 128 * 1024

_SHAPES = {
    "object": b"<map",
    "inline_table": b"<map",
    "block_mapping": b"<map",
    "flow_mapping": b"<map",
    "array": b"<list",
    "block_sequence": b"<list",
    "flow_sequence": b"<list",
    "pair": b"<pair",
    "block_mapping_pair": b"<pair",
    "flow_pair": b"<pair",
}
_MARKS = frozenset((",", ":", "=", "-", "?", "[", "]", "{", "}"))
_BESIDE = frozenset(("comment", "anchor", "tag"))
_QUOTED = frozenset(("string", "double_quote_scalar", "single_quote_scalar", "quoted_key"))
_READ_DIFFERENTLY = re.compile(
    rb"(?i)(?:(?!0\d*:[\d:]*\Z)[-+]?(?:0b[01_]+|0o[0-7_]+|0x[\da-f_]+|\.(?:inf|nan)"
    rb"|(?:\d[\d_]*(?::[0-5]?\d)*(?:\.[\d_]*)?|\.\d[\d_]*)(?:e[-+]?\d+)?)"
    rb"|\d{4}-\d\d?-\d\d?(?:[t\s].*)?|~|=|<<|y|n|yes|no|on|off|true|false|null)\Z"
)
"""Texts that YAML 1.1 or 1.2 takes for a number, a time, a truth or nothing."""
_CONTINUED = re.compile(rb"\\(?:(\n[ \t]*)|(.))", re.DOTALL)
_ESCAPED = re.compile(rb"\\([\\\"])")
_LARGE_BYTES = 64 * 1024
"""A value larger than this is a table of data, and compared as text."""


def bare(value: "Node") -> "Node":
    """Return a value without its YAML anchor and tag."""
    while value.type in {"block_node", "flow_node", "plain_scalar", "document"}:
        inside = [child for child in value.named_children if child.type not in _BESIDE]
        if len(inside) != 1:
            break
        value = inside[0]
    return value


def plain_text(node: "Node", source: bytes) -> str:
    """Return a key without its quotes."""
    written = source[node.start_byte : node.end_byte]
    if node.type in _QUOTED:
        written = written[1:-1]
    return written.decode("utf-8", "replace")


def value_tokens(value: "Node", source: bytes) -> Iterator[bytes | None]:
    """Yield the tokens of a value; None where it cannot be parsed."""
    if value.end_byte - value.start_byte > _LARGE_BYTES:
        yield None if value.has_error else b"".join(_text(value, source).split())
        return
    stack: list[Node | bytes] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            yield item
            continue
        kind = item.type
        if item.is_missing or (kind == "ERROR" and _text(item, source) != b","):
            yield None
        elif kind in ("comment", "ERROR") or (kind in _MARKS and not item.is_named):
            continue
        elif kind in _QUOTED:
            yield _quoted(_text(item, source), is_yaml=kind.endswith("scalar"))
        elif kind == "block_scalar":
            yield _block(_text(item, source))
        elif kind in {"anchor", "alias", "tag"}:
            yield _text(item, source)
        elif item.child_count == 0 or kind == "plain_scalar":
            written = _text(item, source)
            yield (b"s:" if _is_string(item, written) else b"p:") + _folded(written)
        else:
            shape = _SHAPES.get(kind)
            stack.extend((b">",) if shape else ())
            stack.extend(reversed(item.children))
            stack.extend((shape,) if shape else ())


def _is_string(scalar: "Node", written: bytes) -> bool:
    """Return whether a text without quotes is in every YAML what it is in quotes.

    `yes` is a truth, and `1_000` and `12:30` are numbers, to some readers.
    """
    kinds = [child.type for child in scalar.named_children]
    return kinds == ["string_scalar"] and not _READ_DIFFERENTLY.match(written)


def _text(node: "Node", source: bytes) -> bytes:
    return source[node.start_byte : node.end_byte]


def _quoted(written: bytes, *, is_yaml: bool) -> bytes:
    """Return the content of a quoted string, whatever its quotes."""
    quote = written[:1]
    if not is_yaml and written[:3] == quote * 3 and len(written) >= 6:
        inside = written[3:-3].removeprefix(b"\n")
    else:
        inside = written[1:-1]
    if is_yaml:
        if quote == b'"':
            inside = _CONTINUED.sub(_continued, inside)
        inside = _folded(inside)
        if quote == b"'":
            return b"s:" + inside.replace(b"''", b"'")
    if quote == b'"' and b"\\" in inside:
        if _ESCAPED.sub(b"", inside).find(b"\\") >= 0:
            return b"e:" + inside
        inside = _ESCAPED.sub(rb"\1", inside)
    return b"s:" + inside


def _continued(found: "re.Match[bytes]") -> bytes:
    """Return nothing for a line end behind a backslash, and a blank for a blank behind one."""
    if found[1]:
        return b""
    return b" " if found[2] == b" " else found[0]


def _folded(written: bytes) -> bytes:
    """Return a folded YAML text: a line end is a blank."""
    if b"\n" not in written:
        return written
    first, *lines = written.split(b"\n")
    folded = first.rstrip()
    blank = 0
    for line in lines[:-1]:
        if line.strip():
            folded += (b"\n" * blank or b" ") + line.strip()
            blank = 0
        else:
            blank += 1
    return folded + (b"\n" * blank or b" ") + lines[-1].lstrip()


def _block(written: bytes) -> bytes:
    """Return a block scalar without its common indentation, empty lines and ends of lines.

    Formatters remove empty lines, write `|-` for `|`, and break the lines behind `>` elsewhere.
    """
    head, _, body = written.partition(b"\n")
    lines = [line.rstrip() for line in body.split(b"\n") if line.strip()]
    if head.startswith(b">"):
        return b">" + b" ".join(body.split())
    depth = min((len(line) - len(line.lstrip(b" ")) for line in lines), default=0)
    return b"|" + b"\n".join(line[depth:] for line in lines)


_MAPPINGS = frozenset(("object", "inline_table", "block_mapping", "flow_mapping"))
_WRAPPERS = frozenset(("document", "block_node", "flow_node"))
_KEYS = frozenset(("bare_key", "quoted_key", "dotted_key"))
_DEPTH_MAX = 100
"""Keys inside more than this many others are a part of the value around them."""


@dataclass(slots=True, eq=False)
class Key:
    """A key with everything written for it, at one or several places.

    Args:
        name: its path from the top of the file.
        nodes: where it is written; the headers of a table.
        values: its plain values, which hold no keys.
        below: the keys in it.
        items: the contents of the entries of a list of tables, each under its own key.
        is_lost: it is inside a parse error, so it may belong elsewhere.
    """

    name: tuple[str, ...]
    nodes: "list[Node]" = field(default_factory=list)
    values: "list[Node]" = field(default_factory=list)
    below: "dict[str, Key]" = field(default_factory=dict)
    items: "list[Key]" = field(default_factory=list)
    is_lost: bool = False


def keys(root: "Node", source: bytes) -> list[Key]:
    """Return the keys of a file, outer before inner.

    Those of the last small files are cached, because several names are searched in one file.
    """
    return (_kept if len(source) <= _KEPT_BYTES_MAX else _keys)(root, source)


@cached(2)
def _kept(root: "Node", source: bytes) -> list[Key]:
    return _keys(root, source)


def _keys(root: "Node", source: bytes) -> list[Key]:
    top = Key(())
    stack: list[tuple[Key, Node, int, bool]] = [(top, root, 0, False)]
    while stack:
        scope, node, depth, is_lost = stack.pop()
        below: list[tuple[Key, Node, int, bool]] = []
        before = scope
        for child in node.named_children:
            kind = child.type
            if kind == "ERROR" and source[child.start_byte : child.end_byte] != b",":
                before.is_lost = scope.is_lost = True  # it may belong to either
            if kind in {"pair", "block_mapping_pair", "flow_pair"}:
                key = before = _key(scope, _path(child, source), child, is_lost=is_lost)
                value = _value(child)
                if value is None:
                    key.is_lost = key.is_lost or child.has_error
                    continue
                holder = bare(value)
                if holder.type in _MAPPINGS and holder.named_child_count and depth < _DEPTH_MAX:
                    below.append((key, holder, depth + 1, is_lost))
                else:
                    key.values.append(value)
            elif kind in {"table", "table_array_element"}:
                key = _key(top, _path(child, source), child, is_lost=is_lost)
                if kind == "table_array_element":
                    key.items.append(Key(()))
                    key = key.items[-1]
                below.append((key, child, depth + 1, is_lost))
            elif kind in _MAPPINGS or kind in _WRAPPERS or kind == "ERROR":
                below.append((scope, child, depth, is_lost or kind == "ERROR"))
        stack.extend(reversed(below))
    return list(_named(top))


def tokens(key: Key, source: bytes) -> Iterator[bytes | None]:
    """Yield the tokens of a key's value; None where it cannot be parsed."""
    yield from _plain(key, source)
    for name in sorted(key.below):
        inner = key.below[name]
        if inner.below or inner.items:
            yield b"<keys " + name.encode()
        else:
            yield b"<key " + name.encode()
            yield from _plain(inner, source)


def _plain(key: Key, source: bytes) -> Iterator[bytes | None]:
    for value in key.values:
        yield from value_tokens(value, source)
    stack: list[tuple[str, Key]] = [("", item) for item in reversed(key.items)]
    while stack:
        name, inner = stack.pop()
        yield b"<item " + name.encode()
        for value in inner.values:
            yield from value_tokens(value, source)
        stack.extend((name, inner.below[name]) for name in sorted(inner.below, reverse=True))
        stack.extend(("", item) for item in reversed(inner.items))


def _named(top: Key) -> Iterator[Key]:
    stack = list(reversed(top.below.values()))
    while stack:
        key = stack.pop()
        yield key
        stack.extend(reversed(key.below.values()))


def _key(scope: Key, path: list[str], node: "Node", *, is_lost: bool) -> Key:
    """Return the key at `path` below `scope`, adding `node` to its places."""
    key = scope
    for part in path:
        if key.items:
            key = key.items[-1]
        found = key.below.get(part)
        if found is None:
            found = key.below[part] = Key((*key.name, *parts_of(part)), [node])
        key = found
    if key is not scope:
        if key.nodes[-1] != node:
            key.nodes.append(node)
        key.is_lost = key.is_lost or is_lost
    return key


def _path(node: "Node", source: bytes) -> list[str]:
    """Return the parts of the key of a pair or table header."""
    written = node.child_by_field_name("key")
    if written is not None:
        inner = bare(written)
        return [plain_text(inner, source)] if inner.child_count < 4 else []
    found: list[str] = []
    stack = [child for child in node.named_children if child.type in _KEYS][:1]
    while stack:
        part = stack.pop()
        if part.type == "dotted_key":
            stack.extend(reversed(part.named_children))
        else:
            found.append(plain_text(part, source))
    return found


def _value(pair: "Node") -> "Node | None":
    found = pair.child_by_field_name("value")
    if found is None and pair.type == "pair":
        rest = [child for child in pair.named_children if child.type not in (*_KEYS, "comment")]
        return rest[-1] if rest else None
    return found
