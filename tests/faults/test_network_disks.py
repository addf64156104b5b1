"""A network disk that does not answer keeps nobody waiting but who asks for what is on it."""

import sys
import time

import pytest
from living_daemon import Shop
from network_disk import hanging
from waiting import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is made of Linux's FUSE")
POLLS_S = 3


def test_other_projects_are_checked_and_watched_while_a_disk_in_one_hangs(machine):
    machine.live(YAAD_WATCH_POLL_S="1")
    far, near = Shop.new(machine, "far", files=2), Shop.new(machine, "near", files=2)
    with hanging(far.root / "src"):
        time.sleep(POLLS_S)
        near.edit(0, 7)
        near.settles()
        late = Shop.new(machine, "late", files=1)
        late.edit(0, 7)
        late.settles()
        for _ in range(3):  # as many checks of the one with the disk as there are at once
            far.write("CLAUDE.md", "# Rules\n\n- Prices are integers.\n")
            time.sleep(0.5)
        near.edit(1, 7)
        near.settles()
        watched = {row["path"]: row["watch"] for row in machine.call("status")["projects"]}

    assert watched[str(far.root)] == "poll"
    assert watched[str(near.root)] == "full"
    far.edit(1, 7)
    far.settles()
    wait_until(lambda: machine.call("status")["problems"] == [], "nothing that is wrong")
    assert machine.stop() == 0


def test_a_project_whose_disk_hangs_is_told_and_keeps_no_question_about_others_waiting(machine):
    machine.live(YAAD_WATCH_POLL_S="1")
    far, near = Shop.new(machine, "far", files=1), Shop.new(machine, "near", files=1)
    with hanging(far.root):
        time.sleep(POLLS_S + 5)
        told = {row["path"]: row for row in machine.call("status")["projects"]}
        near.edit(0, 7)
        near.settles()
        Shop.new(machine, "late", files=1)

    assert told[str(far.root)]["state"] == "broken"
    assert "does not answer" in told[str(far.root)]["reason"]
    assert told[str(near.root)]["state"] == "ok"
    far.edit(0, 7)
    far.settles()
    assert machine.stop() == 0


def test_a_daemon_that_is_started_while_a_disk_hangs_watches_what_is_on_others(machine):
    machine.live()
    shop, other = Shop.new(machine, "shop", files=2), Shop.new(machine, "other", files=1)
    away = machine.home / "code" / "away"
    shop.git("worktree", "add", "-q", str(away))
    machine.call("stale", cwd=away, check=True)
    machine.stop()
    with hanging(away):
        machine.live(YAAD_WATCH_POLL_S="1")
        other.edit(0, 7)
        other.settles()
        late = Shop.new(machine, "late", files=1)
        late.edit(0, 7)
        late.settles()

    shop.edit(0, 7)
    shop.settles()
    assert machine.stop() == 0
