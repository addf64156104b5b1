"""Fingerprint definitions in every language but Python, independent of layout.

White space, comments, trailing commas and tokens that a line end replaces do not count. What counts
are the tokens of the syntax tree, the tree's shape where line ends have a meaning, and the bytes of
strings. A type is fingerprinted by its outline: its own lines, fields and declarations, and the
names of the members that have bodies, without the bodies.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from yaadwatch.anchors import normal_forms
from yaadwatch.anchors.language import Language, Role, Rule, rules_by_type
from yaadwatch.anchors.naming import Kind
from yaadwatch.anchors.parsing import Found, grammar, parse

if TYPE_CHECKING:
    from tree_sitter import Node


_LARGE_BYTES = 512 * 1024
"""A value larger than this is a table of data, and compared as text."""
_CLOSING = frozenset((")", "]", "}", ">", "|", "->", "enum_body_declarations"))
_OPENING = frozenset((",", "(", "[", "{", "<"))
_BODIES = frozenset(
    (
        *("function_body", "block", "class_body", "computed_property", "getter", "setter"),
        *("accessor_list", "arrow_expression_clause", "macro_rule"),
    )
)
_EMPTY_IN = frozenset(("program", "statement_block", "class_body"))
_CONTINUED = re.compile(rb"\\\n")
_MACRO = re.compile(
    rb"""(?P<said>(?<!\\)(?:"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'))|(?:/\*.*?(?:\*/|\Z)|//[^\n]*|\\\n|\s)+""",
    re.DOTALL,
)


_WORDS_OF_C = re.compile(
    rb"""R?(?<!\\)"(?:[^"\\]|\\.)*+"|(?<!\\)'(?:[^'\\\n]|\\.)*+'|[A-Za-z_]\w*|\.?\d(?:[eEpP][+-]|[\w.'])*"""
    rb"""|<<=|>>=|<=>|->\*?|\+\+|--|&&|\|\||[-<>=!+*/%&|^]=|<<|::|\#\#|\.\.\.|\S""",
    re.DOTALL,
)
"""`>>` is not one of them: it ends two lists of types."""


def tokens(found: Found, source: bytes, language: Language) -> Iterator[bytes]:
    """Yield the tokens of a definition without its formatting."""
    said = _tokens(found, source, language)
    yield from normal_forms.joined(said) if language.has_macros else said


def _tokens(found: Found, source: bytes, language: Language) -> Iterator[bytes]:
    reader = _Reader(source, language)
    for shell in found.shells:
        yield from reader.shell(shell, found.node)
    for node in reader.before(found.shells[0] if found.shells else found.node):
        yield from reader.tokens(node)
    if found.kind is Kind.TYPE:
        yield from reader.outline(found.node)
    elif found.kind is Kind.VALUE and (large := _large(found.node, source)):
        yield large
    else:
        yield from reader.tokens(found.node)


def _large(node: "Node", source: bytes) -> bytes:
    """Return a large data table as text; b"" for smaller ones, whatever the indentation."""
    if node.end_byte - node.start_byte <= _LARGE_BYTES:
        return b""
    text = b"".join(source[node.start_byte : node.end_byte].split())
    return text if len(text) > _LARGE_BYTES else b""


class _Reader:
    """Takes nodes apart, using offsets: `node.text` is slow when the parser read chunks."""

    def __init__(self, source: bytes, language: Language) -> None:
        self._source = source
        self._language = language
        self._rules = rules_by_type(language)
        self._members: set[str] = set()

    def tokens(self, node: "Node") -> Iterator[bytes]:
        """Yield the tokens of a node and its contents."""
        yield from self._walk(node, is_outline=False)

    def outline(self, node: "Node") -> Iterator[bytes]:
        """Yield the tokens of a type without the bodies of its members."""
        self._members.clear()
        yield from self._walk(node, is_outline=True)
        yield from (b"<member " + name.encode() for name in sorted(self._members))

    def shell(self, shell: "Node", inside: "Node") -> Iterator[bytes]:
        """Yield the tokens of a shell around the definition: `export`, `const`, `template <T>`."""
        for child in self._parts(shell):
            holds = child.start_byte <= inside.start_byte and inside.end_byte <= child.end_byte
            rule = self._rules.get(child.type)
            if not holds and (rule is None or rule.role in (Role.BLOCK, Role.SHELL)):
                yield from self.tokens(child)

    def before(self, node: "Node") -> list["Node"]:
        """Return the nodes before a definition that belong to it: attributes."""
        found: list[Node] = []
        if self._language.before:
            previous = node.prev_named_sibling
            while previous is not None and len(found) < 100:
                if previous.type in self._language.before:
                    found.append(previous)
                elif previous.type not in self._language.comments:
                    break
                previous = previous.prev_named_sibling
        return found[::-1]

    def _walk(self, top: "Node", *, is_outline: bool) -> Iterator[bytes]:
        strings = self._language.strings
        is_flat = self._language.has_macros
        normal_forms = self._language.normal_forms
        stack: list[Node | bytes] = [top]
        while stack:
            item = stack.pop()
            if isinstance(item, bytes):
                yield from _WORDS_OF_C.findall(item) if is_flat else (item,)
            elif is_outline and item != top and self._is_member(item):
                continue
            elif item.type == "string_literal" and (own := self._own_code(item)):
                yield own
            elif (form := normal_forms.get(item.type)) is not None and (
                parts := form(item, self._source)
            ) is not None:
                stack.extend(reversed(parts))
            elif item.child_count == 0:
                word = self._text(item)
                if item.type in strings:
                    yield word
                elif item.type in ("preproc_arg", "jsx_text"):
                    yield from _macro(word) if item.type == "preproc_arg" else (_jsx(word),)
                elif word.strip():
                    yield from _WORDS_OF_C.findall(word) if is_flat else (word.strip(),)
            else:
                inside = self._string(item) if item.type in strings else self._code(item)
                stack.extend(() if is_flat else (b">",))
                stack.extend(reversed(inside))
                stack.extend(() if is_flat else (b"<" + item.type.encode(),))

    def _own_code(self, text_block: "Node") -> bytes:
        """Return a text block in the language of its file, as words and as its tree.

        Brackets that only group count in the tree alone. b"" where it is no such text.
        """
        language = self._language
        said = normal_forms.language_of_block(text_block, self._source)
        written = self._text(text_block)
        if said != language.title.lower().encode() or written[:3] != b'"""':
            return b""
        code = written[3:-3]
        root = parse(code, grammar(language.module, language.function))
        if root is None or root.has_error:
            return b""
        bare = bytearray(code)
        stack = [root]
        while stack:
            node = stack.pop()
            stack.extend(node.children)
            if node.type == "parenthesized_expression":
                bare[node.start_byte] = bare[node.end_byte - 1] = ord(" ")
        words = normal_forms.embedded(bytes(bare).replace(b"\0", b" "), said)
        return b"\0".join((words, *_Reader(code, language).tokens(root)))

    def _string(self, node: "Node") -> list["Node | bytes"]:
        """Return the constant pieces of a string as written, and the code between them."""
        found: list[Node | bytes] = []
        constant = position = node.start_byte
        for child in node.children:
            if child.child_count and child.type not in self._language.strings:
                found.append(self._source[constant : child.start_byte])
                found.append(child)
                constant = child.end_byte
            position = child.end_byte
        found.append(self._source[constant : max(position, node.end_byte)])
        return found

    def _code(self, node: "Node") -> list["Node | bytes"]:
        """Return the parts of a node, with words that have no node of their own."""
        kept = {child.id for child in self._parts(node)}
        dropped = self._dropped(node)
        found: list[Node | bytes] = []
        position = node.start_byte
        for child in node.children:
            found.append(self._hidden(position, child.start_byte, dropped))
            position = child.end_byte
            if child.id in kept:
                found.append(child)
        found.append(self._hidden(position, node.end_byte, dropped))
        return [one for one in found if one]

    def _hidden(self, start: int, end: int, dropped: frozenset[str]) -> bytes:
        """Return the words between two nodes: some grammars have no nodes for some operators."""
        if start >= end:
            return b""
        words = b"".join(_CONTINUED.sub(b"", self._source[start:end]).split())
        return b"" if words.decode("utf-8", "replace") in dropped else words

    def _dropped(self, node: "Node") -> frozenset[str]:
        language = self._language
        if node.type in language.counted_in:
            return frozenset()
        return language.dropped | language.dropped_in.get(node.type, frozenset())

    def _parts(self, node: "Node") -> list["Node"]:
        """Return the children of a node that count."""
        language = self._language
        kind = node.type
        children = [child for child in node.children if child.type not in language.comments]
        dropped = self._dropped(node)
        if dropped:
            children = [
                child
                for child in children
                if child.type not in dropped
                and not (child.type == "empty_statement" and kind in _EMPTY_IN)
            ]
        if kind in language.comma_counts and sum(child.type == "," for child in children) == 1:
            return children
        return [
            child
            for before, child, after in _around(children)
            if child.type != ","
            or before is None
            or before.type in _OPENING
            or (after is not None and after.type not in _CLOSING)
        ]

    def _is_member(self, node: "Node") -> bool:
        """Return whether a node is a member with a body, and record its name."""
        rule = self._rules.get(node.type)
        if rule is None:
            return False
        role = self._language.role_of(node, rule)
        if role is Role.SHELL:
            members = [child for child in node.named_children if self._is_member(child)]
            return bool(members)
        if role is Role.TYPE or (role is Role.FUNCTION and _has_body(node, rule)):
            names = [".".join(name) for name in rule.names(node, self._source)]
            self._members.update(names)
            return bool(names)
        return False

    def _text(self, node: "Node") -> bytes:
        return self._source[node.start_byte : node.end_byte]


def _around(
    children: list["Node"],
) -> Iterator[tuple["Node | None", "Node", "Node | None"]]:
    padded: list[Node | None] = [None, *children, None]
    for (before, child), (_, after) in pairwise(pairwise(padded)):
        if child is not None:
            yield before, child, after


def _has_body(node: "Node", rule: Rule) -> bool:
    if rule.value:
        return True  # a function because of its value
    return node.child_by_field_name("body") is not None or any(
        child.type in _BODIES for child in node.named_children
    )


def _macro(written: bytes) -> Iterator[bytes]:
    """Yield the words of a macro's body."""
    yield from _WORDS_OF_C.findall(_MACRO.sub(lambda found: found["said"] or b" ", written))


def _jsx(words: bytes) -> bytes:
    """Return JSX text as rendered: lines joined by one blank, ends trimmed."""
    lines = words.split(b"\n")
    last = len(lines) - 1
    trimmed = (
        line.lstrip() if number == last else line.rstrip() if number == 0 else line.strip()
        for number, line in enumerate(lines)
    )
    if last == 0:
        return words
    return b" ".join(line for line in trimmed if line)
