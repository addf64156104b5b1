"""Helpers for rules that give equivalent spellings of a node one normal form.

A rule takes a node and the source. It returns the parts that the node is compared by, or None where
it does not apply and the node is compared as it stands. No rule returns its own node.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Part = "Node | bytes"
Rule = Callable[["Node", bytes], "list[Node | bytes] | None"]

COMMENTS = frozenset(("comment", "html_comment", "line_comment", "block_comment"))
_LOGICAL = frozenset((b"&&", b"||", b"??"))
_GROUPING = frozenset(
    ("parenthesized_expression", "parenthesized_type", "parenthesized_statements")
)


def text(node: "Node | None", source: bytes) -> bytes:
    """Return the bytes of a node; none for no node."""
    return source[node.start_byte : node.end_byte] if node is not None else b""


def code(node: "Node") -> "list[Node]":
    """Return the children of a node without comments."""
    return [child for child in node.children if child.type not in COMMENTS]


def named(node: "Node") -> "list[Node]":
    """Return the named children of a node without comments."""
    return [child for child in node.named_children if child.type not in COMMENTS]


def bare(node: "Node") -> "Node":
    """Return what brackets that only group stand around."""
    while node.type in _GROUPING:
        inside = named(node)
        if len(inside) != 1:
            break
        node = inside[0]
    return node


def ungrouped(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(a)` is `a`: the shape of the tree says what belongs together."""
    inside = bare(node)
    return [inside] if inside is not node else None


def nested_once(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`((a))` is `(a)`, where brackets may mean something: `(self.f)()` calls a field."""
    inside = named(node)
    if len(inside) == 1 and inside[0].type == node.type:
        return [inside[0]]
    return None


def wrapped(kind: bytes, parts: "list[Node | bytes]") -> "list[Node | bytes]":
    """Return parts as those of a node of a kind."""
    return [b"<" + kind, *parts, b">"]


def logical(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`a && (b && c)` is `(a && b) && c`."""
    operator = text(node.child_by_field_name("operator"), source)
    if operator not in _LOGICAL:
        return None
    operands: list[Node | bytes] = []
    stack = [node]
    while stack:
        one = bare(stack.pop())
        same = one.type == "binary_expression"
        if same and text(one.child_by_field_name("operator"), source) == operator:
            sides = (one.child_by_field_name("right"), one.child_by_field_name("left"))
            stack.extend(side for side in sides if side is not None)
        else:
            operands.append(one)
    return wrapped(b"binary_expression", [operator, *operands])
