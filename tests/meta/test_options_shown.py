"""Every option of every command is in the generated reference, and in a command line of a test."""

import ast
from pathlib import Path

import pytest

from tests import reference, shapes_page, size_page

TESTS = Path(__file__).parents[1]
WORDS_MAX = 60
"""A call or list with more words than a command line has is none."""
OPTIONS = [
    (name, tuple(one.option_strings))
    for name, parser in reference.commands().items()
    for one in reference.own_arguments(parser)
    if one.option_strings
]


def _lines(node, found):
    """Add the words of each short text, list, tuple and call below a node to `found`.

    Returns the words of the node; None for more than a command line has.
    """
    if isinstance(node, ast.Constant):
        text = node.value if isinstance(node.value, str) else ""
        words = frozenset(text.replace("=", " ").split())
    else:
        parts = [_lines(one, found) for one in ast.iter_child_nodes(node)]
        words = None if None in parts else frozenset().union(*parts)
    if words is None or len(words) > WORDS_MAX:
        return None
    if isinstance(node, ast.Call | ast.List | ast.Tuple | ast.Constant):
        found.add(words)
    return words


@pytest.fixture(scope="module")
def lines():
    found = set()
    for path in TESTS.rglob("test_*.py"):
        _lines(ast.parse(path.read_text(encoding="utf-8")), found)
    return found


def test_the_reference_is_what_the_declarations_say():
    """Else: python -m tests.reference."""
    assert reference.PAGE.read_text(encoding="utf-8") == reference.rendered()
    contracts = reference.CONTRACTS.read_text(encoding="utf-8")
    assert reference.operations() in contracts
    assert shapes_page.rendered() in contracts


def test_sizes_in_the_architecture_page_are_those_of_the_code():
    page = reference.ARCHITECTURE.read_text(encoding="utf-8")

    assert size_page.table() in page, "run: python -m tests.reference"


@pytest.mark.parametrize(
    ("command", "names"), OPTIONS, ids=lambda one: one if isinstance(one, str) else one[-1]
)
def test_every_option_is_in_a_command_line_of_a_test(lines, command, names):
    assert any(command in line and line & set(names) for line in lines)
