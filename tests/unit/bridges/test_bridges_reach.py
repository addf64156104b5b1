"""What stands around a statement decides whether it may be said elsewhere, and with which words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.markdown import scan
from bridges.registry import for_path


def exported(text):
    return [one.text for one in scan(text) if not one.stays]


@pytest.mark.parametrize(
    "heading",
    [
        *("Old rules (no longer valid)", "Rules we dropped in 2025", "Removed", "History"),
        *("Alternatives we rejected", "Ideas", "Roadmap", "Open questions", "Future work"),
        *("Things that break the build", "Stop doing", "No-gos", "Niemals", "Nothing of this"),
        *("Out of scope", "Known pitfalls", "Code smells", "What reviewers reject"),
        *("Reviewers", "Humans", "Emergency", "Local development", "release/1.x", "Branch v2"),
        *("Alice", "On release day", "Windows", "C++", "2.0", "🪟 Rules", "~~Rules~~", "No rules"),
        *("Commit messages", "Error handling", "Regeln", "Other projects", "Rules?", "Never"),
    ],
)
def test_a_heading_of_a_section_stands_in_front(heading):
    assert exported(f"# Shop\n\n## {heading}\n\n- Use Redis here\n") == [
        f"{heading} > Use Redis here"
    ]


@pytest.mark.parametrize(
    "heading",
    [
        *(
            "Style",
            "Rules",
            "Coding conventions",
            "CONVENTIONS",
            "**Notes**",
            "Code style & conventions",
        ),
        *("3. General rules", "Best practices", "Project overview", "Do", "Commands", ""),
    ],
)
def test_a_neutral_heading_does_not(heading):
    assert exported(f"# Shop\n\n## {heading}\n\n- Use Redis here\n") == ["Use Redis here"]


@pytest.mark.parametrize(
    "struck",
    [
        "- ~~Use Redis here~~",
        "- **~~Use Redis here~~**.",
        "* ~~Never push to main.~~ ~~Ask Ann first.~~",
        "1. ~~Always use Redis\n   for sessions~~",
        "~~Always use Redis.~~",
    ],
)
def test_words_that_are_struck_out_are_not_exported(struck):
    text = f"# Shop\n\n{struck}\n"

    assert exported(text) == []
    assert [one.stays for one in scan(text)] == ["it is struck out"]


@pytest.mark.parametrize(
    "rule",
    ["~~Use bower~~ Use pnpm", "Use `~~` in the changelog", "Always type ~~ around old names ~~"],
)
def test_a_rule_with_strike_marks_in_it_is_exported(rule):
    assert exported(f"# Shop\n\n- {rule}\n") == [rule]


def test_all_headings_stand_in_front_from_the_outside_in():
    text = (
        "# Shop\n## 2. Backend\n### Rules\n#### **Orders**\n- Use Redis here\n## Web\n- Use tabs\n"
    )

    assert exported(text) == ["Backend > Orders > Use Redis here", "Web > Use tabs"]


def test_a_file_of_several_top_headings_has_no_title():
    assert exported("# Backend\n- Use Redis here\n# Web\n- Use tabs\n") == [
        "Backend > Use Redis here",
        "Web > Use tabs",
    ]


@pytest.mark.parametrize(
    ("path", "header", "words"),
    [
        ("CLAUDE.md", "", "Use CRLF"),
        (".claude/rules/windows.md", "", "Windows > Use CRLF"),
        (".clinerules/windows.md", "", "Windows > Use CRLF"),
        (".cursor/rules/w.mdc", "---\nalwaysApply: true\n---\n", "Windows > Use CRLF"),
        (".cursor/rules/w.mdc", "---\nglobs: *.bat\n---\n", "For files matching `*.bat`: Use CRLF"),
    ],
)
def test_the_title_of_one_file_of_several_names_its_subject(path, header, words):
    document = for_path(path).parse(f"{header}# Windows\n\n- Use CRLF\n".encode())

    assert [one.text for one in document.statements] == [words]


@pytest.mark.parametrize(
    ("path", "header"),
    [
        (".cursor/rules/a.mdc", "globs: **/*\nalwaysApply: false"),
        (".cursor/rules/a.mdc", "globs: *"),
        (".claude/rules/a.md", "paths:\n  - '**'"),
        (".clinerules/a.md", "paths:\n  - src/**\n  - '**/*'"),
        (".github/instructions/a.instructions.md", "applyTo: '*'"),
        (".devin/rules/a.md", "trigger: glob\nglobs: **/*"),
    ],
)
def test_patterns_that_every_file_matches_are_no_condition(path, header):
    document = for_path(path).parse(f"---\n{header}\n---\n- Use tabs\n".encode())

    assert [one.text for one in document.statements] == ["Use tabs"]
    assert document.everywhere


def test_a_pattern_that_excludes_files_keeps_rules_in_their_file():
    document = for_path(".cursor/rules/a.mdc").parse(b"---\nglobs: **, !gen/**\n---\n- Use tabs\n")

    assert not document.travels


NEUTRAL = ["Rules", "Code style", "2. Conventions", "Notes", "Best practices"]
NEEDED = [
    "Never",
    "Alice",
    "On release day",
    "Windows",
    "Testing",
    "Don't",
    "Old",
    "src/",
    "Backend",
    "C#",
    "3",
]


@given(
    sections=st.lists(
        st.tuples(
            st.integers(2, 5),
            st.sampled_from([*NEUTRAL, *NEEDED]),
            st.lists(st.sampled_from(["Commit secrets", "Use eval", "Avoid tabs"]), max_size=3),
        ),
        max_size=7,
    )
)
def test_every_heading_above_an_exported_rule_is_in_its_words(sections):
    text = "# Shop\n" + "".join(
        f"\n{'#' * level} {heading}\n\n" + "".join(f"- {rule}\n" for rule in rules)
        for level, heading, rules in sections
    )

    for one in scan(text):
        needed = [heading for heading in one.headings[1:] if heading in NEEDED]
        assert one.text == " > ".join([*needed, one.own])


@pytest.mark.parametrize("title", ["Old Street Shop", "Stop Loss", "Roadmap service"])
def test_a_title_is_a_name(title):
    assert exported(f"# {title}\n\n- Use Redis here\n") == ["Use Redis here"]


@pytest.mark.parametrize(
    "after",
    [
        "- Except in tests, use requests\n",
        "- Exception: tests may use requests\n",
        "- But never in CI\n",
        "- Otherwise use pip\n",
        "\nThis applies only to release branches.\n",
        "\nThe rule above does not hold in tests.\n",
        "\nExcept in migrations.\n",
    ],
)
def test_a_rule_stays_with_the_text_that_limits_it(after):
    said = exported(f"## Rules\n\n- Always use httpx for calls\n{after}\n## More\n\n- Use tabs\n")

    assert said == ["Use tabs"]


def test_a_limit_holds_for_the_item_right_above_it():
    text = "- Always use tabs\n- Always use httpx for calls\n- Except in tests, use requests\n"

    assert exported(text) == ["Always use tabs"]


def test_prose_stays_with_the_text_that_limits_it():
    text = "Always use httpx for calls.\n\nUnless a test needs requests.\n"

    assert exported(text) == []


@pytest.mark.parametrize("name", ["details", "bad_example", "windows", "deprecated"])
def test_what_stands_inside_a_tag_stays(name):
    text = f"<{name}>\n\n- Always use backslashes\n\n</{name}>\n\n- Always use tabs\n"

    assert exported(text) == ["Always use tabs"]


@pytest.mark.parametrize(
    "text",
    [
        "<rules>\n\n- Always use tabs\n\n</rules>\n",
        "<coding_guidelines>\n\n- Always use tabs\n\n</coding_guidelines>\n",
        "<name> stands for a branch.\n\n- Always use tabs\n",
        "```\n<details>\n```\n\n- Always use tabs\n\n```\n</details>\n```\n",
        "<br>\n\n- Always use tabs\n",
    ],
)
def test_other_names_in_angle_brackets_change_nothing(text):
    assert "Always use tabs" in exported(text)


def test_a_statement_with_a_footnote_stays():
    assert exported("- Always use httpx[^1]\n- Use tabs\n\n[^1]: only in src/\n") == ["Use tabs"]


def test_a_step_stays_and_a_rule_in_a_numbered_list_does_not():
    text = "## Deploy\n\n1. Run make dist\n2. Run make push\n3. Always wait for green\n"

    assert exported(text) == ["Deploy > Always wait for green"]


@pytest.mark.parametrize(
    "text",
    [
        "## Checks\n\nValidated results:\n\n- `make lint`: run in 3 s\n",
        "## Checks\n\n- `make dev` includes cleanup and can log noise\n",
        "## Service\n\n- Check availability: `GET /health` returns the state\n",
        "## Layout\n\n- `tests/`: Test prompts.\n",
        "## Legend\n\n- No sign = not started\n",
        "## Commits\n\n- 🔥 Remove code\n- 🚚 Move or rename\n",
        "## Features\n\n- Type-safe routing with parameters\n",
        "## Helper\n\nUse this to:\n\n- Create summaries of reports\n",
        "## Adding a provider\n\n- Add its name to `providers.py`\n- Export the class\n",
        "## 3-step release\n\n- Update the changelog\n",
        "## Commands\n\n- `ui.open` — open the sidebar\n",
        "## Tips\n\n- Use `demo/` to see a call\n- Run `make help` for the full list\n",
        "## Review\n\nWhen that signal appears, stop extending the design.\n",
        "## Checks\n\n**Always run these commands in sequence before a commit.**\n",
        "## Stack\n\n- **Stack:** React and Tailwind, always on Pages\n",
        "## Naming\n\n- Follow the naming table (see Tokens below)\n",
        "## Sync\n\n- Wait for the person after step 3\n",
        "## Servers\n\n- Use a spare port instead. Ask when there is none.\n",
        "## Frontend\n\n- No build step required - changes are seen at once\n",
        "## Notes\n\n- Version control of uploads is not implemented yet\n",
        "## Module structure\n\n- **search**: Search functionality of the client\n",
        "## Troubleshooting\n\n### Tests fail\n\n- Install the dev dependencies\n",
        "## Why?\n\n- **No pages**: Keep the repository small\n",
        "## Frontend\n\nThe frontend is modular:\n\n- Use of one stylesheet only\n",
        "## Skills\n\n- Use before a release to collect the notes\n",
        "## Release process\n\n1. Verify the tag\n",
        "## Quick examples for a pull request\n\n- Run `make all`\n",
        "## API\n\n- `load()`: never returns None\n",
        "## Notes\n\n- Cache: never expires\n",
        "## Architecture\n\n- Tokens: always signed\n",
        "## Files\n\n- Logs - never rotated\n",
        "## Client\n\n- `close()` — always safe to call twice\n",
        "## Features\n\n- Must-have features of the first version\n",
        "## Architecture\n\n- Don't worry, the cache is warm\n",
    ],
)
def test_facts_steps_and_references_stay(text):
    assert exported(text) == []


@pytest.mark.parametrize(
    "rule",
    [
        "`src/run.py` is the entry point. Keep it small.",
        "Use `make lint` before each commit",
        "❌ Avoid sleeping tests",
        "When you add a service: register it in `core.py`",
        "No documentation needed for internal changes",
        "Never use `-q`. Use `--verbosity quiet` instead.",
        "Use `httpx` instead of `requests`",
        "Never bypass the queue",
        "Always embed the font",
        "Never feed it raw input",
        "Always focus one field",
        "Every change must have tests",
    ],
)
def test_what_only_looks_like_a_fact_is_a_rule(rule):
    assert exported(f"## Rules\n\n- {rule}\n") == [rule]


@pytest.mark.parametrize("heading", ["Banned behaviors", "Adding services"])
def test_a_ban_is_a_rule_below_any_heading(heading):
    text = f"## {heading}\n\n- Never add a flag\n"

    assert exported(text) == [f"{heading} > Never add a flag"]


@pytest.mark.parametrize(
    "heading", ["Architecture", "Known issues", "Project structure", "Why?", "FAQ"]
)
def test_an_order_is_a_rule_below_a_heading_of_facts(heading):
    text = f"## {heading}\n\n- Every query must name its tenant\n- Use of one schema only\n"

    assert exported(text) == [f"{heading} > Every query must name its tenant"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("- **Forbidden**\n- commit keys to git", "**Forbidden** > commit keys to git"),
        ("- NEVER\n- push to main directly", "NEVER > push to main directly"),
        ("- On Windows,\n- Use nmake for builds", "On Windows, > Use nmake for builds"),
        (
            "The following rules no longer apply.\n\n- Use bower here",
            "The following rules no longer apply. > Use bower here",
        ),
        ("We used to do this\n\n- Use bower here", "We used to do this > Use bower here"),
        ("Never do these:\n\n- push it\n\n* Use eval", "Never do these: push it"),
        ("Never do these:\n\n- push it\n\n* Use eval", "Never do these: Use eval"),
    ],
)
def test_a_rule_never_loses_the_words_above_it_that_turn_it_round(text, wanted):
    found = exported(f"# Shop\n\n{text}\n")

    assert wanted in found
    assert not {"commit keys to git", "push to main directly", "Use bower here", "Use eval"} & {
        *found
    }


@pytest.mark.parametrize(
    "text",
    [
        "- Use bower here\n- Use grunt here\n\nNone of these apply since 2025.",
        "- Use bower here\n\nIgnore the above.",
        "- Use bower here\\*\n\n\\* except in new services",
        "- Use port 8080 <!-- only in development -->",
    ],
)
def test_a_rule_that_the_text_beside_it_limits_stays(text):
    assert exported(f"# Shop\n\n{text}\n") == []


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("| Never |\n|---|\n| push to main |", "Never: push to main"),
        (
            "| Do not | Why |\n|---|---|\n| push to main | it breaks the pipeline |",
            "Do not: push to main; Why: it breaks the pipeline",
        ),
        (
            "| Do | Don't |\n|---|---|\n| use const | use var for values |",
            "Do: use const; Don't: use var for values",
        ),
        (
            "| Name | Role |\n|---|---|\n| worker | sends the mails out |",
            "worker: sends the mails out",
        ),
    ],
)
def test_a_row_has_the_names_of_columns_that_turn_it_round(table, words):
    assert [one.text for one in scan(table)] == [words]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (
            "Never do these:\n\nUse force push.\n\nUse eval.\n\n## Web\n\n- Use tabs",
            ["Never do these: Use force push.", "Web > Use tabs"],
        ),
        ("Never do these:\n\n---\n\n- Use force push", []),
        ("Never do these:\n\n```\neval\n```\n\n- Use force push", []),
        ("## Rules\n\nNever do these:\n\n### Database\n\n- Use drop", []),
        (
            "- Do not under any circumstances\n- Use force push\n- Use eval",
            [
                "Do not under any circumstances > Use force push",
                "Do not under any circumstances > Use eval",
            ],
        ),
        ("- Do not under any circumstances", []),
        ("Never\n\nUse eval.\n\nUse goto.", ["Never > Use eval."]),
        (
            "**Never**\n\nUse eval.\n\n**Always**\n\n- Use tabs",
            ["**Never** > Use eval.", "**Always** > Use tabs"],
        ),
        ("<!-- only on Windows -->\n- Use CRLF\n\n- Use nmake", []),
    ],
)
def test_a_rule_stays_where_it_is_uncertain_for_how_many_a_label_holds(text, wanted):
    assert exported(f"# Shop\n\n{text}\n") == wanted


@pytest.mark.parametrize(
    "text",
    [
        "<!-- markdownlint-disable MD013 -->\n- Use tabs",
        "<!-- Never edit by hand -->\n- Use tabs",
        "<!-- Keep this in sync with AGENTS.md -->\n\n- Use tabs",
        "<!-- Ann -->\n- Use tabs",
        "In production:\n\n- Use Redis\n\n## Style\n\n- Use tabs",
        "To avoid clashes:\n\n```\nmake\n```\n\n- Use tabs",
        "Never do these:\n\n- Use eval\n\nAlways:\n\n- Use tabs",
        "This is the shop:\n\nIt sells tea.\n\n- Use tabs",
    ],
)
def test_a_rule_below_a_label_that_does_not_reach_it_is_exported(text):
    assert [one for one in exported(f"# Shop\n\n{text}\n") if one.endswith("Use tabs")]


@pytest.mark.parametrize(
    "words",
    [
        *("Users must log in first", "Customers should see a banner", "Each user must have a role"),
        *("Users who pay must get a receipt", "Anonymous visitors may not comment"),
        "Admins can delete everything",
    ],
)
def test_what_the_people_of_a_product_do_is_no_rule(words):
    assert exported(f"# Shop\n\n- {words}\n\n{words}.\n") == []


@pytest.mark.parametrize(
    "rule",
    [
        *("The user must be asked before a deletion", "A user must see errors in `toast`"),
        *("Users table must have an index", "Users' passwords must be hashed"),
        *("Users must be loaded in one query by your code", "Contributors must run make lint"),
        "Tests must pass before a commit",
    ],
)
def test_what_only_begins_like_it_is_a_rule(rule):
    assert exported(f"# Shop\n\n- {rule}\n") == [rule]
