"""When the daemon makes room for a new process, and that it waits for a quiet time."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from yaadwatch.daemon import scheduler
from yaadwatch.daemon.main import LOCK_IS_HELD
from yaadwatch.daemon.scheduler import AGAIN, DISPLACED, Renewal, Rest
from yaadwatch.daemon.supervisor import Fatal, Health
from yaadwatch.db.database import Database
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.processes import own_rss_bytes


class Enough(Exception):
    """The test has seen enough looks."""


def run(
    looks=20,
    *,
    replaced=(),
    busy=(),
    health=None,
    stale=(),
    holds_lock=(),
    memory_mib=0,
    limit_mib=512,
    status=AGAIN,
):
    """Look up to `looks` times; return the reason to begin again, or None, and the pauses made.

    What is given as a row is seen one after the other, and its last element from then on.
    """
    pauses = []

    async def sleep(seconds):
        if len(pauses) >= looks:
            raise Enough
        pauses.append(seconds)

    def row(values, otherwise):
        left = list(values)
        return lambda: (left.pop(0) if len(left) > 1 else left[0]) if left else otherwise

    looking = Renewal(
        other_reason=row(stale, ""),
        replaced=row(replaced, False),
        holds_lock=holds_lock if callable(holds_lock) else row(holds_lock, True),
        memory_mib=lambda: memory_mib,
        limit_mib=limit_mib,
        busy=row(busy, False),
        health=health or Health(),
        sleep=sleep,
    )
    with pytest.raises((Enough, Fatal)) as raised:
        asyncio.run(looking.run())
    if raised.type is Enough:
        return None, pauses
    assert raised.value.status == status
    return str(raised.value), pauses


def test_without_a_reason_it_looks_for_ever():
    assert run() == (None, [scheduler.LOOK_S] * 20)


def test_the_status_that_asks_for_a_restart_is_75():
    assert AGAIN == 75


def test_another_daemon_is_a_reason_and_not_to_begin_again():
    reason, pauses = run(holds_lock=[True, False], status=DISPLACED)

    assert "another daemon runs now" in reason
    assert len(pauses) == 1 + scheduler.LOOKS_DISPLACED
    assert DISPLACED == LOCK_IS_HELD


def test_a_daemon_that_gives_the_lock_back_is_no_reason():
    assert run(holds_lock=[True, False, True, False, True])[0] is None


def test_a_lock_that_cannot_be_made_again_is_reported_and_no_reason_to_end():
    health, asked = Health(), []

    def cannot():
        asked.append([problem.what for problem in health.problems()])
        if len(asked) < 3:
            raise YaadError(Code.UNAVAILABLE, "The disk is read-only.", "Look at it.")
        return True

    assert run(5, holds_lock=cannot, health=health)[0] is None
    assert "The disk is read-only." in asked[1][0]
    assert asked[3] == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"replaced": [False, True]}, "another version of the program was installed"),
        ({"stale": ["", "the user store is damaged"]}, "the user store is damaged"),
    ],
)
def test_process_ends_for_a_reason_once_no_request_is_in_progress(given, reason):
    found, pauses = run(busy=[True, True, False], **given)

    assert found == reason
    assert pauses == [scheduler.LOOK_S, scheduler.LOOK_S, 1.0, 1.0]


def test_a_request_that_never_ends_is_not_waited_for_for_ever():
    reason, pauses = run(looks=200, replaced=[True], busy=[True])

    assert reason is not None
    assert sum(pauses[1:]) == scheduler.BUSY_S


def test_too_much_memory_is_a_reason_once_it_is_ten_minutes_old():
    reason, pauses = run(200, memory_mib=600)

    assert reason == "it takes 600 MiB, and its limit is 512 MiB (daemon.memory_mib)"
    assert sum(pauses) == 600.0
    assert run(200, memory_mib=511)[0] is None
    assert run(200, memory_mib=10_000, limit_mib=0)[0] is None


def test_pages_of_files_are_no_memory_of_its_own():
    assert 0 < own_rss_bytes(anonymous=True) <= own_rss_bytes()


@pytest.fixture
def store(tmp_path):
    store = Database.open(tmp_path / "yaad.db", role="user", create=True)
    yield store
    store.close()


def test_a_daemon_that_rests_with_much_memory_begins_again_once_an_hour(store):
    at = datetime(2026, 1, 1, tzinfo=UTC)

    def reason(minutes, *, memory_mib=90.0, clients=0):
        now = at + timedelta(minutes=minutes)
        rest = Rest(store, now=lambda: now, memory_mib=lambda: memory_mib, clients=lambda: clients)
        rest.begin()
        return rest.reason

    assert reason(0, memory_mib=56.0) == reason(0, clients=1) == ""
    assert reason(0) == "it rests with 90 MiB, of which a new one needs a part"
    assert reason(59) == ""
    assert reason(60) != ""
    assert reason(-600) != "", "the clock was wrong before"
