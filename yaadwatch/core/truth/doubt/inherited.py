"""Is a name still provided by a file that no longer defines it? By an export, or by inheritance."""

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from yaadwatch.core.truth import definitions
from yaadwatch.core.truth.definitions import Definition, State
from yaadwatch.core.truth.found import parts_of

if TYPE_CHECKING:
    from tree_sitter import Node

_SCRIPTS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_PYTHON = (".py", ".pyi")
_FILES_MAX = 64
"""Paths that are tried for files of which another file passes everything on."""
_CLASSES_MAX = 16
"""Classes of one file that are asked for a member that one of them inherits."""


def is_passed_on(path: str, symbol: str, read: Callable[[str], bytes | None]) -> bool:
    """Return whether a file exports or imports, for others to use, what it does not define itself.

    `export { inner as parse }` and `export * from './rows'` in a script; in Python
    `from .rows import parse`, also in a `try` or an `if`, `import rows as parse`, and
    `from .rows import *`.

    Args:
        path: the file.
        symbol: the name that it may pass on.
        read: returns what a file of the repository says; None where there is none.
    """
    if len(parts_of(symbol)) > 1:
        return False
    asked = [path]
    for one in asked:  # it grows
        data = read(one)
        parsed = definitions.parsed(data, one) if data is not None else None
        if data is None or parsed is None:
            continue
        if one != path and definitions.define(data, one, symbol).state is State.FOUND:
            return True
        for name, module in _passed_on(*parsed, one):
            if name == symbol:
                return True
            if name == "*" and not (symbol.startswith("_") and one.endswith(_PYTHON)):
                more = (file for file in _files_of(module, one) if file not in asked)
                asked += [file for file in more if not file.startswith("..")]
                del asked[_FILES_MAX:]
    return False


def _passed_on(root: "Node", source: bytes, path: str) -> "Iterator[tuple[str, str]]":
    """Yield the names that a file passes on; with "*", the module of which it passes on all."""
    lowered = path.lower()
    if lowered.endswith(_SCRIPTS):
        exports = (node for node in root.named_children if node.type == "export_statement")
        for node in exports:
            yield from _exported(node, source)
    elif lowered.endswith(_PYTHON):
        yield from _imported(root, source)


def _exported(node: "Node", source: bytes) -> "Iterator[tuple[str, str]]":
    value = node.child_by_field_name("value")
    if value is not None and value.type == "identifier":
        yield _text(value, source), ""
    if any(child.type == "*" for child in node.children):
        yield "*", _text(node.child_by_field_name("source"), source).strip("'\"")
    for child in node.named_children:
        if child.type == "namespace_export":
            yield _text(child.named_children[-1], source), ""
        for one in child.named_children if child.type == "export_clause" else ():
            named = one.child_by_field_name("alias") or one.child_by_field_name("name")
            yield _text(named, source), ""


def _imported(root: "Node", source: bytes) -> "Iterator[tuple[str, str]]":
    """Yield what a Python module imports, not what its functions and classes do."""
    stack = [root]
    while stack:
        node = stack.pop()
        stack += [one for one in node.named_children if one.type.endswith(_HOLDS_STATEMENTS)]
        if not node.type.startswith("import_"):
            continue
        if any(child.type == "wildcard_import" for child in node.named_children):
            yield "*", _text(node.child_by_field_name("module_name"), source)
        for one in node.children_by_field_name("name"):
            alias = one.child_by_field_name("alias")
            yield _text(alias or one, source).partition(".")[0], ""


_HOLDS_STATEMENTS = ("_statement", "_clause", "block")


def _files_of(module: str, path: str) -> list[str]:
    """Return the paths at which the file may be that another one names as a module."""
    folder = posixpath.dirname(path)
    if path.lower().endswith(_SCRIPTS):
        if not module.startswith("."):
            return []
        base = posixpath.normpath(posixpath.join(folder, module))
        stem, ending = posixpath.splitext(base)
        bare = [stem, base] if ending in _SCRIPTS else [base]
        return [one + end for one in (*bare, f"{base}/index") for end in ("", *_SCRIPTS)]
    name = module.lstrip(".")
    dots = len(module) - len(name)
    inside = name.replace(".", "/")
    if dots:
        folders = [posixpath.normpath(posixpath.join(folder, *[".."] * (dots - 1)))]
    else:
        parts = folder.split("/")
        folders = ["/".join(parts[:end]) for end in range(len(parts), -1, -1)]
    bases = [posixpath.normpath(posixpath.join(one, inside)) for one in folders]
    return [one + end for one in bases for end in (*_PYTHON, "/__init__.py")]


def _text(node: "Node | None", source: bytes) -> str:
    return source[node.start_byte : node.end_byte].decode("utf-8", "replace") if node else ""


def member(data: bytes, path: str, symbol: str) -> Definition | None:
    """Return the definition that a class of a file inherits from another class of that file.

    None where it inherits none. `Store.save` is that of `Base` where `Store` extends `Base`.
    """
    *scope, name = parts_of(symbol)
    if not scope:
        return None
    text = data.decode("utf-8", "replace")
    known = [scope[-1]]
    for one in known:  # it grows
        for base in _bases(text, one):
            if base in known or len(known) > _CLASSES_MAX:
                continue
            found = definitions.define(data, path, f"{base}.{name}")
            if found.state is State.FOUND:
                return found
            known.append(base)
    return None


def _bases(text: str, name: str) -> list[str]:
    """Return the names in the head of a class behind its own: what it extends is among them."""
    head = re.search(
        rf"^[ \t]*(?:[\w@]+[ \t]+)*?class[ \t]+{re.escape(name)}\b"
        r"((?:\s*\([^()]*\))?(?:[^{\n]|\n\s*(?=extends\b|:))*)",
        text,
        re.MULTILINE,
    )
    extends = head.group(1).partition("implements")[0] if head is not None else ""
    return re.findall(r"[A-Za-z_]\w*", extends)
