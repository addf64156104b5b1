"""A network disk that does not answer keeps nobody waiting but who asks for what is on it."""

import contextlib
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from agent_process import Agent
from living_daemon import Shop
from network_disk import hanging
from refusals import refusal
from waiting import PATIENCE_S, wait_until

from yaadwatch.model.errors import Code, YaadError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it is made of Linux's FUSE")
POLLS_S = 3
AGENTS = 8
"""More than the loop has threads for what nobody else has one for, on a machine of two cores."""
ASKED = 12
"""Requests at the same time: three times as many as there are threads for them."""
FOLDERS = 20
"""Four requests in each are more than there are threads."""


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

    def is_known():
        with contextlib.suppress(YaadError):  # it asked the disk before that was known
            told.update({row["path"]: row for row in machine.call("status")["projects"]})
        return told.get(str(far.root), {}).get("state") == "broken"

    told = {}
    with hanging(far.root):
        time.sleep(POLLS_S + 5)
        wait_until(is_known, lambda: f"word of the disk: {told}")
        near.edit(0, 7)
        near.settles()
        Shop.new(machine, "late", files=1)

    assert "does not answer" in told[str(far.root)]["reason"]
    assert told[str(near.root)]["state"] == "ok"
    far.edit(0, 7)
    far.settles()
    assert machine.stop() == 0


@pytest.mark.parametrize("place", ["..", ".", ".git"])
def test_status_after_a_start_while_a_disk_hangs_names_each_project_on_it(machine, place):
    machine.live()
    shops = [Shop.new(machine, f"far/{name}", files=1) for name in ("one", "two")]
    far = shops if place == ".." else shops[:1]
    machine.stop()
    with hanging((far[0].root / place).resolve()):
        machine.live(YAAD_WATCH_POLL_S="1")
        rows = {row["path"]: row for row in machine.call("status")["projects"]}
        near = Shop.new(machine, "near", files=1)
        near.edit(0, 7)
        near.settles()

    assert all("does not answer" in rows[str(shop.root)]["reason"] for shop in far)
    assert [row["state"] for row in rows.values()].count("ok") == len(shops) - len(far)
    far[0].edit(0, 7)
    far[0].settles()
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


def test_requests_about_a_disk_that_hangs_are_refused_and_keep_no_others_waiting(machine):
    machine.live()
    far, near = Shop.new(machine, "far", files=1), Shop.new(machine, "near", files=1)

    def ask(operation, **fields):
        try:
            return far.ask(operation, **fields)
        except YaadError as error:
            return error

    with hanging(far.root), ThreadPoolExecutor(ASKED) as asking:
        asked = [asking.submit(ask, "recall", query="which rate") for _ in range(ASKED)]
        assert near.ask("recall", query="which rate is applied")["results"]
        told = [one.result() for one in asked]
        later = ask("remember", text="We like tea")
        assert near.remember(0)["decision"] == "same"

    assert {error.code for error in (*told, later)} == {Code.UNAVAILABLE}
    place = f"The disk at {far.root} does not answer"
    assert all(place in error.message for error in (*told, later))
    assert "umount" in later.hint
    wait_until(lambda: isinstance(ask("recall", query="which rate"), dict), "an answer")
    assert machine.stop() == 0


def test_many_folders_of_a_disk_that_hangs_keep_no_others_waiting(machine):
    machine.live()
    far, near = Shop.new(machine, "far", files=1), Shop.new(machine, "near", files=1)
    folders = [far.root / f"d{number}" for number in range(FOLDERS)]
    for folder in folders:
        folder.mkdir()
    machine.stop()

    def ask(folder):
        return refusal(machine.call, "recall", cwd=folder, query="which rate")

    with hanging(far.root), ThreadPoolExecutor(4 * FOLDERS) as asking:
        machine.live()
        near.edit(0, 7)
        near.settles()
        asked = [asking.submit(ask, folder) for folder in folders for _ in range(4)]
        told = [one.result() for one in asked[:4]]
        assert near.ask("recall", query="which rate is applied")["results"]
        assert near.remember(0)["decision"] == "same"
        told += [one.result() for one in asked[4:]]

    assert {error.code for error in told} == {Code.UNAVAILABLE}
    assert all(f"The disk at {far.root}/d" in error.message for error in told)
    assert machine.stop() == 0


def test_a_change_in_a_work_tree_whose_git_directory_is_on_a_disk_that_hangs_stops_nothing(machine):
    """It was watched before the disk hung, and every change is held back while git is at work."""
    machine.live()
    shop, near = Shop.new(machine, "shop", files=1), Shop.new(machine, "near", files=1)
    shop.settles()
    with hanging(shop.root / ".git"):
        shop.edit(0, 7)
        time.sleep(POLLS_S)
        assert near.ask("recall", query="which rate is applied")["results"]
        near.edit(0, 7)
        near.settles()

    shop.settles()
    assert machine.stop() == 0


def test_agents_that_ask_and_leave_on_a_disk_that_hangs_keep_nobody_waiting(machine):
    machine.live()
    far, near = Shop.new(machine, "far", files=1), Shop.new(machine, "near", files=1)
    with contextlib.ExitStack() as agents:
        asking = [agents.enter_context(Agent(cwd=far.root, **machine.env)) for _ in range(AGENTS)]
        for agent in asking:
            agent.shake_hands()
        with hanging(far.root):
            for agent in asking:
                agent.ask(1, "resources/read", uri="yaad://stale")
            told = [agent.hear()["error"]["message"] for agent in asking]
            for agent in asking:
                agent.process.stdin.close()
                agent.process.wait(PATIENCE_S)
            time.sleep(POLLS_S)
            with Agent(cwd=near.root, **machine.env) as other:
                other.shake_hands()
                assert "result" in other.answer(1, "resources/read", uri="yaad://stale")
            near.edit(0, 7)
            near.settles()

    place = f"The disk at {far.root} does not answer"
    assert [message for message in told if place not in message] == []
    assert machine.stop() == 0
