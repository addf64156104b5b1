"""Claims in the words of a caller: how their subjects and values are compared."""

import pytest

from yaadwatch.memory.claiming import differ, given_claim, of_text, place_of, sense


@pytest.mark.parametrize(
    ("one", "other"), [("yes", "true"), ("on", "true"), ("no", "false"), ("disabled", "off")]
)
def test_what_a_caller_gives_is_the_same_switch_in_other_words(one, other):
    both = [
        given_claim(subject="api", attribute="debug", value=value).sense for value in (one, other)
    ]

    assert both[0] == both[1]


@pytest.mark.parametrize(
    ("attribute", "one", "other", "cannot_both_be"),
    [
        ("size", "20", "20 connections", False),
        ("size", "20", "30 connections", True),
        ("size", "20", "30", True),
        ("size", "20 connections", "20 items", False),
        ("timeout", "30000", "30000 ms", False),
        ("timeout", "45", "30000 ms", True),
        ("threshold", "0.85", "85 percent", False),
        ("limit", "1e+06", "1000000 bytes", False),
        ("indentation", "spaces", "4 spaces", False),
        ("indentation", "tabs", "4 spaces", True),
        ("indentation", "4", "spaces", False),
        ("level", "info", "debug", True),
        ("version", "3", "3.11", False),
        ("version", "3.1", "3.11", True),
        ("version", "3.12", "3.11", True),
    ],
)
def test_which_values_cannot_both_be_right(attribute, one, other, cannot_both_be):
    assert differ(attribute, one, other) is differ(attribute, other, one) is cannot_both_be
    assert not differ(attribute, one, one)


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ("cli", ""),
        ("agent:claude", ""),
        ("file:CLAUDE.md", ""),
        ("file:web/AGENTS.md", "web"),
        ("file:web/ui/CLAUDE.md", "web/ui"),
        ("file:.github/copilot-instructions.md", ""),
        ("file:web/.cursor/rules/style.mdc", "web"),
    ],
)
def test_what_a_file_below_says_holds_there(origin, place):
    assert place_of(origin) == place


@pytest.mark.parametrize("name", ["subject", "attribute", "value"])
def test_a_claim_without_words_is_refused(name):
    words = {"subject": "api", "attribute": "port", "value": "8080"} | {name: " `.` "}

    with pytest.raises(ValueError, match=f"{name} must have words"):
        given_claim(**words)


@pytest.mark.parametrize(
    ("value", "as_compared"),
    [
        ("30 s", "30000 ms"),
        ("1,000", "1000"),
        ("1_000_000", "1000000"),
        ("10 MiB", "10485760 bytes"),
        ("`MIT`", "mit"),
        ("50%", "50 percent"),
    ],
)
def test_values_are_compared_in_their_base(value, as_compared):
    assert sense(value) == as_compared


def test_a_claim_is_compared_without_articles_capitals_and_quotes():
    one = given_claim(subject="The API", attribute="Port", value="`8080`")
    other = given_claim(subject="api", attribute="port", value="8080.")

    assert (one.subject, one.attribute, one.sense) == ("api", "port", "8080")
    assert (one.subject, one.attribute, one.sense) == (
        other.subject,
        other.attribute,
        other.sense,
    )


def test_versions_are_compared_as_versions_and_not_as_numbers():
    versions = [
        given_claim(subject="python", attribute="version", value=value).sense
        for value in ("3.1", "v3.10", "18.x", "18")
    ]

    assert versions == ["3.1", "3.10", "18", "18"]


@pytest.mark.parametrize(
    ("text", "claim"),
    [
        ("API timeout is 30 seconds", ("api", "timeout", "30000 ms")),
        ("The API timeout is 30 s.", ("api", "timeout", "30000 ms")),
        ("The upload limit is 10 MB", ("upload", "limit", "10000000 bytes")),
        ("The Python version is 3.11", ("python", "version", "3.11")),
        ("Worker pool connections are 20", ("worker pool", "connections", "20")),
    ],
)
def test_statement_that_is_only_an_amount_claims_it(text, claim):
    found = of_text(text)

    assert found is not None
    assert (found.subject, found.attribute, found.sense) == claim


@pytest.mark.parametrize(
    "text",
    [
        "The timeout is 30 seconds",  # which timeout?
        "If the API timeout is 30 seconds",
        "The API timeout is 30 seconds in CI",
        "The API timeout is 30 seconds or 60 seconds",
        "The API timeout is 1,5 s",
        "The API timeout was 30 seconds",
        "There are 12 tools",
        "Version 2 is 3",
        "API timeout is 30 seconds.\nUse httpx.",
    ],
)
def test_other_statements_claim_nothing(text):
    assert of_text(text) is None
