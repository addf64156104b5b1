from pathlib import Path

import pytest

from yaadwatch.remember.classify import classify

EXAMPLES = [
    [part.strip() for part in line.split("|", 2)]
    for line in (Path(__file__).parent / "classified.txt").read_text("utf-8").splitlines()
    if line and not line.startswith("#")
]

SENTENCES = [
    ("spec", "Reject rate is 5 %"),
    ("spec", "Confirm dialog is shown on delete"),
    ("spec", "In this repo never worked"),
    ("spec", "When the cache is cold, never finishes"),
    ("convention", "In this repo never work on main"),
    ("convention", "Verify what is sent"),
    ("convention", "Use jose instead of jsonwebtoken for Edge compatibility"),
    ("convention", "Never commit generated files"),
    ("convention", "**Always** wrap errors with the operation that raised them"),
    ("convention", "Don't use default exports"),
    ("convention", "Prefer composition over inheritance"),
    ("convention", "We use tabs in Go files"),
    ("convention", "Never call close() twice: it crashes"),
    ("convention", "Keep functions below 40 lines"),
    ("convention", "Test the parser with real files"),
    ("convention", "Errors should name the file"),
    ("convention", "Use `pnpm` instead of `npm`"),
    ("decision", "We decided to keep SQLite"),
    ("decision", "Decision: one database per project"),
    ("decision", "The team has agreed on trunk-based development"),
    ("decision", "We switched from npm to pnpm in March"),
    ("decision", "It was decided that the daemon never calls a model"),
    ("preference", "I prefer short answers"),
    ("preference", "The user likes tables"),
    ("preference", "Please answer in German"),
    ("preference", "My preferred editor is Helix"),
    ("command", "run `make test`"),
    ("command", "Tests: `pytest -q`"),
    ("command", "`make lint` runs the linters"),
    ("command", "Build with `npm run build`"),
    ("command", "run make test"),
    ("command", "To release, run `./scripts/release.sh`"),
    ("command", "You need to run `make generate` first"),
    ("task", "TODO: remove the shim"),
    ("task", "We need to migrate the store"),
    ("task", "The docs still have to be translated"),
    ("task", "Fix the flaky login test"),
    ("task", "[ ] write the changelog"),
    ("task", "The parser needs to handle tabs"),
    ("task", "Retries in the client, TODO"),
    ("bug", "The watcher crashes when the folder is removed"),
    ("bug", "Login fails when the clock is off"),
    ("bug", "Bug: dates are off by one"),
    ("bug", "Uploads over 2 GB do not work"),
    ("fix", "The leak was fixed by closing the handle"),
    ("fix", "Workaround: restart the worker"),
    ("fix", "The fix is to sort before merging; it crashes otherwise"),
    ("spec", "The API must support pagination"),
    ("spec", "The API returns 404 for archived nodes"),
    ("spec", "The retry limit lives in src/net.py"),
    ("spec", "Ports 8080 and 8081 are taken by the proxy"),
    ("spec", "Test runs take a minute"),
    ("spec", "`task` is a piece of work"),
    ("spec", "Keys of all providers in the file that you need to have"),
    ("convention", "Do not create TODO lists"),
    ("convention", "Fix PRs should target the release branch"),
    ("spec", "The bug tracker lives at example.org"),
    ("skill", "How to release: tag, push, wait"),
]


@pytest.mark.parametrize(("kind", "text"), SENTENCES)
def test_the_words_of_a_text_tell_its_kind(kind, text):
    assert classify(text).kind == kind


def test_every_kind_that_words_can_tell_has_examples():
    assert {kind for kind, _, _ in EXAMPLES} == {kind for kind, _ in SENTENCES}
    assert len(EXAMPLES) >= 60


@pytest.mark.parametrize(("kind", "why", "said"), EXAMPLES)
def test_an_example_has_its_kind_for_the_reason_that_is_told(kind, why, said):
    heading, _, text = said.rpartition(" >> ")

    found = classify(text, headings=[heading] if heading else [])

    assert (found.kind, found.why) == (kind, f"{kind}: {why}")


@pytest.mark.parametrize(
    ("heading", "kind"),
    [
        ("Commands", "command"),
        ("## Code style", "convention"),
        ("Known issues", "bug"),
        ("Architecture", "spec"),
        ("Task structure", "spec"),
        ("Build commands", "command"),
        ("Decisions", "decision"),
        ("My preferences", "preference"),
        ("Next steps", "task"),
        ("Do's and Don'ts", "convention"),
    ],
)
def test_a_heading_decides_where_the_words_do_not(heading, kind):
    found = classify("Two spaces in YAML", headings=["Project", heading])

    assert found.kind == kind


def test_the_nearest_heading_is_asked_first():
    assert classify("Two spaces", headings=["Commands", "Style"]).kind == "convention"


def test_the_title_of_a_document_does_not_decide():
    found = classify("Two spaces", headings=["Commands", "Project", "Files"])

    assert found.kind == "spec"


def test_plain_words_outweigh_a_heading():
    assert classify("We decided to keep SQLite", headings=["Known issues"]).kind == "decision"


def test_a_statement_of_fact_is_warm_so_that_it_is_not_shown_to_everyone():
    found = classify("The retry limit lives in src/net.py")

    assert (found.kind, found.tier) == ("spec", 2)


def test_the_reason_quotes_the_words():
    assert classify("Use jose").why == 'convention: a rule ("Use")'


def test_a_given_kind_is_brought_into_its_stored_form():
    assert classify("anything", kind="Code Review").kind == "code-review"


def test_a_given_tier_is_named_in_the_reason():
    found = classify("Use jose", tier=3)

    assert found.tier == 3
    assert found.why == 'convention: a rule ("Use"); tier given'


def test_a_kind_that_is_no_word_is_refused():
    with pytest.raises(ValueError, match=r"a kind is a word of .*, beginning with a letter"):
        classify("anything", kind="!!")


def test_what_is_said_far_behind_does_not_decide():
    assert classify("The parser reads one line. " * 30 + "Never mind.").kind == "spec"
