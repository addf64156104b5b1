"""Do real file systems give the hints we rely on? Linux only: the watcher stands on inotify."""

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from yaadwatch.repo.watch import InotifyWatcher, open_watcher, watch_limit

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux")

DEADLINE_S = 10.0


class Heard:
    """Keeps every hint, and lets a test wait for one."""

    def __init__(self) -> None:
        self.hints: list[tuple[Path, str]] = []
        self.overflows = 0
        self._news = threading.Condition()

    def hint(self, folder: Path, name: str) -> None:
        with self._news:
            self.hints.append((folder, name))
            self._news.notify_all()

    def overflow(self) -> None:
        with self._news:
            self.overflows += 1
            self._news.notify_all()

    def wait(self, true: Callable[[], bool]) -> None:
        with self._news:
            assert self._news.wait_for(true, DEADLINE_S), self.hints[-20:]

    def wait_for(self, folder: Path, name: str) -> None:
        self.wait(lambda: (folder, name) in self.hints)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def watcher(heard: Heard) -> Iterator[InotifyWatcher]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opened = open_watcher(heard.hint, heard.overflow)
        assert isinstance(opened, InotifyWatcher)
        yield opened
        opened.close()


def settle(watcher: InotifyWatcher, heard: Heard, folder: Path) -> None:
    """Wait until everything that happened before this call has been told: events keep order."""
    marker = f"marker-{len(heard.hints)}-{time.monotonic_ns()}"
    (folder / marker).touch()
    heard.wait_for(folder, marker)


def save_in_place(path: Path) -> None:
    path.write_text("new")


def save_by_rename(path: Path) -> None:
    (path.parent / "swap.tmp").write_text("new")
    (path.parent / "swap.tmp").replace(path)


def move_away(path: Path) -> None:
    path.rename(path.parent / "elsewhere")


@pytest.mark.parametrize("change", [save_in_place, save_by_rename, move_away, Path.unlink])
def test_every_way_to_change_a_file_gives_a_hint_of_its_name(watcher, heard, tmp_path, change):
    (tmp_path / "naïve – file.py").write_text("old")
    assert watcher.watch(tmp_path)

    change(tmp_path / "naïve – file.py")

    heard.wait_for(tmp_path, "naïve – file.py")


def test_a_name_that_is_no_text_gives_a_hint(watcher, heard, tmp_path):
    watcher.watch(tmp_path)

    name = os.fsdecode(b"latin-\xe9.py")
    (tmp_path / name).touch()

    heard.wait_for(tmp_path, name)


def test_names_that_nobody_cares_for_give_no_hint_and_the_end_of_a_folder_always_does(
    heard, tmp_path
):
    folder, other = tmp_path / "one", tmp_path / "two"
    folder.mkdir()
    other.mkdir()
    watcher = InotifyWatcher(
        heard.hint, heard.overflow, lambda place, name: (place, name) == (folder, "größe.py")
    )
    watcher.watch(folder)
    watcher.watch(other)

    for place in (folder, other):
        for name in ("größe.py", "b.py"):
            (place / name).touch()
    shutil.rmtree(other)
    shutil.rmtree(folder)
    heard.wait_for(other, "")
    heard.wait_for(folder, "")
    watcher.close()

    assert watcher.events > len(heard.hints)
    assert set(heard.hints) == {(folder, "größe.py"), (folder, ""), (other, "")}


def test_reading_gives_no_hint(watcher, heard, tmp_path):
    (tmp_path / "a.py").write_text("text")
    watcher.watch(tmp_path)

    (tmp_path / "a.py").read_text()
    list(tmp_path.iterdir())
    settle(watcher, heard, tmp_path)

    assert (tmp_path / "a.py").exists()
    assert all(name != "a.py" for _, name in heard.hints)


def test_what_happens_in_a_sub_folder_is_not_told(watcher, heard, tmp_path):
    (tmp_path / "sub").mkdir()
    watcher.watch(tmp_path)

    (tmp_path / "sub" / "deep.py").touch()
    settle(watcher, heard, tmp_path)

    assert all(name != "deep.py" for _, name in heard.hints)


@pytest.mark.parametrize("what", ["nothing", "file", "link"])
def test_what_is_no_folder_is_not_watched_and_is_no_refusal(watcher, tmp_path, what):
    target = tmp_path / "target"
    if what == "file":
        target.touch()
    if what == "link":
        target.symlink_to(tmp_path)

    assert not watcher.watch(target)

    assert watcher.folders == frozenset()
    assert watcher.refused == 0


def test_watching_a_folder_again_changes_nothing(watcher, heard, tmp_path):
    for _ in range(5):
        assert watcher.watch(tmp_path)
    (tmp_path / "a.py").touch()
    settle(watcher, heard, tmp_path)

    assert watcher.folders == {tmp_path}
    # One for the creation, one for the close, or one for both when they are read at once.
    assert heard.hints.count((tmp_path, "a.py")) in {1, 2}


def test_an_unwatched_folder_gives_no_hint(watcher, heard, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    watcher.watch(tmp_path)
    watcher.watch(other)

    watcher.unwatch(other)
    (other / "a.py").touch()
    settle(watcher, heard, tmp_path)

    assert watcher.folders == {tmp_path}
    assert all(folder != other for folder, _ in heard.hints)


def test_a_deleted_folder_is_told_once_and_is_watched_no_longer(watcher, heard, tmp_path):
    folder = tmp_path / "src"
    folder.mkdir()
    watcher.watch(folder)
    watcher.watch(tmp_path)

    folder.rmdir()
    heard.wait_for(folder, "")
    settle(watcher, heard, tmp_path)

    assert heard.hints.count((folder, "")) == 1
    assert watcher.folders == {tmp_path}


def test_a_moved_folder_is_told_and_never_reports_under_its_old_path(watcher, heard, tmp_path):
    folder = tmp_path / "src"
    folder.mkdir()
    watcher.watch(folder)
    watcher.watch(tmp_path)

    folder.rename(tmp_path / "lib")
    heard.wait_for(folder, "")
    (tmp_path / "lib" / "a.py").touch()
    settle(watcher, heard, tmp_path)

    assert (folder, "a.py") not in heard.hints
    assert watcher.folders == {tmp_path}


def test_watching_again_finds_the_new_folder_at_an_old_path(watcher, heard, tmp_path):
    """The parent of `folder` is not watched, so nothing tells that it was moved away."""
    folder = tmp_path / "a" / "src"
    folder.mkdir(parents=True)
    watcher.watch(folder)
    (tmp_path / "a").rename(tmp_path / "b")
    folder.mkdir(parents=True)

    assert watcher.watch(folder)
    (folder / "new.py").touch()
    heard.wait_for(folder, "new.py")
    (tmp_path / "b" / "src" / "old.py").touch()
    settle(watcher, heard, folder)

    assert (folder, "old.py") not in heard.hints
    assert watcher.folders == {folder}


def test_a_thousand_folders_that_come_and_go_leave_nothing_behind(watcher, heard, tmp_path):
    for number in range(1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        assert watcher.watch(folder)
        if number % 2:
            watcher.unwatch(folder)
        folder.rmdir()

    heard.wait(lambda: not watcher.folders)
    assert watcher._reader._watch_for_wd == {}


def test_an_overflow_is_told_once_and_watching_goes_on(heard, tmp_path):
    """The reader is held back while the kernel's queue runs over."""
    held = threading.Event()
    told = threading.Event()

    def slow(folder: Path, name: str) -> None:
        told.set()
        held.wait(DEADLINE_S)
        heard.hint(folder, name)

    watcher = InotifyWatcher(slow, heard.overflow)
    for number in range(20):
        (tmp_path / f"folder{number}").mkdir()
        watcher.watch(tmp_path / f"folder{number}")
    folder = tmp_path / "folder0"
    (folder / "first").touch()
    assert told.wait(DEADLINE_S)
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    for number in range(queue + 5000):
        (folder / f"f{number % 100}").write_bytes(b"")
    held.set()
    heard.wait(lambda: heard.overflows > 0)
    settle(watcher, heard, folder)
    watcher.close()

    assert heard.overflows == watcher.overflows == 1


def test_closing_gives_back_every_descriptor_and_thread(heard, tmp_path):
    gc.collect()
    descriptors, threads = len(os.listdir("/proc/self/fd")), threading.active_count()

    for _ in range(20):
        watcher = open_watcher(heard.hint, heard.overflow)
        watcher.watch(tmp_path)
        watcher.close()
        watcher.close()
        assert not watcher.watch(tmp_path)

    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert threading.active_count() == threads
    assert heard.hints == []


def in_a_process(program: str, *arguments: str, prefix: tuple[str, ...] = ()) -> str:
    done = subprocess.run(
        [*prefix, sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def limited(what: str, number: int) -> tuple[str, ...]:
    """Return what begins a command in a user namespace of its own, with a limit of its own."""
    limit = f'echo {number} > /proc/sys/user/{what} && exec "$0" "$@"'
    return ("unshare", "-Ur", "sh", "-c", limit)


LIMITED = limited("max_inotify_watches", 30)


def can_limit() -> bool:
    if shutil.which("unshare") is None:
        return False
    return subprocess.run([*LIMITED, "true"], capture_output=True).returncode == 0


@pytest.mark.skipif(not can_limit(), reason="no user namespaces here")
def test_when_the_system_has_no_watcher_left_every_folder_is_refused_and_nothing_breaks(tmp_path):
    out = in_a_process(
        """
        import pathlib, sys
        from yaadwatch.repo import watch
        top = pathlib.Path(sys.argv[1])
        watcher = watch.open_watcher(lambda folder, name: None, lambda: None)
        print(type(watcher).__name__, watcher.watch(top), watcher.refused, len(watcher.folders))
        watcher.unwatch(top)
        print(watcher.refused)
        watcher.close()
        """,
        str(tmp_path),
        prefix=limited("max_inotify_instances", 0),
    )

    assert out.splitlines() == ["Watcher False 1 0", "0"]


@pytest.mark.skipif(not can_limit(), reason="no user namespaces here")
def test_over_the_systems_limit_folders_are_refused_and_counted_and_the_others_still_work(tmp_path):
    out = in_a_process(
        """
        import pathlib, sys, threading
        from yaadwatch.repo import watch
        top = pathlib.Path(sys.argv[1])
        heard = threading.Event()
        watcher = watch.open_watcher(lambda folder, name: heard.set(), lambda: None)
        folders = [top / str(number) for number in range(40)]
        for folder in folders:
            folder.mkdir()
        watched = [watcher.watch(folder) for folder in folders]
        (folders[0] / "a").touch()
        assert heard.wait(10)
        print(watch.watch_limit(), sum(watched), watcher.refused)
        for folder in folders[:20]:
            watcher.unwatch(folder)
        print(sum(watcher.watch(folder) for folder in folders[30:]), watcher.refused)
        watcher.close()
        """,
        str(tmp_path),
        prefix=LIMITED,
    )

    assert out.splitlines() == ["30 30 10", "10 0"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to become somebody who may not read")
def test_a_folder_we_may_not_read_is_refused_and_does_not_stop_its_siblings():
    out = in_a_process(
        """
        import os, pathlib, tempfile, threading
        from yaadwatch.repo import watch
        here = tempfile.TemporaryDirectory()
        top = pathlib.Path(here.name)
        heard = threading.Event()
        watcher = watch.open_watcher(lambda folder, name: heard.set(), lambda: None)
        for folder, mode in (top, 0o755), (top / "closed", 0o700), (top / "open", 0o777):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        os.seteuid(65534)
        print(watcher.watch(top / "closed"), watcher.watch(top / "open"))
        print(watcher.refused, watcher.unreadable == {top / "closed"})
        (top / "open" / "a").touch()
        assert heard.wait(10)
        watcher.unwatch(top / "closed")
        print(len(watcher.unreadable))
        os.seteuid(0)
        here.cleanup()
        """
    )

    assert out.splitlines() == ["False True", "0 True", "0"]


def test_the_limit_of_this_system_is_known():
    assert (watch_limit() or 0) > 0
