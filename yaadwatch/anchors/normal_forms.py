"""Bring equivalent spellings of a syntax node to one normal form: shared rules, strings and shell.

A rule takes a node and the source, and returns the parts to compare, or None where it does not
apply and the node is compared as written. A rule never returns its own node.
"""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tree_sitter import Node


Rule = Callable[["Node", bytes], "list[Node | bytes] | None"]

COMMENTS = frozenset(("comment", "html_comment", "line_comment", "block_comment"))
_GROUPING = frozenset(
    ("parenthesized_expression", "parenthesized_type", "parenthesized_statements")
)


def text(node: "Node | None", source: bytes) -> bytes:
    """Return the bytes of a node; none for no node."""
    return source[node.start_byte : node.end_byte] if node is not None else b""


def code(node: "Node") -> "list[Node]":
    """Return the children of a node without comments."""
    return [child for child in node.children if child.type not in COMMENTS]


def named(node: "Node") -> "list[Node]":
    """Return the named children of a node without comments."""
    return [child for child in node.named_children if child.type not in COMMENTS]


def bare(node: "Node") -> "Node":
    """Return the expression inside grouping brackets."""
    while node.type in _GROUPING:
        inside = named(node)
        if len(inside) != 1:
            break
        node = inside[0]
    return node


def ungrouped(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`(a)` is `a`: the tree's shape shows the grouping."""
    inside = bare(node)
    return [inside] if inside is not node else None


def nested_once(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`((a))` is `(a)`, where brackets may mean something: `(self.f)()` calls a field."""
    inside = named(node)
    if len(inside) == 1 and inside[0].type == node.type:
        return [inside[0]]
    return None


def wrapped(kind: bytes, parts: "list[Node | bytes]") -> "list[Node | bytes]":
    """Return parts as the parts of a node of a kind."""
    return [b"<" + kind, *parts, b">"]


def logical(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`a && (b && c)` is `(a && b) && c`."""
    operator = text(node.child_by_field_name("operator"), source)
    if operator not in {b"&&", b"||", b"??"}:
        return None
    operands: list[Node | bytes] = []
    stack = [node]
    while stack:
        one = bare(stack.pop())
        same = one.type == "binary_expression"
        if same and text(one.child_by_field_name("operator"), source) == operator:
            sides = (one.child_by_field_name("right"), one.child_by_field_name("left"))
            stack.extend(side for side in sides if side is not None)
        else:
            operands.append(one)
    return wrapped(b"binary_expression", [operator, *operands])


_QUOTE = re.compile(rb"\\(?:(['\"])|(.))", re.DOTALL)
_OF_SINGLE = re.compile(rb"\\([\\'])")
_OF_DOUBLE = re.compile(rb"\\([\\\"$#])")
_ESCAPED_RUBY = re.compile(rb"\\[^\\\"#]|#\{|#[@$]")
_ESCAPED_PHP = re.compile(rb"\\[nrtvef0-7xu]")


def javascript(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'it\\'s'` is `"it's"`; all other escapes count as they stand."""
    return [b"s:" + unquoted(text(node, source))]


def unquoted(written: bytes) -> bytes:
    """Return the content of a JavaScript string, with its other escapes as written."""
    return _QUOTE.sub(lambda found: found[1] or found[0], written[1:-1])


def ruby(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'a'` is `"a"`, when double quotes would read no escape or code in it."""
    return _scripted(node, source, _ESCAPED_RUBY)


def _scripted(
    node: "Node", source: bytes, escaped: "re.Pattern[bytes]"
) -> "list[Node | bytes] | None":
    if any(child.child_count or child.type in _CODE for child in node.children):
        return None
    written = text(node, source)
    prefix, quoted = (b":", written[1:]) if written[:1] == b":" else (b"", written)
    quote, inside = quoted[:1], quoted[1:-1]
    if quote == b"'" and quoted[-1:] == quote:
        return [prefix + b"s:" + _OF_SINGLE.sub(rb"\1", inside)]
    if quote == b'"' and quoted[-1:] == quote and not escaped.search(_OF_DOUBLE.sub(b"", inside)):
        return [prefix + b"s:" + _OF_DOUBLE.sub(rb"\1", inside)]
    return None


_CODE = frozenset(("interpolation", "variable_name", "dynamic_variable_name"))


def php(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'a'` is `"a"`, when double quotes would read no escape or code in it."""
    return _scripted(node, source, _ESCAPED_PHP)


def words(written: bytes) -> bytes:
    """Return a text with one blank between words and signs, whatever its layout."""
    return b" ".join(_WORDS.findall(written))


def embedded(written: bytes, language: bytes) -> bytes:
    """Return code in another language as words, without what its formatter changes.

    Texts in quotes count to the byte, except in HTML, where attributes hold code. A byte 0 stands
    for code of the outer language.
    """
    if language in {b"html", b"xml", b"vue", b"angular"}:
        written = _VOID.sub(rb"\1>", _ATTRIBUTE.sub(_double_quoted, written))
        return b" ".join(_HYPHENED.findall(_END_OF_ATTRIBUTE.sub(b"", written)))
    if language in {b"markdown", b"md"}:
        return words(_BULLET.sub(b"-", written))
    if language in {b"graphql", b"gql"}:
        written = written.replace(b'"""', b" \1 ").replace(b"\0", b" \0 ")
        return b" ".join(one for one in _CODE_WORDS.findall(written) if one != b",")
    if language in {b"css", b"scss", b"less"}:
        written = _VALUE_CSS.sub(_value_css, _END_CSS.sub(b"", written))
        found = _WORDS_CSS.findall(_DESCENDANT.sub(b" \1 ", written))
        return b" ".join(_double_quoted_text(one) for one in found)
    return b" ".join(_CODE_WORDS.findall(_END.sub(b"", written)))


def _double_quoted(found: "re.Match[bytes]") -> bytes:
    """Return an attribute in double quotes, or an expression of Angular with single ones."""
    if found[2] is not None:
        return found[2].replace(b'"', b"'")
    inside = found[1][1:-1] if found[1][:1] in (b"'", b'"') else found[1]
    return b'="' + inside.replace(b'"', b"'") + b'"'


def _double_quoted_text(written: bytes) -> bytes:
    plain = written[:1] == b"'" and not set(written) & {*b'"\\'}
    return b'"' + written[1:-1] + b'"' if plain else written


def _value_css(found: "re.Match[bytes]") -> bytes:
    """`#FFF` is `#fff`, and `.50` is `0.5`."""
    if found[2] is None:
        return found[0].lower() if found[0][:1] == b"#" else found[0]
    return (found[1] or b"0") + (b"." + found[2]).rstrip(b"0").rstrip(b".")


_BRANCHES = frozenset(
    (
        *("if_statement", "else_clause", "else_if_clause", "while_statement", "do_statement"),
        *("for_statement", "for_in_statement", "foreach_statement", "enhanced_for_statement"),
    )
)
_INDENTED = frozenset((b"yaml", b"yml", b"python", b"py", b"text"))
"""Languages in which white space has a meaning."""
_OPERATORS = rb"[<>=!]=|<>|[=-]>|--|\+\+|&&|\|\||::|\?\?"
_WORDS = re.compile(rb"[\w\x80-\xff\0]+|" + _OPERATORS + rb"|[^\w\s\x80-\xff\0]")
_HYPHENED = re.compile(rb"[\w\x80-\xff\0-]+|[^\w\s\x80-\xff\0-]")
_QUOTED = rb"(?<!\\)(?:\"(?:[^\"\\\n]|\\.){0,1000}+\"|'(?:[^'\\\n]|\\.){0,1000}+')"
_WORDS_CSS = re.compile(_QUOTED + b"|" + _HYPHENED.pattern)
_CODE_WORDS = re.compile(_QUOTED + b"|" + _WORDS.pattern)
_VOID = re.compile(
    rb"(<(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b[^<>]*)/>"
)
_ATTRIBUTE = re.compile(
    rb"=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'<>=]+(?=[\s>]))|(?<=\{\{)([^{}]*)(?=\}\})"
)
_END_OF_ATTRIBUTE = re.compile(rb";(?=\s*\")")
_BULLET = re.compile(rb"(?m)^[ \t]*[*+-](?=[ \t])")
_END = re.compile(rb"(?<![,;])[,;]++(?=\s*(?:[}\]]|\Z))")
_END_CSS = re.compile(rb"(?<!;);++(?=\s*(?:\}|\Z))|(?<=\});+")
_VALUE_CSS = re.compile(
    _QUOTED + rb"|#[\da-fA-F]{3,8}\b(?=[^;{}]{0,500}(?:[;}]|\Z))|(?<![\w.#])(\d*)\.(\d+)(?![\d.])"
)
_DESCENDANT = re.compile(rb"(?<=[\w)\]*\0-])\s++(?=[.#\[]|:[a-z:-][^;{}]{0,500}\{)")
_LANGUAGE = re.compile(
    rb"(?://|/\*)[ \t]*language[ \t]*=[ \t]*(\w+)(?:(?!\"\"\")[^;{}])*$", re.IGNORECASE
)


def text_block(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a triple-quoted text as its words, because astyle moves its lines.

    Behind a comment that names another language (`// language=json`) it is compared as such; white
    space counts where it has a meaning in that language.
    """
    written = text(node, source)
    if written[:3] != b'"""' or b"\n" not in written:
        return [written]
    language = language_of_block(node, source)
    if not language:
        return [words(written)]
    if language not in _INDENTED:
        return [embedded(written[3:-3].replace(b"\0", b" "), language)]
    first, *lines = written.split(b"\n")
    depth = indentation(lines)
    lines = [line[depth:].rstrip() for line in lines]
    if lines[-1].strip() == b'"""':
        lines[-1] = b'"""'  # where it is deeper than the text, that says nothing
    return [b"\n".join([first.rstrip(), *lines])]


def language_of_block(node: "Node", source: bytes) -> bytes:
    """Return the language that a comment before a text gives it, in lower case; b"" for none."""
    start = node.start_byte
    said = _LANGUAGE.search(source, max(0, start - 500), start)
    return said[1].lower() if said is not None else b""


def raw(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a multi-line raw string of C# as its words, because clang-format reformats it."""
    written = text(node, source)
    if b"\n" not in written or not written.lstrip(b"$").startswith(b'"""'):
        return None if node.child_count else [written]
    found: list[Node | bytes] = []
    at = node.start_byte
    for child in node.children:
        if child.type == "interpolation":
            found += [words(source[at : child.start_byte]), child]
            at = child.end_byte
    return [*found, words(source[at : node.end_byte])]


def branch(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`if (a) { b }` is `if (a) b`: braces round the one statement of a branch say nothing."""
    only = named(node)
    if len(only) != 1 or only[0].type.endswith("_declaration"):
        return None
    around = node.parent
    return [only[0]] if around is not None and around.type in _BRANCHES else None


def indentation(lines: "list[bytes]") -> int:
    """Return the number of leading blanks common to all non-empty lines."""
    return min((len(one) - len(one.lstrip()) for one in lines if one.strip()), default=0)


def added(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"a" + "b"` is `"ab"`: a long text may be split anywhere.

    A sum without texts is taken apart too, because revisiting a long one per operand would take
    minutes.
    """
    operands: list[Node] = []
    one = node
    while one.type == "binary_expression":
        inside = code(one)
        if len(inside) != 3 or inside[1].type != "+":
            break
        operands.append(bare(inside[2]))
        one = bare(inside[0])
    operands.append(one)
    if len(operands) == 1:
        return None
    found: list[Node | bytes] = []
    texts: list[bytes] = []
    for one in reversed(operands):
        written = text(one, source)
        if _is_plain(one) and written[:3] != b'"""' and written[-1:] == b'"':
            texts.append(written[1:-1])
            continue
        found += _joined(texts)
        texts = []
        found.append(one)
    found += _joined(texts)
    return found if len(found) == 1 else wrapped(b"+", found)


def _joined(texts: list[bytes]) -> list[bytes]:
    """Return added texts as one text; None for none."""
    return [b'"' + b"".join(texts) + b'"'] if texts else []


def _is_plain(node: "Node") -> bool:
    return node.type == "string_literal"


def heredoc_php(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a PHP heredoc without the indentation of its end."""
    body = next((one for one in node.children if one.type in _BODIES), None)
    if body is None or any(child.child_count for child in body.children):
        return None
    end = source.rfind(b"\n", 0, node.end_byte) + 1
    depth = len(source[end : node.end_byte]) - len(source[end : node.end_byte].lstrip())
    lines = text(body, source).split(b"\n")
    return wrapped(
        body.type.encode(), [b"\n".join(line[depth:] if line.strip() else b"" for line in lines)]
    )


_BODIES = frozenset(("heredoc_body", "nowdoc_body"))
_BEGINNING = re.compile(rb"<<([-~]?)[\"'`]?(\w+)[\"'`]?")


def heredoc_ruby_start(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`<<~A` and `<<-A` start what the end of the body distinguishes."""
    return [b"<<" + text(node, source).lstrip(b"<-~")]


def heredoc_ruby(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a Ruby heredoc without its indentation, when it starts with `<<~`."""
    if any(child.type not in ("heredoc_content", "heredoc_end") for child in node.children):
        return None
    *lines, end = text(node, source).strip(b"\n").split(b"\n")
    last = end.strip()
    start = source.rfind(b"\n", 0, max(node.start_byte, 1)) + 1
    starts = _BEGINNING.findall(source[start : node.start_byte + 1])
    squiggly = any(mark == b"~" for mark, name in starts if name == last)
    depth = indentation(lines) if squiggly else 0
    return [b"\n".join([*(line[depth:] if line.strip() else b"" for line in lines), last])]


def joined(tokens: "Iterable[bytes]") -> "Iterator[bytes]":
    """Yield C tokens with adjacent string literals joined."""
    before = b""
    for token in tokens:
        if token[:1] == before[:1] == b'"':
            before = before[:-1] + token[1:]
        else:
            yield from (before,) if before else ()
            before = token
    yield from (before,) if before else ()


_REDIRECT = re.compile(rb"^<<(-?)[ \t]*")
_TABS = re.compile(rb"\n\t+")
_INDENT = re.compile(rb"\n[ \t]+")
_IN_DOUBLE_QUOTES = re.compile(rb"\\([\\\"$`])")
_EXPANSIONS = frozenset(("simple_expansion", "expansion", "command_substitution"))
_COUNTED = frozenset(
    (
        *("arithmetic_expansion", "compound_statement", "binary_expression", "unary_expression"),
        *("ternary_expression", "postfix_expression"),
    )
)
_DEPTH_MAX = 50


def _substitution(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`` `a` `` is `$(a)`."""
    if text(node, source)[:1] != b"`":
        return _subshell(node, source)
    return wrapped(b"command_substitution", [b"$(", *named(node), b")"])


def _redirected(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`a >b c` is `a c >b`; the grammar takes `c` for another file."""
    body = node.child_by_field_name("body")
    if body is None or body.type != "command":
        return None
    arguments: list[Node | bytes] = []
    redirects: list[Node | bytes] = []
    for one in code(node):
        further = one.children_by_field_name("destination")[1:]
        arguments += further
        if further:
            inside = [child for child in code(one) if child not in further]
            redirects += wrapped(one.type.encode(), [*inside])
        elif one != body:
            redirects.append(one)
    if not arguments:
        return None
    command = wrapped(b"command", [*code(body), *arguments])
    return wrapped(b"redirected_statement", [*command, *redirects])


def _heredoc(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`<< A` is `<<A`; behind `<<-` tabs at the start of a line do not count."""
    found: list[Node | bytes] = []
    at = node.start_byte
    inside = [
        one
        for child in node.children
        for one in (child.children if child.type == "heredoc_body" else (child,))
    ]
    for child in inside:
        if child.child_count:
            found += [source[at : child.start_byte], child]
            at = child.end_byte
    found.append(source[at : node.end_byte])
    start = found[0]
    if isinstance(start, bytes):
        found[0] = _REDIRECT.sub(rb"<<\1", start)
    if text(node, source).startswith(b"<<-"):
        found = [_TABS.sub(b"\n", one) if isinstance(one, bytes) else one for one in found]
    return found


def _raw(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a single-quoted text; lines between two `\'`, which the grammar reads as quotes, lose
    their indentation.
    """
    before = source[: node.start_byte]
    if (len(before) - len(before.rstrip(b"\\"))) % 2 == 0:
        return None
    return [_INDENT.sub(b"\n", text(node, source))]


def _string(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"\\$a"` is `'$a'`; a line that goes on behind a backslash is none in single quotes."""
    if b"\\\n" in text(node, source):
        return None
    if any(child.type not in ('"', "string_content") for child in node.children):
        return None
    said = _IN_DOUBLE_QUOTES.sub(rb"\1", text(node, source)[1:-1])
    return [b"'" + said + b"'"] if b"'" not in said else None


def _subshell(node: "Node", _source: bytes) -> "list[Node | bytes] | None":
    """`((a))` is `(a)`, and `$((a))` is `$(a)`."""
    inside = code(node)
    if len(inside) != 3 or inside[1].type != "subshell":
        return None
    return wrapped(node.type.encode(), [inside[0], *code(inside[1])[1:-1], inside[2]])


def _test(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`[[ ! -z "$a" ]]` is `[[ -n $a ]]`."""
    inside = code(node)
    if inside[0].type != "[[" or len(inside) != 3:
        return None
    return wrapped(b"test_command", [inside[0], *_tested(inside[1], source), inside[2]])


def _tested(node: "Node", source: bytes, depth: int = 0) -> "list[Node | bytes]":
    """Return an operand of `[[` without redundant quotes, and with negations joined."""
    node = bare(node)
    inside = code(node)
    kind = node.type
    if depth > _DEPTH_MAX or kind not in ("string", "unary_expression", "binary_expression"):
        return [node]
    if kind == "string":
        return [inside[1]] if len(inside) == 3 and inside[1].type in _EXPANSIONS else [node]
    found: list[Node | bytes] = [
        part
        for at, child in enumerate(inside)
        for part in (
            [child] if at == 2 and _is_pattern(inside[1]) else _tested(child, source, depth + 1)
        )
    ]
    operator = text(inside[1 if kind == "binary_expression" else 0], source)
    if kind == "unary_expression" and operator == b"!" and len(inside) == 2:
        return _negated(found[1:], source)
    if operator == b"=":
        found = [b"==" if one == inside[1] else one for one in found]
    return wrapped(kind.encode(), found)


def _negated(found: "list[Node | bytes]", source: bytes) -> "list[Node | bytes]":
    """Return `! -z a` as `-n a`."""
    opposite = {b"-z": b"-n", b"-n": b"-z"}
    if len(found) > 1 and found[0] == b"<unary_expression" and not isinstance(found[1], bytes):
        operator = opposite.get(text(found[1], source))
        if operator is not None:
            return [found[0], operator, *found[2:]]
    return wrapped(b"unary_expression", [b"!", *found])


def _is_pattern(operator: "Node") -> bool:
    """Return whether quotes on the right of an operator turn a pattern into plain text."""
    return operator.type in ("==", "=", "!=", "=~")


def _arithmetic(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`$(( ($a + 1) ))` is `$((a + 1))`."""
    inside = code(node)
    if inside[0].type not in ("$((", "(("):
        return None
    return _counted(node, source)


def _counted(node: "Node", source: bytes, depth: int = 0) -> "list[Node | bytes]":
    node = bare(node)
    inside = code(node)
    if node.type in ("simple_expansion", "expansion"):
        names = [one for one in inside if one.type == "variable_name"]
        is_plain = len(names) == 1 and len(inside) == (3 if node.type == "expansion" else 2)
        return [names[0]] if is_plain and not text(names[0], source).isdigit() else [node]
    if depth > _DEPTH_MAX or node.type not in _COUNTED:
        return [node]
    parts = [part for one in inside for part in _counted(one, source, depth + 1)]
    return wrapped(node.type.encode(), parts)


SHELL: "Mapping[str, Rule]" = {
    "command_substitution": _substitution,
    "redirected_statement": _redirected,
    "heredoc_redirect": _heredoc,
    "raw_string": _raw,
    "string": _string,
    "subshell": _subshell,
    "test_command": _test,
    "arithmetic_expansion": _arithmetic,
    "compound_statement": _arithmetic,
}
