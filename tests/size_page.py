"""The size of each package, for docs/architecture.md: modules, and hundreds of lines of code.

Schemas in SQL count as modules.
"""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).parents[1]


def code_lines(text):
    """Return how many lines of a module hold code: no blank lines, comments or docstrings."""
    lines = enumerate(map(str.strip, text.split("\n")), 1)
    held = {number for number, line in lines if line and not line.startswith("#")}
    for node in _over_several_lines(ast.parse(text)):
        if _is_docstring(node):
            held.difference_update(range(node.lineno, node.end_lineno + 1))
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            held.update(range(node.lineno, node.end_lineno + 1))
    return len(held)


def _over_several_lines(node):
    """Yield the docstrings below a node, and what spans several lines; outer nodes last."""
    for one in ast.iter_child_nodes(node):
        # Arguments and cases have no lines of their own.
        if _is_docstring(one) or getattr(one, "end_lineno", 1) > getattr(one, "lineno", 0):
            yield from _over_several_lines(one)
            yield one


def _is_docstring(node):
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def table():
    """Return the table: a row for each package and its sum, one for the tests."""
    packages = sorted(path for path in (ROOT / "yaadwatch").iterdir() if path.is_dir())
    rows = [_row(f"`{path.name}`", path) for path in packages if _modules(path)]
    rows.append(_row("`bridges`", ROOT / "bridges"))
    rows.append(_row("the product", ROOT / "yaadwatch", ROOT / "bridges"))
    rows.append(_row("the tests", ROOT / "tests"))
    return "".join(["| package | modules | lines of code |\n|---|---|---|\n", *rows, "\n"])


def _row(name, *folders):
    modules = [path for folder in folders for path in _modules(folder)]
    lines = sum(_lines(path) for path in modules)
    return f"| {name} | {len(modules)} | {round(lines, -2):,} |\n"


def _modules(folder):
    return [path for path in folder.rglob("*") if path.suffix in {".py", ".sql"}]


@functools.cache
def _lines(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return code_lines(text)
    lines = map(str.strip, text.splitlines())
    return sum(bool(line) and not line.startswith("--") for line in lines)
