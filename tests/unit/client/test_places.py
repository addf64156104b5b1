"""Where things are, and how little it takes to find the daemon."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from platformdirs.unix import Unix

from yaadwatch import places

ROOT = Path(__file__).parents[3]


@pytest.fixture
def user(tmp_path, monkeypatch):
    """A user with a home folder and nothing set."""
    for name in ("YAAD_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_everything_is_in_the_home_folder(user):
    home = user / ".yaad"

    assert places.data_folder() == home
    assert places.lock_file() == home / "daemon.lock"
    assert places.user_store() == home / "yaad.db"
    assert places.log_file() == home / "log" / "daemon.log"
    assert places.start_log() == home / "log" / "start.log"
    assert places.backups("p1") == home / "backups" / "p1"


def test_one_variable_moves_everything_and_the_socket_too(user, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(user / "else"))

    assert places.data_folder() == user / "else"
    assert places.default_socket() == user / "else" / "run" / "daemon.sock"


def test_a_relative_home_and_a_tilde_become_absolute(user, monkeypatch):
    monkeypatch.chdir(user)
    monkeypatch.setenv("YAAD_HOME", "here")
    assert places.data_folder() == user / "here"
    monkeypatch.setenv("YAAD_HOME", "~/there")
    assert places.data_folder() == user / "there"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no runtime folder")
def test_the_runtime_folder_is_used_when_it_is_the_users_own(user, monkeypatch):
    runtime = user / "runtime"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    assert places.default_socket() == runtime / "yaadwatch" / "daemon.sock"
    assert places.default_socket().parent == Path(Unix("yaadwatch").user_runtime_dir)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is no runtime folder")
def test_the_socket_is_never_in_a_shared_temporary_folder(user, monkeypatch):
    """platformdirs falls back to one where the user has no runtime folder."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(user / "missing"))

    assert places.default_socket() == user / ".yaad" / "run" / "daemon.sock"


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_runtime_folder_that_others_can_enter_is_not_used(user, monkeypatch, mode):
    runtime = user / "runtime"
    runtime.mkdir()
    runtime.chmod(mode)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))

    assert places.default_socket() == user / ".yaad" / "run" / "daemon.sock"


@pytest.mark.parametrize("said", ["", "12\n", "12\nrelative\n", "twelve\n/x\n", "\xff"])
def test_a_lock_file_that_does_not_say_both_says_nothing(user, said):
    places.data_folder().mkdir()
    places.lock_file().write_text(said, encoding="latin-1")

    assert places.sockets() == (str(places.default_socket()),)
    assert places.announced_pid() is None


def test_an_announced_socket_comes_before_the_default_one(user, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(user))
    places.lock_file().write_text("12\n/run/other.sock\n")

    assert places.announced_pid() == 12
    assert places.sockets() == ("/run/other.sock", str(user / "run" / "daemon.sock"))


def test_the_version_is_the_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["version"] == places.VERSION
    assert re.fullmatch(r"\d+\.\d+\.\d+\w*", places.VERSION)


HEAVY = {
    "apsw",
    "asyncio",
    "click",
    "concurrent",
    "dataclasses",
    "datetime",
    "difflib",
    "inspect",
    "logging",
    "pathlib",
    "pygit2",
    "shtab",
    "shutil",
    "subprocess",
    "tempfile",
    "threading",
    "traceback",
    "typing",
    "urllib",
    "yaadwatch.api.codec",
    "yaadwatch.api.messages",
    "yaadwatch.anchors",
    "yaadwatch.daemon",
    "yaadwatch.db",
    "yaadwatch.memory",
    "yaadwatch.projects",
    "yaadwatch.recall",
    "yaadwatch.remember",
    "yaadwatch.repo",
    "yaadwatch.sessions",
    "yaadwatch.staleness",
    "yaadwatch.sync",
    "yaadwatch.system",
    "yaadwatch.workspace",
}


def imported_by(program):
    """The modules that `program` imports in a bare interpreter, besides those it started with."""
    listed = (
        f"import sys; before = set(sys.modules); {program}; print(*(set(sys.modules) - before))"
    )
    ran = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT)!r}); {listed}",
        ],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": os.environ["HOME"]},
    )
    return set(ran.stdout.split())


def test_the_client_imports_nothing_heavy():
    imported = imported_by("import yaadwatch.client.connection")

    assert "yaadwatch.api.frames" in imported
    assert imported & HEAVY == set()
