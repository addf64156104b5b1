"""Room for what another program reads, also where a disk has none."""

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


def test_without_room_it_is_said_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "_MEMORY", str(tmp_path))

    def fill(place):
        (place / "half").write_bytes(b"x")
        raise OSError(28, "No space left on device")

    error = refusal(processes.folder(fill).__enter__)

    assert error.code is Code.UNAVAILABLE
    assert "No space left" in error.message
    assert str(tmp_path) in error.hint
    assert list(tmp_path.iterdir()) == []
