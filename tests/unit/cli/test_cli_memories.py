"""Commands about memories: what they ask, what a person reads, what a program gets."""

import pytest
from recording import ID, command

from yaadwatch.model.errors import Code, YaadError

REMEMBERED = {
    "id": ID,
    "kind": "decision",
    "tier": 1,
    "text": "Use jose, not jsonwebtoken",
    "why": "says what to use instead",
    "anchors": [{"path": "src/auth.ts", "symbol": "verify", "line": 12}, {"path": "package.json"}],
    "masked": ["github-token"],
    "decision": "new",
}
CHANGED = {
    "id": ID,
    "text": "Use jose, not jsonwebtoken",
    "kind": "decision",
    "tier": 1,
    "pinned": False,
    "archived": True,
    "undo": "yaadwatch restore f2e4ab37",
}
RECALLED = {
    "results": [
        {
            "id": ID,
            "text": "Use jose, not jsonwebtoken",
            "kind": "decision",
            "tier": 1,
            "score": 1.0,
            "depth": "full",
            "stale": {"verdict": "changed", "score": 0.9},
        }
    ],
    "search": "words",
    "budget": {"used": 12, "left": 788},
}


def test_remember_says_what_was_made_of_it_and_how_to_undo_it():
    ran = command(
        *("remember", "Use", "jose", "--kind", "decision", "--tier", "1", "--tag", "auth"),
        *("--file", "src/auth.ts", "--symbol", "verify", "--pin"),
        answers={"remember": REMEMBERED},
    )

    assert ran.status == 0
    assert ran.calls == [
        (
            "remember",
            {
                "text": "Use jose",
                "kind": "decision",
                "tier": 1,
                "tags": ["auth"],
                "files": ["src/auth.ts"],
                "symbols": ["verify"],
                "pin": True,
            },
        )
    ]
    assert ran.lines == [
        "Remembered f2e4ab37  decision, tier 1 (hot)  (says what to use instead)",
        "  Use jose, not jsonwebtoken",
        "  rests on src/auth.ts:12 verify",
        "  rests on package.json",
        "  masked: github-token",
        "Undo: yaadwatch forget f2e4ab37",
    ]


def test_remembering_what_is_known_offers_no_undo():
    ran = command("remember", "x", answers={"remember": REMEMBERED | {"decision": "same"}})

    assert ran.lines[0].startswith("Already known, and confirmed: f2e4ab37")
    assert "Undo" not in ran.out


CONTRADICTS = {
    "id": "04994b3c",
    "words": "client retries: 3 (ff44979b) or 5 (f2e4ab37)",
    "subject": "client",
    "attribute": "retries",
    "place": "web",
    "value": "5",
    "against": [
        {
            "id": "01a21371-ff82-72f0-8ed3-6168ff44979b",
            "value": "3",
            "text": "The client retries 3 times",
        }
    ],
    "more": 2,
    "settle": "yaadwatch resolve 04994b3c --keep MEMORY, --both or --none",
}


@pytest.mark.parametrize(
    ("words", "operation", "before"),
    [
        (("remember", "x"), "remember", "Undo: yaadwatch forget f2e4ab37"),
        (("edit", "f2e4ab37", "x"), "update", "Undo: yaadwatch edit f2e4ab37 y"),
        (("restore", "f2e4ab37"), "restore", "Undo: yaadwatch edit f2e4ab37 y"),
    ],
)
def test_what_a_statement_contradicts_is_said_with_what_to_do(words, operation, before):
    undo = {} if operation == "remember" else {"undo": "yaadwatch edit f2e4ab37 y"}
    answer = REMEMBERED | undo | {"contradicts": [CONTRADICTS]}

    ran = command(*words, answers={operation: answer})

    at = ran.lines.index(before)
    assert ran.lines[at - 5 : at] == [
        "  contradicts what is remembered of client retries in web/: 5 here, but",
        "    3 in ff44979b  The client retries 3 times",
        "    and in 2 more",
        "  Settle it: yaadwatch resolve 04994b3c --keep MEMORY, --both or --none",
        "  All of them: yaadwatch contradictions",
    ]


def test_recall_prints_the_best_first_with_its_flag_and_the_budget():
    ran = command(
        "recall", "which", "jwt", "--top", "3", "--kind", "fix", answers={"recall": RECALLED}
    )

    assert ran.calls == [("recall", {"query": "which jwt", "top_k": 3, "kinds": ["fix"]})]
    assert ran.lines == [
        "f2e4ab37  1.00  decision  Use jose, not jsonwebtoken",
        "          may be stale: changed",
        "1 memory, 12 tokens used, 788 left",
    ]


def test_recall_hands_over_what_was_asked_for_and_nothing_else():
    ran = command(
        *("recall", "deploy", "--scope", "user", "--path", "src", "--tag", "a", "--tag", "b"),
        *("--agent", "claude", "--session", "s1", "--at", "2026-03-01", "--depth", "summary"),
        *("--strategy", "bm25", "--min-score", "0.5"),
        *("--semantic-weight", "0.3"),
        answers={"recall": RECALLED},
    )

    assert ran.calls[0][1] == {
        "query": "deploy",
        "scope": "user",
        "path": "src",
        "tags": ["a", "b"],
        "agent": "claude",
        "session": "s1",
        "at": "2026-03-01",
        "depth": "summary",
        "strategy": "bm25",
        "min_score": 0.5,
        "semantic_weight": 0.3,
    }


def test_what_is_hidden_is_said_in_a_line_and_asked_for_with_an_option():
    nothing = RECALLED | {"results": [], "hidden": 2}
    line = "2 more on branches not merged here; see: --all-branches"

    assert command("recall", "x", answers={"recall": nothing}).lines[-1] == line
    assert command("recall", "x", answers={"recall": RECALLED | {"hidden": 2}}).lines[-1] == line
    ran = command("recall", "x", "--all-branches", answers={"recall": RECALLED | {"hidden": 0}})
    assert ran.calls[0][1]["all_branches"] is True
    assert line not in ran.lines


def test_show_prints_everything_known():
    shown = {
        "id": ID,
        "kind": "decision",
        "tier": 1,
        "text": "Use jose, not jsonwebtoken",
        "tags": ["auth"],
        "origin": "agent:claude-code",
        "pinned": True,
        "version": 2,
        "confidence": 0.87,
        "created_at": "2026-11-18T12:00:00.000Z",
        "updated_at": "2026-11-20T12:00:00.000Z",
        "confirmed_at": "2026-11-21T09:00:00.000Z",
        "archived_at": "2026-11-21T11:59:00.000Z",
        "archive_reason": "we use authlib",
        "anchors": [{"path": "src/auth.ts", "commit": "a1b2c3d4e5f6a7", "verdict": "changed"}],
        "provenance": [{"worktree": "/srv/api", "path": "CLAUDE.md", "line": 7}],
        "edges": [
            {
                "kind": "touches",
                "from": ID,
                "to": "0199b1c2-7d3e-7f00-8a11-000000001234",
                "weight": 1.0,
                "text": "src/auth.ts",
            },
            {
                "kind": "depends_on",
                "from": "0199b1c2-7d3e-7f00-8a11-000000005678",
                "to": ID,
                "weight": 1.0,
                "text": "Sessions last a day",
            },
        ],
        "versions": [
            {
                "version": 1,
                "at": "2026-11-18T12:00:00.000Z",
                "change": "created",
                "by": "cli",
                "text": "Use jose",
            }
        ],
        "stale": {"verdict": "changed", "score": 0.9, "level": "warn"},
    }

    value = {"path": "src/auth.ts", "symbol": "sign", "commit": shown["anchors"][0]["commit"]}
    shown["anchors"] += [value | {"line": 3}, value]

    ran = command("show", "f2e4ab37", answers={"show": shown})

    assert ran.calls == [("show", {"id": "f2e4ab37"})]
    assert ran.lines == [
        "Use jose, not jsonwebtoken",
        "may be stale: changed",
        "",
        f"id          {ID}",
        "kind        decision, tier 1 (hot), pinned",
        "from        agent:claude-code",
        "confidence  0.87, confirmed 3 hours ago",
        "created     3 days ago, updated 1 day ago",
        "tags        auth",
        "archived    1 minute ago: we use authlib",
        "",
        "Rests on",
        "  src/auth.ts         as of a1b2c3d4e5  changed",
        "  src/auth.ts:3 sign  as of a1b2c3d4e5",
        "",
        "Said in",
        "  CLAUDE.md:7  /srv/api",
        "",
        "Related",
        "  touches        00001234  src/auth.ts",
        "  <- depends_on  00005678  Sessions last a day",
        "",
        "Versions",
        "  1  3 days ago  created  cli  Use jose",
    ]


def test_forget_says_what_was_forgotten_and_how_to_undo_it():
    ran = command("forget", "f2e4ab37", "--reason", "old", answers={"forget": CHANGED})

    assert ran.calls == [("forget", {"id": "f2e4ab37", "reason": "old"})]
    assert ran.lines == [
        "Forgot f2e4ab37  Use jose, not jsonwebtoken",
        "Undo: yaadwatch restore f2e4ab37",
    ]


def test_several_are_forgotten_each_once_and_one_that_fails_keeps_none_from_it():
    missing = YaadError(Code.NOT_FOUND, "There is no memory zz.", hint="yaadwatch recall")
    ids = ("f2e4ab37", "zz", "f2e4ab38", "f2e4ab37")

    ran = command("forget", *ids, answers={"forget": [CHANGED, missing, CHANGED]})

    assert [fields["id"] for _, fields in ran.calls] == ["f2e4ab37", "zz", "f2e4ab38"]
    assert ran.lines == 2 * [
        "Forgot f2e4ab37  Use jose, not jsonwebtoken",
        "Undo: yaadwatch restore f2e4ab37",
    ]
    assert ran.status == command("forget", "zz", answers={"forget": missing}).status != 0
    assert "zz: There is no memory zz. It was done for 2 of 3." in ran.err


@pytest.mark.parametrize("words", ["Use\njose", "Use jose " * 40])
def test_words_that_are_no_argument_come_back_by_their_version(words):
    before = {"id": ID, "version": 3, "text": words}
    answer = REMEMBERED | {"decision": "refines", "supersedes": before}

    ran = command("remember", "Use jose", answers={"remember": answer})

    assert ran.lines[-1] == "Undo: yaadwatch restore f2e4ab37 --version 3"


@pytest.mark.parametrize("given", ["ticket", "=SEC-12"])
def test_an_attribute_is_a_name_and_a_value(given):
    ran = command("remember", "Use jose", "--attribute", given, answers={"remember": REMEMBERED})

    assert ran.status == 2
    assert ran.calls == []
    assert f"must be NAME=VALUE, or NAME= to remove it, got '{given}'" in ran.err


def test_tag_says_which_tags_a_memory_has_now():
    answer = CHANGED | {
        "tags": ["auth", "security"],
        "undo": "yaadwatch tag f2e4ab37 --remove security",
    }
    ran = command(
        *("tag", "f2e4ab37", "--add", "security", "--remove", "old", "--version", "2"),
        answers={"tag": answer},
    )

    asked = {"id": "f2e4ab37", "add": ["security"], "remove": ["old"], "expected_version": 2}
    assert ran.calls == [("tag", asked)]
    assert ran.lines == [
        "f2e4ab37  Use jose, not jsonwebtoken",
        "  now has auth, security",
        "Undo: yaadwatch tag f2e4ab37 --remove security",
    ]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("confirm",), "Confirmed"),
        (("forget",), "Was forgotten already:"),
        (("restore",), "Was not forgotten:"),
        (("restore", "--version", "1"), "Nothing to restore, it says so:"),
        (("pin",), "Was pinned already:"),
        (("unpin",), "Was not pinned:"),
    ],
)
def test_what_changed_nothing_does_not_say_that_it_did(argv, said):
    ran = command(*argv, "f2e4ab37", answers={argv[0]: CHANGED | {"undo": None}})

    assert ran.lines == [f"{said} f2e4ab37  Use jose, not jsonwebtoken"]


@pytest.mark.parametrize(
    ("argv", "operation", "answer"),
    [
        (("remember", "x"), "remember", REMEMBERED),
        (("recall", "x"), "recall", RECALLED),
        (("show", "f2e4ab37"), "show", CHANGED),
        (("forget", "f2e4ab37"), "forget", CHANGED),
        (("restore", "f2e4ab37"), "restore", CHANGED),
        (("confirm", "f2e4ab37"), "confirm", CHANGED),
        (("pin", "f2e4ab37"), "pin", CHANGED),
        (("unpin", "f2e4ab37"), "unpin", CHANGED),
    ],
)
def test_a_program_gets_the_answer_as_it_is(argv, operation, answer):
    ran = command(*argv, "--json", answers={operation: answer})

    assert ran.status == 0
    assert ran.json == answer


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (Code.BAD_REQUEST, 2),
        (Code.NOT_FOUND, 1),
        (Code.CONFLICT, 4),
        (Code.REFUSED, 4),
        (Code.UNAVAILABLE, 3),
        (Code.TOO_LARGE, 1),
        (Code.TIMEOUT, 1),
        (Code.INTERNAL, 1),
    ],
)
def test_an_error_has_the_status_of_its_code_and_is_told_where_it_belongs(code, status):
    error = YaadError(code, "f2e4 fits 2 memories.", hint="Give more characters.")

    person = command("show", "f2e4", answers={"show": error})
    program = command("show", "f2e4", "--json", answers={"show": error})

    assert (person.status, program.status) == (status, status)
    assert person.out == program.err == ""
    assert person.err == "yaadwatch: f2e4 fits 2 memories.\n  Give more characters.\n"
    assert program.json == {
        "error": {"code": code, "message": "f2e4 fits 2 memories.", "hint": "Give more characters."}
    }


def test_a_fault_of_ours_keeps_its_traceback():
    ran = command("show", "f2e4", answers={"show": ZeroDivisionError("by us")})

    assert ran.status == 1
    assert "Traceback" in ran.err
    assert "ran into a bug in yaadwatch: ZeroDivisionError" in ran.err


@pytest.mark.parametrize(
    "line", ["remember -", "edit ab12cd34 -", "skill add release --about releasing"]
)
def test_of_an_input_that_is_too_long_it_is_not_told_how_long_the_part_is_that_was_read(line):
    ran = command(*line.split(), given="x" * 500_001)

    assert (ran.status, ran.calls) == (1, [])
    assert "Standard input has more than 500000 characters. Nothing was" in ran.err


def test_a_mark_of_the_encoding_is_no_part_of_the_text():
    ran = command(
        "remember", "-", given="\ufeffwords", answers={"remember": YaadError(Code.REFUSED, "")}
    )

    assert ran.calls[0][1]["text"] == "words"


@pytest.mark.parametrize("number", ["nan", "inf", "-inf", "much"])
@pytest.mark.parametrize(
    "line", ["recall x --min-score", "recall x --semantic-weight", "link a b c --weight"]
)
def test_what_is_no_number_is_a_usage_error(line, number):
    ran = command(*line.split()[:-1], f"{line.split()[-1]}={number}")

    assert (ran.status, ran.calls) == (2, [])
    assert f"'{number}' is not a number" in ran.err
