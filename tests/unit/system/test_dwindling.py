"""Is a folder being deleted? What came, or stands too far down to be looked at, is no sign."""

import shutil

import pytest

from yaadwatch.system import dwindling
from yaadwatch.system.clock import Clock


class Acting(Clock):
    """A clock for which no time passes but in pauses; in each of them somebody does something."""

    def __init__(self, act):
        super().__init__()
        self._act = act
        self.waited_s = 0.0

    def monotonic_s(self):
        return self.waited_s

    def pause(self, seconds):
        self.waited_s += seconds
        self._act()


@pytest.fixture
def folder(tmp_path):
    """Far more folders than are looked at, two files in each."""
    for number in range(dwindling.NAMES_MAX):
        place = tmp_path / "packages" / f"{number:04}"
        place.mkdir(parents=True)
        (place / "a.js").touch()
        (place / "b.js").touch()
    return tmp_path


def left_alone(folder, act=lambda: None):
    return dwindling.is_left_alone(folder, Acting(act), stands=lambda: True)


def test_what_a_build_makes_near_the_top_of_a_large_folder_is_no_deletion(folder, monkeypatch):
    """So many names come that others are not among the first any more."""
    monkeypatch.setattr(dwindling, "NAMES_MAX", dwindling.NAMES_MAX * 6 // 5)
    made = iter(range(1_000))

    def build():
        (folder / f"{next(made)}.out").touch()

    assert left_alone(folder, build)


def test_a_large_folder_that_goes_away_name_by_name_is_not_left_alone(folder):
    going = iter(sorted((folder / "packages").iterdir()))

    assert not left_alone(folder, lambda: [shutil.rmtree(next(going)) for _ in range(20)])


def test_a_folder_where_nothing_happens_is_left_alone_and_so_is_none(folder):
    assert left_alone(folder)
    assert left_alone(folder / "nowhere")


def test_what_does_not_stand_any_more_is_not_waited_for(folder):
    clock = Acting(lambda: None)

    assert not dwindling.is_left_alone(folder, clock, stands=lambda: False)
    assert clock.waited_s == 0
