"""What stands around a statement decides whether it may be said elsewhere, and with which words."""

import pytest

from bridges.markdown import scan


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
    ],
)
def test_a_heading_that_changes_what_is_below_stands_in_front(heading):
    assert exported(f"# Shop\n\n## {heading}\n\n- Use Redis here\n") == [
        f"{heading} > Use Redis here"
    ]


@pytest.mark.parametrize(
    "heading",
    ["Style", "Rules", "Coding conventions", "Testing", "Commit messages", "Error handling"],
)
def test_a_heading_that_names_a_subject_does_not(heading):
    assert exported(f"# Shop\n\n## {heading}\n\n- Use Redis here\n") == ["Use Redis here"]


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

    assert exported(text) == ["Always wait for green"]
