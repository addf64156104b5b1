"""The command about agent files, and what `add` asks about them."""

import pytest
from recording import command
from test_cli_projects import ADDED

from yaadwatch.model.errors import Code, YaadError

NOT_WATCHED = YaadError(Code.NOT_FOUND, "/srv/api is not watched.", hint="yaadwatch add /srv/api")
FILES = {
    "files": [
        {
            "path": "AGENTS.md",
            "mode": "inline",
            "state": "paused",
            "reason": "line 9 has no end marker; nothing was read or written",
            "snapshots": [],
        },
        {
            "path": "CLAUDE.md",
            "mode": "inline",
            "state": "synced",
            "reason": None,
            "snapshots": [
                {"id": 4, "at": "2026-11-21T09:00:00.000Z", "bytes": 70},
                {"id": 2, "at": "2026-11-20T09:00:00.000Z", "bytes": 60},
            ],
        },
    ]
}
SYNCED = FILES | {"settled": True, "changed": True}


@pytest.fixture
def in_new(tmp_path, monkeypatch):
    """The answers in a folder of a repository that nobody watches yet; the test stands in it."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return {"files": NOT_WATCHED, "add": ADDED}


DIFF = {
    "files": [
        {
            "path": "CLAUDE.md",
            "diff": "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1,2 @@\n # Rules\n+- Use httpx",
            "new": 1,
            "gone": 2,
            "reason": None,
        }
    ]
}


def test_without_more_it_lists_the_files_with_mode_state_and_copies():
    ran = command("files", answers={"files": FILES})

    assert ran.status == 0
    assert ran.calls == [("files", {})]
    paused = "paused: line 9 has no end marker; nothing was read or written"
    assert [line.rstrip() for line in ran.lines] == [
        f"AGENTS.md  inline  {paused}",
        f"CLAUDE.md  inline  {'synced':<{len(paused)}}  copies 2 to 4",
    ]


def test_a_folder_is_the_project_and_a_file_is_the_file():
    synced = {"files_sync": SYNCED, "files_release": SYNCED, "files_adopt": SYNCED}

    assert command("files", "sync", "/srv/api", answers=synced).calls == [
        ("files_sync", {"project": "/srv/api"})
    ]
    assert command("files", "release", "CLAUDE.md", answers=synced).calls == [
        ("files_release", {"path": "CLAUDE.md"})
    ]
    assert command("files", "adopt", "CLAUDE.md", "--mode", "read", answers=synced).calls == [
        ("files_adopt", {"path": "CLAUDE.md", "mode": "read"})
    ]


def test_what_is_not_settled_is_said_and_is_no_success():
    ran = command("files", "sync", answers={"files_sync": SYNCED | {"settled": False}})

    assert ran.status == 1
    assert "Not finished: git or an agent is at work" in ran.out
    assert "yaadwatch tries again" in ran.out


def test_a_diff_shows_what_would_be_written_and_taken_in():
    ran = command("files", "diff", answers={"files_diff": DIFF})

    assert ran.lines[0] == "CLAUDE.md: 1 to be taken in, 2 gone"
    assert "  +- Use httpx" in ran.lines


def test_restore_says_what_happens_next():
    restored = {"path": "CLAUDE.md", "snapshot": 4, "at": "x", "bytes": 70, "mode": "read"}

    ran = command("files", "restore", "CLAUDE.md", answers={"files_restore": restored})

    assert ran.calls == [("files_restore", {"path": "CLAUDE.md"})]
    assert ran.lines == [
        "CLAUDE.md is as it was (70 bytes); from now on it is only read",
        "To write to it again: yaadwatch files adopt CLAUDE.md",
    ]


@pytest.mark.parametrize(
    ("typed", "mode"),
    [
        ("inline\n", "inline"),
        ("read\n", "read"),
        ("\n", None),
        ("", None),
        ("x\nread\n", "read"),
    ],
)
def test_add_asks_a_person_how_agent_files_shall_take_part(in_new, typed, mode):
    ran = command("add", answers=in_new, given=typed, person=True)

    assert ran.calls[1:] == [("add", {"mode": mode} if mode else {})]
    assert "git rebase, git pull --rebase, npm version" in " ".join(ran.out.split())


def test_add_asks_nothing_when_it_is_told_or_nobody_is_there(in_new):
    told = command("add", "--mode", "read", answers=in_new, person=True)
    alone = command("add", answers=in_new)

    assert "May yaadwatch write" not in told.out + alone.out
    assert told.calls[0][1]["mode"] == "read"
    assert alone.calls[0][1].get("mode") is None


@pytest.mark.parametrize(
    ("wrote", "said"),
    [
        (["CLAUDE.md"], "wrote CLAUDE.md; undo: yaadwatch files restore CLAUDE.md"),
        (["CLAUDE.md", "A.md"], "wrote CLAUDE.md, A.md; undo: yaadwatch files restore FILE"),
    ],
)
def test_a_command_says_which_agent_files_it_wrote(wrote, said):
    ran = command("files", "sync", answers={"files_sync": SYNCED | {"wrote": wrote}})
    assert ran.lines[-1] == said

    as_json = command("files", "sync", "--json", answers={"files_sync": SYNCED | {"wrote": wrote}})
    assert "undo" not in as_json.out
    assert as_json.json["wrote"] == wrote


def test_sharing_says_what_was_sent_what_stays_and_how_to_undo_it():
    answer = SYNCED | {
        "shared": [{"id": "0199b1c2", "text": "Use tabs"}],
        "stays": [
            {"path": "web/A.md", "line": 3, "text": "Use Zod", "reason": "it holds for web/ only"}
        ],
        "undo": "yaadwatch files share --undo 5c01f2e4",
    }
    ran = command("files", "share", "CLAUDE.md", "5c01f2e4", answers={"files_share": answer})

    assert ran.calls == [
        ("files_share", {"path": "CLAUDE.md", "ids": ["5c01f2e4"]}),
    ]
    assert ran.lines[0] == "1 statement sent to the other agents"
    assert ran.lines[2:4] == ["  web/A.md:3 Use Zod", "    it holds for web/ only"]
    assert ran.lines[-1] == "Undo: yaadwatch files share --undo 5c01f2e4"


def test_each_statement_is_listed_with_what_becomes_of_it():
    row = {"path": "CLAUDE.md", "line": 3, "text": "Use tabs", "id": "x", "to": ["AGENTS.md"]}
    rows = [
        row | {"travels": True, "reason": None},
        row | {"line": 4, "travels": False, "to": [], "reason": "it is a fact"},
    ]
    answers = {"files_statements": {"statements": rows}}
    ran = command("files", "--statements", answers=answers)

    assert ran.calls == [("files_statements", {})]
    assert ran.lines == [
        "CLAUDE.md:3 Use tabs",
        "  to AGENTS.md",
        "CLAUDE.md:4 Use tabs",
        "  stays: it is a fact",
    ]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("files restore", "`files restore` takes the name of one file"),
        ("files adopt CLAUDE.md AGENTS.md", "adopt takes one name. Nothing was done."),
    ],
)
def test_files_refuses_too_few_names_and_too_many(line, told):
    ran = command(*line.split())

    assert (ran.status, ran.calls) == (2, [])
    assert told in ran.err
