"""What a markdown text says: examples as people write them."""

import subprocess
import sys
from textwrap import dedent

import pytest

from bridges.instructing import LIMITED
from bridges.markdown import (
    BLANKS_MAX,
    LABEL_CHARS_MAX,
    PARAGRAPH_CHARS_MAX,
    SOURCE_CHARS_MAX,
    scan,
)
from bridges.rules import STATEMENT_CHARS_MAX


def said(text):
    return [s.text for s in scan(dedent(text))]


def placed(text):
    return [(s.line, s.end_line, s.text) for s in scan(dedent(text))]


def kinds(text):
    return [s.kind for s in scan(dedent(text))]


def test_a_list_item_is_said_in_its_authors_words():
    text = """\
        # Rules

        - Use `jose`, **never** [jsonwebtoken](https://example.com/a(b)).
        * [ ] run   the\ttests
        + [x] and the linter
        7) count on
        """

    assert placed(text) == [
        (3, 3, "Use `jose`, **never** [jsonwebtoken](https://example.com/a(b))."),
        (4, 4, "run the tests"),
        (5, 5, "and the linter"),
        (6, 6, "count on"),
    ]


def test_wrapped_lines_are_one_statement_with_all_its_lines():
    text = """\
        Keep the public interface small, because every name
        in it is a promise that
        somebody keeps.

        - An item may be wrapped
          as well,
        even lazily.
        """
    kept = "because every name in it is a promise that somebody keeps."

    assert placed(text) == [
        (1, 3, f"Keep the public interface small, {kept}"),
        (5, 7, "An item may be wrapped as well, even lazily."),
    ]


def test_a_backslash_that_breaks_a_line_is_dropped():
    assert said("Use tabs\\\nin Makefiles.") == ["Use tabs in Makefiles."]


def test_lines_that_are_sentences_stay_apart():
    """So people write .cursorrules: a rule a line, no markdown."""
    text = """\
        You are an expert in TypeScript.
        Use functional components.
        `any` is never used.
        """

    assert placed(text) == [
        (1, 1, "You are an expert in TypeScript."),
        (2, 2, "Use functional components."),
        (3, 3, "`any` is never used."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "This is wrapped here.\nand goes on.",
        "This is wrapped\nHere it ends.",
        "Use `a.\nB` here.",
        "Use **a.\nB** here.",
    ],
)
def test_lines_that_may_be_one_sentence_are_joined(text):
    assert said(text) == [text.replace("\n", " ")]


def test_bare_lines_under_a_title_and_over_a_list():
    text = """\
        You are an expert in Rust.

        Key Principles
        - Write concise code
        - Handle errors early

        Naming:
        - snake_case for files
        """

    assert said(text) == [
        "You are an expert in Rust.",
        "Key Principles > Write concise code",
        "Key Principles > Handle errors early",
        "Naming: snake_case for files",
    ]


def test_a_line_over_a_list_is_its_title_only_while_it_is_short():
    long = "word " * (LABEL_CHARS_MAX // 5) + "more"

    assert said(f"{long}\n- item") == [long, "item"]
    assert said("A sentence.\n- item") == ["A sentence.", "item"]
    assert said("Not a title\n\n- item") == ["Not a title", "item"]


def test_a_nested_item_keeps_the_meaning_of_its_parent():
    text = """\
        - Never do this:
          - push to main
            - with force
        - Use static imports.
          - Dynamic ones confuse the bundler.

          It is a rule.
        - **Naming**
          - kebab-case
        """

    assert placed(text) == [
        (2, 2, "Never do this: push to main"),
        (3, 3, "Never do this: push to main > with force"),
        (4, 4, "Use static imports."),
        (5, 5, "Use static imports. > Dynamic ones confuse the bundler."),
        (7, 7, "Use static imports. > It is a rule."),
        (9, 9, "**Naming** > kebab-case"),
    ]


def test_a_label_goes_in_front_of_what_it_announces():
    text = """\
        **Forbidden:**

        - `any`

        The following is not allowed：

        | what | why |
        |---|---|
        | `eval` | it runs anything it is given |

        Do not write:

        Sleeps in tests.

        **Never push to main**

        Somebody is working there.
        """

    assert said(text) == [
        "**Forbidden:** `any`",
        "The following is not allowed： `eval`: it runs anything it is given",
        "Do not write: Sleeps in tests.",
        "**Never push to main**",
        "**Never push to main** > Somebody is working there.",
    ]


def test_an_item_that_ends_in_a_colon_goes_in_front_of_the_items_below_it():
    text = """\
        - Use ruff.
        - Never do these:
        - push to main
        - use `eval`
        - In tests:
          - use pytest
        - Write short functions.

        1. **Only on Windows:**

        2. use nmake

        * Avoid:
        """

    assert said(text) == [
        "Use ruff.",
        "Never do these: push to main",
        "Never do these: use `eval`",
        "In tests: use pytest",
        "Write short functions.",
        "**Only on Windows:** use nmake",
    ]


def test_an_item_beyond_a_gap_below_such_a_label_stays_in_its_file():
    found = scan("- Never do these:\n- push to main\n\n- Use ruff always\n- Use tabs always\n")

    assert [(one.text, one.stays) for one in found] == [
        ("Never do these: push to main", ""),
        ("Use ruff always", LIMITED),
        ("Use tabs always", LIMITED),
    ]


def test_a_label_of_code_says_nothing_unless_it_holds_a_sentence():
    text = """\
        Run:
        ```
        make
        ```
        Build first. Then run:
        ```
        make test
        ```
        **File: `a.proto`**
        ```
        service
        ```
        """

    assert said(text) == ["Build first. Then run:"]


def test_what_hangs_on_flagged_words_is_left_out():
    """Without its label, the item could mean the opposite."""
    long = "never " * SOURCE_CHARS_MAX

    assert said("Never \x01:\n\n- push to main\n\nUse tabs.") == ["Use tabs."]
    assert said(f"{long}:\n\n- push to main") == []
    assert said("- Never \x01:\n  - push to main\n- Use tabs.") == ["Use tabs."]


def test_a_heading_that_turns_the_meaning_round_stands_in_front():
    text = """\
        # Style
        ## Don't
        ### In tests
        - sleep
        ## Do
        - wait for a condition
        """

    assert said(text) == ["Don't > In tests > sleep", "wait for a condition"]


def test_headings_are_told_outermost_first():
    text = """\
        Title
        =====
        - a1
        ### Deep ###
        - b1
        ## Less deep
        - c1
          # inside an item
          d1
        - e1
        ##
        - f1
        """

    assert [(s.text, s.headings) for s in scan(dedent(text))] == [
        ("a1", ("Title",)),
        ("Deep > b1", ("Title", "Deep")),
        ("Less deep > c1", ("Title", "Less deep")),
        ("inside an item > c1 > d1", ("inside an item",)),
        ("Less deep > e1", ("Title", "Less deep")),
        ("f1", ("Title",)),
    ]


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Coding Conventions", "convention"),
        ("Rules for commands", "convention"),
        ("Best practices", "convention"),
        ("Do's and Don'ts", "convention"),
        ("Key design decisions", "decision"),
        ("Development Commands", "command"),
        ("My preferences", "preference"),
        ("Known issues", "bug"),
        ("Issue tracking", None),
        ("Workarounds", "fix"),
        ("API contract", "spec"),
        ("Next steps", "task"),
        ("Architecture", "architecture"),
        ("Architecture decisions", "decision"),
        ("Architectural rules", "convention"),
        ("Tech stack", "architecture"),
        ("Project Structure", "architecture"),
        ("Data structures", None),
        ("Page layout", None),
        ("Specials", None),
    ],
)
def test_the_kind_is_what_the_heading_says(heading, kind):
    assert kinds(f"## {heading}\n- Use tabs.") == [kind]


def test_the_nearest_heading_decides_and_a_title_far_above_is_not_asked():
    text = """\
        # Command reference
        ## Conventions
        ### TypeScript
        - a rule
        ### Known bugs
        - a bug
        ## Setup
        ### Linux
        - anything
        """

    assert kinds(text) == ["convention", "bug", None]


def test_a_table_row_is_one_statement():
    text = """\
        | Command | Meaning |
        |---------|:-------:|
        | `make`  | builds everything there is |
        | PORT:   | 3000 |
        | only one cell | |
        | one | pipe `a | b` | too many |
        `a \\| b` | an escaped pipe is no border
        """

    assert placed(text) == [
        (3, 3, "`make`: builds everything there is"),
        (4, 4, "Command: PORT:; Meaning: 3000"),
        (7, 7, "`a | b`: an escaped pipe is no border"),
    ]


def test_more_columns_are_told_by_name():
    text = """\
        | Step | File | |
        |---|---|---|
        | 1 | `a.rs` | add |
        | 2 | | remove |
        | 3 | `b.rs` |

        | Single |
        |---|
        | cell |
        """

    assert said(text) == [
        "Step: 1; File: `a.rs`; add",
        "Step: 2; remove",
        "Step: 3; File: `b.rs`",
        "cell",
    ]


def test_a_table_ends_where_something_else_starts():
    text = """\
        | a | b |
        |---|---|
        | one | two |
        - item | with a pipe
        # | heading
        | c | d |
        |---|
        | not | a table |
        """

    assert said(text)[:2] == ["a: one; b: two", "item | with a pipe"]


def test_front_matter_is_not_said_and_its_lines_count():
    text = """\
        ---
        description: Rules for `*.rs`
        globs:
        - "**/*.rs"
        # a comment
        alwaysApply: true
        ---
        - Use tabs.
        """

    assert placed(text) == [(8, 8, "Use tabs.")]
    assert placed("\ufeff" + dedent(text)) == [(8, 8, "Use tabs.")]


@pytest.mark.parametrize(
    "text",
    ["---\n\n- Use tabs.\n\n---\n", "---\n# Title\n- Use tabs.\n\n---\n", "---\n- Use tabs.\n"],
)
def test_text_between_rulers_is_not_front_matter(text):
    assert said(text) == ["Use tabs."]


@pytest.mark.parametrize(
    "text",
    [
        "![logo](logo.png)",
        "[![build](https://a/b.svg)](https://a/b)",
        "@AGENTS.md",
        "- @docs/rules.md",
        "@docs/rules.md @docs/more.md",
        "@docs/rules.md\n@docs/more.md",
        "- @alice @bob",
        "https://example.com/a",
        "<https://example.com/a>",
        "[^1]: a note at the foot",
        "=== php rules ===",
        "<br><img src='a'>",
        "- ✅",
        "&",
        "bell \x07",
        "nul \x00",
    ],
)
def test_what_is_no_statement_is_left_out(text):
    assert said(text) == []


def test_html_in_an_item_or_right_below_it_is_not_its_text():
    assert said("- Use tabs.\n<div>\nsecret\n</div>\n\n- Use jose.") == ["Use tabs.", "Use jose."]
    assert said("- Use <kbd>tab</kbd>.") == ["Use <kbd>tab</kbd>."]


def test_words_between_blocks_of_comments_are_the_persons():
    assert said("<!-- BEGIN TOOL -->\n- Use tabs.\n<!-- END TOOL -->") == ["Use tabs."]


def test_an_inline_comment_is_dropped_but_code_is_kept():
    assert said("- Use tabs <!-- not spaces --> here") == ["Use tabs here"]
    assert said("- The marker is `<!-- yaad -->`") == ["The marker is `<!-- yaad -->`"]


def test_an_open_comment_hides_everything_to_its_end():
    text = "Now <!-- hidden\n\n- hidden\n\n# hidden\n\nhidden --> and here\n\nUse tabs."

    assert [(s.text, s.headings) for s in scan(text)] == [("Use tabs.", ())]


def test_a_comment_that_never_ends_hides_only_its_own_block():
    assert said("Write <!-- first\n\n- Use tabs.") == ["Use tabs."]


def test_a_list_that_markdown_does_not_see_is_left_out():
    assert said("Rules\n    - Use tabs.\n    - Use jose.") == []
    assert said("Steps\n2. Use tabs.") == []


def test_text_right_below_code_in_an_item_is_not_taken_for_the_items():
    assert said("- Build:\n  ```\n  make\n  ```\nOutside.\n\nUse tabs.") == ["Use tabs."]


def test_long_texts_are_left_out():
    fits = "a" * (PARAGRAPH_CHARS_MAX - 1) + "."
    sentence = "B" * PARAGRAPH_CHARS_MAX + "."

    assert said(fits) == [fits]
    assert said(f"{fits}.") == []
    assert said(f"Short.\n{sentence}") == ["Short."]
    assert said("- " + "a" * STATEMENT_CHARS_MAX) == ["a" * STATEMENT_CHARS_MAX]
    assert said("- " + "a" * (STATEMENT_CHARS_MAX + 1)) == []
    assert said("- aa\n  - " + "b" * STATEMENT_CHARS_MAX) == ["aa"]
    assert said("- b" + " " * (BLANKS_MAX * 2) + "c" * 5) == ["b ccccc"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_numbers_are_those_of_the_file(end):
    lines = ["---", "a: b", "---", "", "```", "- no", "```", "\t", "- Use tabs", "  here", "* also"]

    statements = scan(end.join(lines))

    assert [(s.line, s.end_line, s.text) for s in statements] == [
        (9, 10, "Use tabs here"),
        (11, 11, "also"),
    ]


def test_mixed_line_ends_count_one_each():
    assert placed("a1\r\n\r\r\nb1\n\rc1") == [(1, 1, "a1"), (4, 4, "b1"), (6, 6, "c1")]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "> " * 20_000 + "a",
        "- " * 20_000 + "a",
        "- > " * 10_000 + "a",
        "\n".join("  " * depth + "- a" for depth in range(400)),
        "[" * 100_000,
        "`" * 100_000,
        "|" * 100_000,
        "![](" * 25_000,
        "<!-- " * 20_000,
        "# a" + "\x0b" * 100_000 + "b",
        "a|b\n-|-\n" * 10_000 + "a|b|c",
        "#" * 100_000,
    ],
    ids=lambda text: text[:8],
)
def test_odd_texts_are_read_without_an_error(text):
    scan(text)


def test_the_parser_is_imported_when_the_first_file_is_read():
    program = (
        "import sys, bridges.registry as r\n"
        "assert 'mistune' not in sys.modules\n"
        "assert r.BRIDGES[0].parse(b'- Use tabs.').statements\n"
        "assert 'mistune' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
