"""Which statements go on with one that is known, on a list of pairs; and which never may."""

from pathlib import Path

import pytest

from yaadwatch.core.ingest.lettering import folded
from yaadwatch.core.ingest.likeness import (
    APART,
    REFINES,
    WITHIN,
    beginning,
    compare,
    number,
    said,
)

PAIRS = Path(__file__).with_name("likeness_pairs.txt")


def pairs(section):
    found, here = [], ""
    for line in PAIRS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            here = line.strip("[]")
        elif " => " in line and not line.startswith("#") and here == section:
            found.append(tuple(line.split(" => ")))
    return found


def test_the_list_is_long_enough_to_mean_something():
    assert len(pairs("apart")) >= 60
    assert len(pairs("refines")) >= 20
    assert len(pairs("same")) >= 12
    assert len(pairs("lettered")) >= 20


@pytest.mark.parametrize(("known", "new"), pairs("same"))
def test_capitals_white_space_and_the_mark_at_the_end_make_no_other_statement(known, new):
    assert folded(new) == folded(known)
    assert number(new) == number(known) != 0


@pytest.mark.parametrize(("known", "new"), pairs("lettered") + pairs("apart") + pairs("beyond"))
def test_where_a_letter_or_a_mark_counts_two_statements_stay_two(known, new):
    assert folded(new) != folded(known)


@pytest.mark.parametrize(("known", "new"), pairs("apart"))
def test_statements_about_different_things_are_kept_apart(known, new):
    """In either order: no pair of the list is ever made one."""
    assert compare(said(new), said(known)) == APART
    assert compare(said(known), said(new)) == APART


def test_nine_of_ten_statements_that_go_on_are_noticed():
    """Of those that words can tell; what is said in other words is left alone."""
    noticed = [compare(said(new), said(known)) == REFINES for known, new in pairs("refines")]

    assert sum(noticed) >= 0.9 * len(noticed)
    assert {compare(said(new), said(known)) for known, new in pairs("beyond")} == {APART}


def test_the_shorter_one_said_later_is_within_the_longer_one():
    longer = said("Sign tokens with jose, because jsonwebtoken is not maintained")

    assert compare(said("Sign tokens with jose"), longer) == WITHIN


@pytest.mark.parametrize("text", ["", "Use tabs", "to be or not to be", "???", "a" * 50_000])
def test_what_says_too_little_is_like_nothing(text):
    assert beginning(text) == ()
    assert compare(said(text), said(text)) == APART


def test_a_document_is_never_taken_for_another_one():
    text = " ".join(f"word{number}" for number in range(500))

    assert compare(said(text), said(text)) == APART
