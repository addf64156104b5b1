"""The user store is damaged, or gone: its newest copy takes its place, and no byte is lost."""

import shlex
import subprocess
import sys

import pytest
from living_daemon import SOAK, Shop
from waiting import wait_until

from yaadwatch import places
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import YaadError

OWN = "Always answer in English"


def to_nothing(data):
    return b""


def to_text(data):
    return b"this is no database " * 1000


def to_a_half(data):
    return data[: len(data) // 2]


def to_nonsense_behind_the_header(data):
    return data[:4096] + b"\x5a" * (len(data) - 4096)


def to_another_program(data):
    return data[:68] + b"\0\0\0\1" + data[72:]


def to_a_later_version(data):
    return data[:60] + b"\0\0\3\1" + data[64:]


DAMAGES = [to_nothing, to_nonsense_behind_the_header, *([to_text, to_a_half] if SOAK else [])]


def damage(machine, change=to_text):
    """End the daemon and damage the file; return what it holds now."""
    machine.stop()
    data = change(places.user_store().read_bytes())
    places.user_store().write_bytes(data)
    return data


def problem(machine):
    """Return what is wrong with the user store, as the daemon says."""
    found = [
        one
        for one in machine.call("status")["problems"]
        if str(places.data_folder()) in one["what"]
    ]
    return found[0] if found else None


def is_restored(machine):
    """Whether a daemon says that it has restored it: not while it fails, nor while one begins."""
    try:
        told = problem(machine)
    except (DaemonNotRunning, YaadError):
        return False
    return told is not None and "was restored from the copy of" in told["what"]


def mend(machine, command):
    """Do what the doctor says."""
    program = f"{shlex.quote(sys.executable)} -m yaadwatch"
    done = subprocess.run(
        command.replace("yaadwatch ", f"{program} "),
        shell=True,
        env=machine.env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, (command, done)


@pytest.fixture
def kept(machine, shop):
    """A shop, a memory for all projects, and a copy of the user store that knows both."""
    shop.ask("remember", text=OWN, scope="user")
    shop.ask("backup", user=True)
    return shop


@pytest.mark.parametrize("change", DAMAGES, ids=lambda change: change.__name__)
def test_a_damaged_user_store_is_put_aside_and_its_newest_copy_takes_its_place(
    machine, kept, change
):
    left = damage(machine, change)
    earlier = places.data_folder() / "damaged" / "yaad.db"
    earlier.parent.mkdir()
    earlier.write_bytes(b"damaged before")
    machine.live()

    kept.edit(0, 7)
    kept.settles()
    found = kept.ask("recall", query="which language to answer in")["results"]
    assert [one["text"] for one in found] == [OWN]
    kept.ask("remember", text="Never use tabs", scope="user")
    aside = places.data_folder() / "damaged" / "2" / "yaad.db"
    assert aside.read_bytes() == left
    assert earlier.read_bytes() == b"damaged before"
    told = problem(machine)
    assert f"It is at {aside} now" in told["what"]
    assert "nothing was changed" not in told["what"]
    assert "was restored from the copy of" in told["what"]
    mend(machine, "yaadwatch restart")
    assert problem(machine) is None


def test_a_user_store_that_is_damaged_while_it_is_used_is_restored(machine, kept):
    places.user_store().write_bytes(b"this is no database " * 1000)

    wait_until(lambda: is_restored(machine), "a daemon that has restored it")

    assert kept.ask("recall", query="which language to answer in")["results"]


def test_a_user_store_of_something_else_is_left_alone_and_the_daemon_does_not_start(machine, kept):
    machine.stop()
    whole = places.user_store().read_bytes()
    for change in (to_a_later_version, to_another_program):
        left = change(whole)
        places.user_store().write_bytes(left)

        done = machine.run("start")

        assert done.status == 3
        assert str(places.user_store()) in done.err
        assert places.user_store().read_bytes() == left


def test_without_a_copy_it_says_so_and_projects_can_be_added_again(machine, shop):
    damage(machine)
    for copy in places.backups("user").glob("*.db"):
        copy.unlink()
    machine.live()

    assert "no project is known" in problem(machine)["what"]
    shop.ask("add", adopt=True)
    shop.edit(0, 7)
    shop.settles()


def test_one_that_is_gone_comes_back_from_its_newest_copy_that_is_whole(machine, kept):
    machine.stop()
    places.user_store().unlink()
    (places.backups("user") / "20990101T000000000000.db").write_bytes(b"nonsense")
    machine.live()

    assert [one["path"] for one in machine.call("status")["projects"]] == [str(kept.root)]
    assert "was restored from the copy" in problem(machine)["what"]
    kept.ask("remember", text="Never use tabs", scope="user")


def test_a_project_that_was_just_added_is_in_a_copy(machine):
    machine.live()
    Shop.new(machine, files=1)
    (first,) = wait_until(copies, "a copy")
    Shop.new(machine, "other", files=1)
    wait_until(lambda: copies() and copies() != [first], "a copy that knows the other, too")
    damage(machine)
    machine.live()

    assert len(machine.call("status")["projects"]) == 2
    assert "was restored from the copy of" in problem(machine)["what"]


def copies():
    return list(places.backups("user").glob("*-projects.db"))
