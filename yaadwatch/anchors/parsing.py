"""Load grammars on first use, parse with a limit, and list the definitions of a file.

One query of the syntax tree from the top down finds all definitions. Scopes follow from which range
encloses which: asking a node for its parent takes time in proportion to the file.
"""

import functools
import importlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from yaadwatch.anchors.language import Language as CodeLanguage
from yaadwatch.anchors.language import Role, patterns, rules_by_type
from yaadwatch.anchors.naming import Kind, Name
from yaadwatch.system.clock import thread_cpu_s
from yaadwatch.text.words import cached

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query


_STEPS_SOME = 400
_STEPS_A_KIB = 32
"""Steps of the parser up to a place: of 3,500 files of 36 repositories none takes more than 18 for
each KiB before it, and 300. With more it goes the same way again and again, each time slower: 64 KB
of `a<!--` in C++ took 70 a KiB, and 20 s."""
_CPU_S_MAX = 5.0
_CPU_S_A_MIB = 8.0
"""What people write takes half a second for each MiB. A long chain of operators in TypeScript, such
as 128 KB of `a<!--`, takes 14 s, at the same number of steps as other files."""
_LOST_STEPS_SOME = 300
"""Steps after an error: so many, or so many that are half of all. A file full of macros has two
hundred and fifty, a quarter of its steps."""
_READ_SOME_BYTES = 1024 * 1024
"""The parser reads what people wrote twice at most; it may so often, and so many bytes besides.
What opens a text again and again and never closes it is read to its end each time."""

_IN_ERRORS_MAX = 50_000_000
"""The squares of how many nodes lie in each place where the parser gave up, added: what it skips
lies side by side there, and a query looks at each of them as often as there are others. A hundred
thousand brackets took ten seconds. Of three thousand files of thirteen languages none has a
hundredth.
"""
_CHUNK_BYTES = 4 * 1024
_spare: list[bytearray] = []
"""Empty buffers that no parser is reading."""

_KEPT_BYTES_MAX = 128 * 1024
_KEPT_MAX = 4
_ONE_BYTES_MAX = 512 * 1024
"""For larger files, up to this size, only the last tree is cached."""
_LEVELS_MAX = 150
_COMMENT_ENDS = re.compile(rb"/\*|\*/")
_LEVEL_MARKS = re.compile(rb"[-?:](?=[ \t]|$)")


@functools.cache
def grammar(module: str, function: str = "language") -> "Language":
    """Return the grammar from `function` of the wheel `module`."""
    from tree_sitter import Language

    return Language(getattr(importlib.import_module(module), function)())


@functools.cache
def query(module: str, function: str, patterns: str) -> "Query":
    """Return the compiled query for `patterns`."""
    from tree_sitter import Query

    return Query(grammar(module, function), patterns)


def parse(source: bytes, language: "Language") -> "Node | None":
    """Return the root of the syntax tree, or None when parsing would take too long.

    The last few trees are cached, because several names are searched in one file.
    """
    if len(source) > _ONE_BYTES_MAX:
        return _parsed(source, language)
    return (_kept if len(source) <= _KEPT_BYTES_MAX else _last)(source, language)


@cached(_KEPT_MAX)
def _kept(source: bytes, language: "Language") -> "Node | None":
    return _parsed(source, language)


@cached(1)
def _last(source: bytes, language: "Language") -> "Node | None":
    return _parsed(source, language)


def _parsed(source: bytes, language: "Language") -> "Node | None":
    from tree_sitter import Parser

    steps = lost = reached = 0
    left = _READ_SOME_BYTES + 16 * len(source)
    until_s = thread_cpu_s() + min(_CPU_S_MAX, 1 + _CPU_S_A_MIB * len(source) / 2**20)

    def is_too_much(offset: int, after_error: bool) -> bool:
        nonlocal steps, lost, reached
        steps += 1
        reached = max(reached, offset)
        steps_max = min(20_000, _STEPS_SOME + _STEPS_A_KIB * (reached >> 10))
        if thread_cpu_s() > until_s:
            return True
        lost += after_error
        is_none_of_it = lost > _LOST_STEPS_SOME and 2 * lost > steps
        return steps > steps_max or lost > 2_000 or is_none_of_it or left <= 0

    # The binding never lets go of what it is given to read (tree-sitter 0.26), so it gets the same
    # few buffers each time: with views of `source`, each file that was parsed stayed in memory.
    try:
        chunk = _spare.pop()
    except IndexError:
        chunk = bytearray()

    def read(offset: int, _point: object) -> bytearray:
        nonlocal left
        chunk[:] = source[offset : offset + _CHUNK_BYTES] if left > 0 else b""
        left -= len(chunk)
        return chunk

    try:
        tree = Parser(language).parse(read, progress_callback=is_too_much)
    except ValueError:  # raised by the parser when it is stopped
        return None
    finally:
        chunk.clear()
        _spare.append(chunk)
    root = tree.root_node
    return root if left > 0 and not (root.has_error and _is_rubbish(root)) else None


def _is_rubbish(root: "Node") -> bool:
    """Return whether so much of the file is in parse errors that a query is slow."""
    squares = 0
    at = root.walk()
    while True:
        node = at.node
        if node is not None and node.is_error:
            squares += node.child_count**2
            if squares > _IN_ERRORS_MAX:
                return True
        # Subtrees without errors are skipped.
        if node is not None and node.has_error and at.goto_first_child():
            continue
        while not at.goto_next_sibling():
            if not at.goto_parent():
                return False


def is_readable(source: bytes, *, nests: bool, indents: bool) -> bool:
    """Return whether a file may be given to the parser.

    Two grammars crash or hang on input that no person writes: many nested unclosed comments, and
    hundreds of levels of indentation.

    Args:
        source: the file, with line ends of one kind.
        nests: comments nest.
        indents: indentation is the structure, and one line may open several levels.
    """
    if nests and _unclosed(source) > 8:
        return False
    return not indents or _levels(source) <= _LEVELS_MAX


def _unclosed(source: bytes) -> int:
    depth = 0
    for found in _COMMENT_ENDS.finditer(source):
        depth = depth + 1 if found[0] == b"/*" else max(0, depth - 1)
    return depth


def _levels(source: bytes) -> int:
    """Return an upper bound of the number of open levels of indentation."""
    deepest = held = 0
    open_levels: list[tuple[int, int]] = []
    for line in source.split(b"\n"):
        marks = _LEVEL_MARKS.findall(line)
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip(b" "))
        while open_levels and open_levels[-1][0] >= indent:
            held -= open_levels.pop()[1]
        open_levels.append((indent, 1 + len(marks)))
        held += 1 + len(marks)
        deepest = max(deepest, held)
    return deepest


def unified(source: bytes) -> bytes:
    """Return `source` with `\\n` line ends."""
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


_KINDS = {Role.FUNCTION: Kind.FUNCTION, Role.TYPE: Kind.TYPE, Role.VALUE: Kind.VALUE}
_NAMES_MAX = 64
"""More names than this in one statement are a table of data; the first ones are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A definition in its tree.

    Args:
        name: its scopes, outermost first, and its own name.
        kind: the kind of definition.
        node: the definition, without its shells.
        shells: the nodes directly around it that belong to it, outermost first.
        is_lost: it is inside a parse error, so its scopes may be missing.
    """

    name: Name
    kind: Kind
    node: "Node"
    shells: "tuple[Node, ...]" = ()
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class _Open:
    """A node being read; `role` is None for an error."""

    end: int
    name: Name
    role: Role | None
    node: "Node"


def definitions(root: "Node", source: bytes, language: CodeLanguage) -> "Sequence[Found]":
    """Return the definitions of a file, outer before inner.

    An assignment inside a module wrapper counts when nothing else in the file has its name. Those
    of the last small files are cached, because several names are searched in one file.
    """
    read = _kept_definitions if len(source) <= _KEPT_BYTES_MAX else _read_definitions
    return read(root, source, language)


def _read_definitions(root: "Node", source: bytes, language: CodeLanguage) -> "Sequence[Found]":
    modules = {one.id for one in language.wrappers(root, source)} if language.wrappers else set()
    found = list(_definitions(root, source, language, modules))
    named = Counter(one.name[-1] for one, _ in found)
    return [one for one, wrapped in found if not wrapped or named[one.name[-1]] == 1]


@cached(2)
def _kept_definitions(root: "Node", source: bytes, language: CodeLanguage) -> "Sequence[Found]":
    return _read_definitions(root, source, language)


def _definitions(
    root: "Node", source: bytes, language: CodeLanguage, modules: Collection[int]
) -> "Iterator[tuple[Found, bool]]":
    """Yield the definitions, each with whether it is a value inside a module wrapper."""
    rules = rules_by_type(language)
    stack: list[_Open] = []
    for node in _captured(root, language):
        start, end = node.start_byte, node.end_byte
        while stack and stack[-1].end <= start:
            stack.pop()
        rule = rules.get(node.type)
        if rule is None:
            stack.append(_Open(end, stack[-1].name if stack else (), None, node))
            continue
        role = Role.SCOPE if node.id in modules else language.role_of(node, rule)
        scope = stack[-1].name if stack else ()
        if role is Role.VALUE and _is_local(stack):
            continue
        is_wrapped = role is Role.VALUE and any(one.node.id in modules for one in stack)
        names = [] if role in (Role.SHELL, Role.BLOCK) else list(rule.names(node, source))
        kind = _KINDS.get(role)
        if kind is not None:
            shells = _shells(stack)
            is_lost = any(one.role is None for one in stack)
            for name in filter(None, names[:_NAMES_MAX]):  # `$` is none
                whole = (*scope, *name)
                own = Found(name=whole, kind=kind, node=node, shells=shells, is_lost=is_lost)
                yield own, is_wrapped
        if names or kind is None:
            inner = (*scope, *names[0]) if names else scope
            stack.append(_Open(end, inner, role, node))


def errors(root: "Node", language: CodeLanguage) -> "Iterator[Node]":
    """Yield the parse errors."""
    for node in _captured(root, language):
        if node.type == "ERROR":
            yield node


def _captured(root: "Node", language: CodeLanguage) -> "list[Node]":
    from tree_sitter import QueryCursor

    found = QueryCursor(query(language.module, language.function, patterns(language)))
    nodes = found.captures(root).get("it", [])
    return sorted(nodes, key=lambda node: (node.start_byte, -node.end_byte))


def _is_local(stack: list[_Open]) -> bool:
    """Return whether an assignment here is local to a function."""
    for one in reversed(stack):
        if one.role in (Role.FUNCTION, Role.BLOCK):
            return True
        if one.role in (Role.TYPE, Role.SCOPE):
            return False
    return False


def _shells(stack: list[_Open]) -> "tuple[Node, ...]":
    count = 0
    while count < len(stack) and stack[-1 - count].role is Role.SHELL:
        count += 1
    return tuple(one.node for one in stack[len(stack) - count :])
