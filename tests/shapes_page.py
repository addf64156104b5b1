"""Renders the JSON shapes of docs/contracts.md from the classes in `yaadwatch/api/answers`."""

import ast
import inspect
import textwrap

from tests.answers import MODULES
from yaadwatch.api.operations import OPERATIONS

TITLES = {
    "shapes": "Shared shapes",
    "memories": "Memories",
    "graph": "Graph",
    "sessions": "Tasks, skills, sessions",
    "truth": "Claims, contradictions, gaps, review",
    "files": "Projects and agent files",
    "store": "Stores",
    "wire": "The daemon",
    "commands": "Commands that send no request",
}
PLAIN = {"str": "", "int": "N", "float": "number", "bool": "bool", "Time": "TIME", "object": "any"}


def rendered():
    """Return the sections of all modules."""
    trees = {module: ast.parse(inspect.getsource(module)) for module in MODULES}
    classes = {
        node.name: node
        for tree in trees.values()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    parts = []
    for module, tree in trees.items():
        parts.append(f"### {TITLES[module.__name__.rpartition('.')[2]]}\n\n")
        parts += [
            _shape(node, classes)
            for node in tree.body
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        ]
    return "".join(parts)


def _shape(node, classes):
    first, _, more = (ast.get_docstring(node) or "").partition("\n\n")
    asked = [row.name for row in OPERATIONS if node.name in row.request.ANSWER.split(" | ")]
    of = f", of {', '.join(f'`{name}`' for name in asked)}" if asked else ""
    head = _wrapped(f"**{node.name}**{of}: `{_object(node, classes)}`. {first}")
    lines = [_wrapped(f"- `{key}`: {text}", "  ") for key, text in _documented(node, classes)]
    listed = f"\n\n{more}" if more else ""
    return head + listed + "".join(f"\n{line}" for line in _spaced(lines, more)) + "\n\n"


def _spaced(lines, more):
    return lines if not lines or more.startswith("- ") or "\n- " in more else ["", *lines]


def _keys(node):
    """Yield key, annotation and text of each key that a class adds."""
    body = node.body
    for place, one in enumerate(body):
        if isinstance(one, ast.AnnAssign):
            after = body[place + 1] if place + 1 < len(body) else None
            said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            yield one.target.id.rstrip("_"), one.annotation, after.value.value if said else ""


def _documented(node, classes, before=""):
    """Yield the keys that have a text, those of shapes without a heading behind the key."""
    for base in _bases(node):
        if base.startswith("_"):
            yield from _documented(classes[base], classes, before)
    for key, annotation, text in _keys(node):
        if text:
            yield before + key, " ".join(text.split())
        for one in ast.walk(annotation):
            if isinstance(one, ast.Name) and one.id.startswith("_"):
                yield from _documented(classes[one.id], classes, f"{before}{key}.")


def _bases(node):
    return [base.id for base in node.bases if base.id != "TypedDict"]


def _object(node, classes):
    """Return an object as it is written: shapes that it extends, then its own keys."""
    extended = [base for base in _bases(node) if not base.startswith("_")]
    shown = [f"...{base}" for base in extended]
    shown += [_object(classes[one], classes)[1:-1] for one in _bases(node) if one[0] == "_"]
    for key, annotation, _ in _keys(node):
        is_optional, kind = _kind(annotation, classes)
        name = f"{key}?" if is_optional else key
        shown.append(f"{name}: {kind}" if kind else name)
    return "{" + ", ".join(shown) + "}"


def _kind(one, classes):
    """Return whether a value may be missing or null, and how it is written."""
    if isinstance(one, ast.Subscript) and one.value.id == "NotRequired":
        return True, _kind(one.slice, classes)[1]
    if isinstance(one, ast.BinOp) and ast.unparse(one.right) == "None":
        return True, _kind(one.left, classes)[1]
    return False, _written(one, classes)


def _written(one, classes):
    if isinstance(one, ast.BinOp):
        return f"{_written(one.left, classes)}|{_written(one.right, classes)}"
    if isinstance(one, ast.Name):
        if one.id.startswith("_"):
            return _object(classes[one.id], classes)
        return PLAIN.get(one.id, one.id)
    inner = one.slice
    if one.value.id == "Literal":
        values = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return "|".join(f'"{value.value}"' for value in values)
    if one.value.id == "list":
        return f"[{_written(inner, classes) or 'text'}]"
    return f"{{name: {_written(inner.elts[1], classes) or 'text'}}}"


def _wrapped(text, indent=""):
    return textwrap.fill(
        text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
