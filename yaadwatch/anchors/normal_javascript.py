"""Normal forms of JavaScript, TypeScript and JSX: undo what Prettier and similar formatters change.

JSX text is compared as it is rendered, and attributes without their quotes.
"""

import re
from typing import TYPE_CHECKING

from yaadwatch.anchors import normal_forms
from yaadwatch.anchors.normal_forms import bare, code, logical, named, text, ungrouped, wrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.anchors.normal_forms import Rule


_NAME = re.compile(r"[^\W\d][\w$]*|\$[\w$]*|0|[1-9]\d*")
_CHAINS = frozenset(("member_expression", "call_expression", "subscript_expression"))
_FRACTION = re.compile(rb"(\.(?:\d*[1-9])?+)0*+(?=e|$)")
_EXPONENT = re.compile(rb"e\+?(-?)0*(?=\d)")
_EMBEDDED = re.compile(
    rb"(css)|(styled)\b.*|(createGlobalStyle)|(keyframes)|(gql)|(graphql)|(html)|(markdown)|(sql)"
)
_LANGUAGES = {b"styled": b"css", b"createGlobalStyle": b"css", b"keyframes": b"css"}
_COMMENTED = re.compile(rb"/\*\s*(GraphQL|HTML)\s*\*/\s*$")
_OF_COMPONENT = re.compile(rb"\b(template|styles)\s*:\s*\[?\s*$")


def number(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`0XAB` is `0xab`, `1.50` is `1.5`, `1E+05` is `1e5`."""
    written = text(node, source).lower()
    if written[:2] in (b"0x", b"0b", b"0o") or written.endswith(b"n"):
        return [written]
    if b"." in written:
        written = _FRACTION.sub(lambda found: found[1].rstrip(b"."), written, count=1)
        written = b"0" + written if written[:1] in (b".", b"") else written
    return [_EXPONENT.sub(rb"e\1", written)]


def _arrow(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(a) => b` is `a => b`."""
    brackets = node.child_by_field_name("parameters")
    only = named(brackets) if brackets is not None else []
    if len(only) != 1:
        return None
    name = only[0]
    if name.type == "required_parameter" and name.child_count == 1:
        name = name.children[0]
    if name.type != "identifier":
        return None
    inside: list[Node | bytes] = [name if one == brackets else one for one in code(node)]
    return wrapped(b"arrow_function", inside)


def _awaited(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`await a as T` is `(await a) as T`; the grammar reads `await (a as T)`."""
    inside = code(node)
    if len(inside) != 2 or inside[1].type not in ("as_expression", "satisfies_expression"):
        return None
    value, *typed = code(inside[1])
    return wrapped(
        inside[1].type.encode(), [*wrapped(b"await_expression", [inside[0], value]), *typed]
    )


def _chain(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(a?.b).c` is not `a?.b.c`: here brackets do more than to group."""
    first = node.child_by_field_name("object") or node.child_by_field_name("function")
    if first is None or first.type != "parenthesized_expression":
        return None
    one: Node | None = bare(first)
    while one is not None and one.type in _CHAINS:
        if any(child.type in ("optional_chain", "?.") for child in one.children):
            return wrapped(node.type.encode(), [b"(?.)", *code(node)])
        one = one.child_by_field_name("object") or one.child_by_field_name("function")
    return None


def _called(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Compare a call; what is written in another language in a template is laid out freely."""
    does, given = (node.child_by_field_name(name) for name in ("function", "arguments"))
    if does is not None and given is not None and given.type == "template_string":
        tag = _EMBEDDED.fullmatch(text(does, source))
        if tag is None:
            return None
        name = tag[tag.lastindex or 0]
        squeezed = _squeezed(given, source, _LANGUAGES.get(name, name))
        return wrapped(b"call_expression", [does, *squeezed])
    return _chain(node, source)


def _template(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Compare a template that a comment or a component of Angular says is in another language."""
    start = node.start_byte
    if said := _COMMENTED.search(source, max(0, start - 40), start):
        return _squeezed(node, source, said[1].lower())
    said = _OF_COMPONENT.search(source, max(0, start - 40), start)
    if said and source.rfind(b"@Component(", 0, start) >= 0:
        return _squeezed(node, source, b"css" if said[1] == b"styles" else b"html")
    return None


def _squeezed(template: "Node", source: bytes, language: bytes) -> "list[Node | bytes]":
    """Return a template with its code, and the words of another language around it."""
    codes = [child for child in template.children if child.type == "template_substitution"]
    starts = [template.start_byte + 1, *(child.end_byte for child in codes)]
    ends = [*(child.start_byte for child in codes), template.end_byte - 1]
    pieces = [source[start:end] for start, end in zip(starts, ends, strict=True)]
    written = b"\0".join(piece.replace(b"\0", b" ") for piece in pieces)
    first, *others = normal_forms.embedded(written, language).split(b"\0")
    found: list[Node | bytes] = [first]
    for child, piece in zip(codes, others, strict=True):
        found += [child, piece]
    return wrapped(b"template", found)


def _new(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`new A` is `new A()`."""
    if node.child_by_field_name("arguments") is not None:
        return None
    return wrapped(b"new_expression", [*code(node), b"<arguments", b"(", b")", b">"])


def _keyed(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'a': 1` is `a: 1`."""
    fields = map(node.child_by_field_name, ("key", "name", "property"))
    key = next((one for one in fields if one is not None), None)
    if key is None or key.type not in ("string", "number"):
        return None
    inside: list[Node | bytes] = [_key(key, source) if one == key else one for one in code(node)]
    return wrapped(node.type.encode(), inside)


def _key(key: "Node", source: bytes) -> bytes:
    written = text(key, source)
    plain = normal_forms.unquoted(written) if key.type == "string" else written
    return plain if _NAME.fullmatch(plain.decode("utf-8", "replace")) else b"s:" + plain


def _enum(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`enum A { 'b' }` is `enum A { b }`."""
    if not any(one.type == "string" for one in node.children):
        return None
    inside: list[Node | bytes] = [
        _key(one, source) if one.type == "string" else one for one in code(node) if one.type != ","
    ]
    return wrapped(b"enum_body", inside)


def _regex(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`/a/ig` is `/a/gi`."""
    pattern, _, flags = text(node, source).rpartition(b"/")
    return [pattern + b"/" + bytes(sorted(flags))]


def _alternatives(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`| A | (B | C)` is `A | B | C`."""
    found: list[Node | bytes] = []
    stack = [node]
    while stack:
        one = bare(stack.pop())
        if one.type == node.type:
            stack.extend(reversed(named(one)))
        else:
            found.append(one)
    if len(found) == 1:
        return found
    return wrapped(node.type.encode(), found)


JAVASCRIPT: "Mapping[str, Rule]" = {
    "string": normal_forms.javascript,
    "number": number,
    "statement_block": normal_forms.branch,
    "arrow_function": _arrow,
    "parenthesized_expression": ungrouped,
    "binary_expression": logical,
    "member_expression": _chain,
    "subscript_expression": _chain,
    "call_expression": _called,
    "template_string": _template,
    "new_expression": _new,
    "pair": _keyed,
    "pair_pattern": _keyed,
    "method_definition": _keyed,
    "field_definition": _keyed,
    "regex": _regex,
}
TYPESCRIPT: "Mapping[str, Rule]" = {
    **JAVASCRIPT,
    "await_expression": _awaited,
    "parenthesized_type": ungrouped,
    "property_signature": _keyed,
    "method_signature": _keyed,
    "public_field_definition": _keyed,
    "enum_assignment": _keyed,
    "enum_body": _enum,
    "union_type": _alternatives,
    "intersection_type": _alternatives,
}


_WORDS = frozenset(("jsx_text", "html_character_reference"))
_SPACES = re.compile(rb"\s+")
_BLANK = re.compile(rb"\{\s*(?:\"\s+\"|'\s+')\s*\}")


def _element(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return an element with its text as it is shown: lines are joined, `{" "}` is a blank."""
    children = node.children
    if len(children) < 2:
        return None
    found: list[Node | bytes] = [children[0]]
    said, at = b"", children[0].end_byte
    for child in children[1:]:
        if child.type in _WORDS:
            continue
        said += _shown(source[at : child.start_byte])
        at = child.end_byte
        if child.type == "jsx_expression" and _BLANK.fullmatch(text(child, source)):
            said += b" "
            continue
        if child.type == "jsx_expression" and child.named_child_count and not named(child):
            continue  # a comment
        found += [b"t:" + _SPACES.sub(b" ", said)] if said else []
        found.append(child)
        said = b""
    return wrapped(b"jsx_element", found)


def _shown(written: bytes) -> bytes:
    """Return text between two tags: a line end with the blanks around it shows as one blank.

    It shows as nothing where only it stands between the two, or next to one of them.
    """
    if b"\n" not in written:
        return written
    first, *lines = written.split(b"\n")
    last = lines.pop()
    parts = (first.rstrip(), *(line.strip() for line in lines), last.lstrip())
    return b" ".join(part for part in parts if part)


def _attribute(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`a='b'` and `a={"b"}` are `a="b"`."""
    inside = named(node)
    if len(inside) != 2:
        return None
    name, value = inside
    written = text(value, source)
    if value.type == "jsx_expression":
        only = named(value)
        if len(only) != 1 or only[0].type != "string":
            return None
        written = text(only[0], source)
        if b"\\" in written or b"\n" in written or b"&" in written:
            return None
    elif value.type != "string":
        return None
    plain = written[1:-1].replace(b"&apos;", b"'").replace(b"&quot;", b'"')
    if text(name, source) in {b"class", b"className"}:
        plain = b" ".join(plain.split())
    return wrapped(b"jsx_attribute", [name, b"=", b"a:" + plain])


JSX: "Mapping[str, Rule]" = {
    "jsx_element": _element,
    "jsx_fragment": _element,
    "jsx_attribute": _attribute,
}
