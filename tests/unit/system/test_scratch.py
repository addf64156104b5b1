"""Room for what another program reads, also where a disk has none."""

import tempfile
from pathlib import Path

import pytest
from refusals import refusal

from yaadwatch.model.errors import Code
from yaadwatch.system import processes


def test_what_is_held_is_read_from_its_beginning():
    with processes.holding(b"a\0b") as stream:
        assert stream.read() == b"a\0b"
        assert stream.fileno() >= 0


def test_a_folder_is_private_and_gone_afterwards():
    with processes.folder(lambda place: (place / "a").write_bytes(b"x")) as place:
        assert (place / "a").read_bytes() == b"x"
        assert place.stat().st_mode & 0o777 == 0o700
    assert not place.exists()


def full(places, fills=lambda _: None):
    """Put something into a folder, except in those that are full."""

    def fill(place):
        (place / "half").write_bytes(b"x")
        if place.parent in places:
            raise OSError(28, "No space left on device")
        fills(place)

    return fill


def test_without_room_for_temporary_files_it_is_in_memory(tmp_path, monkeypatch):
    (tmp_path / "disk").mkdir()
    (tmp_path / "memory").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "disk"))
    monkeypatch.setattr(processes, "_MEMORY", tmp_path / "memory")

    with processes.folder(full([tmp_path / "disk"])) as place:
        assert place.parent == tmp_path / "memory"
        assert list((tmp_path / "disk").iterdir()) == []
    assert list((tmp_path / "memory").iterdir()) == []


@pytest.mark.parametrize("memory", ["memory", "not there"])
def test_without_room_anywhere_it_is_said_and_nothing_is_left(tmp_path, monkeypatch, memory):
    (tmp_path / "memory").mkdir()
    (tmp_path / "disk").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "disk"))
    monkeypatch.setattr(processes, "_MEMORY", tmp_path / memory)
    lent = processes.folder(full([tmp_path / "disk", tmp_path / "memory"]))

    error = refusal(lent.__enter__)

    assert error.code is Code.UNAVAILABLE
    assert "No space left" in error.message
    assert [path for path in Path(tmp_path).rglob("*") if path.name == "half"] == []
