"""The user store is damaged, or gone: projects go on, nothing is overwritten, and it is said."""

import shlex
import subprocess
import sys

import pytest
from living_daemon import Shop
from waiting import wait_until

from yaadwatch import places
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

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


DAMAGES = [
    to_nothing,
    to_text,
    to_a_half,
    to_nonsense_behind_the_header,
    to_another_program,
    to_a_later_version,
]


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


def is_well(machine):
    """Return whether a daemon answers that finds nothing wrong; one that begins again does not."""
    try:
        return problem(machine) is None
    except DaemonNotRunning:
        return False


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
def test_with_a_damaged_user_store_projects_go_on_and_nothing_of_it_is_lost(machine, kept, change):
    left = damage(machine, change)
    machine.live()

    kept.edit(0, 7)
    kept.settles()
    kept.ask("remember", text="Prices are rounded at the end")
    found = kept.ask("recall", query="which language to answer in")["results"]
    assert [one["text"] for one in found] == [OWN]

    other = Shop(machine.home / "code" / "other", machine)
    for refused in (
        lambda: kept.ask("remember", text="Never use tabs", scope="user"),
        lambda: kept.ask("forget", id=found[0]["id"]),
        lambda: kept.ask("erase", id=found[0]["id"]),
        lambda: kept.ask("backup", user=True),
        lambda: kept.ask("compact", user=True),
        lambda: kept.ask("verify", user=True),
        lambda: other.ask("add"),
        lambda: kept.ask("remove"),
    ):
        with pytest.raises(YaadError) as raised:
            refused()
        assert raised.value.code is Code.UNAVAILABLE
        assert "yaadwatch doctor" in raised.value.hint
    assert "is read from a copy" in problem(machine)["what"]
    assert problem(machine)["mend"] == "yaadwatch doctor"
    assert kept.store.exists()
    assert "yaadwatch doctor" in kept.ask("context")["brief"]
    assert places.user_store().read_bytes() == left
    assert len(list((places.backups("user")).iterdir())) == 1


def test_what_the_doctor_says_brings_it_back_and_keeps_the_damaged_file(machine, kept):
    left = damage(machine)
    earlier = places.data_folder() / "damaged" / "yaad.db"
    earlier.parent.mkdir()
    earlier.write_bytes(b"damaged before")
    machine.live()

    ran = machine.run("doctor", "--json").json
    (found,) = [one for one in ran["findings"] if one["level"] == "problem"]
    assert str(places.backups("user")) in found["advice"]
    mend(machine, found["mend"])

    kept.ask("remember", text="Never use tabs", scope="user")
    assert kept.ask("recall", query="which language to answer in")["results"]
    assert (places.data_folder() / "damaged" / "2" / "yaad.db").read_bytes() == left
    assert earlier.read_bytes() == b"damaged before"
    assert "was restored from the copy" in problem(machine)["what"]
    mend(machine, "yaadwatch restart")
    assert problem(machine) is None


def test_without_a_copy_it_says_so_and_goes_on_by_itself_when_the_file_is_moved_away(machine, shop):
    damage(machine)
    for copy in places.backups("user").glob("*.db"):
        copy.unlink()
    machine.live()

    with pytest.raises(YaadError) as raised:
        shop.ask("recall", query="which rate is applied")
    assert "yaadwatch doctor" in raised.value.hint
    assert "no project is known" in problem(machine)["what"]
    places.user_store().rename(places.data_folder() / "aside.db")
    wait_until(lambda: is_well(machine), "it begins again")

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


def test_a_project_that_was_just_added_is_in_a_copy_within_a_poll(machine):
    places.data_folder().mkdir(parents=True)
    (places.data_folder() / "config.toml").write_text("[watch]\npoll_s = 5\n")
    machine.live()
    Shop.new(machine, files=1)

    def copies():
        return list(places.backups("user").glob("*-projects.db"))

    (first,) = wait_until(copies, "a copy")
    Shop.new(machine, "other", files=1)
    wait_until(lambda: copies() and copies() != [first], "a copy that knows the other, too")
    left = damage(machine)
    machine.live()

    assert len(machine.call("status")["projects"]) == 2
    assert "is read from a copy" in problem(machine)["what"]
    assert places.user_store().read_bytes() == left
    assert len(copies()) == 1


def test_a_project_that_was_added_right_before_the_daemon_stopped_is_in_a_copy(machine):
    """No poll came in between."""
    places.data_folder().mkdir(parents=True)
    (places.data_folder() / "config.toml").write_text("[watch]\npoll_s = 3600\n")
    machine.live()
    Shop.new(machine, files=1)
    machine.stop()
    machine.live()
    Shop.new(machine, "other", files=1)
    damage(machine)
    machine.live()

    assert len(machine.call("status")["projects"]) == 2
