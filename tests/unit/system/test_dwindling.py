"""Whether a folder is being deleted: real folders, and a clock that the test moves."""

import shutil
import tempfile
from pathlib import Path

import pytest

from yaadwatch.system import dwindling
from yaadwatch.system.clock import Clock


class Meanwhile(Clock):
    """A clock that stands still but for its pauses, in each of which something happens."""

    def __init__(self, happens):
        super().__init__()
        self._happens = happens
        self.waited_s = 0.0

    def monotonic_s(self):
        return self.waited_s

    def pause(self, seconds):
        self.waited_s += seconds
        self._happens()


def left_alone(folder, happens):
    """Say whether it is, and after how long."""
    clock = Meanwhile(happens)
    return dwindling.is_left_alone(folder, clock, stands=folder.exists), clock.waited_s


@pytest.fixture
def wide(tmp_path):
    """A folder with many names near its top, and some far below it."""
    top = tmp_path / "repo"
    (top / "wide").mkdir(parents=True)
    for number in range(6_000):
        (top / "wide" / str(number)).touch()
    deep = top.joinpath("z", *"abcdefgh")
    deep.mkdir(parents=True)
    for number in range(200):
        (deep / str(number)).touch()
    return top


def deepest(top):
    return [path for path in (top / "z").rglob("*") if path.is_file()]


def test_where_nothing_goes_away_it_is_soon_left_alone(wide):
    alone, after_s = left_alone(wide, lambda: None)

    assert alone
    assert after_s == pytest.approx(dwindling.QUIET_S, abs=dwindling.PAUSE_S)


def test_what_goes_away_far_below_many_names_is_seen(wide):
    waiting = deepest(wide)

    alone, after_s = left_alone(wide, lambda: waiting.pop().unlink())

    assert not alone
    assert after_s >= dwindling.WAIT_S


def test_it_is_left_alone_when_what_went_away_far_below_is_over(wide):
    waiting = deepest(wide)[:20]

    alone, after_s = left_alone(wide, lambda: waiting and waiting.pop().unlink())

    assert alone
    assert after_s >= 20 * dwindling.PAUSE_S + dwindling.QUIET_S - dwindling.PAUSE_S


def test_a_whole_folder_that_goes_away_is_seen(wide):
    folders = [wide / "z" / f"folder{number}" for number in range(100)]
    for folder in folders:
        (folder / "below").mkdir(parents=True)

    assert not left_alone(wide, lambda: shutil.rmtree(folders.pop()))[0]


def test_names_that_come_are_no_deletion(wide):
    names = iter(range(1_000))

    def comes():
        number = next(names)
        (wide / f"new{number}" / "x").mkdir(parents=True)
        (wide / "wide" / f"new{number}").touch()

    assert left_alone(wide, comes)[0]


def test_names_that_come_where_not_all_is_looked_at_are_no_deletion(wide, monkeypatch):
    """They push others out of what is looked at, and those are still there."""
    monkeypatch.setattr(dwindling, "NAMES_MAX", 6_005)
    names = iter(range(1_000))

    assert left_alone(wide, lambda: (wide / f"new{next(names)}").mkdir(exist_ok=False))[0]


def test_a_disk_that_takes_too_long_to_look_at_is_not_said_to_be_left_alone(wide):
    clock = Meanwhile(lambda: None)
    clock.monotonic_s = iter(range(1_000)).__next__

    assert not dwindling.is_left_alone(wide, clock, stands=lambda: True)


@pytest.fixture
def loose(wide):
    """The files of a repository's objects."""
    folder = wide / ".git" / "objects" / "ab"
    folder.mkdir(parents=True)
    (wide / ".git" / "rebase-merge").mkdir()
    files = [folder / str(number) for number in range(200)]
    for path in files:
        path.touch()
    return files


def test_a_repository_whose_objects_go_away_is_not_left_alone(wide, loose):
    assert not left_alone(wide, lambda: loose.pop().unlink())[0]


def test_one_of_a_submodule_is_not_left_alone(wide):
    below = wide / ".git" / "modules" / "lib" / "objects"
    below.mkdir(parents=True)
    names = [below / str(number) for number in range(200)]
    for name in names:
        name.touch()

    assert not left_alone(wide, lambda: names.pop().unlink())[0]


@pytest.mark.parametrize(
    "place", ["index.lock", "MERGE_HEAD", "rebase-merge/done", "objects/ab/tmp_obj_a1"]
)
@pytest.mark.usefixtures("loose")
def test_what_git_has_for_a_moment_is_no_deletion(wide, place):
    path = wide / ".git" / place

    def works():
        path.unlink() if path.exists() else path.touch()

    assert left_alone(wide, works)[0]


def test_objects_that_are_elsewhere_are_not_looked_at(wide, tmp_path):
    """A link leads there; whatever goes away in them is another one's."""
    outside = tmp_path / "outside"
    outside.mkdir()
    names = [outside / str(number) for number in range(100)]
    for name in names:
        name.touch()
    (wide / ".git").mkdir()
    (wide / ".git" / "objects").symlink_to(outside, target_is_directory=True)

    assert left_alone(wide, lambda: names.pop().unlink())[0]


def test_links_are_not_followed(tmp_path):
    top, outside = tmp_path / "repo", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    names = [outside / str(number) for number in range(100)]
    for name in names:
        name.touch()
    Path(top / "link").symlink_to(outside, target_is_directory=True)

    assert left_alone(top, lambda: names.pop().unlink())[0]


def test_what_does_not_stand_any_more_is_not_waited_for(wide):
    clock = Meanwhile(lambda: None)

    assert not dwindling.is_left_alone(wide, clock, stands=lambda: False)
    assert clock.waited_s == 0


def test_a_folder_that_is_not_there_is_left_alone(tmp_path):
    clock = Meanwhile(lambda: None)

    assert dwindling.is_left_alone(tmp_path / "nowhere", clock, stands=lambda: True)


@pytest.fixture(params=["folder", "file"])
def place(request, tmp_path):
    path = tmp_path / ".git"
    if request.param == "folder":
        (path / "objects").mkdir(parents=True)
    else:
        path.write_text("gitdir: elsewhere\n")
    return path


@pytest.fixture
def held(place):
    held = dwindling.Held(place)
    yield held
    held.close()


def delete(place):
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink()


def test_what_stands_there_was_not_deleted(held):
    assert not held.was_deleted()


def test_what_is_gone_was_deleted(place, held):
    delete(place)

    assert held.was_deleted()


def test_what_has_another_name_now_was_not_deleted(place, held):
    place.rename(place.with_name("away"))

    assert not held.was_deleted()


def test_what_something_else_took_the_place_of_was_not_deleted(place, held):
    delete(place)
    place.mkdir()

    assert not held.was_deleted()


def test_what_was_let_go_says_nothing_of_what_has_its_descriptor_now(place, tmp_path):
    held = dwindling.Held(place)
    held.close()
    with tempfile.TemporaryFile(dir=tmp_path):  # no name leads to it
        place.rename(tmp_path / "elsewhere")

        assert not held.was_deleted()


def test_a_link_is_not_held(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(OSError, match="link"):
        dwindling.Held(tmp_path / "link")
