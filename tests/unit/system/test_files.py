"""What stands at a path, through no link; and files that are written whole or to the byte."""

import os
import resource
import signal
import socket
import stat
import threading
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refusal

from yaadwatch.model.errors import Code, YaadError
from yaadwatch.system import files

MIB = 1024 * 1024
LATER = 4_000_000_000_000_000_000
"""A time at which nothing that the tests write is fresh."""


def _look(root, relative, bytes_max=MIB, now_ns=LATER):
    return files.observe(root, relative, bytes_max=bytes_max, now_ns=now_ns)


def _aged(path, seconds=3600):
    """Give a file times of a while ago; its ctime stays now."""
    found = path.stat()
    at = found.st_mtime_ns - seconds * 1_000_000_000
    os.utime(path, ns=(at, at))
    return path


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "shop"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "auth.py").write_bytes(b"def verify(): ...\n")
    return folder


# Observing


def test_a_file_is_read_with_the_signature_of_its_stat(root):
    found = (root / "src" / "auth.py").stat()

    seen = _look(root, "src/auth.py")

    assert (seen.kind, seen.data) == ("file", b"def verify(): ...\n")
    assert seen.signature == (
        f"{found.st_size}:{found.st_mtime_ns}:{found.st_ctime_ns}:{found.st_ino}"
    )


def test_stat_alone_gives_the_same_signature(root):
    (root / "link").symlink_to("src/auth.py")
    for relative in ("src/auth.py", "src", "link", "src/gone.py", "src/auth.py/below"):
        assert files.signature_of(root, relative, LATER) == _look(root, relative).signature


@pytest.mark.parametrize("relative", ["gone.py", "gone/auth.py", "src/auth.py/below", "x" * 300])
def test_what_is_not_there_is_absent(root, relative):
    seen = _look(root, relative)

    assert seen.kind == ("unreadable" if len(relative) > 255 else "absent")
    assert seen.data is None
    assert seen.signature == ("" if len(relative) > 255 else "-")


def test_below_a_root_that_is_gone_everything_is_absent(tmp_path):
    assert _look(tmp_path / "gone", "src/auth.py").kind == "absent"


def test_a_link_is_not_followed(root, tmp_path):
    (tmp_path / "secret").write_text("theirs")
    (root / "src" / "link.py").symlink_to(tmp_path / "secret")

    seen = _look(root, "src/link.py")

    assert (seen.kind, seen.data) == ("link", None)


def test_a_folder_that_is_a_link_is_not_followed(root, tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "auth.py").write_text("theirs")
    (root / "lib").symlink_to(tmp_path / "theirs")
    (root / "src" / "deep").symlink_to(tmp_path / "theirs", target_is_directory=True)

    for relative in ("lib/auth.py", "src/deep/auth.py"):
        seen = _look(root, relative)
        assert (seen.kind, seen.data, seen.signature) == ("link", None, "")


def test_a_root_that_is_a_link_is_followed(root, tmp_path):
    (tmp_path / "here").symlink_to(root)

    assert _look(tmp_path / "here", "src/auth.py").kind == "file"


def _listen(path):
    with socket.socket(socket.AF_UNIX) as listener:
        # The path of a socket is short; a temporary folder's may not be.
        before = Path.cwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name)
        finally:
            os.chdir(before)


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, _listen], ids=["folder", "pipe", "socket"])
def test_what_is_no_file_is_seen_without_waiting_for_it(root, make):
    make(root / "src" / "odd")

    seen = _look(root, "src/odd")

    assert (seen.kind, seen.data) == ("other", None)


@pytest.mark.parametrize(
    "relative",
    ["", ".", "..", "/etc/passwd", "../secret", "src/../src/auth.py", "src//auth.py", "src/",
     "./src/auth.py", ".git/config", "src/.GIT/config", "src/.git", "a\0b", "\ud800"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_not_looked_at(root, relative):
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("[core]")

    assert _look(root, relative).kind == "other"
    assert files.signature_of(root, relative, LATER) == ""


@pytest.mark.parametrize("name", [".github", ".gitignore", "a.git", "...", "..a", "it's é\n"])
def test_names_that_only_look_odd_are_fine(root, name):
    (root / name).write_text("fine")

    assert _look(root, name).kind == "file"


def test_a_name_that_is_no_unicode_is_fine(root):
    name = os.fsdecode(b"caf\xe9.py")
    try:
        (root / name).write_text("fine")
    except OSError:
        pytest.skip("this file system keeps Unicode names only")

    assert _look(root, name).kind == "file"


def test_a_file_over_the_limit_is_not_read(root):
    (root / "exact").write_bytes(b"x" * 100)
    (root / "over").write_bytes(b"x" * 101)

    assert _look(root, "exact", bytes_max=100).data == b"x" * 100
    seen = _look(root, "over", bytes_max=100)
    assert (seen.kind, seen.data) == ("too_large", None)
    assert seen.signature == files.signature_of(root, "over", LATER)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_a_file_that_does_not_tell_its_size_is_read_to_the_limit():
    assert _look(Path("/proc/self"), "status").data
    assert _look(Path("/proc/self"), "status", bytes_max=10).kind == "too_large"


# Signatures


@pytest.mark.parametrize("age_ms", [-1000, -1, 0, 1, 49, 50, 51, 1000])
def test_a_file_changed_within_fifty_milliseconds_or_later_is_not_believed(root, age_ms):
    path = root / "src" / "auth.py"
    path.write_bytes(b"def rotate(): ...\n")
    changed_ns = max(path.stat().st_mtime_ns, path.stat().st_ctime_ns)

    signature = files.signature_of(root, "src/auth.py", changed_ns + age_ms * 1_000_000)

    assert (signature != "") == (age_ms >= 50)


def test_a_file_system_of_whole_seconds_is_given_two():
    whole = os.stat_result(
        (0o100644, 7, 1, 1, 0, 0, 5, 0, 0, 0, 0.0, 0.0, 0.0, 0, 5 * 10**9, 5 * 10**9)
    )
    assert files._signature(whole, 6 * 10**9) == ""
    assert files._signature(whole, 7 * 10**9) != ""


def test_a_file_from_the_future_is_never_believed(root):
    path = root / "src" / "auth.py"
    os.utime(path, ns=(LATER * 2, LATER * 2))

    assert _look(root, "src/auth.py").signature == ""
    assert _look(root, "src/auth.py").data == b"def verify(): ...\n"


def test_a_change_that_keeps_size_and_mtime_changes_the_signature(root):
    path = _aged(root / "src" / "auth.py")
    before = files.signature_of(root, "src/auth.py", LATER)
    times = path.stat()

    path.write_bytes(b"def rotate(): ...\n")
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert path.stat().st_mtime_ns == times.st_mtime_ns
    assert files.signature_of(root, "src/auth.py", LATER) != before


# Replacing


def test_a_replaced_file_has_the_new_bytes_the_mode_and_no_company(tmp_path):
    path = tmp_path / "note"
    path.write_bytes(b"old")

    files.replace_atomically(path, b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_what_it_pointed_to_stays(tmp_path):
    theirs, path = tmp_path / "theirs", tmp_path / "note"
    theirs.write_bytes(b"theirs")
    path.symlink_to(theirs)

    files.replace_atomically(path, b"new")

    assert theirs.read_bytes() == b"theirs"
    assert not path.is_symlink()


def test_a_replacement_that_cannot_be_written_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "folder"
    path.mkdir()
    (path / "kept").touch()

    with pytest.raises(OSError, match="directory"):
        files.replace_atomically(path, b"new")

    assert [found.name for found in tmp_path.iterdir()] == ["folder"]


def test_readers_see_the_old_file_or_the_new_one(tmp_path):
    path = tmp_path / "note"
    old, new = b"o" * 100_000, b"n" * 100_000
    path.write_bytes(old)
    seen = set()
    done = threading.Event()

    def read():
        while not done.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(40):
        files.replace_atomically(path, new if number % 2 else old)
    done.set()
    reader.join()

    assert seen <= {old, new}


# Private folders


def test_a_private_folder_is_made_for_us_alone(tmp_path):
    before = os.umask(0)
    try:
        files.private_folder(tmp_path / "a" / "b")
        files.private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)

    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700


def test_a_folder_that_others_can_enter_is_closed_to_them(tmp_path):
    (tmp_path / "open").mkdir(mode=0o755)

    files.private_folder(tmp_path / "open")

    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o700


@pytest.mark.parametrize("target", ["real", "nowhere"])
def test_a_link_is_no_private_folder(tmp_path, target):
    (tmp_path / "real").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to(tmp_path / target)

    assert refusal(files.private_folder, tmp_path / "link").code is Code.REFUSED
    assert stat.S_IMODE((tmp_path / "real").stat().st_mode) == 0o755
    assert not (tmp_path / "nowhere").exists()


def test_a_file_is_no_private_folder(tmp_path):
    (tmp_path / "file").touch()

    assert refusal(files.private_folder, tmp_path / "file").code is Code.REFUSED


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").touch()

    assert refusal(files.private_folder, tmp_path / "file" / "below").code is Code.UNAVAILABLE


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path):
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)

    assert refusal(files.private_folder, tmp_path / "theirs").code is Code.REFUSED


# Lines that are appended and taken out again

LINE = "/.yaad/"
contents = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"*.pyc", b"/.yaad/", b"/.yaad/\n", b" ", b"\xff", b"#"])
).map(b"".join)


@given(st.none() | contents)
@example(b"")
@example(b"*.pyc")
@example(b"/.yaad/")
def test_taking_an_appended_line_out_gives_back_every_byte(tmp_path_factory, before):
    path = tmp_path_factory.mktemp("repo") / "info" / "exclude"
    if before is not None:
        path.parent.mkdir()
        path.write_bytes(before)

    appended = files.append_line_exact(path, LINE)

    assert path.read_bytes() == (before or b"") + appended.encode()
    assert LINE.encode() in path.read_bytes().splitlines()
    assert files.remove_exact(path, appended)
    assert (path.read_bytes() if path.exists() else None) == before


@given(st.none() | contents, contents)
@example(None, b"")
@example(b"*.pyc", b"*.log\n")
def test_what_others_appended_since_stays_and_lines_stay_lines(tmp_path_factory, before, after):
    path = tmp_path_factory.mktemp("repo") / "exclude"
    if before is not None:
        path.write_bytes(before)
    appended = files.append_line_exact(path, LINE)
    with path.open("ab") as stream:
        stream.write(after)

    assert files.remove_exact(path, appended)

    left = path.read_bytes().split(b"\n") if path.exists() else [b""]
    wanted = [line for line in (before or b"").split(b"\n") + after.split(b"\n") if line.strip()]
    assert sorted(line for line in left if line.strip()) == sorted(wanted)


def test_a_line_that_somebody_took_out_is_not_looked_for_elsewhere(tmp_path):
    path = tmp_path / "exclude"
    appended = files.append_line_exact(path, LINE)
    path.write_bytes(b"docs/.yaad/\n/.yaad/x\n")

    assert not files.remove_exact(path, appended)
    assert path.read_bytes() == b"docs/.yaad/\n/.yaad/x\n"


def test_a_file_that_is_gone_needs_nothing_taken_out(tmp_path):
    assert not files.remove_exact(tmp_path / "exclude", "/.yaad/\n")


def test_the_mode_of_a_persons_file_stays(tmp_path):
    path = tmp_path / "exclude"
    path.write_text("*.pyc\n")
    path.chmod(0o664)

    files.remove_exact(path, files.append_line_exact(path, LINE))

    assert stat.S_IMODE(path.stat().st_mode) == 0o664


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "exclude").write_text("theirs\n")
    (tmp_path / "exclude").symlink_to(tmp_path / "theirs" / "exclude")
    (tmp_path / "info").symlink_to(tmp_path / "theirs")

    for path in (tmp_path / "exclude", tmp_path / "info" / "exclude"):
        assert refusal(files.append_line_exact, path, LINE).code is Code.REFUSED
        with pytest.raises(YaadError):
            files.remove_exact(path, "theirs\n")

    assert (tmp_path / "theirs" / "exclude").read_text() == "theirs\n"


def _huge(path):
    with path.open("wb") as stream:
        stream.truncate(files.LINES_BYTES_MAX + 1)


@pytest.mark.parametrize(
    "make", [Path.mkdir, os.mkfifo, _listen, _huge], ids=["folder", "pipe", "socket", "huge"]
)
@pytest.mark.timeout(20)
def test_what_is_no_file_of_lines_is_neither_waited_for_nor_read_nor_written(tmp_path, make):
    path = tmp_path / "exclude"
    make(path)
    before = path.lstat()

    for ask in (
        lambda: files.read_lines(path),
        lambda: files.append_line_exact(path, LINE),
        lambda: files.remove_exact(path, f"{LINE}\n"),
    ):
        with pytest.raises(OSError, match=r"no plain file|larger than 1024 KiB"):
            ask()

    assert (path.lstat().st_mode, path.lstat().st_size) == (before.st_mode, before.st_size)


@pytest.mark.timeout(20)
def test_lines_are_read_through_a_link_and_not_from_a_device(tmp_path):
    (tmp_path / "theirs").write_bytes(b"one\ntwo\n")
    (tmp_path / "exclude").symlink_to(tmp_path / "theirs")

    assert files.read_lines(tmp_path / "exclude") == [b"one", b"two"]
    with pytest.raises(OSError, match="no plain file"):
        files.read_lines(Path("/dev/zero"))
    with pytest.raises(FileNotFoundError):
        files.read_lines(tmp_path / "nowhere")


def test_a_line_is_appended_to_nothing_whose_folder_has_gone(tmp_path):
    gone = tmp_path / "repository"

    with pytest.raises(FileNotFoundError):
        files.append_line_exact(gone / ".git" / "info" / "exclude", "/.yaad/")

    assert not gone.exists()


def test_a_line_that_has_no_room_is_not_appended_in_part(tmp_path):
    path = tmp_path / "exclude"
    path.write_bytes(b"*.log\n")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (9, 9))
            files.append_line_exact(path, LINE)
        except OSError:
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)

    assert status == 0
    assert path.read_bytes() == b"*.log\n"
