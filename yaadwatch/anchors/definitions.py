"""Find definitions in any known language, and fingerprint them.

A fingerprint comes from the syntax tree (`meaning` for Python, `tokens` for other languages,
`settings` for settings files), so formatting does not change it.

In files without a parser a definition is the block below the line that looks like it, by
indentation.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from yaadwatch.anchors import naming, parsing, python_definitions, settings, tokens
from yaadwatch.anchors.language import Language
from yaadwatch.anchors.languages import PYTHON, language_of
from yaadwatch.anchors.naming import Definition, Kind, Named, State, matching, parts_of
from yaadwatch.anchors.parsing import grammar, is_readable, parse, unified
from yaadwatch.model.settings import DEFINITIONS_MAX
from yaadwatch.text.words import cached

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = (
    "Definition",
    "Kind",
    "Language",
    "Named",
    "State",
    "define",
    "is_only_laid_out",
    "language_of",
    "may_define",
    "names",
    "parsed",
)


_BRACKETS = ((b"{", b"}"), (b"(", b")"), (b"[", b"]"))
_PIECES = re.compile(
    rb"(?<!\\)(?:\"(?:[^\"\\\n]|\\.){0,1000}+\"|'(?:[^'\\\n]|\\.){0,1000}+')|[\w\x80-\xff\0]+|/\*|\*/|//"
    rb"|[<>=!]=|[=-]>|--|\+\+|&&|\|\||::|\?\?|[^\w\s\x80-\xff\0]"
)
_SPLIT_TEXT = re.compile(rb"\"\s*\+\s*\"")
_DIRECTIVE = re.compile(rb"(?m)^[ \t]*#(?:[ \t]*define[ \t]+\w+(?=(\()?))?[^\n]*")
_HIDES_CODE = (b"/*", b"*/", b"#")
_CONFLICT = re.compile(rb"^<{7} .*?^>{7} [^\n]*", re.MULTILINE | re.DOTALL)


def define(source: bytes, path: str, symbol: str) -> Definition:
    """Return the definition of `symbol` in a file; never raises.

    A fully qualified match is preferred to a suffix match: `limit` is the module's function, and
    only without one the methods of that name. Up to three definitions of the name count (overloads,
    branches of a condition).

    Args:
        source: the file's bytes, valid or not.
        path: its name, which selects the language; without one nothing is found.
        symbol: a name, or names joined with '.', '::' or '#' (`Class.method`, `scripts.build`); a
            leading module is ignored.
    """
    language = language_of(path)
    if language is None:
        return Definition(state=State.MISSING)
    if language is PYTHON:
        return python_definitions.define(source, symbol)
    source = unified(source)
    root = _root(source, language)
    if root is None:
        return Definition(state=State.BROKEN)
    if root.has_error and _CONFLICT.search(source) and _word(symbol).search(source):
        return Definition(state=State.BROKEN)  # conflict markers join the lines around them
    if language.is_settings:
        return _define_key(root, source, symbol)
    found = matching(parsing.definitions(root, source, language), symbol)
    if not found:
        return _without(root, source, symbol)
    if len(found) > DEFINITIONS_MAX:
        return Definition(state=State.AMBIGUOUS)
    nodes = [one.node for one in found]
    if any(one.is_lost for one in found):
        return Definition(state=State.BROKEN)
    if root.has_error and _is_in_error(symbol, root, source, language):
        return Definition(state=State.BROKEN)
    said = [token for one in found for token in tokens.tokens(one, source, language)]
    if any(node.has_error for node in nodes) and not (language.has_macros and _is_closed(said)):
        return Definition(state=State.BROKEN)
    return _defined(nodes[0], said, source)


def is_only_laid_out(old: bytes, new: bytes, path: str, symbol: str) -> bool:
    """Return whether a definition has the same words in `new`, which the parser cannot read.

    Some formatters write what does not parse. False in languages in which white space has a
    meaning. Either all of the file has the same words, or each definition of the name stands
    between the same words as often as before, and no comment or directive came or went around it.
    """
    language = language_of(path)
    if language is None or not language.is_free_form:
        return False
    source = unified(old)
    root = _root(source, language)
    if root is None:
        return False
    then, now = _pieces(source), _pieces(unified(new))
    if then == now:
        return True
    found = matching(parsing.definitions(root, source, language), symbol)
    if not 0 < len(found) <= DEFINITIONS_MAX:
        return False
    if any(then.count(one) != now.count(one) for one in _HIDES_CODE):
        return False
    joined = [b"\n".join((b"", *pieces, b"")) for pieces in (then, now)]
    for one in found:
        outer = one.shells[0] if one.shells else one.node
        own = _pieces(source[outer.start_byte : outer.end_byte])
        start = len(_pieces(source[: outer.start_byte]))
        end = start + len(own)
        piece = b"\n".join((b"", *then[max(0, start - 1) : end + 1], b""))
        counts = [text.count(piece) for text in joined]
        if then[start:end] != own or counts[0] != counts[1]:
            return False
    return True


def _pieces(source: bytes) -> list[bytes]:
    """Return the words and signs of a file; a directive of C ends with its line."""
    source = _SPLIT_TEXT.sub(b"", source.replace(b"\0", b" ").replace(b"\\\n", b" "))
    marked = _DIRECTIVE.sub(lambda found: found[0] + (b" \0( " if found[1] else b" \0 "), source)
    return _PIECES.findall(marked)


def parsed(source: bytes, path: str) -> "tuple[Node, bytes] | None":
    """Return the root of a file's syntax tree, and the source it was read from.

    None for a settings file, an unknown language, or a file that cannot be parsed.
    """
    language = language_of(path)
    if language is None or language.is_settings:
        return None
    source = unified(source)
    root = _root(source, language)
    return (root, source) if root is not None else None


def tree_of_settings(source: bytes, path: str) -> "Node | None":
    """Return the root of a settings file's syntax tree; None for another file, or a broken one."""
    language = language_of(path)
    return _root(unified(source), language) if language and language.is_settings else None


def may_define(source: bytes, path: str, symbol: str) -> bool:
    """Return False only if `define` cannot find `symbol`; costs a word search."""
    if language_of(path) is not PYTHON:
        return True
    return naming.may_define(unified(source), parts_of(symbol)[-1])


def names(source: bytes, path: str) -> Sequence[Named]:
    """Return all definitions of a file in order; none when it cannot be parsed."""
    language = language_of(path)
    if language is None:
        return ()
    if language is PYTHON:
        return python_definitions.names(source)
    source = unified(source)
    root = _root(source, language)
    if root is None:
        return ()
    if language.is_settings:
        return [
            _named(key.name, Kind.KEY, key.nodes[0], source) for key in settings.keys(root, source)
        ]
    found = parsing.definitions(root, source, language)
    return [_named(one.name, one.kind, one.node, source) for one in found]


def _root(source: bytes, language: Language) -> "Node | None":
    syntax = grammar(language.module, language.function)
    if not is_readable(source, nests=language.nests, indents=language.indents):
        return None
    return parse(source, syntax)


def _define_key(root: "Node", source: bytes, symbol: str) -> Definition:
    found = matching(settings.keys(root, source), symbol)
    if not found:
        return _without(root, source, symbol)
    if max(len(found), *(len(key.nodes) for key in found)) > DEFINITIONS_MAX:
        return Definition(state=State.AMBIGUOUS)
    said = [token for key in found for token in settings.tokens(key, source)]
    known = [token for token in said if token is not None]
    nodes = [node for key in found for node in key.nodes]
    if len(known) < len(said) or any(key.is_lost for key in found):
        return Definition(state=State.BROKEN)
    return _defined(nodes[0], known, source)


def _without(root: "Node", source: bytes, symbol: str) -> Definition:
    """Return a missing definition, unless it may be in a broken part of the file."""
    if root.has_error and _word(symbol).search(source):
        return Definition(state=State.BROKEN)
    return Definition(state=State.MISSING)


def _defined(node: "Node", said: Iterable[bytes], source: bytes) -> Definition:
    digest = hashlib.sha256()
    for token in said:
        digest.update(token)
        digest.update(b"\0")
    return Definition(
        state=State.FOUND,
        line=node.start_point[0] + 1,
        end_line=_end_line(node, source),
        fingerprint=digest.hexdigest(),
    )


def _named(name: tuple[str, ...], kind: Kind, node: "Node", source: bytes) -> Named:
    line = node.start_point[0] + 1
    return Named(name=".".join(name), kind=kind, line=line, end_line=_end_line(node, source))


def _end_line(node: "Node", source: bytes) -> int:
    """Return the last line of a node; some nodes include trailing empty lines."""
    said = source[node.start_byte : node.end_byte].rstrip()
    return node.start_point[0] + 1 + said.count(b"\n")


def _is_closed(said: Sequence[bytes]) -> bool:
    """Return whether every bracket is closed, so that the end can be trusted."""
    return all(said.count(start) == said.count(end) for start, end in _BRACKETS)


def _is_in_error(symbol: str, root: "Node", source: bytes, language: Language) -> bool:
    """Return whether the name occurs in a parse error: it may be defined there too."""
    word = _word(symbol)
    return any(
        word.search(source, node.start_byte, node.end_byte)
        for node in parsing.errors(root, language)
    )


def _word(symbol: str) -> re.Pattern[bytes]:
    last = parts_of(symbol)[-1].encode("utf-8", "replace")
    return re.compile(rb"(?<![\w$])" + re.escape(last) + rb"(?![\w$])")


_KEYWORD = (
    r"\b(?:func|function|fn|fun|def|defp|sub|proc|class|struct|interface|trait|enum|union|record|object|protocol|"
    r"extension|actor|impl|module|namespace|type|typedef|const|let|var|val|static|define|macro_rules!)\b"
)
_MODIFIER = (
    r"(?:public|private|protected|internal|static|virtual|override|abstract|final|async|extern|"
    r"inline|constexpr|synchronized|unsafe|partial|sealed)\b"
)
# A line with this start calls, tests or returns; it defines nothing.
_NO_DEFINITION = re.compile(
    r"\s*(?://|/\*|\*|--|;;|<!--|\#(?!\s*define\b)"
    r"|(?:\}\s*)?(?:if|else|elif|for|foreach|while|until|unless|switch|case|when|match|return|await"
    r"|yield|throw|try|catch|do|go|defer|new|delete|not|and|or|print|echo|assert|import|from|use|using"
    r"|require|include|raise)\b)"
)
_COMMENT = re.compile(r"\s*(?:///?|/\*|\*/|\*\s|\*$|#\s|#$|#!(?!\[)|--\s|<!--)")
_TYPE = re.compile(
    r"[^(=]*?\b(?:class|struct|interface|trait|enum|union|record|object|protocol|extension|actor"
    r"|impl|module|namespace|type|typedef)\b"
)
_PATTERNS_KEPT = 256
_LINE_CHARS_MAX = 1_000
_GOES_ON = re.compile(
    r"\s*(?:[{)\]}]|(?:end|done|fi|esac|else|elif|elsif|catch|except|rescue|ensure|finally|where"
    r"|throws|then|do|while)\b|(?:public|private|protected|default|case\b[^:]*|\w+):\s*$)"
)
"""How a line begins that is no deeper than the line above it and belongs to it nevertheless."""


def defines(line: str, symbol: str) -> bool:
    """Return whether `line` looks like the defining line of `symbol` (its last part, if
    qualified).
    """
    return _is_defining(line, re.escape(last_part(symbol)))


def locate(text: str, symbol: str) -> int | None:
    """Return the line (from 1) that defines `symbol`, else the first with the word.

    A line that is only `name()` is a function of a shell script, but a call in other languages:
    another definition is preferred.
    """
    word = _word_of(re.escape(last_part(symbol)))
    first = bare = None
    counted, line = 0, 1
    found = word.search(text)
    while found:
        line += text.count("\n", counted, found.start())
        counted = found.start()
        around = _line_around(text, counted)
        if defines(around, symbol):
            if not around.rstrip().endswith("()"):
                return line
            bare = bare or line
        first = first or line
        end = text.find("\n", counted)
        found = word.search(text, end + 1) if end >= 0 else None
    return bare or first


def define_by_lines(source: bytes, path: str, symbol: str) -> Definition:
    """Return the definition of `symbol` in a file without a parser: its block, by indentation.

    White space, whole-line comments, trailing commas, the kind of quotes round plain words and
    where it stands in the file do not count. Of a type only its own lines do, not the bodies of its
    functions. In Elixir, what `mix format` adds and removes does not count.
    """
    text = unified(source).decode("utf-8", "replace")
    is_elixir = path.endswith((".ex", ".exs"))
    line = locate(text, symbol)
    first, *rest = text.split("\n")[line - 1 :] if line is not None else [""]
    if line is None or not defines(first, symbol):
        return Definition(state=State.MISSING)
    depth, end = _indent(first), line
    is_braced = first.rstrip().endswith("{")  # then a text inside may begin at any column
    kept: list[str] = []
    has_texts = path.endswith(_WITH_TEXT_BLOCKS)
    is_text = has_texts and first.count('"""') % 2 == 1
    for number, one in enumerate(rest, line + 1):
        if not one.strip() or _COMMENT.match(one):
            continue
        wide = depth + 1 if is_text else _indent(one)  # a text may begin at any column
        is_text ^= has_texts and one.count('"""') % 2 == 1
        if wide < depth and not is_braced:
            break
        # One more clause of the same name belongs to it, as functions of Elixir have them.
        if wide == depth and not (is_braced or _GOES_ON.match(one) or defines(one, symbol)):
            break
        kept.append(one)
        end = number
        if is_braced and wide <= depth and one.lstrip().startswith("}"):
            break
    if _TYPE.match(first):
        kept = list(_own_lines(kept, depth))
    written = [first, *kept]
    if is_elixir:
        written = [_as_mix_formats(one) for one in written]
    squeezed = "".join("".join(written).split())
    if is_elixir:
        squeezed = _LAST_OPTIONS.sub(r"\1", squeezed)
    squeezed = re.sub(r"'([\w.,:;/-]*)'", r'"\1"', re.sub(r",(?=[)\]}])", "", squeezed))
    digest = hashlib.sha256(squeezed.encode()).hexdigest()
    return Definition(state=State.FOUND, line=line, end_line=end, fingerprint=digest)


def _as_mix_formats(line: str) -> str:
    """Return a line of Elixir without what `mix format` changes besides white space.

    Which brackets are needed only a parser could tell, so that none count: `sum a` is `sum(a)`,
    `(a + b) < c` is `a + b < c`, and `(a - b) * c` is not told from `a - b * c` either.
    """
    line = _REMARK_OF_ELIXIR.sub(r"\1", line)
    line = _NOT_IN.sub(r"\1\2 not in", line)
    line = _HEX.sub(lambda found: found[1] + found[2].upper(), line)
    return _UNCOUNTED_IN_ELIXIR.sub("", line)


_WITH_TEXT_BLOCKS = (".ex", ".exs", ".scala", ".groovy", ".gradle", ".jl", ".dart", ".fs")
_REMARK_OF_ELIXIR = re.compile(
    r"^((?:[^\"#]|\"(?:[^\"\\]|\\.)*+\"|#(?=\{)|(?<!\s)#(?!\{))*?)\s#(?!\{).*$"
)
_NOT_IN = re.compile(r"\bnot\b(?:\s*(\((?:[^()]|\([^()]*+\))*+\))|[\s(]+([\w.@]+))\s+in\b")
_HEX = re.compile(r"\b(0x)([\da-fA-F]+)")
_LAST_OPTIONS = re.compile(r"\[(\w++[?!]?:(?!:)[^\[\]]*+)\]")
"""`f([a: 1])` is `f(a: 1)`."""
_UNCOUNTED_IN_ELIXIR = re.compile(r"[();]|(?<=\d)_(?=\d)|~c(?=\")")


def _own_lines(lines: Sequence[str], depth: int) -> Iterator[str]:
    """Yield the lines of a type at `depth` without the bodies of its functions."""
    inner = min((_indent(one) for one in lines if _indent(one) > depth), default=depth)
    is_own = True
    for line in lines:
        is_head = _indent(line) <= inner
        if is_head or is_own:
            yield line
        if is_head:
            is_own = "(" not in line


def last_part(symbol: str) -> str:
    """Return the last part of a qualified name: `limit` of `Retry.limit`."""
    return re.split(r"\.|::|#", symbol)[-1]


def _is_defining(line: str, name: str) -> bool:
    """Return whether the start of `line` defines what the pattern `name` matches."""
    start = line[:_LINE_CHARS_MAX]
    return not _NO_DEFINITION.match(start) and _definition(name).search(start) is not None


@cached(_PATTERNS_KEPT)
def _definition(name: str) -> re.Pattern[str]:
    """Return a matcher for defining lines of `name`, itself a pattern."""
    before, generic = r"(?<![\w$.])", r"\s*(?:<[^<>()]*>)?\s*"
    parameters = r"\((?:[^()]|\([^()]*\))*\)"
    return re.compile(
        # func name, class name, func (receiver) name, const name
        rf"{_KEYWORD}\s*\*?\s*(?:<[^<>]*>\s*)?(?:\([^()]*\)\s*)?(?:[\w.:]*[.:])?{name}(?![\w$])"
        # name(...) {    int name(...) {    name(...): Type {
        rf"|^[^(=]*?{before}{name}{generic}{parameters}[^;()=]*\{{\s*(?://.*|/\*.*)?$"
        # int name(...    with the brace on a line of its own
        rf"|^(?:\s*{_MODIFIER}|[A-Za-z_])[\w\s*&:<>,.?\[\]]*[\s*&:]{name}{generic}\([^;{{=]*$"
        # name()
        rf"|^\s*{name}\s*\(\)\s*\{{?\s*$"
    )


@cached(_PATTERNS_KEPT)
def _word_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w$]){name}(?![\w$])")


def _line_around(text: str, position: int) -> str:
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    return text[start : end if end >= 0 else len(text)]


def _indent(line: str) -> int:
    wide = line.expandtabs(4)
    return len(wide) - len(wide.lstrip())
