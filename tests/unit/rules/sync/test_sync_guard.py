"""What looks like an accident, and what does not."""

from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch.sync.inventory import conflict_markers, deletion, ping_pong

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lost", "total"), [(0, 0), (1, 1), (2, 2), (3, 6), (4, 8), (4, 100), (0, 9)]
)
def test_a_few_deletions_are_believed(lost, total):
    assert deletion(lost, total) is None


@pytest.mark.parametrize(("lost", "total"), [(3, 3), (3, 5), (4, 7), (5, 100), (41, 43)])
def test_many_at_once_or_most_are_not(lost, total):
    paused = deletion(lost, total)

    assert paused is not None
    assert (paused.lost, paused.total) == (lost, total)
    assert paused.reason == f"it lost {lost} of {total} rules at once; no memory was deleted"


@pytest.mark.parametrize("gone", [{"block_is_gone": True}, {"file_is_gone": True}])
def test_one_rule_is_enough_when_all_of_it_is_gone(gone):
    assert deletion(1, 1, **gone) is not None
    assert deletion(0, 0, **gone) is None


def test_an_unfinished_merge_is_named_with_its_line():
    data = b"# Rules\n<<<<<<< HEAD\n- a\n=======\n- b\n>>>>>>> topic\n"

    paused = conflict_markers(data)

    assert paused is not None
    assert paused.reason == "an unfinished merge stands in line 2"
    assert conflict_markers(data.replace(b"<<<<<<< HEAD\n", b"")) is not None
    assert conflict_markers(data.replace(b"\n", b"\r\n")) is not None


def test_underlined_titles_and_quotes_are_no_merge():
    assert conflict_markers(b"Title\n=======\n> > > quoted\n <<<<<<< x\n") is None


def test_a_file_written_three_times_a_minute_is_paused():
    written = [NOW - timedelta(seconds=seconds) for seconds in (1, 30, 59)]

    assert ping_pong(written, NOW) is not None
    assert ping_pong(written[1:], NOW) is None
    assert ping_pong(written, NOW + timedelta(seconds=2)) is None
