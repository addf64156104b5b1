"""What statements claim: a table of them, most of which must claim nothing or exactly one value."""

import time

import pytest
from claim_pairs import ALIKE, TORN
from claim_statements import CLAIMING, SILENT

from yaadwatch.core.truth.claiming import statements as claims
from yaadwatch.core.truth.claiming.parts import differ, sense
from yaadwatch.core.truth.claiming.statements import extract, given, place_of


def told(text, **fields):
    return [(one.subject, one.attribute, one.sense) for one in extract(text, **fields)]


def test_the_table_is_long_enough_to_mean_something():
    assert len(CLAIMING) + len(SILENT) >= 60
    assert len(SILENT) >= 25


@pytest.mark.parametrize(("text", "claim"), CLAIMING)
def test_a_plain_value_is_claimed(text, claim):
    assert told(text) == [claim]


def torn(one, other):
    """Return what two statements give two values that cannot both be right."""
    first = {claim[:2]: claim[2] for claim in told(one)}
    return [
        claim[:2]
        for claim in told(other)
        if claim[:2] in first and differ(claim[1], first[claim[:2]], claim[2])
    ]


def test_there_are_more_pairs_that_must_not_contradict_than_that_must():
    assert len(set(ALIKE)) == len(ALIKE) >= 120
    assert len(set(TORN)) == len(TORN) >= 65


@pytest.mark.parametrize(("one", "other"), TORN)
def test_two_values_of_one_thing_are_seen_whatever_verb_tells_them(one, other):
    assert len(torn(one, other)) == len(torn(other, one)) == 1


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_what_sounds_alike_and_can_both_be_true_is_not_seen_as_two_values(one, other):
    assert torn(one, other) == torn(other, one) == []


def test_a_pair_that_can_both_be_true_is_not_spared_for_want_of_any_claim():
    """Half of the pairs have a side that claims, or the table would say little."""
    assert sum(bool(told(one)) for one, _ in ALIKE) >= len(ALIKE) * 8 // 10


@pytest.mark.parametrize("text", SILENT)
def test_what_is_not_plainly_so_now_claims_nothing(text):
    assert told(text) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Use tabs in Go files", "Use spaces in Makefiles"),
        ("The request timeout is 30 s", "The connection timeout is 60 s"),
        ("The API port is 8080", "The admin API port is 9090"),
        ("The API listens on port 8080", "The database listens on port 5432"),
        ("Redis runs on port 6379", "Redis runs on port 6380 in staging"),
        ("We use Python 3.11", "We use Python 3.12 in CI"),
        ("Node 20 is required", "Node 18 for the lambda"),
        ("The upload limit is 10 MB", "The download limit is 20 MB"),
        ("The default branch is main", "The release branch is stable"),
        ("Line length is 100", "Line length is 120 in tests"),
        ("We use pnpm", "We use poetry"),
        ("Use jest", "Use pytest"),
        ("The cache TTL is 10 minutes", "The session TTL is 20 minutes"),
        ("Coverage threshold is 85 %", "The alarm threshold is 95 %"),
    ],
)
def test_similar_words_about_different_things_are_about_different_things(one, other):
    first, second = told(one), told(other)

    assert len(first) == len(second) == 1
    assert first[0][:2] != second[0][:2]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The request timeout is 30 s", "Request timeout: 30 seconds."),
        ("The request timeout is 30 s", "request timeout = 0.5 min"),
        ("The API port is 8080", "The API listens on port 8080"),
        ("The port of the API server is 8080", "The API server listens on port 8080"),
        ("We use pnpm", "pnpm is our package manager"),
        ("Python 3.11", "We run on Python 3.11"),
        ("React 18", "React 18.x"),
    ],
)
def test_the_same_value_in_other_words_is_the_same_claim(one, other):
    assert told(one) == told(other)


def test_versions_are_compared_as_versions_and_not_as_numbers():
    assert told("Python 3.1") != told("Python 3.10")


def test_a_list_claims_each_of_its_lines():
    text = "Stack:\n- Python 3.11\n- PostgreSQL 16\n- We like it\n- The API port is 8080"

    assert told(text) == [
        ("python", "version", "3.11"),
        ("postgresql", "version", "16"),
        ("api", "port", "8080"),
    ]


def test_a_text_that_gives_one_thing_two_values_claims_neither():
    assert told("The API port is 8080. The API port is 9090. Python 3.11.") == [
        ("python", "version", "3.11")
    ]


def test_a_bare_value_is_about_the_heading_that_it_stands_under():
    assert told("The port is 8080", headings=["Services", "The API"]) == [("api", "port", "8080")]
    assert told("The port is 8080") == [("project", "port", "8080")]
    assert told("We use pnpm", headings=["Setup"]) == told("We use pnpm")


@pytest.mark.parametrize(
    "heading",
    ["Supported versions", "Test matrix", "CI matrix", "Compatibility", "Migration to Python 3.12"],
)
def test_what_stands_under_a_heading_over_several_claims_nothing(heading):
    assert extract("Python 3.9", headings=("Python", heading)) == ()
    assert extract(f"# {heading}\n\n- Python 3.9\n") == ()


def test_one_of_several_under_the_name_of_all_claims_nothing():
    assert extract("Port 8080", headings=("Ports",)) == ()
    assert extract("The API port is 8080", headings=("Ports",)) != ()


@pytest.mark.parametrize(
    ("one", "other"), [("yes", "true"), ("on", "true"), ("no", "false"), ("disabled", "off")]
)
def test_what_a_caller_gives_is_the_same_switch_in_other_words(one, other):
    both = [given(subject="api", attribute="debug", value=value).sense for value in (one, other)]

    assert both[0] == both[1]


def test_who_keeps_or_allows_it_is_the_heading_that_it_stands_under():
    keep = "Send at most 10 requests per minute"

    assert told(keep, headings=["GitHub"]) == [("github send", "requests per minute", "10")]
    assert told(keep, headings=["Stripe"]) == [("stripe send", "requests per minute", "10")]
    assert told("Runs every 6 hours", headings=["Cleanup job"]) == told(
        "The cleanup job runs every 6 hours"
    )
    assert told("Retry 3 times") == told("Poll every 5 s") == []


def test_a_heading_that_names_where_qualifies_what_a_verb_tells():
    text = "The API times out after 60 s"

    assert told(text, headings=["Limits"]) == told(text)
    assert told(text, headings=["In production", "Limits"]) == told(f"{text} in production")
    assert told(f"In our tests:\n- {text}") == told(f"{text} in tests")
    assert told(f"{text} in CI", headings=["Testing"]) == told(f"{text} in CI")


def test_headings_in_a_text_are_those_that_it_could_stand_under():
    text = "The API port is 8080"

    assert told(f"# Staging\n\n- {text}") == told(text, headings=["Staging"])
    assert told("# Staging\n## The API\nThe port is 80") == told(
        "The port is 80", headings=["Staging", "The API"]
    )
    assert told(f"# Staging\n# Services\n{text}") == told(text)
    assert told("## Port 8080\nWe like it") == []


def test_what_says_itself_where_it_holds_is_not_told_twice():
    assert told("The staging API port is 8080", headings=["Staging"]) == [
        ("staging api", "port", "8080")
    ]
    assert told("The API port is 8080 in CI", headings=["Staging"]) == [
        ("api in ci", "port", "8080")
    ]
    assert told("The API port is 8080", headings=["API server"]) == [("api", "port", "8080")]


def test_a_text_of_many_headings_takes_no_long_time():
    """What may be a heading is looked for in a line, and no line is looked at twice."""
    for text in ("\n" * 100_000 + "port 80:\n", "#" * 100_000 + "\nport 80:\nx", "a:\n" * 30_000):
        began = time.process_time()
        told(f"{text}port 80")
        assert time.process_time() - began < 2


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


def test_what_an_example_says_is_not_claimed():
    assert told("E.g. the API port is 8080") == told("Ports, e.g. the API port is 8080") == []


def test_a_document_claims_a_few_values_at_most():
    text = "\n".join(f"The queue{number} size is {number}" for number in range(100))

    assert len(extract(text)) == claims.CLAIMS_MAX


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


def test_what_a_caller_gives_is_compared_like_what_is_read():
    claim = given(subject="The API", attribute="Port", value="8080")

    assert [(claim.subject, claim.attribute, claim.sense)] == told("The API port is 8080")
    assert given(subject="a", attribute="version", value="v3.10").sense == "3.10"


@pytest.mark.parametrize("name", ["subject", "attribute", "value"])
def test_a_claim_without_words_is_refused(name):
    words = {"subject": "api", "attribute": "port", "value": "8080"} | {name: " `.` "}

    with pytest.raises(ValueError, match=f"{name} must have words"):
        given(**words)


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
