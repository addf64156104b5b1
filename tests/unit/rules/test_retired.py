"""A shell of what it was: what calls itself deprecated, or has its list from elsewhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.staleness import uses

HEADS = [
    b'"""Deprecated module; use :mod:`shop.orders` instead."""\n',
    b"// Deprecated: use shop.orders.\npackage cart\n",
    b"/**\n * @deprecated Import from shop.orders now.\n */\n",
    b"# This module is deprecated.\n# Use shop.orders for new code.\n",
]


@pytest.mark.parametrize("head", HEADS)
def test_a_file_that_says_at_its_head_that_it_is_deprecated_says_so(head):
    assert uses.is_deprecated(head)
    assert "shop.orders" in uses.instead(head)


@pytest.mark.parametrize(
    "text",
    [
        b"import warnings\nx = 'not deprecated at all'\n",
        b"# " + b"\n#" * uses.HEAD_LINES + b"\n# Deprecated: far below\n",
        b"def check_deprecated(): ...\n",
        b"",
    ],
)
def test_a_file_that_only_has_the_word_does_not(text):
    assert not uses.is_deprecated(text)
    assert uses.instead(text) == ""


@pytest.mark.parametrize(
    ("head", "has_moved"),
    [
        ("# Guide\n\n**This file has moved!** See docs/.\n", True),
        ("<!-- This page has been moved to docs/guide.md -->\n", True),
        ("# This module now lives in shop.orders.\n", True),
        ("This document is now in the wiki.\n", True),
        ("# Guide\n\nMove this file to docs/ and run it.\n", False),
        ("This page says what has moved since 2.0.\n", False),
        ("\n" * uses.HEAD_LINES + "This file has moved.\n", False),
    ],
)
def test_file_says_at_its_head_that_it_has_moved(head, has_moved):
    assert uses.has_moved(head.encode()) is has_moved


def test_a_definition_is_deprecated_by_its_own_remarks_and_body_only():
    source = (
        b"def a():\n    return 1\n\n\n@deprecated('use c')\ndef b():\n    return 2\n\n\n"
        b"def c():\n    warnings.warn('b', DeprecationWarning)\n\n\ndef d():\n    return 4\n"
    )

    assert [uses.is_deprecated(source, line) for line in (1, 6, 10, 14)] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    "source",
    [
        b"def get(url, old=None):\n    if old:\n        warn('old is deprecated')\n    return 1\n",
        b'def get(url):\n    """Get it.\n\n    Args:\n        old: is deprecated.\n    """\n',
        b'def get(url):\n    """Get it.\n\n    old : int\n        .. deprecated:: 1.2\n    """\n',
        b"def get(\n    url,\n    old=None,  # this one is deprecated\n):\n    return 1\n",
        b"interface Options {\n  /** @deprecated use b */\n  a?: string;\n  b: string;\n}\n",
        b"class A {\n  @Deprecated\n  int b;\n}\n",
        b"class A:\n    def b(self):\n        warn(DeprecationWarning)\n",
    ],
)
def test_a_member_or_parameter_that_is_deprecated_is_not_the_whole(source):
    assert not uses.is_deprecated(source, 1)


def test_remarks_on_the_first_definition_are_not_about_its_file():
    source = b"/** @deprecated use b */\nexport function a() {\n}\n"

    assert uses.is_deprecated(source, 2)
    assert not uses.is_deprecated(source)


def test_a_module_that_warns_when_it_is_imported_is_deprecated():
    source = b'import warnings\n\nwarnings.warn(\n    "use b", DeprecationWarning\n)\n\ndef a():\n'

    assert uses.is_deprecated(source)


LISTED = b'export const TARGETS = [\n  "a",\n  "b",\n  "c",\n];\n'
TAKEN = b"export const TARGETS = Object.keys(registry);\n"
FEWER = b'export const TARGETS = ["a", "b"];\n'


@pytest.mark.parametrize(
    ("then", "now", "told"),
    [
        (LISTED, TAKEN, True),
        (LISTED, FEWER, False),
        (LISTED, LISTED, False),
        (TAKEN, LISTED, False),
        (LISTED, b"export const OTHER = 1;\n", False),
        (
            b'function TARGETS() {\n  return ["a", "b", "c"];\n}\n',
            b"function TARGETS() {\n  return keys(registry);\n}\n",
            False,
        ),
    ],
)
def test_a_list_is_emptied_when_next_to_nothing_is_left_of_it(then, now, told):
    assert uses.emptied(then, now, "targets.ts", "TARGETS") is told


def test_a_key_is_emptied_like_a_constant():
    then = b'[tool.job]\nsteps = ["a", "b", "c"]\n'

    assert uses.emptied(then, b"[tool.job]\nsteps = []\n", "job.toml", "tool.job.steps")


@given(data=st.binary(max_size=200), line=st.none() | st.integers(1, 9))
def test_any_bytes_have_an_answer(data, line):
    if not uses.is_deprecated(data, line):
        assert uses.instead(data, line) == ""
    assert not uses.emptied(data, data, "a.py", "x")
