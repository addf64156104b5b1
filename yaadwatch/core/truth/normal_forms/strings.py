"""Normal forms of strings: the kind of quotes leaves no trace where it changes nothing."""

import re
from typing import TYPE_CHECKING

from yaadwatch.core.truth.normal_forms.common import bare, code, text, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tree_sitter import Node

_QUOTE = re.compile(rb"\\(?:(['\"])|(.))", re.DOTALL)
_OF_SINGLE = re.compile(rb"\\([\\'])")
_OF_DOUBLE = re.compile(rb"\\([\\\"$#])")
_ESCAPED_RUBY = re.compile(rb"\\[^\\\"#]|#\{|#[@$]")
_ESCAPED_PHP = re.compile(rb"\\[nrtvef0-7xu]")


def javascript(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'it\\'s'` is `"it's"`; all other escapes count as they stand."""
    return [b"s:" + unquoted(text(node, source))]


def unquoted(written: bytes) -> bytes:
    """Return what a string of JavaScript holds, its other escapes as they stand."""
    return _QUOTE.sub(lambda found: found[1] or found[0], written[1:-1])


def ruby(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`'a'` is `"a"`, where nothing in double quotes is read as an escape or as code."""
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
    """`'a'` is `"a"`, where nothing in double quotes is read as an escape or as code."""
    return _scripted(node, source, _ESCAPED_PHP)


def words(written: bytes) -> bytes:
    """Return a text with one blank between its words and signs, however it is laid out."""
    return b" ".join(_WORDS.findall(written))


def embedded(written: bytes) -> bytes:
    """Return code of another language as words, without what its formatter adds or removes.

    That is white space, commas, semicolons, round brackets, the kind of quotes and of bullets, the
    zeros of fractions and the case of colours.
    """
    written = _ESCAPED.sub(lambda found: found[1] or b" ", written).replace(b"'", b'"')
    written = _COLOUR.sub(lambda found: found[0].lower(), written)
    written = _FRACTION.sub(rb"\1\2", _LEADING_POINT.sub(b"0.", written))
    return words(_OPTIONAL.sub(b" ", written))


_WORDS = re.compile(rb"[\w\x80-\xff]+|[^\w\s\x80-\xff]")
_ESCAPED = re.compile(rb"\\(?:([\\\"'`])|[stnr\n])")
_COLOUR = re.compile(rb"#[\da-fA-F]{3,8}\b")
_LEADING_POINT = re.compile(rb"(?<![\w.])\.(?=\d)")
_FRACTION = re.compile(rb"(?<![\w.])(\d+)(?:\.0+|(\.\d*?[1-9])0+)(?![\d.])")
_OPTIONAL = re.compile(rb"(?m)^[ \t]*[*+-](?=[ \t])|[(),;]|/(?=>)")
_LANGUAGE = re.compile(rb"(?://|/\*)[ \t]*language[ \t]*=(?:(?!\"\"\")[^;{}])*$")
_COMMENT_BYTES = 500


def text_block(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a text in three quotes without the indentation that only says where it stands.

    Behind a comment that names another language (`// language=json`) only its words count.
    """
    written = text(node, source)
    if written[:3] != b'"""' or b"\n" not in written:
        return [written]
    if _LANGUAGE.search(source, max(0, node.start_byte - _COMMENT_BYTES), node.start_byte):
        return [embedded(written)]
    first, *lines = written.split(b"\n")
    depth = indentation(lines)
    lines = [line[depth:].rstrip() for line in lines]
    if lines[-1].strip() == b'"""':
        lines[-1] = b'"""'  # where it is deeper than the text, that says nothing
    return [b"\n".join([first.rstrip(), *lines])]


def raw(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a raw string of C# over several lines as its words: clang-format lays it out anew."""
    written = text(node, source)
    return [words(written) if b"\n" in written else written]


def indentation(lines: "list[bytes]") -> int:
    """Return how many blanks all lines that are not empty begin with."""
    return min((len(one) - len(one.lstrip()) for one in lines if one.strip()), default=0)


def added(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """`"a" + "b"` is `"ab"`: a long text may be broken anywhere.

    A sum without texts is taken apart, too: looked at anew for each of its operands, a long one
    would take minutes.
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
    """Return texts that are added up as the one text that they are; nothing for none."""
    return [b'"' + b"".join(texts) + b'"'] if texts else []


def _is_plain(node: "Node") -> bool:
    return node.type == "string_literal"


def heredoc_php(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a here-document of PHP without the indentation of its end."""
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
    """`<<~A` and `<<-A` begin what the end of the body tells apart."""
    return [b"<<" + text(node, source).lstrip(b"<-~")]


def heredoc_ruby(node: "Node", source: bytes) -> "list[Node | bytes] | None":
    """Return a here-document of Ruby without its indentation, where it begins with `<<~`."""
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
    """Yield tokens of C with literals that stand side by side as the one that they are."""
    before = b""
    for token in tokens:
        if token[:1] == before[:1] == b'"':
            before = before[:-1] + token[1:]
        else:
            yield from (before,) if before else ()
            before = token
    yield from (before,) if before else ()
