"""Normal forms of JSX: text is compared as it is shown, attributes without their quotes."""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.truth.normal_forms.common import named, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.core.truth.normal_forms.common import Rule

_WORDS = frozenset(("jsx_text", "html_character_reference"))
_SPACES = re.compile(rb"\s+")
_BLANK = re.compile(rb"\{\s*(?:\"\s+\"|'\s+')\s*\}")
_CLASSES = frozenset((b"class", b"className"))


def _element(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return an element with its text as it is shown: lines are joined, `{" "}` is a blank."""
    children = node.children
    if len(children) < 2:
        return None
    found: list[Node | bytes] = [children[0]]
    said, at = b"", children[0].end_byte
    for child in children[1:]:
        if child.type in _WORDS:
            continue
        said += _shown(source[at : child.start_byte])
        at = child.end_byte
        if child.type == "jsx_expression" and _BLANK.fullmatch(text(child, source)):
            said += b" "
            continue
        if child.type == "jsx_expression" and child.named_child_count and not named(child):
            continue  # a comment
        found += [b"t:" + _SPACES.sub(b" ", said)] if said else []
        found.append(child)
        said = b""
    return wrapped(b"jsx_element", found)


def _shown(written: bytes) -> bytes:
    """Return text between two tags: a line end with the blanks around it shows as one blank.

    It shows as nothing where only it stands between the two, or next to one of them.
    """
    if b"\n" not in written:
        return written
    first, *lines = written.split(b"\n")
    last = lines.pop()
    parts = (first.rstrip(), *(line.strip() for line in lines), last.lstrip())
    return b" ".join(part for part in parts if part)


def _attribute(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`a='b'` and `a={"b"}` are `a="b"`."""
    inside = named(node)
    if len(inside) != 2:
        return None
    name, value = inside
    written = text(value, source)
    if value.type == "jsx_expression":
        only = named(value)
        if len(only) != 1 or only[0].type != "string":
            return None
        written = text(only[0], source)
        if b"\\" in written or b"\n" in written or b"&" in written:
            return None
    elif value.type != "string":
        return None
    plain = written[1:-1].replace(b"&apos;", b"'").replace(b"&quot;", b'"')
    if text(name, source) in _CLASSES:
        plain = b" ".join(plain.split())
    return wrapped(b"jsx_attribute", [name, b"=", b"a:" + plain])


JSX: "Mapping[str, Rule]" = {
    "jsx_element": _element,
    "jsx_fragment": _element,
    "jsx_attribute": _attribute,
}
