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


def _words(node):
    texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return frozenset(
        word for text in texts if isinstance(text, str) for word in text.replace("=", " ").split()
    )


@pytest.fixture(scope="module")
def lines():
    """The words of each text, list, tuple and call in the tests that is as short as a command."""
    found = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call | ast.List | ast.Tuple | ast.Constant):
                words = _words(node)
                if len(words) <= WORDS_MAX:
                    found.add(words)
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
