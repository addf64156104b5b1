"""The process itself: how it starts, what it says when it cannot, and that it always ends."""

import json
import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from waiting import events

from yaadwatch import places
from yaadwatch.client.connection import Client, DaemonNotRunning
from yaadwatch.client.presence import daemon_holds_lock
from yaadwatch.daemon import main
from yaadwatch.daemon.scheduler import AGAIN
from yaadwatch.model.errors import Code, YaadError

DEADLINE_S = 20.0
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"

RUN = "import sys; from yaadwatch.daemon.main import run; sys.exit(run(foreground=False))"


@pytest.fixture
def daemons(environment: Path) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes of this test; none of them outlives it."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=DEADLINE_S)


@pytest.fixture
def start(daemons):
    """Start a daemon, or another program about one; wait until it answers unless told not to."""

    def starting(
        program: str = RUN, *, wait: bool = True, cwd: Path | None = None, **environ: str
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=cwd,
            env={**os.environ, **environ},
        )
        daemons.append(process)
        if wait:
            until(lambda: answers() or process.poll() is not None)
            assert process.poll() is None, process.communicate()
        return process

    return starting


def until(true) -> None:
    end = time.monotonic() + DEADLINE_S
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def answers() -> bool:
    client = Client(cwd="/")
    try:
        return bool(client.call("status"))
    except DaemonNotRunning:
        return False
    finally:
        client.close()


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=DEADLINE_S)
    return process.returncode, out, err


def logged() -> list[str]:
    return [json.loads(line)["event"] for line in places.log_file().read_text().splitlines()]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_it_is_told_to_stop_and_leaves_nothing_open(start, number):
    process = start()
    until(lambda: "daemon.ready" in logged())  # it answers a moment sooner
    modes = {
        path: stat.S_IMODE(path.stat().st_mode)
        for path in (
            places.data_folder(),
            places.log_file(),
            places.user_store(),
            places.default_socket(),
        )
    }
    process.send_signal(number)

    assert ended(process) == (0, "", "")
    assert [mode for path, mode in modes.items() if path == places.data_folder()] == [0o700]
    assert {mode for path, mode in modes.items() if path != places.data_folder()} == {0o600}
    assert not places.default_socket().exists()
    assert not daemon_holds_lock()
    assert logged() == ["daemon.ready", "daemon.ended"]


@pytest.mark.parametrize("what", ["file", "link"])
def test_a_home_that_cannot_be_used_is_told(start, environment, what):
    home = environment / "no-home"
    if what == "file":
        home.touch()
    else:
        (environment / "elsewhere").mkdir()
        home.symlink_to(environment / "elsewhere")

    status, _, err = ended(start(wait=False, YAAD_HOME=str(home)))

    assert status == 3
    assert err.startswith("yaadwatch: ")
    assert str(home) in err


def test_settings_that_cannot_be_read_are_told_with_their_place(start):
    (places.data_folder() / "config.toml").write_text("[watch\n")

    status, _, err = ended(start(wait=False))

    assert status == 3
    assert "config.toml is not TOML" in err


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("[watch]\nquite_ms = 10\n", "watch.quite_ms is not a setting"),
        ("[watch]\nquiet_ms = 99999\n", "watch.quiet_ms must be"),
        ("[agent_files]\nalso = ['/etc/passwd']\n", "agent_files.also: "),
        (f"[watch]\nquiet_ms = '{TOKEN}'\n", "'[masked:github-token]'"),
        (f"[agent_files]\nalso = ['/{TOKEN}']\n", "'/[masked:github-token]'"),
    ],
)
def test_a_setting_that_is_not_used_is_a_problem_that_status_shows(start, lines, told):
    (places.data_folder() / "config.toml").write_text(f"{lines}[recall]\ntop_k = 7\n")
    start()

    (problem,) = Client(cwd="/").call("status")["problems"]
    config = Client(cwd="/").call("config")
    rows = {row["key"]: row for row in config["settings"]}

    assert told in problem["what"]
    assert config["warnings"] == [problem["what"]]
    assert problem["mend"].endswith("config.toml, then: yaadwatch restart")
    assert rows["recall.top_k"]["value"] == 7
    assert rows["watch.quiet_ms"]["from"] == rows["agent_files.also"]["from"] == "default"


def test_what_is_set_after_the_start_is_told_as_what_a_restart_brings(start):
    file = places.data_folder() / "config.toml"
    file.write_text("[watch]\nquiet_ms = 200\n")
    start()
    before = Client(cwd="/").call("config")["warnings"]

    file.write_text("[watch]\npoll_s = 30\nquite_ms = 10\n")
    lines = Client(cwd="/").call("config")["warnings"]
    file.write_text("[watch\n")
    (broken,) = Client(cwd="/").call("config")["warnings"]

    assert before == []
    assert lines == [
        "watch.quiet_ms is 100 by now (default), and holds after: yaadwatch restart",
        f"watch.poll_s is 30 by now ({file}), and holds after: yaadwatch restart",
        f"{file}: watch.quite_ms is not a setting. Did you mean watch.quiet_ms?",
    ]
    assert "is not TOML" in broken


def test_a_variable_that_is_not_used_is_to_be_corrected_where_it_is_set(start):
    start(YAAD_WATCH_QUIET_MS="9999")

    (problem,) = Client(cwd="/").call("status")["problems"]

    assert "YAAD_WATCH_QUIET_MS must be" in problem["what"]
    assert "environment" in problem["mend"]
    assert "config.toml" not in problem["mend"]


def test_what_only_some_need_is_not_imported_at_start(start):
    process = start(
        """
        import os, signal, sys
        from yaadwatch.daemon.main import run
        heavy = {"pygit2", "tree_sitter", "mistune", "sqlite3", "yaadwatch.cli.main"}
        heavy |= {"ssl", "_hashlib"}  # OpenSSL
        def ready():
            print(sorted(heavy & sys.modules.keys()))
            os.kill(os.getpid(), signal.SIGTERM)
        run(foreground=False, on_ready=ready)
        import ssl, _hashlib
        """,
        wait=False,
    )

    assert ended(process) == (0, "[]\n", "")


def test_in_the_foreground_warnings_are_told_on_stderr(start):
    (places.data_folder() / "config.toml").write_text("[watch]\nquite_ms = 10\n")
    process = start(RUN.replace("False", "True"))
    process.terminate()

    assert "health.degraded" in ended(process)[2]


def test_a_thread_that_never_ends_does_not_keep_the_process(start):
    process = start(
        """
        import sys, threading, time
        from yaadwatch.daemon.main import run
        def ready():
            threading.Thread(target=time.sleep, args=[3600]).start()
        sys.exit(run(foreground=False, on_ready=ready))
        """
    )
    process.terminate()

    assert ended(process)[0] == 0
    assert not places.default_socket().exists()


HANGING = """
import sys, threading, time
from yaadwatch.daemon import main
from yaadwatch.projects import projects as report
from yaadwatch.projects import upkeep
from yaadwatch.workspace.workspace import Home
from yaadwatch.daemon.intake import Intake
def hang(*given, **named):
    open("hangs", "w").close()
    time.sleep(3600)
async def hang_on_the_loop(*given):
    hang()
{patch}
sys.exit(main.run(foreground=False))
"""


@pytest.mark.parametrize(
    ("patch", "ended_itself"),
    [
        ("report.status = hang", True),
        ("upkeep.flush = hang", True),
        ("Home.close = hang", False),
        ("Intake.stop = hang_on_the_loop", False),
    ],
    ids=["a request", "what is written down at the end", "a store", "the loop"],
)
def test_whatever_hangs_it_ends_and_says_so_and_the_next_one_begins(
    start, environment, patch, ended_itself
):
    process = start(HANGING.format(patch=patch), wait=False, cwd=environment)
    until(lambda: places.log_file().exists() and "daemon.ready" in logged())
    asking = Client(cwd="/")
    said: list[YaadError] = []

    def ask() -> None:
        try:
            asking.call("status")
        except YaadError as error:
            said.append(error)

    if "status" in patch:
        thread = threading.Thread(target=ask)
        thread.start()
        until((environment / "hangs").exists)
    process.terminate()

    assert ended(process)[0] == 0
    assert (environment / "hangs").exists()
    ends = ["daemon.ended", "daemon.cut_short"] if ended_itself else ["daemon.cut_short"]
    assert logged() == ["daemon.ready", *_told_of_flush(patch), *ends]
    if "status" in patch:
        thread.join(DEADLINE_S)
        assert [error.code for error in said] == [Code.UNAVAILABLE]
    asking.close()
    start()
    assert answers()


def test_what_hangs_is_left_too_where_no_new_process_can_be_begun(start):
    process = start(
        """
        import threading, time
        from yaadwatch.daemon import main
        from yaadwatch.daemon.scheduler import AGAIN
        async def live(ending):
            threading.Thread(target=time.sleep, args=[3600]).start()
            ending.begin(AGAIN)
            return AGAIN
        def begin_again():
            raise OSError("the program is gone")
        main._on_a_loop(live, main.Ending(begin_again))
        """,
        wait=False,
    )

    assert ended(process)[0] == AGAIN


@pytest.mark.parametrize(
    "hang",
    [
        "threading.Thread(target=time.sleep, args=[3600]).start()",
        "asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)",
        "tasks.append(asyncio.create_task(stay())); await asyncio.sleep(0)",
    ],
    ids=["a thread", "a thread of the pool", "a task that does not let itself be cancelled"],
)
def test_after_an_error_that_nobody_expected_it_ends_and_says_so_whatever_hangs(start, hang):
    process = start(
        f"""
        import asyncio, sys, threading, time
        from yaadwatch.daemon import main
        tasks = []
        async def stay():
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass
        async def live(ending):
            {hang}
            sys.stderr.write("was about to fail")
            raise LookupError("never seen before")
        main._on_a_loop(live, main.Ending(None))
        """,
        wait=False,
    )

    status, _, err = ended(process)

    assert status == main.UNUSABLE
    assert "was about to fail" in err
    assert ("never seen before" in err) == ("tasks" not in hang)


def _told_of_flush(patch: str) -> list[str]:
    return ["daemon.not_flushed"] if "flush" in patch else []


def test_it_can_be_told_to_stop_while_it_is_still_starting(start, environment):
    process = start(
        """
        import sys, time
        from yaadwatch.daemon.main import run
        from yaadwatch.staleness import stale as watch_list
        def slowly(home, project=None):
            open("started", "w").close()
            time.sleep(3600)
        watch_list.watched = slowly
        sys.exit(run(foreground=False))
        """,
        wait=False,
        cwd=environment,
    )
    until((environment / "started").exists)
    process.terminate()

    assert ended(process)[0] == 0


def test_a_git_that_hangs_is_ended_with_the_daemon(start, environment, repo):
    """Whoever waits for it is told, and the process does not wait for its time limit."""
    repo.add("a.py", "a = 1\n")
    programs = environment / "bin"
    programs.mkdir()
    (programs / "git").write_text(f"#!/bin/sh\necho $$ > {environment}/git-pid\nexec sleep 3600\n")
    (programs / "git").chmod(0o755)
    process = start(PATH=f"{programs}:{os.environ['PATH']}", YAAD_GIT_TIMEOUT_MS="600000")
    said: list[YaadError] = []

    def ask() -> None:
        try:
            Client(cwd=str(repo.path)).call("add")
        except YaadError as error:
            said.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    until((environment / "git-pid").exists)
    process.terminate()

    assert ended(process)[0] == 0
    asking.join(DEADLINE_S)
    assert len(said) == 1
    until(lambda: not Path("/proc", (environment / "git-pid").read_text().strip()).exists())


def test_what_happens_is_streamed_and_nothing_is_missed_over_a_restart(start, repo):
    repo.add("a.py", "a = 1\n")
    first = start()
    client = Client(cwd=str(repo.path))
    client.call("add")
    heard = events(client.beside())
    client.call("remember", text="Use uv, never pip")
    created = next(event for event in heard if event["kind"] == "node.created")
    first.terminate()
    ended(first)

    start()
    client.call("remember", text="Tests run with make test")
    again = next(
        event
        for event in events(client.beside(), created["cursor"])
        if event["kind"] == "node.created"
    )

    assert again["subject"] != created["subject"]
    assert created["project"] == again["project"] != ""
    client.close()
