"""Fault 9: the disk is full, or cannot be written to; then it can again.

What may not be read, as another user, is in `tests/integration/verbs/test_hostile_store.py`.
"""

import contextlib
import os
import subprocess
import time

import pytest
from living_daemon import Living, Shop, required
from refusals import refusal
from waiting import wait_until

from yaadwatch.model.errors import Code, YaadError


@pytest.fixture
def small_disk():
    """Mount a file system of 12 MiB at a folder."""
    mounted = []

    def mount(folder):
        folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=0700", "tmpfs", str(folder)]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
            required("mount", "a small disk cannot be mounted here")
        mounted.append(folder)

    yield mount
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder):
    with (folder / "filler").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(b"x" * 4096):
            pass
    return folder / "filler"


def told_of_disk(machine):
    """Return what the daemon says of disks."""
    return [one["what"] for one in machine.call("status")["problems"] if " disk " in one["what"]]


def test_on_a_full_disk_nothing_is_half_written_all_is_answered_and_it_goes_on_later(
    machine, small_disk
):
    data = machine.home / "yaad"
    small_disk(data)
    machine.live()
    shop = Shop.new(machine, files=3, mode="inline")
    root = shop.root
    shop.ask("remember", text="Always call ship_cart to ship a cart", kind="convention")
    wait_until(lambda: "ship_cart" in (root / "CLAUDE.md").read_text(), "a block of ours")
    before = (root / "CLAUDE.md").read_bytes()

    filler = fill(data)
    said = []
    refused = None
    for number in range(10_000):
        try:
            answer = shop.ask("remember", text=f"Queue {number} is drained by worker{number}")
            said.append(answer["id"])
        except YaadError as error:
            refused = error
            break
    assert refused is not None
    assert refused.code is Code.UNAVAILABLE
    assert "space" in refused.message
    assert shop.ask("recall", query="which rate is applied")["results"]
    told = shop.ask("stale")
    assert "space" in told["unchecked"]
    assert "Not checked now: There is no space" in machine.run("stale", cwd=root).out
    assert shop.ask("impact", file="src")["unchecked"] == told["unchecked"]
    assert told_of_disk(machine) == [
        f"There is no space left on the disk of {data}; nothing more can be stored there."
    ]
    full = (root / "CLAUDE.md").read_bytes()
    assert full == before or said  # what was written whole may be there, half of it may not
    assert full.count(b"yaad:begin") == full.count(b"yaad:end") == 1
    assert [path.name for path in root.iterdir() if path.name.endswith(".yaad")] == []

    filler.unlink()
    assert told_of_disk(machine) == []
    shop.ask("remember", text="The disk has room again")
    assert shop.ask("stale")["unchecked"] is None
    shop.edit(0, 7)
    shop.settles()
    assert {shop.ask("show", id=one)["id"] for one in said} == set(said)
    assert machine.stop() == 0
    assert shop.is_sound() == "ok"
    assert machine.logged("service.crashed") == 0


def test_a_project_on_a_full_disk_keeps_and_gets_memories_and_can_be_removed(machine, small_disk):
    root = machine.home / "code" / "shop"
    small_disk(root)
    machine.live()
    shop = Shop.new(machine, files=3, mode="read")
    rules = (root / "CLAUDE.md").read_bytes()
    filler = fill(root)

    said = shop.ask("remember", text="Said while the disk was full")["id"]
    removed = shop.ask("remove")

    assert removed["memories"] > 0
    assert (root / "CLAUDE.md").read_bytes() == rules
    filler.unlink()
    machine.call("add", cwd=root, adopt=True)
    assert shop.ask("show", id=said)["id"] == said
    assert machine.stop() == 0


def test_on_a_full_disk_a_file_with_a_block_of_ours_keeps_its_project(machine, small_disk):
    root = machine.home / "code" / "shop"
    small_disk(root)
    machine.live()
    shop = Shop.new(machine, files=1, mode="inline")
    shop.ask("remember", text="Always call ship_cart to ship a cart", kind="convention")
    wait_until(lambda: "ship_cart" in (root / "CLAUDE.md").read_text(), "a block of ours")
    before = (root / "CLAUDE.md").read_bytes()
    filler = fill(root)

    refused = refusal(shop.ask, "remove")

    assert refused.code is Code.UNAVAILABLE
    assert "space" in refused.hint
    assert (root / "CLAUDE.md").read_bytes() == before
    assert shop.ask("recall", query="which rate is applied")["results"]
    filler.unlink()
    shop.ask("remove")
    assert "yaad:begin" not in (root / "CLAUDE.md").read_text()
    assert machine.stop() == 0


def test_with_no_room_for_temporary_files_changes_are_judged_all_the_same(machine, small_disk):
    """Of a language without a grammar here git compares two texts, which it reads from files."""
    place = machine.home / "tmp"
    small_disk(place)
    machine.live(TMPDIR=str(place))
    shop = Shop.new(machine, files=3, place="src/m{}.pyx")
    shop.edit(0, 7)
    shop.settles()

    fill(place)
    shop.edit(1, 7)
    shop.commit("seven")
    shop.settles()

    assert machine.logged("check.failed") == 0


def test_a_repository_on_a_disk_that_is_read_only_gets_memories_all_the_same(machine, small_disk):
    root = machine.home / "code" / "shop"
    small_disk(root)
    machine.live()
    shop = Shop.new(machine, files=3)
    machine.stop()
    subprocess.run(["mount", "-o", "remount,ro", str(root)], check=True)
    machine.live(YAAD_WATCH_POLL_S="1")

    said = shop.ask("remember", text="The disk is read-only")["id"]
    assert shop.ask("show", id=said)["id"] == said
    assert shop.flags() == {}

    subprocess.run(["mount", "-o", "remount,rw", str(root)], check=True)
    shop.edit(0, 7)
    shop.settles()
    assert machine.logged("service.crashed") == 0


def make_read_only(disk):
    """A process that was killed may have a file open for a moment yet: the disk is busy."""
    for left in range(50, -1, -1):
        done = subprocess.run(
            ["mount", "-o", "remount,ro", str(disk)], check=False, capture_output=True, text=True
        )
        if done.returncode == 0:
            return
        assert left, done.stderr
        time.sleep(0.1)


@pytest.mark.parametrize("killed", [False, True], ids=["at rest", "with a log"])
def test_with_a_home_that_is_read_only_what_is_stored_is_read_all_the_same(
    tmp_path, monkeypatch, small_disk, killed
):
    """A container whose disk may not be written to, say."""
    machine = Living(tmp_path, monkeypatch)
    small_disk(machine.home)
    try:
        machine.live()
        shop = Shop.new(machine, files=1)
        shop.remember(0)
        if killed:
            machine.kill()
            for shared in machine.home.rglob("yaad.db-shm"):
                shared.unlink()
        else:
            machine.stop()
        make_read_only(machine.home)

        told = machine.ask("recall", "which rate is applied", cwd=shop.root)
        refused = machine.run("remember", "Nobody can keep this", cwd=shop.root)
        found = machine.run("doctor")

        assert "is on a disk that is mounted read-only" in " ".join(found.out.split())
        assert "chmod" not in found.out
        assert told["offline"]
        assert [row["id"] for row in told["results"]] == [shop.said[0]]
        assert refused.status == 3
        assert "Read-only file system" in refused.err
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(machine.home)], check=True)
        machine.end()


def test_on_a_disk_that_is_read_only_a_link_in_the_place_of_a_log_is_not_followed(
    tmp_path, monkeypatch, small_disk
):
    """What is copied to be read is opened by SQLite, which writes to its log and deletes it."""
    machine = Living(tmp_path, monkeypatch)
    small_disk(machine.home)
    own = tmp_path / "own.sh"
    own.write_text("echo mine")
    own.chmod(0o755)
    try:
        machine.live()
        shop = Shop.new(machine, files=1)
        shop.remember(0)
        machine.stop()
        shop.store.with_name("yaad.db-wal").symlink_to(own)
        make_read_only(machine.home)

        asked = machine.run("recall", "which rate is applied", cwd=shop.root)

        assert (own.read_text(), own.stat().st_mode & 0o777) == ("echo mine", 0o755)
        assert "yaad.db-wal is a link" in " ".join(asked.err.split())
    finally:
        subprocess.run(["mount", "-o", "remount,rw", str(machine.home)], check=True)
        machine.end()


def test_what_is_to_be_erased_is_erased_on_a_full_disk(machine, small_disk):
    """With the room of a file that the daily upkeep keeps for it."""
    data = machine.home / "yaad"
    small_disk(data)
    machine.live()
    shop = Shop.new(machine, files=1)
    secret = shop.ask("remember", text="The door of the shop opens with 4711")["id"]
    shop.ask("upkeep")
    assert (data / "reserve").exists()
    fill(data)

    shop.ask("erase", id=secret)

    assert not (data / "reserve").exists()
    stored = b"".join(path.read_bytes() for path in data.rglob("*") if path.is_file())
    assert b"opens with 4711" not in stored
    (data / "filler").unlink()
    shop.ask("upkeep")
    assert (data / "reserve").exists()
