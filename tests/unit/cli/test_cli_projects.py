"""Commands about repositories and flags, and the status of everything."""

import fcntl

import pytest
from recording import ID, command

from yaadwatch import places
from yaadwatch.cli.terminal import UNLIMITED
from yaadwatch.client.connection import DaemonNotRunning
from yaadwatch.model.errors import Code, YaadError

ADDED = {
    "id": ID,
    "path": "/srv/api",
    "store": "/home/ada/.yaad/projects/p1/yaad.db",
    "again": False,
    "adopted": False,
    "copy_of": None,
    "by_path": False,
    "imported": {"statements": 43, "nodes": 41, "anchored": 17},
    "files": [
        {"path": "CLAUDE.md", "statements": 42, "mode": "inline", "state": "synced"},
        {
            "path": "AGENTS.md",
            "statements": 1,
            "mode": "read",
            "state": "paused",
            "reason": "larger than 1 MB",
        },
    ],
    "stale": 0,
    "unknown": 0,
    "undo": "yaadwatch remove /srv/api",
}
"""The fields of a plain `add`."""
DOUBT = {
    "id": ID,
    "text": "Tokens are signed in src/auth.ts",
    "verdict": "moved",
    "score": 0.9,
    "level": "warn",
    "reason": "src/auth.ts is now src/security/auth.ts",
    "since": "2026-11-21T09:00:00.000Z",
    "branch": "main",
    "uncommitted": True,
    "evidence": [
        {
            "path": "src/auth.ts",
            "commit": {
                "id": "a1b2c3d4e5f6a7b8",
                "at": "2026-11-20T10:00:00.000Z",
                "subject": "Move security",
            },
            "summary": "renamed",
        },
        {"path": "src/auth.ts", "commit": None, "summary": "still changing"},
    ],
    "suggestion": {
        "path": "src/security/auth.ts",
        "text": "Tokens are signed in src/security/auth.ts",
    },
}
UNKNOWN_BEFORE = "what became false before is not known."
STALE = {
    "stale": [DOUBT],
    "unknown": [{"id": ID, "text": "Retry twice", "reason": "git did not answer"}],
    "checked_at": "2026-11-21T11:59:30.000Z",
}
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
            "stale": 2,
            "last_check": "2026-11-21T11:59:30.000Z",
            "watch": "full",
            "lag_ms": 12,
            "files": [
                {"path": "CLAUDE.md", "mode": "read", "state": "synced"},
                {"path": "AGENTS.md", "mode": "read", "state": "paused", "reason": "too large"},
                {"path": "GEMINI.md", "mode": "read", "state": "absent"},
            ],
        },
        {
            "id": ID,
            "path": "/srv/web",
            "memories": 1,
            "stale": 0,
            "last_check": None,
            "watch": "poll",
            "files": [],
        },
    ],
    "jobs": [
        {
            "name": "upkeep",
            "last": "2026-11-20T12:00:00.000Z",
            "next": "2026-11-21T13:00:00.000Z",
            "ok": True,
        },
        {"name": "sweep", "ok": None},
    ],
    "search": "words",
    "search_why": "no model is enabled",
    "problems": [{"what": "The watch limit is reached.", "mend": "sysctl fs.inotify"}],
}


@pytest.fixture(autouse=True)
def outside(tmp_path, monkeypatch):
    """Stand in no repository: `status` has something to say of one that is not watched."""
    monkeypatch.chdir(tmp_path)


def test_add_says_what_it_did_and_how_to_undo_it():
    ran = command("add", "/srv/api", "--adopt", answers={"add": ADDED})

    assert ran.calls == [("add", {"adopt": True, "project": "/srv/api"})]
    assert ran.lines == [
        "Watching /srv/api",
        "  store  /home/ada/.yaad/projects/p1/yaad.db",
        "  read   43 statements, 41 new memories",
        "    CLAUDE.md  42 statements  inline  synced",
        "    AGENTS.md  1 statement    read    paused: larger than 1 MB",
        "Undo: yaadwatch remove /srv/api",
    ]


KEPT = YaadError(Code.CONFLICT, "3 memories of this repository are kept.", hint="--adopt")


@pytest.mark.parametrize(
    ("typed", "chosen"),
    [("y\n", "adopt"), ("\n", "adopt"), ("n\n", "separate"), ("what\nNO\n", "separate")],
)
def test_add_asks_a_person_about_memories_from_before(typed, chosen):
    ran = command("add", "--mode", "read", answers={"add": [KEPT, ADDED]}, given=typed, person=True)

    assert ran.calls[-1] == ("add", {"mode": "read", chosen: True})
    assert "3 memories of this repository are kept." in ran.out
    assert ran.status == 0


@pytest.mark.parametrize("more", [["--json"], []])
def test_add_asks_nothing_where_no_person_sits(more):
    ran = command("add", *more, answers={"add": KEPT}, person=bool(more))

    assert len([call for call in ran.calls if call[0] == "add"]) == 1
    assert ran.status != 0
    assert "--adopt" in ran.err + ran.out


def test_remove_says_where_the_memories_are():
    removed = {
        "id": ID,
        "path": "/srv/api",
        "kept": "/home/ada/.yaad/projects/p1",
        "memories": 41,
        "undo": "yaadwatch add --adopt /srv/api",
        "later": None,
    }

    ran = command("remove", "/srv/api", answers={"remove": removed})

    assert ran.calls == [("remove", {"project": "/srv/api"})]
    assert ran.lines == [
        "No longer watching /srv/api",
        "  41 memories kept in /home/ada/.yaad/projects/p1",
        "Undo: yaadwatch add --adopt /srv/api",
    ]


def test_list_lines_the_repositories_up():
    rows = [
        {"id": ID, "path": "/srv/api", "branch": "main", "memories": 41, "stale": 2, "state": "ok"},
        {
            "id": "p-2",
            "path": "/srv/old",
            "memories": 1,
            "stale": 0,
            "state": "missing",
            "reason": "/srv/old is not there",
        },
    ]

    ran = command("list", answers={"projects": {"projects": rows}})

    assert ran.lines == [
        "f2e4ab37  /srv/api  main  41 memories  2 stale  ok",
        "p-2       /srv/old  -     1 memory     0 stale  missing: /srv/old is not there",
    ]


def test_stale_prints_each_flag_with_its_evidence_and_what_to_do():
    ran = command("stale", answers={"stale": STALE})

    assert ran.status == 0
    assert ran.calls == [("stale", {})]
    assert ran.lines == [
        "moved  f2e4ab37  Tokens are signed in src/auth.ts",
        "    src/auth.ts is now src/security/auth.ts; noticed 3 hours ago on main",
        "    a1b2c3d4e5  2026-11-20  Move security  (src/auth.ts: renamed)",
        "    uncommitted  src/auth.ts: still changing",
        "    now at: src/security/auth.ts",
        "    would be true: Tokens are signed in src/security/auth.ts",
        "    accept that: yaadwatch reanchor f2e4ab37    or: yaadwatch edit f2e4ab37",
        "    still true: yaadwatch confirm f2e4ab37    if not: yaadwatch forget f2e4ab37",
        "",
        "Could not be judged",
        "  f2e4ab37  Retry twice (git did not answer)",
        "",
        "1 memory flagged, 1 could not be judged; last check 30 seconds ago.",
    ]


def of_one_commit(count):
    """Return flags of memories in files that one commit moved."""
    evidence = [DOUBT["evidence"][0]]
    return [
        DOUBT | {"id": f"{at}{ID[1:-1]}{at}", "text": f"Rule {at}", "evidence": evidence}
        for at in range(count)
    ]


def test_the_flags_of_one_commit_come_together_and_are_settled_at_once():
    alone = DOUBT | {"text": "Another", "evidence": []}
    flags = of_one_commit(4)
    flags[3]["suggestion"] = None

    ran = command("stale", answers={"stale": STALE | {"stale": [flags[0], alone, *flags[1:]]}})

    about = [
        "      src/auth.ts is now src/security/auth.ts",
        "      now at: src/security/auth.ts",
        "      would be true: Tokens are signed in src/security/auth.ts",
    ]
    head = [f"  moved  {flag['id'][-8:]}  {flag['text']}" for flag in flags]
    assert ran.lines[:17] == [
        "a1b2c3d4e5  2026-11-20  Move security: 4 memories",
        head[0],
        *about,
        head[1],
        *about,
        head[2],
        *about,
        head[3],
        about[0],
        "  accept the 3 that propose something: yaadwatch reanchor --cause a1b2c3d4e5",
        "  all still true: yaadwatch confirm --cause a1b2c3d4e5",
    ]
    assert ran.lines[19].endswith("Another")


@pytest.mark.parametrize(
    ("suggestion", "lines"),
    [
        (
            DOUBT["suggestion"],
            [
                "    now at: src/security/auth.ts",
                "    write in AGENTS.md, line 300: Tokens are signed in src/security/auth.ts",
            ],
        ),
        (
            {"path": "src/security/auth.ts", "text": None},
            [
                "    now at: src/security/auth.ts",
                "    correct it in AGENTS.md, line 300",
                "    accept that: yaadwatch reanchor f2e4ab37",
            ],
        ),
        (None, ["    correct it in AGENTS.md, line 300"]),
    ],
)
def test_of_what_a_persons_file_says_it_is_told_where_and_what_to_write(suggestion, lines):
    found_flag = DOUBT | {"suggestion": suggestion, "said_in": [{"path": "AGENTS.md", "line": 300}]}

    ran = command("stale", answers={"stale": STALE | {"stale": [found_flag]}})

    assert ran.lines[4 : 5 + len(lines)] == [
        *lines,
        "    still true: yaadwatch confirm f2e4ab37    if not: delete it there",
    ]


@pytest.mark.parametrize(
    ("commit", "summary", "line"),
    [
        (
            None,
            "verify in src/a.ts changed (uncommitted)",
            "uncommitted  verify in src/a.ts changed",
        ),
        (
            None,
            "src/a.ts is gone (the history does not show in which commit)",
            "committed  src/a.ts is gone (the history does not show in which commit)",
        ),
        (
            None,
            "src/a.ts changed (not in the last 9 commits; older ones were not searched)",
            "committed  src/a.ts changed (not in the last 9 commits; older ones were not searched)",
        ),
        (
            None,
            "src/a.ts is gone (whether it is committed is not known)",
            "src/a.ts is gone (whether it is committed is not known)",
        ),
        (
            {"id": "a1b2c3d4e5f6", "at": "2026-11-20T10:00:00.000Z", "subject": "Move"},
            "renamed src/b.ts to src/a.ts",
            "a1b2c3d4e5  2026-11-20  Move  (renamed src/b.ts to src/a.ts)",
        ),
    ],
)
def test_evidence_names_its_file_and_its_state_once(commit, summary, line):
    found = {"path": "src/a.ts", "commit": commit, "summary": summary}

    ran = command("stale", answers={"stale": STALE | {"stale": [DOUBT | {"evidence": [found]}]}})

    assert f"    {line}" in ran.lines


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            {"shallow": {"statements": 1}},
            f"1 statement is older than this shallow clone; {UNKNOWN_BEFORE}",
        ),
        (
            {"shallow": {"statements": 2}, "looking": 1},
            f"2 statements are older than this shallow clone; {UNKNOWN_BEFORE}",
        ),
        (
            {"shallow": {"statements": 0}, "looking": 1},
            f"This clone is shallow: some statements may be older; {UNKNOWN_BEFORE}",
        ),
    ],
)
def test_of_a_shallow_clone_it_is_told_how_many_statements_are_older(more, line):
    added = command("add", answers={"add": ADDED | more}, width=200)
    told = command("stale", answers={"stale": STALE | more}, width=200)

    assert f"  {line}" in added.lines
    assert line in told.lines


def test_stale_without_flags_says_so_and_when_it_looked():
    ran = command("stale", "--no-check", answers={"stale": {"stale": [], "unknown": []}})

    assert ran.calls == [("stale", {"check": False})]
    assert ran.lines == ["Nothing flagged; last check never."]


def test_stale_can_check_everything_first():
    checked = {"checked": 41, "raised": 1, "cleared": 2, "checked_at": "2026-11-21T12:00:00.000Z"}
    answers = {"check": checked, "stale": STALE}

    person = command("stale", "--check", "--all", answers=answers)
    program = command("stale", "--check", "--json", answers=answers)

    assert person.calls == [("check", {}), ("stale", {"all": True, "check": False})]
    assert person.lines[0] == "Checked 41 memories: 1 new flag, 2 cleared."
    assert program.json == STALE | {"check": checked}


def test_upkeep_says_what_it_did_and_what_it_would_do():
    done = {
        "dry_run": False,
        "archived": [{"id": ID, "text": "Old news", "confidence": 0.08, "project": "/srv/api"}],
        "pruned": [{"id": ID, "text": "Older news", "project": "/srv/web"}],
        "orphans": 2,
        "checked": 120,
        "skipped": ["/srv/old: The store is gone."],
    }

    did = command("upkeep", answers={"upkeep": done})
    would = command("upkeep", "--dry-run", answers={"upkeep": done | {"dry_run": True}})

    assert did.lines[0] == (
        "Archived 1, erased 1, dropped 2 files or symbols that no memory is about;"
        " looked at 120 memories."
    )
    assert did.lines[1:] == [
        "Archived in /srv/api",
        "  f2e4ab37  0.08  Old news",
        "Erased for good in /srv/web",
        "  f2e4ab37  Older news",
        "skipped: /srv/old: The store is gone.",
        "Undo for one: yaadwatch restore ID --project DIR",
    ]
    assert would.calls == [("upkeep", {"dry_run": True})]
    assert would.lines[0].startswith("Would archive 1, erase 1,")
    assert "Undo" not in would.out


def test_status_says_that_the_repository_in_which_one_stands_is_not_watched(tmp_path, monkeypatch):
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    here = STATUS["projects"][0] | {"path": str(tmp_path)}

    away = command("status", answers={"status": STATUS, "stale": STALE}, width=UNLIMITED)
    named = command(
        "status", "--project", tmp_path, answers={"status": STATUS, "stale": STALE}, width=UNLIMITED
    )
    answers = {"status": STATUS | {"projects": [here]}, "stale": STALE}

    told = f"{tmp_path} is not watched. To watch it: yaadwatch add"
    assert away.lines[-2:] == ["", told]
    assert named.lines[-1] == f"{told} {tmp_path}"
    assert "is not watched" not in command("status", answers=answers, width=UNLIMITED).out


def test_status_answers_in_one_screen_what_a_person_asks():
    ran = command("status", answers={"status": STATUS, "stale": STALE})

    assert ran.calls == [("status", {}), ("stale", {"project": "/srv/api", "check": False})]
    assert ran.lines == [
        "yaadwatch 0.1.0 is running  pid 4711, started 3 hours ago, memory 38 MB",
        "  searches by words (no model is enabled)",
        "  listens on /run/user/1000/yaadwatch/daemon.sock",
        "",
        "Projects",
        "  /srv/api  main",
        "    124 memories, 2 stale, checked 30 seconds ago, watched, lag 12 ms",
        "  /srv/web",
        "    1 memory, 0 stale, checked never, polled",
        "",
        "Agent files",
        "  /srv/api/CLAUDE.md  read  synced",
        "  /srv/api/AGENTS.md  read  paused: too large",
        "",
        "Flagged",
        f"  moved  f2e4ab37  {DOUBT['text']} ({DOUBT['reason']})",
        "  and 1 more",
        "  All, with evidence: yaadwatch stale --project /srv/api",
        "",
        "Jobs",
        "  upkeep  last 1 day ago  went well  next in 1 hour",
        "  sweep   not run yet",
        "",
        "Problems",
        "  The watch limit is reached.",
        "    fix: sysctl fs.inotify",
    ]


def many(number, **of_first):
    """Return so many projects, the first of them as it is said."""
    files = [{"path": path, "mode": "read", "state": "synced"} for path in ("A.md", "B.md")]
    usual = STATUS["projects"][0] | {"stale": 0, "watch": "full", "state": "ok", "files": files}
    named = [f"/srv/p{at}" for at in range(number)]
    return [usual | {"path": path} for path in named[:-1]] + [
        usual | {"path": named[-1]} | of_first
    ]


def test_of_many_projects_those_are_shown_that_need_somebody_and_the_others_counted():
    paused = {"path": "CLAUDE.md", "mode": "inline", "state": "paused", "reason": "a conflict"}
    projects = many(40, stale=1, files=[paused])
    ran = command("status", answers={"status": STATUS | {"projects": projects}, "stale": STALE})

    assert len(ran.lines) < 50
    shown = [line for line in ran.lines if line.startswith("  /srv/p") and line.endswith("  main")]
    assert shown[-1] == "  /srv/p39  main"
    assert len(shown) == 8
    assert "  and 32 more: yaadwatch list" in ran.lines
    assert "  /srv/p39/CLAUDE.md  inline  paused: a conflict" in ran.lines
    assert "  and 71 more, all in sync: yaadwatch files list, in each" in ran.lines


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("YAAD_HOME", str(tmp_path))
    return tmp_path


def test_status_without_a_daemon_is_an_answer_in_the_same_shape(home):
    person = command("status", answers={"status": DaemonNotRunning()})
    program = command("--json", answers={"status": DaemonNotRunning()})

    assert (person.status, program.status) == (0, 0)
    assert person.lines[0] == "yaadwatch is not running"
    assert program.json["daemon"] == {"running": False}
    assert program.json.keys() == STATUS.keys()
    assert [row.keys() for row in program.json["problems"]] == [{"what", "mend"}]


def test_a_daemon_that_does_not_answer_is_told_apart_from_none(home):
    with open(places.lock_file(), "w") as lock:
        lock.write("4711\n/x\n")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)

        ran = command("status", "--json", answers={"status": DaemonNotRunning()})
        person = command("status", answers={"status": DaemonNotRunning()})
        stopped = command("stop", answers={"shutdown": DaemonNotRunning()})

    assert person.lines[0] == "yaadwatch does not answer"
    assert ran.json["daemon"] == {"running": False, "silent": True}
    assert "4711 holds the daemon's lock" in ran.json["problems"][0]["what"]
    assert stopped.status == 3
    assert "4711 holds the daemon's lock and does not answer" in stopped.err


def test_stop_waits_until_the_daemon_is_gone(home):
    person = command("stop", answers={"shutdown": {"stopping": True}})
    program = command("stop", "--json", answers={"shutdown": {"stopping": True}})

    assert person.calls == [("shutdown", {})]
    assert person.lines == ["The daemon has stopped (pid 4711). Any command starts it again."]
    assert program.json == {"stopping": True, "running": False, "pid": 4711}


def test_a_daemon_that_does_not_end_is_told(home, monkeypatch):
    monkeypatch.setattr("yaadwatch.cli.daemon.STOP_TIME_S", 0.05)
    with open(places.lock_file(), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        ran = command("stop", answers={"shutdown": {"stopping": True}})

    assert ran.status == 3
    assert "has not ended after 0.05 s" in ran.err
