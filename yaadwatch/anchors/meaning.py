"""Fingerprint Python definitions by their syntax tree, and evaluate Python literals.

Comments, docstrings, redundant brackets, trailing commas, quotes, escapes, number notation, `pass`
and line breaks do not count. A class is fingerprinted by its outline (decorators, bases, fields,
member names), not by the bodies of its methods.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node


_ESCAPE = re.compile(
    rb"\\(?:(\n)|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    rb"|N\{([^}\n]{1,100})\}|([abfnrtv\\'\"]))"
    rb"|(\{\{|\}\})"
)
_PLAIN = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def number(text: bytes) -> bytes:
    """Return a normal form in which `0xFF` equals `255`, but `1` differs from `1.0`."""
    digits = text.decode("ascii", "replace")
    try:
        if digits[-1:] in "jJ" and not digits.lower().startswith("0x"):
            return b"j:" + repr(complex(digits)).encode()
        if re.fullmatch(r"[\d_]+|0[xXoObB][\da-fA-F_]+", digits):
            return b"i:" + hex(int(digits, 0)).encode()
        return b"f:" + repr(float(digits)).encode()
    except ValueError:
        return text


def word(text: bytes) -> bytes:
    """Return a name, keyword or operator as Python reads it."""
    if text.isascii():
        return b" ".join(text.split())
    return unicodedata.normalize("NFKC", text.decode("utf-8", "replace")).encode()


def value(content: bytes, letters: str, is_formatted: bool) -> bytes:
    """Return the bytes that a string literal evaluates to, in UTF-8 unless it is a bytes
    literal.
    """

    def replace(found: re.Match[bytes]) -> bytes:
        newline, octal, *hexadecimal, name, plain, braces = found.groups()
        if braces:
            return braces[:1] if is_formatted else braces
        if "r" in letters:
            return found.group()
        if plain:
            return _PLAIN.get(plain, plain)
        if newline:
            return b""
        code = int(octal, 8) if octal else None
        for digits in hexadecimal:
            code = int(digits, 16) if digits else code
        if "b" in letters:
            is_byte = name is None and hexadecimal[1:] == [None, None]
            return bytes([code & 0xFF]) if is_byte and code is not None else found.group()
        try:
            char = chr(code) if code is not None else unicodedata.lookup(name.decode())
        except (ValueError, KeyError, OverflowError):
            return found.group()
        return char.encode("utf-8", "surrogatepass")

    return _ESCAPE.sub(replace, content)


_SKIPPED = frozenset({"comment", "line_continuation", "pass_statement", ",", "(", ")", ";"})
_GROUPING = frozenset({"parenthesized_expression", "type", "case_pattern"})
_SAME_THING = {
    "expression_list": "tuple",
    "pattern_list": "tuple",
    "list_splat_pattern": "list_splat",
    "splat_type": "list_splat",
    "member_type": "attribute",
}
_BETWEEN = frozenset({"comment", "line_continuation"})
_QUIET = frozenset({"comment", "line_continuation", "(", ")", ";"})
_CASES = frozenset({"case_pattern", "union_pattern", "as_pattern"})
_STRINGS = frozenset({"string", "concatenated_string"})
_NUMBERS = frozenset({"integer", "float"})
_KEYWORDS = frozenset({"keyword_argument", "dictionary_splat"})
_DEFINITIONS = frozenset({"function_definition", "class_definition", "decorated_definition"})
_STATEMENTS = ("_statement", "_clause")
_LARGE_BYTES = 512 * 1024
"""A single expression larger than this is a table of data, and compared as text."""
_LETTERS = b"bfrtuBFRTU"


def meaning(definition: "Node", source: bytes) -> Iterator[bytes]:
    """Yield the tokens of a function, class or assignment in `source`, without its formatting."""
    reader = _Reader(source)
    inner = definition.child_by_field_name("definition") or definition
    own = (definition, inner)
    is_class = inner.type == "class_definition"
    members: set[bytes] = set()
    stack: list[Node | bytes] = [definition]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            yield item
        elif item.type in _SKIPPED or _is_documentation(item) or _is_empty(item):
            continue
        elif is_class and item.type in _DEFINITIONS and item not in own:
            member = item.child_by_field_name("definition") or item
            members.add(reader.text(member.child_by_field_name("name")))
        elif is_class and item not in own and (named := _lambda(item)) is not None:
            members.add(reader.text(named[0]))
        elif item.end_byte - item.start_byte > _LARGE_BYTES and not _has_statements(item):
            yield b"".join(reader.text(item).split())
        else:
            stack.extend(reversed(list(reader.parts(item))))
    yield from (b"<member " + name for name in sorted(members))


class _Reader:
    """Takes nodes apart, using offsets: `node.text` is slow when the parser read chunks."""

    def __init__(self, source: bytes) -> None:
        self._source = source

    def text(self, node: "Node | None") -> bytes:
        return self._source[node.start_byte : node.end_byte] if node is not None else b""

    def parts(self, node: "Node") -> Iterator["Node | bytes"]:
        """Yield the parts of a node: tokens, and nodes still to be read."""
        kind = node.type
        if kind in _STRINGS:
            yield from self._string(node)
        elif kind in _NUMBERS:
            yield number(self.text(node))
        elif kind == "format_specifier":
            yield from self._format(node)
        elif node.child_count == 0:
            yield word(self.text(node))
        elif kind in _GROUPING:
            yield from node.children
        elif kind in _SHAPES:
            yield from _SHAPES[kind](node)
        else:
            yield b"<" + _SAME_THING.get(kind, kind).encode()
            yield from node.children
            yield b">"

    def _string(self, node: "Node") -> Iterator["Node | bytes"]:
        """Yield the value of a string literal; adjacent literals are one."""
        parts = node.children if node.type == "concatenated_string" else [node]
        pieces: list[Node | bytes] = []
        kinds = set()
        for part in parts:
            if part.type == "string":
                text = self.text(part)
                letters = text[: len(text) - len(text.lstrip(_LETTERS))].decode().lower()
                kinds |= set(letters) & set("bft")
                pieces += self._pieces(part, letters)
        if not kinds & set("ft"):
            yield (b"b:" if "b" in kinds else b"s:") + b"".join(
                p for p in pieces if isinstance(p, bytes)
            )
            return
        yield b"<" + "".join(sorted(kinds)).encode()
        yield from _joined(pieces)
        yield b">"

    def _pieces(self, string: "Node", letters: str) -> Iterator["Node | bytes"]:
        """Yield the constant parts, as values, and the interpolations of a string literal."""
        is_formatted = not set(letters).isdisjoint("ft")
        start = string.children[0]
        quotes = self.text(start).lstrip(_LETTERS)
        # Not the end token: in a raw string the parser includes backslashes in it.
        end = string.end_byte - len(quotes)
        position = start.end_byte
        for child in string.children:
            if child.type == "interpolation":
                yield value(self._source[position : child.start_byte], letters, is_formatted)
                yield self._echo(child)
                yield child
                position = child.end_byte
        yield value(self._source[position:end], letters, is_formatted)

    def _echo(self, interpolation: "Node") -> bytes:
        """Return what `{x = }` prints before the value: `x = `."""
        children = interpolation.children
        for child, following in pairwise(children):
            if child.type == "=":
                return self._source[children[0].end_byte : following.start_byte]
        return b""

    def _format(self, node: "Node") -> Iterator["Node | bytes"]:
        """Yield a format specifier: its constant parts as written, and its interpolations."""
        yield b"<format"
        position = node.start_byte
        for child in node.children:
            if child.type == "format_expression":
                yield self._source[position : child.start_byte]
                yield child
                position = child.end_byte
        yield self._source[position : node.end_byte]
        yield b">"


def _subscript(node: "Node") -> Iterator["Node | bytes"]:
    """`x[1, 2]` is `x[(1, 2)]`, and `x[1,]` is not `x[1]`."""
    holder = node if node.type == "subscript" else node.children[-1]
    inside = [child for child in holder.named_children if child.type not in _SKIPPED]
    value = node.children[0]
    if holder is node:
        inside = inside[1:]
    is_tuple = (
        len(inside) > 1
        or any(child.type == "," for child in holder.children)
        or any(_first_leaf(child).type == "*" for child in inside)
    )
    yield b"<subscript"
    yield value
    if is_tuple:
        yield b"<tuple"
        yield from inside
        yield b">"
    else:
        yield from inside
    yield b">"


def _first_leaf(node: "Node") -> "Node":
    while node.child_count and (child := node.child(0)) is not None:
        node = child
    return node


def _union(node: "Node") -> Iterator["Node | bytes"]:
    """`A[x] | B | C` is read by the parser as `A[x] | (B | C)`; Python reads it from the left."""
    first, *others = _alternatives(node)
    yield from [b"<binary_operator"] * len(others)
    yield first
    for other in others:
        yield b"|"
        yield other
        yield b">"


def _alternatives(node: "Node") -> list["Node"]:
    found: list[Node] = []
    stack = [node]
    while stack:
        item = stack.pop()
        children = _children(item)
        if item.type == "type" and len(children) == 1:
            stack.append(children[0])
        elif item.type in ("union_type", "binary_operator") and children[1].type == "|":
            stack.extend((children[2], children[0]))
        else:
            found.append(item)
    return found


def _operation(node: "Node") -> Iterator["Node | bytes"]:
    """`a & b ^ c` is read by the parser as `a & (b ^ c)`; Python reads `(a & b) ^ c`."""
    if not _is_misread(node):
        yield b"<binary_operator"
        yield from node.children
        yield b">"
        return
    alternatives: list[list[Node]] = [[]]
    stack = [node]
    while stack:
        item = stack.pop()
        if _is_misread(item):
            stack.extend(reversed(_children(item)))
        elif item.type == "^":
            alternatives.append([])
        elif item.type != "&":
            alternatives[-1].append(item)
    yield from [b"<binary_operator"] * (len(alternatives) - 1)
    for position, operands in enumerate(alternatives):
        yield from [b"^"] * (position > 0)
        yield from [b"<binary_operator"] * (len(operands) - 1)
        yield from operands[:1]
        for operand in operands[1:]:
            yield from (b"&", operand, b">")
        yield from [b">"] * (position > 0)


def _is_misread(node: "Node") -> bool:
    signs = [child.type for child in _children(node)[1:2]]
    return node.type == "binary_operator" and signs in (["&"], ["^"])


def _children(node: "Node") -> list["Node"]:
    return [child for child in node.children if child.type not in _BETWEEN]


def _call(node: "Node") -> Iterator["Node | bytes"]:
    """`f(x for x in y)` is `f((x for x in y))`."""
    function, arguments = (node.child_by_field_name(name) for name in ("function", "arguments"))
    yield b"<call"
    yield from (part for part in (function,) if part is not None)
    if arguments is not None and arguments.type == "generator_expression":
        yield from (b"<argument_list", arguments, b">")
    elif arguments is not None:
        yield arguments
    yield b">"


def _slice(node: "Node") -> Iterator["Node | bytes"]:
    """`x[1:2:]` is `x[1:2]`."""
    children = _children(node)
    colons = [child.type for child in children].count(":")
    yield b"<slice"
    yield from children[:-1] if colons == 2 and children[-1].type == ":" else children
    yield b">"


def _arguments(node: "Node") -> Iterator["Node | bytes"]:
    """`f(a, b=1, *c)` is `f(a, *c, b=1)`."""
    named = [child for child in node.children if child.type in _KEYWORDS]
    yield b"<argument_list"
    yield from (child for child in node.children if child not in named)
    yield from named
    yield b">"


def _class(node: "Node") -> Iterator["Node | bytes"]:
    """`class A():` is `class A:`."""
    yield b"<class_definition"
    yield from (
        child
        for child in node.children
        if child.type != "argument_list" or child.named_child_count > 0
    )
    yield b">"


def _target(node: "Node") -> Iterator["Node | bytes"]:
    """`(a) = b` is `a = b`, and `(a,) = b` is not; `case [a, b]:` is `case (a, b):`."""
    in_case = node.parent is not None and node.parent.type in _CASES
    only = [child for child in node.children if child.type not in _QUIET]
    kind = b"sequence" if in_case else b"tuple"
    if node.type == "list_pattern" and not in_case:
        kind, only = b"list", []
    if len(only) == 1:
        yield only[0]
        return
    yield b"<" + kind
    yield from (child for child in node.children if not in_case or child.type not in ("[", "]"))
    yield b">"


def _case(node: "Node") -> Iterator["Node | bytes"]:
    """`case a, b:` is `case (a, b):`."""
    patterns = [child for child in node.children if child.type == "case_pattern"]
    yield b"<case_clause"
    yield from _several(node, patterns, b"sequence")
    yield from (child for child in node.children if child not in patterns)
    yield b">"


def _match(node: "Node") -> Iterator["Node | bytes"]:
    """`match a, b:` is `match (a, b):`."""
    subjects = node.children_by_field_name("subject")
    yield b"<match_statement"
    yield from _several(node, subjects, b"tuple")
    yield from (child for child in node.children if child not in subjects)
    yield b">"


def _several(holder: "Node", nodes: list["Node"], kind: bytes) -> Iterator["Node | bytes"]:
    """Yield nodes, as one of `kind` when `holder` has commas between or after them."""
    is_one = any(child.type == "," for child in holder.children)
    yield from (b"<" + kind,) if is_one else ()
    yield from nodes
    yield from (b">",) if is_one else ()


def _statement(node: "Node") -> Iterator["Node | bytes"]:
    """`a, b` is `(a, b)`, and `a = lambda b: c` is `def a(b): return c`."""
    if (named := _lambda(node)) is not None:
        name, function = named
        parameters = function.child_by_field_name("parameters")
        yield from (b"<function_definition", b"def", name, b"<parameters")
        yield from parameters.children if parameters is not None else ()
        yield from (b">", b":", b"<block", b"<return_statement", b"return")
        yield function.children[-1]
        yield from (b">", b">", b">")
        return
    yield b"<expression_statement"
    yield from _several(node, node.children, b"tuple")
    yield b">"


def _lambda(node: "Node") -> "tuple[Node, Node] | None":
    """Return name and function of a statement `a = lambda b: c`."""
    if node.type != "expression_statement":
        return None
    only = [child for child in node.children if child.type not in _QUIET]
    if len(only) != 1 or only[0].type != "assignment":
        return None
    name, equals, value = (*_children(only[0]), None, None, None)[:3]
    is_plain = equals is not None and equals.type == "=" and name is not None
    if not is_plain or value is None or name is None or name.type != "identifier":
        return None
    return (name, value) if value.type == "lambda" else None


def _if(node: "Node") -> Iterator["Node | bytes"]:
    """`elif x:` is `else:` with `if x:` in it."""
    opened = 1
    yield b"<if_statement"
    for child in node.children:
        if child.type == "elif_clause":
            yield from (b"<else_clause", b"else", b":", b"<block", b"<if_statement", b"if")
            yield from child.children[1:]
            opened += 3
        else:
            yield child
    yield from [b">"] * opened


def _is_documentation(node: "Node") -> bool:
    """Return whether a statement is only a string, which has no effect."""
    if node.type != "expression_statement":
        return False
    inside = [node]
    while len(inside) == 1 and inside[0].type in ("expression_statement", *_GROUPING):
        inside = [child for child in inside[0].children if child.type not in _QUIET]
    return len(inside) == 1 and inside[0].type in _STRINGS and not _has_interpolation(inside[0])


def _has_statements(node: "Node") -> bool:
    kind = node.type
    return kind in _DEFINITIONS or kind in ("block", "assignment") or kind.endswith(_STATEMENTS)


def _is_empty(clause: "Node") -> bool:
    """Return whether this is an `else` or `finally` without effect."""
    if clause.type not in ("else_clause", "finally_clause"):
        return False
    block = next((child for child in clause.children if child.type == "block"), None)
    return block is not None and all(
        child.type in _SKIPPED or _is_documentation(child) for child in block.children
    )


def _has_interpolation(string: "Node") -> bool:
    strings = string.children if string.type == "concatenated_string" else [string]
    return any(child.type == "interpolation" for part in strings for child in part.children)


def _interpolation(node: "Node") -> Iterator["Node | bytes"]:
    """`{x = }` is `x = {x!r}`."""
    kinds = {child.type for child in node.children}
    yield b"<interpolation"
    for child in node.children:
        if child.type not in ("{", "}", "="):
            yield child
    if "=" in kinds and kinds.isdisjoint(("type_conversion", "format_specifier")):
        yield b"!r"
    yield b">"


def _joined(pieces: Iterable["Node | bytes"]) -> Iterator["Node | bytes"]:
    """Yield pieces with adjacent constants joined and empty ones left out."""
    constant = b""
    for piece in pieces:
        if isinstance(piece, bytes):
            constant += piece
            continue
        if constant:
            yield b"s:" + constant
        constant = b""
        yield piece
    if constant:
        yield b"s:" + constant


_SHAPES = {
    "binary_operator": _operation,
    "subscript": _subscript,
    "generic_type": _subscript,
    "call": _call,
    "argument_list": _arguments,
    "class_definition": _class,
    "slice": _slice,
    "tuple_pattern": _target,
    "list_pattern": _target,
    "case_clause": _case,
    "match_statement": _match,
    "union_type": _union,
    "expression_statement": _statement,
    "if_statement": _if,
    "interpolation": _interpolation,
    "format_expression": _interpolation,
}
