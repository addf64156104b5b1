"""Where is a Python definition, and what does it say apart from its formatting?

The fingerprint is taken from what the syntax tree means, see `meaning`, so that a formatter changes
nothing.
"""

import functools
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from yaadwatch.core.truth.meaning import meaning
from yaadwatch.model.settings import DEFINITIONS_MAX

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_STEPS_MAX = 40_000
_LOST_STEPS_MAX = 2_000
"""Steps of the parser, and those after an error. 2 MiB of source take 11,000; without limits, 2 MiB
of anything else take half a minute, in which no other thread runs."""

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

    A whole qualified name is preferred to the end of one: `limit` is the function of the module,
    and only where there is none, the methods of that name. All that is defined under the name
    counts (overloads, branches of an `if`), up to three.

    Args:
        source: the file's bytes; anything at all.
        symbol: a name, or names joined with '.', '::' or '#' (`Class.method`); a module
            in front is ignored.
    """
    source = source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    root = _parse(source)
    if root is None:
        return Definition(state=State.BROKEN)
    # The parser takes any indentation for an end of a class; Python does not.
    broken = root.has_error or any(
        child.type in _COMPOUND and _is_indented(child, source) for child in root.named_children
    )
    defined = list(_definitions(root, source, broken=broken))
    nodes = _matching(defined, symbol.replace("::", ".").replace("#", "."))
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
    line = nodes[0].start_point[0] + 1
    return Definition(state=State.FOUND, line=line, fingerprint=digest.hexdigest())


@functools.cache
def _language() -> "Language":
    import tree_sitter_python
    from tree_sitter import Language

    return Language(tree_sitter_python.language())


def _parse(source: bytes) -> "Node | None":
    """Return the syntax tree, or None when that would take too long."""
    from tree_sitter import Parser

    steps = lost = 0

    def is_too_much(_offset: int, after_error: bool) -> bool:
        nonlocal steps, lost
        steps += 1
        lost += after_error
        return steps > _STEPS_MAX or lost > _LOST_STEPS_MAX

    whole = memoryview(source)
    try:
        tree = Parser(_language()).parse(
            lambda offset, _point: whole[offset:], progress_callback=is_too_much
        )
    except ValueError:  # what the parser raises when it was told to stop
        return None
    return tree.root_node


_Named = tuple[list[str], "Node"]


def _matching(defined: list[_Named], symbol: str) -> list["Node"]:
    """Return the nodes that `symbol` means, in the order of the file."""
    wanted = symbol.split(".")
    if "" in wanted:
        return []
    whole = [node for name, node in defined if name == wanted]
    ending = [node for name, node in defined if name[-len(wanted) :] == wanted]
    nodes = whole or ending or _in_module(defined, wanted)
    return sorted(nodes, key=lambda node: node.start_byte)


def _in_module(defined: list[_Named], wanted: list[str]) -> list["Node"]:
    """Return what `wanted` means when its first names are those of packages and a module."""
    own = {tuple(name[start:]) for name, _ in defined for start in range(len(name))}
    for packages in range(1, len(wanted)):
        if any(tuple(wanted[start:packages]) in own for start in range(packages)):
            return []  # what is in front is no module: it is defined here, and lacks the rest
        found = [node for name, node in defined if name == wanted[packages:]]
        if found:
            return found
    return []


def _definitions(root: "Node", source: bytes, *, broken: bool) -> Iterator[_Named]:
    """Yield (qualified name, node): functions, classes, and what modules and classes assign.

    In a broken file the parser may lose a class and take its members for the module's; those are
    known by their indentation and passed over, because nobody can say whose they are.
    """
    stack: list[tuple[list[str], bool, Node]] = [([], True, root)]
    while stack:
        scope, fields_count, node = stack.pop()
        below: list[tuple[list[str], bool, Node]] = []
        for child in node.named_children:
            if broken and node.parent is None and _is_indented(child, source):
                continue
            definition = child.child_by_field_name("definition") or child
            if definition.type in ("function_definition", "class_definition"):
                name = [*scope, _text(definition.child_by_field_name("name"), source)]
                yield name, child
                body = definition.child_by_field_name("body")
                if body is not None:
                    below.append((name, definition.type == "class_definition", body))
            elif definition.type in _BLOCKS:
                below.append((scope, fields_count, definition))
            elif fields_count:
                for name_text in _assigned(definition, source):
                    yield [*scope, name_text], definition
        stack.extend(reversed(below))


def _in_conflict(node: "Node", source: bytes) -> bool:
    """Return whether a merge conflict begins in a definition, or where its body would go on.

    The parser takes the marker, which is not indented, for the end of the definition.
    """
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
    """Yield the names that a statement of a module or class gives a value or a type."""
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
