"""`status --watch`: each change once, within the window, and the terminal given back."""

import io
import json
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording import ID, RecordingClient, Screen

from yaadwatch.cli import logs
from yaadwatch.cli.main import run
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import ConnectionEnded, DaemonNotRunning

STATUS = {
    "daemon": {
        "running": True,
        "pid": 4711,
        "version": "0.1.0",
        "since": "2026-11-21T09:00:00.000Z",
        "rss_bytes": 38_400_000,
        "socket": "/run/user/1000/yaadwatch/daemon.sock",
    },
    "projects": [
        {
            "id": ID,
            "path": "/srv/api",
            "branch": "main",
            "memories": 124,
            "stale": 0,
            "last_check": "2026-11-21T11:59:30.000Z",
            "watch": "full",
            "files": [],
        },
    ],
    "jobs": [],
    "search": "words",
    "search_why": "no model is enabled",
    "problems": [],
}
HEAVIER = STATUS | {"daemon": STATUS["daemon"] | {"rss_bytes": 39_000_000}}
MORE = STATUS | {"projects": [STATUS["projects"][0] | {"memories": 125}]}
POLLED = STATUS | {"problems": [{"what": "The watch limit is reached.", "mend": "sysctl it"}]}


@pytest.fixture(autouse=True)
def no_time_to_lose(monkeypatch):
    monkeypatch.setattr(logs, "REFRESH_S", 0.0)


def watched(*states, arguments=(), person=False):
    """Watch while the daemon answers with these states; then comes Ctrl-C."""
    client = RecordingClient({"status": [*states, KeyboardInterrupt()]})
    terminal = Terminal(Screen() if person else io.StringIO(), io.StringIO(), width=100)
    with pytest.raises(KeyboardInterrupt):
        run(["status", "--watch", *arguments], terminal, lambda args, terminal: client)
    return terminal.out.getvalue()


def test_a_program_gets_a_line_for_each_change_and_none_for_what_is_no_news():
    out = watched(STATUS, STATUS, HEAVIER, MORE, MORE, STATUS, arguments=["--json"])

    assert [json.loads(line) for line in out.splitlines()] == [STATUS, MORE, STATUS]


def test_without_a_terminal_each_change_is_printed_after_the_last_and_nothing_steers_it():
    out = watched(STATUS, HEAVIER, MORE)

    lines = out.splitlines()
    assert "\x1b" not in out
    assert [line[:4] for line in lines].count("--- ") == 2
    assert [line.split(",")[0] for line in lines if "memories" in line] == [
        "    124 memories",
        "    125 memories",
    ]


def test_a_daemon_that_goes_and_comes_is_a_change_and_no_end(monkeypatch, tmp_path):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path))

    out = watched(
        STATUS, ConnectionEnded("status"), DaemonNotRunning(), STATUS, arguments=["--json"]
    )

    running = [json.loads(line)["daemon"]["running"] for line in out.splitlines()]
    assert running == [True, False, True]


def test_on_a_terminal_it_draws_in_place_and_gives_the_terminal_back(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")

    out = watched(STATUS, MORE, person=True)

    assert out.startswith("\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H")
    assert out.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l")
    assert "124 memories" in out
    assert "125 memories" in out
    assert "Ctrl-C ends" in out


@pytest.mark.parametrize("error", [SystemExit(3), BrokenPipeError()])
def test_however_it_ends_the_terminal_and_the_signals_are_given_back(monkeypatch, error):
    monkeypatch.setenv("TERM", "xterm")
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGTSTP)
    before = [signal.getsignal(number) for number in numbers]
    terminal = Terminal(Screen(), Screen())

    def tell(state, paper):
        raise error

    with pytest.raises(type(error)):
        logs.refresh_until_interrupted(lambda: STATUS, tell, terminal, as_json=False)

    assert terminal.out.getvalue().endswith("\x1b[?25h\x1b[?1049l")
    assert [signal.getsignal(number) for number in numbers] == before


def test_what_is_wrong_comes_first_because_the_end_may_not_fit(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")

    shown = watched(POLLED, person=True)

    assert (
        shown.index("The watch limit") < shown.index("fix: sysctl it") < shown.index("is running")
    )


@given(st.integers(1, 80), st.integers(0, 120))
def test_a_frame_never_has_more_lines_than_the_window(height, lines):
    terminal = Terminal(Screen(), Screen())

    def tell(state, paper):
        for number in range(lines):
            paper.line(f"line {number}")

    frame = logs._frame(STATUS, tell, terminal, (80, height))

    rows = frame.count("\n") + 1
    shown = frame.count("line ")
    assert rows <= max(height, 2)
    assert shown == min(lines, max(height - 1, 1))
    assert (f"{lines - shown} more lines" in frame) == (shown < lines)
