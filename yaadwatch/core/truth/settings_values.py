"""What the values of settings say, apart from how they are laid out and quoted."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

_WRAPPERS = frozenset(("block_node", "flow_node", "plain_scalar", "document"))
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
_NAMED = frozenset(("anchor", "alias", "tag"))
_BESIDE = frozenset(("comment", "anchor", "tag"))
_QUOTED = frozenset(("string", "double_quote_scalar", "single_quote_scalar", "quoted_key"))
_ESCAPED = re.compile(rb"\\([\\\"])")
_LARGE_BYTES = 64 * 1024
"""A value larger than this is a table of data, and compared as text."""


def bare(value: "Node") -> "Node":
    """Return a value without what wraps it: its anchor, its tag."""
    while value.type in _WRAPPERS:
        inside = [child for child in value.named_children if child.type not in _BESIDE]
        if len(inside) != 1:
            break
        value = inside[0]
    return value


def plain_text(node: "Node", source: bytes) -> str:
    """Return a key as it is meant, without its quotes."""
    written = source[node.start_byte : node.end_byte]
    if node.type in _QUOTED:
        written = written[1:-1]
    return written.decode("utf-8", "replace")


def tokens(value: "Node", source: bytes) -> Iterator[bytes | None]:
    """Yield the tokens of a value; None where it cannot be read."""
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
        elif kind in _NAMED:
            yield _text(item, source)
        elif item.child_count == 0 or kind == "plain_scalar":
            yield b"p:" + _folded(_text(item, source))
        else:
            shape = _SHAPES.get(kind)
            stack.extend((b">",) if shape else ())
            stack.extend(reversed(item.children))
            stack.extend((shape,) if shape else ())


def _text(node: "Node", source: bytes) -> bytes:
    return source[node.start_byte : node.end_byte]


def _quoted(written: bytes, *, is_yaml: bool) -> bytes:
    """Return what a string in quotes is, however it is quoted."""
    quote = written[:1]
    if not is_yaml and written[:3] == quote * 3 and len(written) >= 6:
        inside = written[3:-3].removeprefix(b"\n")
    else:
        inside = written[1:-1]
    if is_yaml:
        inside = _folded(inside)
        if quote == b"'":
            return b"s:" + inside.replace(b"''", b"'")
    if quote == b'"' and b"\\" in inside:
        if _ESCAPED.sub(b"", inside).find(b"\\") >= 0:
            return b"e:" + inside
        inside = _ESCAPED.sub(rb"\1", inside)
    return b"s:" + inside


def _folded(written: bytes) -> bytes:
    """Return a text of YAML over several lines as it is read: a line end is a blank."""
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
    """Return a block scalar without the indentation that only says where it stands."""
    head, _, body = written.partition(b"\n")
    head = b"".join(mark for mark in (b"|", b">", b"-", b"+") if mark in head.partition(b"#")[0])
    lines = body.split(b"\n")
    depths = [len(line) - len(line.lstrip(b" ")) for line in lines if line.strip()]
    depth = min(depths, default=0)
    text = b"\n".join(line[depth:] for line in lines)
    return head + b"\n" + (text if b"+" in head else text.rstrip())
