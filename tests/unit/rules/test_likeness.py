"""Which statements are the same, which are alike and kept apart, on a list of pairs."""

from pathlib import Path

import pytest

from yaadwatch.remember.likeness import are_alike, folded, numbered

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
    assert len(pairs("apart")) >= 100
    assert len(pairs("same")) >= 12
    assert len(pairs("lettered")) >= 20


@pytest.mark.parametrize(("known", "new"), pairs("same"))
def test_capitals_white_space_and_the_mark_at_the_end_make_no_other_statement(known, new):
    assert folded(new) == folded(known)
    assert numbered(new) == numbered(known) != 0
    assert are_alike(new, known)


@pytest.mark.parametrize(("known", "new"), pairs("lettered") + pairs("apart"))
def test_statements_that_differ_in_anything_else_are_two(known, new):
    assert folded(new) != folded(known)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (
            "Sign every access token of the API with jose in the gateway",
            "In the gateway, sign every access token of the API with jose",
            True,
        ),
        (
            "Retry each upload to the object store three times, then report the failure to Sentry",
            "Retry each upload to the object store five times, then report the failure to Sentry",
            False,
        ),
        ("Use tabs in Go files", "Use tabs in Makefiles", False),
        ("Never deploy on Fridays", "Deploy on Fridays", False),
        ("", "", False),
        ("...", "!", False),
    ],
)
def test_statements_are_alike_from_nine_of_ten_common_words(one, other, expected):
    assert are_alike(one, other) is expected
