"""Fault 2: the system loses hints, because the daemon was stopped while much was written."""

import signal
from pathlib import Path

import pytest
from living_daemon import Shop
from waiting import wait_until

QUEUED_MAX = Path("/proc/sys/fs/inotify/max_queued_events")
FEASIBLE = 200_000
FOLDERS = 6
"""Those of git, the top and `src`."""


@pytest.fixture
def events():
    """More events than the kernel keeps for one reader."""
    if not QUEUED_MAX.exists():
        pytest.skip("no inotify here, whose queue could overflow")
    events = int(QUEUED_MAX.read_text()) * 5 // 4
    if events > FEASIBLE:
        pytest.skip(f"the queue of this machine takes {events} events")
    return events


def test_what_changed_while_hints_were_lost_is_found(machine, events):
    """Nothing else would find it in time: no poll is due, and what is told is of no memory."""
    machine.live(YAAD_WATCH_POLL_S="3600")
    shop = Shop.new(machine)
    wait_until(lambda: machine.watches() >= FOLDERS, "the watch of each folder")
    for value in (7, 0):  # what was learnt last is told, so nothing from before is left to check
        shop.edit(Shop.FILES - 1, value)
        shop.settles()
    machine.process.send_signal(signal.SIGSTOP)
    try:
        paths = [shop.root / "src" / name for name in ("noise", "more")]
        for number in range(events // 2):
            for path in paths:  # the same event twice in a row would be one
                path.write_bytes(b"%d" % number)
        (shop.root / "src/m2.py").unlink()
        shop.edit(0, 7)
    finally:
        machine.process.send_signal(signal.SIGCONT)

    wait_until(lambda: machine.logged("watch.overflowed"), "the overflow")
    shop.settles()
    assert shop.false == {0, 2}
    assert machine.logged("watch.overflowed") == 1
    wait_until(lambda: machine.call("status")["problems"] == [], "no problem left")
    shop.edit(3, 7)
    shop.settles()
