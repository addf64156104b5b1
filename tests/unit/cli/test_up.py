"""The trial run: the daemon and the one who tells, in one process."""

import fcntl
import io

import pytest
from recording import ID, RecordingClient, command

from yaadwatch import places
from yaadwatch.cli.service import FlagPrinter, run_with
from yaadwatch.cli.terminal import Terminal
from yaadwatch.client.connection import ConnectionEnded
from yaadwatch.model.errors import Code, YaadError

ADDED = {
    "id": "p-1",
    "path": "/srv/api",
    "store": "/srv/api/.yaad/yaad.db",
    "again": False,
    "imported": {"statements": 1, "nodes": 1, "anchored": 1},
    "files": [],
    "stale": 0,
    "unknown": 0,
    "undo": "yaadwatch remove /srv/api",
}
DOUBT = {
    "id": ID,
    "text": "Tokens are signed in src/auth.ts",
    "verdict": "gone",
    "level": "warn",
    "reason": "src/auth.ts was removed",
    "evidence": [],
}
NOTHING = {"stale": []}
WATCHED = {"projects": [{"id": "p-1", "path": "/srv/api"}]}


def event(kind, subject=ID):
    return {
        "cursor": "c",
        "project": "p-1",
        "kind": kind,
        "at": "2026-11-21T12:00:00.000Z",
        "subject": subject,
        "body": {},
    }


def told(answers, events, repo="/srv/api", as_json=False, run=None):
    """What is printed, and what was asked, while a daemon runs that ends after `events`."""
    client = RecordingClient(answers, events)
    terminal = Terminal(io.StringIO(), io.StringIO())
    teller = FlagPrinter(client, terminal, repo=repo, as_json=as_json)

    def daemon(*, foreground, on_ready):
        assert foreground
        on_ready()
        teller.join()
        return 0

    status = run_with(run or daemon, teller)
    return status, terminal.out.getvalue().splitlines(), client.calls


def after_clock(line):
    """A line without the time of day, which depends on where one is."""
    return line[10:]


def test_a_repository_is_added_and_each_doubt_is_told_as_it_comes_and_goes():
    answers = {"add": ADDED, "stale": [NOTHING, {"stale": [DOUBT]}], "projects": WATCHED}
    events = [event("node.updated"), event("stale.raised"), event("stale.cleared")]

    status, lines, calls = told(answers, events)

    assert status == 0
    assert lines[0] == "Watching /srv/api"
    assert lines[-3] == "Watching. Ctrl-C ends it."
    assert after_clock(lines[-2]) == (
        "gone  f2e4ab37  Tokens are signed in src/auth.ts  (src/auth.ts was removed)"
    )
    assert after_clock(lines[-1]) == "holds again  f2e4ab37  Tokens are signed in src/auth.ts"
    assert calls == [
        ("subscribe", {"after": None}),
        ("add", {"project": "/srv/api"}),
        ("stale", {"project": "/srv/api", "check": True, "all": True}),
        ("projects", {}),
        ("stale", {"project": "/srv/api", "check": False, "all": True}),
    ]


def test_without_a_repository_what_is_watched_already_is_told():
    answers = {
        "projects": WATCHED,
        "stale": {"stale": [DOUBT]},
    }

    _, lines, _ = told(answers, [event("stale.raised")], repo=None)

    assert lines[:3] == ["1 repository watched", "  /srv/api", "Watching. Ctrl-C ends it."]
    assert "gone  f2e4ab37" in lines[3]


def test_programs_get_answers_and_events_one_a_line():
    _, lines, _ = told({"add": ADDED, "stale": NOTHING}, [event("stale.cleared")], as_json=True)

    assert len(lines) == 2
    assert '"id": "p-1"' in lines[0]
    assert '"kind": "stale.cleared"' in lines[1]


def test_a_repository_that_cannot_be_watched_ends_the_trial_with_the_reason():
    refused = YaadError(Code.NOT_FOUND, "/srv/api is not in a git repository.")
    answers = {"add": refused, "shutdown": {"stopping": True}}

    with pytest.raises(YaadError, match="not in a git repository"):
        told(answers, [])


def test_a_daemon_that_ends_ends_the_telling_quietly():
    status, lines, _ = told({"add": ConnectionEnded("add")}, [])

    assert (status, lines) == (0, [])


def test_ctrl_c_is_how_it_ends():
    def interrupted(*, foreground, on_ready):
        raise KeyboardInterrupt

    status, _, _ = told({}, [], run=interrupted)

    assert status == 0


def test_a_second_daemon_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path))
    with open(places.lock_file(), "w") as lock:
        lock.write("4711\n/x\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        ran = command("up", "/srv/api")

    assert ran.status == 4
    assert "A daemon runs already (pid 4711)" in ran.err
