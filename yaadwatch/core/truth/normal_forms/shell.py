"""Normal forms of shell: what shfmt writes in another way."""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.truth.normal_forms.common import bare, code, named, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.core.truth.normal_forms.common import Rule

_REDIRECT = re.compile(rb"^<<(-?)[ \t]*")
_TABS = re.compile(rb"\n\t+")
_INDENT = re.compile(rb"\n[ \t]+")
_OF_DOUBLE = re.compile(rb"\\([\\\"$`])")
_EXPANSIONS = frozenset(("simple_expansion", "expansion", "command_substitution"))
_COUNTED = frozenset(
    (
        *("arithmetic_expansion", "compound_statement", "binary_expression", "unary_expression"),
        *("ternary_expression", "postfix_expression"),
    )
)
_DEPTH_MAX = 50


def _substitution(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`` `a` `` is `$(a)`."""
    if text(node, source)[:1] != b"`":
        return _subshell(node, source)
    return wrapped(b"command_substitution", [b"$(", *named(node), b")"])


def _redirected(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`a >b c` is `a c >b`; the grammar takes `c` for another file."""
    body = node.child_by_field_name("body")
    if body is None or body.type != "command":
        return None
    arguments: list[Node | bytes] = []
    redirects: list[Node | bytes] = []
    for one in code(node):
        further = one.children_by_field_name("destination")[1:]
        arguments += further
        if further:
            inside = [child for child in code(one) if child not in further]
            redirects += wrapped(one.type.encode(), [*inside])
        elif one != body:
            redirects.append(one)
    if not arguments:
        return None
    command = wrapped(b"command", [*code(body), *arguments])
    return wrapped(b"redirected_statement", [*command, *redirects])


def _heredoc(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`<< A` is `<<A`; behind `<<-` tabs at the start of a line do not count."""
    found: list[Node | bytes] = []
    at = node.start_byte
    inside = [
        one
        for child in node.children
        for one in (child.children if child.type == "heredoc_body" else (child,))
    ]
    for child in inside:
        if child.child_count:
            found += [source[at : child.start_byte], child]
            at = child.end_byte
    found.append(source[at : node.end_byte])
    start = found[0]
    if isinstance(start, bytes):
        found[0] = _REDIRECT.sub(rb"<<\1", start)
    if text(node, source).startswith(b"<<-"):
        found = [_TABS.sub(b"\n", one) if isinstance(one, bytes) else one for one in found]
    return found


def _raw(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a text in single quotes; lines between two `\\'`, which the grammar takes for quotes,
    without indentation.
    """
    before = source[: node.start_byte]
    if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
        return None
    return [_INDENT.sub(b"\n", text(node, source))]


def _string(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"\\$a"` is `'$a'`."""
    if any(child.type not in ('"', "string_content") for child in node.children):
        return None
    said = _OF_DOUBLE.sub(rb"\1", text(node, source)[1:-1])
    return [b"'" + said + b"'"] if b"'" not in said else None


def _subshell(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`((a))` is `(a)`, and `$((a))` is `$(a)`."""
    inside = code(node)
    if len(inside) != 3 or inside[1].type != "subshell":
        return None
    return wrapped(node.type.encode(), [inside[0], *code(inside[1])[1:-1], inside[2]])


def _test(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`[[ ! -z "$a" ]]` is `[[ -n $a ]]`."""
    inside = code(node)
    if inside[0].type != "[[" or len(inside) != 3:
        return None
    return wrapped(b"test_command", [inside[0], *_tested(inside[1], source), inside[2]])


def _tested(node: "Node", source: bytes, depth: int = 0) -> "list[Node | bytes]":
    """Return an operand of `[[` without quotes that do nothing there, and negations joined."""
    node = bare(node)
    inside = code(node)
    kind = node.type
    if depth > _DEPTH_MAX or kind not in ("string", "unary_expression", "binary_expression"):
        return [node]
    if kind == "string":
        return [inside[1]] if len(inside) == 3 and inside[1].type in _EXPANSIONS else [node]
    found: list[Node | bytes] = [
        part
        for at, child in enumerate(inside)
        for part in (
            [child] if at == 2 and _is_pattern(inside[1]) else _tested(child, source, depth + 1)
        )
    ]
    operator = text(inside[1 if kind == "binary_expression" else 0], source)
    if kind == "unary_expression" and operator == b"!" and len(inside) == 2:
        return _negated(found[1:], source)
    if operator == b"=":
        found = [b"==" if one == inside[1] else one for one in found]
    return wrapped(kind.encode(), found)


def _negated(found: "list[Node | bytes]", source: bytes) -> "list[Node | bytes]":
    """Return `! -z a` as `-n a`."""
    opposite = {b"-z": b"-n", b"-n": b"-z"}
    if len(found) > 1 and found[0] == b"<unary_expression" and not isinstance(found[1], bytes):
        operator = opposite.get(text(found[1], source))
        if operator is not None:
            return [found[0], operator, *found[2:]]
    return wrapped(b"unary_expression", [b"!", *found])


def _is_pattern(operator: "Node") -> bool:
    """Return whether quotes on the right of an operator make a pattern a plain text."""
    return operator.type in ("==", "=", "!=", "=~")


def _arithmetic(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`$(( ($a + 1) ))` is `$((a + 1))`."""
    inside = code(node)
    if inside[0].type not in ("$((", "(("):
        return None
    return _counted(node, source)


def _counted(node: "Node", source: bytes, depth: int = 0) -> "list[Node | bytes]":
    node = bare(node)
    inside = code(node)
    if node.type in ("simple_expansion", "expansion"):
        names = [one for one in inside if one.type == "variable_name"]
        is_plain = len(names) == 1 and len(inside) == (3 if node.type == "expansion" else 2)
        return [names[0]] if is_plain and not text(names[0], source).isdigit() else [node]
    if depth > _DEPTH_MAX or node.type not in _COUNTED:
        return [node]
    parts = [part for one in inside for part in _counted(one, source, depth + 1)]
    return wrapped(node.type.encode(), parts)


SHELL: "Mapping[str, Rule]" = {
    "command_substitution": _substitution,
    "redirected_statement": _redirected,
    "heredoc_redirect": _heredoc,
    "raw_string": _raw,
    "string": _string,
    "subshell": _subshell,
    "test_command": _test,
    "arithmetic_expansion": _arithmetic,
    "compound_statement": _arithmetic,
}
