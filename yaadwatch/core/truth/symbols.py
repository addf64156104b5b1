"""Where is a Python definition, and what does it say apart from its formatting?

The fingerprint is taken from the syntax tree: comments, documentation strings, brackets that only
group, trailing commas, quotes and line breaks leave no trace, so that a formatter changes nothing.
A class is fingerprinted by its outline (bases, fields, names of its members), not by the bodies of
its methods.
"""

import functools
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from yaadwatch.model.settings import DEFINITIONS_MAX

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_SKIPPED = frozenset({"comment", "line_continuation", ",", "(", ")", ";"})
_GROUPING = frozenset({"parenthesized_expression"})
_SAME_THING = {"expression_list": "tuple", "pattern_list": "tuple_pattern"}
_BLOCKS = frozenset(
    (
        *("module", "block", "if_statement", "elif_clause", "else_clause", "with_statement"),
        *("try_statement", "except_clause", "finally_clause", "for_statement"),
        *("while_statement", "match_statement", "case_clause"),
    )
)


class State(StrEnum):
    """What became of the search for a definition."""

    FOUND = "found"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"
    BROKEN = "broken"  # the file cannot be parsed where it matters


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition, or why there is none. `line` counts from 1; `fingerprint` is SHA-256, hex."""

    state: State
    line: int | None = None
    fingerprint: str = ""


def is_python(path: str) -> bool:
    """Return whether the definitions of this file can be found here."""
    return path.endswith((".py", ".pyi"))


def define(source: bytes, symbol: str) -> Definition:
    """Return the definition of `symbol` in Python source; never raises.

    Args:
        source: the file's bytes; anything at all.
        symbol: a name, or names joined with '.', '::' or '#' (`Class.method`); a module
            in front is ignored.
    """
    wanted = symbol.replace("::", ".").replace("#", ".").split(".")
    root = _parse(source)
    exact: list[Node] = []
    looser: list[Node] = []
    for name, node in _definitions(root):
        if name[-len(wanted) :] == wanted:
            exact.append(node)
        elif len(name) < len(wanted) and wanted[-len(name) :] == name:
            looser.append(node)
    nodes = exact or looser
    if not nodes:
        return Definition(state=State.BROKEN if root.has_error else State.MISSING)
    if len(nodes) > DEFINITIONS_MAX:
        return Definition(state=State.AMBIGUOUS)
    if any(node.has_error for node in nodes):
        return Definition(state=State.BROKEN)
    digest = hashlib.sha256()
    for node in nodes:
        for token in _meaning(node):
            digest.update(token)
            digest.update(b"\0")
    line = nodes[0].start_point[0] + 1
    return Definition(state=State.FOUND, line=line, fingerprint=digest.hexdigest())


@functools.cache
def _language() -> "Language":
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def _parse(source: bytes) -> "Node":
    from tree_sitter import Parser

    return Parser(_language()).parse(source).root_node


def _definitions(root: "Node") -> Iterator[tuple[list[str], "Node"]]:
    """Yield (qualified name, node): functions, classes, and what modules and classes assign."""
    stack: list[tuple[list[str], bool, Node]] = [([], True, root)]
    while stack:
        scope, fields_count, node = stack.pop()
        below: list[tuple[list[str], bool, Node]] = []
        for child in node.named_children:
            inner = (
                child.child_by_field_name("definition")
                if child.type == "decorated_definition"
                else None
            )
            definition = inner or child
            if definition.type in ("function_definition", "class_definition"):
                name = [*scope, _text(definition.child_by_field_name("name"))]
                yield name, child
                body = definition.child_by_field_name("body")
                if body is not None:
                    below.append((name, definition.type == "class_definition", body))
            elif definition.type in _BLOCKS:
                below.append((scope, fields_count, definition))
            elif fields_count and definition.type == "expression_statement":
                for name_text in _assigned(definition):
                    yield [*scope, name_text], definition
        stack.extend(reversed(below))


def _assigned(statement: "Node") -> Iterator[str]:
    for child in statement.named_children:
        if child.type in ("assignment", "augmented_assignment"):
            left = child.child_by_field_name("left")
            if left is not None and left.type == "identifier":
                yield _text(left)


def _meaning(definition: "Node") -> Iterator[bytes]:
    """Yield the tokens of what a definition means, with the shape of the tree between them."""
    inner = definition.child_by_field_name("definition") or definition
    if inner.type == "class_definition":
        yield from _outline(definition, inner)
        return
    stack: list[Node | bytes] = [definition]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            yield item
        elif item.type in _SKIPPED:
            continue
        elif item.type == "string":
            yield _string(item)
        elif item.child_count == 0:
            yield item.text or b""
        elif item.type in _GROUPING:
            stack.extend(reversed(item.children))
        else:
            children = item.children
            if item.type == "block" and children and _is_documentation(children[0]):
                children = children[1:]
            yield b"<" + _SAME_THING.get(item.type, item.type).encode()
            stack.append(b">")
            stack.extend(reversed(children))


def _outline(definition: "Node", inner: "Node") -> Iterator[bytes]:
    yield b"<class " + (_text(inner.child_by_field_name("name")).encode())
    for child in definition.children:
        if child.type == "decorator":
            yield from _meaning(child)
    bases = inner.child_by_field_name("superclasses")
    if bases is not None:
        yield from _meaning(bases)
    body = inner.child_by_field_name("body")
    for child in body.named_children if body is not None else []:
        member = child.child_by_field_name("definition") or child
        if member.type in ("function_definition", "class_definition"):
            yield b"<member " + _text(member.child_by_field_name("name")).encode()
        elif member.type == "expression_statement" and not _is_documentation(member):
            yield from _meaning(member)


def _is_documentation(node: "Node") -> bool:
    return (
        node.type == "expression_statement"
        and len(node.named_children) == 1
        and node.named_children[0].type in ("string", "concatenated_string")
    )


def _string(node: "Node") -> bytes:
    """Return a string literal without its quotes, so that a change of quotes is none."""
    if any(child.type == "interpolation" for child in node.children):
        parts = (b"".join((child.text or b"").split()) for child in node.named_children[1:-1])
        return b"f:" + b"".join(parts)
    text = node.text or b""
    prefix = text[: min(text.find(quote) for quote in (b'"', b"'") if quote in text)].lower()
    content = b"".join(
        child.text or b"" for child in node.children if child.type == "string_content"
    )
    if b"r" not in prefix:
        content = content.replace(b"\\'", b"'").replace(b'\\"', b'"')
    return prefix.replace(b"u", b"") + b":" + content


def _text(node: "Node | None") -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""
