"""How each language says what a definition is called.

Each function returns the names that a node gives, each as its parts: `a::B` is ('a', 'B'). A node
may give several (`const a = 1, b = 2`) or none.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Name = tuple[str, ...]
Namer = Callable[["Node", bytes], Iterable[Name]]

_JOINED = re.compile(r"[\w$~?!-]+(?:(?:\.|::|\\)[\w$~?!-]+)+")
_SEPARATOR = re.compile(r"\.|::|\\")
_GENERIC = re.compile(r"<[^<>]*>")
_RECEIVER = re.compile(r"[\s*(]*([\w.]+)")
_IDENTIFIERS = frozenset(
    (
        *("identifier", "simple_identifier", "type_identifier", "property_identifier", "constant"),
        *("shorthand_property_identifier_pattern", "word", "variable_name", "name"),
    )
)
_LEVELS_MAX = 100
"""A declarator or a pattern inside more than this many others has no name here."""


def text(node: "Node | None", source: bytes) -> str:
    """Return the words of a node as they stand."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node else ""


def parts(name: str) -> Name:
    """Return the parts of a name that may be joined, without type arguments and sigils."""
    while "<" in name and not name.startswith("operator"):
        shorter = _GENERIC.sub("", name)
        if shorter == name:
            break
        name = shorter
    bare = "".join(name.split()).lstrip("#$").strip("\"'`")
    if _JOINED.fullmatch(bare):
        return tuple(_SEPARATOR.split(bare))
    return (bare,) if bare else ()


def field(*fields: str) -> Namer:
    """Return what reads the names in the first of these fields that a node has."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for one in fields:
            found = node.child_by_field_name(one)
            if found is not None:
                name = parts(text(found, source))
                yield from (name,) if name else ()
                return

    return names


def called(name: str) -> Namer:
    """Return what gives every node the same name: constructors."""
    return lambda _node, _source: ((name,),)


def nothing(_node: "Node", _source: bytes) -> tuple[Name, ...]:
    """Give no name: what is inside belongs to what is around."""
    return ()


def itself(node: "Node", source: bytes) -> Iterator[Name]:
    """Give the node's own words."""
    yield parts(text(node, source))


def first(*types: str) -> Namer:
    """Return what reads the first child that is one of `types`."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for child in node.named_children:
            if child.type in types:
                yield parts(text(child, source))
                return

    return names


def each(kind: str, names_of: Namer) -> Namer:
    """Return what reads the names of all children of one type."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for child in node.named_children:
            if child.type == kind:
                yield from names_of(child, source)

    return names


def pattern(field_name: str) -> Namer:
    """Return what reads the names that a pattern binds: `{ a, b: c }`, `(x, y)`."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        stack = [(found, 0) for found in reversed(node.children_by_field_name(field_name))]
        while stack:
            item, level = stack.pop()
            if item.type in _IDENTIFIERS:
                yield parts(text(item, source))
            elif level < _LEVELS_MAX:
                inner = item.named_children
                if item.type in ("pair_pattern", "assignment_pattern", "object_assignment_pattern"):
                    inner = inner[-1:] if item.type == "pair_pattern" else inner[:1]
                stack.extend((child, level + 1) for child in reversed(inner))

    return names


def declarators(node: "Node", source: bytes) -> Iterator[Name]:
    """Give the names of C's declarators, which stand inside of what is said of them."""
    for declarator in node.children_by_field_name("declarator"):
        inner: Node | None = declarator
        for _ in range(_LEVELS_MAX):
            if inner is None or not inner.type.endswith("declarator"):
                break
            below = inner.child_by_field_name("declarator")
            inner = below or (inner.named_children[-1] if inner.named_child_count else None)
        name = parts(text(inner, source)) if inner is not None else ()
        yield from (name,) if name else ()


def with_body(names_of: Namer) -> Namer:
    """Return what names a type where it is defined, not where it is only spoken of."""
    return lambda node, source: names_of(node, source) if node.child_by_field_name("body") else ()


def go_method(node: "Node", source: bytes) -> Iterator[Name]:
    """`func (r *Retry[T]) Run()` is `Retry.Run`."""
    name = text(node.child_by_field_name("name"), source)
    receiver = node.child_by_field_name("receiver")
    for parameter in receiver.named_children if receiver is not None else ():
        kind = _RECEIVER.match(text(parameter.child_by_field_name("type"), source))
        if kind:
            yield (*parts(kind[1]), name)
            return
    yield (name,)


_EXPORTED = re.compile(r"(?:module\.)?exports\.|(?:window|globalThis|global|self)\.")
_MEMBER = re.compile(r"[\w$]+(?:\.[\w$]+)*")


def js_assignment(node: "Node", source: bytes) -> Iterator[Name]:
    """`exports.a = `, `Retry.limit = ` and `Retry.prototype.limit = ` define; `a = ` does not."""
    left = node.child_by_field_name("left")
    if left is None or left.type != "member_expression":
        return
    name = text(left, source)
    if not _MEMBER.fullmatch(name) or name.startswith("this.") or name == "module.exports":
        return
    yield tuple(_EXPORTED.sub("", name, count=1).replace(".prototype.", ".").split("."))


def js_pair(node: "Node", source: bytes) -> Iterator[Name]:
    """`key: value`, with quotes or without."""
    key = node.child_by_field_name("key")
    if key is not None and key.type in ("property_identifier", "string", "number"):
        name = text(key, source).strip("\"'")
        yield from ((name,),) if name else ()


def kotlin_function(node: "Node", source: bytes) -> Iterator[Name]:
    """`fun String.shout()` is `String.shout`."""
    name = parts(text(node.child_by_field_name("name"), source))
    yield (*_kotlin_receiver(node, source), *name)


def kotlin_property(node: "Node", source: bytes) -> Iterator[Name]:
    """`val a`, `val String.a`, `val (a, b)`."""
    receiver = _kotlin_receiver(node, source)
    for child in node.named_children:
        if child.type == "variable_declaration":
            yield from ((*receiver, *name) for name in first("identifier")(child, source))
        elif child.type == "multi_variable_declaration":
            yield from each("variable_declaration", first("identifier"))(child, source)


def _kotlin_receiver(node: "Node", source: bytes) -> Name:
    previous = None
    for child in node.children:
        if child.type == ".":
            return parts(text(previous, source))
        if child.type in ("function_value_parameters", "variable_declaration"):
            break
        previous = child
    return ()


def kotlin_parameter(node: "Node", source: bytes) -> Iterable[Name]:
    """`class Retry(val limit: Int)` defines `Retry.limit`; without `val` it is a mere parameter."""
    if any(child.type in ("val", "var") for child in node.children):
        return first("identifier")(node, source)
    return ()


_MAKERS = frozenset(("attr_reader", "attr_writer", "attr_accessor", "alias_method"))


def ruby_call(node: "Node", source: bytes) -> Iterator[Name]:
    """`attr_reader :a, :b` defines both."""
    arguments = node.child_by_field_name("arguments")
    method = text(node.child_by_field_name("method"), source)
    if arguments is None or method not in _MAKERS:
        return
    symbols = [child for child in arguments.named_children if child.type == "simple_symbol"]
    for symbol in symbols[:1] if method == "alias_method" else symbols:
        yield (text(symbol, source).lstrip(":"),)


def ruby_constant(node: "Node", source: bytes) -> Iterator[Name]:
    """Constants are defined by assigning them; variables are not."""
    left = node.child_by_field_name("left")
    for target in left.named_children if left and left.type.endswith("_list") else [left]:
        if target is not None and target.type in ("constant", "scope_resolution"):
            yield parts(text(target, source))


def ruby_singleton(node: "Node", source: bytes) -> Iterator[Name]:
    """`def self.a` is a method of the class around it, `def Retry.a` is `Retry.a`."""
    owner = node.child_by_field_name("object")
    of = parts(text(owner, source)) if owner is not None and owner.type != "self" else ()
    yield (*of, text(node.child_by_field_name("name"), source))


def php_define(node: "Node", source: bytes) -> Iterator[Name]:
    """`define('LIMIT', 3)` defines a constant."""
    arguments = node.child_by_field_name("arguments")
    if text(node.child_by_field_name("function"), source) == "define" and arguments is not None:
        for argument in arguments.named_children[:1]:
            yield from ((name,) for name in (text(argument, source).strip("\"'"),) if name)


def php_assignment(node: "Node", source: bytes) -> Iterator[Name]:
    """`$limit = 3`."""
    left = node.child_by_field_name("left")
    if left is not None and left.type == "variable_name":
        yield parts(text(left, source))


def operator(node: "Node", source: bytes) -> Iterator[Name]:
    """`operator +`."""
    yield (f"operator{text(node.child_by_field_name('operator'), source)}",)


def destructor(node: "Node", source: bytes) -> Iterator[Name]:
    """`~Retry`."""
    yield (f"~{text(node.child_by_field_name('name'), source)}",)
