"""The size of each package, for docs/architecture.md: modules, and hundreds of lines of code.

Schemas in SQL count as modules.
"""

import ast
import functools
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
NOT_CODE = {
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.ENDMARKER, tokenize.COMMENT),
}


def code_lines(text):
    """Return how many lines of a module hold code: no blank lines, comments or docstrings."""
    held = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NOT_CODE:
            held.update(range(token.start[0], token.end[0] + 1))
    for one in _statements(ast.parse(text)):
        if (
            isinstance(one, ast.Expr)
            and isinstance(one.value, ast.Constant)
            and isinstance(one.value.value, str)
        ):
            held -= set(range(one.lineno, one.end_lineno + 1))
    return len(held)


def _statements(node):
    """Yield the statements below a node; nothing is sought in expressions."""
    for one in ast.iter_child_nodes(node):
        if isinstance(one, ast.stmt | ast.excepthandler | ast.match_case):
            yield one
            yield from _statements(one)


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
