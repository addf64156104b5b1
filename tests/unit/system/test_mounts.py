"""Which kind of file system is a path on, as the system itself says?"""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from yaadwatch.system import files


def file_system(path):
    return files._kind(os.path.realpath(path), files._mounts())


def test_the_file_system_of_a_path_is_the_one_of_the_closest_mount(tmp_path):
    assert file_system(tmp_path / "not" / "made" / "yet") == file_system(tmp_path)
    if sys.platform == "linux":
        assert file_system(Path("/proc/self")) == "proc"


def test_a_local_disk_is_no_network(tmp_path):
    assert files.networks(tmp_path) == frozenset()


@pytest.mark.parametrize(
    ("kind", "network"),
    [("nfs4", True), ("cifs", True), ("9p", True), ("fuse.sshfs", True), ("drvfs", True),
     ("macfuse.sshfs", True), ("ext4", False), ("btrfs", False), ("fuseblk", False),
     ("fuse.ntfs-3g", False), ("tmpfs", False), ("apfs", False), ("", False)],
)  # fmt: skip
def test_network_file_systems_are_known_by_their_kind(kind, network):
    assert files._is_network_kind(kind) is network


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_the_last_of_two_mounts_on_one_folder_is_the_one_that_is_seen(tmp_path):
    mount = ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        assert file_system(tmp_path / "below") == "tmpfs"
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="the table is of Linux")
def test_the_table_is_read_as_others_read_it():
    def others():
        return {
            (row.mountpoint.rstrip("/"), row.fstype) for row in psutil.disk_partitions(all=True)
        }

    # Other tests mount and unmount meanwhile.
    before, ours, after = others(), set(files._mounts()), others()

    assert before & after <= ours <= before | after
    assert ours


def test_a_place_with_a_space_and_a_name_that_only_begins_alike_are_told_apart():
    table = b"disk / ext4 rw 0 0\nshare /srv/my\\040files nfs4 rw 0 0\n"

    assert files._parsed(table) == (("", "ext4"), ("/srv/my files", "nfs4"))


def test_network_file_systems_below_a_folder_are_found_and_no_other_is(tmp_path, monkeypatch):
    table = (("", "ext4"), (f"{tmp_path}/a/far", "nfs4"), (f"{tmp_path}/a/near", "tmpfs"),
             (f"{tmp_path}/ab", "cifs"))  # fmt: skip
    monkeypatch.setattr(files, "_mounts", lambda: table)
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)

    assert files.networks(tmp_path / "a") == {tmp_path / "a" / "far"}
    assert files.networks(tmp_path / "link") == {tmp_path / "link" / "far"}
    assert files.networks(tmp_path / "ab" / "c") == {tmp_path / "ab" / "c"}
    assert files.networks(tmp_path / "c") == frozenset()


def test_places_are_near_unless_a_network_file_system_is_above_them(tmp_path, monkeypatch):
    far, near = tmp_path / "far" / "a", tmp_path / "near" / "a"
    local = (("", "ext4"), (f"{tmp_path}/far", "nfs4"))
    monkeypatch.setattr(files, "_mounts", lambda: local)
    some = files.near([far, near])
    monkeypatch.setattr(files, "_mounts", lambda: (("", "9p"),))
    on_one = files.near([far, near])

    assert some == [near]
    assert on_one == [far, near]
