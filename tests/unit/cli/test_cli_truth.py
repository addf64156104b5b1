"""What is said after erasing, and of the history of a memory."""

import pytest
from recording import command

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


def test_the_history_tells_who_and_why_and_words_once():
    ran = command("history", "e4ab37", answers={"history": HISTORY})

    assert ran.calls == [("history", {"id": "e4ab37"})]
    told = "\n".join(ran.lines)
    assert told.count("Use jose 5") == 1
    assert "edited" in told
    assert "by agent:claude" in told
    assert "by cli: we use authlib now" in told
    assert "yaadwatch restore f2e4ab37 --version N" in told


NODE = "0199b1c2-7d3e-7f00-8a11-5c01f2e4ab37"
CLAIM = {
    "claim": 12,
    "node": NODE,
    "subject": "api",
    "attribute": "port",
    "value": "8080",
    "place": "web",
    "source": "text",
    "since": "2026-11-21T09:30:00.000Z",
    "until": None,
    "holds": True,
}
CONTRADICTION = {
    "id": "1a2b3c4d",
    "kind": "values",
    "words": "api port: 8080 (f2e4ab37) or 9090 (f2e4ab38)",
    "sides": [
        {"node": NODE, "text": "The API port is 8080", "confirmed_at": "2026-11-21T09:30:00.000Z"}
    ],
    "against": None,
}


def test_claims_are_told_one_a_line_with_number_and_memory():
    ran = command("claims", answers={"claims": {"claims": [CLAIM], "more": False}})

    assert ran.calls == [("claims", {})]
    assert ran.lines == ["12  api port: 8080 in web/  f2e4ab37  since 2026-11-21  from its words"]


def test_a_claim_is_given_with_what_tells_so():
    given = CLAIM | {"source": "cli", "masked": ["github-token"], "undo": "yaadwatch claims end 12"}
    ran = command(
        "claims",
        *("add", "e4ab37", "api", "port", "8080", "--evidence", "nginx.conf", "--edge", "3"),
        answers={"add_claim": given},
    )

    name, fields = ran.calls[0]
    assert name == "add_claim"
    assert fields == {
        "id": "e4ab37",
        "subject": "api",
        "attribute": "port",
        "value": "8080",
        "evidence": "nginx.conf",
        "edge": 3,
    }
    assert "masked: github-token" in ran.lines[1]
    assert ran.lines[-1] == "Undo: yaadwatch claims end 12"


@pytest.mark.parametrize(
    "line",
    [
        ("claims", "add", "e4ab37", "api"),
        ("claims", "end", "twelve"),
        ("claims", "one", "two"),
        ("gaps", "approve"),
        ("gaps", "frobnicate"),
    ],
)
def test_a_line_that_makes_no_sense_asks_nothing_and_ends_with_2(line):
    ran = command(*line, answers={})

    assert ran.status == 2
    assert ran.calls == []


def test_contradictions_are_told_with_their_sides_and_how_to_settle_them():
    answer = {
        "contradictions": [CONTRADICTION],
        "settled": [
            {
                "id": "99887766",
                "words": "api timeout: 5 s (f2e4ab37) or 9 s (f2e4ab38)",
                "decision": "kept",
                "kept": NODE,
                "by": "cli",
                "reason": "moved",
                "at": "2026-11-21T09:30:00.000Z",
            }
        ],
    }
    ran = command("contradictions", "--settled", answers={"contradictions": answer})

    told = "\n".join(ran.lines)
    assert "1a2b3c4d  api port: 8080 (f2e4ab37) or 9090 (f2e4ab38)" in told
    assert "f2e4ab37  The API port is 8080" in told
    assert "yaadwatch resolve ID --keep MEMORY" in told
    assert "99887766  api timeout: 5 s (f2e4ab37) or 9 s (f2e4ab38)" in told
    assert "kept f2e4ab37" in told
    assert "by cli: moved" in told


def test_settling_tells_what_ended_and_how_to_bring_back_what_was_forgotten():
    answer = {
        "id": "1a2b3c4d",
        "decision": "kept",
        "words": CONTRADICTION["words"],
        "kept": NODE,
        "ended": [12],
        "superseded": [],
        "forgotten": [NODE],
        "still_said": [],
        "still_rules": [{"id": NODE, "text": "The API port is 8080."}],
    }
    ran = command("resolve", "1a2b", "--keep", "e4ab37", "--forget", answers={"resolve": answer})

    assert ran.calls[0][1] == {
        "id": "1a2b",
        "keep": "e4ab37",
        "forget": True,
    }
    assert "1 claim ended." in "\n".join(ran.lines)
    assert "f2e4ab37 is a rule still: The API port is 8080." in "\n".join(ran.lines)
    assert ran.lines[-1] == "Undo: yaadwatch restore f2e4ab37"


def test_a_question_is_approved_in_its_words():
    ran = command(
        "gaps",
        *("approve", "how", "do", "we", "deploy"),
        answers={"approve_gap": {"text": "how do we deploy"}},
    )

    assert ran.calls == [("approve_gap", {"question": "how do we deploy"})]
    assert ran.lines == ["Kept, and shown in the brief: how do we deploy"]
