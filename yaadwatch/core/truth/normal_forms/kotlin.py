"""Normal forms of Kotlin: what ktlint and its like write in another way."""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.truth.normal_forms import strings
from yaadwatch.core.truth.normal_forms.common import (
    COMMENTS,
    code,
    named,
    nested_once,
    text,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.core.truth.normal_forms.common import Rule

_WORD = re.compile(rb"[\w\x80-\xff]")
_OF_ANNOTATIONS = frozenset(
    (
        *("annotated_expression", "annotation", "constructor_invocation", "user_type"),
        *("parenthesized_expression", "value_arguments", "value_argument"),
    )
)
_LAST_QUOTES = re.compile(rb"\n[ \t]*\"\"\"$")


def _body(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`{ return a }` is `= a`."""
    block = node.named_children[0] if node.named_child_count == 1 else None
    only = named(block) if block is not None and block.type == "block" else []
    if len(only) != 1 or only[0].type not in ("return_expression", "throw_expression"):
        return None
    value = named(only[0])
    if only[0].type == "return_expression" and len(value) == 1 and only[0].child_count == 2:
        return wrapped(b"function_body", [b"=", value[0]])
    if only[0].type == "throw_expression":
        return wrapped(b"function_body", [b"=", only[0]])
    return None


def _branches(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`-> { a }` is `-> a`, and `if (a) { b } else { c }` is `if (a) b else c`."""
    found: list[Node | bytes] = []
    has_braces = False
    inside = code(node)
    for at, one in enumerate(inside):
        only = named(one) if one.type == "block" else []
        if len(only) == 1 and not only[0].type.endswith("_declaration"):
            found.append(only[0])
            has_braces = True
        elif one.type != "," or inside[at + 1].type != "->":
            found.append(one)
    return wrapped(node.type.encode(), found) if has_braces else None


def _no_unit(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`fun a(): Unit` is `fun a()`."""
    inside = code(node)
    for at, one in enumerate(inside):
        if one.type == "user_type" and text(one, source) == b"Unit" and inside[at - 1].type == ":":
            return wrapped(node.type.encode(), [*inside[: at - 1], *inside[at + 1 :]])
    return None


def _entries(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`enum class A { B, ; }` is `enum class A { B }`."""
    inside = code(node)
    end = len(inside) - 1
    while end and inside[end - 1].type in (";", ","):
        end -= 1
    if end == len(inside) - 1:
        return None
    return wrapped(b"enum_class_body", [*inside[:end], inside[-1]])


def _property(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """Return a property with its annotations in front of it, as `_annotated` gives them."""
    modifiers, *others = code(node)
    if modifiers.type != "modifiers":
        return None
    annotations = [one for one in code(modifiers) if one.type == "annotation"]
    rest: list[Node | bytes] = [one for one in code(modifiers) if one not in annotations]
    if not annotations:
        return None
    inside = [*(wrapped(b"modifiers", rest) if rest else []), *others]
    return [*_flat(annotations), *wrapped(b"property_declaration", inside)]


def _annotated(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """Return `@A("b")` on the line above a local property.

    The grammar at times takes it for an expression of its own.
    """
    following = node.next_named_sibling
    while following is not None and following.type in COMMENTS:
        following = following.next_named_sibling
    is_above = following is not None and following.type == "property_declaration"
    return _flat([node]) if is_above else None


def _flat(nodes: "list[Node]") -> "list[Node | bytes]":
    found: list[Node | bytes] = []
    for node in nodes:
        found += _flat(code(node)) if node.type in _OF_ANNOTATIONS else [node]
    return found


def _string(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"${a} b"` is `"$a b"`; the last three quotes of a text may be indented as one likes."""
    found = _pieces(node, source)
    last = found.pop()
    return [*found, _LAST_QUOTES.sub(b'\n"""', last) if isinstance(last, bytes) else last]


def _pieces(node: "Node", source: bytes) -> "list[Node | bytes]":
    """Return the constant parts of a string, and the code between them; a constant is last."""
    found: list[Node | bytes] = []
    said, at = b"", node.start_byte
    for child in node.children:
        if child.type != "interpolation":
            continue
        said += source[at : child.start_byte]
        at = child.end_byte
        inside = named(child)
        if len(inside) != 1 or inside[0].type != "identifier":
            found += [said, child]
            said = b""
        elif _WORD.match(source[at : at + 1]):
            said += b"${" + text(inside[0], source) + b"}"
        else:
            said += b"$" + text(inside[0], source)
    return [*found, said + source[at : node.end_byte]]


def _trimmed(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a text that `trimIndent()` is called on without the indentation that this removes."""
    does, given = (*code(node), None, None)[:2]
    inside = code(does) if does is not None and does.type == "navigation_expression" else []
    if (
        given is None
        or named(given)
        or [one.type for one in inside] != ["multiline_string_literal", ".", "identifier"]
        or text(inside[2], source) != b"trimIndent"
        or not text(inside[0], source).startswith(b'"""')
    ):
        return None
    found = _pieces(inside[0], source)
    if any(b"\0" in one for one in found if isinstance(one, bytes)):
        return None
    # A piece of code stands for a letter: its line has words, and its own lines do not count.
    written = b"\0".join(one for one in found if isinstance(one, bytes))
    lines = written[3:-3].split(b"\n")
    depth = strings.indentation(lines)
    lines = [line[depth:] if line.strip() else b"" for line in lines]
    lines = lines[not lines[0] : len(lines) - (len(lines) > 1 and not lines[-1])]
    constants = iter(b"\n".join(lines).split(b"\0"))
    parts = [next(constants) if isinstance(one, bytes) else one for one in found]
    return wrapped(b"trimIndent", parts)


KOTLIN: "Mapping[str, Rule]" = {
    "parenthesized_expression": nested_once,
    "function_body": _body,
    "function_declaration": _no_unit,
    "enum_class_body": _entries,
    "string_literal": _string,
    "multiline_string_literal": _string,
    "property_declaration": _property,
    "annotated_expression": _annotated,
    "call_expression": _trimmed,
    "when_entry": _branches,
    "if_expression": _branches,
    "for_statement": _branches,
    "while_statement": _branches,
    "do_while_statement": _branches,
}
