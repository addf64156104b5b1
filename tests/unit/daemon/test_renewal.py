"""When the daemon makes room for a new process: upgraded, or above its limit, at a quiet time."""

import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from yaadwatch.daemon import scheduler
from yaadwatch.daemon.main import LOCK_IS_HELD
from yaadwatch.daemon.scheduler import AGAIN, DISPLACED, LOOKS_ABOVE, MIB, Renewal
from yaadwatch.daemon.supervisor import Fatal, Health
from yaadwatch.model.errors import Code, YaadError
from yaadwatch.model.settings import Daemon


class Enough(Exception):
    """The test has seen enough looks."""


@pytest.fixture(autouse=True)
def mark(tmp_path, monkeypatch):
    """The file that outlives the process."""
    monkeypatch.chdir(tmp_path)
    return Path("renewed")


def run(
    looks=20,
    *,
    replaced=(),
    rss_mib=(),
    memory_mib=100,
    busy=(),
    health=None,
    stale_store=(),
    holds_lock=(),
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

    seen = row(rss_mib, 1)
    looking = Renewal(
        stale_store=row(stale_store, ""),
        replaced=row(replaced, False),
        holds_lock=holds_lock if callable(holds_lock) else row(holds_lock, True),
        rss_bytes=lambda: seen() * MIB,
        memory_mib=memory_mib,
        busy=row(busy, False),
        health=health or Health(),
        mark=Path("renewed"),
        now=lambda: datetime.now(UTC),
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


def test_to_begin_again_is_told_by_the_status_75():
    assert AGAIN == 75


def test_another_daemon_is_a_reason_and_not_to_begin_again():
    reason, pauses = run(holds_lock=[True, False], status=DISPLACED)

    assert "another daemon runs now" in reason
    assert len(pauses) == 1 + scheduler.LOOKS_DISPLACED
    assert DISPLACED == LOCK_IS_HELD


def test_one_that_starts_beside_us_and_gives_the_lock_back_is_no_reason():
    assert run(holds_lock=[True, False, True, False, True])[0] is None


def test_a_lock_that_cannot_be_made_anew_is_told_and_no_reason_to_end():
    health, asked = Health(), []

    def cannot():
        asked.append([problem.what for problem in health.problems()])
        if len(asked) < 3:
            raise YaadError(Code.UNAVAILABLE, "The disk is read-only.", "Look at it.")
        return True

    assert run(5, holds_lock=cannot, health=health)[0] is None
    assert "The disk is read-only." in asked[1][0]
    assert asked[3] == []


def test_another_program_is_a_reason():
    reason, pauses = run(replaced=[False, True])

    assert "another version" in reason
    assert len(pauses) == 2


def test_a_user_store_that_is_to_be_opened_anew_is_a_reason():
    reason, pauses = run(stale_store=["", "the user store can be used again"], busy=[True, False])

    assert reason == "the user store can be used again"
    assert pauses == [scheduler.LOOK_S, scheduler.LOOK_S, 1.0]


def test_above_the_limit_for_long_is_a_reason_that_names_the_setting():
    reason, pauses = run(rss_mib=[50, 101])

    assert "101 MiB" in reason
    assert "100 MiB (daemon.memory_mib)" in reason
    assert len(pauses) == 1 + LOOKS_ABOVE


@pytest.mark.parametrize("rss_mib", [[100], [300, 300, 50] * 6 + [50]])
def test_at_the_limit_or_above_for_a_moment_is_none(rss_mib):
    assert run(rss_mib=rss_mib)[0] is None


def test_no_limit_is_never_reached():
    assert run(rss_mib=[10**6], memory_mib=0)[0] is None


def test_what_is_being_answered_is_answered_first():
    reason, pauses = run(replaced=[True], busy=[True, True, False])

    assert reason is not None
    assert pauses == [scheduler.LOOK_S, 1.0, 1.0]


def test_who_never_is_quiet_is_not_waited_for_for_ever():
    reason, pauses = run(looks=200, replaced=[True], busy=[True])

    assert reason is not None
    assert sum(pauses[1:]) == scheduler.BUSY_S


def test_what_did_not_help_is_not_done_again_soon_but_told_with_its_command():
    health = Health()
    assert run(rss_mib=[101])[0] is not None

    assert run(rss_mib=[101], health=health)[0] is None

    (problem,) = health.problems()
    assert "101 MiB" in problem.what
    assert problem.mend == "yaadwatch config set daemon.memory_mib 202 && yaadwatch restart"


def test_what_is_below_its_limit_again_is_told_no_more():
    health = Health()
    assert run(rss_mib=[101])[0] is not None

    run(rss_mib=[101] * LOOKS_ABOVE + [50], health=health)

    assert health.problems() == []


@pytest.mark.parametrize("age_s", [scheduler.SPACING_S + 60, -60])
def test_after_a_while_or_when_the_clock_was_set_back_it_may_again(mark, age_s):
    mark.touch()
    os.utime(mark, (time.time() - age_s,) * 2)

    assert run(rss_mib=[101])[0] is not None


@pytest.mark.parametrize("mib", [-1, 1, 127, 1024 * 1024 + 1])
def test_a_limit_that_the_daemon_itself_is_above_is_refused(mib):
    with pytest.raises(ValueError, match="0 or within 128"):
        Daemon(memory_mib=mib)
    assert [Daemon(memory_mib=one).memory_mib for one in (0, 128)] == [0, 128]
