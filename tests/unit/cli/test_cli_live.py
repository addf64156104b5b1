"""`status --watch`: each change once."""

import io
import json

import pytest
from recording import ID, RecordingClient, Screen

from yaadwatch.cli import status
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


@pytest.fixture(autouse=True)
def no_time_to_lose(monkeypatch):
    monkeypatch.setattr(status, "REFRESH_S", 0.0)


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


def test_on_a_terminal_each_change_clears_the_window_first():
    out = watched(STATUS, MORE, person=True)

    assert out.count("\x1b[2J\x1b[H--- ") == 2
    assert out.index("124 memories") < out.index("125 memories")
    assert "Ctrl-C ends" in out
