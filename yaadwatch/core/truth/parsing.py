"""Grammars, loaded one by one at their first file, and parsing that always comes to an end."""

import functools
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

_STEPS_MAX = 20_000
_LOST_STEPS_MAX = 2_000
"""Steps of the parser, and those after an error. 1 KiB of source takes 3 to 14, so that 2 MiB are
mostly read; without limits, 2 MiB of anything else take minutes."""


@functools.cache
def grammar(module: str, function: str = "language") -> "Language":
    """Return the grammar that `function` of the wheel `module` gives."""
    from tree_sitter import Language

    return Language(getattr(importlib.import_module(module), function)())


@functools.cache
def query(module: str, function: str, patterns: str) -> "Query":
    """Return what finds the nodes that `patterns` capture."""
    from tree_sitter import Query

    return Query(grammar(module, function), patterns)


def parse(source: bytes, language: "Language") -> "Node | None":
    """Return the root of the syntax tree, or None when that would take too long."""
    from tree_sitter import Parser

    steps = lost = 0

    def is_too_much(_offset: int, after_error: bool) -> bool:
        nonlocal steps, lost
        steps += 1
        lost += after_error
        return steps > _STEPS_MAX or lost > _LOST_STEPS_MAX

    whole = memoryview(source)
    try:
        tree = Parser(language).parse(
            lambda offset, _point: whole[offset:], progress_callback=is_too_much
        )
    except ValueError:  # what the parser raises when it was told to stop
        return None
    return tree.root_node


def unified(source: bytes) -> bytes:
    """Return `source` with line ends of one kind."""
    return source.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
