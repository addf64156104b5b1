"""The page of faults and the tests say the same: seventeen rows, each with a test that is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (\d+) \|.*\| ([^|]+) \|$",
    (ROOT / "docs" / "faults.md").read_text(encoding="utf-8"),
    flags=re.MULTILINE,
)


def test_there_are_seventeen():
    assert [int(number) for number, _ in ROWS] == list(range(1, 18))


@pytest.mark.parametrize(("number", "tests"), ROWS)
def test_each_fault_has_a_test_that_is_there(number, tests):
    paths = re.findall(r"`(tests/[\w/]+\.py)`", tests)

    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
