"""Where is a definition, and what does it say apart from its formatting? In every known language.

`define` looks for one name, `names` lists them all. The fingerprint is taken from what the syntax
tree means, see `meaning` (Python), `tokens` (other languages) and `settings_keys` (files of
settings), so that a formatter changes nothing.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from yaadwatch.core.truth import outlines, prefilter, settings_keys, symbols, tokens
from yaadwatch.core.truth.found import Definition, Kind, Named, State, matching, parts_of
from yaadwatch.core.truth.language import Language
from yaadwatch.core.truth.languages import PYTHON, language_of
from yaadwatch.core.truth.parsing import grammar, is_readable, parse, unified
from yaadwatch.model.settings import DEFINITIONS_MAX

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = [
    "Definition",
    "Kind",
    "Language",
    "Named",
    "State",
    "define",
    "function",
    "language_of",
    "may_define",
    "names",
    "parsed",
]

_BRACKETS = ((b"{", b"}"), (b"(", b")"), (b"[", b"]"))
_CONFLICT = re.compile(rb"^<{7} .*?^>{7} [^\n]*", re.MULTILINE | re.DOTALL)


def define(source: bytes, path: str, symbol: str) -> Definition:
    """Return the definition of `symbol` in a file; never raises.

    A whole qualified name is preferred to the end of one: `limit` is the function of the module,
    and only where there is none, the methods of that name. All that is defined under the name
    counts (overloads, branches of a condition), up to three.

    Args:
        source: the file's bytes; anything at all.
        path: its name, which tells the language; in an unknown one everything is missing.
        symbol: a name, or names joined with '.', '::' or '#' (`Class.method`, `scripts.build`); a
            module in front is ignored.
    """
    language = language_of(path)
    if language is None:
        return Definition(state=State.MISSING)
    if language is PYTHON:
        return symbols.define(source, symbol)
    source = unified(source)
    root = _root(source, language)
    if root is None:
        return Definition(state=State.BROKEN)
    if root.has_error and _CONFLICT.search(source) and _word(symbol).search(source):
        return Definition(state=State.BROKEN)  # its markers join what stands around them
    if language.is_settings:
        return _define_key(root, source, symbol)
    found = matching(list(outlines.definitions(root, source, language)), symbol)
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


def function(source: bytes, path: str, symbol: str) -> "tuple[Node, bytes] | None":
    """Return the node of the one function that `symbol` means in a file, and what it was read from.

    None when it means none or several, when it is no function, and when it cannot be read.
    """
    read = parsed(source, path)
    language = language_of(path)
    if read is None or language is None:
        return None
    root, source = read
    if language is PYTHON:
        node = symbols.function(source, symbol)
        return (node, source) if node is not None else None
    found = matching(list(outlines.definitions(root, source, language)), symbol)
    if len(found) != 1 or found[0].kind is not Kind.FUNCTION or found[0].is_lost:
        return None
    return (found[0].node, source) if not found[0].node.has_error else None


def parsed(source: bytes, path: str) -> "tuple[Node, bytes] | None":
    """Return the root of a file's syntax tree, and what it was read from.

    None for a file of settings or of an unknown language, and for one that cannot be read.
    """
    language = language_of(path)
    if language is None or language.is_settings:
        return None
    source = unified(source)
    root = _root(source, language)
    return (root, source) if root is not None else None


def may_define(source: bytes, path: str, symbol: str) -> bool:
    """Return False only if `define` cannot find `symbol`; what it costs is a look for the word."""
    if language_of(path) is not PYTHON:
        return True
    return prefilter.may_define(unified(source), parts_of(symbol)[-1])


def names(source: bytes, path: str) -> Sequence[Named]:
    """Return all definitions of a file, in its order; none when it cannot be read."""
    language = language_of(path)
    if language is None:
        return ()
    if language is PYTHON:
        return symbols.names(source)
    source = unified(source)
    root = _root(source, language)
    if root is None:
        return ()
    if language.is_settings:
        return [
            _named(key.name, Kind.KEY, key.nodes[0], source)
            for key in settings_keys.keys(root, source)
        ]
    found = outlines.definitions(root, source, language)
    return [_named(one.name, one.kind, one.node, source) for one in found]


def _root(source: bytes, language: Language) -> "Node | None":
    syntax = grammar(language.module, language.function)
    if not is_readable(source, nests=language.nests, indents=language.indents):
        return None
    return parse(source, syntax)


def _define_key(root: "Node", source: bytes, symbol: str) -> Definition:
    found = matching(settings_keys.keys(root, source), symbol)
    if not found:
        return _without(root, source, symbol)
    if max(len(found), *(len(key.nodes) for key in found)) > DEFINITIONS_MAX:
        return Definition(state=State.AMBIGUOUS)
    said = [token for key in found for token in settings_keys.tokens(key, source)]
    known = [token for token in said if token is not None]
    nodes = [node for key in found for node in key.nodes]
    if len(known) < len(said) or any(key.is_lost for key in found):
        return Definition(state=State.BROKEN)
    return _defined(nodes[0], known, source)


def _without(root: "Node", source: bytes, symbol: str) -> Definition:
    """Return that a name is missing, unless it may be defined where the file is broken."""
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
    """Return the last line of a node; some end with the empty lines behind them."""
    said = source[node.start_byte : node.end_byte].rstrip()
    return node.start_point[0] + 1 + said.count(b"\n")


def _is_closed(said: Sequence[bytes]) -> bool:
    """Return whether each bracket that is opened is closed, so that the end can be believed."""
    return all(said.count(start) == said.count(end) for start, end in _BRACKETS)


def _is_in_error(symbol: str, root: "Node", source: bytes, language: Language) -> bool:
    """Return whether the name stands where the parser gave up: it may be defined there as well."""
    word = _word(symbol)
    return any(
        word.search(source, node.start_byte, node.end_byte)
        for node in outlines.errors(root, language)
    )


def _word(symbol: str) -> re.Pattern[bytes]:
    last = parts_of(symbol)[-1].encode("utf-8", "replace")
    return re.compile(rb"(?<![\w$])" + re.escape(last) + rb"(?![\w$])")
