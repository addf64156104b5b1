"""What differs in a file that moved: its place, or what it says?"""

import pytest

from yaadwatch.staleness.proposals import is_same_but_for_paths


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "from .b import c\n\nx = 1\n", "from app.b import c\nx = 1\n"),
        ("a.ts", "import {\n  a,\n} from './b'\nf()\n", "import {\n  a,\n} from '../b'\nf()\n"),
        ("a.js", "const b = require('./b')\nb(1)\n", "const b = require('../../b')\nb(1)\n"),
        ("a.go", "package net\n\nvar A = 1\n", "package http\n\nvar A = 1\n"),
        ("a.md", "See [b](b.md), [c](../c.md).\n", "See [b](../b.md), [c](../../c.md).\n"),
    ],
)
def test_imports_and_relative_paths_do_not_count(path, old, new):
    assert is_same_but_for_paths(old.encode(), new.encode(), path)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("a.py", "x = 3\n", "x = 5\n"),
        ("a.py", "if a:\n    b()\n", "if a:\n    c()\n"),
        ("a.md", "use three tries\n", "use five tries\n"),
        ("a.yaml", "include: a\n", "include: b\n"),
        ("a.yaml", "- a\n- b\n", "- b\n- a\n"),
        ("Dockerfile", "FROM node:18\n", "FROM node:20\n"),
    ],
)
def test_anything_else_counts(path, old, new):
    assert not is_same_but_for_paths(old.encode(), new.encode(), path)
