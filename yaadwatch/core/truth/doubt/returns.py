"""What does a function return? Read from its syntax tree, where it is one literal and no other.

A function of which that cannot be said for certain has no answer: one that returns in several
places or only under a condition, that yields, or whose value is worked out.
"""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.references import values
from yaadwatch.core.truth import definitions

if TYPE_CHECKING:
    from tree_sitter import Node

_RETURNS = frozenset(("return_statement", "return_expression", "return"))
_LISTS = frozenset(("expression_list", "argument_list"))
_BLOCKS = frozenset(
    (
        *("block", "statement_block", "compound_statement", "body_statement", "statements"),
        *("statement_list",),
    )
)
_AROUND = frozenset(
    (
        *("arrow_function", "function_expression", "function_body", "getter", "accessor_list"),
        *("accessor_declaration", "computed_property", "arrow_expression_clause"),
    )
)
"""What stands between a function's name and its body, in some language."""
_BODIES = ("body", "value", "computed_value", "accessors")
_COMMENTS = frozenset(("comment", "line_comment", "block_comment", "multiline_comment"))
_ENDS_WITH = frozenset(("method", "singleton_method", "function_item"))
"""Functions that return their last expression (Ruby, Rust)."""
_IS_ALL = frozenset(("function_declaration", "property_declaration"))
"""Functions that return their expression where it is all that they have (Swift)."""


def given(source: bytes, path: str, symbol: str) -> str | None:
    """Return the one literal that a function returns, see `values.literal`; None: no opinion.

    Args:
        source: the file's bytes.
        path: its name, which tells the language.
        symbol: a name, or names joined as `definitions.define` takes them.
    """
    found = definitions.function(source, path, symbol)
    if found is None:
        return None
    node, source = found
    returns = 0
    stack = [node]
    while stack:
        one = stack.pop()
        returns += _is_return(one, source)
        if "yield" in one.type:
            return None
        stack.extend(one.children)
    value = _value(node, source, returns)
    return values.literal(_text(value, source)) if value is not None else None


def _value(function: "Node", source: bytes, returns: int) -> "Node | None":
    """Return what a function returns at its end, when it returns nowhere else."""
    body = _body(function)
    if body is None:
        return None
    if body.type not in _BLOCKS:
        return body if not returns else None
    said = _said(body)
    while len(said) == 1 and said[0].type in _BLOCKS:
        said = _said(said[0])
    if not said:
        return None
    last = said[-1]
    inner = _said(last)[0] if last.type == "expression_statement" and _said(last) else last
    if _is_return(inner, source):
        return _only(inner) if returns == 1 else None
    is_value = function.type in _ENDS_WITH or (function.type in _IS_ALL and len(said) == 1)
    return last if is_value and not returns and last is inner else None


def _body(function: "Node") -> "Node | None":
    """Return the block that a function runs, or the expression that it is; None: neither."""
    node = function
    while node is function or node.type in _AROUND:
        inner = next(filter(None, map(node.child_by_field_name, _BODIES)), None)
        if inner is None:
            said = _said(node)
            parts = said if node is not function else [one for one in said if one.type in _AROUND]
            if len(parts) != 1:
                return None
            inner = parts[0]
        node = inner
    return node


def _said(node: "Node") -> "list[Node]":
    return [one for one in node.named_children if one.type not in _COMMENTS]


def _only(returns: "Node") -> "Node | None":
    """Return the one value that is returned; None when there are several, or none."""
    if returns.type == "command":  # of a shell: `return 1`
        return returns.child_by_field_name("argument") if len(_said(returns)) == 2 else None
    said = _said(returns)
    while len(said) == 1 and said[0].type in _LISTS:
        if any(child.type == "," for child in said[0].children):
            return None  # `return 3,` of Python returns a tuple
        said = _said(said[0])
    return said[0] if len(said) == 1 else None


def _is_return(node: "Node", source: bytes) -> bool:
    if node.type in {"control_transfer_statement", "command"}:
        return bool(re.match(rb"return\b", source[node.start_byte : node.end_byte]))
    return node.is_named and node.type in _RETURNS


def _text(node: "Node", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace")
