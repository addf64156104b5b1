"""Patterns of paths, as settings of agents have them."""

import time

import pytest

from yaadwatch.anchors.tree import is_matched

PATH = "/home/ann/shop/packages/web/CLAUDE.md"


@pytest.mark.parametrize(
    "glob",
    [
        *(PATH, "**/CLAUDE.md", "**", "/**/web/**", "/home/*/shop/**/CLAUDE.md", "/**/C?A*.md"),
        *("**/{web,api}/*.md", "/{home,Users}/{ann,bob}/**", "/home/ann/shop/**/packages/**/*.md"),
        *("**/**/**/CLAUDE.md", "/home/ann/shop/packages/web/{CLAUDE,AGENTS}.{md,txt}"),
    ],
)
def test_path_is_of_the_pattern(glob):
    assert is_matched(PATH, glob)


@pytest.mark.parametrize(
    "glob",
    [
        *(
            "",
            "CLAUDE.md",
            "*",
            "*/CLAUDE.md",
            "/home/*/CLAUDE.md",
            "**/api/CLAUDE.md",
            "**/claude.md",
        ),
        *("/home/ann/shop/*/CLAUDE.md", "{", "{{a,b}", "**/CLAUDE.md/", PATH + "x", PATH[:-1]),
        *("/home?ann/**", "{a,b}" * 20 + "**"),
    ],
)
def test_path_is_not_of_the_pattern(glob):
    assert not is_matched(PATH, glob)


@pytest.mark.parametrize(
    "glob",
    [
        "*?" * 100 + "y",
        "**/" * 800 + "y",
        "**/*" * 600 + "y",
        "{a,a}" * 100,
        "{,}" * 6 + "**/" * 2_590 + "x",
        "*a" * 200,
    ],
)
def test_no_pattern_takes_long(glob):
    began = time.process_time()

    assert not is_matched("/" + "a/b" * 60, glob)

    assert time.process_time() - began < 1
