"""Find Python definitions and their fingerprints, which formatting does not change."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yaadwatch.anchors.meaning import meaning
from yaadwatch.anchors.naming import Definition, Kind, Named, State, matching
from yaadwatch.anchors.parsing import grammar, parse, unified
from yaadwatch.model.settings import DEFINITIONS_MAX

if TYPE_CHECKING:
    from tree_sitter import Node


_BLOCKS = frozenset(
    (
        *("module", "block", "if_statement", "elif_clause", "else_clause", "with_statement"),
        *("try_statement", "except_clause", "finally_clause", "for_statement"),
        *("while_statement", "match_statement", "case_clause", "ERROR"),
    )
)
_CONFLICT = re.compile(rb"^<{7}.*\n(?:\|{7}.*\n)?(?:={7}.*\n)?([ \t]*)", re.MULTILINE)
_COMPOUND = frozenset({"function_definition", "class_definition", "decorated_definition"})
_ASSIGNMENTS = frozenset({"assignment", "augmented_assignment"})
_TARGETS = frozenset({"pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern"})


@dataclass(frozen=True, slots=True)
class _Found:
    """A definition: `node` with its decorators."""

    name: tuple[str, ...]
    kind: Kind
    node: "Node"


def define(source: bytes, symbol: str) -> Definition:
    """Return the definition of `symbol` in Python source; see `definitions.define`."""
    source = unified(source)
    root = parse(source, grammar("tree_sitter_python"))
    if root is None:
        return Definition(state=State.BROKEN)
    broken = _is_broken(root, source)
    found = matching(list(_definitions(root, source, broken=broken)), symbol)
    nodes = sorted((one.node for one in found), key=lambda node: node.start_byte)
    if not nodes:
        return Definition(state=State.BROKEN if broken else State.MISSING)
    if len(nodes) > DEFINITIONS_MAX:
        return Definition(state=State.AMBIGUOUS)
    if any(node.has_error or (broken and _in_conflict(node, source)) for node in nodes):
        return Definition(state=State.BROKEN)
    digest = hashlib.sha256()
    for node in nodes:
        for token in meaning(node, source):
            digest.update(token)
            digest.update(b"\0")
    return Definition(
        state=State.FOUND,
        line=nodes[0].start_point[0] + 1,
        end_line=nodes[0].end_point[0] + 1,
        fingerprint=digest.hexdigest(),
    )


def names(source: bytes) -> Sequence[Named]:
    """Return all definitions of a Python file in order; none when it cannot be parsed."""
    source = unified(source)
    root = parse(source, grammar("tree_sitter_python"))
    if root is None:
        return ()
    found = _definitions(root, source, broken=_is_broken(root, source))
    return [
        Named(
            name=".".join(one.name),
            kind=one.kind,
            line=one.node.start_point[0] + 1,
            end_line=one.node.end_point[0] + 1,
        )
        for one in sorted(found, key=lambda one: one.node.start_byte)
    ]


def _is_broken(root: "Node", source: bytes) -> bool:
    """Return whether part of the file cannot be parsed.

    The parser accepts any dedent as the end of a class; Python does not.
    """
    return root.has_error or any(
        child.type in _COMPOUND and _is_indented(child, source) for child in root.named_children
    )


def _definitions(root: "Node", source: bytes, *, broken: bool) -> Iterator[_Found]:
    """Yield the functions and classes of a file, and the assignments of modules and classes.

    In a broken file the parser may lose a class and attribute its members to the module; such
    members are indented and skipped, because their class is unknown.
    """
    stack: list[tuple[tuple[str, ...], bool, Node]] = [((), True, root)]
    while stack:
        scope, fields_count, node = stack.pop()
        below: list[tuple[tuple[str, ...], bool, Node]] = []
        for child in node.named_children:
            if broken and node.parent is None and _is_indented(child, source):
                continue
            definition = child.child_by_field_name("definition") or child
            if definition.type in ("function_definition", "class_definition"):
                name = (*scope, _text(definition.child_by_field_name("name"), source))
                is_class = definition.type == "class_definition"
                yield _Found(name, Kind.TYPE if is_class else Kind.FUNCTION, child)
                body = definition.child_by_field_name("body")
                if body is not None:
                    below.append((name, is_class, body))
            elif definition.type in _BLOCKS:
                below.append((scope, fields_count, definition))
            elif fields_count:
                for name_text in _assigned(definition, source):
                    yield _Found((*scope, name_text), Kind.VALUE, definition)
        stack.extend(reversed(below))


def _in_conflict(node: "Node", source: bytes) -> bool:
    """Return whether a merge conflict has a definition, begins in it, or where its body would
    continue.

    The parser takes the unindented marker for the end of the definition.
    """
    if b"\n>>>>>>> " not in source[node.start_byte :]:
        return False
    above = b"\n" + source[: node.start_byte]
    if above.rfind(b"\n<<<<<<< ") > above.rfind(b"\n>>>>>>> "):
        return True
    for marker in _CONFLICT.finditer(source, node.start_byte):
        if marker.start() < node.end_byte:
            return True
        if source[node.end_byte : marker.start()].strip():
            return False
        return len(marker.group(1)) > node.start_point[1]
    return False


def _is_indented(node: "Node", source: bytes) -> bool:
    start = node.start_byte - node.start_point[1]
    return source[start : start + 1] in (b" ", b"\t")


def _assigned(statement: "Node", source: bytes) -> Iterator[str]:
    """Yield the names that a statement of a module or class assigns or annotates."""
    if statement.type == "type_alias_statement":
        left = statement.child_by_field_name("left")
        yield _text(left, source).partition("[")[0].strip()
    elif statement.type == "expression_statement":
        stack = [node for node in statement.named_children if node.type in _ASSIGNMENTS]
        while stack:
            node = stack.pop()
            if node.type in _ASSIGNMENTS:
                left, right = (node.child_by_field_name(side) for side in ("left", "right"))
                stack.extend(side for side in (right,) if side and side.type in _ASSIGNMENTS)
                stack.extend(side for side in (left,) if side)
            elif node.type == "identifier":
                yield _text(node, source)
            elif node.type in _TARGETS:
                stack.extend(reversed(node.named_children))


def _text(node: "Node | None", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node else ""
