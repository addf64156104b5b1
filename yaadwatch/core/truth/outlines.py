"""Which definitions a file holds: one query of its syntax tree, read from the top down.

Scopes are told by what encloses what, never by asking a node for its parent: that question takes
as long as the file is large.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yaadwatch.core.truth.found import Kind
from yaadwatch.core.truth.language import Language, Role, patterns, rules_by_type
from yaadwatch.core.truth.naming import Name
from yaadwatch.core.truth.parsing import query

if TYPE_CHECKING:
    from tree_sitter import Node

_KINDS = {Role.FUNCTION: Kind.FUNCTION, Role.TYPE: Kind.TYPE, Role.VALUE: Kind.VALUE}
_NAMES_MAX = 64
"""More names than this in one statement are a table of data; the first ones are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition in its tree.

    Args:
        name: its scopes, outermost first, and its own name.
        kind: what is defined.
        node: the definition, without its shells.
        shells: what stands directly around it and is a part of it, outermost first.
        is_lost: it stands where the parser gave up, so its scopes may be missing.
    """

    name: Name
    kind: Kind
    node: "Node"
    shells: "tuple[Node, ...]" = ()
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class _Open:
    """A node that is being read; `role` None: an error."""

    end: int
    name: Name
    role: Role | None
    node: "Node"


def definitions(root: "Node", source: bytes, language: Language) -> Iterator[Found]:
    """Yield the definitions of a file, an outer one before those in it.

    What a function around a module assigns is one where nothing else in the file has its name.
    """
    modules = {one.id for one in language.wrappers(root, source)} if language.wrappers else set()
    found = list(_definitions(root, source, language, modules))
    named = Counter(one.name[-1] for one, _ in found)
    yield from (one for one, wrapped in found if not wrapped or named[one.name[-1]] == 1)


def _definitions(
    root: "Node", source: bytes, language: Language, modules: Collection[int]
) -> "Iterator[tuple[Found, bool]]":
    """Yield the definitions, and of each whether it is a value of a function around a module."""
    rules = rules_by_type(language)
    stack: list[_Open] = []
    for node in _captured(root, language):
        start, end = node.start_byte, node.end_byte
        while stack and stack[-1].end <= start:
            stack.pop()
        rule = rules.get(node.type)
        if rule is None:
            stack.append(_Open(end, stack[-1].name if stack else (), None, node))
            continue
        role = Role.SCOPE if node.id in modules else language.role_of(node, rule)
        scope = stack[-1].name if stack else ()
        if role is Role.VALUE and _is_local(stack):
            continue
        is_wrapped = role is Role.VALUE and any(one.node.id in modules for one in stack)
        names = [] if role in (Role.SHELL, Role.BLOCK) else list(rule.names(node, source))
        kind = _KINDS.get(role)
        if kind is not None:
            shells = _shells(stack)
            is_lost = any(one.role is None for one in stack)
            for name in filter(None, names[:_NAMES_MAX]):  # `$` is none
                whole = (*scope, *name)
                own = Found(name=whole, kind=kind, node=node, shells=shells, is_lost=is_lost)
                yield own, is_wrapped
        if names or kind is None:
            inner = (*scope, *names[0]) if names else scope
            stack.append(_Open(end, inner, role, node))


def errors(root: "Node", language: Language) -> "Iterator[Node]":
    """Yield the places where the parser gave up."""
    for node in _captured(root, language):
        if node.type == "ERROR":
            yield node


def _captured(root: "Node", language: Language) -> "list[Node]":
    from tree_sitter import QueryCursor

    found = QueryCursor(query(language.module, language.function, patterns(language)))
    nodes = found.captures(root).get("it", [])
    return sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))


def _is_local(stack: list[_Open]) -> bool:
    """Return whether what is assigned here is the affair of a function."""
    for one in reversed(stack):
        if one.role in (Role.FUNCTION, Role.BLOCK):
            return True
        if one.role in (Role.TYPE, Role.SCOPE):
            return False
    return False


def _shells(stack: list[_Open]) -> "tuple[Node, ...]":
    count = 0
    while count < len(stack) and stack[-1 - count].role is Role.SHELL:
        count += 1
    return tuple(one.node for one in stack[len(stack) - count :])
