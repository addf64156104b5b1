"""Which files a CLAUDE.md imports: what Claude Code would look for, and nothing outside."""

import pytest

from bridges.block import insert
from bridges.reading import IMPORTS_MAX, imports


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("@AGENTS.md", ("AGENTS.md",)),
        ("@AGENTS.md\n@docs/style.md\n", ("AGENTS.md", "docs/style.md")),
        ("See @README.md for more, and @./docs/git.md.", ("README.md", "docs/git.md.")),
        ("- git: @docs/git.md\n  - deep: @docs/deep.md", ("docs/git.md", "docs/deep.md")),
        ("# About @docs/about.md", ("docs/about.md",)),
        ("| what | @docs/a.md |\n|---|---|\n| more | @docs/b.md |", ("docs/a.md", "docs/b.md")),
        ("@../../.claude/CLAUDE.md", ("../../.claude/CLAUDE.md",)),
        ("@docs/my\\ rules.md here", ("docs/my rules.md",)),
        ("@docs/a.md#part @docs/a.md#other", ("docs/a.md",)),
        ("@b.md @a.md @b.md @./a.md", ("b.md", "a.md")),
        ("@docs/_private_/a.md", ("docs/_private_/a.md",)),
        ("@types/node is a package", ("types/node",)),
        ("---\noncalls: ['@x.md']\n---\n\n@AGENTS.md\n", ("AGENTS.md",)),
    ],
)
def test_what_is_imported_is_named_in_its_order(text, paths):
    assert imports(text) == imports(text.encode()) == paths
    assert imports("\ufeff" + text.replace("\n", "\r\n")) == paths


@pytest.mark.parametrize(
    "text",
    [
        "me@example.com",
        "(@docs/a.md)",
        "`@docs/a.md`",
        "`` use `@docs/a.md` ``",
        "`two\n@docs/a.md lines`",
        "```\n@docs/a.md\n```",
        "~~~\n@docs/a.md",
        "# Code\n\n    @docs/a.md",
        "- Run:\n  ```\n  @docs/a.md\n  ```",
        "> @docs/a.md",
        "<!-- @docs/a.md -->",
        "words <!-- @docs/a.md --> words",
        "@/etc/passwd",
        "@~/.claude/CLAUDE.md",
        "@C:/rules.md",
        "@\\\\server\\rules.md",
        "@#part",
        "@",
        "@@docs/a.md",
        "@(docs)",
        f"@{'x' * 1_001}",
    ],
)
def test_code_quotes_comments_mail_and_places_outside_import_nothing(text):
    assert imports(text) == ()


def test_our_block_imports_nothing_and_hides_nothing():
    data = insert(b"@AGENTS.md\n", ["- Read @docs/ours.md"]) + b"@docs/own.md\n"

    assert imports(data) == ("AGENTS.md", "docs/own.md")


def test_files_that_are_not_read_import_nothing():
    for data in (b"@a.md \xff", b"@a.md \0", b"@a.md\n<!-- yaad:end -->\n", "@a.md \ud800"):
        assert imports(data) == ()


def test_there_are_not_more_than_anybody_needs():
    text = "\n".join(f"@docs/{number}.md" for number in range(IMPORTS_MAX + 5))

    assert len(imports(text)) == IMPORTS_MAX
