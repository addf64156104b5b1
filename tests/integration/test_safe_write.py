"""A person's file is replaced whole or not at all: killed, raced, out of space, or refused."""

import os
import signal
import subprocess

import pytest

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system.safe_write import (
    ChangedUnderneathError,
    StaleHandles,
    create_new,
    recover,
    replace_expected,
    require_own,
)

OLD = b"- old words\n" * 50
NEW = b"- new words\n" * 60
STEPS = ("checked", "written", "compared", "exchanged", "settled", "synced")
each_step = pytest.mark.parametrize("step", STEPS)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "CLAUDE.md"
    path.write_bytes(OLD)
    return path


def leftovers(path):
    return [one.name for one in path.parent.iterdir() if one != path]


def killed_at(path, wanted):
    """Replace in a child that kills itself at a step."""
    pid = os.fork()
    if pid == 0:

        def step(name):
            if name == wanted:
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            replace_expected(path, OLD, NEW, step=step)
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL


@each_step
def test_a_process_killed_at_any_step_leaves_old_bytes_or_new_bytes(file, step):
    killed_at(file, step)

    assert file.read_bytes() in (OLD, NEW)
    recover(file, pytest.fail)
    assert file.read_bytes() in (OLD, NEW)
    assert leftovers(file) == []


@each_step
def test_what_somebody_wrote_at_any_step_is_not_lost(file, step):
    theirs = b"- theirs\n"

    def meddle(name):
        if name == step:
            file.write_bytes(theirs)

    if step in ("checked", "written", "compared"):
        with pytest.raises(ChangedUnderneathError):
            replace_expected(file, OLD, NEW, step=meddle)
    else:
        replace_expected(file, OLD, NEW, step=meddle)

    assert file.read_bytes() == theirs
    assert leftovers(file) == []


def test_a_writer_that_replaces_the_file_between_the_steps_is_not_lost(file):
    """As most editors save: a new file in the place of the old one."""

    def meddle(name):
        if name == "compared":
            other = file.with_name("saved")
            other.write_bytes(b"- theirs\n")
            other.replace(file)

    with pytest.raises(ChangedUnderneathError):
        replace_expected(file, OLD, NEW, step=meddle)

    assert file.read_bytes() == b"- theirs\n"


def killed_after_somebody_wrote(file):
    """Somebody writes in between, and the process is killed before it can see that."""
    pid = os.fork()
    if pid == 0:

        def step(name):
            if name == "compared":
                file.write_bytes(b"- theirs\n")
            if name == "exchanged":
                os.kill(os.getpid(), signal.SIGKILL)

        try:
            replace_expected(file, OLD, NEW, step=step)
        finally:
            os._exit(1)
    os.waitpid(pid, 0)
    assert file.read_bytes() == NEW


def test_lines_that_two_append_between_the_steps_are_both_had(file):
    """The first is in what came out, the second in our new file: each without the other's."""
    lines = {"compared": b"- the first line\n", "exchanged": b"- the second line\n"}

    def step(name):
        if name in lines:
            with file.open("ab") as stream:
                stream.write(lines[name])

    formers = []
    with pytest.raises(ChangedUnderneathError) as error:
        replace_expected(file, OLD, NEW, step=step, former=formers.append)

    assert file.read_bytes() == NEW + lines["exchanged"]
    assert error.value.dropped == OLD + lines["compared"]
    assert [(one.held, one.written(1 << 20)) for one in formers] == [(OLD, OLD + lines["compared"])]
    assert leftovers(file) == []
    formers[0].close()


def test_after_a_kill_what_somebody_wrote_in_between_gets_its_place_back(file):
    killed_after_somebody_wrote(file)

    assert recover(file, pytest.fail)

    assert file.read_bytes() == b"- theirs\n"
    assert leftovers(file) == []
    assert not recover(file, pytest.fail)


def test_after_a_kill_and_another_edit_both_texts_are_kept(file):
    killed_after_somebody_wrote(file)
    file.write_bytes(NEW + b"- later\n")
    kept = []

    recover(file, kept.append)

    assert kept == [b"- theirs\n"]
    assert file.read_bytes() == NEW + b"- later\n"
    assert leftovers(file) == []


def test_half_a_file_of_ours_never_takes_the_place_of_a_persons(file):
    """Killed while it wrote the file beside; the person went on."""
    killed_at(file, "written")
    file.with_name(f".{file.name}.77.yaad").write_bytes(b"- new wo")
    file.write_bytes(b"- theirs\n")

    recover(file, pytest.fail)

    assert file.read_bytes() == b"- theirs\n"
    assert leftovers(file) == []


def test_what_is_appended_through_an_open_descriptor_can_be_had(file):
    former = []
    with file.open("ab") as writer:
        replace_expected(file, OLD, NEW, former=former.append)
        assert former[0].written(1 << 20) is None
        writer.write(b"- late\n")

    assert former[0].written(1 << 20) == OLD + b"- late\n"
    assert file.read_bytes() == NEW
    former[0].close()


def test_what_nobody_looks_at_is_not_kept_for_ever(file):
    formers = StaleHandles()
    for number, until_s in enumerate((2.0, 3.0, 63.5)):
        replace_expected(
            file,
            file.read_bytes(),
            NEW + b"x" * number,
            former=lambda former, until_s=until_s: formers.add(until_s, former, until_s=until_s),
        )

    assert not formers.waits({2.0, 3.0})
    assert formers.waits({63.5})
    formers.close()


def test_mode_and_extended_attributes_are_kept(file):
    file.chmod(0o640)
    attributes = True
    try:
        os.setxattr(file, "user.colour", b"blue")
    except OSError:  # this file system keeps none
        attributes = False

    replace_expected(file, OLD, NEW)

    assert file.read_bytes() == NEW
    assert file.stat().st_mode & 0o777 == 0o640
    if attributes:
        assert os.getxattr(file, "user.colour") == b"blue"


def test_what_is_not_a_plain_file_of_ours_is_refused(file, tmp_path):
    os.link(file, tmp_path / "second")
    link = tmp_path / "link"
    link.symlink_to(file)
    folder = tmp_path / "folder"
    folder.mkdir()
    locked = tmp_path / "locked"
    locked.write_bytes(OLD)
    locked.chmod(0o444)

    for path, why in (
        (file, "2 names"),
        (link, "not a regular file"),
        (folder, "not a regular file"),
        (locked, "read-only"),
    ):
        with pytest.raises(YaadError, match=why) as caught:
            replace_expected(path, OLD, NEW)
        assert caught.value.code is Code.REFUSED
        with pytest.raises(YaadError):
            require_own(path)
    assert file.read_bytes() == OLD
    assert locked.read_bytes() == OLD


def test_a_full_disk_leaves_the_old_bytes(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("no file system can be mounted here")
    try:
        path = small / "CLAUDE.md"
        path.write_bytes(OLD)
        with pytest.raises(YaadError, match="it holds what it held before") as caught:
            replace_expected(path, OLD, b"x" * 200_000)
        assert caught.value.code is Code.UNAVAILABLE
        assert path.read_bytes() == OLD
        assert leftovers(path) == []
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_two_atomic_savers_lose_nothing(file):
    """Each adds its lines to whatever stands there; a race is seen and done again."""
    file.write_bytes(b"")
    kept = file.with_name("kept")

    def save(name):
        for number in range(100):
            while True:
                before = file.read_bytes()
                try:
                    replace_expected(file, before, before + f"- {name} {number}\n".encode())
                except ChangedUnderneathError as error:
                    with kept.open("ab") as copies:
                        copies.write(error.dropped or b"")
                    continue
                break

    save("a")
    pid = os.fork()
    if pid == 0:
        try:
            save("b")
        finally:
            os._exit(0)
    save("c")
    os.waitpid(pid, 0)

    lines = file.read_text().splitlines()
    copies = kept.read_text().splitlines() if kept.exists() else []
    wanted = {f"- {name} {number}" for name in "abc" for number in range(100)}
    assert wanted <= {*lines, *copies}


def test_a_new_file_is_whole_and_never_in_the_place_of_another(tmp_path):
    path = tmp_path / "yaad.md"
    create_new(path, NEW)

    with pytest.raises(ChangedUnderneathError):
        create_new(path, OLD)

    assert path.read_bytes() == NEW
    assert leftovers(path) == []
