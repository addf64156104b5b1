"""Read the names of a definition from its syntax node, and test cheaply if a file defines a name.

A name is a tuple of its parts: `a::B` is ('a', 'B'). A node may define several names
(`const a = 1, b = 2`) or none.

Parsing takes a hundred times as long as searching for a word, and most files that contain a name
only import or call it. In valid source the cheap test never says no wrongly; it may say yes.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

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
    """Return the source text of a node."""
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node else ""


def parts(name: str) -> Name:
    """Return the parts of a possibly qualified name, without type arguments and sigils."""
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
    """Return a reader of the names in the first of these fields that a node has."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for one in fields:
            found = node.child_by_field_name(one)
            if found is not None:
                name = parts(text(found, source))
                yield from (name,) if name else ()
                return

    return names


def called(name: str) -> Namer:
    """Return a reader that gives every node the same name: constructors."""
    return lambda _node, _source: ((name,),)


def nothing(_node: "Node", _source: bytes) -> tuple[Name, ...]:
    """Return no name: the contents belong to the enclosing scope."""
    return ()


def itself(node: "Node", source: bytes) -> Iterator[Name]:
    """Return the node's own text as its name."""
    yield parts(text(node, source))


def first(*types: str) -> Namer:
    """Return a reader of the first child that is one of `types`."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for child in node.named_children:
            if child.type in types:
                yield parts(text(child, source))
                return

    return names


def each(kind: str, names_of: Namer) -> Namer:
    """Return a reader of the names of all children of one type."""

    def names(node: "Node", source: bytes) -> Iterator[Name]:
        for child in node.named_children:
            if child.type == kind:
                yield from names_of(child, source)

    return names


def pattern(field_name: str) -> Namer:
    """Return a reader of the names that a pattern binds: `{ a, b: c }`, `(x, y)`."""

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
    """Return the names of C declarators, which are nested in their modifiers."""
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
    """Return a reader that names a type only where it has a body."""
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


class State(StrEnum):
    """The outcome of a search for a definition."""

    FOUND = "found"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"
    BROKEN = "broken"  # the file cannot be parsed where it matters


class Kind(StrEnum):
    """The kind of a definition. A key is one of a settings file (JSON, TOML, YAML)."""

    FUNCTION = "function"
    TYPE = "type"
    VALUE = "value"
    KEY = "key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A definition, or the reason that there is none.

    Args:
        state: the outcome of the search.
        line: its first line, from 1; of several of that name, the first one's.
        end_line: the last line of the same definition.
        fingerprint: SHA-256, hex, of the definitions of that name, without formatting.
    """

    state: State
    line: int | None = None
    end_line: int | None = None
    fingerprint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A definition in a file, by its full name (`Retry.limit`); lines count from 1."""

    name: str
    kind: Kind
    line: int
    end_line: int


class HasName(Protocol):
    """Anything with a qualified name."""

    @property
    def name(self) -> tuple[str, ...]:
        """Its scopes, outermost first, and its own name."""
        ...


_T = TypeVar("_T", bound=HasName)
_ANY_SEPARATOR = re.compile(r"\.|::|#|\\")


def parts_of(symbol: str) -> tuple[str, ...]:
    """Return the names that a symbol joins with '.', '::', '#' or a backslash."""
    return tuple(_ANY_SEPARATOR.split(symbol))


def matching(defined: Sequence[_T], symbol: str) -> list[_T]:
    """Return the definitions that `symbol` names, in file order.

    A fully qualified match is preferred to a suffix match: `limit` is the module's function, and
    only without one the methods of that name. Leading names not defined here are packages and
    modules.
    """
    wanted = parts_of(symbol)
    if "" in wanted:
        return []
    ends = [one for one in defined if one.name[-1:] == wanted[-1:]]
    whole = [one for one in ends if one.name == wanted]
    ending = [one for one in ends if one.name[-len(wanted) :] == wanted]
    return whole or ending or _in_module(defined, wanted)


def _in_module(defined: Sequence[_T], wanted: tuple[str, ...]) -> list[_T]:
    """Return what `wanted` names when its leading names are packages and a module."""
    if len(wanted) == 1:
        return []
    own = {one.name[start:] for one in defined for start in range(len(one.name))}
    for packages in range(1, len(wanted)):
        if any(wanted[start:packages] in own for start in range(packages)):
            return []  # the prefix is no module: it is defined here and lacks the rest
        found = [one for one in defined if one.name == wanted[packages:]]
        if found:
            return found
    return []


_LINE_BYTES_MAX: Final = 2_000
"""What stands before a name on a line that is longer is not looked at; it may define it."""
_STRINGS: Final = re.compile(rb"(?<!\\)(?:\"(?:[^\"\\\n]|\\.)*+\"|'(?:[^'\\\n]|\\.)*+')")
_INSIDE: Final = re.compile(rb"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")
_KEYWORD: Final = re.compile(rb"(?:def|class|type)[\s\\]+\Z")
_TARGETS: Final = re.compile(rb"[\s\w\x80-\xff.,*=()\[\]']*\Z")
_TWO_WORDS: Final = re.compile(rb"[\w\x80-\xff][ \t\f\v]+[\w\x80-\xff]")
_CALLED: Final = re.compile(rb"[\w\x80-\xff)\]][ \t\f\v]*[(\[]")
_FOLLOWS: Final = re.compile(rb"\s*(?:[=:,)\]#\\]|[-+*/%&|^@<>]{1,3}=|\Z)")
_TYPED: Final = re.compile(rb"\s*[\w\x80-\xff.]+\s*\Z")
_COMPOUND: Final = re.compile(
    rb"\s*(?:if|elif|else|while|with|for|match|case|class|def|async|try|except|finally)\b"
)
_OPENED: Final = re.compile(rb"[(\[{]")
_INVISIBLE: Final = tuple(mark.encode() for mark in "\ufeff\u2060\u200b")
"""What the parser takes for white space besides ASCII's."""
_BEHIND: Final = (b"", b",", b"(", b"[", b"*", b"=")
"""What one of several targets may stand behind; or nothing."""


def may_define(source: bytes, name: str) -> bool:
    """Return False only if a Python file cannot define `name`, the last part of a qualified name.

    A definition is a class, a function, a type, or an assignment to a plain name. After a syntax
    error before the name the parser may still find a definition; there False may be returned too.

    Args:
        source: the file, its line ends '\\n'; anything at all.
        name: one identifier.
    """
    for mark in _INVISIBLE:
        source = source.replace(mark, b" ")
    plain = re.escape(name.encode("utf-8", "replace"))
    spread: bool | None = None
    for found in re.finditer(plain + rb"(?<![\w.]" + plain + rb")(?!\w)", source):
        start = source.rfind(b"\n", 0, found.start()) + 1
        end = source.find(b"\n", found.end())
        before = source[start : found.start()]
        after = source[found.end() : end if end >= 0 else len(source)]
        if source[max(start - 2, 0) : start] == b"\\\n" or _KEYWORD.search(before):
            return True
        if not _FOLLOWS.match(after) or not _may_begin(before):
            continue
        rest = after.strip()
        if b"=" in rest or rest[:1] == b":" or rest[-1:] == b"\\":
            return True
        if spread is None:
            spread = _has_spread(source)
        if spread:
            return True
    return False


def _may_begin(before: bytes) -> bool:
    """Return whether `before`, the line up to the name, may start an assignment to it."""
    if len(before) > _LINE_BYTES_MAX:
        return True
    plain = _STRINGS.sub(b"", before)
    if b'"' in plain or b"'" in plain:
        return True  # a string spans several lines
    whole = b""
    while whole != plain:
        whole, plain = plain, _INSIDE.sub(b"", plain)
    plain = plain.rpartition(b";")[2]
    head, colon, rest = plain.rpartition(b":")
    # Nested quotes may have hidden closing brackets.
    closed = not _OPENED.search(head) or b'"' in before or b"'" in before
    if colon and closed and _COMPOUND.match(before):
        return True
    if _CALLED.search(head if colon else plain):
        return False  # inside brackets
    if colon:
        if b"{" in head or _TYPED.match(head):
            return False  # a type, or inside a table
        plain = rest
    in_place = plain.rstrip()[-1:] in _BEHIND
    return in_place and bool(_TARGETS.match(plain)) and not _TWO_WORDS.search(plain)


def _has_spread(source: bytes) -> bool:
    """Return whether a line may end targets that span several lines: it closes a bracket."""
    for line in source.split(b"\n"):
        head, equals, _ = line.partition(b"=")
        if equals and (b")" in head or b"]" in head):
            closed = head.count(b")") + head.count(b"]")
            if closed > head.count(b"(") + head.count(b"["):
                return True
    return False
