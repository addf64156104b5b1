"""What is said after erasing, and of the history of a memory."""

import json

import pytest
from recording import command

from yaadwatch.cli import parsing
from yaadwatch.model.errors import YaadError

ERASED = {
    "erased": ["0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37"],
    "at": "2026-11-21T09:30:00.000Z",
    "backups": {"rewritten": 2, "dropped": 1},
    "snapshots": 1,
    "also": ["0199b1c2-7d3e-7f00-8a11-5c01f2e4ab38"],
    "returns": ["CLAUDE.md"],
    "remains": ["/srv/api/.yaad/yaad.db"],
}
HISTORY = {
    "id": "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37",
    "version": 3,
    "archived_at": None,
    "versions": [
        {
            "version": number,
            "at": "2026-11-21T09:30:00.000Z",
            "change": change,
            "by": by,
            "reason": reason,
            "kind": "decision",
            "tier": 1,
            "text": text,
        }
        for number, change, by, reason, text in (
            (1, "created", "cli", None, "Use jose"),
            (2, "edited", "agent:claude", None, "Use jose 5"),
            (3, "archived", "cli", "we use authlib now", "Use jose 5"),
        )
    ],
}


def test_erasing_tells_the_receipt_and_what_is_left_to_do_but_not_the_words():
    ran = command("forget", "--erase", "e4ab37", answers={"erase": ERASED})

    assert ran.calls == [("erase", {"id": "e4ab37"})]
    told = "\n".join(ran.lines)
    assert "Erased f2e4ab37 on 2026-11-21" in told
    assert "Rewrote 2 backups, dropped 1; deleted 1 copy of agent files" in told
    assert "Memory f2e4ab38 quotes it: yaadwatch forget --erase f2e4ab38" in told
    assert "CLAUDE.md says it on another branch" in told
    assert "It still stands in /srv/api/.yaad/yaad.db" in told


def test_erasing_for_programs_is_the_answer_itself():
    ran = command("forget", "--erase", "e4ab37", "--json", answers={"erase": ERASED})

    assert json.loads(ran.lines[0]) == ERASED


def test_a_reason_is_not_kept_of_what_is_erased():
    with pytest.raises(YaadError):
        parsing.parse(["forget", "--erase", "e4ab37", "--reason", "leaked"])


def test_the_history_tells_who_and_why_and_words_once():
    ran = command("history", "e4ab37", answers={"history": HISTORY})

    assert ran.calls == [("history", {"id": "e4ab37"})]
    told = "\n".join(ran.lines)
    assert told.count("Use jose 5") == 1
    assert "edited" in told
    assert "by agent:claude" in told
    assert "by cli: we use authlib now" in told
    assert "yaadwatch restore f2e4ab37 --version N" in told


def test_a_version_to_restore_goes_along():
    answer = {"id": HISTORY["id"], "text": "Use jose", "undo": "yaadwatch restore x --version 3"}
    ran = command("restore", "e4ab37", "--version", "1", answers={"restore": answer})

    assert ran.calls == [("restore", {"id": "e4ab37", "version": 1})]
    assert ran.lines == ["Restored f2e4ab37  Use jose", "Undo: yaadwatch restore x --version 3"]
