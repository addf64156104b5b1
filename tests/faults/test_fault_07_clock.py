"""Fault 7: clocks that go back or jump, and files whose times say nothing."""

import os
import sys
import textwrap

import pytest
from waiting import wait_until

HOUR_S = 3_600
YEARS_S = 56 * 366 * 24 * HOUR_S

SHIFTED = textwrap.dedent(
    """
    # The system's clock, put forward by as many seconds as a file says.
    import sys, time
    from pathlib import Path
    shift, real = Path(sys.argv[1]), time.time_ns
    time.time_ns = lambda: real() + int(float(shift.read_text()) * 1e9)
    time.time = lambda: time.time_ns() / 1e9
    from yaadwatch.cli.main import main
    sys.exit(main(["daemon"]))
    """
)


TIMES = (4_102_444_800, 0, -86_400)
"""In the year 2100, in 1970, and before 1970."""


def test_files_of_other_times_are_judged_by_what_they_say(machine, shop):
    def edit(number, value, seconds):
        shop.edit(number, value)
        os.utime(shop.root / shop.path(number), (seconds, seconds))

    for number, seconds in enumerate(TIMES):
        edit(number, 7, seconds)
        edit(number + len(TIMES), 0, seconds)
    shop.settles()
    machine.stop()
    for number, seconds in enumerate(TIMES):
        edit(number + len(TIMES), 7, seconds)
    machine.live()

    shop.settles()
    assert shop.false == set(range(2 * len(TIMES)))


@pytest.mark.parametrize("dead", [False, True])
def test_another_text_of_the_same_size_and_time_is_noticed(machine, shop, dead):
    path = shop.root / shop.path(0)
    before = path.stat()
    if dead:
        machine.stop()
    shop.edit(0, 7)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_size == before.st_size
    if dead:
        machine.live()

    shop.settles()
    assert shop.false == {0}


def test_a_clock_that_jumps_by_an_hour_or_by_56_years_changes_no_verdict(machine, shop):
    """And no job fails or runs twice for it; decades later, every memory is still there."""
    machine.stop()
    shift = machine.folder / "shift"
    shift.write_text("0")
    machine.live(command=(sys.executable, "-c", SHIFTED, str(shift)))
    for number, seconds in enumerate((-HOUR_S, YEARS_S, 0, -YEARS_S)):
        shift.write_text(str(seconds))
        shop.edit(number, 7)
        answer = shop.ask("remember", text=f"Queue {number} is drained by worker{number}")

        shop.settles()
        found = shop.ask("recall", query=f"queue {number} drained by worker{number}")["results"]
        assert answer["id"] in [row["id"] for row in found]
    shift.write_text("0")
    assert shop.false == {0, 1, 2, 3}
    wait_until(lambda: machine.call("status")["problems"] == [], "no problem left")
    assert [job for job in machine.call("status")["jobs"] if job["ok"] is False] == []
    assert machine.logged("service.crashed") == 0
