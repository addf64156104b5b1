"""What was done in a work tree since a time, however coarse the times of its files are."""

import os
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yaadwatch.repo import recent_changes
from yaadwatch.repo.command import GitRunner

SECOND_NS = 1_000_000_000
START = datetime(2026, 11, 21, 9, 30, 12, 980_000, tzinfo=UTC)
END = START + timedelta(hours=1)
NOON_NS = recent_changes.ns_of(START)


@pytest.fixture
def opened(repo):
    runner = GitRunner(repo.TIMEOUT)
    yield repo.open(runner)
    runner.close()


def stamped(path, at_ns):
    os.utime(path, ns=(at_ns, at_ns))


@pytest.mark.parametrize(
    ("before_start", "told"),
    [(0.48, False), (0.2, False), (0.03, True), (-0.5, True)],
    ids=["half a second before", "before", "a tick before", "after"],
)
def test_what_was_removed_right_before_is_not_told(repo, opened, before_start, told):
    repo.add("notes.md", "Notes.\n", "one")
    repo.path.joinpath("notes.md").unlink()
    stamped(repo.path, NOON_NS - round(before_start * SECOND_NS))

    found = recent_changes.uncommitted(opened, START, END)

    assert found == ({"notes.md": recent_changes.REMOVED} if told else {})


def test_a_file_system_that_keeps_whole_seconds_loses_nothing(repo, opened):
    repo.add("notes.md", "Notes.\n", "one")
    repo.path.joinpath("notes.md").unlink()
    stamped(repo.path, NOON_NS // SECOND_NS * SECOND_NS)

    assert recent_changes.uncommitted(opened, START, END) == {"notes.md": recent_changes.REMOVED}


@given(st.integers(0, 2 * 10**18), st.integers(0, 2 * SECOND_NS), st.booleans())
def test_what_is_written_after_a_time_is_since_it_however_its_time_is_cut(since, later, whole):
    stamp = since + later
    kept = stamp // SECOND_NS * SECOND_NS if whole else stamp

    assert recent_changes.is_since(kept, since)


@given(st.integers(0, 2 * 10**18), st.integers(SECOND_NS, 10**12))
def test_what_was_written_a_second_before_is_not_since(since, earlier):
    assert not recent_changes.is_since(since - earlier, since)
