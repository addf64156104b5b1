"""A person's file, with a fault or another writer at each system call of the write."""

import errno
import os
import shutil
from itertools import count

import pytest
from stepping import CAN_FAIL, Stepped, require_stepping

from yaadwatch.model.errors import YaadError
from yaadwatch.system.files import replace_atomically
from yaadwatch.system.safe_write import (
    ChangedUnderneathError,
    create_new,
    recover,
    replace_expected,
)

require_stepping()

SOAK = os.environ.get("YAAD_SOAK") == "1"
EACH_FIRST, EACH_LATER = (1, 1) if SOAK else (3, 7)
"""Of pairs of system calls; each one call is tried by the tests of one."""
OLD = b"- old words\n" * 50
NEW = b"- new words\n" * 60
THEIRS = b"- theirs\n"
LATER = b"- later\n"
FORESEEN = (ChangedUnderneathError, YaadError)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "work" / "CLAUDE.md"
    fresh(path)
    return path


def fresh(path):
    shutil.rmtree(path.parent, ignore_errors=True)
    path.parent.mkdir()
    path.write_bytes(OLD)
    path.chmod(0o640)


def leftovers(path):
    return [one.name for one in path.parent.iterdir() if one.name.endswith(".yaad")]


def kept_in(path):
    return path.with_name("kept")


def write(path, *, expected=OLD, new=NEW):
    """Replace as the sync does: what may have been replaced unseen, or comes late, is kept."""
    formers = []
    try:
        replace_expected(path, expected, new, former=formers.append)
    except ChangedUnderneathError as error:
        keep(path)(error.dropped or b"")
        raise
    finally:
        done(path).touch()  # whoever opened the file before may still write to it; the sync waits
        for former in formers:
            keep(path)((former.written(1 << 20) or b"").removeprefix(former.held))


def done(path):
    return path.with_name("done")


def keep(path):
    def add(data):
        with kept_in(path).open("ab") as copies:
            copies.write(data)

    return add


def stepped(path):
    return Stepped(lambda: write(path), expected=FORESEEN)


def texts(path):
    """Return what is in the file and in the copies."""
    found = [one.read_bytes() for one in (path, kept_in(path)) if one.is_file()]
    return b"".join(found)


def in_place(path, text):
    path.write_bytes(text)


def saved(path, text):
    """As most editors save: a new file in the place of the old one."""
    other = path.with_name("saved~")
    other.write_bytes(text)
    other.replace(path)


def appended(path, text):
    with path.open("ab") as stream:
        stream.write(text)


WRITERS = (in_place, saved, appended)
each_writer = pytest.mark.parametrize("theirs", WRITERS, ids=lambda one: one.__name__)


def bare(path):
    return Stepped(lambda: replace_expected(path, OLD, NEW), expected=FORESEEN)


def each_call(path, start=stepped, calls_max=400):
    """Yield a stopped child before each of its system calls, with a fresh file for each."""
    for number in range(calls_max):
        fresh(path)
        with start(path) as child:
            if not child.to_call(number):
                assert number > 20
                return
            yield child
    raise AssertionError("there is no end to it")


def test_killed_before_any_system_call_it_holds_old_bytes_or_new_bytes(file):
    for child in each_call(file):
        child.kill()

        assert file.read_bytes() in (OLD, NEW)
        assert file.stat().st_mode & 0o777 == 0o640
        recover(file, pytest.fail)
        assert leftovers(file) == []
        replace_expected(file, file.read_bytes(), NEW)
        assert file.read_bytes() == NEW
        assert file.stat().st_mode & 0o777 == 0o640


def test_a_recovery_that_is_killed_anywhere_is_made_up_for(file):
    """What came out of the exchange holds what somebody wrote in between."""
    for number in count():
        fresh(file)
        with stepped(file) as child:
            stop_before(child, file, "renameat2")
            in_place(file, THEIRS)
            assert child.to_call(child.calls)
            child.kill()
        with Stepped(lambda: recover(file, keep(file))) as child:
            if not child.to_call(number):
                break
            child.kill()

        recover(file, keep(file))
        assert THEIRS in texts(file)
        assert leftovers(file) == []


def stop_before(child, path, name):
    """Run to just before the call that lets the two files change places."""
    while child.to_call(child.calls):
        if child.name() == name or (not CAN_FAIL and leftovers(path)):
            return
    raise AssertionError(f"there is no {name}")


@each_writer
def test_what_somebody_writes_before_any_system_call_is_not_lost(file, theirs):
    for child in each_call(file):
        theirs(file, THEIRS)
        child.end()

        assert THEIRS in file.read_bytes()
        assert leftovers(file) == []


@each_writer
def test_nor_when_it_is_killed_after_that(file, theirs):
    """Each system call of theirs, and each later one at which we are killed."""
    for first in count(0, 1 if SOAK else 7):
        for later in count(1, 1 if SOAK else 3):
            fresh(file)
            with stepped(file) as child:
                if not child.to_call(first):
                    return
                theirs(file, THEIRS)
                if not child.to_call(first + later):
                    break
                child.kill()

            recover(file, keep(file))
            assert THEIRS in texts(file)
            assert leftovers(file) == []


def test_what_comes_through_an_open_descriptor_is_not_lost(file):
    """Opened before any system call of ours, and written before any later one."""
    for first in count(0, EACH_FIRST):
        for later in count(0, EACH_LATER):
            fresh(file)
            with stepped(file) as child:
                if not child.to_call(first):
                    return
                with file.open("ab", buffering=0) as appender:
                    if not child.to_call(first + later) or done(file).exists():
                        break
                    appender.write(THEIRS)
                    child.end()

            assert THEIRS in texts(file)


def test_a_saver_that_read_before_any_call_and_saves_before_a_later_one_is_not_lost(file):
    for first in count(0, EACH_FIRST):
        for later in count(0, EACH_LATER):
            fresh(file)
            with stepped(file) as child:
                if not child.to_call(first):
                    return
                text = file.read_bytes() + THEIRS
                if not child.to_call(first + later):
                    break
                saved(file, text)
                child.end()

            assert file.read_bytes() == text
            assert leftovers(file) == []


@each_writer
def test_two_others_lose_nothing_to_us(file, theirs):
    """One writes right before the exchange; another reads and saves anywhere after it."""
    for first in count(0, EACH_FIRST):
        for later in count(0, EACH_LATER):
            fresh(file)
            with stepped(file) as child:
                stop_before(child, file, "renameat2")
                theirs(file, THEIRS)
                exchange = child.calls
                if not child.to_call(exchange + first) or done(file).exists():
                    return
                text = file.read_bytes() + LATER
                if not child.to_call(exchange + first + later) or done(file).exists():
                    break
                saved(file, text)
                child.end()

            assert LATER in texts(file)
            assert THEIRS in texts(file)


def test_a_file_that_became_something_else_stays_that(file):
    """A link, a folder, a named pipe, or nothing at all."""

    def link():
        file.rename(file.with_name("AGENTS.md"))
        file.symlink_to("AGENTS.md")

    def folder():
        file.unlink()
        file.mkdir()

    def pipe():
        file.unlink()
        os.mkfifo(file)

    def nothing():
        file.unlink()

    for become in (link, folder, pipe, nothing):
        for child in each_call(file, bare):
            become()
            before = kind(file)
            child.end()

            assert kind(file) == before
            assert leftovers(file) == []
            if become is link:
                assert file.with_name("AGENTS.md").read_bytes() in (OLD, NEW)


def kind(path):
    return path.lstat().st_mode if os.path.lexists(path) else None


@pytest.mark.skipif(not CAN_FAIL, reason="calls are failed on x86-64 only")
@pytest.mark.parametrize("error", ERRORS if SOAK else ERRORS[:2], ids=errno.errorcode.get)
def test_a_system_call_that_fails_leaves_old_bytes_or_new_bytes(file, error, capfd):
    """Whoever cannot be told what happened would find something else than was said."""
    for child in each_call(file, bare):
        name = child.name()
        if name is None:
            continue
        child.fail(error)
        status = child.end()

        assert status in (0, 1), (name, status, capfd.readouterr().err)
        assert file.read_bytes() == NEW if status == 0 else file.read_bytes() in (OLD, NEW), name
        assert file.stat().st_mode & 0o777 == 0o640
        recover(file, keep(file))
        assert leftovers(file) == []
        assert file.read_bytes() in (OLD, NEW)
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(not CAN_FAIL, reason="calls are failed on x86-64 only")
def test_where_the_kernel_cannot_exchange_names_it_is_compared_and_renamed(file):
    for number in count():
        fresh(file)
        with stepped(file) as child:
            stop_before(child, file, "renameat2")
            child.fail(errno.EINVAL)
            exchange = child.calls
            if not child.to_call(exchange + number):
                break
            child.kill()

        assert file.read_bytes() in (OLD, NEW)
        recover(file, pytest.fail)
        assert leftovers(file) == []
    assert child.end() == 0
    assert file.read_bytes() == NEW


@pytest.mark.skipif(not CAN_FAIL, reason="calls are failed on x86-64 only")
def test_a_folder_that_cannot_be_synced_by_its_kind_of_disk_is_no_fault(file):
    with stepped(file) as child:
        stop_before(child, file, "renameat2")
        stop_before(child, file, "fsync")
        child.fail(errno.EINVAL)

        assert child.end() == 0
    assert file.read_bytes() == NEW


class TestNewFiles:
    """Files of our own: whole, or not there."""

    @pytest.fixture(params=[create_new, replace_atomically], ids=lambda make: make.__name__)
    def make(self, request):
        return request.param

    def test_killed_before_any_system_call_it_is_whole_or_not_there(self, file, make):
        path = file.with_name("yaad.md")
        for number in count():
            fresh(file)
            with Stepped(lambda: make(path, NEW)) as child:
                if not child.to_call(number):
                    return
                child.kill()

            assert not path.exists() or path.read_bytes() == NEW
            recover(path, pytest.fail)
            assert leftovers(path) == []

    @pytest.mark.skipif(not CAN_FAIL, reason="calls are failed on x86-64 only")
    def test_made_where_a_file_can_have_one_name_only(self, file):
        """As on the file systems of memory cards."""
        path = file.with_name("yaad.md")
        for there in (False, True):
            with Stepped(lambda: create_new(path, NEW), expected=ChangedUnderneathError) as child:
                stop_before(child, path, "renameat2")
                child.fail(errno.EINVAL)
                stop_before(child, path, "link")
                child.fail(errno.EPERM)
                assert child.end() == int(there)
            assert path.read_bytes() == (THEIRS if there else NEW)
            assert leftovers(path) == []
            path.write_bytes(THEIRS)


def test_files_that_only_look_like_ours_stay(file):
    """Notes with such a name, and a folder."""
    notes = file.with_name(".CLAUDE.md.notes.yaad")
    notes.write_bytes(THEIRS)
    file.with_name(".CLAUDE.md.7.yaad").mkdir()
    other = file.with_name(".CLAUDE.md.CLAUDE.md.7.yaad")
    other.write_bytes(THEIRS)

    assert not recover(file, pytest.fail)

    assert notes.read_bytes() == other.read_bytes() == THEIRS
    assert file.with_name(".CLAUDE.md.7.yaad").is_dir()


def test_a_name_as_long_as_names_may_be_is_written(file):
    path = file.with_name("ä" * 120 + ".md")
    path.write_bytes(OLD)

    replace_expected(path, OLD, NEW)

    assert path.read_bytes() == NEW
    with Stepped(lambda: replace_expected(path, NEW, OLD)) as child:
        stop_before(child, path, "renameat2")
        child.kill()
    assert recover(path, pytest.fail)
    assert leftovers(path) == []
