"""Normal forms of shell: what shfmt writes in another way."""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.truth.normal_forms.common import code, named, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.core.truth.normal_forms.common import Rule

_REDIRECT = re.compile(rb"^<<(-?)[ \t]*")
_TABS = re.compile(rb"\n\t+")
_INDENT = re.compile(rb"\n[ \t]+")


def _substitution(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`` `a` `` is `$(a)`."""
    if text(node, source)[:1] != b"`":
        return None
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


def _misread(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return lines between two `\\'`, which the grammar takes for quotes, without indentation."""
    before = source[: node.start_byte]
    if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
        return None
    return [_INDENT.sub(b"\n", text(node, source))]


SHELL: "Mapping[str, Rule]" = {
    "command_substitution": _substitution,
    "redirected_statement": _redirected,
    "heredoc_redirect": _heredoc,
    "raw_string": _misread,
}
