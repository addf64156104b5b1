"""Commands about sessions, tasks and skills: what they ask for, and what people read."""

import pytest
from recording import ID, command

AT = "2026-11-21T11:00:00.000Z"
END = "2026-11-21T11:42:00.000Z"
SESSION = {
    "id": ID,
    "agent": "agent:claude",
    "name": None,
    "branch": "main",
    "started_at": AT,
    "last_at": END,
    "ended_at": END,
    "ended_by": "left",
    "summary": 'claude on main, 2026-11-21 11:00 to 11:42 UTC.\nLearned: decision: "Use jose"',
    "learned": 1,
    "shown": 2,
    "used": 1,
    "tokens": 120,
    "commits": 1,
    "files": 3,
}
RECEIPT = SESSION | {
    "shown_memories": [
        {
            "id": ID,
            "kind": "decision",
            "text": "Use jose",
            "tokens": 60,
            "used": True,
            "archived": False,
            "superseded": True,
            "stale": {"verdict": "gone", "score": 0.9},
            "contradicted": [{"id": "1a2b3c4d", "words": "api port: 8080 or 9090"}],
            "at": AT,
        }
    ],
    "learned_memories": [
        {
            "id": ID,
            "kind": "fix",
            "text": "Retry thrice",
            "archived": True,
            "superseded": False,
            "stale": None,
            "contradicted": [],
            "at": AT,
        }
    ],
    "notes": [{"at": AT, "text": "tests need redis"}],
    "made": [],
    "changed": [],
    "touched": [],
}
TASK = {
    "id": ID,
    "text": "Stop the leak",
    "state": "doing",
    "priority": "urgent",
    "waits_for": [],
    "version": 2,
    "created_at": AT,
    "updated_at": AT,
    "made": True,
}
SKILL = {
    "id": ID,
    "name": "release",
    "description": 'how a "version" is made',
    "version": 1,
    "updated_at": AT,
    "stale": False,
    "body": "Run `make release`.\n\nThen tag it.",
}


def test_the_list_tells_what_each_session_left():
    ran = command("sessions", answers={"sessions": {"sessions": [SESSION]}})

    assert ran.calls == [("sessions", {})]
    assert ran.lines[0].startswith(ID[-8:])
    assert "claude, 1 hour ago, 42 minutes, ended by its agent leaving" in ran.out
    assert 'Learned: decision: "Use jose"' in ran.out


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("sessions show 5c01f2e4", ("sessions", {"id": "5c01f2e4"})),
        ("sessions search slow parser", ("sessions", {"query": "slow parser"})),
    ],
)
def test_one_is_shown_and_others_are_found(line, asked):
    ran = command(*line.split(), answers={"sessions": {"sessions": [RECEIPT]}})

    assert ran.calls == [asked]
    assert ran.status == 0


def test_the_receipt_tells_tokens_use_and_what_became_of_it():
    out = command("sessions", "show", ID, answers={"sessions": {"sessions": [RECEIPT]}}).out

    assert "60 tokens" in out
    assert "used" in out
    assert "gone, superseded, contradicted (1a2b3c4d)" in out
    assert "archived" in out
    assert "tests need redis" in out
    assert out.splitlines()[-1] == "120 tokens were spent on what it was shown."


def test_a_session_is_begun_noted_and_ended():
    begun = {"session": ID, "again": False, "brief": ""}
    noted = {"session": ID, "text": "tests need redis", "masked": [], "notes": 1}

    start = command("sessions", "start", "--name", "mine", answers={"session_start": begun})
    note = command("sessions", "note", "tests", "need", "redis", answers={"session_note": noted})
    end = command("sessions", "end", answers={"session_end": {"kept": True, "session": SESSION}})

    assert start.calls == [("session_start", {"name": "mine"})]
    assert "End it: yaadwatch sessions end" in start.out
    assert note.calls == [("session_note", {"text": "tests need redis"})]
    assert end.calls == [("session_end", {})]
    assert "Hand it on: yaadwatch handoff" in end.out


@pytest.mark.parametrize("action", ["show", "search", "note"])
def test_what_is_missing_is_asked_for(action):
    ran = command("sessions", action)

    assert (ran.status, ran.calls) == (2, [])
    assert f"`sessions {action}` takes " in ran.err


def test_an_empty_handoff_is_said_and_nothing_is_handed_on():
    answer = {"prompt": "", "session": None, "open": 0, "flags": 0}

    ran = command("handoff", "--tokens", "50", answers={"handoff": answer})

    assert (ran.status, ran.out) == (1, "")
    assert "50 tokens" in ran.err


def test_a_handoff_is_the_prompt_and_nothing_else():
    prompt = "You take over.\n## What was done\n- it"
    answer = {"prompt": prompt, "session": ID, "open": 0, "flags": 0}

    ran = command("handoff", answers={"handoff": answer})

    assert ran.out == prompt + "\n"
    assert ran.calls == [("handoff", {})]


def test_tasks_are_listed_with_their_state_and_what_they_wait_for():
    waiting = TASK | {"state": "open", "priority": "normal", "waits_for": [ID]}
    counts = {"open": 1, "doing": 1, "done": 4, "dropped": 0}

    ran = command("tasks", answers={"tasks": {"tasks": [TASK, waiting], "counts": counts}})

    assert ran.calls == [("tasks", {"states": ["open", "doing"]})]
    assert "doing, urgent  Stop the leak" in ran.lines[0]
    assert f"open  Stop the leak; waits for {ID[-8:]}" in ran.lines[1]
    assert ran.lines[-1] == "1 open, 1 doing, 4 done"


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("task add Stop the leak", {"text": "Stop the leak"}),
        ("task add It --priority urgent", {"text": "It", "priority": "urgent"}),
        ("task start ab12", {"id": "ab12", "state": "doing"}),
        ("task done ab12", {"id": "ab12", "state": "done"}),
        ("task drop ab12", {"id": "ab12", "state": "dropped"}),
        ("task open ab12", {"id": "ab12", "state": "open"}),
        ("task edit ab12 Stop both", {"id": "ab12", "text": "Stop both"}),
        ("task edit ab12 --priority low", {"id": "ab12", "priority": "low"}),
    ],
)
def test_a_task_is_added_and_changed(line, asked):
    ran = command(*line.split(), answers={"task_update": TASK})

    assert ran.calls == [("task_update", asked)]
    assert (ran.status, "Stop the leak" in ran.out) == (0, True)


@pytest.mark.parametrize("line", ["task done ab12 cd34", "task edit ab12"])
def test_a_task_line_that_makes_no_sense_changes_nothing(line):
    ran = command(*line.split())

    assert (ran.status, ran.calls) == (2, [])


def test_a_skill_is_kept_from_a_file(tmp_path):
    body = tmp_path / "release.md"
    body.write_text("Run `make release`.")

    ran = command(
        *("skill", "add", "release", "--about", "how", "--file", str(body)),
        answers={"skill_add": SKILL},
    )

    fields = {"name": "release", "description": "how", "body": "Run `make release`."}
    assert ran.calls == [("skill_add", fields)]


@pytest.mark.parametrize(
    ("line", "status"),
    [("skill show", 2), ("skill add release", 2), ("skill add r --about x --file /no/such", 3)],
)
def test_what_a_skill_needs_is_said(line, status):
    ran = command(*line.split())

    assert (ran.status, ran.calls) == (status, [])
