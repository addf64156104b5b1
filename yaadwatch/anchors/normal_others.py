"""Normal forms of the languages other than JavaScript: undo what their formatters change."""

import re
from typing import TYPE_CHECKING

from yaadwatch.anchors import normal_forms, normal_javascript
from yaadwatch.anchors.normal_forms import (
    COMMENTS,
    bare,
    code,
    logical,
    named,
    nested_once,
    text,
    ungrouped,
    wrapped,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tree_sitter import Node

    from yaadwatch.anchors.normal_forms import Rule


def _lower(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`0XAB`, `1E5` and `1L` are `0xab`, `1e5` and `1l`."""
    return [text(node, source).lower()]


def _one_parameter(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`(a) -> b` is `a -> b`."""
    brackets = node.child_by_field_name("parameters")
    only = named(brackets) if brackets is not None else []
    if brackets is None or len(only) != 1:
        return None
    name = only[0].child_by_field_name("name") if only[0].type == "parameter" else only[0]
    if name is None or text(name, source) != text(only[0], source):
        return None
    inside: list[Node | bytes] = [
        text(name, source) if one == brackets else one for one in code(node)
    ]
    return wrapped(node.type.encode(), inside)


def _arm(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`A => { a }` is `A => a,`, and `|x| { a }` is `|x| a`."""
    field = "value" if node.type == "match_arm" else "body"
    value = node.child_by_field_name(field)
    only = _only_expression(value) if value is not None else None
    if only is None and node.type != "match_arm":
        return None
    inside: list[Node | bytes] = [
        only if one == value and only is not None else one for one in code(node) if one.type != ","
    ]
    return wrapped(node.type.encode(), inside)


def _only_expression(block: "Node") -> "Node | None":
    """Return the expression that is all there is in a block, or in blocks in it."""
    found: Node | None = None
    while block.type == "block":
        inside = named(block)
        only = inside[0] if len(inside) == 1 and block.named_child_count == 1 else None
        if only is None or only.type.endswith(("_item", "_declaration", "_statement")):
            if only is None or only.type != "expression_statement" or only.child_count != 1:
                return found
            only = only.children[0]
        if any(child.type in (";", "label") for child in block.children):
            return found
        found = block = only
    return found


def _in_macro(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`|a| { b }` is `|a| b` among the words that a macro is given, too."""
    found: list[Node | bytes] = []
    before = ""
    for one in code(node):
        inside = code(one)
        kinds = [child.type for child in inside]
        if before == "|" and kinds[:1] == ["{"] and len(kinds) > 2 and ";" not in kinds:
            found += inside[1:-1]
        else:
            found.append(one)
        before = one.type
    return wrapped(b"token_tree", found) if len(found) > node.child_count else None


def _sorted(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`use a::{C, b}` is `use a::{b, C}`."""
    return wrapped(b"use_list", [*sorted(text(one, source) for one in named(node))])


def _with_uses(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Sort `use` declarations that stand one below the other, each with its attributes."""
    found: list[list[Node]] = []
    uses: list[list[Node]] = []
    waiting: list[Node] = []

    def end() -> None:
        nonlocal uses, waiting
        found.extend(sorted(uses, key=lambda group: b" ".join(text(one, source) for one in group)))
        found.extend([one] for one in waiting)
        uses, waiting = [], []

    for one in code(node):
        if one.type == "attribute_item":
            waiting.append(one)
        elif one.type == "use_declaration":
            uses.append([*waiting, one])
            waiting = []
        else:
            end()
            found.append([one])
    end()
    if not any(len(group) > 1 or group[0].type == "use_declaration" for group in found):
        return None
    return wrapped(node.type.encode(), [one for group in found for one in group])


def _derived(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`#[derive(A, B)]` is `#[derive(A)] #[derive(B)]`."""
    attribute = next((one for one in named(node) if one.type == "attribute"), None)
    inside = code(attribute) if attribute is not None else []
    if [text(one, source) for one in inside[:1]] != [b"derive"] or len(inside) != 2:
        return None
    words = [text(one, source) for one in code(inside[1])[1:-1]]
    return [b"derive:" + name for name in b"".join(words).split(b",") if name]


def _jump(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`return a;` at the end of a block is `return a`."""
    inside = code(node)
    return [inside[0]] if len(inside) == 2 and inside[0].type in _JUMPS else None


_JUMPS = frozenset(("return_expression", "break_expression", "continue_expression"))


def _c_abi(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`extern "C"` is `extern`."""
    written = text(node, source).split()
    return [b"extern"] if written[1:] in ([], [b'"C"']) else None


def _created(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`new A` is `new A()` in PHP."""
    inside = code(node)
    if len(inside) != 2 or inside[1].type not in ("name", "qualified_name", "variable_name"):
        return None
    return wrapped(b"object_creation_expression", [*inside, *wrapped(b"arguments", [b"(", b")"])])


def _calls(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`a()` is `a` in Ruby."""
    given = node.child_by_field_name("arguments")
    does = node.child_by_field_name("method")
    if given is None or named(given) or (does is not None and does.type == "super"):
        return None
    inside = [one for one in code(node) if one != given]
    return [inside[0]] if len(inside) == 1 else wrapped(b"call", [*inside])


def _method(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`def a()` is `def a` in Ruby."""
    given = node.child_by_field_name("parameters")
    if given is None or named(given):
        return None
    return wrapped(node.type.encode(), [one for one in code(node) if one != given])


def _array(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`array(a)` is `[a]` in PHP."""
    inside = code(node)
    if inside[0].type != "array":
        return None
    items: list[Node | bytes] = [*inside[2:-1]]
    while items and getattr(items[-1], "type", "") == ",":
        items.pop()
    return wrapped(node.type.encode(), [b"[", *items, b"]"])


def _traits(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`use A, B;` is `use A; use B;` in a class of PHP."""
    names = named(node)
    if not all(one.type in ("name", "qualified_name") for one in names):
        return None
    return [part for one in names for part in wrapped(b"use_declaration", [one])]


def _modifiers(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`final static` is `static final` in Java."""
    inside = code(node)
    words = sorted(text(one, source) for one in inside if not one.child_count)
    return wrapped(b"modifiers", [*(one for one in inside if one.child_count), *words])


def _members(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`enum A { B; }` is `enum A { B }` in Java."""
    return None if named(node) else []


def _binary(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"a" + "b"` is `"ab"`, and `a && (b && c)` is `a && b && c` in Java."""
    return normal_forms.added(node, source) or logical(node, source)


def _single(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(a)` is `a` in Swift, where a tuple of one is no tuple."""
    inside = named(node)
    if len(inside) != 1 or any(child.type == ":" for child in node.children):
        return None
    return [bare(inside[0])]


def _unnamed(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(int)` is `int` where a Go function returns one value without a name."""
    only = named(node)
    if len(only) != 1 or only[0].type != "parameter_declaration" or len(named(only[0])) != 1:
        return None
    return [*named(only[0])]


GO: "Mapping[str, Rule]" = {
    "parenthesized_expression": ungrouped,
    "parenthesized_type": ungrouped,
    "parameter_list": _unnamed,
    "int_literal": _lower,
    "float_literal": _lower,
    "imaginary_literal": _lower,
}
RUST: "Mapping[str, Rule]" = {
    "parenthesized_expression": nested_once,
    "match_arm": _arm,
    "closure_expression": _arm,
    "token_tree": _in_macro,
    "use_list": _sorted,
    "block": _with_uses,
    "declaration_list": _with_uses,
    "attribute_item": _derived,
    "expression_statement": _jump,
    "extern_modifier": _c_abi,
}
JAVA: "Mapping[str, Rule]" = {
    "parenthesized_expression": ungrouped,
    "block": normal_forms.branch,
    "lambda_expression": _one_parameter,
    "modifiers": _modifiers,
    "enum_body_declarations": _members,
    "string_literal": normal_forms.text_block,
    "binary_expression": _binary,
    "decimal_integer_literal": _lower,
    "hex_integer_literal": _lower,
    "decimal_floating_point_literal": _lower,
}
C_SHARP: "Mapping[str, Rule]" = {
    "raw_string_literal": normal_forms.raw,
    "interpolated_string_expression": normal_forms.raw,
    "block": normal_forms.branch,
    "string_literal": normal_forms.text_block,
    "binary_expression": normal_forms.added,
    "parenthesized_expression": ungrouped,
    "lambda_expression": _one_parameter,
}
PHP: "Mapping[str, Rule]" = {
    "string": normal_forms.php,
    "encapsed_string": normal_forms.php,
    "integer": normal_javascript.number,
    "float": normal_javascript.number,
    "array_creation_expression": _array,
    "compound_statement": normal_forms.branch,
    "use_declaration": _traits,
    "heredoc": normal_forms.heredoc_php,
    "nowdoc": normal_forms.heredoc_php,
    "object_creation_expression": _created,
    "parenthesized_expression": ungrouped,
}
RUBY: "Mapping[str, Rule]" = {
    "string": normal_forms.ruby,
    "delimited_symbol": normal_forms.ruby,
    "parenthesized_statements": ungrouped,
    "call": _calls,
    "method": _method,
    "singleton_method": _method,
    "heredoc_beginning": normal_forms.heredoc_ruby_start,
    "heredoc_body": normal_forms.heredoc_ruby,
}
SWIFT: "Mapping[str, Rule]" = {"tuple_expression": _single}


_WORD = re.compile(rb"[\w\x80-\xff]")
_OF_ANNOTATIONS = frozenset(
    (
        *("annotated_expression", "annotation", "constructor_invocation", "user_type"),
        *("parenthesized_expression", "value_arguments", "value_argument"),
    )
)
_LAST_QUOTES = re.compile(rb"\n[ \t]*\"\"\"$")


def _body(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`{ return a }` is `= a`."""
    block = node.named_children[0] if node.named_child_count == 1 else None
    only = named(block) if block is not None and block.type == "block" else []
    if len(only) != 1 or only[0].type not in ("return_expression", "throw_expression"):
        return None
    value = named(only[0])
    if only[0].type == "return_expression" and len(value) == 1 and only[0].child_count == 2:
        return wrapped(b"function_body", [b"=", value[0]])
    if only[0].type == "throw_expression":
        return wrapped(b"function_body", [b"=", only[0]])
    return None


def _branches(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`-> { a }` is `-> a`, and `if (a) { b } else { c }` is `if (a) b else c`."""
    found: list[Node | bytes] = []
    has_braces = False
    inside = code(node)
    for at, one in enumerate(inside):
        only = named(one) if one.type == "block" else []
        if len(only) == 1 and not only[0].type.endswith("_declaration"):
            found.append(only[0])
            has_braces = True
        elif one.type != "," or inside[at + 1].type != "->":
            found.append(one)
    return wrapped(node.type.encode(), found) if has_braces else None


def _no_unit(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`fun a(): Unit` is `fun a()`."""
    inside = code(node)
    for at, one in enumerate(inside):
        if one.type == "user_type" and text(one, source) == b"Unit" and inside[at - 1].type == ":":
            return wrapped(node.type.encode(), [*inside[: at - 1], *inside[at + 1 :]])
    return None


def _entries(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`enum class A { B, ; }` is `enum class A { B }`."""
    inside = code(node)
    end = len(inside) - 1
    while end and inside[end - 1].type in (";", ","):
        end -= 1
    if end == len(inside) - 1:
        return None
    return wrapped(b"enum_class_body", [*inside[:end], inside[-1]])


def _property(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """Return a property with its annotations in front of it, as `_annotated` gives them."""
    modifiers, *others = code(node)
    if modifiers.type != "modifiers":
        return None
    annotations = [one for one in code(modifiers) if one.type == "annotation"]
    rest: list[Node | bytes] = [one for one in code(modifiers) if one not in annotations]
    if not annotations:
        return None
    inside = [*(wrapped(b"modifiers", rest) if rest else []), *others]
    return [*_flat(annotations), *wrapped(b"property_declaration", inside)]


def _annotated(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """Return `@A("b")` on the line above a local property.

    The grammar at times takes it for an expression of its own.
    """
    following = node.next_named_sibling
    while following is not None and following.type in COMMENTS:
        following = following.next_named_sibling
    is_above = following is not None and following.type == "property_declaration"
    return _flat([node]) if is_above else None


def _flat(nodes: "list[Node]") -> "list[Node | bytes]":
    found: list[Node | bytes] = []
    for node in nodes:
        found += _flat(code(node)) if node.type in _OF_ANNOTATIONS else [node]
    return found


def _string(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"${a} b"` is `"$a b"`; the last three quotes of a text may be indented as one likes."""
    found = _pieces(node, source)
    last = found.pop()
    return [*found, _LAST_QUOTES.sub(b'\n"""', last) if isinstance(last, bytes) else last]


def _pieces(node: "Node", source: bytes) -> "list[Node | bytes]":
    """Return the constant parts of a string, and the code between them; a constant is last."""
    found: list[Node | bytes] = []
    said, at = b"", node.start_byte
    for child in node.children:
        if child.type != "interpolation":
            continue
        said += source[at : child.start_byte]
        at = child.end_byte
        inside = named(child)
        if len(inside) != 1 or inside[0].type != "identifier":
            found += [said, child]
            said = b""
        elif _WORD.match(source[at : at + 1]):
            said += b"${" + text(inside[0], source) + b"}"
        else:
            said += b"$" + text(inside[0], source)
    return [*found, said + source[at : node.end_byte]]


def _trimmed(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a text that `trimIndent()` is called on without the indentation that this removes."""
    does, given = (*code(node), None, None)[:2]
    inside = code(does) if does is not None and does.type == "navigation_expression" else []
    if (
        given is None
        or named(given)
        or [one.type for one in inside] != ["multiline_string_literal", ".", "identifier"]
        or text(inside[2], source) != b"trimIndent"
        or not text(inside[0], source).startswith(b'"""')
    ):
        return None
    found = _pieces(inside[0], source)
    if any(b"\0" in one for one in found if isinstance(one, bytes)):
        return None
    # A piece of code stands for a letter: its line has words, and its own lines do not count.
    written = b"\0".join(one for one in found if isinstance(one, bytes))
    lines = written[3:-3].split(b"\n")
    depth = normal_forms.indentation(lines)
    lines = [line[depth:] if line.strip() else b"" for line in lines]
    lines = lines[not lines[0] : len(lines) - (len(lines) > 1 and not lines[-1])]
    constants = iter(b"\n".join(lines).split(b"\0"))
    parts = [next(constants) if isinstance(one, bytes) else one for one in found]
    return wrapped(b"trimIndent", parts)


KOTLIN: "Mapping[str, Rule]" = {
    "parenthesized_expression": nested_once,
    "function_body": _body,
    "function_declaration": _no_unit,
    "enum_class_body": _entries,
    "string_literal": _string,
    "multiline_string_literal": _string,
    "property_declaration": _property,
    "annotated_expression": _annotated,
    "call_expression": _trimmed,
    "when_entry": _branches,
    "if_expression": _branches,
    "for_statement": _branches,
    "while_statement": _branches,
    "do_while_statement": _branches,
}
